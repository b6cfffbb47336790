//! A peer's end of a session, without the socket: hello, heartbeats, resumption.
//!
//! Frames and the time go in, frames come out.

use std::time::{Duration, Instant};

use crate::error::{code, Error};
use crate::messages::{read, ErrorMessage, Hello, Incoming, Limits, Pong, Received, Welcome};

/// What a session tells its role.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<I> {
    /// A session has begun, or goes on (`resumed`).
    Welcome(Welcome),
    /// Something was refused.
    Error(ErrorMessage),
    /// A message of the role's own.
    Message(I),
}

/// The program around a role: events go in, frames for the broker come out.
pub trait Host {
    /// What the role hears.
    type Incoming: Incoming;
    /// Takes the next of what has come, and appends the answers.
    fn handle(&mut self, event: Event<Self::Incoming>, out: &mut Vec<Vec<u8>>);
}

/// Keeps one peer known to its broker.
#[derive(Debug)]
pub struct Session<I> {
    hello: Hello,
    welcome: Option<Welcome>,
    departed: bool,
    greeted: bool,
    heard: Option<Instant>,
    role: std::marker::PhantomData<fn() -> I>,
}

impl<I: Incoming> Session<I> {
    /// A session that has not begun.
    pub fn new(hello: Hello) -> Self {
        Self {
            hello,
            welcome: None,
            departed: false,
            greeted: false,
            heard: None,
            role: std::marker::PhantomData,
        }
    }

    /// The frame of a `hello`, which asks for the session that there was.
    ///
    /// It is the first frame of every new connection.
    pub fn greet(&mut self, now: Instant) -> Vec<u8> {
        self.heard = Some(now);
        self.greeted = true;
        self.hello.resume = self.welcome.as_ref().map(|each| each.session.clone());
        self.hello.encode()
    }

    /// Takes frames of the broker; appends the events for the role, and frames to send at once.
    ///
    /// # Errors
    /// The broker refuses this peer.
    pub fn receive<F: AsRef<[u8]>>(
        &mut self,
        frames: impl IntoIterator<Item = F>,
        now: Instant,
        events: &mut Vec<Event<I>>,
        answers: &mut Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        self.heard = Some(now);
        // What the broker reads is its own affair; a peer should read as much, which is this.
        let limits = Limits::default();
        for frame in frames {
            match read(frame.as_ref(), &limits) {
                Ok(Received::Role(message)) => events.push(Event::Message(message)),
                Ok(Received::Ping(ping)) => answers.push(
                    Pong {
                        number: ping.number,
                    }
                    .encode(),
                ),
                Ok(Received::Pong(_)) => {}
                Ok(Received::Welcome(welcome)) => {
                    self.welcome = Some(welcome.clone());
                    self.greeted = false;
                    events.push(Event::Welcome(welcome));
                }
                Ok(Received::Bye(_)) => self.departed = true,
                Ok(Received::Error(error)) => {
                    if error.code == code::HELLO_FIRST {
                        // One that was said before the `hello` under way arrived asks for nothing.
                        if !self.greeted {
                            answers.push(self.greet(now));
                        }
                    } else if self.greeted
                        && [code::VERSION, code::ACCESS, code::NAME_TAKEN]
                            .contains(&error.code.as_str())
                    {
                        return Err(Error::Connection(format!(
                            "the broker refuses: {}",
                            error.message
                        )));
                    } else {
                        events.push(Event::Error(error));
                    }
                }
                Err(error) => {
                    answers.push(ErrorMessage::new(error.code, error.message).encode());
                }
            }
        }
        Ok(())
    }

    /// Whether the broker was not heard for so long that the connection must be made anew.
    ///
    /// To be asked only when everything that came has been taken in.
    pub fn silent(&self, now: Instant) -> bool {
        let heartbeat = self.welcome.as_ref().map_or(0.0, |each| each.heartbeat);
        // A heartbeat that is no time, such as NaN, is never missed.
        let patience = Duration::try_from_secs_f64(4.0 * heartbeat)
            .map_or(Duration::MAX, |patience| {
                patience.max(Duration::from_secs(2))
            });
        self.heard
            .is_some_and(|heard| now.duration_since(heard) > patience)
    }

    /// The broker's last answer to `hello`; nothing before the first.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// Whether the broker has said `bye`.
    pub fn departed(&self) -> bool {
        self.departed
    }
}
