//! A group of an environment (SPEC.md, Stacked turns).

use crate::columns::{of, read};
use crate::copies::Copies;
use crate::environment::EnvironmentType;
use crate::error::{Failure, ProtocolError, Told};
use crate::messages::{Code, EnvironmentSteps, Open, Spec, Turns};
use crate::options::Options;
use crate::tensor::Tensor;
use crate::value::Value;
use crate::vector::{Over, VectorEnvironment};

/// The episodes of one group.
pub(crate) struct EnvironmentGroup {
    pub(crate) name: String,
    /// The number of the frame that was answered last.
    pub(crate) before: u64,
    pub(crate) game: Box<dyn VectorEnvironment>,
    slots: usize,
    seats: usize,
    afterstates: bool,
}

impl EnvironmentGroup {
    /// Makes the game, and lets it describe itself.
    pub(crate) fn open(kind: &mut EnvironmentType, open: Open) -> Result<(Self, Spec), Failure> {
        let slots = open.slots as usize;
        let mut game: Box<dyn VectorEnvironment> = match &mut kind.vector {
            Some(make) => {
                let mut options = Options::new(open.configuration);
                let made = make(&mut options, slots)?;
                options.finish()?;
                made
            }
            None => {
                let mut made = Vec::with_capacity(slots);
                for _ in 0..slots {
                    let mut options = Options::new(open.configuration.clone());
                    made.push((kind.make)(&mut options)?);
                    options.finish()?;
                }
                Box::new(Copies::new(&open.environment, made))
            }
        };
        let spec = game.init()?;
        let group = Self {
            name: open.environment,
            before: 0,
            game,
            slots,
            seats: spec.seats,
            afterstates: open.afterstates,
        };
        Ok((group, spec))
    }

    /// Plays a batch.
    pub(crate) fn steps(
        &mut self,
        message: EnvironmentSteps,
        told: &mut Told,
    ) -> Result<Turns, Failure> {
        let slots: Vec<i32> = read("slots", message.slots, None)?;
        let count = Some(slots.len());
        let seats: Vec<i32> = read("seats", message.seats, count)?;
        let actions: Vec<i64> = read("actions", message.actions, count)?;
        let restarts: Vec<i32> = read("restarts", message.restarts, None)?;
        let seeds: Vec<u64> = read("seeds", message.seeds, Some(restarts.len()))?;
        let named = self.named(&slots, &restarts)?;
        if !restarts.is_empty() {
            self.game.start(&restarts, &seeds)?;
        }
        if !slots.is_empty() {
            self.game.step(&slots, &seats, &actions)?;
        }
        let found = self.game.transitions(&named, self.afterstates)?;
        let crashed = found.faults.iter();
        for fault in crashed.filter(|fault| fault.code == Code::Crashed.as_str()) {
            told.say(&fault.message);
        }
        let mut turns = Turns {
            r#match: message.r#match,
            batch: message.batch,
            slots: of(&named)?,
            finals: found.finals,
            faults: found.faults,
            ..Turns::default()
        };
        let by_seat = |rows: usize, column: &[f64]| -> Result<Value, ProtocolError> {
            Ok(match column {
                [] => Value::Nil,
                _ => Tensor::new(&[rows, self.seats], column)?.into(),
            })
        };
        turns.rewards = by_seat(named.len(), &found.rewards)?;
        turns.outcomes = by_seat(found.outcomes.len() / self.seats.max(1), &found.outcomes)?;
        if !found.truncated.is_empty() {
            let ended = found.truncated.len() / self.seats.max(1);
            turns.truncated = Tensor::new(&[ended, self.seats], &found.truncated)?.into();
        }
        if !found.over.is_empty() {
            let over = found.over.iter().map(|over| match over {
                Over::Continues => 0u8,
                Over::Terminated => 1,
                Over::Truncated => 2,
                Over::Failed => 3,
            });
            turns.over = of(&over.collect::<Vec<_>>())?;
        }
        if !found.rows.is_empty() {
            turns.rows = of(&found.rows)?;
            turns.seats = of(&found.seats)?;
            turns.observations = found.observations;
            if !found.legal.is_empty() {
                let shape = [found.rows.len(), found.legal.width];
                turns.legal = Tensor::new(&shape, &found.legal.bits)?.into();
            }
            turns.afterstates = found.afterstates;
        }
        Ok(turns)
    }

    /// The slots of a batch, rising; none may be foreign, or act and begin at once.
    fn named(&self, slots: &[i32], restarts: &[i32]) -> Result<Vec<i32>, ProtocolError> {
        let (mut acts, mut begins) = (vec![false; self.slots], vec![false; self.slots]);
        for (column, uses) in [(slots, &mut acts), (restarts, &mut begins)] {
            for slot in column {
                let used = usize::try_from(*slot)
                    .ok()
                    .and_then(|slot| uses.get_mut(slot));
                let text = || format!("slot {slot} is not in 0 .. {}", self.slots - 1);
                *used.ok_or_else(|| ProtocolError::invalid(text()))? = true;
            }
        }
        if let Some(slot) = (0..self.slots).find(|slot| acts[*slot] && begins[*slot]) {
            let text = format!("slot {slot} is in `slots` and in `restarts`");
            return Err(ProtocolError::invalid(text));
        }
        let named = (0..self.slots).filter(|slot| acts[*slot] || begins[*slot]);
        Ok(named.map(|slot| slot as i32).collect())
    }
}
