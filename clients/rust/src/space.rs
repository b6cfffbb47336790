//! Spaces: what observations and actions can be.

use std::collections::BTreeMap;

use crate::error::ProtocolError;
use crate::field::{find_tag, records, reread, Field, Record};
use crate::random::Random;
use crate::tensor::{Dtype, Tensor};
use crate::value::Value;
use crate::wire::{self, expected, Reader, Token};

records! {
    /// The integers `start` .. `start + n - 1`.
    Discrete["space" = "Discrete"] {
        /// How many integers.
        n: i64,
        /// The lowest one.
        start: i64 = 0,
    }

    /// Arrays of a shape and dtype, with bounds for all elements or one each.
    BoxSpace["space" = "Box"] {
        /// The length of each dimension; empty for one number.
        shape: Vec<usize>,
        /// The least value of every element, or nested arrays with one of each.
        low: Bound = Bound::of(f64::NEG_INFINITY),
        /// The greatest value, likewise.
        high: Bound = Bound::of(f64::INFINITY),
        /// The name of the elements' dtype.
        dtype: String = "float32".to_owned(),
    }

    /// Vectors of integers, element i in 0 .. `nvec[i] - 1`.
    MultiDiscrete["space" = "MultiDiscrete"] {
        /// For each element, how many values it has.
        nvec: Vec<i64>,
    }

    /// Arrays of zeros and ones of a shape.
    MultiBinary["space" = "MultiBinary"] {
        /// The length of each dimension.
        shape: Vec<usize>,
    }

    /// Strings by length in characters.
    TextSpace["space" = "Text"] {
        /// The most characters (Unicode code points).
        max_length: u64,
        /// The fewest.
        min_length: u64 = 0,
        /// The characters that may occur; `None`: any.
        charset: Option<String> = None,
    }

    /// Sequences with one value of each space.
    TupleSpace["space" = "Tuple"] {
        /// One space per element.
        spaces: Vec<Space>,
    }

    /// Maps with one value of each space by its key.
    DictSpace["space" = "Dict"] {
        /// The space of each key.
        spaces: BTreeMap<String, Space>,
    }
}

/// A bound of a [`BoxSpace`]: a number, or nested arrays of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound(Value);

impl Bound {
    /// The same number for every element.
    pub fn of(number: impl Into<Value>) -> Self {
        Bound(number.into())
    }

    /// The number, or nested arrays of them.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The bound of each of `count` elements in C order, if there are as many.
    fn each(&self, count: usize) -> Option<Vec<f64>> {
        if let Some(number) = self.0.as_f64() {
            return Some(vec![number; count]);
        }
        let mut all = Vec::with_capacity(count);
        numbers(&self.0, &mut all)?;
        (all.len() == count).then_some(all)
    }
}

impl Default for Bound {
    fn default() -> Self {
        Bound(Value::Int(0))
    }
}

impl Field for Bound {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let value = Value::read(reader)?;
        if numbers(&value, &mut Vec::new()).is_none() {
            return Err(ProtocolError::invalid(
                "a bound must be a number or nested arrays of numbers",
            ));
        }
        Ok(Bound(value))
    }
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}

/// Appends the numbers of nested arrays; nothing if there is anything else in them.
fn numbers(value: &Value, out: &mut Vec<f64>) -> Option<()> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|each| numbers(each, out)),
        Value::Bool(bit) => {
            out.push(f64::from(u8::from(*bit)));
            Some(())
        }
        number => {
            out.push(number.as_f64()?);
            Some(())
        }
    }
}

/// What an observation or action can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Space {
    /// Integers of a range.
    Discrete(Discrete),
    /// Arrays of numbers within bounds.
    Box(BoxSpace),
    /// Vectors of integers.
    MultiDiscrete(MultiDiscrete),
    /// Arrays of zeros and ones.
    MultiBinary(MultiBinary),
    /// Strings.
    Text(TextSpace),
    /// One value of each space.
    Tuple(TupleSpace),
    /// One value of each space by name.
    Dict(DictSpace),
}

impl Space {
    /// The integers 0 .. `n - 1`.
    pub fn discrete(n: i64) -> Self {
        Space::Discrete(Discrete { n, start: 0 })
    }

    /// Arrays of a shape and dtype within bounds for all elements.
    pub fn array(
        shape: &[usize],
        low: impl Into<Value>,
        high: impl Into<Value>,
        dtype: Dtype,
    ) -> Self {
        Space::Box(BoxSpace {
            shape: shape.to_vec(),
            low: Bound::of(low),
            high: Bound::of(high),
            dtype: dtype.name().to_owned(),
        })
    }

