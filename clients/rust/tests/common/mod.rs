//! A game and players for the tests, and a real broker to join them.
#![allow(dead_code)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use dovetail::space::Discrete;
use dovetail::{
    map, Agent, AgentType, Decision, Dtype, End, Environment, EnvironmentType, Failure,
    IllegalAction, Legal, Space, Spec, Tensor, Turn, Value, View,
};

/// A broker on a free port of the loopback interface, stopped when it is dropped.
pub struct BrokerProcess {
    child: Child,
    pub address: String,
}

impl BrokerProcess {
    /// Starts one; nothing, with a word about it, if there is no `dovetail` to start.
    pub fn start() -> Option<Self> {
        let command = std::env::var("DOVETAIL").unwrap_or_else(|_| "dovetail".to_owned());
        let child = Command::new(&command)
            .args(["broker", "--bind", "tcp://127.0.0.1:*", "--journal", "none"])
            // A program that goes without a word is kept for longer than a test waits for anything.
            .args(["--grace", "60"])
            .env_remove("DOVETAIL_TOKEN")
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                eprintln!("skipped: no broker ({command}: {error}); set DOVETAIL to the command");
                return None;
            }
        };
        let mut line = String::new();
        let out = child.stdout.take().expect("its output is piped");
        BufReader::new(out)
            .read_line(&mut line)
            .expect("the broker says where it is");
        let address = line
            .trim()
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        assert!(address.starts_with("tcp://127.0.0.1:"), "{line:?}");
        Some(Self { child, address })
    }
}

impl Drop for BrokerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nim: seats take one or two in turn from a heap, and who takes the last wins.
#[derive(Clone)]
pub struct Nim {
    heap: i64,
    left: i64,
    mover: usize,
    pub steps: i64,
}

impl Nim {
    pub fn kind(name: &str) -> EnvironmentType {
        EnvironmentType::new(name, |options| {
            let heap = options.take("heap", 5i64)?;
            Ok(Nim {
                heap,
                left: 0,
                mover: 0,
                steps: 0,
            })
        })
        .option("heap", 5i64)
    }

    fn view(&self, seat: usize, reward: f64) -> View {
        View {
            seat,
            observation: Tensor::new(&[1], &[self.left]).expect("one element").into(),
            legal: (seat == self.mover && self.left > 0)
                .then(|| Legal::List((1..=self.left.min(2)).collect())),
            reward,
            ..View::default()
        }
    }
}

impl Environment for Nim {
    fn init(&mut self) -> Result<Spec, Failure> {
        if self.heap < 1 {
            return Err("option 'heap' must be at least 1".into());
        }
        Ok(Spec {
            seats: 2,
            observation_spaces: vec![Space::array(&[1], 0, self.heap, Dtype::Int64)],
            action_spaces: vec![Space::Discrete(Discrete {
                n: 2,
                start: 1,
                ..Discrete::default()
            })],
            reward_range: Some((-1.0, 1.0)),
            ..Spec::default()
        })
    }

    fn start(&mut self, _seed: i64) -> Result<Turn, Failure> {
        self.left = self.heap;
        self.mover = 0;
        Ok(Turn {
            to_act: vec![0],
            seats: vec![self.view(0, 0.0)],
            ..Turn::default()
        })
    }

    fn step(&mut self, actions: Vec<(usize, Value)>) -> Result<Turn, Failure> {
        self.steps += 1;
        let taken = actions[0].1.as_i64().unwrap_or(0);
        if !(1..=self.left.min(2)).contains(&taken) {
            return Err(IllegalAction::new(format!("{taken} cannot be taken"), self.mover).into());
        }
        self.left -= taken;
        let winner = self.mover;
        self.mover = 1 - self.mover;
        if self.left > 0 {
            return Ok(Turn {
                to_act: vec![self.mover],
                seats: vec![self.view(self.mover, 0.0)],
                ..Turn::default()
            });
        }
        let sign = |seat| if seat == winner { 1.0 } else { -1.0 };
        Ok(Turn {
            seats: (0..2).map(|seat| self.view(seat, sign(seat))).collect(),
            terminated: true,
            outcome: Some(
                (0..2)
                    .map(|seat| f64::from(u8::from(seat == winner)))
                    .collect(),
            ),
            ..Turn::default()
        })
    }

    fn text(&mut self, _seat: Option<usize>) -> String {
        format!("{} left", self.left)
    }

    fn fork(&self, _seat: usize, _seed: i64) -> Option<Box<dyn Environment>> {
        Some(Box::new(self.clone()))
    }

    fn message(&mut self, body: Value) -> Result<Value, Failure> {
        match body.as_str() {
            Some("steps") => Ok(self.steps.into()),
            _ => Err("ask for 'steps'".into()),
        }
    }
}

/// A player that counts what happens to it.
#[derive(Default)]
pub struct Counter {
    asks: bool,
    pub decisions: i64,
    pub ends: i64,
    pub lost: i64,
    pub total: f64,
}

impl Counter {
    pub fn kind(name: &str) -> AgentType {
        AgentType::new(name, |options, _seed| {
            let asks = options.take("asks", false)?;
            Ok(Counter {
                asks,
                ..Counter::default()
            })
        })
        .option("asks", false)
        .capacity(0)
    }
}

impl Agent for Counter {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        self.decisions += 1;
        decision.any()
    }

    fn ask(
        &mut self,
        decision: &mut Decision,
        answer: Option<Result<Vec<dovetail::messages::Preview>, Failure>>,
    ) -> Result<Option<dovetail::Lookahead>, Failure> {
        if !self.asks {
            return Ok(None);
        }
        let legal = decision.legal.clone().unwrap_or_default();
        match answer {
            None => Ok(Some(dovetail::Lookahead {
                lines: legal
                    .iter()
                    .map(|action| vec![vec![(*action).into()]])
                    .collect(),
                seed: 0,
            })),
            Some(previews) => {
                // Only what wins at once is left, if anything does.
                let seat = decision.seat.seat;
                let wins = previews?
                    .into_iter()
                    .zip(&legal)
                    .filter(|(preview, _)| preview.terminated && preview.rewards[seat] == 1.0);
                let wins: Vec<i64> = wins.map(|(_, action)| *action).collect();
                if !wins.is_empty() {
                    decision.legal = Some(wins);
                }
                Ok(None)
            }
        }
    }

    fn end(&mut self, end: &End) -> Result<(), Failure> {
        self.ends += 1;
        self.total += end.total;
        if end.reason == dovetail::Reason::Disconnected {
            self.lost += 1;
        }
        Ok(())
    }

    fn message(&mut self, body: Value) -> Result<Value, Failure> {
        match body.as_str() {
            Some("fail") => Err("told to fail".into()),
            Some("panic") => panic!("told to panic"),
            _ => Ok(map! {
                "decisions" => self.decisions, "ends" => self.ends, "lost" => self.lost,
                "total" => self.total,
            }
            .into()),
        }
    }

    fn save(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(self.decisions.to_le_bytes().to_vec())
    }

    fn load(&mut self, state: &[u8]) -> Result<(), Failure> {
        let state = state.try_into().map_err(|_| "no state of a counter")?;
        self.decisions = i64::from_le_bytes(state);
        Ok(())
    }
}
