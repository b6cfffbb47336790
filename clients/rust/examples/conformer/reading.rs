//! The JSON reading of SPEC.md: values as JSON and back.

use dovetail::{Dtype, Map, Tensor, Value};
use serde_json::{json, Map as Object, Number, Value as Json};

/// The JSON reading of a value.
pub fn reading(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Large(value) => json!(value),
        Value::Float(value) => float(*value),
        Value::Text(value) => json!(value),
        Value::Binary(bytes) => json!({ "$bytes": hex(bytes) }),
        Value::Array(values) => Json::Array(values.iter().map(reading).collect()),
        Value::Map(map) => Json::Object(map.iter().map(|(k, v)| (k.clone(), reading(v))).collect()),
        Value::Tensor(tensor) => json!({ "$tensor": {
            "dtype": tensor.dtype().name(), "shape": tensor.shape(), "data": elements(tensor),
        }}),
        Value::Extension(code, data) => {
            json!({ "$extension": { "code": code, "data": hex(data) } })
        }
    }
}

/// Converts a JSON reading to the value that it stands for.
pub fn unread(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => {
            if let Some(value) = number.as_i64() {
                value.into()
            } else if let Some(value) = number.as_u64() {
                value.into()
            } else {
                number.as_f64().ok_or("a number that is none")?.into()
            }
        }
        Json::String(text) => text.as_str().into(),
        Json::Array(values) => Value::Array(values.iter().map(unread).collect::<Result<_, _>>()?),
        Json::Object(object) => match single(object) {
            Some(("$bytes", Json::String(data))) => Value::Binary(unhex(data)?),
            Some(("$float", Json::String(text))) => text
                .parse::<f64>()
                .map_err(|error| error.to_string())?
                .into(),
            Some(("$tensor", Json::Object(about))) => tensor(about)?.into(),
            Some(("$extension", Json::Object(about))) => Value::Extension(
                about["code"]
                    .as_i64()
                    .ok_or("an extension without a code")? as i8,
                unhex(about["data"].as_str().unwrap_or_default())?,
            ),
            _ => {
                let entry = |(key, each): (&String, &Json)| Ok((key.clone(), unread(each)?));
                Value::Map(object.iter().map(entry).collect::<Result<Map, String>>()?)
            }
        },
    })
}

fn single(object: &Object<String, Json>) -> Option<(&str, &Json)> {
    let mut entries = object.iter();
    match (entries.next(), entries.next()) {
        (Some((key, value)), None) => Some((key, value)),
        _ => None,
    }
}

fn float(value: f64) -> Json {
    match Number::from_f64(value) {
        Some(number) => Json::Number(number),
        None if value.is_nan() => json!({ "$float": "nan" }),
        None if value > 0.0 => json!({ "$float": "inf" }),
        None => json!({ "$float": "-inf" }),
    }
}

fn elements(tensor: &Tensor) -> Json {
    fn all<T: Into<Json>>(values: Option<Vec<T>>) -> Json {
        Json::Array(
            values
                .unwrap_or_default()
                .into_iter()
                .map(Into::into)
                .collect(),
        )
    }
    match tensor.dtype() {
        Dtype::Bool => all(tensor.to_vec::<bool>()),
        Dtype::Int8 => all(tensor.to_vec::<i8>()),
        Dtype::Int16 => all(tensor.to_vec::<i16>()),
        Dtype::Int32 => all(tensor.to_vec::<i32>()),
        Dtype::Int64 => all(tensor.to_vec::<i64>()),
        Dtype::Uint8 => all(tensor.to_vec::<u8>()),
        Dtype::Uint16 => all(tensor.to_vec::<u16>()),
        Dtype::Uint32 => all(tensor.to_vec::<u32>()),
        Dtype::Uint64 => all(tensor.to_vec::<u64>()),
        _ => Json::Array(tensor.to_f64().into_iter().map(float).collect()),
    }
}

fn tensor(about: &Object<String, Json>) -> Result<Tensor, String> {
    let name = about["dtype"].as_str().unwrap_or_default();
    let dtype = Dtype::from_name(name).ok_or("a tensor of no dtype")?;
    let shape = about["shape"]
        .as_array()
        .ok_or("a tensor without a shape")?;
    let shape: Vec<usize> = shape
        .iter()
        .map(|n| n.as_u64().unwrap_or(0) as usize)
        .collect();
    let data = about["data"].as_array().ok_or("a tensor without data")?;
    let mut bytes = Vec::new();
    for element in data {
        let value = unread(element)?;
        let float = value.as_f64().unwrap_or(0.0);
        match dtype {
            Dtype::Bool => bytes.push(u8::from(value.as_bool() == Some(true))),
            Dtype::Float16 => bytes.extend(half(float).to_le_bytes()),
            Dtype::Float32 => bytes.extend((float as f32).to_le_bytes()),
            Dtype::Float64 => bytes.extend(float.to_le_bytes()),
            // The low bytes of two's complement are the same for all widths, with a sign or not.
            _ => {
                let whole = value
                    .as_i64()
                    .or(value.as_u64().map(|n| n as i64))
                    .unwrap_or(0);
                bytes.extend(&whole.to_le_bytes()[..dtype.size()]);
            }
        }
    }
    Tensor::from_bytes(dtype, &shape, bytes).map_err(|error| error.to_string())
}

/// The nearest half-precision float of those that are exact.
fn half(value: f64) -> u16 {
    (0..=u16::MAX)
        .find(|bits| {
            let bytes = bits.to_le_bytes().to_vec();
            let one = Tensor::from_bytes(Dtype::Float16, &[], bytes).map(|t| t.to_f64()[0]);
            one.is_ok_and(|one| {
                one.to_bits() == value.to_bits() || (one.is_nan() && value.is_nan())
            })
        })
        .unwrap_or(0)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.as_bytes();
    if digits.len() % 2 == 1 {
        return Err("hex with an odd number of digits".to_owned());
    }
    digits
        .chunks(2)
        .map(|pair| {
            let pair = std::str::from_utf8(pair).map_err(|error| error.to_string())?;
            u8::from_str_radix(pair, 16).map_err(|error| error.to_string())
        })
        .collect()
}
