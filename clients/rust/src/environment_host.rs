//! The program around environments: messages of the broker in, frames to the broker out.
//!
//! A step that comes twice is answered with the same turn, without stepping again.

use std::collections::HashMap;

use crate::environment::{Environment, EnvironmentType};
use crate::error::{guarded, line, refused_by, Failure, IllegalAction, Told};
use crate::field::reread;
use crate::host::{reply, Asked, Desk};
use crate::messages::{
    Code, EnvironmentLookahead, EnvironmentStart, EnvironmentStep, Error, Offer, Open, Position,
    ToEnvironment, Turn, Want,
};
use crate::options::Options;
use crate::recent::{Recent, ANSWERS_KEPT};
use crate::session::{Event, Host, Outbox};
use crate::value::{Payload, Value};

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
    asked: u64,
    /// The turn that must be answered; nothing if the episode is over, or has failed.
    due: Option<u64>,
    answer: Vec<u8>,
}

/// Holds the environments of one program.
pub struct EnvironmentHost {
    types: Vec<EnvironmentType>,
    open: HashMap<i64, Place>,
    /// The match of each episode in progress.
    episodes: HashMap<i64, i64>,
    /// By match, the answers to each `open` that made nothing.
    refused: Recent<i64, Vec<u8>>,
    desk: Desk,
}

impl EnvironmentHost {
    /// A program that can make these environments.
    pub fn new(types: impl IntoIterator<Item = EnvironmentType>) -> Self {
        Self {
            types: types.into_iter().collect(),
            open: HashMap::new(),
            episodes: HashMap::new(),
            refused: Recent::new(ANSWERS_KEPT),
            desk: Desk::new(),
        }
    }

    /// Has every failure of an environment told in one line, as the broker hears it.
    pub fn on_failure(mut self, told: impl FnMut(&str) + Send + 'static) -> Self {
        self.desk.told = Told::by(told);
        self
    }

    /// What this program can be asked for.
    pub fn offers(&self) -> Vec<Offer> {
        self.types.iter().map(|each| each.offer.clone()).collect()
    }

    fn step(&mut self, step: EnvironmentStep, out: &mut Outbox) {
        let place = self
            .episodes
            .get(&step.episode)
            .and_then(|number| self.open.get_mut(number));
        let Some(place) = place else { return };
        let Ok(asked) = u64::try_from(step.turn) else {
            return;
        };
        if place.asked.checked_sub(1) == Some(asked) {
            out.push(place.answer.clone());
            return;
        }
        if place.due != Some(asked) {
            return;
        }
        place.asked = asked + 1;
        let environment = &mut place.environment;
        let turn = guarded(|| environment.step(step.actions));
        place.finish(step.episode, turn, &mut self.desk.told, out);
    }

