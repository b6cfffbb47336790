//! A peer's end of a session, without the socket: hello, heartbeats, resumption, and repeats.
//!
//! Frames and the time go in; events for the role and frames for the broker come out.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::error::{Error, Failure, ProtocolError, Told};
use crate::field::{self, Field};
use crate::messages::{
    self, read, Asked, Code, Hello, Incoming, Limits, Pong, Received, ToAll, Welcome, VERSION,
};

/// How long a `hello` may be without an answer at first, and at most; the wait doubles each time.
const FIRST_ANSWER: Duration = Duration::from_secs(4);
const LAST_ANSWER: Duration = Duration::from_secs(16);

/// Bytes of answers that are kept at the most, and what counts for each beside its own (S11.4).
const MOST: usize = 1 << 28;
const EACH: usize = 64;

/// An event that a session passes to its role.
#[derive(Clone, Debug, PartialEq)]
pub enum Event<I> {
    /// A session has begun, or continues (`resumed`).
    Welcome(Welcome),
    /// Something was refused.
    Error(messages::Error),
    /// A message of the role's own that has not come before, and how an answer names it.
    Message(I, Asked),
    /// The message of this number came again.
    Repeated(u64),
}

/// The program around a role: events go in, frames for the broker come out.
pub trait Host {
    /// The messages that the role receives.
    type Incoming: Incoming;
    /// Takes the next of what has come, and appends the answers.
    fn handle(&mut self, event: Event<Self::Incoming>, out: &mut Outbox);
}

/// Frames on their way to the broker, none of them larger than it reads, and the answers that it
/// may ask for again.
///
/// A frame that must arrive has a number, `seq`, that rises within the session.  The broker may
/// send one again after a reconnection: it gets the same answer if it was answered, and is ignored
/// if not.
#[derive(Debug, Default)]
pub struct Outbox {
    limits: Limits,
    frames: Vec<Vec<u8>>,
    /// The highest number that has arrived.
    seen: u64,
    /// The answers by the number of what they answer, until the broker says that they arrived.
    answers: BTreeMap<u64, Vec<u8>>,
    /// Their bytes.
    kept: usize,
    /// True if the broker sends pings, and so can lose a connection and says what arrived.
    keeping: bool,
}

impl Outbox {
    fn begin(&mut self, welcome: &Welcome) {
        if !welcome.resumed {
            (self.seen, self.kept) = (0, 0);
            self.answers.clear();
        }
        self.keeping = welcome.heartbeat > 0.0;
        self.limits = welcome.limits.clone();
    }

    /// True if a frame has not come before.
    fn is_new(&mut self, seq: u64) -> bool {
        let new = seq == 0 || seq > self.seen;
        self.seen = self.seen.max(seq);
        new
    }

    /// Answers a repeated frame as before, if it was answered.
    pub(crate) fn repeat(&mut self, seq: u64) {
        self.frames.extend(self.answers.get(&seq).cloned());
    }

    /// Encodes a message.  A larger one than the broker reads would cost the connection, and
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

    /// Answers a frame, and keeps the answer.
    pub(crate) fn answer(&mut self, asked: Asked, frame: Vec<u8>) {
        self.forget(asked.seq);
        let kept = self.kept + frame.len() + EACH;
        if self.keeping && asked.seq > 0 && kept <= MOST {
            self.kept = kept;
            self.answers.insert(asked.seq, frame.clone());
        }
        self.push(frame);
    }

    /// Answers a frame with an error.
    pub(crate) fn fail(&mut self, asked: Asked, code: Code, text: String) {
        self.answer(asked, messages::Error::to(asked, code, text).encode());
    }

    /// Answers a frame with a message, or with why there is none.
    pub(crate) fn settle<M: Field>(
        &mut self,
        asked: Asked,
        told: &mut Told,
        place: &str,
        result: Result<M, Failure>,
    ) {
        let encoded = result.map(|message| self.frame(&message));
        match encoded {
            Ok(Ok(frame)) => self.answer(asked, frame),
            Ok(Err(large)) => self.fail(asked, Code::Crashed, large.message),
            Err(failure) => {
                let (code, text) = told.refusal(place, &failure);
                self.fail(asked, code, text);
            }
        }
    }

    /// Answers a batch of a group with a message, or with why there is none.
    pub(crate) fn batch<M: Field>(
        &mut self,
        asked: Asked,
        told: &mut Told,
        name: &str,
        result: Result<M, Failure>,
    ) {
        let encoded = result.and_then(|message| match self.frame(&message) {
            Ok(frame) => Ok(frame),
            Err(large) => Err(large.message.into()),
        });
        match encoded {
            Ok(frame) => self.answer(asked, frame),
            Err(failure) => match failure.downcast_ref::<ProtocolError>() {
                Some(error) => self.fail(asked, error.code, error.message.clone()),
                None => {
                    let text = told.crash(&format!("{name} in a batch"), &failure);
                    self.fail(asked, Code::Crashed, text);
                }
            },
        }
    }

    /// Forgets an answer that has arrived, since what follows from it came.
    pub(crate) fn forget(&mut self, seq: u64) {
        if let Some(answer) = self.answers.remove(&seq) {
            self.kept -= answer.len() + EACH;
        }
    }

