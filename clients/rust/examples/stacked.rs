//! Hundreds of games of Connect Four at once: an environment and an agent that take and return
//! arrays, `stacked environment` and `stacked agent`.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use dovetail::vector::{Over, Rows, Transitions, VectorEnvironment};
use dovetail::{
    blocking, Agent, AgentType, Broker, Decision, Dtype, Environment, EnvironmentType, Error,
    Failure, IllegalAction, Legal, Random, Seat, Space, Spec, Tensor, Turn, Value, View,
};

const ROWS: usize = 6;
const COLUMNS: usize = 7;

/// A position.  The square in column c and row r, row 0 at the bottom, is bit `c * (ROWS + 1) + r`;
/// the spare bit on top of each column keeps lines from wrapping around.
#[derive(Clone, Copy, Default)]
struct Position {
    discs: [u64; 2],
    moves: usize,
}

fn square(column: usize, row: usize) -> u64 {
    1 << (column * (ROWS + 1) + row)
}

impl Position {
    fn mover(self) -> usize {
        self.moves % 2
    }

    fn taken(self) -> u64 {
        self.discs[0] | self.discs[1]
    }

    /// A bit for each column that is not full.
    fn legal(self) -> u8 {
        let free = |column: &usize| self.taken() & square(*column, ROWS - 1) == 0;
        let bits = (0..COLUMNS).filter(free).map(|column| 1 << column);
        bits.sum()
    }

    fn drop(&mut self, column: usize) {
        let above = self.taken() + square(column, 0);
        self.discs[self.mover()] |=
            above & !self.taken() & (square(column + 1, 0) - square(column, 0));
        self.moves += 1;
    }

    /// True if the seat that moved last has four in a row.
    fn won(self) -> bool {
        let mine = self.discs[1 - self.mover()];
        [1, ROWS, ROWS + 1, ROWS + 2].into_iter().any(|by| {
            let pairs = mine & mine >> by;
            pairs & pairs >> (2 * by) != 0
        })
    }

    fn over(self) -> bool {
        self.won() || self.moves == ROWS * COLUMNS
    }

    fn reward(self, seat: usize) -> f64 {
        match self.won() {
            false => 0.0,
            true if seat == self.mover() => -1.0,
            true => 1.0,
        }
    }

    fn score(self, seat: usize) -> f64 {
        (self.reward(seat) + 1.0) / 2.0
    }

    /// Appends what a seat observes, [2, rows, columns]: its discs, then the opponent's.
    fn draw(self, seat: usize, out: &mut Vec<u8>) {
        for plane in [self.discs[seat], self.discs[1 - seat]] {
            for row in 0..ROWS {
                out.extend((0..COLUMNS).map(|column| u8::from(plane & square(column, row) != 0)));
            }
        }
    }
}

/// The spec of `dovetail env connect_four` on its board of 6 rows and 7 columns.
fn spec() -> Spec {
    Spec {
        name: "connect_four".to_owned(),
        seats: 2,
        observation_spaces: vec![Space::array(&[2, ROWS, COLUMNS], 0, 1, Dtype::Uint8)],
        action_spaces: vec![Space::discrete(COLUMNS as u64)],
        reward_range: Some((-1.0, 1.0)),
        forfeit: Some((-1.0, 1.0)),
        max_turns: Some((ROWS * COLUMNS) as u64),
        ..Spec::default()
    }
}

/// One game at a time, for single matches.
struct Game(Position);

impl Game {
    fn turn(&self) -> Result<Turn, Failure> {
        let position = self.0;
        let over = position.over();
        let to_act = if over { vec![] } else { vec![position.mover()] };
        let view = |seat: usize| {
            let mut planes = Vec::new();
            position.draw(seat, &mut planes);
            Ok(View {
                seat,
                observation: Tensor::new(&[2, ROWS, COLUMNS], &planes)?.into(),
                legal: (!over).then(|| Legal::Mask(vec![position.legal()])),
                reward: if over { position.reward(seat) } else { 0.0 },
                ..View::default()
            })
        };
        let shown = if over { vec![0, 1] } else { to_act.clone() };
        Ok(Turn {
            to_act,
            seats: shown
                .into_iter()
                .map(view)
                .collect::<Result<_, Failure>>()?,
            terminated: over,
            outcome: over.then(|| vec![position.score(0), position.score(1)]),
            ..Turn::default()
        })
    }
}

impl Environment for Game {
    fn init(&mut self) -> Result<Spec, Failure> {
        Ok(spec())
    }

    fn start(&mut self, _seed: i64) -> Result<Turn, Failure> {
        self.0 = Position::default();
        self.turn()
    }

