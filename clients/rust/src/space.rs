//! Spaces: what observations and actions can be, values drawn from them, and legal actions: as
//! numbers in rising order, or as a bit mask.

use std::collections::HashMap;

use crate::error::ProtocolError;
use crate::field::{reread, Field};
pub use crate::generated::spaces::*;
use crate::seeds::Random;
use crate::tensor::{Dtype, Tensor, MAX_DIMENSIONS};
use crate::value::Value;
use crate::wire::Reader;

/// A bound of a [`Box`]: a number, or nested arrays of numbers.
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
}

impl Default for Bound {
    fn default() -> Self {
        Bound(Value::Int(0))
    }
}

impl Field for Bound {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        let value = Value::read(reader)?;
        if !numeric(&value) {
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

/// True for a number, and for nested arrays of them.
fn numeric(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(numeric),
        other => matches!(other, Value::Bool(_)) || other.as_f64().is_some(),
    }
}

impl Default for Space {
    fn default() -> Self {
        Self::discrete(1)
    }
}

impl Space {
    /// The integers 0 .. `n - 1`.
    pub fn discrete(n: u64) -> Self {
        Space::Discrete(Discrete {
            n,
            ..Discrete::default()
        })
    }

    /// Arrays of a shape and dtype within bounds for all elements.
    pub fn array(
        shape: &[usize],
        low: impl Into<Value>,
        high: impl Into<Value>,
        dtype: Dtype,
    ) -> Self {
        Space::Box(Box {
            shape: shape.to_vec(),
            low: Bound::of(low),
            high: Bound::of(high),
            dtype: dtype.name().to_owned(),
            ..Box::default()
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
        // Bytes written just now can always be read.
        reread(self).unwrap_or_default()
    }

    /// A value of this space drawn at random, for agents that may do anything.
    ///
    /// Unbounded floats are drawn from -1 to 1 beyond the bound that they have.  A value too
    /// large for any message becomes nil, and so does a [`Box`] with no number between bounds.
    pub fn sample(&self, random: &mut Random) -> Value {
        if self.size() > LARGEST {
            return Value::Nil;
        }
        self.draw(random)
    }

    /// How many elements a value that is drawn has at most; a float, since it may be any number.
    fn size(&self) -> f64 {
        let sum = |sizes: f64| 1.0 + sizes;
        match self {
            Space::Discrete(_) => 1.0,
            Space::Box(space) => size_of(&space.shape),
            Space::MultiDiscrete(space) => space.nvec.len() as f64,
            Space::MultiBinary(space) => size_of(&space.shape),
            Space::Text(space) => sum(longest(space.min_length, space.max_length)),
            Space::Tuple(space) => sum(space.spaces.iter().map(Space::size).sum()),
            Space::Sequence(space) => {
                sum(longest(space.min_length, space.max_length) * space.element.size())
            }
            Space::Dict(space) => sum(space.spaces.values().map(Space::size).sum()),
        }
    }

    fn draw(&self, random: &mut Random) -> Value {
        match self {
            Space::Discrete(space) => {
                let more = random.below(space.n.max(1));
                Value::Int(space.start.saturating_add_unsigned(more))
            }
            Space::Box(space) => space.draw(random),
            Space::MultiDiscrete(space) => {
                let draw = |n: &u64| Value::Int(random.below((*n).max(1)) as i64);
                Value::Array(space.nvec.iter().map(draw).collect())
            }
            Space::MultiBinary(space) => {
                let count: usize = space.shape.iter().product();
                let bits: Vec<u8> = (0..count).map(|_| random.below(2) as u8).collect();
                Tensor::new(&space.shape, &bits).map_or(Value::Nil, Value::Tensor)
            }
            Space::Text(space) => {
                let set: Vec<char> = match &space.charset {
                    Some(set) => set.chars().collect(),
                    None => ('a'..='z').collect(),
                };
                if set.is_empty() {
                    return Value::Text(String::new());
                }
                let more = space
                    .max_length
                    .saturating_sub(space.min_length)
                    .min(SPREAD);
                let length = space.min_length + random.below(more + 1);
                let draw = |_| set[random.below(set.len() as u64) as usize];
                Value::Text((0..length).map(draw).collect())
            }
            Space::Tuple(space) => {
                Value::Array(space.spaces.iter().map(|each| each.draw(random)).collect())
            }
            Space::Sequence(space) => {
                let more = space
                    .max_length
                    .saturating_sub(space.min_length)
                    .min(SPREAD);
                let length = space.min_length + random.below(more + 1);
                Value::Array((0..length).map(|_| space.element.draw(random)).collect())
            }
            Space::Dict(space) => Value::Map(
                space
                    .spaces
                    .iter()
                    .map(|(key, each)| (key.clone(), each.draw(random)))
                    .collect(),
            ),
        }
    }
}

impl Space {
    /// True if this space has a value, as it travels (SPEC.md, S8.1).
    pub fn contains(&self, value: &Value) -> bool {
        self.has(value, &mut Charsets::new())
    }

    fn has(&self, value: &Value, sorted: &mut Charsets) -> bool {
        match self {
            Space::Discrete(space) => value.as_i64().is_some_and(|number| {
                let above = i128::from(number) - i128::from(space.start);
                above >= 0 && above < i128::from(space.n)
            }),
            Space::Box(space) => space.contains(value),
            Space::MultiDiscrete(space) => {
                let whole = value.as_tensor().is_none_or(|tensor| {
                    tensor.dtype() != Dtype::Bool && integers(tensor.dtype()).is_some()
                });
                let all = elements(value, &[space.nvec.len()]);
                whole
                    && all.is_some_and(|all| {
                        let fits =
                            |(each, n): (&Value, &u64)| each.as_u64().is_some_and(|x| x < *n);
                        all.iter().zip(&space.nvec).all(fits)
                    })
            }
            Space::MultiBinary(space) => {
                let tensor = value.as_tensor().is_some();
                let bit = |each: &Value| match each {
                    Value::Bool(_) => tensor,
                    other => other.as_f64().is_some_and(|x| x == 0.0 || x == 1.0),
                };
                elements(value, &space.shape).is_some_and(|all| all.iter().all(bit))
            }
            Space::Text(space) => value.as_str().is_some_and(|text| {
                let length = text.chars().count() as u64;
                let charset = space.charset.as_ref().map(|charset| {
                    let own = sorted.entry(std::ptr::from_ref(space)).or_default();
                    if own.is_empty() {
                        own.extend(charset.chars());
                        own.sort_unstable();
                    }
                    &*own
                });
                let known = |each| charset.is_none_or(|all| all.binary_search(&each).is_ok());
                space.min_length <= length && length <= space.max_length && text.chars().all(known)
            }),
            Space::Tuple(space) => value.as_array().is_some_and(|all| {
                let both = || space.spaces.iter().zip(all);
                all.len() == space.spaces.len()
                    && both().all(|(space, each)| space.has(each, sorted))
            }),
            Space::Sequence(space) => value.as_array().is_some_and(|all| {
                let length = all.len() as u64;
                let fits = space.min_length <= length && length <= space.max_length;
                fits && all.iter().all(|each| space.element.has(each, sorted))
            }),
            Space::Dict(space) => value.as_map().is_some_and(|map| {
                let has = |(key, each): (&String, &Space)| {
                    map.get(key).is_some_and(|value| each.has(value, sorted))
                };
                map.len() == space.spaces.len() && space.spaces.iter().all(has)
            }),
        }
    }
}

/// The characters of each text space in order; it may stand for each element of a sequence.
type Charsets = HashMap<*const Text, Vec<char>>;

/// The elements of a tensor or of nested arrays, if they have the shape.
fn elements(value: &Value, shape: &[usize]) -> Option<Vec<Value>> {
    if let Some(tensor) = value.as_tensor() {
        if tensor.shape() != shape {
            return None;
        }
        let signed = |all: Vec<i64>| all.into_iter().map(Value::Int).collect();
        return Some(match tensor.dtype() {
            Dtype::Bool => tensor
                .to_vec::<bool>()?
                .into_iter()
                .map(Value::Bool)
                .collect(),
            Dtype::Int64 => signed(tensor.to_vec::<i64>()?),
            Dtype::Uint64 => {
                let own = |each| i64::try_from(each).map_or(Value::Large(each), Value::Int);
                tensor.to_vec::<u64>()?.into_iter().map(own).collect()
            }
            Dtype::Float16 | Dtype::Float32 | Dtype::Float64 => {
                tensor.to_f64().into_iter().map(Value::Float).collect()
            }
            _ => signed(
                tensor
                    .to_f64()
                    .into_iter()
                    .map(|each| each as i64)
                    .collect(),
            ),
        });
    }
    let mut all = Vec::new();
    flatten(value, shape, &mut all).then_some(all)
}

fn flatten(value: &Value, shape: &[usize], out: &mut Vec<Value>) -> bool {
    let Some((length, inner)) = shape.split_first() else {
        out.push(value.clone());
        return true;
    };
    value
        .as_array()
        .is_some_and(|all| all.len() == *length && all.iter().all(|each| flatten(each, inner, out)))
}

/// A number rounded to a dtype of floats: ties to even, infinite beyond the largest.
fn nearest(number: f64, dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Float32 => f64::from(number as f32),
        Dtype::Float16 if number != 0.0 && number.is_finite() => {
            let exponent = ((number.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-14);
            let unit = 2f64.powi(exponent - 10);
            let (steps, floor) = (number / unit, (number / unit).floor());
            let even = floor + if floor % 2.0 == 0.0 { 0.0 } else { 1.0 };
            let whole = if steps - floor == 0.5 {
                even
            } else {
                steps.round()
            };
            let rounded = whole * unit;
            if rounded.abs() > 65504.0 {
                f64::INFINITY.copysign(number)
            } else {
                rounded
            }
        }
        _ => number,
    }
}

/// The integer of a boolean or an integer.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Bool(bit) => Some(i128::from(*bit)),
        Value::Int(number) => Some(i128::from(*number)),
        Value::Large(number) => Some(i128::from(*number)),
        _ => None,
    }
}

/// The least and the greatest integer of a dtype between two bounds; nothing if one is NaN.
fn whole(dtype: Dtype, low: &Value, high: &Value) -> Option<(i128, i128)> {
    let (least, most) = integers(dtype)?;
    // A float that no i128 holds becomes the nearest that it does.
    let bound = |value: &Value, round: fn(f64) -> f64| match value {
        Value::Float(x) => (!x.is_nan()).then(|| round(*x) as i128),
        other => integer(other),
    };
    Some((
        bound(low, f64::ceil)?.max(least),
        bound(high, f64::floor)?.min(most),
    ))
}

/// A number between two bounds, drawn at random; nothing if there is none.
fn between(dtype: Dtype, low: &Value, high: &Value, random: &mut Random) -> Option<Value> {
    if integers(dtype).is_none() {
        let (low, high, share) = (low.as_f64()?, high.as_f64()?, random.uniform());
        return Some(Value::Float(match (low.is_finite(), high.is_finite()) {
            _ if low == high => low,
            // Their difference can be infinite.
            (true, true) => (low * (1.0 - share) + high * share).max(low).min(high),
            (true, false) => low + share,
            (false, true) => high - share,
            (false, false) => 2.0 * share - 1.0,
        }));
    }
    let (least, most) = whole(dtype, low, high).filter(|(least, most)| least <= most)?;
    let more = (most - least + 1).min(u64::MAX.into()) as u64;
    let drawn = least + i128::from(random.below(more));
    Some(match dtype {
        Dtype::Bool => Value::Bool(drawn == 1),
        _ => i64::try_from(drawn).map_or(Value::Large(drawn as u64), Value::Int),
    })
}

impl Box {
    /// The bound of each of `count` elements in C order; nothing if it fits no array of the shape.
    fn bounds(&self, bound: &Bound, count: usize) -> Option<Vec<Value>> {
        if bound.0.as_f64().is_some() {
            return Some(vec![bound.0.clone(); count]);
        }
        elements(&bound.0, &self.shape).filter(|all| all.iter().all(|x| x.as_f64().is_some()))
    }

