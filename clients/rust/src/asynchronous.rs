//! The asynchronous API, on tokio.
//!
//! The futures are safe to drop while they wait; one that serves leaves then.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

use crate::agent::AgentType;
use crate::agent_host::AgentHost;
use crate::broker::Broker;
use crate::control::{Answer, Control, Happening, Request};
use crate::environment::EnvironmentType;
use crate::environment_host::EnvironmentHost;
use crate::error::{complain, Error};
use crate::experiment::{experiment, RunNumber};
use crate::link::{broken, NAP};
use crate::messages::*;
use crate::session::{Event, Host};
use crate::value::Value;

/// With a copy of the descriptor by which ZeroMQ says that something happened at the socket.
type Link<I> = crate::link::Link<I, Option<AsyncFd<OwnedFd>>>;

/// Takes what has come, waiting for it for a while.
async fn receive<I: Incoming>(
    link: &mut Link<I>,
    events: &mut Vec<Event<I>>,
    patience: Duration,
) -> Result<(), Error> {
    let end = Instant::now() + patience;
    loop {
        // ZeroMQ signals changes only, so nothing may be left when waiting begins.
        if link.take(events)? {
            return Ok(());
        }
        let left = end.saturating_duration_since(Instant::now());
        let signal = match &mut link.shell {
            Some(signal) => signal,
            none => none.insert(signal(&link.socket)?),
        };
        match tokio::time::timeout(left, signal.readable()).await {
            Ok(ready) => ready.map_err(broken)?.clear_ready(),
            Err(_) => return link.idle(),
        }
    }
}

fn signal(socket: &zmq::Socket) -> Result<AsyncFd<OwnedFd>, Error> {
    let descriptor = socket.get_fd().map_err(broken)?;
    // SAFETY: the descriptor is the socket's, which is open here and for the copying.  The copy is
    // owned by what is registered, so it is open for as long as that lasts.
    #[allow(unsafe_code)]
    let signal = unsafe {
        let own = BorrowedFd::borrow_raw(descriptor).try_clone_to_owned();
        AsyncFd::register_with_interest(own.map_err(broken)?, Interest::READABLE)
    };
    signal.map_err(broken)
}

async fn serve<H: Host>(
    mut host: H,
    broker: &Broker,
    role: Role,
    offers: Vec<Offer>,
) -> Result<(), Error> {
    let mut events = Vec::new();
    let mut link = Link::new(broker, role, offers)?;
    while !link.departed() && !broker.stop.stopped() {
        receive(&mut link, &mut events, NAP).await?;
        link.announce();
        link.deal(&mut host, &mut events)?;
    }
    Ok(())
}

/// Runs a program that makes agents, until the broker leaves or [`Stop`](crate::Stop) asks for it.
///
/// Agents are called on the task that runs this future.
///
/// # Errors
/// No broker answers, or it refuses this program; or the agent that this program is cannot be made.
pub async fn serve_agents(
    types: impl IntoIterator<Item = AgentType>,
    broker: &Broker,
) -> Result<(), Error> {
    let host = AgentHost::new(types).map_err(|failure| Error::Connection(failure.to_string()))?;
    let host = host.on_failure(complain);
    let offers = host.offers();
    serve(host, broker, Role::Agent, offers).await
}

/// Runs a program that makes environments, until the broker leaves or [`Stop`](crate::Stop) asks
/// for it.
///
/// # Errors
/// No broker answers, or it refuses this program.
pub async fn serve_environments(
    types: impl IntoIterator<Item = EnvironmentType>,
    broker: &Broker,
) -> Result<(), Error> {
    let host = EnvironmentHost::new(types).on_failure(complain);
    let offers = host.offers();
    serve(host, broker, Role::Environment, offers).await
}

experiment!({async} {.await});
