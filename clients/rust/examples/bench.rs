//! The pair of the turn benchmark: `bench agent` and `bench environment`.

use dovetail::{
    blocking, Agent, AgentType, Broker, Decision, Environment, EnvironmentType, Error, Failure,
    Legal, Space, Spec, Turn, Value, View,
};

struct First;

impl Agent for First {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        let legal = decision.legal.as_ref().and_then(|legal| legal.first());
        Ok((*legal.ok_or("no legal actions were sent")?).into())
    }
}

struct Alternating {
    turns: i64,
    turn: i64,
}

impl Alternating {
    fn view(seat: usize, legal: Option<Legal>) -> View {
        View {
            seat,
            observation: Value::Int(0),
            legal,
            ..View::default()
        }
    }

    fn turn(&self) -> Turn {
        if self.turn >= self.turns {
            return Turn {
                seats: (0..2).map(|seat| Self::view(seat, None)).collect(),
                terminated: true,
                outcome: Some(vec![0.5, 0.5]),
                ..Turn::default()
            };
        }
        let seat = (self.turn % 2) as usize;
        Turn {
            to_act: vec![seat],
            seats: vec![Self::view(seat, Some(Legal::List(vec![0, 1])))],
            ..Turn::default()
        }
    }
}

impl Environment for Alternating {
    fn init(&mut self) -> Result<Spec, Failure> {
        Ok(Spec {
            seats: 2,
            observation_spaces: vec![Space::discrete(1)],
            action_spaces: vec![Space::discrete(2)],
            ..Spec::default()
        })
    }

    fn start(&mut self, _seed: i64) -> Result<Turn, Failure> {
        self.turn = 0;
        Ok(self.turn())
    }

    fn step(&mut self, _actions: Vec<(usize, Value)>) -> Result<Turn, Failure> {
        self.turn += 1;
        Ok(self.turn())
    }
}

fn main() -> Result<(), Error> {
    let broker = Broker::from_env();
    match std::env::args().nth(1).as_deref() {
        Some("agent") => {
            let kind = AgentType::new("bench", |_, _| Ok(First)).capacity(0);
            blocking::serve_agents([kind], &broker)
        }
        Some("environment") => {
            let kind = EnvironmentType::new("bench", |options| {
                let turns = options.take("turns", 1000i64)?;
                Ok(Alternating { turns, turn: 0 })
            })
            .option("turns", 1000i64);
            blocking::serve_environments([kind], &broker)
        }
        _ => Err(Error::Run("usage: bench agent|environment".to_owned())),
    }
}
