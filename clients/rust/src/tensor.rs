//! Tensors: arrays of numbers of one type and any shape.

use crate::error::ProtocolError;
use crate::wire::{self, expected, Reader, Token};

/// The MessagePack extension type of a tensor.
pub const EXTENSION: i8 = 1;

/// The most dimensions that a tensor can have.
pub const MAX_DIMENSIONS: usize = 32;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 8 bits.
    Uint8,
    /// Unsigned, 16 bits.
    Uint16,
    /// Unsigned, 32 bits.
    Uint32,
    /// Unsigned, 64 bits.
    Uint64,
    /// IEEE 754 half precision.
    Float16,
    /// IEEE 754 single precision.
    Float32,
    /// IEEE 754 double precision.
    Float64,
}

impl Dtype {
    const ALL: [(Dtype, &'static str, usize); 12] = [
        (Dtype::Bool, "bool", 1),
        (Dtype::Int8, "int8", 1),
        (Dtype::Int16, "int16", 2),
        (Dtype::Int32, "int32", 4),
        (Dtype::Int64, "int64", 8),
        (Dtype::Uint8, "uint8", 1),
        (Dtype::Uint16, "uint16", 2),
        (Dtype::Uint32, "uint32", 4),
        (Dtype::Uint64, "uint64", 8),
        (Dtype::Float16, "float16", 2),
        (Dtype::Float32, "float32", 4),
        (Dtype::Float64, "float64", 8),
    ];

    /// The dtype of a name of the protocol.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, known, _)| *known == name)
            .map(|(dtype, ..)| *dtype)
    }

    /// Its name in the protocol.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        Self::ALL[self as usize].2
    }
}

/// A Rust type that can be a tensor's element.
pub trait Element: Copy {
    /// Its name in the protocol.
    const DTYPE: Dtype;
    /// Appends the little-endian bytes.
    fn put(self, out: &mut Vec<u8>);
    /// Reads the little-endian bytes, of which there are enough.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($type:ty => $dtype:ident),*) => { $(
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(bytes);
                <$type>::from_le_bytes(own)
            }
        }
    )* };
}

element!(i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => Uint8, u16 => Uint16,
         u32 => Uint32, u64 => Uint64, f32 => Float32, f64 => Float64);

impl Element for bool {
    const DTYPE: Dtype = Dtype::Bool;
    fn put(self, out: &mut Vec<u8>) {
        out.push(u8::from(self));
    }
    fn get(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

/// An array of numbers: dtype, shape, and the elements in C order (the last index moves fastest).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl Tensor {
    /// A tensor of little-endian bytes.
    ///
    /// # Errors
    /// The number of bytes is not that of the shape, or one of a `bool` is neither 0 nor 1.
    pub fn from_bytes(dtype: Dtype, shape: &[usize], data: Vec<u8>) -> Result<Self, ProtocolError> {
        if shape.len() > MAX_DIMENSIONS {
            return Err(ProtocolError::malformed(format!(
                "tensor with more than {MAX_DIMENSIONS} dimensions"
            )));
        }
        // An empty dimension makes the product 0, however large the others are.
        let size = if shape.contains(&0) {
            Some(0)
        } else {
            shape
                .iter()
                .try_fold(dtype.size(), |size, length| size.checked_mul(*length))
        };
        if size != Some(data.len()) {
            return Err(ProtocolError::malformed(format!(
                "tensor {}{shape:?} with {} bytes of data",
                dtype.name(),
                data.len()
            )));
        }
        if dtype == Dtype::Bool && data.iter().any(|byte| *byte > 1) {
            return Err(ProtocolError::malformed(
                "tensor bool with a byte other than 0 and 1",
            ));
        }
        Ok(Self {
            dtype,
            shape: shape.to_vec(),
            data,
        })
    }

    /// A tensor of Rust numbers.
    ///
    /// # Errors
    /// The number of elements is not that of the shape.
    pub fn new<T: Element>(shape: &[usize], elements: &[T]) -> Result<Self, ProtocolError> {
        let mut data = Vec::with_capacity(size_of_val(elements));
        for element in elements {
            element.put(&mut data);
        }
        Self::from_bytes(T::DTYPE, shape, data)
    }

    /// The type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The length of each dimension; empty for a single number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements as little-endian bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.data.len() / self.dtype.size()
    }