    fn start(&mut self, start: EnvironmentStart, out: &mut Outbox) {
        let Some(place) = self.open.get_mut(&start.r#match) else {
            let text = format!("match {} is not open", start.r#match);
            out.send(&Error {
                episode: Some(start.episode),
                ..Error::new(Code::Unknown, text)
            });
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
        self.episodes.insert(start.episode, start.r#match);
        place.episode = Some(start.episode);
        place.wants = start.wants;
        place.watched = start.watched;
        place.asked = 0;
        let environment = &mut place.environment;
        let turn = guarded(|| environment.start(start.seed));
        place.finish(start.episode, turn, &mut self.desk.told, out);
    }

    fn make(&mut self, open: Open, out: &mut Outbox) {
        if let Some(place) = self.open.get(&open.r#match) {
            out.push(place.spec.clone());
            return;
        }
        if let Some(known) = self.refused.get(&open.r#match) {
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
                spec.r#match = open.r#match;
                if spec.name.is_empty() {
                    spec.name.clone_from(&name);
                }
                Ok((environment, spec.seats, out.frame(&spec)?))
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
                    due: None,
                    answer: Vec::new(),
                };
                out.push(place.spec.clone());
                self.open.insert(open.r#match, place);
            }
            Err(failure) => {
                let failure = refused_by("environment", &name, failure);
                let text = self.desk.told.refusal(&format!("{name} in init"), &failure);
                let frame = Error {
                    r#match: Some(open.r#match),
                    ..Error::new(Code::Unavailable, text)
                }
                .encode();
                self.refused.insert(open.r#match, frame.clone());
                out.push(frame);
            }
        }
    }

    fn close(&mut self, number: i64) {
        self.refused.remove(&number);
        if let Some(mut place) = self.open.remove(&number) {
            if let Some(episode) = place.episode {
                self.episodes.remove(&episode);
            }
            self.desk
                .told
                .cleanup(&place.name, || place.environment.cleanup());
        }
    }

    /// Begins anew with a broker that does not know the session.
    fn reset(&mut self) {
        let all: Vec<i64> = self.open.keys().copied().collect();
        for number in all {
            self.close(number);
        }
        self.desk.clear();
        self.refused.clear();
    }

    fn message(&mut self, message: ToEnvironment, out: &mut Outbox) {
        match message {
            ToEnvironment::Step(step) => self.step(step, out),
            ToEnvironment::Start(start) => self.start(start, out),
            ToEnvironment::Open(open) => self.make(open, out),
            ToEnvironment::Close(close) => self.close(close.r#match),
            ToEnvironment::Message(message) => {
                self.request(message.id, "environment".to_owned(), out, |host| {
                    let body = host.talk(message.r#match, message.body)?;
                    Ok(reply(message.id, body))
                });
            }
            ToEnvironment::Lookahead(asked) => {
                self.request(asked.id, "environment".to_owned(), out, |host| {
                    Ok(reply(asked.id, host.lookahead(&asked)?))
                });
            }
            #[allow(unreachable_patterns)] // until the contract has a message that it does not know
            _ => {}
        }
    }

    fn talk(&mut self, number: i64, body: Payload) -> Result<Value, Failure> {
        let body = body.open()?;
        let place = self.open.get_mut(&number);
        let place = place.ok_or_else(|| format!("match {number} is not open"))?;
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
        if place.due.is_none() || place.due != u64::try_from(asked.turn).ok() {
            return Err(format!("the episode is not at turn {}", asked.turn).into());
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
        told: &mut Told,
        out: &mut Outbox,
    ) {
        let turn = turn
            .and_then(|turn| guarded(|| self.complete(episode, turn)))
            .and_then(|turn| Ok((out.frame(&turn)?, turn)));
        self.answer = match turn {
            Ok((frame, turn)) => {
                self.due = (!turn.to_act.is_empty()).then_some(turn.turn);
                self.to_act = turn.to_act;
                frame
            }
            Err(failure) => {
                self.due = None;
                let mut error = match failure.downcast_ref::<IllegalAction>() {
                    Some(illegal) => {
                        let mut error = Error::new(Code::Illegal, line(&failure));
                        error.seat = illegal.seat;
                        error
                    }
                    None => {
                        let place = match self.asked {
                            0 => format!("{} in start", self.name),
                            asked => format!("{} in turn {}", self.name, asked - 1),
                        };
                        Error::new(Code::Crashed, told.crash(&place, &failure))
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
                        _ => {}
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

impl Asked for EnvironmentHost {
    fn desk(&mut self) -> &mut Desk {
        &mut self.desk
    }
}

impl Host for EnvironmentHost {
    type Incoming = ToEnvironment;

    fn handle(&mut self, event: Event<ToEnvironment>, out: &mut Outbox) {
        match event {
            Event::Message(message) => self.message(message, out),
            Event::Welcome(welcome) if welcome.resumed => {}
            Event::Welcome(_) => self.reset(),
            Event::Error(_) => {}
        }
    }
}
