//! The seats of an agent in a group (SPEC.md, Stacked turns).

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::{Agent, Decision, End, Seat};
use crate::columns::{of, part, read, read_any, read_wide, row, values};
use crate::error::{guarded, Failure, ProtocolError, Told};
use crate::messages::{self, Actions, AgentSteps, Code, Fault, Mode, Reason};
use crate::seeds::Random;
use crate::value::{Map, Value};
use crate::vector::{Ends, Masks, Rows};

/// In a column of actions: an answer that is not an action number, and so not legal.
const NO_NUMBER: i64 = i64::MIN;

/// A seat's episode in a slot.
struct Play {
    episode: i64,
    seed: u64,
    mode: Mode,
    random: Random,
}

/// The seats of an instance in a group.  An agent without columns gets its decisions one by one.
#[derive(Default)]
pub(crate) struct AgentGroup {
    pub(crate) seats: BTreeMap<usize, Arc<Seat>>,
    pub(crate) slots: usize,
    /// The number of the frame that was answered last.
    pub(crate) before: u64,
    /// By slot and seat.
    plays: BTreeMap<(i32, i32), Play>,
    /// The agent's memory, if it takes columns.
    memory: Option<Box<dyn Any + Send>>,
    opened: bool,
}

/// An agent in a group, and who hears of its failures.
pub(crate) struct Player<'a> {
    pub(crate) kind: &'a str,
    pub(crate) agent: &'a mut dyn Agent,
    /// How it failed at an end, until its next answer tells of it.
    pub(crate) failed: &'a mut Option<String>,
    pub(crate) told: &'a mut Told,
}

impl Player<'_> {
    fn hears(&mut self, end: impl FnOnce(&mut dyn Agent) -> Result<(), Failure>) {
        if let Err(failure) = guarded(|| end(self.agent)) {
            let place = format!("{} at the end of an episode", self.kind);
            let text = self.told.crash(&place, &failure);
            self.failed.get_or_insert(text);
        }
    }
}

impl AgentGroup {
    /// The agent is another one: it has loaded a state.
    pub(crate) fn reopen(&mut self) {
        self.opened = false;
    }

    /// Opens the group, unless it is open; says whether the agent takes columns.
    fn open(&mut self, agent: &mut dyn Agent) -> Result<bool, Failure> {
        if !self.opened {
            self.memory = guarded(|| agent.open_group(&self.seats, self.slots))?;
            self.opened = true;
        }
        Ok(self.memory.is_some())
    }

    /// Answers a batch of decisions.
    pub(crate) fn steps(
        &mut self,
        message: AgentSteps,
        player: &mut Player<'_>,
    ) -> Result<Actions, Failure> {
        let mut answer = Actions {
            r#match: message.r#match,
            instance: message.instance,
            batch: message.batch,
            ..Actions::default()
        };
        let rows = self.rows(message)?;
        answer.slots = of(&rows.slots)?;
        answer.seats = of(&rows.seats)?;
        let columns = self.open(player.agent)?;
        let actions = match &mut self.memory {
            Some(memory) if columns => guarded(|| player.agent.step_rows(&rows, memory.as_mut()))?,
            _ => self.decide(&rows, player, &mut answer)?,
        };
        let (found, wanted) = (actions.len(), rows.slots.len());
        if found != wanted {
            return Err(format!("{found} actions for {wanted} decisions").into());
        }
        answer.actions = of(&actions)?;
        Ok(answer)
    }

    fn rows(&self, message: AgentSteps) -> Result<Rows, ProtocolError> {
        let slots: Vec<i32> = read("slots", message.slots, None)?;
        let count = slots.len();
        let starts: Vec<i32> = read("starts", message.starts, None)?;
        let first = Some(starts.len());
        let (bits, width) = read_wide("legal", message.legal, count)?;
        let rewards = read_any("rewards", message.rewards, count)?;
        let rows = Rows {
            seats: read("seats", message.seats, Some(count))?,
            turns: read("turns", message.turns, Some(count))?,
            observations: values("observations", message.observations, count)?,
            legal: Masks { width, bits },
            rewards: rewards.unwrap_or_else(|| vec![0.0; count]),
            episodes: read("episodes", message.episodes, first)?,
            seeds: read("seeds", message.seeds, first)?,
            slots,
            starts,
            mode: message.mode,
            clock: message.clock,
            afterstates: message.afterstates.open()?,
        };
        if let Some(row) = rows
            .starts
            .iter()
            .find(|row| !(0..count as i32).contains(row))
        {
            let text = format!("`starts` names row {row} of {count}");
            return Err(ProtocolError::invalid(text));
        }
        if let Some(seat) = rows.seats.iter().find(|seat| self.seat(**seat).is_none()) {
            let text = format!("`seats` has {seat}, which this instance does not hold");
            return Err(ProtocolError::invalid(text));
        }
        Ok(rows)
    }

