//! `random-rust` on tokio: the same agent, served by a future.

use dovetail::tokio::serve_agents;
use dovetail::{Agent, AgentType, Broker, Decision, Error, Failure, Stop, Value};
use tokio::signal::unix::{signal, SignalKind};

struct Random;

impl Agent for Random {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        decision.any()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let stop = Stop::default();
    let broker = Broker::from_env().stop(&stop);
    if let Ok(mut told) = signal(SignalKind::terminate()) {
        tokio::spawn(async move {
            told.recv().await;
            stop.stop();
        });
    }
    let kind = AgentType::new("random-rust", |_, _| Ok(Random)).capacity(0);
    serve_agents([kind], &broker).await
}
