//! The trait of a player.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Failure;
use crate::messages::{Clock, Mode, Offer, Preview, Reason, Spec, Thoughts, Want};
use crate::options::{schema, FromValue, Options};
use crate::seeds::Random;
use crate::value::Value;
use crate::vector::{Ends, Rows};

/// A seat that an agent has taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Seat {
    /// The match.
    pub r#match: i64,
    /// Its number, from 0.
    pub seat: usize,
    /// The environment's spec.
    pub spec: Spec,
    /// True if the agent may look ahead.
    pub lookahead: bool,
}

/// A decision that one seat owes in one turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The seat.
    pub seat: Arc<Seat>,
    /// The broker's number of the episode.
    pub episode: i64,
    /// The number of the turn in the episode.
    pub turn: i64,
    /// The seat's observation.
    pub observation: Value,
    /// The legal actions in rising order; `None`: whatever the action space contains.
    pub legal: Option<Vec<i64>>,
    /// The seat's reward since its last decision.
    pub reward: f64,
    /// True if the agent may change.
    pub mode: Mode,
    /// If wanted: an array with one row per legal action, the seat's observation after it.
    pub afterstates: Value,
    /// If wanted: the position as text.
    pub text: Option<String>,
    /// If wanted: the position as a scene to draw.
    pub scene: Value,
    /// The time that the seat has left; `None` if no clock runs.
    pub clock: Option<Clock>,
    /// The seed of the seat's random choices in this episode.
    pub seed: i64,
    /// Random numbers from that seed, one sequence for the whole episode.
    pub random: Random,
    /// True if a watcher may see the `thoughts`; it must not change the action.
    pub think: bool,
    /// The agent's thoughts for watchers, if it sets them; sent only if `think`.
    pub thoughts: Option<Thoughts>,
    /// Measurements since the last answer, such as a loss, if the agent sets them; their means
    /// are in the result of the episode.
    pub measures: BTreeMap<String, f64>,
    /// True if the agent gives the episode up, as `resign` says.
    pub(crate) resigned: bool,
}

impl Decision {
    /// Gives up the episode, whatever is returned: the seat loses.  `step` may end with
    /// `decision.resign()`.
    ///
    /// # Errors
    /// None.
    pub fn resign(&mut self) -> Result<Value, Failure> {
        self.resigned = true;
        Ok(Value::Nil)
    }

    /// A legal action drawn at random.
    ///
    /// # Errors
    /// The environment sent neither legal actions nor an action space.
    pub fn any(&mut self) -> Result<Value, Failure> {
        if let Some(legal) = &self.legal {
            let action = self.random.choose(legal).ok_or("no action is legal")?;
            return Ok(Value::Int(*action));
        }
        let space = self.seat.spec.action_space(self.seat.seat);
        let space = space.ok_or("the environment tells no action space")?;
        Ok(space.sample(&mut self.random))
    }
}

/// The end of an episode for a seat.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The seat.
    pub seat: Arc<Seat>,
    /// The broker's number of the episode.
    pub episode: i64,
    /// The seat's reward since its last decision.
    pub reward: f64,
    /// The last position as the seat sees it.
    pub observation: Value,
    /// A score per seat: 1 won, 0 lost.
    pub outcome: Option<Vec<f64>>,
    /// The reason for the end.
    pub reason: Reason,
    /// The seat at fault, if any.
    pub blame: Option<usize>,
    /// All rewards of the episode.
    pub total: f64,
    /// The seat's number of decisions.
    pub decisions: i64,
    /// True if the agent may change.
    pub mode: Mode,
    /// If wanted: the last position as text.
    pub text: Option<String>,
    /// If wanted: the last position as a scene to draw.
    pub scene: Value,
}

/// A question to the environment: the positions that sequences of actions lead to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lookahead {
    /// Sequences of actions; at each point one action for each seat to act.
    pub lines: Vec<Vec<Vec<Value>>>,
    /// The seed of hidden information and chance.
    pub seed: i64,
}

/// A player.  Only `step` is required.
///
/// An error, or a panic, of any of these is reported to the broker and ends nothing but what it
/// is about.
pub trait Agent: Send {
    /// Takes a seat of a match.
    ///
    /// # Errors
    /// It cannot play this game; the text says why.
    fn init(&mut self, seat: &Seat) -> Result<(), Failure> {
        let _ = seat;
        Ok(())
    }

    /// Makes the first decision of an episode.
    ///
    /// # Errors
    /// It failed; the episode ends as `crashed`.
    fn start(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        self.step(decision)
    }

