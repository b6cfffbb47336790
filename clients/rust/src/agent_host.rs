//! The program around agents: messages of the broker in, frames to the broker out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::agent::{Agent, AgentType, Decision, End, Seat};
use crate::agent_group::{AgentGroup, Player};
use crate::columns::SLOTS;
use crate::error::{guarded, refused_by, Failure, Told};
use crate::field::{reread, Field};
use crate::messages::{
    self, Action, AgentLookahead, AgentStart, AgentStep, AgentSteps, Asked, Code, Create, Init,
    Mode, Offer, Preview, Reason, Reply, Saved, ToAgent,
};
use crate::options::Options;
use crate::seeds::Random;
use crate::session::{Event, Host, Outbox};
use crate::space::Legal;
use crate::value::{Payload, Value};

/// The number under which the agent is kept that the program itself is.
const SINGLE: i64 = i64::MIN;

/// An episode or match, and a seat in it.
type SeatKey = (i64, usize);

/// A seat's episode in progress.
struct Play {
    instance: i64,
    seat: Arc<Seat>,
    mode: Mode,
    seed: i64,
    random: Random,
    /// The number of the frame with the last decision.
    seq: u64,
}

/// A decision in the making.
struct Thought {
    asked: Asked,
    first: bool,
    decision: Decision,
    /// The question to the environment that is open, as it was sent, and how many lines it has.
    question: Vec<u8>,
    lines: usize,
}

impl Thought {
    fn key(&self) -> SeatKey {
        (self.decision.episode, self.decision.seat.seat)
    }
}

/// An agent, and the name of its type.
struct Instance {
    kind: String,
    agent: Box<dyn Agent>,
    /// How it failed at an end, until its next decision or request is answered with that.
    failed: Option<String>,
}

impl Instance {
    fn new(kind: String, agent: Box<dyn Agent>) -> Self {
        let failed = None;
        Self {
            kind,
            agent,
            failed,
        }
    }

    /// The agent as a group knows it.
    fn player<'a>(&'a mut self, told: &'a mut Told) -> Player<'a> {
        Player {
            kind: &self.kind,
            agent: self.agent.as_mut(),
            failed: &mut self.failed,
            told,
        }
    }
}