    fn contains(&self, value: &Value) -> bool {
        let Some(dtype) = Dtype::from_name(&self.dtype) else {
            return false;
        };
        if value
            .as_tensor()
            .is_some_and(|tensor| tensor.dtype() != dtype)
        {
            return false;
        }
        let Some(all) = elements(value, &self.shape) else {
            return false;
        };
        let bounds = |bound| self.bounds(bound, all.len());
        let (Some(low), Some(high)) = (bounds(&self.low), bounds(&self.high)) else {
            return false;
        };
        all.iter()
            .zip(low.iter().zip(&high))
            .all(|(each, (low, high))| {
                if integers(dtype).is_none() {
                    let round = |value: &Value| value.as_f64().map(|x| nearest(x, dtype));
                    return matches!((round(low), round(each), round(high)),
                    (Some(low), Some(x), Some(high)) if low <= x && x <= high);
                }
                let (Some(number), Some((least, most))) = (integer(each), whole(dtype, low, high))
                else {
                    return false;
                };
                let fits = matches!(each, Value::Bool(_)) == (dtype == Dtype::Bool);
                fits && least <= number && number <= most
            })
    }

    fn draw(&self, random: &mut Random) -> Value {
        let dtype = Dtype::from_name(&self.dtype).unwrap_or(Dtype::Float32);
        let bounds = |bound| self.bounds(bound, self.shape.iter().product());
        let (Some(low), Some(high)) = (bounds(&self.low), bounds(&self.high)) else {
            return Value::Nil;
        };
        let both = low.iter().zip(&high);
        let drawn: Option<Vec<Value>> = both
            .map(|(low, high)| between(dtype, low, high, random))
            .collect();
        drawn.map_or(Value::Nil, |all| nest(&self.shape, &mut all.into_iter()))
    }
}

/// Elements of the largest value that is drawn; more do not fit into a message.
const LARGEST: f64 = (1 << 20) as f64;

/// How much longer than necessary a text or sequence is at most.
const SPREAD: u64 = 16;

/// How many elements, or empty rows, an array has; infinitely many if it has too many dimensions.
fn size_of(shape: &[usize]) -> f64 {
    if shape.len() > MAX_DIMENSIONS {
        return f64::INFINITY;
    }
    shape.iter().map(|length| (*length).max(1) as f64).product()
}

/// How long a text or sequence is at most.
fn longest(least: u64, most: u64) -> f64 {
    least.saturating_add(most.saturating_sub(least).min(SPREAD)) as f64
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

/// Nested arrays of a shape; a bare value if the shape is empty.
fn nest(shape: &[usize], values: &mut std::vec::IntoIter<Value>) -> Value {
    let Some((length, inner)) = shape.split_first() else {
        return values.next().unwrap_or_default();
    };
    Value::Array((0..*length).map(|_| nest(inner, values)).collect())
}

/// The legal actions of a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Legal {
    /// Action numbers in rising order.
    List(Vec<i64>),
    /// Action `a` is bit `a mod 8` (the lowest is 0) of byte `a div 8`.
    Mask(Vec<u8>),
}

impl Legal {
    /// The mask of some of the actions 0 .. `n - 1`; others are left out.
    pub fn mask(actions: impl IntoIterator<Item = i64>, n: usize) -> Self {
        let mut mask = vec![0u8; n.div_ceil(8)];
        for action in actions {
            if let Ok(action) = usize::try_from(action) {
                if action < n {
                    mask[action / 8] |= 1 << (action % 8);
                }
            }
        }
        Legal::Mask(mask)
    }

