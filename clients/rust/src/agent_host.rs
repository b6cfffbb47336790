//! The program around agents: messages of the broker in, frames to the broker out.
//!
//! A decision that comes twice is answered with the same action, without asking the agent again,
//! so that a reconnection cannot make a learner learn twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::agent::{Agent, AgentType, Decision, End, Seat};
use crate::error::{guarded, refused_by, Failure, Told};
use crate::field::reread;
use crate::host::{reply, Asked, Desk};
use crate::legal::Legal;
use crate::messages::{
    self, Action, AgentLookahead, AgentStart, AgentStep, Code, Create, Error, Init, Mode, Offer,
    Position, Reason, Saved, ToAgent,
};
use crate::options::Options;
use crate::random::Random;
use crate::recent::Recent;
use crate::session::{Event, Host, Outbox};
use crate::value::{Payload, Value};

/// Ended episodes that are remembered, so that what comes twice is not played twice.
const ENDED_KEPT: usize = 4096;

/// The number under which the agent is kept that the program itself is.
const SINGLE: i64 = i64::MIN;

type SeatKey = (i64, usize);

/// A seat's episode in progress.
struct Play {
    instance: i64,
    seat: Arc<Seat>,
    mode: Mode,
    seed: i64,
    random: Random,
    turn: i64,
    /// The frame that answered the last decision, or the question that is still open.
    answer: Option<Vec<u8>>,
    /// The decision whose question to the environment is still open.
    thought: Option<Thought>,
}

struct Thought {
    id: i64,
    first: bool,
    decision: Decision,
}

/// An agent, and the name of its type.
struct Instance {
    kind: String,
    agent: Box<dyn Agent>,
}

/// Holds the agents of one program.
pub struct AgentHost {
    types: Vec<AgentType>,
    instances: BTreeMap<i64, Instance>,
    seats: HashMap<SeatKey, (i64, Arc<Seat>)>,
    playing: HashMap<SeatKey, Play>,
    ended: Recent<SeatKey>,
    questions: HashMap<i64, SeatKey>,
    next_question: i64,
    desk: Desk,
}

impl AgentHost {
    /// A program that can make agents of these types, or is one of them.
    ///
    /// # Errors
    /// The agent that the program is cannot be made, or is not the only one.
    pub fn new(types: impl IntoIterator<Item = AgentType>) -> Result<Self, Failure> {
        let mut host = Self {
            types: types.into_iter().collect(),
            instances: BTreeMap::new(),
            seats: HashMap::new(),
            playing: HashMap::new(),
            ended: Recent::new(ENDED_KEPT),
            questions: HashMap::new(),
            next_question: 0,
            desk: Desk::new(),
        };
        for kind in &mut host.types {
            if kind.offer.instance {
                let agent = guarded(|| (kind.make)(&mut Options::default(), 0))?;
                let kind = kind.offer.name.clone();
                let known = host.instances.insert(SINGLE, Instance { kind, agent });
                if known.is_some() {
                    return Err("a program can be one agent only; offer types instead".into());
                }
            }
        }
        Ok(host)
    }

    /// Has every failure of an agent told in one line, as the broker hears it.
    pub fn on_failure(mut self, told: impl FnMut(&str) + Send + 'static) -> Self {
        self.desk.told = Told::by(told);
        self
    }

    /// What this program can be asked for.
    pub fn offers(&self) -> Vec<Offer> {
        self.types.iter().map(|each| each.offer.clone()).collect()
    }

    /// The number under which an instance is kept.
    fn resolve(&self, instance: i64) -> Option<i64> {
        [instance, SINGLE]
            .into_iter()
            .find(|number| self.instances.contains_key(number))
    }

