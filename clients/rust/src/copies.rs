//! A copy of an environment in each slot of a group.

use crate::columns::{joined, split, stacked};
use crate::environment::Environment;
use crate::error::{failed, guarded, line, Failure, IllegalAction};
use crate::messages::{Code, Fault, Spec, Turn, View};
use crate::space::Legal;
use crate::space::{Discrete, Space};
use crate::value::Value;
use crate::vector::{Masks, Over, Transitions, VectorEnvironment};

/// An environment, and what its last start or step led to.
struct Copy {
    environment: Box<dyn Environment>,
    turn: Result<Turn, Fault>,
    /// The number of the turn that is played; nothing at the start of an episode.
    number: Option<u64>,
}

/// Plays a copy of an environment in each slot; what fails is reported in the words of single
/// matches.
pub(crate) struct Copies {
    name: String,
    copies: Vec<Copy>,
    spec: Spec,
}

/// A seat that must act, with its mask.
struct Asked {
    seat: usize,
    observation: Value,
    legal: Option<Vec<u8>>,
}

impl Copies {
    pub(crate) fn new(name: &str, made: Vec<Box<dyn Environment>>) -> Self {
        let copies = made.into_iter().map(|environment| Copy {
            environment,
            turn: Ok(Turn::default()),
            number: None,
        });
        Self {
            name: name.to_owned(),
            copies: copies.collect(),
            spec: Spec::default(),
        }
    }

    fn play(
        &mut self,
        slot: i32,
        number: Option<u64>,
        go: impl FnOnce(&mut dyn Environment) -> Result<Turn, Failure>,
    ) {
        let copy = &mut self.copies[slot as usize];
        let turn = guarded(|| go(copy.environment.as_mut()));
        let turn = turn.and_then(|turn| check(&self.spec, &turn).map(|()| turn));
        copy.number = number;
        copy.turn = turn.map_err(|failure| fault(&self.name, slot, number, &failure));
    }

    fn space(&self) -> Result<&Discrete, Failure> {
        match self.spec.action_spaces.first() {
            Some(Space::Discrete(space)) => Ok(space),
            _ => Err("a group needs Discrete actions".into()),
        }
    }

    /// The rows of a slot, and what each of its seats would observe after each action.
    fn rows(
        &mut self,
        slot: usize,
        afterstates: bool,
    ) -> Result<(Vec<Asked>, Vec<Value>), Failure> {
        let space = self.space()?;
        let end = space.start.saturating_add_unsigned(space.n).max(0) as usize;
        let copy = &mut self.copies[slot];
        let Ok(turn) = &copy.turn else {
            return Ok(Default::default());
        };
        let acts = |view: &&View| turn.to_act.contains(&view.seat);
        let mut views: Vec<&View> = turn.seats.iter().filter(acts).collect();
        views.sort_by_key(|view| view.seat);
        let mut rows = Vec::new();
        let mut after = Vec::new();
        for view in views {
            let legal = match &view.legal {
                None => None,
                Some(Legal::Mask(mask)) => Some(mask.clone()),
                Some(Legal::List(actions)) => {
                    let fits = |action: &i64| (0..end as i64).contains(action);
                    if !actions.iter().all(fits) {
                        return Err(format!("a legal action is not below {end}").into());
                    }
                    match Legal::mask(actions.iter().copied(), end) {
                        Legal::Mask(mask) => Some(mask),
                        Legal::List(_) => None,
                    }
                }
            };
            if legal
                .as_ref()
                .is_some_and(|mask| mask.len() > end.div_ceil(8))
            {
                return Err("a mask is longer than the action space".into());
            }
            rows.push(Asked {
                seat: view.seat,
                observation: view.observation.clone(),
                legal,
            });
            if afterstates {
                let environment = &mut copy.environment;
                let states = guarded(|| environment.afterstates(view.seat))?;
                after.push(joined(&[states])?);
            }
        }
        Ok((rows, after))
    }

    /// Masks of equal length; all bits for a seat that may do anything, unless all may.
    fn masks(&self, legal: &[Option<Vec<u8>>]) -> Result<Masks, Failure> {
        if legal.iter().all(Option::is_none) {
            return Ok(Masks::default());
        }
        let space = self.space()?;
        let end = space.start.saturating_add_unsigned(space.n).max(0);
        let width = (end as usize).div_ceil(8);
        let mut every = vec![0; width];
        for action in space.start.max(0)..end {
            every[action as usize / 8] |= 1 << (action % 8);
        }
        let mut bits = Vec::with_capacity(legal.len() * width);
        for (row, each) in legal.iter().enumerate() {
            bits.extend_from_slice(each.as_ref().unwrap_or(&every));
            bits.resize((row + 1) * width, 0);
        }
        Ok(Masks { width, bits })
    }
}

/// Converts a failure to the fault of a slot.
fn fault(name: &str, slot: i32, number: Option<u64>, failure: &Failure) -> Fault {
    let (code, message, seat) = match failure.downcast_ref::<IllegalAction>() {
        Some(illegal) => (Code::Illegal, line(failure), illegal.seat),
        None => {
            let place = match number {
                None => format!("{name} in start"),
                Some(number) => format!("{name} in turn {number}"),
            };
            (Code::Crashed, failed(&place, failure), None)
        }
    };
    Fault {
        slot: slot as u64,
        code: code.as_str().to_owned(),
        message,
        seat,
    }
}

