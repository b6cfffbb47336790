//! `random-rust`: does something legal.

use dovetail::{blocking, Agent, AgentType, Broker, Decision, Failure, Value};

struct Random;

impl Agent for Random {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        decision.any()
    }
}

fn main() -> std::process::ExitCode {
    let kind = AgentType::new("random-rust", |_, _| Ok(Random)).capacity(0);
    match blocking::serve_agents([kind], &Broker::from_env()) {
        Ok(()) => 0.into(),
        Err(error) => {
            eprintln!("{error}");
            1.into()
        }
    }
}
