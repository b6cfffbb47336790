//! Columns of stacked messages, and values put together from rows and taken apart.

use crate::error::ProtocolError;
use crate::tensor::{Dtype, Element, Tensor};
use crate::value::{Payload, Value};

/// The most slots of a group (S16.3).
pub(crate) const SLOTS: u64 = 65_536;

fn invalid(name: &str, text: String) -> ProtocolError {
    ProtocolError::invalid(text).at(name)
}

fn checked<T: Element>(
    name: &str,
    value: Value,
    dimensions: usize,
    rows: Option<usize>,
) -> Result<(Vec<T>, usize), ProtocolError> {
    let wanted = || {
        let rows = rows.map_or("n".to_owned(), |rows| rows.to_string());
        let tail = if dimensions == 1 { "" } else { ", n" };
        format!("not a tensor {} [{rows}{tail}]", T::DTYPE.name())
    };
    let Value::Tensor(tensor) = value else {
        return Err(invalid(name, wanted()));
    };
    let shape = tensor.shape();
    match tensor.to_vec() {
        Some(elements) if shape.len() == dimensions && rows.is_none_or(|rows| shape[0] == rows) => {
            Ok((elements, shape.get(1).copied().unwrap_or_default()))
        }
        _ => {
            let found = format!("a tensor {} {shape:?}", tensor.dtype().name());
            Err(invalid(name, format!("{found}, {}", wanted())))
        }
    }
}

/// A column of numbers; nil is an empty one where that is its length.
///
/// # Errors
/// `invalid`: it is something else.
pub(crate) fn read<T: Element>(
    name: &str,
    column: Payload,
    rows: Option<usize>,
) -> Result<Vec<T>, ProtocolError> {
    match column.open()? {
        Value::Nil if rows.unwrap_or_default() == 0 => Ok(Vec::new()),
        value => Ok(checked(name, value, 1, rows)?.0),
    }
}

/// A column of numbers that may be nil, whatever its length.
///
/// # Errors
/// `invalid`: it is something else.
pub(crate) fn read_any<T: Element>(
    name: &str,
    column: Payload,
    rows: usize,
) -> Result<Option<Vec<T>>, ProtocolError> {
    match column.open()? {
        Value::Nil => Ok(None),
        value => Ok(Some(checked(name, value, 1, Some(rows))?.0)),
    }
}

/// A column with several numbers in each row, and how many; nothing if it is nil.
///
/// # Errors
/// `invalid`: it is something else.
pub(crate) fn read_wide<T: Element>(
    name: &str,
    column: Payload,
    rows: usize,
) -> Result<(Vec<T>, usize), ProtocolError> {
    match column.open()? {
        Value::Nil => Ok((Vec::new(), 0)),
        value => checked(name, value, 2, Some(rows)),
    }
}

/// A column of any values: nil, or a tensor or an array of so many rows.
///
/// # Errors
/// `invalid`: it is something else.
pub(crate) fn values(name: &str, column: Payload, rows: usize) -> Result<Value, ProtocolError> {
    let value = column.open()?;
    match length(&value) {
        None if matches!(value, Value::Nil) => Ok(value),
        Some(found) if found == rows => Ok(value),
        Some(found) => {
            let text = format!("has {found} rows; it must have {rows}");
            Err(invalid(name, text))
        }
        None => Err(invalid(name, "not a column".to_owned())),
    }
}

/// A column as a tensor.
pub(crate) fn of<T: Element>(column: &[T]) -> Result<Value, ProtocolError> {
    Ok(Tensor::new(&[column.len()], column)?.into())
}

/// The number of rows; nothing if a value is not a column.
fn length(column: &Value) -> Option<usize> {
    match column {
        Value::Array(rows) => Some(rows.len()),
        Value::Tensor(tensor) => tensor.shape().first().copied(),
        _ => None,
    }
}

/// Some rows of a tensor; `shape` is that of the part.
fn slice(
    tensor: &Tensor,
    first: usize,
    rows: usize,
    shape: &[usize],
) -> Result<Tensor, ProtocolError> {
    let each = tensor.bytes().len() / tensor.shape()[0].max(1);
    let bytes = tensor.bytes()[first * each..][..rows * each].to_vec();
    Tensor::from_bytes(tensor.dtype(), shape, bytes)
}

/// The number of a tensor without dimensions.
fn number(tensor: &Tensor) -> Value {
    fn exact<T: Element + Into<Value>>(tensor: &Tensor) -> Value {
        let elements: Option<Vec<T>> = tensor.to_vec();
        let first = elements.and_then(|elements| elements.into_iter().next());
        first.into()
    }
    match tensor.dtype() {
        Dtype::Bool => exact::<bool>(tensor),
        Dtype::Int8 => exact::<i8>(tensor),
        Dtype::Int16 => exact::<i16>(tensor),
        Dtype::Int32 => exact::<i32>(tensor),
        Dtype::Int64 => exact::<i64>(tensor),
        Dtype::Uint8 => exact::<u8>(tensor),
        Dtype::Uint16 => exact::<u16>(tensor),
        Dtype::Uint32 => exact::<u32>(tensor),
        Dtype::Uint64 => exact::<u64>(tensor),
        Dtype::Float16 | Dtype::Float32 | Dtype::Float64 => tensor.to_f64()[0].into(),
    }
}

