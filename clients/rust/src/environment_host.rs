//! The program around environments: messages of the broker in, frames to the broker out.
//!
//! A step that comes twice is answered with the same turn, without stepping again.

use std::collections::HashMap;

use crate::environment::{Environment, EnvironmentType};
use crate::error::{code, guarded, line, refused_by, Failure, IllegalAction, Told};
use crate::field::reread;
use crate::messages::{
    EnvironmentLookahead, EnvironmentStart, EnvironmentStep, ErrorMessage, Limits, Offer, Open,
    Position, Reply, ToEnvironment, Turn, Want,
};
use crate::options::Options;
use crate::recent::{Recent, ANSWERS_KEPT};
use crate::session::{Event, Host};
use crate::value::{Payload, Value};

/// What was last asked of an episode, and the frame that answered it.
enum Last {
    Turn { turn: i64, over: bool },
    Error,
}

/// An environment made for a match, and its episode in progress.
struct Place {
    name: String,
    environment: Box<dyn Environment>,
    seats: usize,
    spec: Vec<u8>,
    episode: Option<i64>,
    wants: Vec<Vec<Want>>,
    watched: bool,
    to_act: Vec<usize>,
    /// The number of the turn that the last request asked for.
    asked: i64,
    last: Last,
    answer: Vec<u8>,
}

/// Holds the environments of one program.
pub struct EnvironmentHost {
    types: Vec<EnvironmentType>,
    open: HashMap<i64, Place>,
    /// The match of each episode in progress.
    episodes: HashMap<i64, i64>,
    answers: Recent<i64, Vec<u8>>,
    /// By match, the answers to each `open` that made nothing.
    refused: Recent<i64, Vec<u8>>,
    limits: Limits,
    told: Told,
}

impl EnvironmentHost {
    /// A program that can make these environments.
    pub fn new(types: impl IntoIterator<Item = EnvironmentType>) -> Self {
        Self {
            types: types.into_iter().collect(),
            open: HashMap::new(),
            episodes: HashMap::new(),
            answers: Recent::new(ANSWERS_KEPT),
            refused: Recent::new(ANSWERS_KEPT),
            limits: Limits::default(),
            told: Told::nobody(),
        }
    }

    /// Has every failure of an environment told in one line, as the broker hears it.
    pub fn on_failure(mut self, told: impl FnMut(&str) + Send + 'static) -> Self {
        self.told = Told::by(told);
        self
    }

    /// What this program can be asked for.
    pub fn offers(&self) -> Vec<Offer> {
        self.types.iter().map(|each| each.offer.clone()).collect()
    }

    fn step(&mut self, step: EnvironmentStep, out: &mut Vec<Vec<u8>>) {
        let place = self
            .episodes
            .get(&step.episode)
            .and_then(|number| self.open.get_mut(number));
        let Some(place) = place else { return };
        if step.turn == place.asked - 1 {
            out.push(place.answer.clone());
            return;
        }
        match place.last {
            Last::Turn { turn, over: false } if turn == step.turn => {}
            _ => return,
        }
        place.asked = step.turn + 1;
        let environment = &mut place.environment;
        let turn = guarded(|| environment.step(step.actions));
        place.finish(step.episode, turn, &self.limits, &mut self.told, out);
    }

    fn start(&mut self, start: EnvironmentStart, out: &mut Vec<Vec<u8>>) {
        let Some(place) = self.open.get_mut(&start.match_id) else {
            let text = format!("match {} is not open", start.match_id);
            let error = ErrorMessage {
                episode: Some(start.episode),
                ..ErrorMessage::new(code::UNKNOWN, text)
            };
            out.push(error.encode());
            return;
        };
        if place.episode == Some(start.episode) {
            if place.asked == 0 {
                out.push(place.answer.clone());
            }
            return;
        }
        if let Some(old) = place.episode {
            self.episodes.remove(&old);
        }
        self.episodes.insert(start.episode, start.match_id);
        place.episode = Some(start.episode);
        place.wants = start.wants;
        place.watched = start.watched;
        place.asked = 0;
        let environment = &mut place.environment;
        let turn = guarded(|| environment.start(start.seed));
        place.finish(start.episode, turn, &self.limits, &mut self.told, out);
    }