    /// True if it has none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The elements in C order, if they are of the type `T`.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        (T::DTYPE == self.dtype).then(|| {
            self.data
                .chunks_exact(self.dtype.size())
                .map(T::get)
                .collect()
        })
    }

    /// The elements in C order as floats, whatever their type; 64-bit integers are rounded.
    pub fn to_f64(&self) -> Vec<f64> {
        let read: fn(&[u8]) -> f64 = match self.dtype {
            Dtype::Bool => |b| f64::from(b[0]),
            Dtype::Int8 => |b| f64::from(i8::get(b)),
            Dtype::Int16 => |b| f64::from(i16::get(b)),
            Dtype::Int32 => |b| f64::from(i32::get(b)),
            Dtype::Int64 => |b| i64::get(b) as f64,
            Dtype::Uint8 => |b| f64::from(b[0]),
            Dtype::Uint16 => |b| f64::from(u16::get(b)),
            Dtype::Uint32 => |b| f64::from(u32::get(b)),
            Dtype::Uint64 => |b| u64::get(b) as f64,
            Dtype::Float16 => |b| half(u16::get(b)),
            Dtype::Float32 => |b| f64::from(f32::get(b)),
            Dtype::Float64 => f64::get,
        };
        self.data
            .chunks_exact(self.dtype.size())
            .map(read)
            .collect()
    }

    pub(crate) fn unpack(payload: &[u8]) -> Result<Self, ProtocolError> {
        let wrong = |error: ProtocolError| {
            ProtocolError::malformed(format!(
                "a tensor must be [dtype, shape, bytes]: {}",
                error.message
            ))
        };
        let (name, shape, data) = parts(payload).map_err(wrong)?;
        let dtype = Dtype::from_name(name).ok_or_else(|| {
            let name: String = name.chars().take(20).collect();
            ProtocolError::malformed(format!("tensor of unknown dtype {name:?}"))
        })?;
        Self::from_bytes(dtype, &shape, data.to_vec())
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut payload = Vec::with_capacity(self.data.len() + 24 + 9 * self.shape.len());
        wire::write_array(&mut payload, 3);
        wire::write_text(&mut payload, self.dtype.name());
        wire::write_array(&mut payload, self.shape.len());
        for length in &self.shape {
            wire::write_uint(&mut payload, *length as u64);
        }
        wire::write_binary(&mut payload, &self.data);
        wire::write_extension(out, EXTENSION, &payload);
    }
}

/// The name of the dtype, the shape and the bytes in a tensor's payload.
fn parts(payload: &[u8]) -> Result<(&str, Vec<usize>, &[u8]), ProtocolError> {
    let mut reader = Reader::new(payload);
    match reader.token()? {
        Token::Array(3) => {}
        other => return Err(expected("an array of 3", &other)),
    }
    let name = reader.text()?;
    let dimensions = reader.array()?;
    if dimensions > MAX_DIMENSIONS {
        return Err(ProtocolError::malformed("too many dimensions"));
    }
    let mut shape = Vec::with_capacity(dimensions);
    for _ in 0..dimensions {
        match reader.token()? {
            Token::Int(length) if length >= 0 => shape.push(length as usize),
            other => return Err(expected("a length of at least 0", &other)),
        }
    }
    match reader.token()? {
        Token::Binary(data) if reader.is_at_end() => Ok((name, shape, data)),
        Token::Binary(_) => Err(ProtocolError::malformed("it continues after its end")),
        other => Err(expected("binary", &other)),
    }
}

/// The value of a half-precision float.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        let tensor = Tensor::new(&[2], &[1i8, 2]).unwrap();
        let mut out = Vec::new();
        tensor.write(&mut out);
        let expected = [
            0xc7, 0x0c, 1, 0x93, 0xa4, b'i', b'n', b't', b'8', 0x91, 2, 0xc4, 2, 1, 2,
        ];
        assert_eq!(out, expected);
        assert_eq!(Tensor::unpack(&out[3..]).unwrap(), tensor);
    }

    #[test]
    fn shapes_that_contradict_the_data_are_refused() {
        assert!(Tensor::new(&[3], &[1u8, 2]).is_err());
        assert!(Tensor::from_bytes(Dtype::Int8, &[usize::MAX, 2], vec![0; 2]).is_err());
        assert!(Tensor::from_bytes(Dtype::Int8, &[usize::MAX, 0], vec![]).is_ok());
    }

    #[test]
    fn half_precision() {
        let values = [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 2f64.powi(-24))];
        for (bits, value) in values {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7e00).is_nan());
    }
}