    /// The space that a map describes, as it stands in a message or a configuration.
    ///
    /// # Errors
    /// It describes none.
    pub fn from_value(value: &Value) -> Result<Self, ProtocolError> {
        reread(value)
    }

    /// The map that describes this space.
    pub fn to_value(&self) -> Value {
        // What was written just now can be read.
        reread(self).unwrap_or_default()
    }

    /// Whether a value is one of this space.
    pub fn contains(&self, value: &Value) -> bool {
        match self {
            Space::Discrete(space) => value
                .as_i64()
                .and_then(|value| value.checked_sub(space.start))
                .is_some_and(|value| (0..space.n).contains(&value)),
            Space::Box(space) => space.contains(value),
            Space::MultiDiscrete(space) => {
                is_whole(value)
                    && shape_of(value) == Some(vec![space.nvec.len()])
                    && flat(value).is_some_and(|all| {
                        let mut pairs = all.iter().zip(&space.nvec);
                        pairs.all(|(x, n)| (0.0..*n as f64).contains(x))
                    })
            }
            Space::MultiBinary(space) => {
                shape_of(value).as_ref() == Some(&space.shape)
                    && flat(value).is_some_and(|all| all.iter().all(|x| *x == 0.0 || *x == 1.0))
            }
            Space::Text(space) => value.as_str().is_some_and(|text| {
                let length = text.chars().count() as u64;
                (space.min_length..=space.max_length).contains(&length)
                    && space
                        .charset
                        .as_ref()
                        .is_none_or(|set| text.chars().all(|each| set.contains(each)))
            }),
            Space::Tuple(space) => value.as_array().is_some_and(|values| {
                values.len() == space.spaces.len()
                    && values.iter().zip(&space.spaces).all(|(v, s)| s.contains(v))
            }),
            Space::Dict(space) => value.as_map().is_some_and(|map| {
                map.len() == space.spaces.len()
                    && space
                        .spaces
                        .iter()
                        .all(|(key, s)| map.get(key).is_some_and(|v| s.contains(v)))
            }),
        }
    }

    /// A value of this space drawn at random, for agents that may do anything.
    ///
    /// Unbounded numbers are drawn from -1 to 1 beyond the bound that they have.  What would be
    /// too large for any message is nil.
    pub fn sample(&self, random: &mut Random) -> Value {
        match self {
            Space::Discrete(space) => {
                let more = random.below(space.n.max(1) as u64) as i64;
                Value::Int(space.start.saturating_add(more))
            }
            Space::Box(space) => space.sample(random),
            Space::MultiDiscrete(space) => {
                let draw = |n: &i64| Value::Int(random.below((*n).max(1) as u64) as i64);
                Value::Array(space.nvec.iter().map(draw).collect())
            }
            Space::MultiBinary(space) => {
                let Some(count) = count_of(&space.shape) else {
                    return Value::Nil;
                };
                let bits: Vec<u8> = (0..count).map(|_| random.below(2) as u8).collect();
                Tensor::new(&space.shape, &bits).map_or(Value::Nil, Value::Tensor)
            }
            Space::Text(space) => {
                let set: Vec<char> = match &space.charset {
                    Some(set) => set.chars().collect(),
                    None => ('a'..='z').collect(),
                };
                let least = space.min_length;
                if set.is_empty() || least > LARGEST as u64 {
                    return Value::Text(String::new());
                }
                let more = space.max_length.saturating_sub(least).min(16);
                let length = least + random.below(more + 1);
                let draw = |_| set[random.below(set.len() as u64) as usize];
                Value::Text((0..length).map(draw).collect())
            }
            Space::Tuple(space) => Value::Array(
                space
                    .spaces
                    .iter()
                    .map(|each| each.sample(random))
                    .collect(),
            ),
            Space::Dict(space) => Value::Map(
                space
                    .spaces
                    .iter()
                    .map(|(key, each)| (key.clone(), each.sample(random)))
                    .collect(),
            ),
        }
    }
}

impl BoxSpace {
    fn contains(&self, value: &Value) -> bool {
        let Some(dtype) = Dtype::from_name(&self.dtype) else {
            return false;
        };
        let fits = match value {
            Value::Tensor(tensor) => tensor.dtype() == dtype,
            nested => can_hold(dtype, nested),
        };
        if !fits || shape_of(value).as_ref() != Some(&self.shape) {
            return false;
        }
        let Some(all) = flat(value) else { return false };
        let (Some(low), Some(high)) = (self.low.each(all.len()), self.high.each(all.len())) else {
            return false;
        };
        // NaN is in no box, which is what these comparisons say of it.
        all.iter()
            .zip(low.iter().zip(&high))
            .all(|(x, (low, high))| low <= x && x <= high)
    }