    /// Makes a decision: a legal action, or a value of the action space if `legal` is `None`.
    ///
    /// # Errors
    /// It failed; the episode ends as `crashed`.
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure>;

    /// Asks the environment before a decision, if `decision.seat.lookahead` allows it.
    ///
    /// It is called with no answer at first and then with each answer, until it asks no more;
    /// then comes `start` or `step`.
    ///
    /// # Errors
    /// It failed; the episode ends as `crashed`.
    fn ask(
        &mut self,
        decision: &mut Decision,
        answer: Option<Result<Vec<Preview>, Failure>>,
    ) -> Result<Option<Lookahead>, Failure> {
        let _ = (decision, answer);
        Ok(None)
    }

    /// Handles the end of an episode.
    ///
    /// # Errors
    /// It failed.
    fn end(&mut self, end: &End) -> Result<(), Failure> {
        let _ = end;
        Ok(())
    }

    /// Opens a group of so many slots, in each of which the agent holds these seats (SPEC.md,
    /// Stacked turns); returns what the agent keeps of it.
    ///
    /// With a value, its decisions come to `step_rows` and its ends to `end_rows`, as columns.
    /// Without, they come one by one to `start`, `step` and `end`, as in single matches; an agent
    /// must act the same in both.
    ///
    /// # Errors
    /// It failed; all episodes of the batch end as `crashed`.
    fn open_group(
        &mut self,
        seats: &BTreeMap<usize, Arc<Seat>>,
        slots: usize,
    ) -> Result<Option<Box<dyn Any + Send>>, Failure> {
        let _ = (seats, slots);
        Ok(None)
    }

    /// Makes all decisions of a batch: the action number of each row.
    ///
    /// # Errors
    /// It failed; all episodes of the batch end as `crashed`.
    fn step_rows(&mut self, rows: &Rows, memory: &mut dyn Any) -> Result<Vec<i64>, Failure> {
        let _ = (rows, memory);
        Err("this agent does not take columns".into())
    }

    /// Handles the ends of episodes of a group.
    ///
    /// # Errors
    /// It failed.
    fn end_rows(&mut self, ends: &Ends, memory: &mut dyn Any) -> Result<(), Failure> {
        let _ = (ends, memory);
        Ok(())
    }

    /// Answers a message of the experiment.
    ///
    /// # Errors
    /// It cannot.
    fn message(&mut self, body: Value) -> Result<Value, Failure> {
        let _ = body;
        Ok(Value::Nil)
    }

    /// Returns its state as bytes.
    ///
    /// # Errors
    /// It cannot.
    fn save(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(Vec::new())
    }

    /// Continues from a state that `save` returned.
    ///
    /// # Errors
    /// The bytes are not a state of this agent.
    fn load(&mut self, state: &[u8]) -> Result<(), Failure> {
        let _ = state;
        Ok(())
    }

    /// Releases resources; the last call.
    fn cleanup(&mut self) {}
}

type Make = dyn FnMut(&mut Options, i64) -> Result<Box<dyn Agent>, Failure> + Send;

/// An agent type on offer: its name, its options, and how an instance is made.
pub struct AgentType {
    pub(crate) offer: Offer,
    pub(crate) make: Box<Make>,
}

impl AgentType {
    /// An agent type; `make` gets the options, from which it takes what it has, and a seed.
    pub fn new<A: Agent + 'static>(
        name: &str,
        mut make: impl FnMut(&mut Options, i64) -> Result<A, Failure> + Send + 'static,
    ) -> Self {
        let offer = Offer {
            name: name.to_owned(),
            stacked: true,
            ..Offer::default()
        };
        let make = Box::new(move |options: &mut Options, seed: i64| {
            make(options, seed).map(|agent| Box::new(agent) as Box<dyn Agent>)
        });
        Self { offer, make }
    }

    /// One sentence for a person.
    pub fn description(mut self, description: &str) -> Self {
        self.offer.description = description.to_owned();
        self
    }

    /// Adds an option with its default.
    pub fn option<T: FromValue + Into<Value>>(mut self, name: &str, default: T) -> Self {
        self.offer
            .parameters
            .insert(name.to_owned(), schema(default));
        self
    }

    /// Sets the additions that this agent wants in its decisions.
    pub fn wants(mut self, wants: &[Want]) -> Self {
        self.offer.wants = wants.to_vec();
        self
    }

    /// How many episodes one instance plays at once; 0 means any number.
    pub fn capacity(mut self, capacity: u64) -> Self {
        self.offer.capacity = capacity;
        self
    }

    /// The program is this one agent, made at once without options; a run seats it by its name.
    pub fn instance(mut self) -> Self {
        self.offer.instance = true;
        self
    }
}
