//! The broker's address, and the connecting program's name and credentials.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// The default address of a broker.
pub const ADDRESS: &str = "tcp://127.0.0.1:5757";

/// A broker's address, this program's name and credentials, and how long to wait.
#[derive(Clone, Debug)]
pub struct Broker {
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) name: String,
    pub(crate) wait: Option<Duration>,
    pub(crate) give_up: Option<Duration>,
    pub(crate) stop: Stop,
    pub(crate) quiet: bool,
}

impl Broker {
    /// A broker at a ZeroMQ endpoint.
    pub fn at(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            token: None,
            key: None,
            name: String::new(),
            wait: Some(Duration::from_secs(10)),
            give_up: Some(Duration::from_secs(60)),
            stop: Stop::default(),
            quiet: false,
        }
    }

    /// The broker that `DOVETAIL_BROKER` names, with the access token `DOVETAIL_TOKEN` and the key
    /// file `DOVETAIL_KEY`.
    pub fn from_env() -> Self {
        let address = std::env::var("DOVETAIL_BROKER").unwrap_or_default();
        let address = if address.is_empty() {
            ADDRESS
        } else {
            &address
        };
        Self {
            token: std::env::var("DOVETAIL_TOKEN").ok(),
            key: std::env::var("DOVETAIL_KEY")
                .ok()
                .filter(|path| !path.is_empty()),
            ..Self::at(address)
        }
    }

    /// The access token.
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// The file with this program's key, for a broker that requires keys (docs/keys.md).
    pub fn key(mut self, path: &str) -> Self {
        self.key = Some(path.to_owned());
        self
    }

    /// This program's name among the peers; the broker chooses one otherwise.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// How long to wait for the broker's first answer, 10 s otherwise; `None` waits forever.
    pub fn wait(mut self, wait: Option<Duration>) -> Self {
        self.wait = wait;
        self
    }

    /// How long an experiment waits for a broker that has fallen silent, 60 s otherwise; `None`
    /// waits forever, as programs that serve do.
    pub fn give_up(mut self, give_up: Option<Duration>) -> Self {
        self.give_up = give_up;
        self
    }

    /// Has a program that serves print nothing; otherwise one line on standard output tells that
    /// the broker has answered.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Sets a handle that ends a serving program, besides the broker and the system's signals.
    pub fn stop(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }
}

/// Ends a program that serves, from another thread or a signal's handler.
#[derive(Clone, Debug, Default)]
pub struct Stop(pub(crate) Arc<AtomicBool>);

impl Stop {
    /// Tells it to leave and end, which takes at most half a second.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if that was asked.
    pub fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