    fn sample(&self, random: &mut Random) -> Value {
        let dtype = Dtype::from_name(&self.dtype).unwrap_or(Dtype::Float32);
        let bounds = count_of(&self.shape)
            .and_then(|count| Some((self.low.each(count)?, self.high.each(count)?)));
        let Some((low, high)) = bounds else {
            return Value::Nil;
        };
        let mut draw = |low: f64, high: f64| {
            let (low, high) = match (low.is_finite(), high.is_finite()) {
                (true, true) => (low, high),
                (true, false) => (low, low + 1.0),
                (false, true) => (high - 1.0, high),
                (false, false) => (-1.0, 1.0),
            };
            let Some((least, most)) = integers(dtype) else {
                return Value::Float(low + (high - low) * random.uniform());
            };
            let low = (low.ceil() as i128).clamp(least, most);
            let high = (high.floor() as i128).clamp(low, most);
            let more = (high - low).saturating_add(1).min(u64::MAX.into()) as u64;
            let drawn = low + i128::from(random.below(more));
            match dtype {
                Dtype::Bool => Value::Bool(drawn == 1),
                _ => i64::try_from(drawn).map_or(Value::Large(drawn as u64), Value::Int),
            }
        };
        let drawn = low.iter().zip(&high).map(|(l, h)| draw(*l, *h)).collect();
        nest(&self.shape, drawn)
    }
}

/// Elements of the largest array that is drawn; more do not fit into a frame.
const LARGEST: usize = 1 << 24;

/// How many elements an array of a shape has, if it is not too large.
fn count_of(shape: &[usize]) -> Option<usize> {
    let count = |count: usize, length: &usize| count.checked_mul(*length);
    shape.iter().try_fold(1, count).filter(|n| *n <= LARGEST)
}

/// The least and the greatest integer that a dtype can hold; nothing if it is one of floats.
fn integers(dtype: Dtype) -> Option<(i128, i128)> {
    let bits = 8 * dtype.size();
    match dtype {
        Dtype::Float16 | Dtype::Float32 | Dtype::Float64 => None,
        Dtype::Bool => Some((0, 1)),
        Dtype::Int8 | Dtype::Int16 | Dtype::Int32 | Dtype::Int64 => {
            Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
        }
        _ => Some((0, (1 << bits) - 1)),
    }
}

/// Whether nested arrays hold what a dtype can hold.
fn can_hold(dtype: Dtype, value: &Value) -> bool {
    let whole = match value {
        Value::Array(values) => return values.iter().all(|each| can_hold(dtype, each)),
        Value::Bool(_) => return dtype == Dtype::Bool,
        Value::Float(_) => return integers(dtype).is_none(),
        Value::Int(value) => i128::from(*value),
        Value::Large(value) => i128::from(*value),
        _ => return false,
    };
    dtype != Dtype::Bool
        && integers(dtype).is_none_or(|(least, most)| (least..=most).contains(&whole))
}

/// Whether a tensor or nested arrays hold integers.
fn is_whole(value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => {
            tensor.dtype() != Dtype::Bool && integers(tensor.dtype()).is_some()
        }
        nested => can_hold(Dtype::Int64, nested),
    }
}

/// The shape of a tensor or of nested arrays; nothing if they are ragged.
fn shape_of(value: &Value) -> Option<Vec<usize>> {
    match value {
        Value::Tensor(tensor) => Some(tensor.shape().to_vec()),
        Value::Array(values) => {
            let mut shape = vec![values.len()];
            let mut inner = values.iter().map(shape_of);
            if let Some(first) = inner.next() {
                let first = first?;
                if inner.any(|each| each.as_ref() != Some(&first)) {
                    return None;
                }
                shape.extend(first);
            }
            Some(shape)
        }
        Value::Bool(_) | Value::Int(_) | Value::Large(_) | Value::Float(_) => Some(Vec::new()),
        _ => None,
    }
}

fn flat(value: &Value) -> Option<Vec<f64>> {
    if let Value::Tensor(tensor) = value {
        return Some(tensor.to_f64());
    }
    let mut all = Vec::new();
    numbers(value, &mut all)?;
    Some(all)
}

/// Nested arrays of a shape; a bare value if the shape is empty.
fn nest(shape: &[usize], mut values: Vec<Value>) -> Value {
    for length in shape.iter().skip(1).rev() {
        if *length == 0 {
            return Value::Array(Vec::new());
        }
        let rows = values.chunks(*length).map(|row| Value::Array(row.to_vec()));
        values = rows.collect();
    }
    match shape {
        [] => values.pop().unwrap_or_default(),
        _ => Value::Array(values),
    }
}

