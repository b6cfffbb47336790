//! Keys of CURVE, ZeroMQ's encryption (docs/keys.md), and how a broker refuses one.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use zmq::SocketEvent;

use crate::error::Error;

/// Handshakes that a broker may break off in a row, before its key is taken for another.
const ATTEMPTS: u32 = 3;
/// The broker's status for an unknown key.
const DENIED: i32 = 400;
/// ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, which the crate does not name.
const MISMATCH: i32 = 0x1100_0002;
const LENGTH: usize = 40;
const NEEDS_KEY: &str =
    "lets in only programs with a key; give the option key, or set DOVETAIL_KEY";

/// A program's pair of keys and its broker's public key.
#[derive(Clone)]
pub(crate) struct Key {
    public: Vec<u8>,
    secret: Vec<u8>,
    server: Vec<u8>,
}

impl Key {
    /// Reads a key file; DOVETAIL_SERVER_KEY replaces the broker's public key in it.
    pub(crate) fn read(path: &str) -> Result<Self, Error> {
        let path = match (path.strip_prefix("~/"), std::env::var("HOME")) {
            (Some(rest), Ok(home)) => format!("{home}/{rest}"),
            _ => path.to_owned(),
        };
        let (text, open) = contents(&path)
            .map_err(|error| Error::Connection(format!("cannot read the key {path}: {error}")))?;
        if open {
            return Err(Error::Connection(format!(
                "other users can read the key {path}; run `chmod 600 {path}`"
            )));
        }
        let found: HashMap<&str, &str> = text.lines().filter_map(entry).collect();
        let own = |name| {
            found
                .get(name)
                .and_then(|text| decode(text))
                .ok_or_else(|| {
                    Error::Connection(format!(
                        "{path} has no {name} key; make one with `dovetail keys make`"
                    ))
                })
        };
        let (public, secret) = (own("public")?, own("secret")?);
        let variable = std::env::var("DOVETAIL_SERVER_KEY").unwrap_or_default();
        let server = match variable.as_str() {
            "" => found.get("server").copied().unwrap_or_default(),
            given => given,
        };
        if server.is_empty() {
            return Err(Error::Connection(format!(
                "{path} does not name the broker's public key; add `server = ...` to it, or set DOVETAIL_SERVER_KEY"
            )));
        }
        let server = decode(server).ok_or_else(|| {
            Error::Connection(format!(
                "the broker's public key for {path}: '{server}' is not a key; expected {LENGTH} characters such as \
                 `dovetail keys make` prints"
            ))
        })?;
        Ok(Self {
            public,
            secret,
            server,
        })
    }

    /// Has a socket connect with this key.
    pub(crate) fn set(&self, socket: &zmq::Socket) -> Result<(), Error> {
        if zmq::has("curve") != Some(true) {
            return Err(Error::Connection(
                "this program was built with a ZeroMQ without encryption, so it cannot use a key; \
                 link the system's libzmq (the client's README says how)"
                    .to_owned(),
            ));
        }
        socket
            .set_curve_publickey(&self.public)
            .and_then(|()| socket.set_curve_secretkey(&self.secret))
            .and_then(|()| socket.set_curve_serverkey(&self.server))
            .map_err(crate::link::broken)
    }
}

/// Reads a file; returns its text, and true if other users can read it.
fn contents(path: &str) -> std::io::Result<(String, bool)> {
    let mut file = std::fs::File::open(path)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    #[cfg(unix)]
    let open = std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o077 != 0;
    #[cfg(not(unix))]
    let open = false;
    Ok((String::from_utf8_lossy(&text).into_owned(), open))
}

/// Name and value of a line `name = "value"`, in either kind of quotes; a comment may follow.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once('=')?;
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|each| "\"'".contains(*each))?;
    let (value, after) = rest[1..].split_once(quote)?;
    let after = after.trim_start();
    (after.is_empty() || after.starts_with('#')).then_some((name.trim(), value))
}

/// The bytes of a key; the crate's function does not say whether the text is one.
fn decode(text: &str) -> Option<Vec<u8>> {
    let known =
        |each: u8| each.is_ascii_alphanumeric() || b".-:+=^!/*?&<>()[]{}@%$#".contains(&each);
    let valid = text.len() == LENGTH && text.bytes().all(known);
    zmq::z85_decode(text).ok().filter(|_| valid)
}

