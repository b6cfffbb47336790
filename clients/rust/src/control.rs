//! The program around an experiment, without the socket: requests, their answers, and the events
//! of runs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::error::{Error, ProtocolError};
use crate::messages::{
    Cancel, Catalogue, Cleanup, Create, Done, DoneReason, Drain, Episode, ExperimentMessage,
    ExperimentStart, ExperimentStep, Limits, Load, Pause, Progress, Run, Save, ToExperiment, Watch,
    WatchedTurn,
};
use crate::recent::Recent;
use crate::session::{Event, Host};
use crate::value::Value;

/// Results that are remembered, so that one that comes twice is told once.
const SEEN_KEPT: usize = 65_536;

/// A message of an experiment that is answered.
pub trait Request: Sized {
    /// Reads a request whose `id` need not be there, as from a file.
    ///
    /// # Errors
    /// A field is missing or of the wrong type.
    fn from_map(fields: &crate::Map) -> Result<Self, ProtocolError>;
    /// Gives it its number.
    #[doc(hidden)]
    fn number(&mut self, id: i64);
    /// Its bytes.
    #[doc(hidden)]
    fn frame(&self) -> Vec<u8>;
}

macro_rules! requests {
    ($($type:ident),*) => { $(
        impl Request for $type {
            fn from_map(fields: &crate::Map) -> Result<Self, ProtocolError> {
                let mut fields = fields.clone();
                fields.insert("id".to_owned(), Value::Int(0));
                $type::decode(&Value::Map(fields).encode())
            }
            fn number(&mut self, id: i64) {
                self.id = id;
            }
            fn frame(&self) -> Vec<u8> {
                self.encode()
            }
        }
    )* };
}

requests!(
    Cancel,
    Catalogue,
    Cleanup,
    Create,
    Drain,
    ExperimentMessage,
    ExperimentStart,
    ExperimentStep,
    Load,
    Pause,
    Run,
    Save,
    Watch
);

/// What a request was answered with.
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

/// What an experiment hears of its runs, and of those that it watches.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// The result of an episode.
    Episode(Episode),
    /// How far a run is.
    Progress(Progress),
    /// A turn that is watched.
    Turn(WatchedTurn),
    /// A run is over.
    Done(Done),
}

/// What is kept of a run for whoever asks for it.
#[derive(Debug, Default)]
struct Kept {
    episodes: VecDeque<Episode>,
    progress: Option<Progress>,
    done: Option<Done>,
    /// How the experiment itself asked for the end.
    asked: DoneReason,
}

/// The state of an experiment: what it asked for and what came.
#[derive(Debug)]
pub struct Control {
    last_id: i64,
    open: BTreeMap<i64, Vec<u8>>,
    answers: HashMap<i64, Result<Answer, Error>>,
    happenings: VecDeque<Happening>,
    runs: HashMap<i64, Kept>,
    turns: VecDeque<WatchedTurn>,
    seen: Recent<i64>,
    over: Recent<i64>,
    limits: Limits,
    welcomed: bool,
    lost: Option<String>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            last_id: 0,
            open: BTreeMap::new(),
            answers: HashMap::new(),
            happenings: VecDeque::new(),
            runs: HashMap::new(),
            turns: VecDeque::new(),
            seen: Recent::new(SEEN_KEPT),
            over: Recent::new(SEEN_KEPT),
            limits: Limits::default(),
            welcomed: false,
            lost: None,
        }
    }
}

impl Control {
    /// Numbers a request; returns the number and the frame to be sent.
    ///
    /// # Errors
    /// The session is lost, or the request is larger than the broker reads.
    pub fn request(&mut self, mut request: impl Request) -> Result<(i64, Vec<u8>), Error> {
        self.alive()?;
        self.last_id += 1;
        request.number(self.last_id);
        let frame = self.limits.fit(request.frame())?;
        self.open.insert(self.last_id, frame.clone());
        Ok((self.last_id, frame))
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

    /// How far a run is, as far as has been heard.
    pub fn progress(&mut self, run: i64) -> Option<Progress> {
        self.sort();
        self.runs.get(&run)?.progress.clone()
    }

    /// How a run ended, once it has.
    pub fn done(&mut self, run: i64) -> Option<Done> {
        self.sort();
        self.runs.get(&run)?.done.clone()
    }

    /// Drops answers to requests whose futures were dropped: they are for nobody.
    #[cfg(feature = "link")]
    pub(crate) fn forget_answers(&mut self) {
        self.answers.clear();
    }

    /// Notes that the experiment itself asks for a run to end this way.
    #[cfg(feature = "link")]
    pub(crate) fn asked_for(&mut self, run: i64, end: DoneReason) {
        self.runs.entry(run).or_default().asked = end;
    }

    fn take(&mut self, message: ToExperiment) {
        match message {
            ToExperiment::Reply(reply) => {
                if self.open.remove(&reply.id).is_some() {
                    let answer = reply.body.open().map(Answer::Reply).map_err(Error::from);
                    self.answers.insert(reply.id, answer);
                }
            }
            ToExperiment::Saved(saved) => {
                if self.open.remove(&saved.id).is_some() {
                    self.answers
                        .insert(saved.id, Ok(Answer::Saved(saved.state)));
                }
            }
            ToExperiment::Episode(episode) => {
                if self.seen.insert(episode.episode, ()) {
                    self.happenings.push_back(Happening::Episode(episode));
                }
            }
            ToExperiment::Progress(progress) => {
                self.happenings.push_back(Happening::Progress(progress));
            }
            ToExperiment::Done(done) => {
                if self.over.insert(done.run, ()) {
                    self.happenings.push_back(Happening::Done(done));
                }
            }
            ToExperiment::Turn(turn) => self.happenings.push_back(Happening::Turn(turn)),
        }
    }
}

impl Host for Control {
    type Incoming = ToExperiment;

    fn handle(&mut self, event: Event<ToExperiment>, out: &mut Vec<Vec<u8>>) {
        match event {
            Event::Message(message) => self.take(message),
            Event::Error(error) => {
                let Some(id) = error.id else { return };
                if self.open.remove(&id).is_some() {
                    let refused = Error::Refused {
                        code: error.code,
                        message: error.message,
                    };
                    self.answers.insert(id, Err(refused));
                }
            }
            Event::Welcome(welcome) => {
                self.limits = welcome.limits;
                if !self.welcomed {
                    self.welcomed = true;
                } else if welcome.resumed {
                    // Those that arrived the first time get the same answer again.
                    out.extend(self.open.values().cloned());
                } else {
                    self.lose("the broker does not know this experiment any more");
                }
            }
        }
    }
}