/// Holds the agents of one program.
pub struct AgentHost {
    types: Vec<AgentType>,
    instances: BTreeMap<i64, Instance>,
    seats: HashMap<SeatKey, (i64, Arc<Seat>)>,
    playing: HashMap<SeatKey, Play>,
    /// By match and instance.
    groups: BTreeMap<(i64, i64), AgentGroup>,
    /// Decisions that wait for the answer to a question, by its number.
    thoughts: BTreeMap<i64, Thought>,
    last_question: i64,
    told: Told,
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
            groups: BTreeMap::new(),
            thoughts: BTreeMap::new(),
            last_question: 0,
            told: Told::default(),
        };
        for kind in &mut host.types {
            if kind.offer.instance {
                let agent = guarded(|| (kind.make)(&mut Options::default(), 0))?;
                let kind = kind.offer.name.clone();
                let known = host.instances.insert(SINGLE, Instance::new(kind, agent));
                if known.is_some() {
                    return Err("a program can be one agent only; offer types instead".into());
                }
            }
        }
        Ok(host)
    }

    /// Reports every failure of an agent to `told`, in the line that the broker gets.
    pub fn on_failure(mut self, told: impl FnMut(&str) + Send + 'static) -> Self {
        self.told = Told::by(told);
        self
    }

    /// Returns the types on offer.
    pub fn offers(&self) -> Vec<Offer> {
        self.types.iter().map(|each| each.offer.clone()).collect()
    }

    /// The number under which an instance is kept.
    fn resolve(&self, instance: i64) -> Option<i64> {
        [instance, SINGLE]
            .into_iter()
            .find(|number| self.instances.contains_key(number))
    }

    fn start(&mut self, start: AgentStart, asked: Asked, out: &mut Outbox) {
        if let Some((instance, seat)) = self.seats.get(&(start.r#match, start.seat)) {
            let play = Play {
                instance: *instance,
                seat: seat.clone(),
                mode: start.mode,
                seed: start.seed,
                random: Random::new(start.seed as u64),
                seq: 0,
            };
            self.playing.insert((start.episode, start.seat), play);
        }
        let step = AgentStep {
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
            think: start.think,
            ..AgentStep::default()
        };
        self.decide(step, true, asked, out);
    }

    fn decide(&mut self, step: AgentStep, first: bool, asked: Asked, out: &mut Outbox) {
        let key = (step.episode, step.seat);
        let Some(play) = self.playing.get_mut(&key) else {
            let text = format!("no agent here holds seat {} of episode {}", key.1, key.0);
            return out.fail(asked, Code::Unknown, text);
        };
        out.forget(std::mem::replace(&mut play.seq, asked.seq));
        self.thoughts.retain(|_, thought| thought.key() != key);
        let instance = self.instances.get_mut(&play.instance);
        if let Some(text) = instance.and_then(|each| each.failed.take()) {
            return out.fail(asked, Code::Crashed, text);
        }
        let opened = step.observation.open().and_then(|observation| {
            Ok((observation, step.afterstates.open()?, step.scene.open()?))
        });
        let (observation, afterstates, scene) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let text = format!("turn {} cannot be read: {error}", step.turn);
                return out.fail(asked, Code::Malformed, text);
            }
        };
        let decision = Decision {
            seat: play.seat.clone(),
            episode: key.0,
            turn: step.turn,
            observation,
            legal: step.legal.map(Legal::into_list),
            reward: step.reward,
            mode: play.mode,
            afterstates,
            text: step.text,
            scene,
            clock: step.clock,
            seed: play.seed,
            random: play.random.clone(),
            think: step.think,
            thoughts: None,
            measures: BTreeMap::new(),
            resigned: false,
        };
        let thought = Thought {
            asked,
            first,
            decision,
            question: Vec::new(),
            lines: 0,
        };
        self.think(thought, None, out);
    }

    /// Runs the agent up to its next question or its action.
    fn think(
        &mut self,
        mut thought: Thought,
        answer: Option<Result<Vec<Preview>, Failure>>,
        out: &mut Outbox,
    ) {
        let (asked, turn, (episode, seat)) = (thought.asked, thought.decision.turn, thought.key());
        let Some(play) = self.playing.get_mut(&(episode, seat)) else {
            return;
        };
        let Some(Instance { kind, agent, .. }) = self.instances.get_mut(&play.instance) else {
            let text = format!("the agent of seat {seat} of episode {episode} is gone");
            return out.fail(asked, Code::Unavailable, text);
        };
        let decision = &mut thought.decision;
        let acted = guarded(|| {
            if decision.seat.lookahead {
                if let Some(question) = agent.ask(decision, answer)? {
                    return Ok(Err(question));
                }
            }
            let action = if thought.first {
                agent.start(decision)
            } else {
                agent.step(decision)
            };
            action.map(Ok)
        });
        let sent = acted.and_then(|acted| match acted {
            Ok(action) => {
                let decision = thought.decision;
                play.random = decision.random;
                let action = Action {
                    episode,
                    turn,
                    seat,
                    action: if decision.resigned {
                        Value::Nil
                    } else {
                        action
                    },
                    resign: decision.resigned,
                    measures: decision.measures,
                    thoughts: decision.thoughts.filter(|_| decision.think),
                    ..Action::default()
                };
                out.answer(asked, out.frame(&action)?);
                Ok(())
            }
            Err(question) => {
                self.last_question += 1;
                thought.lines = question.lines.len();
                thought.question = out.frame(&AgentLookahead {
                    id: self.last_question,
                    episode,
                    seat,
                    turn,
                    lines: question.lines,
                    seed: question.seed,
                    ..AgentLookahead::default()
                })?;
                out.push(thought.question.clone());
                self.thoughts.insert(self.last_question, thought);
                Ok(())
            }
        });
        if let Err(failure) = sent {
            let place = format!("{kind} in turn {turn}");
            out.fail(asked, Code::Crashed, self.told.crash(&place, &failure));
        }
    }

    /// Takes the answer to a question.
    fn answered(&mut self, id: i64, answer: Result<Payload, Failure>, out: &mut Outbox) {
        if let Some(thought) = self.thoughts.remove(&id) {
            let previews = answer.and_then(|body| {
                let previews: Vec<Preview> = reread(&body.open()?)?;
                let (found, lines) = (previews.len(), thought.lines);
                let text = || format!("{found} previews of {lines} lines").into();
                (found == lines).then_some(previews).ok_or_else(text)
            });
            self.think(thought, Some(previews), out);
        }
    }

    fn end(&mut self, end: messages::End) {
        let key = (end.episode, end.seat);
        self.thoughts.retain(|_, thought| thought.key() != key);
        let played = self.playing.remove(&key);
        let found = played.map(|play| (play.instance, play.seat)).or_else(|| {
            // The episode ended before this seat had to decide.
            self.seats.get(&(end.r#match, end.seat)).cloned()
        });
        let Some((instance, seat)) = found else {
            return;
        };
        let Some(Instance {
            kind,
            agent,
            failed,
        }) = self.instances.get_mut(&instance)
        else {
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
            let text = self.told.crash(&place, &failure);
            failed.get_or_insert(text);
        }
    }

    fn init(&mut self, init: Init, asked: Asked, out: &mut Outbox) {
        let key = (init.r#match, init.seat);
        if init.slots == 0 {
            self.seats.remove(&key);
        }
        let number = self.resolve(init.instance).unwrap_or(init.instance);
        let Some(Instance { kind, agent, .. }) = self.instances.get_mut(&number) else {
            let text = format!("there is no agent {number}");
            return out.fail(asked, Code::Unknown, text);
        };
        if init.slots > SLOTS {
            let text = format!("{} slots; {SLOTS} are the most (S16.3)", init.slots);
            return out.fail(asked, Code::Invalid, text);
        }
        let seat = Arc::new(Seat {
            r#match: init.r#match,
            seat: init.seat,
            spec: init.spec,
            lookahead: init.lookahead,
        });
        match guarded(|| agent.init(&seat)) {
            Ok(()) if init.slots > 0 => {
                let group = self.groups.entry((key.0, number)).or_default();
                group.slots = init.slots as usize;
                group.seats.insert(key.1, seat);
            }
            Ok(()) => {
                self.seats.insert(key, (number, seat));
            }
            Err(failure) => {
                let place = format!("{kind} taking a seat");
                let (code, text) = self.told.refusal(&place, &failure);
                out.fail(asked, code, text);
            }
        }
    }

    /// Finds the group of an instance, and its agent.
    fn group(
        &mut self,
        group: i64,
        instance: i64,
    ) -> Result<(&mut AgentGroup, Player<'_>), String> {
        let number = self.resolve(instance).unwrap_or(instance);
        let found = self.groups.get_mut(&(group, number));
        match (found, self.instances.get_mut(&number)) {
            (Some(group), Some(instance)) => Ok((group, instance.player(&mut self.told))),
            _ => Err(format!("instance {instance} has no seat in group {group}")),
        }
    }

    /// Answers a batch of a group.
    fn steps(&mut self, steps: AgentSteps, asked: Asked, out: &mut Outbox) {
        match self.group(steps.r#match, steps.instance) {
            Ok((group, mut player)) => {
                out.forget(std::mem::replace(&mut group.before, asked.seq));
                if let Some(text) = player.failed.take() {
                    return out.fail(asked, Code::Crashed, text);
                }
                let actions = group.steps(steps, &mut player);
                out.batch(asked, player.told, player.kind, actions);
            }
            Err(text) => out.fail(asked, Code::Unknown, text),
        }
    }

    fn ends(&mut self, ends: messages::Ends, asked: Asked, out: &mut Outbox) {
        if let Ok((group, mut player)) = self.group(ends.r#match, ends.instance) {
            if let Err(failure) = group.ends(ends, &mut player) {
                out.fail(asked, Code::Invalid, crate::error::line(&failure));
            }
        }
    }

    /// Asks an agent for something, and answers with that.
    fn request<M: Field>(
        &mut self,
        asked: Asked,
        (number, verb): (i64, &str),
        out: &mut Outbox,
        request: impl FnOnce(&mut dyn Agent) -> Result<M, Failure>,
    ) {
        let found = self.resolve(number).unwrap_or(number);
        let (place, answer) = match self.instances.get_mut(&found) {
            Some(Instance {
                kind,
                agent,
                failed,
            }) => {
                if let Some(text) = failed.take() {
                    if verb == "cleanup" {
                        self.told.cleanup(kind, || agent.cleanup());
                    }
                    return out.fail(asked, Code::Crashed, text);
                }
                let answer = guarded(|| request(agent.as_mut()));
                (format!("{kind} in {verb}"), answer)
            }
            None => (
                String::new(),
                Err(format!("there is no agent {number}").into()),
            ),
        };
        out.settle(asked, &mut self.told, &place, answer);
    }

    fn create(&mut self, create: Create) -> Result<Reply, Failure> {
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
            .insert(create.instance, Instance::new(kind, agent));
        Ok(Reply::new(create.id, Value::Nil))
    }

    /// Forgets a session that is over: every seat hears the end.
    fn reset(&mut self) {
        let playing = self.playing.iter().map(|(key, play)| messages::End {
            episode: key.0,
            seat: key.1,
            r#match: play.seat.r#match,
            reason: Reason::Disconnected,
            mode: play.mode,
            ..messages::End::default()
        });
        for end in playing.collect::<Vec<_>>() {
            self.end(end);
        }
        for ((_, number), mut group) in std::mem::take(&mut self.groups) {
            if let Some(instance) = self.instances.get_mut(&number) {
                group.close(&mut instance.player(&mut self.told));
            }
        }
        self.seats.clear();
        let single = self.instances.remove(&SINGLE);
        for Instance { kind, agent, .. } in self.instances.values_mut() {
            self.told.cleanup(kind, || agent.cleanup());
        }
        self.instances.clear();
        let single = single.map(|Instance { kind, agent, .. }| Instance::new(kind, agent));
        self.instances.extend(single.map(|single| (SINGLE, single)));
    }

    fn message(&mut self, message: ToAgent, asked: Asked, out: &mut Outbox) {
        match message {
            ToAgent::Step(step) => self.decide(step, false, asked, out),
            ToAgent::Start(start) => self.start(start, asked, out),
            ToAgent::End(end) => self.end(end),
            ToAgent::Init(init) => self.init(init, asked, out),
            ToAgent::Steps(steps) => self.steps(steps, asked, out),
            ToAgent::Ends(ends) => self.ends(ends, asked, out),
            ToAgent::Leave(leave) => {
                self.seats.retain(|key, _| key.0 != leave.r#match);
                self.groups.retain(|key, _| key.0 != leave.r#match);
            }
            ToAgent::Create(create) => {
                let place = format!("{} in create", create.agent);
                let answer = self.create(create);
                out.settle(asked, &mut self.told, &place, answer);
            }
            ToAgent::Save(save) => self.request(asked, (save.instance, "save"), out, |agent| {
                Ok(Saved {
                    id: save.id,
                    state: agent.save()?,
                    ..Saved::default()
                })
            }),
            ToAgent::Load(load) => {
                self.request(asked, (load.instance, "load"), out, |agent| {
                    agent.load(&load.state)?;
                    Ok(Reply::new(load.id, Value::Nil))
                });
                let number = self.resolve(load.instance);
                let groups = self.groups.iter_mut();
                groups
                    .filter(|(key, _)| Some(key.1) == number)
                    .for_each(|(_, group)| group.reopen());
            }
            ToAgent::Message(message) => {
                self.request(asked, (message.instance, "message"), out, |agent| {
                    let body = agent.message(message.body.open()?)?;
                    Ok(Reply::new(message.id, body))
                });
            }
            ToAgent::Cleanup(cleanup) => {
                self.request(asked, (cleanup.instance, "cleanup"), out, |agent| {
                    agent.cleanup();
                    Ok(Reply::new(cleanup.id, Value::Nil))
                });
                self.instances.remove(&cleanup.instance);
            }
            ToAgent::Reply(reply) => self.answered(reply.id, Ok(reply.body), out),
            #[allow(unreachable_patterns)] // until the contract has a message that it does not know
            _ => {}
        }
    }
}

impl Host for AgentHost {
    type Incoming = ToAgent;

    fn handle(&mut self, event: Event<ToAgent>, out: &mut Outbox) {
        match event {
            Event::Message(message, asked) => self.message(message, asked, out),
            Event::Repeated(seq) => out.repeat(seq),
            Event::Welcome(welcome) if welcome.resumed => {
                let questions = self.thoughts.values();
                questions.for_each(|thought| out.push(thought.question.clone()));
            }
            Event::Welcome(_) => self.reset(),
            Event::Error(error) => {
                if let Some(id) = error.id {
                    self.answered(id, Err(error.message.into()), out);
                }
            }
        }
    }
}