/// How a link's handshakes end: libzmq itself tries again forever, and says nothing.
#[derive(Default)]
pub(crate) struct Handshakes {
    address: String,
    pub(crate) key: Option<Key>,
    events: Option<zmq::Socket>,
    /// Of the socket before: ZeroMQ's thread would wait for a reader until that one is closed.
    _before: Option<zmq::Socket>,
    sockets: u32,
    /// Those that the broker broke off, until one succeeds.
    failed: u32,
    met: bool,
}

impl Handshakes {
    /// With a broker's address, and a program's key if it has one.
    pub(crate) fn new(address: &str, key: Option<Key>) -> Self {
        Self {
            address: address.to_string(),
            key,
            ..Self::default()
        }
    }

    /// Watches a socket that has not connected yet.
    pub(crate) fn watch(
        &mut self,
        context: &zmq::Context,
        socket: &zmq::Socket,
    ) -> Result<(), Error> {
        self.sockets += 1;
        let name = format!("inproc://handshakes-{}", self.sockets);
        let kinds = [
            SocketEvent::HANDSHAKE_SUCCEEDED,
            SocketEvent::HANDSHAKE_FAILED_AUTH,
            SocketEvent::HANDSHAKE_FAILED_PROTOCOL,
            SocketEvent::HANDSHAKE_FAILED_NO_DETAIL,
        ];
        let kinds = kinds.iter().fold(0, |all, kind| all | kind.to_raw());
        socket
            .monitor(&name, i32::from(kinds))
            .and_then(|()| context.socket(zmq::PAIR))
            .and_then(|events| {
                events.connect(&name)?;
                self._before = self.events.replace(events);
                Ok(())
            })
            .map_err(crate::link::broken)
    }

    /// Why the broker will never let this program in, as an error says it after the broker's address.
    pub(crate) fn refusal(&mut self) -> Option<&'static str> {
        loop {
            // The second part is the address.
            let parts = self.events.as_ref()?.recv_multipart(zmq::DONTWAIT).ok()?;
            let (kind, value) = parts[0].split_at(2);
            let kind = u16::from_ne_bytes(kind.try_into().ok()?);
            let value = i32::from_ne_bytes(value.try_into().ok()?);
            if let Some(why) = self.judge(SocketEvent::from_raw(kind), value) {
                return Some(why);
            }
        }
    }

    fn judge(&mut self, event: SocketEvent, value: i32) -> Option<&'static str> {
        match (event, value) {
            (SocketEvent::HANDSHAKE_SUCCEEDED, _) => {
                (self.met, self.failed) = (true, 0);
                None
            }
            (SocketEvent::HANDSHAKE_FAILED_AUTH, DENIED) => {
                Some("does not accept this program's key; ask the person who runs it")
            }
            (SocketEvent::HANDSHAKE_FAILED_PROTOCOL, MISMATCH) => Some(match self.key {
                Some(_) => "uses no keys; connect without the option key and DOVETAIL_KEY",
                None => NEEDS_KEY,
            }),
            _ => {
                self.failed += 1;
                if self.met || self.failed < ATTEMPTS {
                    return None;
                }
                if self.key.is_none() {
                    return asks_for_key(&self.address).then_some(NEEDS_KEY);
                }
                Some(
                    "breaks off each handshake; check the broker's public key: `server` in the key file, or \
                     DOVETAIL_SERVER_KEY",
                )
            }
        }
    }
}

/// Greets a broker as slowly as libzmq's brokers need to name their mechanism. They break off before if the rest of a
/// greeting comes in one piece, as it does if this program or its network is slow.
fn asks_for_key(address: &str) -> bool {
    let greeting = |place: &str| -> io::Result<[u8; 32]> {
        let soon = Duration::from_secs(1);
        let found = place.to_socket_addrs()?.next();
        let mut stream =
            TcpStream::connect_timeout(&found.ok_or(io::ErrorKind::AddrNotAvailable)?, soon)?;
        stream.set_read_timeout(Some(soon))?;
        stream.write_all(&[0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3])?;
        let mut greeting = [0; 32]; // signature, version and mechanism
        stream.read_exact(&mut greeting)?;
        Ok(greeting)
    };
    let found = address.strip_prefix("tcp://").map(greeting);
    found.is_some_and(|found| found.is_ok_and(|found| found[12..].starts_with(b"CURVE\0")))
}
