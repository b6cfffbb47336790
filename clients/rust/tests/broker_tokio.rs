//! The asynchronous shell at a real broker.

mod common;

use std::time::{Duration, Instant};

use common::{BrokerProcess, Counter, Nim};
use dovetail::tokio::{serve_agents, serve_environments, Experiment};
use dovetail::{map, Broker, Run, Stop, Value};

#[tokio::test]
async fn episodes_are_played() {
    let Some(process) = BrokerProcess::start() else {
        return;
    };
    let stop = Stop::default();
    let broker = Broker::at(&process.address).stop(&stop).quiet();
    let agents = {
        let broker = broker.clone();
        tokio::spawn(async move { serve_agents([Counter::kind("counter")], &broker).await })
    };
    let environments = {
        let broker = broker.clone();
        tokio::spawn(async move { serve_environments([Nim::kind("nim")], &broker).await })
    };
    let mut experiment = Experiment::connect(&broker).await.unwrap();
    experiment
        .expect(&["nim"], &["counter"], Duration::from_secs(20))
        .await
        .unwrap();
    let player = experiment.create("counter", 1).await.unwrap();
    let run = Run {
        episodes: 100,
        configuration: map! { "heap" => 9 },
        concurrency: 8,
        ..Run::new("nim", [player, player])
    };
    let run = experiment.run(run).await.unwrap();
    let results = experiment.results(run).await.unwrap();
    assert_eq!(results.len(), 100);
    let body = experiment.message(player, Value::Nil).await.unwrap();
    assert_eq!(body.get("ends"), Some(&200.into()));
    // Nothing is lost when a future is dropped while it waits.
    for _ in 0..20 {
        let asked = experiment.turn(Duration::from_secs(60));
        let _ = tokio::time::timeout(Duration::from_millis(2), asked).await;
    }
    assert!(experiment.message(player, "fail").await.is_err());
    experiment.close();
    stop.stop();
    agents.await.unwrap().unwrap();
    environments.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_program_that_is_dropped_says_goodbye() {
    let Some(process) = BrokerProcess::start() else {
        return;
    };
    let broker = Broker::at(&process.address).quiet();
    let agents = {
        let broker = broker.clone();
        tokio::spawn(async move { serve_agents([Counter::kind("counter")], &broker).await })
    };
    let mut experiment = Experiment::connect(&broker).await.unwrap();
    let patience = Duration::from_secs(20);
    let offered = experiment.expect(&[], &["counter"], patience).await;
    offered.unwrap();
    agents.abort();
    // One that goes without a word stays for the broker's grace period, which is longer.
    let begun = Instant::now();
    while experiment
        .expect(&[], &["counter"], Duration::ZERO)
        .await
        .is_ok()
    {
        assert!(begun.elapsed() < patience);
        tokio::task::yield_now().await;
    }
}