/// Refuses a turn that cannot be put into columns.
fn check(spec: &Spec, turn: &Turn) -> Result<(), Failure> {
    if (turn.terminated || turn.truncated) != turn.to_act.is_empty() {
        return Err("`to_act` must be empty if and only if the episode is over".into());
    }
    let twice = |seats: &[usize]| (1..seats.len()).any(|i| seats[..i].contains(&seats[i]));
    let seats: Vec<usize> = turn.seats.iter().map(|view| view.seat).collect();
    if twice(&seats) || seats.iter().any(|seat| *seat >= spec.seats) {
        return Err("a seat is foreign or twice in `seats`".into());
    }
    if twice(&turn.to_act) || turn.to_act.iter().any(|seat| !seats.contains(seat)) {
        return Err("`to_act` names a seat twice, or one that is not in `seats`".into());
    }
    if turn
        .outcome
        .as_ref()
        .is_some_and(|scores| scores.len() != spec.seats)
    {
        return Err(format!("`outcome` needs a score for each of {} seats", spec.seats).into());
    }
    Ok(())
}

impl VectorEnvironment for Copies {
    fn init(&mut self) -> Result<Spec, Failure> {
        for copy in &mut self.copies {
            self.spec = copy.environment.init()?;
        }
        Ok(self.spec.clone())
    }

    fn start(&mut self, slots: &[i32], seeds: &[u64]) -> Result<(), Failure> {
        for (slot, seed) in slots.iter().zip(seeds) {
            self.play(*slot, None, |game| game.start(*seed as i64));
        }
        Ok(())
    }

    fn step(&mut self, slots: &[i32], seats: &[i32], actions: &[i64]) -> Result<(), Failure> {
        let mut row = 0;
        for joint in slots.chunk_by(|one, other| one == other) {
            let rows = row..row + joint.len();
            row = rows.end;
            let pairs = rows.map(|row| (seats[row] as usize, Value::Int(actions[row])));
            let number = self.copies[joint[0] as usize].number;
            let number = Some(number.map_or(0, |number| number + 1));
            self.play(joint[0], number, |game| game.step(pairs.collect()));
        }
        Ok(())
    }

    fn transitions(&mut self, slots: &[i32], afterstates: bool) -> Result<Transitions, Failure> {
        let seats = self.spec.seats;
        let mut found = Transitions {
            rewards: vec![0.0; slots.len() * seats],
            over: vec![Over::Continues; slots.len()],
            ..Transitions::default()
        };
        let mut differ = false;
        let (mut seen, mut finals, mut legal, mut after) = (vec![], vec![], vec![], vec![]);
        for (at, slot) in slots.iter().enumerate() {
            match self.rows(*slot as usize, afterstates) {
                Ok((rows, more)) => {
                    for row in rows {
                        found.rows.push(*slot);
                        found.seats.push(row.seat as i32);
                        seen.push(row.observation);
                        legal.push(row.legal);
                    }
                    after.extend(more);
                }
                Err(failure) => {
                    let copy = &mut self.copies[*slot as usize];
                    copy.turn = Err(fault(&self.name, *slot, copy.number, &failure));
                }
            }
            let turn = match &self.copies[*slot as usize].turn {
                Ok(turn) => turn,
                Err(fault) => {
                    found.over[at] = Over::Failed;
                    found.faults.push(fault.clone());
                    continue;
                }
            };
            for view in &turn.seats {
                found.rewards[at * seats + view.seat] = view.reward;
            }
            if !turn.to_act.is_empty() {
                continue;
            }
            found.over[at] = if turn.terminated {
                Over::Terminated
            } else {
                Over::Truncated
            };
            let last = |seat| turn.seats.iter().find(|view| view.seat == seat);
            let last = (0..seats).map(|seat| last(seat).map(|view| view.observation.clone()));
            finals.extend(last.map(Option::unwrap_or_default));
            match &turn.outcome {
                Some(scores) => found.outcomes.extend(scores),
                None => found.outcomes.extend(vec![f64::NAN; seats]),
            }
            let mut cut = vec![u8::from(!turn.terminated); seats];
            for view in &turn.seats {
                if let Some(flag) = view.truncated {
                    cut[view.seat] = u8::from(flag);
                    differ = true;
                }
            }
            found.truncated.extend(cut);
        }
        found.observations = stacked(seen)?;
        found.legal = self.masks(&legal)?;
        found.finals = split(stacked(finals)?, seats)?;
        found.afterstates = joined(&after)?;
        if found.rewards.iter().all(|reward| *reward == 0.0) {
            found.rewards.clear();
        }
        if found.outcomes.iter().all(|score| score.is_nan()) {
            found.outcomes.clear();
        }
        if !differ {
            found.truncated.clear();
        }
        if found.over.iter().all(|over| *over == Over::Continues) {
            found.over.clear();
        }
        Ok(found)
    }

    fn cleanup(&mut self) {
        for copy in &mut self.copies {
            copy.environment.cleanup();
        }
    }
}
