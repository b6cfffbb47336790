//! MessagePack as it comes and goes: the check of a frame against the limits, a reader of tokens,
//! and functions that write.

use rmp::{encode, Marker};

use crate::error::ProtocolError;
use crate::messages::Limits;

type Result<T> = std::result::Result<T, ProtocolError>;

/// Levels of nesting that are read at the most, whatever the limits: each takes some of the stack.
const DEEPEST: u64 = 500;

/// Accepts a frame if it is exactly one MessagePack value within the limits.
///
/// Nothing is decoded and nothing but its nesting takes memory, so a length that is announced
/// and not there costs nothing.
pub fn check(frame: &[u8], limits: &Limits) -> Result<()> {
    if frame.len() as u64 > limits.frame {
        return Err(ProtocolError::limit(format!(
            "frame of {} bytes; at most {} are read",
            frame.len(),
            limits.frame
        )));
    }
    let depth = limits.depth.min(DEEPEST);
    let mut reader = Reader::new(frame);
    let mut elements: u64 = 0;
    // Values still to come in the innermost open container, and in those around it.
    let mut left: usize = 1;
    let mut outer: Vec<usize> = Vec::new();
    loop {
        while left == 0 {
            match outer.pop() {
                Some(around) => left = around,
                None => {
                    let rest = reader.rest.len();
                    return if rest == 0 {
                        Ok(())
                    } else {
                        let end = frame.len() - rest;
                        Err(ProtocolError::malformed(format!(
                            "frame of {} bytes continues after byte {end}",
                            frame.len()
                        )))
                    };
                }
            }
        }
        left -= 1;
        elements += 1;
        if elements > limits.elements {
            return Err(ProtocolError::limit(format!(
                "more than {} values in a frame",
                limits.elements
            )));
        }
        let count = match reader.token()? {
            Token::Array(count) => count,
            Token::Map(count) => count.saturating_mul(2),
            _ => continue,
        };
        if count > reader.rest.len() {
            return Err(ProtocolError::malformed(format!(
                "{count} values announced with {} bytes to come",
                reader.rest.len()
            )));
        }
        outer.push(left);
        if outer.len() as u64 > depth {
            return Err(ProtocolError::limit(format!("nested deeper than {depth}")));
        }
        left = count;
    }
}

/// One step of MessagePack: a scalar, or the head of an array or map.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Token<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    /// Above `i64::MAX` only.
    Large(u64),
    Float(f64),
    Text(&'a [u8]),
    Binary(&'a [u8]),
    Array(usize),
    /// Entries, not values.
    Map(usize),
    Extension(i8, &'a [u8]),
}

impl Token<'_> {
    /// Names the kind of the token in errors.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Token::Nil => "nil",
            Token::Bool(_) => "a boolean",
            Token::Int(_) | Token::Large(_) => "an integer",
            Token::Float(_) => "a float",
            Token::Text(_) => "text",
            Token::Binary(_) => "binary",
            Token::Array(_) => "an array",
            Token::Map(_) => "a map",
            Token::Extension(..) => "an extension",
        }
    }
}