    /// The action numbers in rising order.
    pub fn into_list(self) -> Vec<i64> {
        match self {
            Legal::List(actions) => actions,
            Legal::Mask(mask) => (0..8 * mask.len())
                .filter(|action| mask[action / 8] >> (action % 8) & 1 == 1)
                .map(|action| action as i64)
                .collect(),
        }
    }
}

impl<T: IntoIterator<Item = i64>> From<T> for Legal {
    fn from(actions: T) -> Self {
        Legal::List(actions.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws often; each value must be of a kind that `check` knows.
    fn all(space: &Space, check: impl Fn(&Value) -> bool) {
        let mut random = Random::new(1);
        for _ in 0..50 {
            let value = space.sample(&mut random);
            assert!(check(&value), "{value:?} of {space:?}");
        }
        assert_eq!(Space::from_value(&space.to_value()).as_ref(), Ok(space));
    }

    fn within(value: &Value, low: i64, high: i64) -> bool {
        value.as_i64().is_some_and(|n| (low..=high).contains(&n))
    }

    fn each(value: &Value, length: usize, check: impl Fn(&Value) -> bool) -> bool {
        value
            .as_array()
            .is_some_and(|all| all.len() == length && all.iter().all(check))
    }

    #[test]
    fn samples_are_of_their_space() {
        let three = Space::Discrete(Discrete {
            n: 3,
            start: -1,
            ..Discrete::default()
        });
        all(&three, |value| within(value, -1, 1));
        all(&Space::array(&[2, 3], 0, 1, Dtype::Uint8), |value| {
            each(value, 2, |row| each(row, 3, |bit| within(bit, 0, 1)))
        });
        let above = Space::array(&[], -1.5, f64::INFINITY, Dtype::Float32);
        all(
            &above,
            |value| matches!(value, Value::Float(x) if (-1.5..=-0.5).contains(x)),
        );
        all(&Space::array(&[2], 1, 1, Dtype::Bool), |value| {
            each(value, 2, |bit| bit.as_bool() == Some(true))
        });
        all(&Space::array(&[2], -0.5, 1.5, Dtype::Int8), |value| {
            each(value, 2, |n| within(n, 0, 1))
        });
        let free = Space::array(&[2], f64::NEG_INFINITY, f64::INFINITY, Dtype::Uint8);
        all(&free, |value| each(value, 2, |n| within(n, 0, 255)));
        let high = Space::array(&[], 1u64 << 63, u64::MAX, Dtype::Uint64);
        all(&high, |value| value.as_u64() >= Some(1 << 63));
        let any = Space::array(&[], i64::MIN, i64::MAX, Dtype::Int64);
        all(&any, |value| value.as_i64().is_some());
        let pair = Space::MultiDiscrete(MultiDiscrete {
            nvec: vec![1, 5],
            ..MultiDiscrete::default()
        });
        all(&pair, |value| {
            each(value, 2, |n| within(n, 0, 4)) && value.as_array().unwrap()[0] == 0.into()
        });
        let bits = Space::MultiBinary(MultiBinary {
            shape: vec![2, 2],
            ..MultiBinary::default()
        });
        all(&bits, |value| {
            let bits = value.as_tensor().unwrap();
            bits.shape() == [2, 2] && bits.bytes().iter().all(|bit| *bit < 2)
        });
        let text = Space::Text(Text {
            max_length: 4,
            min_length: 2,
            charset: Some("äb".into()),
            ..Text::default()
        });
        all(&text, |value| {
            let text = value.as_str().unwrap();
            (2..=4).contains(&text.chars().count()) && text.chars().all(|c| "äb".contains(c))
        });
        let tuple = Space::Tuple(Tuple {
            spaces: vec![Space::discrete(2), Space::discrete(1)],
            ..Tuple::default()
        });
        all(&tuple, |value| each(value, 2, |n| within(n, 0, 1)));
        let sequence = Space::Sequence(Sequence {
            element: std::boxed::Box::new(Space::discrete(2)),
            max_length: 3,
            min_length: 1,
            ..Sequence::default()
        });
        all(&sequence, |value| {
            let length = value.as_array().unwrap().len();
            (1..=3).contains(&length) && each(value, length, |n| within(n, 0, 1))
        });
        let dict = Space::Dict(Dict {
            spaces: [("x".to_owned(), Space::discrete(4))].into(),
            ..Dict::default()
        });
        all(&dict, |value| {
            value.as_map().unwrap().len() == 1 && within(value.get("x").unwrap(), 0, 3)
        });
    }

    #[test]
    fn the_time_to_check_a_text_does_not_grow_with_its_charset() {
        let charset: String = ('\u{20000}'..='\u{8ffff}').collect();
        let text = Space::Text(Text {
            max_length: u64::MAX,
            charset: Some(charset.clone()),
            ..Text::default()
        });
        let letters: Vec<Value> = charset
            .chars()
            .map(|each| each.to_string().into())
            .collect();
        let begun = std::time::Instant::now();
        assert!(text.contains(&charset.into()));
        let sequence = Space::Sequence(Sequence {
            element: std::boxed::Box::new(text),
            max_length: u64::MAX,
            ..Sequence::default()
        });
        assert!(sequence.contains(&letters.into()));
        assert!(begun.elapsed().as_secs() < 10);
    }

    #[test]
    fn what_is_too_large_is_not_drawn() {
        let mut random = Random::new(1);
        let shape = vec![usize::MAX, 2];
        let long = |element: Space| {
            Space::Sequence(Sequence {
                element: std::boxed::Box::new(element),
                max_length: 10_000,
                min_length: 10_000,
                ..Sequence::default()
            })
        };
        let spaces = [
            Space::array(&shape, 0, 1, Dtype::Uint8),
            Space::array(&[1 << 40], 0, 1, Dtype::Uint8),
            Space::array(&[1 << 40, 0], 0, 1, Dtype::Uint8),
            Space::array(&[1; 10_000], 0, 1, Dtype::Uint8),
            long(long(Space::discrete(2))),
            Space::Tuple(Tuple {
                spaces: vec![long(Space::discrete(2)); 1000],
                ..Tuple::default()
            }),
            Space::Text(Text {
                max_length: u64::MAX,
                min_length: u64::MAX,
                ..Text::default()
            }),
            Space::Sequence(Sequence {
                max_length: u64::MAX,
                min_length: u64::MAX,
                ..Sequence::default()
            }),
            Space::MultiBinary(MultiBinary {
                shape,
                ..MultiBinary::default()
            }),
        ];
        for space in spaces {
            assert_eq!(space.sample(&mut random), Value::Nil);
        }
        let start = i64::MAX;
        let discrete = Discrete {
            n: 9,
            start,
            ..Discrete::default()
        };
        Space::Discrete(discrete).sample(&mut random);
    }

    #[test]
    fn masks() {
        let mask = Legal::mask([0, 9], 10);
        assert_eq!(mask, Legal::Mask(vec![1, 2]));
        assert_eq!(Legal::mask([-1, 10, 3], 10), Legal::Mask(vec![8, 0]));
        assert_eq!(mask.into_list(), [0, 9]);
    }
}