/// One row of a column of any values: a number of a tensor of one dimension, a smaller tensor of
/// any other.
///
/// # Errors
/// The column has no such row.
pub(crate) fn row(column: &Value, index: usize) -> Result<Value, ProtocolError> {
    if matches!(column, Value::Nil) {
        return Ok(Value::Nil);
    }
    Ok(match part(column, index, 1)? {
        Value::Array(mut rows) => rows.remove(0),
        Value::Tensor(tensor) => {
            let part = slice(&tensor, 0, 1, &tensor.shape()[1..])?;
            if part.shape().is_empty() {
                number(&part)
            } else {
                part.into()
            }
        }
        other => other,
    })
}

/// Some rows of a column of any values.
///
/// # Errors
/// The column has fewer.
pub(crate) fn part(column: &Value, first: usize, rows: usize) -> Result<Value, ProtocolError> {
    if length(column).is_none_or(|length| first + rows > length) {
        return Err(ProtocolError::invalid(
            "a column has fewer rows than it must",
        ));
    }
    Ok(match column {
        Value::Array(all) => Value::Array(all[first..first + rows].to_vec()),
        Value::Tensor(tensor) => {
            let mut shape = tensor.shape().to_vec();
            shape[0] = rows;
            slice(tensor, first, rows, &shape)?.into()
        }
        other => other.clone(),
    })
}

/// The tensors that these values are, if all are of one dtype and of one shape from dimension
/// `from` on.
fn alike(values: &[Value], from: usize) -> Option<Vec<&Tensor>> {
    let tensors: Vec<&Tensor> = values.iter().map(Value::as_tensor).collect::<Option<_>>()?;
    let kind = |tensor: &Tensor| {
        (
            tensor.dtype(),
            tensor.shape().get(from..).map(<[usize]>::to_vec),
        )
    };
    let first = kind(tensors.first()?);
    tensors
        .iter()
        .all(|each| kind(each) == first)
        .then_some(tensors)
}

fn bytes(tensors: &[&Tensor]) -> Vec<u8> {
    tensors
        .iter()
        .flat_map(|each| each.bytes())
        .copied()
        .collect()
}

/// Columns one after the other: a tensor if they are tensors of one dtype and equal rows, nil if
/// there are none, else an array.
///
/// # Errors
/// One of them is not a column.
pub(crate) fn joined(parts: &[Value]) -> Result<Value, ProtocolError> {
    let mut rows = 0;
    for each in parts {
        let text = "expected a tensor or an array of rows";
        rows += length(each).ok_or_else(|| ProtocolError::invalid(text))?;
    }
    if parts.is_empty() {
        return Ok(Value::Nil);
    }
    if let Some(tensors) = alike(parts, 1) {
        let mut shape = tensors[0].shape().to_vec();
        shape[0] = rows;
        return Ok(Tensor::from_bytes(tensors[0].dtype(), &shape, bytes(&tensors))?.into());
    }
    let mut all = Vec::with_capacity(rows);
    for each in parts {
        for index in 0..length(each).unwrap_or_default() {
            all.push(row(each, index)?);
        }
    }
    Ok(Value::Array(all))
}

/// Rows as one column: a tensor if they are tensors of one dtype and shape, nil if all are nil,
/// else an array.
pub(crate) fn stacked(rows: Vec<Value>) -> Result<Value, ProtocolError> {
    if rows.iter().all(|row| matches!(row, Value::Nil)) {
        return Ok(Value::Nil);
    }
    let Some(tensors) = alike(&rows, 0) else {
        return Ok(Value::Array(rows));
    };
    let shape = [&[rows.len()], tensors[0].shape()].concat();
    Ok(Tensor::from_bytes(tensors[0].dtype(), &shape, bytes(&tensors))?.into())
}

/// A column [a * b, ...] as one of the shape [a, b, ...].
pub(crate) fn split(column: Value, b: usize) -> Result<Value, ProtocolError> {
    Ok(match column {
        Value::Array(rows) => {
            let parts = rows.chunks(b).map(|part| Value::Array(part.to_vec()));
            Value::Array(parts.collect())
        }
        Value::Tensor(tensor) => {
            let (rows, rest) = (tensor.shape()[0], &tensor.shape()[1..]);
            let shape = [&[rows / b, b], rest].concat();
            Tensor::from_bytes(tensor.dtype(), &shape, tensor.bytes().to_vec())?.into()
        }
        other => other,
    })
}
