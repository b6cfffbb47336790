//! How the fields of messages are read and written, and the macro that makes a message of them:
//! all of it is code of the compiler's, nothing is looked up when a message comes.

use crate::error::ProtocolError;
use crate::legal::Legal;
use crate::value::{self, Map, Payload, Value};
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

impl Field for Map {
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
    let mut out = Vec::new();
    value.write(&mut out);
    B::read(&mut Reader::new(&out))
}

/// Reads a map with the fields of a type; `records!` implements it.
pub(crate) trait Record: Sized {
    /// What its `type` (of a space: `space`) says; empty if it has none.
    const TAG: &'static str;
    /// Reads `count` entries.
    fn read_fields(reader: &mut Reader<'_>, count: usize) -> Result<Self>;
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

/// Declares maps of the protocol: structs, their defaults, and how they are read and written.
///
/// A field without a default is required; one that has its default is not sent.
macro_rules! records {
    ($(
        $(#[$about:meta])*
        $name:ident $([$tag_key:literal = $tag:literal])? {
            $( $(#[$field_about:meta])* $field:ident $([$key:literal])? : $type:ty $(= $default:expr)? ),* $(,)?
        }
    )*) => { $(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[$field_about])* pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $crate::field::default_of!($type $(, $default)?), )* }
            }
        }

        impl $crate::field::Record for $name {
            const TAG: &'static str = concat!("" $(, $tag)?);

            fn read_fields(
                reader: &mut $crate::wire::Reader<'_>,
                count: usize,
            ) -> Result<Self, $crate::error::ProtocolError> {
                $( let mut $field: Option<$type> = None; )*
                for _ in 0..count {
                    let key = reader.key()?;
                    $(
                        if key == $crate::field::key_of!($field $(, $key)?).as_bytes() {
                            let value = $crate::field::Field::read(reader)
                                .map_err(|error| error.at($crate::field::key_of!($field $(, $key)?)))?;
                            $field = Some(value);
                            continue;
                        }
                    )*
                    reader.skip()?;
                }
                Ok(Self { $(
                    $field: match $field {
                        Some(value) => value,
                        None => $crate::field::missing!($crate::field::key_of!($field $(, $key)?) $(, $default)?),
                    },
                )* })
            }
        }

        impl $crate::field::Field for $name {
            fn read(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::error::ProtocolError> {
                let count = reader.map()?;
                <Self as $crate::field::Record>::read_fields(reader, count)
            }

            fn write(&self, out: &mut Vec<u8>) {
                const FIELDS: usize = [$($tag_key,)? $(stringify!($field)),*].len();
                let start = out.len();
                // The number of entries is known at the end, so its place is kept.
                if FIELDS < 16 {
                    out.push(0x80);
                } else {
                    out.extend_from_slice(&[0xde, 0, 0]);
                }
                let mut count = 0u8;
                $(
                    count += 1;
                    $crate::wire::write_text(out, $tag_key);
                    $crate::wire::write_text(out, $tag);
                )?
                $(
                    if $crate::field::differs!(self.$field, $type $(, $default)?) {
                        count += 1;
                        $crate::wire::write_text(out, $crate::field::key_of!($field $(, $key)?));
                        $crate::field::Field::write(&self.$field, out);
                    }
                )*
                if FIELDS < 16 {
                    out[start] |= count;
                } else {
                    out[start + 2] = count;
                }
            }
        }

        impl $name {
            /// The MessagePack of it.
            pub fn encode(&self) -> Vec<u8> {
                let mut out = Vec::with_capacity(128);
                $crate::field::Field::write(self, &mut out);
                out
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
    )* };
}

macro_rules! default_of {
    ($type:ty, $default:expr) => {
        $default
    };
    ($type:ty) => {
        <$type>::default()
    };
}

macro_rules! key_of {
    ($field:ident, $key:literal) => {
        $key
    };
    ($field:ident) => {
        stringify!($field)
    };
}

macro_rules! missing {
    ($key:expr, $default:expr) => {
        $default
    };
    ($key:expr) => {
        return Err($crate::error::ProtocolError::invalid(format!(
            "the field `{}` is missing",
            $key
        )))
    };
}

macro_rules! differs {
    ($value:expr, $type:ty, $default:expr) => {{
        let default: $type = $default;
        $value != default
    }};
    ($value:expr, $type:ty) => {
        true
    };
}

/// Declares enumerations that travel as text; the first word is the default.
macro_rules! words {
    ($(
        $(#[$about:meta])*
        $name:ident { $( $(#[$word_about:meta])* $word:ident = $text:literal ),* $(,)? }
    )*) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $( $(#[$word_about])* $word, )* }

        impl $name {
            const ALL: &'static [(Self, &'static str)] = &[$((Self::$word, $text)),*];

            /// What the protocol calls it.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$word => $text, )* }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::ALL[0].0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::field::Field for $name {
            fn read(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::error::ProtocolError> {
                let text = reader.text()?;
                Self::ALL.iter().find(|(_, known)| *known == text).map(|(word, _)| *word).ok_or_else(|| {
                    let text: String = text.chars().take(40).collect();
                    $crate::error::ProtocolError::invalid(format!("{text:?} is none of its words"))
                })
            }
            fn write(&self, out: &mut Vec<u8>) {
                $crate::wire::write_text(out, self.as_str());
            }
        }
    )* };
}

pub(crate) use {default_of, differs, key_of, missing, records, words};
