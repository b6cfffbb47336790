//! Values of any kind: observations, actions, message bodies, parameters.

use std::collections::BTreeMap;

use crate::error::ProtocolError;
use crate::field::Field;
use crate::messages::Limits;
use crate::tensor::{Tensor, EXTENSION};
use crate::wire::{self, Reader, Token};

/// A map of any values by name.
pub type Map = BTreeMap<String, Value>;

/// Whatever can travel.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing.
    #[default]
    Nil,
    /// True or false.
    Bool(bool),
    /// An integer that fits into 64 bits with a sign.
    Int(i64),
    /// An integer above `i64::MAX`, and no other, so that equal integers are equal values.
    Large(u64),
    /// A float; those of 32 bits are read as such of 64.
    Float(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// An array of values.
    Array(Vec<Value>),
    /// A map of values by text.
    Map(Map),
    /// An array of numbers.
    Tensor(Tensor),
    /// An extension of MessagePack that Dovetail does not know.
    Extension(i8, Vec<u8>),
}

macro_rules! accessors {
    ($($(#[$about:meta])* $name:ident: $kind:ident($value:ident) -> $type:ty = $found:expr),* $(,)?) => { $(
        $(#[$about])*
        pub fn $name(&self) -> Option<$type> {
            match self {
                Value::$kind($value) => Some($found),
                _ => None,
            }
        }
    )* };
}

impl Value {
    accessors! {
        /// The integer, if it is one of up to 63 bits and a sign.
        as_i64: Int(value) -> i64 = *value,
        /// The boolean, if it is one.
        as_bool: Bool(value) -> bool = *value,
        /// The text, if it is one.
        as_str: Text(value) -> &str = value,
        /// The bytes, if it is binary.
        as_bytes: Binary(value) -> &[u8] = value,
        /// The elements, if it is an array.
        as_array: Array(value) -> &[Value] = value,
        /// The entries, if it is a map.
        as_map: Map(value) -> &Map = value,
        /// The tensor, if it is one.
        as_tensor: Tensor(value) -> &Tensor = value,
    }

    /// The integer, if it is one of at least 0.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Value::Int(value) => u64::try_from(*value).ok(),
            Value::Large(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, integer or float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Large(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The entry of a map; nothing if it has none or is not a map.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_map()?.get(key)
    }

    /// The MessagePack of this value.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    /// The value of a MessagePack, within the protocol's limits.
    ///
    /// # Errors
    /// `limit` or `malformed`.
    pub fn decode(frame: &[u8]) -> Result<Value, ProtocolError> {
        wire::check(frame, &Limits::default())?;
        Value::read(&mut Reader::new(frame))
    }

    /// Reads one value; the nesting has been checked before, so the recursion has an end.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Value, ProtocolError> {
        Ok(match reader.token()? {
            Token::Nil => Value::Nil,
            Token::Bool(value) => Value::Bool(value),
            Token::Int(value) => Value::Int(value),
            Token::Large(value) => Value::Large(value),
            Token::Float(value) => Value::Float(value),
            Token::Text(bytes) => Value::Text(wire::utf8(bytes)?.to_owned()),
            Token::Binary(bytes) => Value::Binary(bytes.to_vec()),
            Token::Array(count) => {
                let mut values = Vec::with_capacity(reader.room(count));
                for _ in 0..count {
                    values.push(Value::read(reader)?);
                }
                Value::Array(values)
            }
            Token::Map(count) => Value::Map(read_map(reader, count)?),
            Token::Extension(EXTENSION, payload) => Value::Tensor(Tensor::unpack(payload)?),
            Token::Extension(code, data) => Value::Extension(code, data.to_vec()),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Value::Nil => wire::write_nil(out),
            Value::Bool(value) => wire::write_bool(out, *value),
            Value::Int(value) => wire::write_int(out, *value),
            Value::Large(value) => wire::write_uint(out, *value),
            Value::Float(value) => wire::write_float(out, *value),
            Value::Text(value) => wire::write_text(out, value),
            Value::Binary(value) => wire::write_binary(out, value),
            Value::Array(values) => {
                wire::write_array(out, values.len());
                for value in values {
                    value.write(out);
                }
            }
            Value::Map(map) => write_map(out, map),
            Value::Tensor(tensor) => tensor.write(out),
            Value::Extension(code, data) => wire::write_extension(out, *code, data),
        }
    }
}

pub(crate) fn read_map<T: Field>(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<BTreeMap<String, T>, ProtocolError> {
    let mut map = BTreeMap::new();
    for _ in 0..count {
        let key = match reader.token()? {
            Token::Text(bytes) => wire::utf8(bytes)?.to_owned(),
            other => {
                return Err(ProtocolError::malformed(format!(
                    "a key must be text, not {}",
                    other.name()
                )));
            }
        };
        // If a key comes twice, the last one counts.
        map.insert(key, T::read(reader)?);
    }
    Ok(map)
}

pub(crate) fn write_map<T: Field>(out: &mut Vec<u8>, map: &BTreeMap<String, T>) {
    wire::write_map(out, map.len());
    for (key, value) in map {
        wire::write_text(out, key);
        value.write(out);
    }
}

macro_rules! from {
    ($($type:ty => $value:ident => $made:expr),* $(,)?) => { $(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                $made
            }
        }
    )* };
}

from! {
    () => _nothing => Value::Nil,
    bool => value => Value::Bool(value),
    i8 => value => Value::Int(i64::from(value)),
    i16 => value => Value::Int(i64::from(value)),
    i32 => value => Value::Int(i64::from(value)),
    i64 => value => Value::Int(value),
    u8 => value => Value::Int(i64::from(value)),
    u16 => value => Value::Int(i64::from(value)),
    u32 => value => Value::Int(i64::from(value)),
    u64 => value => i64::try_from(value).map_or(Value::Large(value), Value::Int),
    usize => value => Value::from(value as u64),
    f32 => value => Value::Float(f64::from(value)),
    f64 => value => Value::Float(value),
    &str => value => Value::Text(value.to_owned()),
    String => value => Value::Text(value),
    Vec<u8> => value => Value::Binary(value),
    Vec<Value> => value => Value::Array(value),
    Map => value => Value::Map(value),
    Tensor => value => Value::Tensor(value),
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Nil, Into::into)
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Self {
        Value::Array(values.into_iter().map(Into::into).collect())
    }
}

/// A map of values: `map! { "name" => 1, "other" => "text" }`.
#[macro_export]
macro_rules! map {
    ($($key:expr => $value:expr),* $(,)?) => {
        $crate::Map::from([$((::std::string::String::from($key), ::core::convert::Into::<$crate::Value>::into($value))),*])
    };
}

/// A value that came inside a message, and may turn out to be unreadable when it is read:
/// the message around it counts all the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload(pub Result<Value, ProtocolError>);

impl Payload {
    /// The value.
    ///
    /// # Errors
    /// It is malformed.
    pub fn open(self) -> Result<Value, ProtocolError> {
        self.0
    }
}

impl Default for Payload {
    fn default() -> Self {
        Payload(Ok(Value::Nil))
    }
}

impl<T: Into<Value>> From<T> for Payload {
    fn from(value: T) -> Self {
        Payload(Ok(value.into()))
    }
}
