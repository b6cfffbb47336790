//! How the fields of messages are read and written, and the macros that make messages of them:
//! the compiler writes all of it, nothing is looked up when a message comes.

use std::collections::BTreeMap;

use crate::error::ProtocolError;
use crate::space::Legal;
use crate::value::{self, Payload, Value};
use crate::wire::{self, expected, Reader, Token};

type Result<T> = std::result::Result<T, ProtocolError>;

pub(crate) trait Field: Sized {
    fn read(reader: &mut Reader<'_>) -> Result<Self>;
    fn write(&self, out: &mut Vec<u8>);
}

impl Field for i64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.token()? {
            Token::Int(value) => Ok(value),
            Token::Large(value) => Err(ProtocolError::invalid(format!("{value} is too large"))),
            other => Err(expected("an integer", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_int(out, *self);
    }
}

impl Field for u64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.token()? {
            Token::Int(value) => u64::try_from(value)
                .map_err(|_| ProtocolError::invalid(format!("{value} is below 0"))),
            Token::Large(value) => Ok(value),
            other => Err(expected("an integer", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_uint(out, *self);
    }
}

impl Field for usize {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let value = u64::read(reader)?;
        usize::try_from(value).map_err(|_| ProtocolError::invalid(format!("{value} is too large")))
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_uint(out, *self as u64);
    }
}

impl Field for f64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.token()? {
            Token::Float(value) => Ok(value),
            Token::Int(value) => Ok(value as f64),
            Token::Large(value) => Ok(value as f64),
            other => Err(expected("a number", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_float(out, *self);
    }
}

impl Field for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.token()? {
            Token::Bool(value) => Ok(value),
            other => Err(expected("a boolean", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_bool(out, *self);
    }
}

impl Field for String {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        reader.text().map(str::to_owned)
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_text(out, self);
    }
}

/// Binary.
impl Field for Vec<u8> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.token()? {
            Token::Binary(bytes) => Ok(bytes.to_vec()),
            other => Err(expected("binary", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_binary(out, self);
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let count = reader.array()?;
        let mut values = Vec::with_capacity(reader.room(count));
        for _ in 0..count {
            values.push(T::read(reader)?);
        }
        Ok(values)
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_array(out, self.len());
        for value in self {
            value.write(out);
        }
    }
}

impl<T: Field> Field for Option<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.nil() {
            return Ok(None);
        }
        T::read(reader).map(Some)
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            None => wire::write_nil(out),
            Some(value) => value.write(out),
        }
    }
}

impl<T: Field> Field for Box<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        T::read(reader).map(Box::new)
    }
    fn write(&self, out: &mut Vec<u8>) {
        T::write(self, out);
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        match reader.token()? {
            Token::Array(2) => Ok((A::read(reader)?, B::read(reader)?)),
            other => Err(expected("an array of 2", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_array(out, 2);
        self.0.write(out);
        self.1.write(out);
    }
}

impl Field for Value {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Value::read(reader)
    }
    fn write(&self, out: &mut Vec<u8>) {
        Value::write(self, out);
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let count = reader.map()?;
        value::read_map(reader, count)
    }
    fn write(&self, out: &mut Vec<u8>) {
        value::write_map(out, self);
    }
}

impl Field for Payload {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut ahead = reader.clone();
        let value = Value::read(&mut ahead);
        if value.is_ok() {
            *reader = ahead;
        } else {
            // It may have stopped in the middle of the value.
            reader.skip()?;
        }
        Ok(Payload(value))
    }
    fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Ok(value) => value.write(out),
            Err(_) => wire::write_nil(out),
        }
    }
}

impl Field for Legal {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut ahead = reader.clone();
        match ahead.token()? {
            Token::Array(_) => Vec::read(reader).map(Legal::List),
            Token::Binary(mask) => {
                *reader = ahead;
                Ok(Legal::Mask(mask.to_vec()))
            }
            other => Err(expected("an array or binary", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Legal::List(actions) => actions.write(out),
            Legal::Mask(mask) => mask.write(out),
        }
    }
}

/// Reads what was written as one type as another.
pub(crate) fn reread<A: Field, B: Field>(value: &A) -> Result<B> {
    B::read(&mut Reader::new(&encode(value)))
}

/// The frame, or the part of one, that a value is.
pub(crate) fn encode(value: &impl Field) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    value.write(&mut out);
    out
}

