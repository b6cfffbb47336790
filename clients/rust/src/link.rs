//! A peer's ZeroMQ connection to a broker: a DEALER socket around a [`Session`].
//!
//! Nothing here waits: the two shells, `blocking` and `tokio`, differ in how they do.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::broker::{Broker, ADDRESS};
use crate::error::{complain, shorten, Error};
use crate::key::{Handshakes, Key};
use crate::messages::{Bye, Hello, Incoming, Offer, Role};
use crate::session::{Event, Host, Outbox, Session};

/// Frames that are read together at the most, so that answers go out in between.
const BATCH: usize = 4096;

/// Bytes of the largest frame that is taken from the broker; a larger one costs it the connection.
const MOST: i64 = 1 << 31;

/// Messages that may wait for the broker to read them, and its milliseconds when they do (S11.4).
const UNREAD: i32 = 100;
const UNREAD_WAIT: i32 = 1000;

/// How long answers may wait for others to be sent with, while the host is at work.
const HELD: Duration = Duration::from_millis(1);

/// How long to wait at a time, so that silence and a wish to stop are noticed.
pub(crate) const NAP: Duration = Duration::from_millis(500);

pub(crate) struct Link<I: Incoming, S: Default = ()> {
    pub(crate) socket: zmq::Socket,
    /// The shell's state for this socket; reset for a new one.
    pub(crate) shell: S,
    handshakes: Handshakes,
    context: zmq::Context,
    session: Session<I>,
    pub(crate) out: Outbox,
    address: String,
    /// The types on offer, for the line that says the program is ready; `None` to print no line.
    announced: Option<String>,
    /// How long the broker may say nothing: before its first answer, and after that.
    patience: (Option<Duration>, Option<Duration>),
    /// How long it has said nothing, as far as this program has listened.
    silence: Duration,
    looked: Instant,
    /// True if the user knows of this silence.
    told: bool,
}

/// The longest silence that one unsuccessful look counts for: a program that was computing, or was
/// stopped, did not listen, and its broker may have spoken.
const LOOK: Duration = Duration::from_secs(1);

impl<I: Incoming, S: Default> Link<I, S> {
    /// Connects and says hello; whether the broker answers shows later.
    pub(crate) fn new(broker: &Broker, role: Role, offers: Vec<Offer>) -> Result<Self, Error> {
        let names: Vec<&str> = offers.iter().map(|each| each.name.as_str()).collect();
        let announced = format!("{} {}", role, names.join(", "));
        let hello = Hello {
            role,
            name: broker.name.clone(),
            offers,
            token: broker.token.clone(),
            software: concat!("dovetail-rust ", env!("CARGO_PKG_VERSION")).to_owned(),
            ..Hello::default()
        };
        let context = zmq::Context::new();
        let key = broker.key.as_deref().map(Key::read).transpose()?;
        let mut handshakes = Handshakes::new(&broker.address, key);
        let mut link = Self {
            socket: connect(&context, &broker.address, &mut handshakes)?,
            shell: S::default(),
            handshakes,
            context,
            session: Session::new(hello),
            out: Outbox::default(),
            address: broker.address.clone(),
            announced: (!broker.quiet).then_some(announced),
            patience: (
                broker.wait,
                broker.give_up.filter(|_| role == Role::Experiment),
            ),
            silence: Duration::ZERO,
            looked: Instant::now(),
            told: false,
        };
        link.session.greet(Instant::now(), &mut link.out);
        link.flush()?;
        Ok(link)
    }

    /// Takes in what waits at the socket; whether there was anything.
    pub(crate) fn take(&mut self, events: &mut Vec<Event<I>>) -> Result<bool, Error> {
        let mut frames = Vec::new();
        while frames.len() < BATCH {
            // The parts of a message arrive together, so only the first may not be there.
            match self.socket.recv_msg(zmq::DONTWAIT) {
                Ok(frame) => frames.push(frame),
                Err(zmq::Error::EAGAIN) => break,
                Err(zmq::Error::EINTR) => continue,
                Err(error) => return Err(broken(error)),
            }
        }
        if frames.is_empty() {
            return Ok(false);
        }
        if std::mem::take(&mut self.told) {
            let seconds = self.silence.as_secs();
            let address = &self.address;
            complain(&format!(
                "the broker at {address} answers after {seconds} s of silence"
            ));
        }
        (self.silence, self.looked) = (Duration::ZERO, Instant::now());
        let frames = frames.iter().map(|frame| &frame[..]);
        self.session
            .receive(frames, self.looked, events, &mut self.out)?;
        self.flush()?;
        Ok(true)
    }

