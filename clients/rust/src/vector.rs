//! Many episodes of one game at once, arrays in and arrays out: the columns of SPEC.md, Stacked turns.

use crate::error::Failure;
use crate::messages::{Clock, Fault, Mode, Reason, Spec};
use crate::space::Legal;
use crate::value::Value;

/// The state of a slot, in [`Transitions::over`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// The episode continues.
    #[default]
    Continues,
    /// It is over by the rules.
    Terminated,
    /// It was cut short.
    Truncated,
    /// The rules failed, or refused an action; `faults` says what went wrong.
    Failed,
}

/// A bit mask of legal actions in each row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    /// Bytes of a row.
    pub width: usize,
    /// Row by row: action `a` is bit `a % 8` of byte `a / 8`.  Without any, every action of the
    /// space is legal.
    pub bits: Vec<u8>,
}

impl Masks {
    /// True if there are none: every action of the space is legal.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// The legal actions of a row, in rising order.
    pub fn actions(&self, row: usize) -> Vec<i64> {
        Legal::Mask(self.bits[row * self.width..][..self.width].to_vec()).into_list()
    }
}

/// The result of the last transition of some slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transitions {
    /// The slot of each seat that must act, rising.
    pub rows: Vec<i32>,
    /// The seat of each row; seats of one slot are adjacent and rising.
    pub seats: Vec<i32>,
    /// A tensor [rows, ...], or an array of one value per row: what each of them observes.
    pub observations: Value,
    /// The legal actions of each row.
    pub legal: Masks,
    /// [slots, seats]: each seat's reward; empty if all are 0.
    pub rewards: Vec<f64>,
    /// [slots]; empty if all continue.
    pub over: Vec<Over>,
    /// A tensor [ended, seats, ...], or an array of arrays: the last observations of terminated
    /// and truncated slots.
    pub finals: Value,
    /// [ended, seats]: their scores, NaN for none; empty if there are none.
    pub outcomes: Vec<f64>,
    /// [ended, seats]: 1 if a limit cut the seat short, 0 if the rules ended it; empty is as `over` says.
    pub truncated: Vec<u8>,
    /// If asked for: one row for each legal action, row by row.
    pub afterstates: Value,
    /// The errors of the failed slots, in slot order.
    pub faults: Vec<Fault>,
}

/// Episodes of one game in numbered slots.
///
/// `start` and `step` change slots, `transitions` then says what it led to; both calls together
/// name each slot once at most.  A game must play here exactly as its
/// [`Environment`](crate::Environment) does.  An error, or a panic, ends all episodes of a batch.
pub trait VectorEnvironment: Send {
    /// Says what seats can expect; called once, before anything else.
    ///
    /// # Errors
    /// The configuration is invalid; the text names the option.
    fn init(&mut self) -> Result<Spec, Failure>;

    /// Begins an episode in each of some slots, which are rising, dropping those in progress there.
    ///
    /// # Errors
    /// The rules failed.
    fn start(&mut self, slots: &[i32], seeds: &[u64]) -> Result<(), Failure>;

    /// Applies the actions of all seats that had to act in some slots, row by row; they are legal
    /// by the masks.
    ///
    /// # Errors
    /// The rules failed.
    fn step(&mut self, slots: &[i32], seats: &[i32], actions: &[i64]) -> Result<(), Failure>;

    /// Returns the result of the last `start` or `step` of some slots, in rising order.
    ///
    /// # Errors
    /// The rules failed.
    fn transitions(&mut self, slots: &[i32], afterstates: bool) -> Result<Transitions, Failure>;

    /// Releases resources; the last call.
    fn cleanup(&mut self) {}
}

/// Decisions of a group, one in each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The slot of each, rising.
    pub slots: Vec<i32>,
    /// Its seat.
    pub seats: Vec<i32>,
    /// Its turn.
    pub turns: Vec<i32>,
    /// A tensor [rows, ...], or an array of one value per row.
    pub observations: Value,
    /// The legal actions of each.
    pub legal: Masks,
    /// Each seat's reward since its last decision.
    pub rewards: Vec<f64>,
    /// Which rows are the first of their seat in an episode.
    pub starts: Vec<i32>,
    /// The numbers of these episodes.
    pub episodes: Vec<i64>,
    /// The seeds of random choices in each of these episodes.
    pub seeds: Vec<u64>,
    /// True if the agent may change.
    pub mode: Mode,
    /// The clock of each decision; nothing if none runs.
    pub clock: Option<Clock>,
    /// If wanted: one row for each legal action, row by row.
    pub afterstates: Value,
}

/// Ends of episodes, one of a seat in each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    /// The slot of each.
    pub slots: Vec<i32>,
    /// Its seat.
    pub seats: Vec<i32>,
    /// The number of the episode.
    pub episodes: Vec<i64>,
    /// Each seat's reward since its last decision.
    pub rewards: Vec<f64>,
    /// All rewards of the episode.
    pub totals: Vec<f64>,
    /// How many decisions each seat had.
    pub decisions: Vec<i32>,
    /// Why each is over.
    pub reasons: Vec<Reason>,
    /// [ended, seats]: the scores, NaN for none; empty if there are none.
    pub outcomes: Vec<f64>,
    /// The seat at fault, -1 for none; empty if none is anywhere.
    pub blames: Vec<i32>,
    /// A tensor [ended, ...], or an array of one value each; nil if there are none.
    pub observations: Value,
    /// True if the agent may change.
    pub mode: Mode,
}
