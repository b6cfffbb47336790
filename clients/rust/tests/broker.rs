//! Episodes at a real broker, with agents and an environment of this library.

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{BrokerProcess, Counter, Nim};
use dovetail::blocking::{serve_agents, serve_environments, Experiment};
use dovetail::messages::{ExperimentCreate, Mode};
use dovetail::{map, Broker, Error, Run, Stop, Value};

#[test]
fn episodes_are_played() {
    let Some(process) = BrokerProcess::start() else {
        return;
    };
    let stop = Stop::default();
    let broker = Broker::at(&process.address).stop(&stop).quiet();
    let agents = {
        let broker = broker.clone();
        thread::spawn(move || serve_agents([Counter::kind("counter")], &broker))
    };
    let environments = {
        let broker = broker.clone();
        thread::spawn(move || serve_environments([Nim::kind("nim")], &broker))
    };
    let mut experiment = Experiment::connect(&broker).unwrap();
    experiment
        .expect(&["nim"], &["counter"], Duration::from_secs(20))
        .unwrap();

    let first = experiment.create("counter", 1).unwrap();
    let asking = ExperimentCreate {
        agent: "counter".into(),
        parameters: map! { "asks" => true },
        ..ExperimentCreate::default()
    };
    let second = experiment.create_with(asking).unwrap();
    assert_ne!(first, second);
    let wrong = ExperimentCreate {
        agent: "counter".into(),
        parameters: map! { "colour" => 1 },
        ..ExperimentCreate::default()
    };
    let refused = experiment.create_with(wrong);
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");

    let asked = Run {
        episodes: 40,
        seed: 3,
        configuration: map! { "heap" => 6 },
        concurrency: 4,
        check: Some(true),
        lookahead: true,
        ..Run::new("nim", [first, second])
    };
    let run = experiment.run(asked.clone()).unwrap();
    let mut results = experiment.results(run).unwrap();
    assert_eq!(results.len(), 40);
    assert!(
        results
            .iter()
            .all(|each| each.scored && each.outcome.is_some()),
        "{results:?}"
    );
    assert_eq!(experiment.done(run).unwrap().finished, 40);

    // The same seeds give the same games.
    let again = experiment.run(asked.clone()).unwrap();
    let mut replayed: Vec<_> = experiment.episodes(again).map(Result::unwrap).collect();
    results.sort_by_key(|each| each.index);
    replayed.sort_by_key(|each| each.index);
    for (one, other) in results.iter().zip(&replayed) {
        assert_eq!((&one.outcome, one.turns), (&other.outcome, other.turns));
    }

    // The agents' count equals the broker's.
    let body = experiment.message(first, Value::Nil).unwrap();
    let decisions: i64 = results
        .iter()
        .chain(&replayed)
        .map(|each| each.seats[0].decisions)
        .sum();
    assert_eq!(body.get("decisions"), Some(&decisions.into()));
    assert_eq!(body.get("ends"), Some(&80.into()));
    let state = experiment.save(first, None).unwrap();
    assert_eq!(state, decisions.to_le_bytes());
    experiment.load(second, &state).unwrap();
    assert!(experiment.load(second, b"x").is_err());

    // A loop that is left ends its run.
    let left = experiment
        .run(Run {
            episodes: 1_000_000,
            ..asked
        })
        .unwrap();
    assert!(experiment.episodes(left).next().unwrap().is_ok());
    assert!(matches!(
        experiment.cancel(left),
        Err(Error::Refused { .. })
    ));

    // Stepwise, watched.
    let run = experiment
        .run(Run {
            stepwise: true,
            mode: Mode::Evaluate,
            configuration: map! { "heap" => 1 },
            episodes: 2,
            ..Run::new("nim", [first, second])
        })
        .unwrap();
    experiment.watch(Some(run), true).unwrap();
    assert!(experiment.step(run).is_err());
    assert_eq!(experiment.start(run).unwrap().to_act, [0]);
    assert!(experiment.start(run).is_err());
    assert_eq!(experiment.restart(run).unwrap().to_act, [0]);
    let last = experiment.step(run).unwrap();
    assert_eq!(
        (last.terminated, last.outcome),
        (true, Some(vec![1.0, 0.0]))
    );
    let turn = experiment.turn(Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!((turn.turn, turn.text.as_deref()), (0, Some("1 left")));
    assert_eq!(experiment.results(run).unwrap().len(), 2);

    // Ended early.
    let long = Run {
        episodes: 1_000_000,
        ..Run::new("nim", [first, second])
    };
    let run = experiment.run(long).unwrap();
    assert!(experiment.episode(run).unwrap().is_some());
    experiment.pause(run).unwrap();
    experiment.resume(run).unwrap();
    assert!(
        experiment
            .message_environment(run, "steps")
            .unwrap()
            .as_i64()
            > Some(0)
    );
    experiment.cancel(run).unwrap();
    experiment.results(run).unwrap();
    experiment.cleanup(second).unwrap();
    experiment.close();

    stop.stop();
    agents.join().unwrap().unwrap();
    environments.join().unwrap().unwrap();
}

#[test]
fn a_program_says_that_it_is_ready() {
    let Some(process) = BrokerProcess::start() else {
        return;
    };
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(Path::parent).unwrap();
    for program in ["random", "random_tokio"] {
        let program = built.join("examples").join(program);
        if !program.exists() {
            eprintln!("skipped: {} is not built", program.display());
            continue;
        }
        let mut program = Command::new(program)
            .env("DOVETAIL_BROKER", &process.address)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(program.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        program.kill().unwrap();
        program.wait().unwrap();
        let ready = format!("agent random-rust ready at {} as agent-", process.address);
        assert!(line.starts_with(&ready), "{line}");
    }
}

#[test]
fn nobody_answers() {
    let broker = Broker::at("tcp://127.0.0.1:9").wait(Some(Duration::from_millis(300)));
    let error = Experiment::connect(&broker).err().unwrap();
    assert!(
        error.to_string().contains("no broker answers at"),
        "{error}"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
    let error = Experiment::connect(&Broker::at("nowhere")).err().unwrap();
    assert!(
        error.to_string().contains("is not a broker address"),
        "{error}"
    );
}
