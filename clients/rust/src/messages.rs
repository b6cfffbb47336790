//! The messages of the protocol, and how one that comes is read; SPEC.md says what each is for.

use crate::error::ProtocolError;
use crate::field::{Field, Record};
pub use crate::generated::messages::*;
use crate::space::Space;
use crate::value::Value;
use crate::wire::{self, Reader, Token};

impl Error {
    /// An error in answer to a frame.
    pub fn to(asked: Asked, code: Code, message: impl Into<String>) -> Self {
        let answers = (asked.seq > 0 && asked.id.is_none()).then_some(asked.seq as i64);
        Self {
            code: code.as_str().to_owned(),
            message: message.into(),
            id: asked.id,
            answers,
            ..Self::default()
        }
    }

    /// True if it has this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.as_str()
    }
}

impl Reply {
    /// The answer to a request.
    pub fn new(id: i64, body: Value) -> Self {
        Self {
            id,
            body: body.into(),
            ..Self::default()
        }
    }
}

impl Spec {
    /// The observation space of a seat.
    pub fn observation_space(&self, seat: usize) -> Option<&Space> {
        one_of(&self.observation_spaces, seat)
    }

    /// The action space of a seat.
    pub fn action_space(&self, seat: usize) -> Option<&Space> {
        one_of(&self.action_spaces, seat)
    }
}

fn one_of(spaces: &[Space], seat: usize) -> Option<&Space> {
    match spaces {
        [all] => Some(all),
        each => each.get(seat),
    }
}

impl Run {
    /// One episode of an environment; change the fields for more.
    pub fn new<P: Into<Player>>(environment: &str, agents: impl IntoIterator<Item = P>) -> Self {
        Self {
            environment: environment.to_owned(),
            agents: agents.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// The player of a seat in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Player {
    /// An instance by number.
    Instance(i64),
    /// An agent that a program is, by its name.
    Name(String),
}

impl From<i64> for Player {
    fn from(instance: i64) -> Self {
        Player::Instance(instance)
    }
}

impl From<&str> for Player {
    fn from(name: &str) -> Self {
        Player::Name(name.to_owned())
    }
}

impl Field for Player {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        match reader.token()? {
            Token::Int(instance) => Ok(Player::Instance(instance)),
            Token::Text(name) => Ok(Player::Name(wire::utf8(name)?.to_owned())),
            other => Err(wire::expected("an integer or text", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Player::Instance(instance) => wire::write_int(out, *instance),
            Player::Name(name) => wire::write_text(out, name),
        }
    }
}

/// Messages that a peer gets from the broker.
pub trait Incoming: Sized {
    /// Reads the fields of a message by its type; nothing if it is none of these.
    #[doc(hidden)]
    fn read(kind: &[u8], fields: Fields<'_>) -> Option<Result<Self, ProtocolError>>;
}

/// The entries of a message that are still to be read.
#[doc(hidden)]
#[derive(Clone)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    count: usize,
}

impl Fields<'_> {
    pub(crate) fn read<T: Record>(&mut self) -> Result<T, ProtocolError> {
        T::read_fields(&mut self.reader, self.count)
    }
}

/// By what an answer names the frame that it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The frame's number in the session; 0 if it has none.
    pub seq: u64,
    /// The number of the request, if it is one.
    pub id: Option<i64>,
}

/// A frame of the broker, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Received<I> {
    /// A message that every peer gets.
    All(ToAll),
    /// A message of the role's own.
    Role(I),
}

/// Reads a frame of the broker for a role, and by what an answer is to name it: that, as far as it
/// can be found, also where the rest cannot be read.
///
/// # Errors
/// With the code that the sender is to get.
pub fn read<I: Incoming>(
    frame: &[u8],
    limits: &Limits,
) -> (Asked, Result<Received<I>, ProtocolError>) {
    let (mut asked, mut kind) = (Asked::default(), None);
    let checked = wire::check(frame, limits);
    let fields = head(frame, &mut asked, &mut kind);
    let received = checked.and(fields).and_then(|fields| {
        let Some(Token::Text(kind)) = kind else {
            return Err(unknown_type("a message needs a `type` that is text"));
        };
        if let Some(message) = I::read(kind, fields.clone()) {
            return message.map(Received::Role);
        }
        if let Some(message) = ToAll::read(kind, fields) {
            return match message? {
                ToAll::Welcome(each) if each.heartbeat.is_nan() || each.heartbeat < 0.0 => {
                    Err(ProtocolError::invalid("`heartbeat` is out of range"))
                }
                message => Ok(Received::All(message)),
            };
        }
        let kind: String = wire::utf8(kind)?.chars().take(40).collect();
        Err(unknown_type(&format!("this role has no message {kind:?}")))
    });
    (asked, received)
}

/// Finds what says how a frame is read and answered.
fn head<'a>(
    frame: &'a [u8],
    asked: &mut Asked,
    kind: &mut Option<Token<'a>>,
) -> Result<Fields<'a>, ProtocolError> {
    let mut reader = Reader::new(frame);
    let count = reader.map()?;
    let fields = Fields {
        reader: reader.clone(),
        count,
    };
    for _ in 0..count {
        let key = reader.key()?;
        if matches!(key, b"type" | b"seq" | b"id") {
            let value = reader.clone().token()?;
            match (key, value) {
                (b"type", _) => *kind = Some(value),
                (b"id", Token::Int(id)) => asked.id = Some(id),
                (b"seq", Token::Int(seq)) => asked.seq = seq.try_into().unwrap_or(0),
                _ => {}
            }
        }
        reader.skip()?;
    }
    Ok(fields)
}

#[cold]
fn unknown_type(text: &str) -> ProtocolError {
    ProtocolError {
        code: Code::UnknownType,
        message: text.to_owned(),
    }
}