    fn step(&mut self, actions: Vec<(usize, Value)>) -> Result<Turn, Failure> {
        let column = actions.first().and_then(|(_, column)| column.as_u64());
        match column.filter(|column| *column < 8 && self.0.legal() >> column & 1 == 1) {
            Some(column) => self.0.drop(column as usize),
            None => {
                let text = format!("{actions:?} names no column that is free");
                return Err(IllegalAction::new(text, self.0.mover()).into());
            }
        }
        self.turn()
    }
}

/// The same in numbered slots.
struct Games(Vec<Position>);

impl VectorEnvironment for Games {
    fn init(&mut self) -> Result<Spec, Failure> {
        Ok(spec())
    }

    fn start(&mut self, slots: &[i32], _seeds: &[u64]) -> Result<(), Failure> {
        for slot in slots {
            self.0[*slot as usize] = Position::default();
        }
        Ok(())
    }

    fn step(&mut self, slots: &[i32], _seats: &[i32], actions: &[i64]) -> Result<(), Failure> {
        for (slot, action) in slots.iter().zip(actions) {
            self.0[*slot as usize].drop(*action as usize);
        }
        Ok(())
    }

    fn transitions(&mut self, slots: &[i32], _afterstates: bool) -> Result<Transitions, Failure> {
        let mut found = Transitions::default();
        let (mut seen, mut last, mut ended) = (Vec::new(), Vec::new(), 0);
        for slot in slots {
            let position = self.0[*slot as usize];
            if position.over() {
                ended += 1;
                found.over.push(Over::Terminated);
                for seat in 0..2 {
                    found.rewards.push(position.reward(seat));
                    found.outcomes.push(position.score(seat));
                    position.draw(seat, &mut last);
                }
                continue;
            }
            found.over.push(Over::Continues);
            found.rewards.extend([0.0, 0.0]);
            found.rows.push(*slot);
            found.seats.push(position.mover() as i32);
            found.legal.bits.push(position.legal());
            position.draw(position.mover(), &mut seen);
        }
        found.legal.width = 1;
        found.observations = Tensor::new(&[found.rows.len(), 2, ROWS, COLUMNS], &seen)?.into();
        if ended > 0 {
            found.finals = Tensor::new(&[ended, 2, 2, ROWS, COLUMNS], &last)?.into();
        }
        Ok(found)
    }
}

/// Any legal action; in a group, of all rows with one call.
struct RandomRows;

/// Random numbers for each seat of each slot.
struct Memory {
    seats: usize,
    random: Vec<Random>,
}

impl Agent for RandomRows {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        decision.any()
    }

    fn open_group(
        &mut self,
        seats: &BTreeMap<usize, Arc<Seat>>,
        slots: usize,
    ) -> Result<Option<Box<dyn Any + Send>>, Failure> {
        let seats = seats.values().next().map_or(1, |seat| seat.spec.seats);
        let random = vec![Random::new(0); slots * seats];
        Ok(Some(Box::new(Memory { seats, random })))
    }

    fn step_rows(&mut self, rows: &Rows, memory: &mut dyn Any) -> Result<Vec<i64>, Failure> {
        let Memory { seats, random } = memory.downcast_mut().ok_or("another agent's memory")?;
        let place = |row: usize| rows.slots[row] as usize * *seats + rows.seats[row] as usize;
        for (row, seed) in rows.starts.iter().zip(&rows.seeds) {
            random[place(*row as usize)] = Random::new(*seed);
        }
        if rows.legal.is_empty() {
            return Err("this example needs legal actions".into());
        }
        let choose = |row: usize| {
            let legal = rows.legal.actions(row);
            let action = random[place(row)].choose(&legal).copied();
            action.ok_or_else(|| "no action is legal".into())
        };
        (0..rows.slots.len()).map(choose).collect()
    }
}

fn main() -> Result<(), Error> {
    let broker = Broker::from_env();
    match std::env::args().nth(1).as_deref() {
        Some("agent") => {
            let kind = AgentType::new("random-rows-rust", |_, _| Ok(RandomRows))
                .description("Plays any legal action, of many games with one call.")
                .capacity(0);
            blocking::serve_agents([kind], &broker)
        }
        Some("environment") => {
            let kind = EnvironmentType::new("connect-four-rust", |_| Ok(Game(Position::default())))
                .description("Connect Four, of many games with one call.")
                .vector(|_, slots| Ok(Games(vec![Position::default(); slots])))
                .seats(&[2]);
            blocking::serve_environments([kind], &broker)
        }
        _ => Err(Error::Run("usage: stacked agent|environment".to_owned())),
    }
}
