//! The blocking API: each call returns when it is done.

use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::agent::AgentType;
use crate::agent_host::AgentHost;
use crate::broker::{Broker, Stop};
use crate::control::{Answer, Control, Happening, Request};
use crate::environment::EnvironmentType;
use crate::environment_host::EnvironmentHost;
use crate::error::{complain, Error};
use crate::experiment::{experiment, RunNumber};
use crate::link::{broken, Link, NAP};
use crate::messages::*;
use crate::session::{Event, Host};
use crate::value::Value;

/// Takes what has come, waiting for it for a while.
fn receive<I: Incoming>(
    link: &mut Link<I>,
    events: &mut Vec<Event<I>>,
    patience: Duration,
) -> Result<(), Error> {
    if link.take(events)? {
        return Ok(());
    }
    let patience = i64::try_from(patience.as_millis()).unwrap_or(i64::MAX);
    match link.socket.poll(zmq::POLLIN, patience) {
        Ok(0) => link.idle(),
        Ok(_) => link.take(events).map(drop),
        // A signal, which the caller looks at.
        Err(zmq::Error::EINTR) => Ok(()),
        Err(error) => Err(broken(error)),
    }
}

fn serve<H: Host>(
    mut host: H,
    broker: &Broker,
    role: Role,
    offers: Vec<Offer>,
) -> Result<(), Error> {
    let signals = Stop::default();
    let mut registered = Vec::new();
    for signal in [SIGTERM, SIGINT] {
        // The second one ends a program whose agent is still computing.
        let status = 128 + signal;
        registered.extend(flag::register_conditional_shutdown(
            signal,
            status,
            signals.0.clone(),
        ));
        registered.extend(flag::register(signal, signals.0.clone()));
    }
    let mut events = Vec::new();
    let result = (|| {
        let mut link = Link::new(broker, role, offers)?;
        while !link.departed() && !broker.stop.stopped() && !signals.stopped() {
            receive(&mut link, &mut events, NAP)?;
            link.announce();
            link.deal(&mut host, &mut events)?;
        }
        Ok(())
    })();
    for id in registered {
        signal_hook::low_level::unregister(id);
    }
    result
}

/// Runs a program that makes agents, until the broker leaves, or SIGTERM or SIGINT comes.
///
/// It ends when the agent that is at work is done, or at once at the second signal.
///
/// # Errors
/// No broker answers, or it refuses this program; or the agent that this program is cannot be made.
pub fn serve_agents(
    types: impl IntoIterator<Item = AgentType>,
    broker: &Broker,
) -> Result<(), Error> {
    let host = AgentHost::new(types).map_err(|failure| Error::Connection(failure.to_string()))?;
    let host = host.on_failure(complain);
    let offers = host.offers();
    serve(host, broker, Role::Agent, offers)
}

/// Runs a program that makes environments, until the broker leaves, or SIGTERM or SIGINT comes.
///
/// # Errors
/// No broker answers, or it refuses this program.
pub fn serve_environments(
    types: impl IntoIterator<Item = EnvironmentType>,
    broker: &Broker,
) -> Result<(), Error> {
    let host = EnvironmentHost::new(types).on_failure(complain);
    let offers = host.offers();
    serve(host, broker, Role::Environment, offers)
}

impl Experiment {
    /// The results of a run as an iterator, which ends after the last or with an error.
    ///
    /// Dropping it before that cancels the run.
    pub fn episodes(
        &mut self,
        run: RunNumber,
    ) -> impl Iterator<Item = Result<Episode, Error>> + use<'_> {
        Episodes {
            experiment: self,
            run,
            over: false,
        }
    }
}

/// The results of a run, which ends with its reader.
struct Episodes<'a> {
    experiment: &'a mut Experiment,
    run: RunNumber,
    over: bool,
}

impl Iterator for Episodes<'_> {
    type Item = Result<Episode, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let episode = self.experiment.episode(self.run).transpose();
        self.over = !matches!(episode, Some(Ok(_)));
        episode
    }
}

impl Drop for Episodes<'_> {
    fn drop(&mut self) {
        if !self.over {
            // Without a connection the broker ends the run by itself.
            let _ = self.experiment.cancel(self.run);
        }
    }
}

experiment!({} {});
