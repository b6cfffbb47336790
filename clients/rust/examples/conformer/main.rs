//! The conformer of docs/reference/conformer.md: `conformer agent`, `environment` or `experiment`.

mod agent;
mod environment;
mod experiment;
mod reading;

use dovetail::{blocking, Broker, Error};

/// The same on tokio, `conformer tokio agent` or `environment`: the kit tries both shells.
#[cfg(feature = "tokio")]
fn on_tokio(role: &str, broker: Broker) -> Result<(), Error> {
    use dovetail::Stop;
    use tokio::signal::unix::{signal, SignalKind};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Run(error.to_string()))?;
    runtime.block_on(async {
        let stop = Stop::default();
        let broker = broker.stop(&stop);
        if let Ok(mut told) = signal(SignalKind::terminate()) {
            tokio::spawn(async move {
                told.recv().await;
                stop.stop();
            });
        }
        match role {
            "agent" => dovetail::tokio::serve_agents([agent::kind()], &broker).await,
            _ => dovetail::tokio::serve_environments([environment::kind()], &broker).await,
        }
    })
}

fn main() -> Result<(), Error> {
    let broker = Broker::from_env().quiet();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["agent"] => blocking::serve_agents([agent::kind()], &broker),
        ["environment"] => blocking::serve_environments([environment::kind()], &broker),
        ["experiment"] => experiment::run(&broker),
        #[cfg(feature = "tokio")]
        ["tokio", role @ ("agent" | "environment")] => on_tokio(role, broker),
        _ => Err(Error::Run(
            "usage: conformer agent|environment|experiment".to_owned(),
        )),
    }
}
