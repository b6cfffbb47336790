//! The conformer's experiment: does what the lines of standard input say.

use std::io::{BufRead, Write};

use dovetail::blocking::Experiment;
use dovetail::{Answer, Broker, Error, Happening, Map, Request, Value};
use serde_json::Value as Json;

use crate::reading::{reading, unread};

fn write(key: &str, value: &Value) {
    let mut out = std::io::stdout().lock();
    let line = serde_json::json!({ key: reading(value) });
    // The program continues if its output is closed.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn told(happening: &Happening) -> (&'static str, Value) {
    let (kind, frame) = match happening {
        Happening::Episode(episode) => ("episode", episode.encode()),
        Happening::Progress(progress) => ("progress", progress.encode()),
        Happening::Turn(turn) => ("turn", turn.encode()),
        Happening::Done(done) => ("done", done.encode()),
    };
    let mut fields = match Value::decode(&frame) {
        Ok(Value::Map(fields)) => fields,
        _ => Map::new(),
    };
    fields.remove("type");
    (kind, fields.into())
}

fn request(experiment: &mut Experiment, kind: &str, fields: Map) -> Result<Answer, Error> {
    let mut request = <dyn Request>::read(kind, fields)?
        .ok_or_else(|| Error::Run(format!("there is no request {kind}")))?;
    experiment.ask(&mut *request)
}

fn wait(experiment: &mut Experiment, wanted: &str) -> Result<(), Error> {
    loop {
        let (kind, fields) = told(&experiment.happening()?);
        write(kind, &fields);
        if kind == wanted {
            return Ok(());
        }
    }
}

pub fn run(broker: &Broker) -> Result<(), Error> {
    let mut experiment = Experiment::connect(broker)?;
    write("welcome", &experiment.name().into());
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let command = serde_json::from_str::<Json>(&line)
            .map_err(|error| error.to_string())
            .and_then(|json| unread(&json));
        let mut fields = match command {
            Ok(Value::Map(fields)) => fields,
            Ok(_) => return Err(Error::Run("a command must be a map".to_owned())),
            Err(text) => return Err(Error::Run(format!("a command must be JSON: {text}"))),
        };
        let kind = fields.remove("type").unwrap_or_default();
        let kind = kind.as_str().unwrap_or_default();
        let done = if kind == "wait" {
            let wanted = fields
                .get("for")
                .and_then(Value::as_str)
                .unwrap_or_default();
            wait(&mut experiment, wanted)
        } else {
            request(&mut experiment, kind, fields).map(|answer| match answer {
                Answer::Reply(body) => write("reply", &body),
                Answer::Saved(state) => write("saved", &state.into()),
            })
        };
        match done {
            Ok(()) => {}
            Err(Error::Refused { code, message }) => {
                let about = dovetail::map! { "code" => code, "message" => message };
                write("error", &about.into());
            }
            Err(Error::Lost(text)) => {
                write("lost", &text.as_str().into());
                return Err(Error::Lost(text));
            }
            Err(error) => return Err(error),
        }
    }
    experiment.close();
    Ok(())
}