    /// To be called when nothing came for a while: reconnects if it was too long.
    pub(crate) fn idle(&mut self) -> Result<(), Error> {
        if let Some(why) = self.handshakes.refusal() {
            return Err(Error::Connection(format!(
                "the broker at {} {why}",
                self.address
            )));
        }
        let now = Instant::now();
        self.silence += now.duration_since(self.looked).min(LOOK);
        self.looked = now;
        let (address, seconds) = (&self.address, self.silence.as_secs());
        let limit = match self.session.welcome() {
            None => self.patience.0,
            Some(_) => self.patience.1,
        };
        if limit.is_some_and(|limit| self.silence > limit) {
            return Err(if self.welcomed() {
                Error::Lost(format!(
                    "the broker at {address} has been silent for {seconds} s; check that it still runs"
                ))
            } else {
                Error::Connection(format!(
                    "no broker answers at {address}; start one with `dovetail broker`"
                ))
            });
        }
        if !self.told && self.silence > self.session.patience() {
            self.told = true;
            let limit = limit.map_or(String::new(), |limit| format!(" up to {limit:?}"));
            complain(&format!(
                "the broker at {address} has been silent for {seconds} s; waiting{limit} for it"
            ));
        }
        if self.session.silent(now) {
            // Before the first welcome it is enough to say `hello` again: one may have been lost.
            if self.welcomed() {
                self.reconnect()?;
            }
            self.session.greet(now, &mut self.out);
            self.flush()?;
        }
        Ok(())
    }

    fn reconnect(&mut self) -> Result<(), Error> {
        let socket = connect(&self.context, &self.address, &mut self.handshakes)?;
        let old = std::mem::replace(&mut self.socket, socket);
        let _ = old.set_linger(0);
        self.shell = S::default();
        Ok(())
    }

    /// Sends all that is to be sent, together.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let frames = self.out.take();
        let last = frames.len().saturating_sub(1);
        let wait = if self.welcomed() { 0 } else { zmq::DONTWAIT };
        for (index, frame) in frames.into_iter().enumerate() {
            let more = if index < last { zmq::SNDMORE } else { 0 };
            match self.socket.send(frame, more | wait) {
                Ok(()) => {}
                // The broker reads nothing, so it is lost (S3.8).
                Err(zmq::Error::EAGAIN | zmq::Error::EINTR) if self.welcomed() => {
                    self.reconnect()?;
                    self.session.greet(Instant::now(), &mut self.out);
                    return self.flush();
                }
                // ZeroMQ has given the connection up, of which the handshakes will tell.
                Err(zmq::Error::EAGAIN) => return Ok(()),
                Err(error) => return Err(broken(error)),
            }
        }
        Ok(())
    }

    /// Has a host deal with what came.  Answers that belong together are sent together, but those
    /// that are ready do not wait for a host that is slow with the next.
    pub(crate) fn deal<H: Host<Incoming = I>>(
        &mut self,
        host: &mut H,
        events: &mut Vec<Event<I>>,
    ) -> Result<(), Error> {
        let mut sent = Instant::now();
        for event in events.drain(..) {
            host.handle(event, &mut self.out);
            if !self.out.is_empty() && sent.elapsed() > HELD {
                self.flush()?;
                sent = Instant::now();
            }
        }
        self.flush()
    }

    /// Prints one line that says who is connected, where, and under which name.
    pub(crate) fn announce(&mut self) {
        if !self.welcomed() {
            return;
        }
        if let Some(announced) = self.announced.take() {
            let mut out = std::io::stdout().lock();
            let (address, name) = (&self.address, shorten(self.name()));
            // The program continues even if standard output is closed.
            let _ = writeln!(out, "{announced} ready at {address} as {name}");
            let _ = out.flush();
        }
    }

    pub(crate) fn welcomed(&self) -> bool {
        self.session.welcome().is_some()
    }

    /// This peer's name at the broker.
    pub(crate) fn name(&self) -> &str {
        self.session.welcome().map_or("", |welcome| &welcome.name)
    }

    pub(crate) fn departed(&self) -> bool {
        self.session.departed()
    }
}

/// Leaves, however the program around it ends; the broker keeps nothing for a return.
impl<I: Incoming, S: Default> Drop for Link<I, S> {
    fn drop(&mut self) {
        if !self.session.departed() {
            // The broker may be gone already, which is as good.
            self.out.send(&Bye::default());
            let _ = self.flush();
            let _ = self.socket.set_linger(500);
        }
    }
}

fn connect(
    context: &zmq::Context,
    address: &str,
    handshakes: &mut Handshakes,
) -> Result<zmq::Socket, Error> {
    let socket = context.socket(zmq::DEALER).map_err(broken)?;
    let set = || {
        socket.set_linger(0)?;
        socket.set_reconnect_ivl(100)?;
        socket.set_reconnect_ivl_max(1000)?;
        socket.set_heartbeat_ivl(5000)?;
        socket.set_maxmsgsize(MOST)?;
        socket.set_sndhwm(UNREAD)?;
        socket.set_sndtimeo(UNREAD_WAIT)?;
        // libzmq aborts if a connection breaks whose reader is at a limit.
        socket.set_rcvhwm(0)
    };
    set().map_err(broken)?;
    if let Some(key) = &handshakes.key {
        key.set(&socket)?;
    }
    handshakes.watch(context, &socket)?;
    socket.connect(address).map_err(|error| {
        Error::Connection(format!(
            "'{address}' is not a broker address ({error}); expected something like {ADDRESS}"
        ))
    })?;
    Ok(socket)
}

pub(crate) fn broken(error: impl std::fmt::Display) -> Error {
    Error::Connection(format!("the socket failed: {error}"))
}