    fn make(&mut self, open: Open, out: &mut Vec<Vec<u8>>) {
        if let Some(place) = self.open.get(&open.match_id) {
            out.push(place.spec.clone());
            return;
        }
        if let Some(known) = self.refused.get(&open.match_id) {
            out.push(known.clone());
            return;
        }
        let name = open.environment;
        let kind = self.types.iter_mut().find(|kind| kind.offer.name == name);
        let made = match kind {
            None => Err(format!("this program makes no environment '{name}'").into()),
            Some(kind) => guarded(|| {
                let mut options = Options::new(open.configuration);
                let mut environment = (kind.make)(&mut options)?;
                options.finish()?;
                let mut spec = environment.init()?;
                spec.match_id = open.match_id;
                if spec.name.is_empty() {
                    spec.name.clone_from(&name);
                }
                Ok((environment, spec.seats, self.limits.fit(spec.encode())?))
            }),
        };
        match made {
            Ok((environment, seats, spec)) => {
                let place = Place {
                    name,
                    environment,
                    seats,
                    spec,
                    episode: None,
                    wants: Vec::new(),
                    watched: false,
                    to_act: Vec::new(),
                    asked: 0,
                    last: Last::Error,
                    answer: Vec::new(),
                };
                out.push(place.spec.clone());
                self.open.insert(open.match_id, place);
            }
            Err(failure) => {
                let failure = refused_by("environment", &name, failure);
                let text = self.told.refusal(&format!("{name} in init"), &failure);
                let error = ErrorMessage {
                    match_id: Some(open.match_id),
                    ..ErrorMessage::new(code::UNAVAILABLE, text)
                };
                let frame = error.encode();
                self.refused.insert(open.match_id, frame.clone());
                out.push(frame);
            }
        }
    }

    fn close(&mut self, match_id: i64) {
        self.refused.remove(&match_id);
        if let Some(mut place) = self.open.remove(&match_id) {
            if let Some(episode) = place.episode {
                self.episodes.remove(&episode);
            }
            self.told
                .cleanup(&place.name, || place.environment.cleanup());
        }
    }

    fn request(
        &mut self,
        id: i64,
        out: &mut Vec<Vec<u8>>,
        answer: impl FnOnce(&mut Self) -> Result<Value, Failure>,
    ) {
        if let Some(known) = self.answers.get(&id) {
            out.push(known.clone());
            return;
        }
        let frame = answer(self).and_then(|body| {
            let body = body.into();
            Ok(self.limits.fit(Reply { id, body }.encode())?)
        });
        let frame = frame.unwrap_or_else(|failure| {
            let text = self.told.refusal("environment", &failure);
            ErrorMessage {
                id: Some(id),
                ..ErrorMessage::new(code::CRASHED, text)
            }
            .encode()
        });
        self.answers.insert(id, frame.clone());
        out.push(frame);
    }

    fn talk(&mut self, match_id: i64, body: Payload) -> Result<Value, Failure> {
        let body = body.open()?;
        let place = self.open.get_mut(&match_id);
        let place = place.ok_or_else(|| format!("match {match_id} is not open"))?;
        guarded(|| place.environment.message(body))
    }

    fn lookahead(&mut self, asked: &EnvironmentLookahead) -> Result<Value, Failure> {
        let place = self
            .episodes
            .get(&asked.episode)
            .and_then(|number| self.open.get(number));
        let Some(place) = place else {
            return Err(format!("episode {} is not in progress", asked.episode).into());
        };
        match place.last {
            Last::Turn { turn, over: false } if turn == asked.turn => {}
            _ => return Err(format!("the episode is not at turn {}", asked.turn).into()),
        }
        let found = guarded(|| {
            asked
                .lines
                .iter()
                .map(|line| place.follow(asked, line))
                .collect::<Result<Vec<Position>, Failure>>()
        })?;
        Ok(reread(&found)?)
    }
}