impl Field for Space {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let count = reader.map()?;
        let name = match find_tag(reader, count, "space")? {
            Some(Token::Text(name)) => name,
            Some(other) => return Err(expected("text", &other).at("space")),
            None => return Err(ProtocolError::invalid("the field `space` is missing")),
        };
        Ok(match name {
            b"Discrete" => Space::Discrete(Record::read_fields(reader, count)?),
            b"Box" => Space::Box(Record::read_fields(reader, count)?),
            b"MultiDiscrete" => Space::MultiDiscrete(Record::read_fields(reader, count)?),
            b"MultiBinary" => Space::MultiBinary(Record::read_fields(reader, count)?),
            b"Text" => Space::Text(Record::read_fields(reader, count)?),
            b"Tuple" => Space::Tuple(Record::read_fields(reader, count)?),
            b"Dict" => Space::Dict(Record::read_fields(reader, count)?),
            _ => return Err(ProtocolError::invalid("there is no such space")),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Space::Discrete(space) => space.write(out),
            Space::Box(space) => space.write(out),
            Space::MultiDiscrete(space) => space.write(out),
            Space::MultiBinary(space) => space.write(out),
            Space::Text(space) => space.write(out),
            Space::Tuple(space) => space.write(out),
            Space::Dict(space) => space.write(out),
        }
    }
}

impl Field for BTreeMap<String, Space> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let count = reader.map()?;
        let mut spaces = BTreeMap::new();
        for _ in 0..count {
            let key = reader.text()?.to_owned();
            spaces.insert(key, Space::read(reader)?);
        }
        Ok(spaces)
    }
    fn write(&self, out: &mut Vec<u8>) {
        wire::write_map(out, self.len());
        for (key, space) in self {
            wire::write_text(out, key);
            space.write(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_contained() {
        let mut random = Random::new(1);
        let spaces = [
            Space::Discrete(Discrete { n: 3, start: -1 }),
            Space::array(&[2, 3], 0, 1, Dtype::Uint8),
            Space::array(&[], -1.5, f64::INFINITY, Dtype::Float32),
            Space::array(&[2], 0, 1, Dtype::Bool),
            Space::array(&[2], 1, 1, Dtype::Bool),
            Space::array(&[2], -0.5, 1.5, Dtype::Int8),
            Space::array(&[2], f64::NEG_INFINITY, f64::INFINITY, Dtype::Uint8),
            Space::array(&[], 1u64 << 63, u64::MAX, Dtype::Uint64),
            Space::array(&[], i64::MIN, i64::MAX, Dtype::Int64),
            Space::MultiDiscrete(MultiDiscrete { nvec: vec![2, 5] }),
            Space::MultiBinary(MultiBinary { shape: vec![2, 2] }),
            Space::Text(TextSpace {
                max_length: 4,
                min_length: 2,
                charset: Some("äb".into()),
            }),
            Space::Tuple(TupleSpace {
                spaces: vec![Space::discrete(2), Space::discrete(1)],
            }),
            Space::Dict(DictSpace {
                spaces: [("x".to_owned(), Space::discrete(4))].into(),
            }),
        ];
        for space in spaces {
            for _ in 0..50 {
                let value = space.sample(&mut random);
                assert!(space.contains(&value), "{value:?} of {space:?}");
            }
            assert!(!space.contains(&Value::Binary(vec![1])));
            assert_eq!(Space::from_value(&space.to_value()).unwrap(), space);
        }
    }

    #[test]
    fn what_is_too_large_is_not_drawn() {
        let mut random = Random::new(1);
        let shape = vec![usize::MAX, 2];
        let spaces = [
            Space::array(&shape, 0, 1, Dtype::Uint8),
            Space::array(&[1 << 40], 0, 1, Dtype::Uint8),
            Space::MultiBinary(MultiBinary { shape }),
        ];
        for space in spaces {
            assert_eq!(space.sample(&mut random), Value::Nil);
        }
        let text = TextSpace {
            max_length: u64::MAX,
            min_length: u64::MAX,
            charset: None,
        };
        assert_eq!(Space::Text(text).sample(&mut random), "".into());
        let start = i64::MAX;
        Space::Discrete(Discrete { n: 9, start }).sample(&mut random);
    }

    #[test]
    fn vectors_of_integers_hold_no_others() {
        let space = Space::MultiDiscrete(MultiDiscrete { nvec: vec![2, 5] });
        assert!(space.contains(&[1, 4].into()));
        assert!(space.contains(&Tensor::new(&[2], &[1u8, 4]).unwrap().into()));
        assert!(!space.contains(&[1, 5].into()) && !space.contains(&[-1, 4].into()));
        assert!(!space.contains(&[1.0, 4.0].into()) && !space.contains(&[true, true].into()));
        assert!(!space.contains(&Tensor::new(&[2], &[1f32, 4.0]).unwrap().into()));
    }
}
