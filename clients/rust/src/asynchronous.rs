//! Programs of the protocol as futures, for those who run on tokio.
//!
//! The futures are safe to drop while they wait.

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
use crate::link::{broken, Link as Plain, NAP};
use crate::messages::{
    Cancel, Catalogue, Cleanup, Create, Done, Drain, Episode, ExperimentMessage, ExperimentStart,
    ExperimentStep, Incoming, Load, Offer, Pause, Progress, Role, Run, Save, ToExperiment, Watch,
    WatchedTurn,
};
use crate::session::{Event, Host};
use crate::value::Value;

/// A link whose socket tokio looks after.
struct Link<I> {
    /// A copy of the descriptor by which ZeroMQ says that something happened at the socket.
    signal: Option<AsyncFd<OwnedFd>>,
    signalled: u64,
    plain: Plain<I>,
}

impl<I: Incoming> Link<I> {
    async fn open(
        broker: &Broker,
        role: Role,
        offers: Vec<Offer>,
        events: &mut Vec<Event<I>>,
    ) -> Result<Self, Error> {
        let mut link = Self {
            signal: None,
            signalled: 0,
            plain: Plain::new(broker, role, offers)?,
        };
        while !link.plain.welcomed() && !broker.stop.stopped() {
            link.receive(events, Duration::from_millis(100)).await?;
        }
        Ok(link)
    }

    /// Takes what has come, waiting for it for a while.
    async fn receive(
        &mut self,
        events: &mut Vec<Event<I>>,
        patience: Duration,
    ) -> Result<(), Error> {
        let end = Instant::now() + patience;
        loop {
            // ZeroMQ signals changes only, so nothing may be left when waiting begins.
            if self.plain.take(events)? {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            let signal = self.signal()?;
            match tokio::time::timeout(left, signal.readable()).await {
                Ok(Ok(mut guard)) => guard.clear_ready(),
                Ok(Err(error)) => {
                    return Err(Error::Connection(format!("the socket failed: {error}")));
                }
                Err(_) => {
                    return self.plain.idle();
                }
            }
        }
    }

    fn signal(&mut self) -> Result<&AsyncFd<OwnedFd>, Error> {
        if self.signal.is_none() || self.signalled != self.plain.sockets {
            self.signal = None;
            let descriptor = self.plain.socket.get_fd().map_err(broken)?;
            // SAFETY: the descriptor is the socket's, which is open here and for the copying.  The
            // copy is owned by what is registered, so it is open for as long as that lasts.
            #[allow(unsafe_code)]
            let signal = unsafe {
                BorrowedFd::borrow_raw(descriptor)
                    .try_clone_to_owned()
                    .and_then(|own| Ok(AsyncFd::register_with_interest(own, Interest::READABLE)?))
            };
            let signal =
                signal.map_err(|error| Error::Connection(format!("the socket failed: {error}")))?;
            self.signal = Some(signal);
            self.signalled = self.plain.sockets;
        }
        self.signal
            .as_ref()
            .ok_or_else(|| Error::Connection("the socket failed".to_owned()))
    }

    fn send(&self, frames: Vec<Vec<u8>>) -> Result<(), Error> {
        self.plain.send(frames)
    }

    fn deal(&self, control: &mut Control, events: &mut Vec<Event<I>>) -> Result<(), Error>
    where
        Control: Host<Incoming = I>,
    {
        self.plain.deal(control, events)
    }

    fn name(&self) -> &str {
        self.plain.name()
    }

    fn departed(&self) -> bool {
        self.plain.departed()
    }

    fn goodbye(&self) {
        self.plain.goodbye();
    }
}

async fn serve<H: Host>(
    mut host: H,
    broker: &Broker,
    role: Role,
    offers: Vec<Offer>,
) -> Result<(), Error> {
    let mut events = Vec::new();
    let mut link = Link::open(broker, role, offers, &mut events).await?;
    link.plain.announce();
    loop {
        link.plain.deal(&mut host, &mut events)?;
        if link.departed() {
            return Ok(());
        }
        if broker.stop.stopped() {
            link.goodbye();
            return Ok(());
        }
        link.receive(&mut events, NAP).await?;
    }
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

/// Run control: a connection of an experiment to the broker.
///
/// Dropping it says goodbye; runs in progress are cancelled.
pub struct Experiment {
    link: Link<ToExperiment>,
    control: Control,
}

impl Experiment {
    /// Connects to a broker.
    ///
    /// # Errors
    /// None answers, or it refuses this peer.
    pub async fn connect(broker: &Broker) -> Result<Self, Error> {
        let mut events = Vec::new();
        let link = Link::open(broker, Role::Experiment, Vec::new(), &mut events).await?;
        let mut control = Control::default();
        link.plain.deal(&mut control, &mut events)?;
        Ok(Self { link, control })
    }

    async fn receive(
        &mut self,
        events: &mut Vec<Event<ToExperiment>>,
        patience: Duration,
    ) -> Result<(), Error> {
        self.link.receive(events, patience).await
    }
}

experiment!({async} {.await});
