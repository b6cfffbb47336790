//! The trait of a game's rules.

use crate::error::Failure;
use crate::messages::{Offer, Spec, Turn};
use crate::options::{schema, FromValue, Options};
use crate::value::Value;
use crate::vector::VectorEnvironment;

/// The rules of a game, made for one match.
///
/// An error, or a panic, of any of these is reported to the broker and ends nothing but what it
/// is about.
pub trait Environment: Send {
    /// Returns the spec of the game; called once, before any episode.
    ///
    /// # Errors
    /// The configuration is invalid; the text names the option.
    fn init(&mut self) -> Result<Spec, Failure>;

    /// Begins an episode, dropping one in progress: a turn with `to_act`, and a view of each seat
    /// in it.
    ///
    /// # Errors
    /// The rules failed.
    fn start(&mut self, seed: i64) -> Result<Turn, Failure>;

    /// Applies the actions of all seats that had to act, by seat.
    ///
    /// # Errors
    /// An [`IllegalAction`](crate::IllegalAction), after which the episode must be as before;
    /// any other error is a fault of the rules.
    fn step(&mut self, actions: Vec<(usize, Value)>) -> Result<Turn, Failure>;

    /// Returns one row per legal action of `seat`: its observation after it.
    ///
    /// # Errors
    /// This environment cannot say.
    fn afterstates(&mut self, seat: usize) -> Result<Value, Failure> {
        let _ = seat;
        Err("this environment gives no afterstates".into())
    }

    /// Returns the position as text, as `seat` may see it; for `None`, the public position.
    fn text(&mut self, seat: Option<usize>) -> String {
        let _ = seat;
        String::new()
    }

    /// Returns the position as a scene to draw, visible as for `text`.
    fn scene(&mut self, seat: Option<usize>) -> Value {
        let _ = seat;
        Value::Nil
    }

    /// Returns an independent copy of the episode as `seat` knows it; hidden information and future
    /// chance are drawn from `seed`.  `None`: this environment does not support lookahead.
    fn fork(&self, seat: usize, seed: i64) -> Option<Box<dyn Environment>> {
        let _ = (seat, seed);
        None
    }

    /// Answers a message of the experiment.
    ///
    /// # Errors
    /// It cannot.
    fn message(&mut self, body: Value) -> Result<Value, Failure> {
        let _ = body;
        Ok(Value::Nil)
    }

    /// Releases resources; the last call.
    fn cleanup(&mut self) {}
}

type Make = dyn FnMut(&mut Options) -> Result<Box<dyn Environment>, Failure> + Send;
type MakeVector =
    dyn FnMut(&mut Options, usize) -> Result<Box<dyn VectorEnvironment>, Failure> + Send;

/// An environment on offer: its name, its options, and how one is made for a match.
pub struct EnvironmentType {
    pub(crate) offer: Offer,
    pub(crate) make: Box<Make>,
    pub(crate) vector: Option<Box<MakeVector>>,
}

impl EnvironmentType {
    /// An environment; `make` gets the options, from which it takes what it has.
    pub fn new<E: Environment + 'static>(
        name: &str,
        mut make: impl FnMut(&mut Options) -> Result<E, Failure> + Send + 'static,
    ) -> Self {
        let offer = Offer {
            name: name.to_owned(),
            stacked: true,
            ..Offer::default()
        };
        let make = Box::new(move |options: &mut Options| {
            make(options).map(|made| Box::new(made) as Box<dyn Environment>)
        });
        Self {
            offer,
            make,
            vector: None,
        }
    }

    /// The same game for groups (SPEC.md, Stacked turns): `make` gets the options and the number of
    /// slots.  Without it a group plays a copy of the environment in each slot.
    pub fn vector<E: VectorEnvironment + 'static>(
        mut self,
        mut make: impl FnMut(&mut Options, usize) -> Result<E, Failure> + Send + 'static,
    ) -> Self {
        self.vector = Some(Box::new(move |options, slots| {
            make(options, slots).map(|made| Box::new(made) as Box<dyn VectorEnvironment>)
        }));
        self
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

    /// The possible numbers of seats.
    pub fn seats(mut self, seats: &[usize]) -> Self {
        self.offer.seats = Some(seats.to_vec());
        self
    }
}
