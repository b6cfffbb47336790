//! `random-rust` on tokio: the same agent, served by a future.

use dovetail::{tokio::serve_agents, Agent, AgentType, Broker, Decision, Error, Failure, Value};

struct Random;

impl Agent for Random {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        decision.any()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let kind = AgentType::new("random-rust", |_, _| Ok(Random)).capacity(0);
    serve_agents([kind], &Broker::from_env()).await
}
