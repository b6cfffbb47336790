//! The program around environments: messages of the broker in, frames to the broker out.

use std::collections::HashMap;

use crate::columns::SLOTS;
use crate::environment::{Environment, EnvironmentType};
use crate::environment_group::EnvironmentGroup;
use crate::error::{guarded, line, refused_by, Failure, IllegalAction, Told};
use crate::field::reread;
use crate::messages::{
    Asked, Code, EnvironmentLookahead, EnvironmentMessage, EnvironmentStart, EnvironmentStep,
    EnvironmentSteps, Error, Offer, Open, Preview, Reply, Spec, ToEnvironment, Turn, Want,
};
use crate::options::Options;
use crate::session::{Event, Host, Outbox};
use crate::value::Value;

/// The parts of a turn that watchers want.
#[derive(Clone, Copy, Default)]
struct Shown {
    text: bool,
    scene: bool,
}

/// An environment made for a match, and its episode in progress.
struct Place {
    name: String,
    environment: Box<dyn Environment>,
    seats: usize,
    episode: i64,
    /// The number of the episode's last turn; nothing before the first.
    turn: Option<i64>,
    to_act: Vec<usize>,
    /// The number of the frame that asked for the last turn.
    seq: u64,
    wants: Vec<Vec<Want>>,
    /// The parts of every turn that watchers want.
    always: Shown,
    /// The parts of the next turn that watchers want.
    next: Shown,
}

/// Holds the environments of one program.
pub struct EnvironmentHost {
    types: Vec<EnvironmentType>,
    open: HashMap<i64, Place>,
    /// The match of each episode in progress.
    episodes: HashMap<i64, i64>,
    groups: HashMap<i64, EnvironmentGroup>,
    told: Told,
}

impl EnvironmentHost {
    /// A program that can make these environments.
    pub fn new(types: impl IntoIterator<Item = EnvironmentType>) -> Self {
        Self {
            types: types.into_iter().collect(),
            open: HashMap::new(),
            episodes: HashMap::new(),
            groups: HashMap::new(),
            told: Told::default(),
        }
    }

    /// Reports every failure of an environment to `told`, in the line that the broker gets.
    pub fn on_failure(mut self, told: impl FnMut(&str) + Send + 'static) -> Self {
        self.told = Told::by(told);
        self
    }

    /// Returns the types on offer.
    pub fn offers(&self) -> Vec<Offer> {
        self.types.iter().map(|each| each.offer.clone()).collect()
    }

    fn step(&mut self, step: EnvironmentStep, asked: Asked, out: &mut Outbox) {
        let place = self.episodes.get(&step.episode);
        let place = place.and_then(|number| self.open.get_mut(number));
        let Some(place) = place.filter(|place| place.turn == Some(step.turn)) else {
            let text = format!("episode {} is not at turn {}", step.episode, step.turn);
            return out.fail(asked, Code::Unknown, text);
        };
        place.watch(step.watched, step.scenes, step.once);
        let turn = guarded(|| place.environment.step(step.actions));
        let number = step.turn.saturating_add(1);
        place.finish(turn, number, asked, &mut self.told, out);
    }

