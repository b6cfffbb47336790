//! The program around an experiment, without the socket: requests, their answers, and the events
//! of runs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::error::{Error, ProtocolError};
use crate::messages::{Cancel, Done, DoneReason, Episode, Progress, ToExperiment, WatchedTurn};
use crate::session::{Event, Host, Outbox};
use crate::value::Value;

/// A message of an experiment that is answered.
pub trait Request: Send {
    /// Gives it its number.
    #[doc(hidden)]
    fn number(&mut self, id: i64);
    /// Has it sent.
    #[doc(hidden)]
    fn frame(&self, out: &Outbox) -> Result<Vec<u8>, ProtocolError>;
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The body of a `reply`.
    Reply(Value),
    /// The state of a `saved`.
    Saved(Vec<u8>),
}

impl Answer {
    /// The body; nil for a state.
    pub fn body(self) -> Value {
        match self {
            Answer::Reply(body) => body,
            Answer::Saved(_) => Value::Nil,
        }
    }
}

/// An event of an experiment's own runs, or of those that it watches.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// The result of an episode.
    Episode(Episode),
    /// The progress of a run.
    Progress(Progress),
    /// A turn that is watched.
    Turn(WatchedTurn),
    /// A run is over.
    Done(Done),
}

/// The state of a run that the program has not yet collected.
#[derive(Debug, Default)]
struct Kept {
    episodes: VecDeque<Episode>,
    progress: Option<Progress>,
    done: Option<Done>,
    /// How the experiment itself asked for the end.
    asked: DoneReason,
}

/// The state of an experiment: what it asked for and what came.
#[derive(Debug, Default)]
pub struct Control {
    last_id: i64,
    open: BTreeMap<i64, Vec<u8>>,
    answers: HashMap<i64, Result<Answer, Error>>,
    happenings: VecDeque<Happening>,
    runs: HashMap<i64, Kept>,
    turns: VecDeque<WatchedTurn>,
    /// By run: what it waits for, as it was last heard.
    waiting: HashMap<i64, String>,
    notices: VecDeque<String>,
    welcomed: bool,
    lost: Option<String>,
}

impl Control {
    /// The next line for the program's user: what a run waits for, once it changes.
    pub fn notice(&mut self) -> Option<String> {
        self.notices.pop_front()
    }

    fn waits(&mut self, progress: &Progress) {
        let Progress { run, waiting, .. } = progress;
        let before = self.waiting.insert(*run, waiting.clone());
        if !waiting.is_empty() && before.as_ref() != Some(waiting) {
            let line = format!("run {run} waits: {waiting}");
            self.notices.push_back(crate::error::shorten(&line));
        }
    }

    /// Numbers a request and has it sent; returns the number.
    ///
    /// # Errors
    /// The session is lost, or the request is larger than the broker reads.
    pub fn request(&mut self, request: &mut dyn Request, out: &mut Outbox) -> Result<i64, Error> {
        self.alive()?;
        self.last_id += 1;
        request.number(self.last_id);
        let frame = request.frame(out)?;
        self.open.insert(self.last_id, frame.clone());
        out.push(frame);
        Ok(self.last_id)
    }

    /// The answer to a request, once it has come.
    pub fn answer(&mut self, id: i64) -> Option<Result<Answer, Error>> {
        self.answers.remove(&id).or_else(|| {
            let error = self.alive().err()?;
            self.open.remove(&id);
            Some(Err(error))
        })
    }

    /// The next event of whatever kind, in the order of arrival.
    pub fn happening(&mut self) -> Option<Happening> {
        self.happenings.pop_front()
    }

    /// Fails once the session is lost.
    ///
    /// # Errors
    /// It is lost.
    pub fn alive(&self) -> Result<(), Error> {
        match &self.lost {
            None => Ok(()),
            Some(text) => Err(Error::Lost(text.clone())),
        }
    }

    /// Says that nothing more will come.
    pub fn lose(&mut self, text: &str) {
        if self.lost.is_none() {
            self.lost = Some(text.to_owned());
        }
    }

    /// Files what came with the run that it belongs to.
    fn sort(&mut self) {
        while let Some(happening) = self.happenings.pop_front() {
            match happening {
                Happening::Episode(episode) => {
                    let run = self.runs.entry(episode.run).or_default();
                    run.episodes.push_back(episode);
                }
                Happening::Progress(progress) => {
                    let run = self.runs.entry(progress.run).or_default();
                    run.progress = Some(progress);
                }
                Happening::Done(done) => {
                    let run = self.runs.entry(done.run).or_default();
                    run.done = Some(done);
                }
                Happening::Turn(turn) => self.turns.push_back(turn),
            }
        }
    }