/// Reads a frame from the front.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(frame: &'a [u8]) -> Self {
        Self { rest: frame }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.rest.len() {
            return Err(ProtocolError::malformed("the frame ends inside a value"));
        }
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.take(N)?);
        Ok(bytes)
    }

    fn length<const N: usize>(&mut self) -> Result<usize> {
        let bytes = self.fixed::<N>()?;
        Ok(bytes
            .iter()
            .fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    /// Bytes behind a length of `N` bytes.
    fn sized<const N: usize>(&mut self) -> Result<&'a [u8]> {
        let length = self.length::<N>()?;
        self.take(length)
    }

    fn extension(&mut self, length: usize) -> Result<Token<'a>> {
        let [code] = self.fixed::<1>()?;
        Ok(Token::Extension(code as i8, self.take(length)?))
    }

    #[inline]
    pub(crate) fn token(&mut self) -> Result<Token<'a>> {
        let [byte] = self.fixed::<1>()?;
        Ok(match Marker::from_u8(byte) {
            Marker::FixPos(value) => Token::Int(i64::from(value)),
            Marker::FixNeg(value) => Token::Int(i64::from(value)),
            Marker::FixStr(length) => Token::Text(self.take(usize::from(length))?),
            Marker::FixMap(count) => Token::Map(usize::from(count)),
            Marker::FixArray(count) => Token::Array(usize::from(count)),
            Marker::Null => Token::Nil,
            Marker::True => Token::Bool(true),
            Marker::False => Token::Bool(false),
            Marker::U8 => Token::Int(i64::from(u8::from_be_bytes(self.fixed()?))),
            Marker::U16 => Token::Int(i64::from(u16::from_be_bytes(self.fixed()?))),
            Marker::U32 => Token::Int(i64::from(u32::from_be_bytes(self.fixed()?))),
            Marker::U64 => {
                let value = u64::from_be_bytes(self.fixed()?);
                match i64::try_from(value) {
                    Ok(value) => Token::Int(value),
                    Err(_) => Token::Large(value),
                }
            }
            Marker::I8 => Token::Int(i64::from(i8::from_be_bytes(self.fixed()?))),
            Marker::I16 => Token::Int(i64::from(i16::from_be_bytes(self.fixed()?))),
            Marker::I32 => Token::Int(i64::from(i32::from_be_bytes(self.fixed()?))),
            Marker::I64 => Token::Int(i64::from_be_bytes(self.fixed()?)),
            Marker::F32 => Token::Float(f64::from(f32::from_be_bytes(self.fixed()?))),
            Marker::F64 => Token::Float(f64::from_be_bytes(self.fixed()?)),
            Marker::Str8 => Token::Text(self.sized::<1>()?),
            Marker::Str16 => Token::Text(self.sized::<2>()?),
            Marker::Str32 => Token::Text(self.sized::<4>()?),
            Marker::Bin8 => Token::Binary(self.sized::<1>()?),
            Marker::Bin16 => Token::Binary(self.sized::<2>()?),
            Marker::Bin32 => Token::Binary(self.sized::<4>()?),
            Marker::Array16 => Token::Array(self.length::<2>()?),
            Marker::Array32 => Token::Array(self.length::<4>()?),
            Marker::Map16 => Token::Map(self.length::<2>()?),
            Marker::Map32 => Token::Map(self.length::<4>()?),
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 => {
                let length = self.length::<1>()?;
                self.extension(length)?
            }
            Marker::Ext16 => {
                let length = self.length::<2>()?;
                self.extension(length)?
            }
            Marker::Ext32 => {
                let length = self.length::<4>()?;
                self.extension(length)?
            }
            Marker::Reserved => {
                return Err(ProtocolError::malformed("byte 0xc1 is not MessagePack"));
            }
        })
    }

    /// True if the next value is nil; if so it is read.
    #[inline]
    pub(crate) fn nil(&mut self) -> bool {
        let found = self.rest.first() == Some(&0xc0);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// Reads a whole value without looking at it.
    pub(crate) fn skip(&mut self) -> Result<()> {
        let mut left: usize = 1;
        while left > 0 {
            left -= 1;
            match self.token()? {
                Token::Array(count) => left += count,
                Token::Map(count) => left += 2 * count,
                _ => {}
            }
        }
        Ok(())
    }

    /// The key of a map's entry.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<&'a [u8]> {
        match self.token()? {
            Token::Text(key) => Ok(key),
            other => Err(ProtocolError::invalid(format!(
                "a key must be text, not {}",
                other.name()
            ))),
        }
    }

    /// The head of a map.
    pub(crate) fn map(&mut self) -> Result<usize> {
        match self.token()? {
            Token::Map(count) => Ok(count),
            other => Err(expected("a map", &other)),
        }
    }

    /// The head of an array.
    pub(crate) fn array(&mut self) -> Result<usize> {
        match self.token()? {
            Token::Array(count) => Ok(count),
            other => Err(expected("an array", &other)),
        }
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        match self.token()? {
            Token::Text(bytes) => utf8(bytes),
            other => Err(expected("text", &other)),
        }
    }

    /// Room to reserve for `count` values: no more than there are bytes.
    pub(crate) fn room(&self, count: usize) -> usize {
        count.min(self.rest.len())
    }
}

#[cold]
pub(crate) fn expected(what: &str, found: &Token<'_>) -> ProtocolError {
    ProtocolError::invalid(format!("expected {what}, got {}", found.name()))
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| ProtocolError::malformed("a text is not UTF-8"))
}

// Writing to memory does not fail, whatever the types of `rmp` say.
const WRITES: &str = "memory takes every write";

pub(crate) fn write_nil(out: &mut Vec<u8>) {
    encode::write_nil(out).expect(WRITES);
}

pub(crate) fn write_bool(out: &mut Vec<u8>, value: bool) {
    encode::write_bool(out, value).expect(WRITES);
}

pub(crate) fn write_int(out: &mut Vec<u8>, value: i64) {
    encode::write_sint(out, value).expect(WRITES);
}

pub(crate) fn write_uint(out: &mut Vec<u8>, value: u64) {
    encode::write_uint(out, value).expect(WRITES);
}

pub(crate) fn write_float(out: &mut Vec<u8>, value: f64) {
    encode::write_f64(out, value).expect(WRITES);
}

pub(crate) fn write_text(out: &mut Vec<u8>, value: &str) {
    encode::write_str(out, value).expect(WRITES);
}

pub(crate) fn write_binary(out: &mut Vec<u8>, value: &[u8]) {
    encode::write_bin(out, value).expect(WRITES);
}

pub(crate) fn write_array(out: &mut Vec<u8>, count: usize) {
    encode::write_array_len(out, count as u32).expect(WRITES);
}

pub(crate) fn write_map(out: &mut Vec<u8>, count: usize) {
    encode::write_map_len(out, count as u32).expect(WRITES);
}

pub(crate) fn write_extension(out: &mut Vec<u8>, code: i8, data: &[u8]) {
    // Not `write_ext_meta`: it refuses the codes below 0, which MessagePack keeps for itself and
    // which may pass through here all the same.
    match data.len() {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        length if length < 1 << 8 => out.extend([0xc7, length as u8]),
        length if length < 1 << 16 => {
            out.push(0xc8);
            out.extend((length as u16).to_be_bytes());
        }
        length => {
            out.push(0xc9);
            out.extend((length as u32).to_be_bytes());
        }
    }
    out.push(code as u8);
    out.extend_from_slice(data);
}