/// A map with the fields of a type; `record!` implements it.
pub(crate) trait Record: Field {
    /// The value of its `type` (for a space: `space`); empty if it has none.
    const TAG: &'static str;
    /// Reads `count` entries.
    fn read_fields(reader: &mut Reader<'_>, count: usize) -> Result<Self>;
}

/// Reads the value of a map's entry.
#[inline]
pub(crate) fn entry<T: Field>(reader: &mut Reader<'_>, key: &str) -> Result<Option<T>> {
    T::read(reader).map(Some).map_err(|error| error.at(key))
}

#[cold]
pub(crate) fn missing(key: &str) -> ProtocolError {
    ProtocolError::invalid(format!("the field `{key}` is missing"))
}

#[cold]
pub(crate) fn no_word(text: &str) -> ProtocolError {
    let text: String = text.chars().take(40).collect();
    ProtocolError::invalid(format!("{text:?} is none of its words"))
}

/// Writes the head of a map whose number of entries is known at the end, if there can be `most`.
pub(crate) fn open_map(out: &mut Vec<u8>, most: usize) -> usize {
    let start = out.len();
    if most < 16 {
        out.push(0x80);
    } else {
        out.extend_from_slice(&[0xde, 0, 0]);
    }
    start
}

/// Fills in the number of entries.
pub(crate) fn close_map(out: &mut [u8], start: usize, most: usize, count: u8) {
    if most < 16 {
        out[start] |= count;
    } else {
        out[start + 2] = count;
    }
}

/// Writes an entry; one that has its default is left out.
#[inline]
pub(crate) fn write_entry<T: Field + PartialEq>(
    out: &mut Vec<u8>,
    key: &str,
    value: &T,
    default: Option<T>,
) -> u8 {
    if default.as_ref() == Some(value) {
        return 0;
    }
    wire::write_text(out, key);
    value.write(out);
    1
}

/// Where the text of `tag` is found in a map of `count` entries, which are left unread.
pub(crate) fn find_tag<'a>(
    reader: &Reader<'a>,
    count: usize,
    tag: &str,
) -> Result<Option<Token<'a>>> {
    let mut ahead = reader.clone();
    let mut found = None;
    for _ in 0..count {
        if ahead.key()? == tag.as_bytes() {
            let mut value = ahead.clone();
            found = Some(value.token()?);
        }
        ahead.skip()?;
    }
    Ok(found)
}

/// How a struct is read and written: `record! { Name "type" = "tag"; field "key" = default, }`.
///
/// A field without a default is required; one that has its default is not sent.
macro_rules! record {
    (
        $name:ident $($tag_key:literal = $tag:literal)?;
        $( $field:ident $key:literal $(= $default:expr)? ),* $(,)?
    ) => {
        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $crate::field::first!($($default,)? Default::default()), )* }
            }
        }

        impl $crate::field::Record for $name {
            const TAG: &'static str = concat!("" $(, $tag)?);

            fn read_fields(
                reader: &mut $crate::wire::Reader<'_>,
                count: usize,
            ) -> Result<Self, $crate::error::ProtocolError> {
                $( let mut $field = None; )*
                for _ in 0..count {
                    match reader.key()? {
                        $( key if key == $key.as_bytes() => {
                            $field = $crate::field::entry(reader, $key)?;
                        } )*
                        _ => reader.skip()?,
                    }
                }
                Ok(Self { $(
                    $field: match $field {
                        Some(value) => value,
                        None => $crate::field::first!(
                            $($default,)? return Err($crate::field::missing($key))
                        ),
                    },
                )* })
            }
        }

        impl $crate::field::Field for $name {
            fn read(
                reader: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::ProtocolError> {
                let count = reader.map()?;
                $crate::field::Record::read_fields(reader, count)
            }

            fn write(&self, out: &mut Vec<u8>) {
                const MOST: usize = [$($tag_key,)? $($key),*].len();
                let start = $crate::field::open_map(out, MOST);
                let mut count = 0;
                $(
                    count += 1;
                    $crate::wire::write_text(out, $tag_key);
                    $crate::wire::write_text(out, $tag);
                )?
                $(
                    let default = $crate::field::first!($(Some($default),)? None);
                    count += $crate::field::write_entry(out, $key, &self.$field, default);
                )*
                $crate::field::close_map(out, start, MOST, count);
            }
        }

        impl $name {
            /// The MessagePack of it.
            pub fn encode(&self) -> Vec<u8> {
                $crate::field::encode(self)
            }

            /// Reads a frame that is this, within the protocol's limits.
            ///
            /// # Errors
            /// `limit`, `malformed` or `invalid`.
            pub fn decode(frame: &[u8]) -> Result<Self, $crate::error::ProtocolError> {
                $crate::wire::check(frame, &$crate::messages::Limits::default())?;
                $crate::field::Field::read(&mut $crate::wire::Reader::new(frame))
            }
        }
    };
}

