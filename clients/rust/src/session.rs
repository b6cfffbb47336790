//! A peer's end of a session, without the socket: hello, heartbeats, resumption.
//!
//! Frames and the time go in; events for the role and frames for the broker come out.

use std::time::{Duration, Instant};

use crate::error::{Error, ProtocolError};
use crate::field::{self, Field};
use crate::messages::{
    self, read, Code, Hello, Incoming, Limits, Pong, Received, ToAll, Welcome, VERSION,
};

/// What a session tells its role.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<I> {
    /// A session has begun, or goes on (`resumed`).
    Welcome(Welcome),
    /// Something was refused.
    Error(messages::Error),
    /// A message of the role's own.
    Message(I),
}

/// The program around a role: events go in, frames for the broker come out.
pub trait Host {
    /// What the role hears.
    type Incoming: Incoming;
    /// Takes the next of what has come, and appends the answers.
    fn handle(&mut self, event: Event<Self::Incoming>, out: &mut Outbox);
}

/// Frames on their way to the broker, none of them larger than it reads.
#[derive(Debug, Default)]
pub struct Outbox {
    limits: Limits,
    frames: Vec<Vec<u8>>,
}

impl Outbox {
    /// The frame of a message.  A larger one than the broker reads would cost the connection, and
    /// once more whenever it is sent again.
    pub(crate) fn frame(&self, message: &impl Field) -> Result<Vec<u8>, ProtocolError> {
        let frame = field::encode(message);
        let (size, most) = (frame.len(), self.limits.frame);
        if size as u64 > most {
            return Err(ProtocolError::limit(format!(
                "{size} bytes in a message; the broker reads {most}"
            )));
        }
        Ok(frame)
    }

    /// Has a frame sent.
    pub(crate) fn push(&mut self, frame: Vec<u8>) {
        self.frames.push(frame);
    }

    /// Has a message sent that is small, whatever a user does.
    pub(crate) fn send(&mut self, message: &impl Field) {
        self.push(field::encode(message));
    }

    /// What is to be sent now, in this order.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.frames)
    }

    /// Whether nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
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
    /// A session that has not begun; its `hello` says which version this library speaks.
    pub fn new(hello: Hello) -> Self {
        Self {
            hello: Hello {
                version: VERSION,
                ..hello
            },
            welcome: None,
            departed: false,
            greeted: false,
            heard: None,
            role: std::marker::PhantomData,
        }
    }

    /// Says `hello`, which asks for the session that there was.
    ///
    /// It is the first frame of every new connection.
    pub fn greet(&mut self, now: Instant, out: &mut Outbox) {
        self.heard = Some(now);
        self.greeted = true;
        self.hello.resume = self.welcome.as_ref().map(|each| each.session.clone());
        out.send(&self.hello);
    }

    /// Takes frames of the broker; appends the events for the role, and what is answered at once.
    ///
    /// # Errors
    /// The broker refuses this peer.
    pub fn receive<F: AsRef<[u8]>>(
        &mut self,
        frames: impl IntoIterator<Item = F>,
        now: Instant,
        events: &mut Vec<Event<I>>,
        out: &mut Outbox,
    ) -> Result<(), Error> {
        self.heard = Some(now);
        // What the broker reads is its own affair; a peer should read as much, which is this.
        let limits = Limits::default();
        for frame in frames {
            match read(frame.as_ref(), &limits) {
                Ok(Received::Role(message)) => events.push(Event::Message(message)),
                Ok(Received::All(message)) => self.hear(message, now, events, out)?,
                Err(error) => out.send(&messages::Error::new(error.code, error.message)),
            }
        }
        Ok(())
    }

    fn hear(
        &mut self,
        message: ToAll,
        now: Instant,
        events: &mut Vec<Event<I>>,
        out: &mut Outbox,
    ) -> Result<(), Error> {
        match message {
            ToAll::Ping(ping) => out.send(&Pong {
                number: ping.number,
                ..Pong::default()
            }),
            ToAll::Welcome(welcome) => {
                out.limits = welcome.limits.clone();
                self.welcome = Some(welcome.clone());
                self.greeted = false;
                events.push(Event::Welcome(welcome));
            }
            ToAll::Bye(_) => self.departed = true,
            ToAll::Error(error) => return self.refused(error, now, events, out),
            // A pong, or what a later version of the contract tells every peer.
            _ => {}
        }
        Ok(())
    }

    fn refused(
        &mut self,
        error: messages::Error,
        now: Instant,
        events: &mut Vec<Event<I>>,
        out: &mut Outbox,
    ) -> Result<(), Error> {
        let ends = [Code::Version, Code::Access, Code::NameTaken];
        if self.greeted && ends.into_iter().any(|code| error.is(code)) {
            let text = format!("the broker refuses: {}", error.message);
            return Err(Error::Connection(text));
        }
        if !error.is(Code::HelloFirst) {
            events.push(Event::Error(error));
        } else if !self.greeted {
            // One that was said before the `hello` under way arrived asks for nothing.
            self.greet(now, out);
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
