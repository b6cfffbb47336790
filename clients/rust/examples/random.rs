//! `random-rust`: does something legal.

use dovetail::{blocking, Agent, AgentType, Broker, Decision, Error, Failure, Value};

struct Random;

impl Agent for Random {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        decision.any()
    }
}

fn main() -> Result<(), Error> {
    let kind = AgentType::new("random-rust", |_, _| Ok(Random)).capacity(0);
    blocking::serve_agents([kind], &Broker::from_env())
}