    /// The next result of a run: `Some(None)` after the last, `None` if none has come yet.
    ///
    /// # Errors
    /// The run did not end as it should, or the session is lost.
    pub fn episode(&mut self, run: i64) -> Result<Option<Option<Episode>>, Error> {
        self.sort();
        if let Some(kept) = self.runs.get_mut(&run) {
            if let Some(episode) = kept.episodes.pop_front() {
                return Ok(Some(Some(episode)));
            }
            if let Some(done) = &kept.done {
                let Done {
                    finished,
                    reason,
                    message,
                    ..
                } = done;
                if [DoneReason::Finished, kept.asked].contains(reason) {
                    return Ok(Some(None));
                }
                let why = if message.is_empty() { "" } else { ": " };
                return Err(Error::Run(format!(
                    "the run was {reason} after {finished} episodes{why}{message}"
                )));
            }
        }
        self.alive()?;
        Ok(None)
    }

    /// The next turn that is watched.
    pub fn turn(&mut self) -> Option<WatchedTurn> {
        self.sort();
        self.turns.pop_front()
    }

    /// The last reported progress of a run.
    pub fn progress(&mut self, run: i64) -> Option<Progress> {
        self.sort();
        self.runs.get(&run)?.progress.clone()
    }

    /// The end of a run, once it is over.
    pub fn done(&mut self, run: i64) -> Option<Done> {
        self.sort();
        self.runs.get(&run)?.done.clone()
    }

    /// Gives up the requests whose futures were dropped.
    #[cfg(feature = "link")]
    pub(crate) fn give_up(&mut self, out: &mut Outbox) {
        self.answers.clear();
        for request in std::mem::take(&mut self.open).into_keys() {
            self.last_id += 1;
            out.send(&Cancel {
                id: self.last_id,
                request: Some(request),
                ..Cancel::default()
            });
        }
    }

    /// Notes that the experiment itself asks for a run to end this way.
    #[cfg(feature = "link")]
    pub(crate) fn asked_for(&mut self, run: i64, end: DoneReason) {
        self.runs.entry(run).or_default().asked = end;
    }

    /// Files the answer to a request that is open.
    fn answered(&mut self, id: Option<i64>, answer: Result<Answer, Error>) {
        if let Some(id) = id.filter(|id| self.open.remove(id).is_some()) {
            self.answers.insert(id, answer);
        }
    }

    fn take(&mut self, message: ToExperiment) {
        let happening = match message {
            ToExperiment::Reply(reply) => {
                let answer = reply.body.open().map(Answer::Reply).map_err(Error::from);
                return self.answered(Some(reply.id), answer);
            }
            ToExperiment::Saved(saved) => {
                return self.answered(Some(saved.id), Ok(Answer::Saved(saved.state)));
            }
            ToExperiment::Episode(episode) => Happening::Episode(episode),
            ToExperiment::Done(done) => {
                self.waiting.remove(&done.run);
                Happening::Done(done)
            }
            ToExperiment::Progress(progress) => {
                self.waits(&progress);
                Happening::Progress(progress)
            }
            ToExperiment::Turn(turn) => Happening::Turn(turn),
            #[allow(unreachable_patterns)] // until the contract has a message that it does not know
            _ => return,
        };
        self.happenings.push_back(happening);
    }
}

impl Host for Control {
    type Incoming = ToExperiment;

    fn handle(&mut self, event: Event<ToExperiment>, out: &mut Outbox) {
        match event {
            Event::Message(message, _) => self.take(message),
            Event::Repeated(_) => {}
            Event::Error(error) => {
                let refused = Error::Refused {
                    code: error.code,
                    message: error.message,
                };
                self.answered(error.id, Err(refused));
            }
            Event::Welcome(welcome) => {
                if !self.welcomed {
                    self.welcomed = true;
                } else if welcome.resumed {
                    // Those that arrived the first time get the same answer again.
                    self.open.values().for_each(|frame| out.push(frame.clone()));
                } else {
                    self.lose("the broker restarted and does not know this experiment any more");
                }
            }
        }
    }
}
