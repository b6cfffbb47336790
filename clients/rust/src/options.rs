//! The options of an agent or environment type: what the offer says of them, and how they are read.

use crate::error::Failure;
use crate::map;
use crate::space::Space;
use crate::value::{Map, Value};

/// A type that an option can have.
pub trait FromValue: Sized {
    /// The type's name in JSON Schema; empty for any type.
    const SCHEMA: &'static str;
    /// The value, if it is one of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for bool {
    const SCHEMA: &'static str = "boolean";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_bool()
    }
}

impl FromValue for i64 {
    const SCHEMA: &'static str = "integer";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_i64()
    }
}

impl FromValue for usize {
    const SCHEMA: &'static str = "integer";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_u64().and_then(|value| usize::try_from(value).ok())
    }
}

impl FromValue for f64 {
    const SCHEMA: &'static str = "number";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl FromValue for String {
    const SCHEMA: &'static str = "string";
    fn from_value(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }
}

impl FromValue for Space {
    const SCHEMA: &'static str = "object";
    fn from_value(value: &Value) -> Option<Self> {
        Space::from_value(value).ok()
    }
}

impl FromValue for Value {
    const SCHEMA: &'static str = "";
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

/// The JSON Schema of an option with its default, for an offer.
pub(crate) fn schema<T: FromValue + Into<Value>>(default: T) -> Value {
    let mut schema = map! { "default" => default };
    if !T::SCHEMA.is_empty() {
        schema.insert("type".to_owned(), T::SCHEMA.into());
    }
    schema.into()
}

impl From<Space> for Value {
    fn from(space: Space) -> Self {
        space.to_value()
    }
}

/// The given options, to be taken one by one.
///
/// The library refuses what is left when the agent or environment has been made: an option that
/// it does not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    given: Map,
}

impl Options {
    /// Options as they travel.
    pub fn new(given: Map) -> Self {
        Self { given }
    }

    /// Takes an option; its default if it was not given.
    ///
    /// # Errors
    /// It is of another type.
    pub fn take<T: FromValue>(&mut self, name: &str, default: T) -> Result<T, Failure> {
        match self.given.remove(name) {
            None => Ok(default),
            Some(value) => T::from_value(&value).ok_or_else(|| {
                let kind = if T::SCHEMA.is_empty() {
                    "right"
                } else {
                    T::SCHEMA
                };
                format!("option '{name}': the value is not of the type {kind}").into()
            }),
        }
    }

    /// Refuses options that were not taken.
    ///
    /// # Errors
    /// There are any.
    pub fn finish(&self) -> Result<(), Failure> {
        match self.given.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("there is no option '{name}'").into()),
        }
    }
}
