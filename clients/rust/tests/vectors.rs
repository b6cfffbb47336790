//! The codec against the byte vectors of the protocol.

#[path = "../examples/conformer/reading.rs"]
mod reading;

use std::path::Path;

use dovetail::messages::*;
use dovetail::{ProtocolError, Value};
use reading::{reading, unhex, unread};
use serde_json::Value as Json;

fn vectors(name: &str) -> Option<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../protocol/vectors")
        .join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            eprintln!("skipped: {name} is not here; it is part of the Dovetail repository");
            None
        }
    }
}

fn text<'a>(vector: &'a Json, key: &str) -> &'a str {
    vector[key].as_str().unwrap()
}

/// Equal, also where NaN is.
fn same(a: &Value, b: &Value) -> bool {
    reading(a) == reading(b)
}

#[test]
fn values_are_read_and_written_without_loss() {
    let Some(all) = vectors("valid.json") else {
        return;
    };
    let messages = all["messages"].as_array().unwrap();
    let values = all["values"].as_array().unwrap();
    assert!(messages.len() > 150 && values.len() > 10);
    for vector in messages.iter().chain(values) {
        let name = text(vector, "name");
        let frame = unhex(text(vector, "hex")).unwrap();
        let value = Value::decode(&frame).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(same(&value, &unread(&vector["json"]).unwrap()), "{name}");
        assert_eq!(reading(&value), vector["json"], "{name}");
        let again = Value::decode(&value.encode()).unwrap();
        assert!(same(&value, &again), "{name}");
    }
}

/// Reads a frame as a message and writes it again.
type Through = fn(&[u8]) -> Result<Vec<u8>, ProtocolError>;

macro_rules! table {
    ($($direction:literal, $kind:literal => $type:ident),* $(,)?) => {
        /// Returns the reader of a type's messages in a direction.
        pub fn through(direction: &str, kind: &str) -> Option<super::Through> {
            match (direction, kind) {
                $( ($direction, $kind) => {
                    Some(|frame| $type::decode(frame).map(|message| message.encode()))
                } )*
                _ => None,
            }
        }
    };
}

#[path = "common/table.rs"]
mod table;

/// True if everything in a map that was written stands in the one that was read, and the same.
fn within(written: &Json, read: &Json) -> bool {
    match (written, read) {
        (Json::Object(written), Json::Object(read)) => written
            .iter()
            .all(|(key, value)| read.get(key).is_some_and(|other| within(value, other))),
        (Json::Array(written), Json::Array(read)) => {
            written.len() == read.len() && written.iter().zip(read).all(|(w, r)| within(w, r))
        }
        (Json::Number(written), Json::Number(read)) => {
            written == read || written.as_f64() == read.as_f64()
        }
        _ => written == read,
    }
}

#[test]
fn messages_are_read_and_written_without_loss() {
    let Some(all) = vectors("valid.json") else {
        return;
    };
    for vector in all["messages"].as_array().unwrap() {
        let name = text(vector, "name");
        let frame = unhex(text(vector, "hex")).unwrap();
        let (direction, kind) = (text(vector, "direction"), text(vector, "type"));
        let through = table::through(direction, kind).unwrap_or_else(|| panic!("{name}"));
        let written = through(&frame).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(through(&written).as_ref(), Ok(&written), "{name}");
        // Fields that have their defaults are not written; all others are, and no more.
        let written = reading(&Value::decode(&written).unwrap());
        assert!(within(&written, &vector["json"]), "{name}: {written}");
        if name.ends_with("full") {
            let (written, read) = (written.as_object().unwrap(), &vector["json"]);
            for key in read.as_object().unwrap().keys() {
                assert!(written.contains_key(key), "{name}: {key} is lost");
            }
        }
    }
}

/// Those of a receiver, or the default.
fn limits(vector: &Json) -> Limits {
    let of = |key| vector["limits"][key].as_u64();
    let usual = Limits::default();
    Limits {
        frame: of("frame").unwrap_or(usual.frame),
        depth: of("depth").unwrap_or(usual.depth),
        elements: of("elements").unwrap_or(usual.elements),
        ..usual
    }
}

fn code<I: Incoming>(frame: &[u8], limits: &Limits) -> Option<&'static str> {
    read::<I>(frame, limits)
        .1
        .err()
        .map(|error| error.code.as_str())
}

#[test]
fn malformed_frames_get_the_right_code() {
    let Some(all) = vectors("malformed.json") else {
        return;
    };
    let mut held = 0;
    for vector in all["malformed"].as_array().unwrap() {
        let frame = unhex(text(vector, "hex")).unwrap();
        let limits = limits(vector);
        let found = match text(vector, "receiver") {
            // Those of an environment hold for every peer: no role is in them.
            "environment" => {
                let found = code::<ToEnvironment>(&frame, &limits);
                assert_eq!(found, code::<ToAgent>(&frame, &limits), "{vector}");
                assert_eq!(found, code::<ToExperiment>(&frame, &limits), "{vector}");
                found
            }
            "agent" => code::<ToAgent>(&frame, &limits),
            "experiment" | "observer" => code::<ToExperiment>(&frame, &limits),
            // A value is malformed wherever it is.
            "broker" if text(vector, "code") == "malformed" => {
                Value::decode(&frame).err().map(|error| error.code.as_str())
            }
            _ => continue,
        };
        assert_eq!(found, Some(text(vector, "code")), "{vector}");
        held += 1;
    }
    assert!(held > 20);
}

#[test]
fn frames_of_random_bytes_are_refused_and_nothing_worse() {
    let mut random = dovetail::Random::new(1);
    let mut frame = Vec::new();
    for _ in 0..20_000 {
        frame.clear();
        frame.push(0x80 | random.below(16) as u8);
        for _ in 0..random.below(40) {
            frame.push(random.bits() as u8);
        }
        let _ = read::<ToAgent>(&frame, &Limits::default());
        let _ = Value::decode(&frame[1..]);
    }
}

#[test]
fn what_a_space_contains() {
    let Some(all) = vectors("members.json") else {
        return;
    };
    let members = all["members"].as_array().unwrap();
    assert!(members.len() > 200);
    let mut random = dovetail::Random::new(1);
    for vector in members {
        let value = |key| Value::decode(&unhex(text(vector, key)).unwrap()).unwrap();
        let space = dovetail::Space::from_value(&value("space_hex")).unwrap();
        let found = space.contains(&value("value_hex"));
        assert_eq!(vector["member"].as_bool(), Some(found), "{vector}");
        let drawn = space.sample(&mut random);
        assert!(!found || space.contains(&drawn), "{drawn:?} of {vector}");
    }
}
