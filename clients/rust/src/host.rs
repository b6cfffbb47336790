//! What the programs around agents and around environments have in common.

use crate::error::{Failure, Told};
use crate::field::Field;
use crate::messages::{Code, Error, Reply};
use crate::recent::{Recent, ANSWERS_KEPT};
use crate::session::Outbox;
use crate::value::Value;

/// Who hears of failures, and the requests that were answered.
pub(crate) struct Desk {
    pub(crate) told: Told,
    answers: Recent<i64, Vec<u8>>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            told: Told::nobody(),
            answers: Recent::new(ANSWERS_KEPT),
        }
    }

    /// Forgets a session.
    pub(crate) fn clear(&mut self) {
        self.answers.clear();
    }
}

/// A program that is asked for things.
pub(crate) trait Asked {
    fn desk(&mut self) -> &mut Desk;

    /// Answers a request once, and a repeated one with the same answer.
    fn request<M: Field>(
        &mut self,
        id: i64,
        place: String,
        out: &mut Outbox,
        answer: impl FnOnce(&mut Self) -> Result<M, Failure>,
    ) {
        if let Some(known) = self.desk().answers.get(&id) {
            out.push(known.clone());
            return;
        }
        let frame = answer(self).and_then(|answer| Ok(out.frame(&answer)?));
        let desk = self.desk();
        let frame = frame.unwrap_or_else(|failure| {
            let text = desk.told.refusal(&place, &failure);
            Error {
                id: Some(id),
                ..Error::new(Code::Crashed, text)
            }
            .encode()
        });
        desk.answers.insert(id, frame.clone());
        out.push(frame);
    }
}

/// The answer to a request.
pub(crate) fn reply(id: i64, body: Value) -> Reply {
    Reply {
        id,
        body: body.into(),
        ..Reply::default()
    }
}
