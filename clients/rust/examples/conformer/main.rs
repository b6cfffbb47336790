//! The conformer of docs/conformance.md: `conformer agent`, `environment` or `experiment`.

mod agent;
mod environment;
mod experiment;
mod reading;

use dovetail::{blocking, Broker};

fn main() -> std::process::ExitCode {
    // What a library reports about a panic goes to the broker; here it would only be noise.
    std::panic::set_hook(Box::new(|_| {}));
    let broker = Broker::from_env();
    let role = std::env::args().nth(1).unwrap_or_default();
    let result = match role.as_str() {
        "agent" => blocking::serve_agents([agent::kind()], &broker),
        "environment" => blocking::serve_environments([environment::kind()], &broker),
        "experiment" => experiment::run(&broker),
        _ => {
            eprintln!("usage: conformer agent|environment|experiment");
            return 2.into();
        }
    };
    match result {
        Ok(()) => 0.into(),
        Err(error) => {
            eprintln!("{error}");
            1.into()
        }
    }
}