impl Place {
    /// Fills in what the library knows of a turn, and answers.
    fn finish(
        &mut self,
        episode: i64,
        turn: Result<Turn, Failure>,
        limits: &Limits,
        told: &mut Told,
        out: &mut Vec<Vec<u8>>,
    ) {
        let turn = turn
            .and_then(|turn| guarded(|| self.complete(episode, turn)))
            .and_then(|turn| Ok((limits.fit(turn.encode())?, turn)));
        self.answer = match turn {
            Ok((frame, turn)) => {
                self.last = Last::Turn {
                    turn: turn.turn,
                    over: turn.to_act.is_empty(),
                };
                self.to_act = turn.to_act;
                frame
            }
            Err(failure) => {
                self.last = Last::Error;
                let mut error = match failure.downcast_ref::<IllegalAction>() {
                    Some(illegal) => {
                        let mut error = ErrorMessage::new(code::ILLEGAL, line(&failure));
                        error.seat = illegal.seat.map(|seat| seat as i64);
                        error
                    }
                    None => {
                        let place = match self.asked {
                            0 => format!("{} in start", self.name),
                            asked => format!("{} in turn {}", self.name, asked - 1),
                        };
                        ErrorMessage::new(code::CRASHED, told.crash(&place, &failure))
                    }
                };
                error.episode = Some(episode);
                error.encode()
            }
        };
        out.push(self.answer.clone());
    }

    fn complete(&mut self, episode: i64, mut turn: Turn) -> Result<Turn, Failure> {
        turn.episode = episode;
        turn.turn = self.asked;
        if self.watched {
            turn.text = Some(self.environment.text(None));
        }
        if !self.wants.is_empty() {
            for view in &mut turn.seats {
                let Some(wants) = self.wants.get(view.seat) else {
                    continue;
                };
                for want in wants {
                    match want {
                        Want::Text => view.text = Some(self.environment.text(Some(view.seat))),
                        Want::Scene => view.scene = self.environment.scene(Some(view.seat)),
                        Want::Afterstates if turn.to_act.contains(&view.seat) => {
                            view.afterstates = self.environment.afterstates(view.seat)?;
                        }
                        Want::Afterstates => {}
                    }
                }
            }
        }
        Ok(turn)
    }

    /// What one line of actions leads to.
    fn follow(
        &self,
        asked: &EnvironmentLookahead,
        line: &[Vec<Value>],
    ) -> Result<Position, Failure> {
        let mut copy = self
            .environment
            .fork(asked.seat, asked.seed)
            .ok_or("this environment allows no lookahead")?;
        let mut position = Position {
            to_act: self.to_act.clone(),
            rewards: vec![0.0; self.seats],
            ..Position::default()
        };
        for actions in line {
            if position.to_act.is_empty() {
                position.error = "the episode would be over".to_owned();
                break;
            }
            if actions.len() != position.to_act.len() {
                position.error = format!(
                    "{} actions for the seats {:?}",
                    actions.len(),
                    position.to_act
                );
                break;
            }
            let pairs = position.to_act.iter().copied().zip(actions.iter().cloned());
            let turn = match copy.step(pairs.collect()) {
                Ok(turn) => turn,
                Err(failure) if failure.is::<IllegalAction>() => {
                    position.error = crate::error::line(&failure);
                    break;
                }
                Err(failure) => return Err(failure),
            };
            for view in &turn.seats {
                if let Some(reward) = position.rewards.get_mut(view.seat) {
                    *reward += view.reward;
                }
            }
            position.to_act = turn.to_act;
            position.seats = turn.seats;
            position.terminated = turn.terminated;
            position.truncated = turn.truncated;
            position.outcome = turn.outcome;
            position.applied += 1;
        }
        Ok(position)
    }
}

impl Host for EnvironmentHost {
    type Incoming = ToEnvironment;

    fn handle(&mut self, event: Event<ToEnvironment>, out: &mut Vec<Vec<u8>>) {
        match event {
            Event::Message(ToEnvironment::Step(step)) => self.step(step, out),
            Event::Message(ToEnvironment::Start(start)) => self.start(start, out),
            Event::Message(ToEnvironment::Open(open)) => self.make(open, out),
            Event::Message(ToEnvironment::Close(close)) => self.close(close.match_id),
            Event::Message(ToEnvironment::Message(message)) => {
                self.request(message.id, out, |host| {
                    host.talk(message.match_id, message.body)
                });
            }
            Event::Message(ToEnvironment::Lookahead(asked)) => {
                self.request(asked.id, out, |host| host.lookahead(&asked));
            }
            Event::Welcome(welcome) => {
                self.limits = welcome.limits;
                if !welcome.resumed {
                    let all: Vec<i64> = self.open.keys().copied().collect();
                    for match_id in all {
                        self.close(match_id);
                    }
                    self.answers.clear();
                    self.refused.clear();
                }
            }
            Event::Error(_) => {}
        }
    }
}