    fn start(&mut self, start: AgentStart, out: &mut Outbox) {
        let key = (start.episode, start.seat);
        if !self.playing.contains_key(&key) {
            if self.ended.get(&key).is_some() {
                return;
            }
            let Some((instance, seat)) = self.seats.get(&(start.r#match, start.seat)) else {
                return;
            };
            let play = Play {
                instance: *instance,
                seat: seat.clone(),
                mode: start.mode,
                seed: start.seed,
                random: Random::new(start.seed as u64),
                turn: -1,
                answer: None,
                thought: None,
            };
            self.playing.insert(key, play);
        }
        let asked = AgentStep {
            episode: start.episode,
            seat: start.seat,
            turn: start.turn,
            reward: start.reward,
            observation: start.observation,
            legal: start.legal,
            afterstates: start.afterstates,
            text: start.text,
            scene: start.scene,
            clock: start.clock,
            ..AgentStep::default()
        };
        self.decide(asked, true, out);
    }

    fn decide(&mut self, asked: AgentStep, first: bool, out: &mut Outbox) {
        let key = (asked.episode, asked.seat);
        let Some(play) = self.playing.get_mut(&key) else {
            return;
        };
        if asked.turn <= play.turn {
            if let Some(answer) = play.answer.clone().filter(|_| asked.turn == play.turn) {
                out.push(answer);
            }
            return;
        }
        play.turn = asked.turn;
        play.answer = None;
        if let Some(thought) = play.thought.take() {
            self.questions.remove(&thought.id);
        }
        let opened = asked.observation.open().and_then(|observation| {
            Ok((observation, asked.afterstates.open()?, asked.scene.open()?))
        });
        let (observation, afterstates, scene) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let text = format!("turn {} cannot be read: {error}", asked.turn);
                let answer = about_seat(Code::Malformed, text, key).encode();
                play.answer = Some(answer.clone());
                out.push(answer);
                return;
            }
        };
        let decision = Decision {
            seat: play.seat.clone(),
            episode: key.0,
            turn: asked.turn,
            observation,
            legal: asked.legal.map(Legal::into_list),
            reward: asked.reward,
            mode: play.mode,
            afterstates,
            text: asked.text,
            scene,
            clock: asked.clock,
            seed: play.seed,
            random: play.random.clone(),
        };
        self.think(key, decision, first, None, out);
    }

    /// Lets the agent go on until its next question or its action.
    fn think(
        &mut self,
        key: SeatKey,
        mut decision: Decision,
        first: bool,
        answer: Option<Result<Vec<Position>, Failure>>,
        out: &mut Outbox,
    ) {
        let Some(play) = self.playing.get_mut(&key) else {
            return;
        };
        let Some(Instance { kind, agent }) = self.instances.get_mut(&play.instance) else {
            return;
        };
        let acted = guarded(|| {
            if decision.seat.lookahead {
                if let Some(question) = agent.ask(&mut decision, answer)? {
                    return Ok(Err(question));
                }
            }
            let action = if first {
                agent.start(&mut decision)
            } else {
                agent.step(&mut decision)
            };
            action.map(Ok)
        });
        let turn = decision.turn;
        let frame = acted.and_then(|acted| match acted {
            Ok(action) => {
                play.random = decision.random;
                let action = Action {
                    episode: key.0,
                    turn,
                    seat: key.1,
                    action,
                    ..Action::default()
                };
                Ok(out.frame(&action)?)
            }
            Err(question) => {
                self.next_question += 1;
                let id = self.next_question;
                let asked = AgentLookahead {
                    id,
                    episode: key.0,
                    seat: key.1,
                    turn,
                    lines: question.lines,
                    seed: question.seed,
                    ..AgentLookahead::default()
                };
                let frame = out.frame(&asked)?;
                self.questions.insert(id, key);
                play.thought = Some(Thought {
                    id,
                    first,
                    decision,
                });
                Ok(frame)
            }
        });
        let frame = frame.unwrap_or_else(|failure| {
            let place = format!("{kind} in turn {turn}");
            let text = self.desk.told.crash(&place, &failure);
            about_seat(Code::Crashed, text, key).encode()
        });
        play.answer = Some(frame.clone());
        out.push(frame);
    }

    /// Takes the answer to a question.
    fn answered(&mut self, id: i64, answer: Result<Vec<Position>, Failure>, out: &mut Outbox) {
        let Some(key) = self.questions.remove(&id) else {
            return;
        };
        let thought = self
            .playing
            .get_mut(&key)
            .and_then(|play| play.thought.take());
        if let Some(thought) = thought {
            self.think(key, thought.decision, thought.first, Some(answer), out);
        }
    }

    fn end(&mut self, end: messages::End, out: &mut Outbox) {
        let key = (end.episode, end.seat);
        if !self.ended.insert(key, ()) {
            return;
        }
        let (instance, seat) = match self.playing.remove(&key) {
            Some(play) => {
                if let Some(thought) = play.thought {
                    self.questions.remove(&thought.id);
                }
                (play.instance, play.seat)
            }
            // The episode ended before this seat had to decide.
            None => match self.seats.get(&(end.r#match, end.seat)) {
                Some((instance, seat)) => (*instance, seat.clone()),
                None => return,
            },
        };
        let Some(Instance { kind, agent }) = self.instances.get_mut(&instance) else {
            return;
        };
        let told = End {
            seat,
            episode: end.episode,
            reward: end.reward,
            observation: end.observation.open().unwrap_or_default(),
            outcome: end.outcome,
            reason: end.reason,
            blame: end.blame,
            total: end.total,
            decisions: end.decisions,
            mode: end.mode,
            text: end.text,
            scene: end.scene.open().unwrap_or_default(),
        };
        if let Err(failure) = guarded(|| agent.end(&told)) {
            let place = format!("{kind} at the end of an episode");
            let text = self.desk.told.crash(&place, &failure);
            out.send(&about_seat(Code::Crashed, text, key));
        }
    }

    fn init(&mut self, init: Init, out: &mut Outbox) {
        let refused = |code: Code, text: String| Error {
            r#match: Some(init.r#match),
            seat: Some(init.seat),
            ..Error::new(code, text)
        };
        let Some(number) = self.resolve(init.instance) else {
            let text = format!("there is no agent {}", init.instance);
            out.send(&refused(Code::Unknown, text));
            return;
        };
        let key = (init.r#match, init.seat);
        if self
            .seats
            .get(&key)
            .is_some_and(|(holder, _)| *holder == number)
        {
            return;
        }
        let seat = Arc::new(Seat {
            r#match: init.r#match,
            seat: init.seat,
            spec: init.spec,
            lookahead: init.lookahead,
        });
        self.seats.insert(key, (number, seat.clone()));
        let Some(Instance { kind, agent }) = self.instances.get_mut(&number) else {
            return;
        };
        if let Err(failure) = guarded(|| agent.init(&seat)) {
            let place = format!("{kind} taking a seat");
            let text = self.desk.told.refusal(&place, &failure);
            out.send(&refused(Code::Unavailable, text));
        }
    }

    /// Where a request to an agent failed, for lines about it.
    fn place(&self, number: i64, verb: &str) -> String {
        let found = self.resolve(number);
        match found.and_then(|number| self.instances.get(&number)) {
            Some(found) => format!("{} in {verb}", found.kind),
            None => format!("agent {number} in {verb}"),
        }
    }

    fn instance(&mut self, number: i64) -> Result<&mut Box<dyn Agent>, Failure> {
        let found = self.resolve(number);
        found
            .and_then(|number| self.instances.get_mut(&number))
            .map(|found| &mut found.agent)
            .ok_or_else(|| format!("there is no agent {number}").into())
    }

    fn create(&mut self, create: Create) -> Result<(), Failure> {
        if self.instances.contains_key(&create.instance) {
            return Ok(());
        }
        let kind = self
            .types
            .iter_mut()
            .find(|kind| kind.offer.name == create.agent && !kind.offer.instance)
            .ok_or_else(|| format!("this program makes no agent '{}'", create.agent))?;
        let mut options = Options::new(create.parameters);
        let agent = guarded(|| {
            let mut agent = (kind.make)(&mut options, create.seed)?;
            options.finish()?;
            if let Some(state) = &create.state {
                agent.load(state)?;
            }
            Ok(agent)
        })
        .map_err(|failure| refused_by("agent", &create.agent, failure))?;
        let kind = create.agent;
        self.instances
            .insert(create.instance, Instance { kind, agent });
        Ok(())
    }

    /// Begins anew with a broker that does not know the session: every seat hears the end.
    fn reset(&mut self) {
        let playing: Vec<(SeatKey, Mode, i64)> = self
            .playing
            .iter()
            .map(|(key, play)| (*key, play.mode, play.seat.r#match))
            .collect();
        // The new session knows none of these episodes, so it hears nothing about them.
        let mut unheard = Outbox::default();
        for ((episode, seat), mode, number) in playing {
            let end = messages::End {
                episode,
                seat,
                r#match: number,
                reason: Reason::Disconnected,
                mode,
                ..messages::End::default()
            };
            self.end(end, &mut unheard);
        }
        self.playing.clear();
        self.questions.clear();
        self.seats.clear();
        self.ended.clear();
        self.desk.clear();
        let single = self.instances.remove(&SINGLE);
        for Instance { kind, agent } in self.instances.values_mut() {
            self.desk.told.cleanup(kind, || agent.cleanup());
        }
        self.instances.clear();
        if let Some(single) = single {
            self.instances.insert(SINGLE, single);
        }
    }

    fn message(&mut self, message: ToAgent, out: &mut Outbox) {
        match message {
            ToAgent::Step(step) => self.decide(step, false, out),
            ToAgent::Start(start) => self.start(start, out),
            ToAgent::End(end) => self.end(end, out),
            ToAgent::Init(init) => self.init(init, out),
            ToAgent::Leave(leave) => self.seats.retain(|key, _| key.0 != leave.r#match),
            ToAgent::Create(create) => {
                let (id, place) = (create.id, format!("{} in create", create.agent));
                self.request(id, place, out, |host| {
                    host.create(create)?;
                    Ok(reply(id, Value::Nil))
                });
            }
            ToAgent::Save(save) => {
                let (id, place) = (save.id, self.place(save.instance, "save"));
                self.request(id, place, out, |host| {
                    let agent = host.instance(save.instance)?;
                    let state = guarded(|| agent.save())?;
                    Ok(Saved {
                        id,
                        state,
                        ..Saved::default()
                    })
                });
            }
            ToAgent::Load(load) => {
                let (id, place) = (load.id, self.place(load.instance, "load"));
                self.request(id, place, out, |host| {
                    let agent = host.instance(load.instance)?;
                    guarded(|| agent.load(&load.state))?;
                    Ok(reply(id, Value::Nil))
                });
            }
            ToAgent::Message(message) => {
                let (id, place) = (message.id, self.place(message.instance, "message"));
                self.request(id, place, out, |host| {
                    let body = message.body.open()?;
                    let agent = host.instance(message.instance)?;
                    Ok(reply(id, guarded(|| agent.message(body))?))
                });
            }
            ToAgent::Cleanup(cleanup) => {
                let (id, place) = (cleanup.id, self.place(cleanup.instance, "cleanup"));
                self.request(id, place, out, |host| {
                    host.instance(cleanup.instance)?;
                    if let Some(mut instance) = host.instances.remove(&cleanup.instance) {
                        guarded(|| {
                            instance.agent.cleanup();
                            Ok(())
                        })?;
                    }
                    Ok(reply(id, Value::Nil))
                });
            }
            ToAgent::Reply(reply) => {
                let answer = positions(reply.body);
                self.answered(reply.id, answer, out);
            }
            #[allow(unreachable_patterns)] // until the contract has a message that it does not know
            _ => {}
        }
    }
}

impl Asked for AgentHost {
    fn desk(&mut self) -> &mut Desk {
        &mut self.desk
    }
}

impl Host for AgentHost {
    type Incoming = ToAgent;

    fn handle(&mut self, event: Event<ToAgent>, out: &mut Outbox) {
        match event {
            Event::Message(message) => self.message(message, out),
            Event::Welcome(welcome) if welcome.resumed => {}
            Event::Welcome(_) => self.reset(),
            Event::Error(error) => {
                if let Some(id) = error.id {
                    self.answered(id, Err(error.message.into()), out);
                }
            }
        }
    }
}

fn about_seat(code: Code, text: String, (episode, seat): SeatKey) -> Error {
    Error {
        episode: Some(episode),
        seat: Some(seat),
        ..Error::new(code, text)
    }
}

fn positions(body: Payload) -> Result<Vec<Position>, Failure> {
    Ok(reread(&body.open()?)?)
}