    fn seat(&self, number: i32) -> Option<&Arc<Seat>> {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.seats.get(&number))
    }

    /// Has the agent answer one decision after the other.
    fn decide(
        &mut self,
        rows: &Rows,
        player: &mut Player<'_>,
        answer: &mut Actions,
    ) -> Result<Vec<i64>, Failure> {
        let mut first = vec![false; rows.slots.len()];
        for (index, row) in rows.starts.iter().map(|row| *row as usize).enumerate() {
            first[row] = true;
            let play = Play {
                episode: rows.episodes[index],
                seed: rows.seeds[index],
                mode: rows.mode,
                random: Random::new(rows.seeds[index]),
            };
            self.plays.insert((rows.slots[row], rows.seats[row]), play);
        }
        let mut actions = vec![NO_NUMBER; rows.slots.len()];
        let mut after = 0;
        let mut measures = Vec::new();
        for (index, first) in first.into_iter().enumerate() {
            let (slot, number) = (rows.slots[index], rows.seats[index]);
            let seat = self.seat(number).cloned();
            let (Some(play), Some(seat)) = (self.plays.get_mut(&(slot, number)), seat) else {
                let text = format!("no episode has begun in slot {slot}, seat {number}");
                return Err(ProtocolError::invalid(text).into());
            };
            let legal = (!rows.legal.is_empty()).then(|| rows.legal.actions(index));
            let mut decision = Decision {
                seat,
                episode: play.episode,
                turn: i64::from(rows.turns[index]),
                observation: row(&rows.observations, index)?,
                legal,
                reward: rows.rewards[index],
                mode: play.mode,
                afterstates: Value::Nil,
                text: None,
                scene: Value::Nil,
                clock: rows.clock.clone(),
                seed: play.seed as i64,
                random: play.random.clone(),
                think: false,
                thoughts: None,
                measures: BTreeMap::new(),
                resigned: false,
            };
            if let (Some(legal), false) = (&decision.legal, rows.afterstates == Value::Nil) {
                decision.afterstates = part(&rows.afterstates, after, legal.len())?;
                after += legal.len();
            }
            let acted = guarded(|| match first {
                true => player.agent.start(&mut decision),
                false => player.agent.step(&mut decision),
            });
            match acted {
                Ok(action) => {
                    if decision.resigned {
                        answer.resigns.push(index as i64);
                    } else {
                        actions[index] = action.as_i64().unwrap_or(NO_NUMBER);
                    }
                    play.random = decision.random;
                    if !decision.measures.is_empty() {
                        let measured = decision.measures.into_iter();
                        let measured = measured.map(|(name, value)| (name, Value::Float(value)));
                        measures.resize(index, Value::Map(Map::new()));
                        measures.push(Value::Map(measured.collect()));
                    }
                }
                Err(failure) => {
                    let place = format!("{} in turn {}", player.kind, decision.turn);
                    answer.faults.push(Fault {
                        slot: slot as u64,
                        code: Code::Crashed.as_str().to_owned(),
                        message: player.told.crash(&place, &failure),
                        seat: Some(number as usize),
                    });
                }
            }
        }
        if !measures.is_empty() {
            measures.resize(actions.len(), Value::Map(Map::new()));
            answer.measures = Value::Array(measures);
        }
        Ok(actions)
    }

    /// Hears which seats' episodes are over.
    pub(crate) fn ends(
        &mut self,
        message: messages::Ends,
        player: &mut Player<'_>,
    ) -> Result<(), Failure> {
        let slots: Vec<i32> = read("slots", message.slots, None)?;
        let count = slots.len();
        if message.reasons.len() != count {
            return Err(ProtocolError::invalid("`reasons` has another length").into());
        }
        let (outcomes, width) = read_wide("outcomes", message.outcomes, count)?;
        let ends = Ends {
            seats: read("seats", message.seats, Some(count))?,
            episodes: read("episodes", message.episodes, Some(count))?,
            rewards: read("rewards", message.rewards, Some(count))?,
            totals: read("totals", message.totals, Some(count))?,
            decisions: read("decisions", message.decisions, Some(count))?,
            reasons: message.reasons,
            outcomes,
            blames: read_any("blames", message.blames, count)?.unwrap_or_default(),
            observations: values("observations", message.observations, count)?,
            mode: message.mode,
            slots,
        };
        if self.open(player.agent)? {
            if let Some(memory) = &mut self.memory {
                player.hears(|agent| agent.end_rows(&ends, memory.as_mut()));
            }
            return Ok(());
        }
        for index in 0..count {
            self.plays.remove(&(ends.slots[index], ends.seats[index]));
            let Some(seat) = self.seat(ends.seats[index]).cloned() else {
                continue;
            };
            let outcome = &ends.outcomes[index * width..][..width];
            let blame = ends.blames.get(index).copied().unwrap_or(-1);
            let end = End {
                seat,
                episode: ends.episodes[index],
                reward: ends.rewards[index],
                observation: row(&ends.observations, index)?,
                outcome: outcome
                    .first()
                    .is_some_and(|score| !score.is_nan())
                    .then(|| outcome.to_vec()),
                reason: ends.reasons[index],
                blame: usize::try_from(blame).ok(),
                total: ends.totals[index],
                decisions: i64::from(ends.decisions[index]),
                mode: ends.mode,
                text: None,
                scene: Value::Nil,
            };
            player.hears(|agent| agent.end(&end));
        }
        Ok(())
    }

    /// The session is lost: every episode in progress ends.
    pub(crate) fn close(&mut self, player: &mut Player<'_>) {
        for ((_, number), play) in std::mem::take(&mut self.plays) {
            let Some(seat) = self.seat(number).cloned() else {
                continue;
            };
            let end = End {
                seat,
                episode: play.episode,
                reward: 0.0,
                observation: Value::Nil,
                outcome: None,
                reason: Reason::Disconnected,
                blame: None,
                total: 0.0,
                decisions: 0,
                mode: play.mode,
                text: None,
                scene: Value::Nil,
            };
            player.hears(|agent| agent.end(&end));
        }
    }
}