    fn start(&mut self, start: EnvironmentStart, asked: Asked, out: &mut Outbox) {
        let Some(place) = self.open.get_mut(&start.r#match) else {
            let text = format!("match {} is not open", start.r#match);
            return out.fail(asked, Code::Unknown, text);
        };
        self.episodes.remove(&place.episode);
        self.episodes.insert(start.episode, start.r#match);
        place.episode = start.episode;
        place.turn = None;
        place.wants = start.wants;
        place.always = Shown::default();
        place.watch(start.watched, start.scenes, start.once);
        let turn = guarded(|| place.environment.start(start.seed));
        place.finish(turn, 0, asked, &mut self.told, out);
    }

    /// Plays a batch of a group.
    fn steps(&mut self, steps: EnvironmentSteps, asked: Asked, out: &mut Outbox) {
        let Some(group) = self.groups.get_mut(&steps.r#match) else {
            let text = format!("group {} is not open", steps.r#match);
            return out.fail(asked, Code::Unknown, text);
        };
        out.forget(std::mem::replace(&mut group.before, asked.seq));
        let told = &mut self.told;
        let turns = guarded(|| group.steps(steps, told));
        out.batch(asked, told, &group.name, turns);
    }

    fn make(&mut self, mut open: Open) -> Result<Spec, Failure> {
        let name = std::mem::take(&mut open.environment);
        let kind = self.types.iter_mut().find(|kind| kind.offer.name == name);
        let kind = kind.ok_or_else(|| format!("this program makes no environment '{name}'"))?;
        if open.slots > SLOTS {
            return Err(format!("{} slots; {SLOTS} are the most (S16.3)", open.slots).into());
        }
        if open.slots > 0 {
            let (number, environment) = (open.r#match, name.clone());
            let made = guarded(|| {
                EnvironmentGroup::open(
                    kind,
                    Open {
                        environment,
                        ..open
                    },
                )
            });
            let (group, mut spec) =
                made.map_err(|failure| refused_by("environment", &name, failure))?;
            spec.r#match = number;
            if spec.name.is_empty() {
                spec.name = name;
            }
            self.groups.insert(number, group);
            return Ok(spec);
        }
        let (environment, mut spec) = guarded(|| {
            let mut options = Options::new(open.configuration);
            let mut environment = (kind.make)(&mut options)?;
            options.finish()?;
            let spec = environment.init()?;
            Ok((environment, spec))
        })
        .map_err(|failure| refused_by("environment", &name, failure))?;
        spec.r#match = open.r#match;
        if spec.name.is_empty() {
            spec.name.clone_from(&name);
        }
        let place = Place {
            name,
            environment,
            seats: spec.seats,
            episode: 0,
            turn: None,
            to_act: Vec::new(),
            seq: 0,
            wants: Vec::new(),
            always: Shown::default(),
            next: Shown::default(),
        };
        self.open.insert(open.r#match, place);
        Ok(spec)
    }

    fn close(&mut self, number: i64) {
        if let Some(mut place) = self.open.remove(&number) {
            self.episodes.remove(&place.episode);
            self.told
                .cleanup(&place.name, || place.environment.cleanup());
        }
        if let Some(mut group) = self.groups.remove(&number) {
            self.told.cleanup(&group.name, || group.game.cleanup());
        }
    }

    fn message(&mut self, message: ToEnvironment, asked: Asked, out: &mut Outbox) {
        match message {
            ToEnvironment::Step(step) => self.step(step, asked, out),
            ToEnvironment::Start(start) => self.start(start, asked, out),
            ToEnvironment::Steps(steps) => self.steps(steps, asked, out),
            ToEnvironment::Open(open) => {
                let place = format!("{} in init", open.environment);
                let spec = self.make(open);
                out.settle(asked, &mut self.told, &place, spec);
            }
            ToEnvironment::Close(close) => self.close(close.r#match),
            ToEnvironment::Message(message) => {
                let reply = self.talk(message);
                out.settle(asked, &mut self.told, "environment", reply);
            }
            ToEnvironment::Lookahead(lookahead) => {
                let reply = self.lookahead(&lookahead);
                out.settle(asked, &mut self.told, "environment", reply);
            }
            #[allow(unreachable_patterns)] // until the contract has a message that it does not know
            _ => {}
        }
    }

    fn talk(&mut self, message: EnvironmentMessage) -> Result<Reply, Failure> {
        let body = message.body.open()?;
        let place = self.open.get_mut(&message.r#match);
        let place = place.ok_or_else(|| format!("match {} is not open", message.r#match))?;
        let body = guarded(|| place.environment.message(body))?;
        Ok(Reply::new(message.id, body))
    }

    fn lookahead(&mut self, asked: &EnvironmentLookahead) -> Result<Reply, Failure> {
        let place = self.episodes.get(&asked.episode);
        let place = place.and_then(|number| self.open.get(number));
        let place = place.filter(|place| place.turn == Some(asked.turn));
        let place = place
            .ok_or_else(|| format!("episode {} is not at turn {}", asked.episode, asked.turn))?;
        let lines = asked.lines.iter();
        let found: Vec<Preview> =
            guarded(|| lines.map(|line| place.follow(asked, line)).collect())?;
        Ok(Reply::new(asked.id, reread::<_, Value>(&found)?))
    }
}

impl Place {
    /// Heeds what a start or step asks for watchers.
    fn watch(&mut self, text: bool, scene: bool, once: bool) {
        self.next = Shown {
            text: self.always.text || text,
            scene: self.always.scene || scene,
        };
        if !once {
            self.always = self.next;
        }
    }

    /// Fills in what the library knows of a turn, and answers.
    fn finish(
        &mut self,
        turn: Result<Turn, Failure>,
        number: i64,
        asked: Asked,
        told: &mut Told,
        out: &mut Outbox,
    ) {
        out.forget(std::mem::replace(&mut self.seq, asked.seq));
        let turn = turn
            .and_then(|turn| guarded(|| self.complete(number, turn)))
            .and_then(|turn| Ok((out.frame(&turn)?, turn)));
        match turn {
            Ok((frame, turn)) => {
                self.turn = Some(number);
                self.to_act = turn.to_act;
                out.answer(asked, frame);
            }
            Err(failure) => match failure.downcast_ref::<IllegalAction>() {
                Some(illegal) => {
                    let mut error = Error::to(asked, Code::Illegal, line(&failure));
                    error.seat = illegal.seat;
                    out.answer(asked, error.encode());
                }
                None => {
                    let place = match number {
                        0 => format!("{} in start", self.name),
                        _ => format!("{} in turn {}", self.name, number - 1),
                    };
                    out.fail(asked, Code::Crashed, told.crash(&place, &failure));
                }
            },
        }
    }

    fn complete(&mut self, number: i64, mut turn: Turn) -> Result<Turn, Failure> {
        turn.episode = self.episode;
        turn.turn = number as u64;
        if self.next.text {
            turn.text = Some(self.environment.text(None));
        }
        if self.next.scene {
            turn.scene = self.environment.scene(None);
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

    /// Plays one line of actions and returns its result.
    fn follow(
        &self,
        asked: &EnvironmentLookahead,
        line: &[Vec<Value>],
    ) -> Result<Preview, Failure> {
        let mut copy = self
            .environment
            .fork(asked.seat, asked.seed)
            .ok_or("this environment allows no lookahead")?;
        let mut preview = Preview {
            to_act: self.to_act.clone(),
            rewards: vec![0.0; self.seats],
            ..Preview::default()
        };
        for actions in line {
            if preview.to_act.is_empty() {
                preview.error = "the episode would be over".to_owned();
                break;
            }
            if actions.len() != preview.to_act.len() {
                preview.error = format!(
                    "{} actions for the seats {:?}",
                    actions.len(),
                    preview.to_act
                );
                break;
            }
            let pairs = preview.to_act.iter().copied().zip(actions.iter().cloned());
            let turn = match copy.step(pairs.collect()) {
                Ok(turn) => turn,
                Err(failure) if failure.is::<IllegalAction>() => {
                    preview.error = crate::error::line(&failure);
                    break;
                }
                Err(failure) => return Err(failure),
            };
            for view in &turn.seats {
                if let Some(reward) = preview.rewards.get_mut(view.seat) {
                    *reward += view.reward;
                }
            }
            preview.to_act = turn.to_act;
            preview.seats = turn.seats;
            preview.terminated = turn.terminated;
            preview.truncated = turn.truncated;
            preview.outcome = turn.outcome;
            preview.applied += 1;
        }
        Ok(preview)
    }
}

impl Host for EnvironmentHost {
    type Incoming = ToEnvironment;

    fn handle(&mut self, event: Event<ToEnvironment>, out: &mut Outbox) {
        match event {
            Event::Message(message, asked) => self.message(message, asked, out),
            Event::Repeated(seq) => out.repeat(seq),
            // The session that there was is over.
            Event::Welcome(welcome) if !welcome.resumed => {
                let all: Vec<i64> = self
                    .open
                    .keys()
                    .chain(self.groups.keys())
                    .copied()
                    .collect();
                all.into_iter().for_each(|number| self.close(number));
            }
            _ => {}
        }
    }
}
