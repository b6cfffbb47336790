//! A peer's ZeroMQ connection to a broker: a DEALER socket around a [`Session`].
//!
//! Nothing here waits: the two shells, `blocking` and `tokio`, differ in how they do.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::broker::{Broker, ADDRESS};
use crate::error::Error;
use crate::messages::{Bye, Hello, Incoming, Offer, Role};
use crate::session::{Event, Host, Outbox, Session};

/// Frames that are read together at the most, so that answers go out in between.
const BATCH: usize = 4096;

/// How long answers may wait for others to be sent with, while the host is at work.
const HELD: Duration = Duration::from_millis(1);

/// How long to wait at a time, so that silence and a wish to stop are noticed.
pub(crate) const NAP: Duration = Duration::from_millis(500);

pub(crate) struct Link<I: Incoming, S: Default = ()> {
    pub(crate) socket: zmq::Socket,
    /// What the shell knows of this socket; empty again for a new one.
    pub(crate) shell: S,
    context: zmq::Context,
    session: Session<I>,
    pub(crate) out: Outbox,
    address: String,
    /// What is on offer, as the line about being ready names it; nothing if none is wanted.
    announced: Option<String>,
    give_up: Option<Instant>,
}

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
        let mut link = Self {
            socket: connect(&context, &broker.address)?,
            shell: S::default(),
            context,
            session: Session::new(hello),
            out: Outbox::default(),
            address: broker.address.clone(),
            announced: (!broker.quiet).then_some(announced),
            give_up: broker
                .wait
                .and_then(|wait| Instant::now().checked_add(wait)),
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
        let frames = frames.iter().map(|frame| &frame[..]);
        self.session
            .receive(frames, Instant::now(), events, &mut self.out)?;
        self.flush()?;
        Ok(true)
    }

    /// To be called when nothing came for a while: makes a new connection if it was too long.
    pub(crate) fn idle(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if self.session.welcome().is_none() && self.give_up.is_some_and(|end| now > end) {
            return Err(Error::Connection(format!(
                "no broker answers at {}; start one with `dovetail broker`",
                self.address
            )));
        }
        if self.session.silent(now) {
            let socket = connect(&self.context, &self.address)?;
            let old = std::mem::replace(&mut self.socket, socket);
            let _ = old.set_linger(0);
            drop(old);
            self.shell = S::default();
            self.session.greet(now, &mut self.out);
            self.flush()?;
        }
        Ok(())
    }

    /// Sends all that is to be sent, together.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let frames = self.out.take();
        let last = frames.len().saturating_sub(1);
        for (index, frame) in frames.into_iter().enumerate() {
            let more = if index < last { zmq::SNDMORE } else { 0 };
            // With no limit to its queue a socket never refuses for want of room.
            let sent = self.socket.send(frame, more | zmq::DONTWAIT);
            sent.map_err(broken)?;
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
            let (address, name) = (&self.address, self.name());
            // Nobody may be listening, which is no reason to end.
            let _ = writeln!(out, "{announced} ready at {address} as {name}");
            let _ = out.flush();
        }
    }

    pub(crate) fn welcomed(&self) -> bool {
        self.session.welcome().is_some()
    }

    /// The name under which the broker knows this peer.
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

fn connect(context: &zmq::Context, address: &str) -> Result<zmq::Socket, Error> {
    let socket = context.socket(zmq::DEALER).map_err(broken)?;
    let set = || {
        socket.set_linger(0)?;
        socket.set_reconnect_ivl(100)?;
        socket.set_reconnect_ivl_max(1000)?;
        socket.set_heartbeat_ivl(5000)?;
        // Nothing is dropped and nothing waits for room; the protocol itself bounds what is under way.
        socket.set_sndhwm(0)?;
        socket.set_rcvhwm(0)
    };
    set().map_err(broken)?;
    socket.connect(address).map_err(|error| {
        Error::Connection(format!(
            "'{address}' is no address of a broker ({error}); write it like {ADDRESS}"
        ))
    })?;
    Ok(socket)
}

pub(crate) fn broken(error: impl std::fmt::Display) -> Error {
    Error::Connection(format!("the socket failed: {error}"))
}
