//! The conformer's environment: counts turns.

use dovetail::space::Discrete;
use dovetail::{
    map, Environment, EnvironmentType, Failure, IllegalAction, Legal, Space, Spec, Turn, Value,
    View,
};

#[derive(Clone)]
struct Conformer {
    seats: usize,
    turns: i64,
    simultaneous: bool,
    mask: bool,
    space: Space,
    observation: Value,
    truncate: bool,
    fail: String,
    turn: i64,
}

pub fn kind() -> EnvironmentType {
    EnvironmentType::new("conformer", |options| {
        let made = Conformer {
            seats: options.take("seats", 2)?,
            turns: options.take("turns", 3)?,
            simultaneous: options.take("simultaneous", false)?,
            mask: options.take("mask", false)?,
            space: options.take("space", Space::discrete(3))?,
            observation: options.take("observation", Value::Int(0))?,
            truncate: options.take("truncate", false)?,
            fail: options.take("fail", String::new())?,
            turn: 0,
        };
        if made.seats < 1 || made.turns < 1 {
            return Err("options 'seats' and 'turns' must be at least 1".into());
        }
        if !["", "open", "start", "step"].contains(&made.fail.as_str()) {
            return Err("option 'fail' must be open, start or step".into());
        }
        Ok(made)
    })
    .description("Counts turns.")
    .option("seats", 2usize)
    .option("turns", 3i64)
    .option("simultaneous", false)
    .option("mask", false)
    .option("space", Space::discrete(3))
    .option("observation", Value::Int(0))
    .option("truncate", false)
    .option("fail", String::new())
}

impl Conformer {
    fn fail(&self, verb: &str) -> Result<(), Failure> {
        if self.fail == verb {
            panic!("told to fail in {verb}");
        }
        Ok(())
    }

    fn to_act(&self) -> Vec<usize> {
        if self.simultaneous {
            (0..self.seats).collect()
        } else {
            vec![self.turn as usize % self.seats]
        }
    }

    fn view(&self, seat: usize, observation: Value, reward: f64) -> View {
        let legal = match &self.space {
            Space::Discrete(Discrete { n, start, .. }) => {
                let all = *start..start.saturating_add_unsigned(*n);
                Some(if self.mask {
                    Legal::mask(all, *n as usize)
                } else {
                    Legal::from(all)
                })
            }
            _ => None,
        };
        View {
            seat,
            observation,
            legal,
            reward,
            ..View::default()
        }
    }
}

impl Environment for Conformer {
    fn init(&mut self) -> Result<Spec, Failure> {
        self.fail("open")?;
        Ok(Spec {
            seats: self.seats,
            observation_spaces: vec![self.space.clone()],
            action_spaces: vec![self.space.clone()],
            reward_range: Some((0.0, 1.0)),
            max_turns: Some(self.turns as u64),
            afterstates: true,
            ..Spec::default()
        })
    }

    fn start(&mut self, seed: i64) -> Result<Turn, Failure> {
        self.fail("start")?;
        self.turn = 0;
        let seen = match self.observation.as_str() {
            Some("seed") => Value::Int(seed),
            _ => self.observation.clone(),
        };
        let to_act = self.to_act();
        let seats = to_act
            .iter()
            .map(|seat| self.view(*seat, seen.clone(), 0.0));
        Ok(Turn {
            seats: seats.collect(),
            to_act,
            ..Turn::default()
        })
    }

    fn step(&mut self, actions: Vec<(usize, Value)>) -> Result<Turn, Failure> {
        self.fail("step")?;
        for (seat, action) in &actions {
            if *action == Value::Int(-1) {
                return Err(IllegalAction::new("-1 is never legal", *seat).into());
            }
        }
        let acted = self.to_act();
        self.turn += 1;
        let seen: Vec<Value> = actions
            .into_iter()
            .map(|(seat, action)| Value::Array(vec![seat.into(), action]))
            .collect();
        let over = self.turn >= self.turns;
        let mut views: Vec<View> = (0..self.seats)
            .map(|seat| {
                let reward = f64::from(u8::from(acted.contains(&seat)));
                self.view(seat, Value::Array(seen.clone()), reward)
            })
            .collect();
        if over {
            views.iter_mut().for_each(|view| view.legal = None);
        }
        let share = 1.0 / acted.len() as f64;
        let score = |seat| if acted.contains(&seat) { share } else { 0.0 };
        Ok(Turn {
            to_act: if over { Vec::new() } else { self.to_act() },
            seats: views,
            terminated: over && !self.truncate,
            truncated: over && self.truncate,
            outcome: (over && !self.truncate).then(|| (0..self.seats).map(score).collect()),
            ..Turn::default()
        })
    }

    fn text(&mut self, _seat: Option<usize>) -> String {
        format!("turn {}", self.turn)
    }

    fn afterstates(&mut self, _seat: usize) -> Result<Value, Failure> {
        let Space::Discrete(Discrete { n, start, .. }) = &self.space else {
            return Ok(Value::Nil);
        };
        let all = *start..start.saturating_add_unsigned(*n);
        let rows = all.map(|action| Value::Array(vec![(self.turn + 1).into(), action.into()]));
        Ok(Value::Array(rows.collect()))
    }

    fn scene(&mut self, seat: Option<usize>) -> Value {
        map! { "width" => 1.0, "height" => 1.0, "caption" => self.text(seat) }.into()
    }

    fn fork(&self, _seat: usize, _seed: i64) -> Option<Box<dyn Environment>> {
        Some(Box::new(self.clone()))
    }

    fn message(&mut self, body: Value) -> Result<Value, Failure> {
        if body.as_str() == Some("crash") {
            return Err("told to crash".into());
        }
        Ok(body)
    }
}