/// The first of some expressions: a default, or what stands in for it.
macro_rules! first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

/// How an enumeration travels as text: `words! { Name; Word "word", }`.
macro_rules! words {
    ($name:ident; $( $word:ident $text:literal ),* $(,)?) => {
        impl $name {
            /// Its name in the protocol.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$word => $text, )* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::field::Field for $name {
            fn read(
                reader: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::ProtocolError> {
                match reader.text()? {
                    $( $text => Ok(Self::$word), )*
                    other => Err($crate::field::no_word(other)),
                }
            }
            fn write(&self, out: &mut Vec<u8>) {
                $crate::wire::write_text(out, self.as_str());
            }
        }
    };
}

/// How an enumeration of messages is read by their type: `incoming! { Name; Step(AgentStep), }`.
macro_rules! incoming {
    ($name:ident; $( $kind:ident($type:ident) ),* $(,)?) => {
        impl $crate::messages::Incoming for $name {
            fn read(
                kind: &[u8],
                mut fields: $crate::messages::Fields<'_>,
            ) -> Option<Result<Self, $crate::error::ProtocolError>> {
                $(
                    if kind == <$type as $crate::field::Record>::TAG.as_bytes() {
                        return Some(fields.read().map($name::$kind));
                    }
                )*
                None
            }
        }
    };
}

/// How an enumeration of spaces is read by their kind: `tagged! { Space; Discrete(Discrete), }`.
macro_rules! tagged {
    ($name:ident; $( $kind:ident($type:ident) ),* $(,)?) => {
        impl $crate::field::Field for $name {
            fn read(
                reader: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::ProtocolError> {
                let count = reader.map()?;
                let tag = $crate::field::space_tag(reader, count)?;
                $(
                    if tag == <$type as $crate::field::Record>::TAG.as_bytes() {
                        let space = $crate::field::Record::read_fields(reader, count)?;
                        return Ok($name::$kind(space));
                    }
                )*
                Err($crate::error::ProtocolError::invalid("there is no such space"))
            }

            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $( $name::$kind(space) => space.write(out), )*
                }
            }
        }
    };
}

/// The kind of a space, which says how the rest of it is read.
pub(crate) fn space_tag<'a>(reader: &Reader<'a>, count: usize) -> Result<&'a [u8]> {
    match find_tag(reader, count, "space")? {
        Some(Token::Text(tag)) => Ok(tag),
        Some(other) => Err(expected("text", &other).at("space")),
        None => Err(missing("space")),
    }
}

/// The messages that an experiment asks with: `requests! { Run, Pause, }`.
macro_rules! requests {
    ($($type:ident),* $(,)?) => {
        $(
            impl $crate::control::Request for $type {
                fn number(&mut self, id: i64) {
                    self.id = id;
                }
                fn frame(
                    &self,
                    out: &$crate::session::Outbox,
                ) -> Result<Vec<u8>, $crate::error::ProtocolError> {
                    out.frame(self)
                }
            }
        )*

        impl dyn $crate::control::Request {
            /// Reads a request whose `id` need not be there, as from a file; nothing if there is
            /// none of this `type`.
            ///
            /// # Errors
            /// A field is missing or of the wrong type.
            pub fn read(
                kind: &str,
                mut fields: $crate::Map,
            ) -> Result<Option<std::boxed::Box<Self>>, $crate::error::ProtocolError> {
                fields.entry("id".to_owned()).or_insert($crate::Value::Int(0));
                let frame = $crate::Value::Map(fields).encode();
                $(
                    if kind == <$type as $crate::field::Record>::TAG {
                        return Ok(Some(std::boxed::Box::new($type::decode(&frame)?)));
                    }
                )*
                Ok(None)
            }
        }
    };
}

pub(crate) use {first, incoming, record, requests, tagged, words};