    /// Sends a frame.
    pub(crate) fn push(&mut self, frame: Vec<u8>) {
        self.frames.push(frame);
    }

    /// Sends a message that is small whatever the user's code does.
    pub(crate) fn send(&mut self, message: &impl Field) {
        self.push(field::encode(message));
    }

    /// Takes what is to be sent now, in this order.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.frames)
    }

    /// True if nothing is to be sent.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// Keeps one peer known to its broker.
#[derive(Debug)]
pub struct Session<I> {
    hello: Hello,
    welcome: Option<Welcome>,
    /// The largest frames that are read.
    limits: Limits,
    departed: bool,
    /// How long to wait for the answer to `hello`; nothing if none is under way.
    answer: Option<Duration>,
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
            limits: Limits::default(),
            departed: false,
            answer: None,
            heard: None,
            role: std::marker::PhantomData,
        }
    }

    /// Sends a `hello` that resumes an earlier session, if any.
    ///
    /// It is the first frame of every new connection.
    pub fn greet(&mut self, now: Instant, out: &mut Outbox) {
        self.heard = Some(now);
        let wait = self.answer.map_or(FIRST_ANSWER, |wait| 2 * wait);
        self.answer = Some(wait.min(LAST_ANSWER));
        self.hello.resume = self.welcome.as_ref().map(|each| each.session.clone());
        self.hello.seen = out.seen;
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
        for frame in frames {
            let (asked, received) = read(frame.as_ref(), &self.limits);
            match received {
                Ok(Received::Role(message)) => {
                    events.push(if out.is_new(asked.seq) {
                        Event::Message(message, asked)
                    } else {
                        Event::Repeated(asked.seq)
                    });
                }
                Ok(Received::All(message)) => self.hear(message, now, events, out)?,
                Err(error) => out.send(&messages::Error::to(asked, error.code, error.message)),
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
            ToAll::Ping(ping) => {
                while let Some(seq) = out.answers.keys().next().copied() {
                    if seq > ping.settled {
                        break;
                    }
                    out.forget(seq);
                }
                out.send(&Pong {
                    number: ping.number,
                    seen: out.seen,
                    ..Pong::default()
                });
            }
            ToAll::Welcome(welcome) => {
                self.answer = None;
                let known = self.welcome.as_ref();
                // The answer to a `hello` that was said twice comes twice.
                if welcome.resumed || known.is_none_or(|each| each.session != welcome.session) {
                    out.begin(&welcome);
                    let (least, limits) = (Limits::default(), &welcome.limits);
                    self.limits = Limits {
                        frame: limits.frame.max(least.frame),
                        depth: limits.depth.max(least.depth),
                        elements: limits.elements.max(least.elements),
                        ..least
                    };
                    self.welcome = Some(welcome.clone());
                    events.push(Event::Welcome(welcome));
                }
            }
            ToAll::Bye(_) => self.departed = true,
            ToAll::Error(error) => {
                if self.answer.is_some() && self.is_final(&error) || expels(&error) {
                    self.answer = None;
                    let text = format!("the broker refuses: {}", error.message);
                    return Err(Error::Connection(text));
                }
                if !error.is(Code::HelloFirst) {
                    if out.is_new(error.seq) {
                        events.push(Event::Error(error));
                    }
                } else if self.answer.is_none() {
                    // One that was said before the `hello` under way arrived asks for nothing.
                    self.greet(now, out);
                }
            }
            // A pong, or what a later version of the contract sends to every peer.
            _ => {}
        }
        Ok(())
    }

    /// True if the next `hello` would get the same error.
    fn is_final(&self, error: &messages::Error) -> bool {
        let is = |codes: &[Code]| codes.iter().any(|code| error.is(*code));
        // Before the first welcome the broker has read the `hello` only.
        is(&[Code::Version, Code::Access, Code::NameTaken])
            || self.welcome.is_none() && is(&[Code::Invalid, Code::Malformed, Code::Limit])
    }

    /// How long the broker may be silent before the peer reconnects.
    pub fn patience(&self) -> Duration {
        let heartbeat = self.welcome.as_ref().map_or(0.5, |each| each.heartbeat);
        if heartbeat == 0.0 {
            return Duration::MAX; // the broker sends no pings
        }
        // A heartbeat that is not a time, such as NaN, is never missed.
        Duration::try_from_secs_f64(4.0 * heartbeat).map_or(Duration::MAX, |patience| {
            patience.max(Duration::from_secs(2))
        })
    }

    /// True if the broker has been silent for so long that the peer must say `hello` again.
    ///
    /// To be asked only when everything that came has been taken in.
    pub fn silent(&self, now: Instant) -> bool {
        let patience = self.patience().max(self.answer.unwrap_or_default());
        self.heard
            .is_some_and(|heard| now.duration_since(heard) > patience)
    }

    /// The broker's last answer to `hello`; nothing before the first.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// True if the broker has said `bye`.
    pub fn departed(&self) -> bool {
        self.departed
    }
}

/// True if an error says that this peer may not stay, because its key was revoked, for instance.
fn expels(error: &messages::Error) -> bool {
    error.is(Code::Access) && error.id.is_none() && error.answers.is_none()
}
