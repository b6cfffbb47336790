//! Groups without a socket: batches of an environment and of an agent.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dovetail::messages::{
    AgentSteps, Asked, Close, Create, Ends, EnvironmentSteps, Init, Leave, Load, Open, Reason,
    Spec, ToAgent, ToEnvironment, Turn, View, Welcome,
};
use dovetail::session::{Event, Host, Outbox};
use dovetail::vector::{self, Rows};
use dovetail::{
    Agent, AgentHost, AgentType, Decision, Element, End, Environment, EnvironmentHost,
    EnvironmentType, Failure, IllegalAction, Legal, Random, Seat, Space, Tensor, Value,
};

fn column<T: Element>(elements: &[T]) -> Value {
    shaped(&[elements.len()], elements)
}

fn shaped<T: Element>(shape: &[usize], elements: &[T]) -> Value {
    Tensor::new(shape, elements).unwrap().into()
}

fn masks(masks: &[u8]) -> Value {
    shaped(&[masks.len(), 1], masks)
}

/// Returns a host's answer to a message.
fn ask<H: Host>(host: &mut H, message: H::Incoming) -> Option<Value> {
    let mut out = Outbox::default();
    let asked = Asked { seq: 1, id: None };
    host.handle(Event::Message(message, asked), &mut out);
    let mut frames = out.take().into_iter();
    let said = frames.next().map(|frame| Value::decode(&frame).unwrap());
    assert!(frames.next().is_none());
    said
}

fn get<'a>(said: &'a Value, key: &str) -> &'a Value {
    said.get(key).unwrap_or(&Value::Nil)
}

/// Two seats add up to three; seat 1 may do anything.  Action 0 is refused, and action 1 breaks
/// the rules.
#[derive(Default)]
struct Adding {
    sum: i64,
    turns: usize,
}

impl Adding {
    fn turn(&self) -> Turn {
        let seat = self.turns % 2;
        if self.turns < 3 {
            return Turn {
                to_act: vec![seat],
                seats: vec![View {
                    seat,
                    observation: column(&[self.sum, self.turns as i64]),
                    legal: (seat == 0).then(|| Legal::List(vec![1, 2, 3, 4])),
                    ..View::default()
                }],
                ..Turn::default()
            };
        }
        let truncated = self.sum % 2 == 1;
        let views = [(0, Value::Int(self.sum), 0.0), (1, Value::Nil, 0.5)];
        let view = |(seat, observation, reward)| View {
            seat,
            observation,
            reward,
            ..View::default()
        };
        Turn {
            seats: views.map(view).to_vec(),
            truncated,
            terminated: !truncated,
            outcome: (!truncated).then(|| vec![1.0, 0.0]),
            ..Turn::default()
        }
    }
}

impl Environment for Adding {
    fn init(&mut self) -> Result<Spec, Failure> {
        Ok(Spec {
            seats: 2,
            observation_spaces: vec![Space::discrete(5)],
            action_spaces: vec![Space::discrete(5)],
            ..Spec::default()
        })
    }

    fn start(&mut self, seed: i64) -> Result<Turn, Failure> {
        if seed == 13 {
            return Err("thirteen".into());
        }
        (self.sum, self.turns) = (seed, 0);
        Ok(self.turn())
    }

    fn step(&mut self, actions: Vec<(usize, Value)>) -> Result<Turn, Failure> {
        match actions[0].1.as_i64() {
            Some(0) => return Err(IllegalAction::new("zero is not legal", self.turns % 2).into()),
            Some(1) => return Err("one".into()),
            action => self.sum += action.unwrap_or(0),
        }
        self.turns += 1;
        Ok(self.turn())
    }

    fn afterstates(&mut self, seat: usize) -> Result<Value, Failure> {
        let first = if seat == 0 { 1 } else { 0 };
        let sums: Vec<i64> = (first..5).map(|action| self.sum + action).collect();
        Ok(column(&sums))
    }
}

/// A host with group 3 of three slots, and what it reported.
fn playing(afterstates: bool) -> (EnvironmentHost, Arc<Mutex<Vec<String>>>) {
    let failures = Arc::new(Mutex::new(Vec::new()));
    let kept = failures.clone();
    let kind = EnvironmentType::new("adding", |_| Ok(Adding::default()));
    let mut host = EnvironmentHost::new([kind])
        .on_failure(move |line| kept.lock().unwrap().push(line.to_owned()));
    let open = Open {
        r#match: 3,
        environment: "adding".into(),
        slots: 3,
        afterstates,
        ..Open::default()
    };
    let spec = ask(&mut host, ToEnvironment::Open(open)).unwrap();
    assert_eq!(get(&spec, "type").as_str(), Some("spec"));
    assert_eq!(get(&spec, "name").as_str(), Some("adding"));
    (host, failures)
}

/// The answer to a batch of actions of one seat, and of episodes that begin.
fn batch(
    host: &mut EnvironmentHost,
    slots: &[i32],
    seat: i32,
    actions: &[i64],
    begun: &[(i32, u64)],
) -> Value {
    let restarts: Vec<i32> = begun.iter().map(|each| each.0).collect();
    let seeds: Vec<u64> = begun.iter().map(|each| each.1).collect();
    let steps = EnvironmentSteps {
        r#match: 3,
        slots: column(slots).into(),
        seats: column(&vec![seat; slots.len()]).into(),
        actions: column(actions).into(),
        restarts: column(&restarts).into(),
        episodes: column(&vec![7i64; begun.len()]).into(),
        seeds: column(&seeds).into(),
        ..EnvironmentSteps::default()
    };
    ask(host, ToEnvironment::Steps(steps)).unwrap()
}

#[test]
fn a_group_plays_a_copy_in_each_slot() {
    let (mut host, failures) = playing(false);
    let turns = batch(&mut host, &[], 0, &[], &[(0, 10), (1, 20), (2, 30)]);
    assert_eq!(get(&turns, "slots"), &column(&[0, 1, 2]));
    assert_eq!(get(&turns, "rows"), &column(&[0, 1, 2]));
    assert_eq!(get(&turns, "seats"), &column(&[0, 0, 0]));
    assert_eq!(get(&turns, "legal"), &masks(&[30, 30, 30]));
    let seen = shaped(&[3, 2], &[10i64, 0, 20, 0, 30, 0]);
    assert_eq!(get(&turns, "observations"), &seen);
    assert_eq!(get(&turns, "over"), &Value::Nil);
    assert_eq!(get(&turns, "rewards"), &Value::Nil);
    let turns = batch(&mut host, &[0, 2], 0, &[2, 3], &[]);
    assert_eq!(get(&turns, "slots"), &column(&[0, 2]));
    assert_eq!(get(&turns, "seats"), &column(&[1, 1]));
    assert_eq!(get(&turns, "legal"), &Value::Nil);
    batch(&mut host, &[0, 2], 1, &[2, 2], &[]);
    let turns = batch(&mut host, &[0, 2], 0, &[2, 2], &[]);
    assert_eq!(get(&turns, "over"), &column(&[1u8, 2]));
    assert_eq!(get(&turns, "rows"), &Value::Nil);
    let rewards = shaped(&[2, 2], &[0.0, 0.5, 0.0, 0.5]);
    assert_eq!(get(&turns, "rewards"), &rewards);
    let last = |sum: i64| Value::Array(vec![sum.into(), Value::Nil]);
    assert_eq!(
        get(&turns, "finals"),
        &Value::Array(vec![last(16), last(37)])
    );
    let outcomes = get(&turns, "outcomes").as_tensor().unwrap();
    assert_eq!(outcomes.shape(), [2, 2]);
    let scores = outcomes.to_f64();
    assert_eq!(scores[..2], [1.0, 0.0]);
    assert!(scores[2].is_nan() && scores[3].is_nan());
    assert!(failures.lock().unwrap().is_empty());
}

#[test]
fn what_fails_in_a_slot_ends_it_alone_in_the_words_of_single_matches() {
    let (mut host, failures) = playing(false);
    let turns = batch(&mut host, &[], 0, &[], &[(0, 10), (1, 13), (2, 30)]);
    assert_eq!(get(&turns, "over"), &column(&[0u8, 3, 0]));
    assert_eq!(get(&turns, "rows"), &column(&[0, 2]));
    let fault = |turns: &Value, index: usize, key: &str| {
        get(&get(turns, "faults").as_array().unwrap()[index], key).clone()
    };
    let line = "adding in start failed: thirteen";
    assert_eq!(fault(&turns, 0, "slot"), Value::Int(1));
    assert_eq!(fault(&turns, 0, "message"), line.into());
    let turns = batch(&mut host, &[0, 2], 0, &[0, 1], &[]);
    assert_eq!(fault(&turns, 0, "code"), "illegal".into());
    assert_eq!(fault(&turns, 0, "message"), "zero is not legal".into());
    assert_eq!(fault(&turns, 0, "seat"), Value::Int(0));
    assert_eq!(fault(&turns, 1, "code"), "crashed".into());
    let other = "adding in turn 0 failed: one";
    assert_eq!(fault(&turns, 1, "message"), other.into());
    assert_eq!(*failures.lock().unwrap(), [line, other]);
}

#[test]
fn afterstates_come_row_by_row_and_masks_have_all_bits_where_others_are_limited() {
    let (mut host, _) = playing(true);
    batch(&mut host, &[], 0, &[], &[(1, 100)]);
    batch(&mut host, &[1], 0, &[4], &[]);
    let turns = batch(&mut host, &[1], 1, &[2], &[(0, 0), (2, 7)]);
    assert_eq!(get(&turns, "seats"), &column(&[0, 0, 0]));
    let after = [1i64, 2, 3, 4, 107, 108, 109, 110, 8, 9, 10, 11];
    assert_eq!(get(&turns, "afterstates"), &column(&after));
    let turns = batch(&mut host, &[0], 0, &[2], &[(1, 1)]);
    assert_eq!(get(&turns, "legal"), &masks(&[31, 30]));
}

#[test]
fn a_batch_that_contradicts_itself_is_refused() {
    let (mut host, _) = playing(false);
    batch(&mut host, &[], 0, &[], &[(0, 10)]);
    let refused = [
        batch(&mut host, &[], 0, &[], &[(3, 10)]),
        batch(&mut host, &[0], 0, &[2, 2], &[]),
        batch(&mut host, &[0], 0, &[2], &[(0, 1)]),
        batch(&mut host, &[-1], 0, &[2], &[]),
    ];
    for said in refused {
        assert_eq!(get(&said, "code").as_str(), Some("invalid"), "{said:?}");
    }
    let steps = EnvironmentSteps {
        r#match: 3,
        slots: column(&[0i64]).into(),
        ..EnvironmentSteps::default()
    };
    let said = ask(&mut host, ToEnvironment::Steps(steps)).unwrap();
    let text = "`slots`: a tensor int64 [1], not a tensor int32 [n]";
    assert_eq!(get(&said, "message").as_str(), Some(text));
    let turns = batch(&mut host, &[0], 0, &[2], &[]);
    assert_eq!(get(&turns, "observations"), &shaped(&[1, 2], &[12i64, 1]));
    let close = Close {
        r#match: 3,
        ..Close::default()
    };
    assert_eq!(ask(&mut host, ToEnvironment::Close(close)), None);
    let said = batch(&mut host, &[0], 0, &[2], &[]);
    assert_eq!(get(&said, "code").as_str(), Some("unknown"));
}

/// Plays at random; with `columns` it takes all rows at once.
struct Player {
    columns: bool,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Player {
    fn hear(&self, line: String) {
        self.heard.lock().unwrap().push(line);
    }
}

impl Agent for Player {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        match decision.observation {
            Value::Int(99) => panic!("told to crash"),
            Value::Int(98) => return Ok("no number".into()),
            _ => {}
        }
        let (episode, turn) = (decision.episode, decision.turn);
        self.hear(format!("{episode}/{turn} {}", decision.reward));
        decision.any()
    }

    fn end(&mut self, end: &End) -> Result<(), Failure> {
        let (episode, reason) = (end.episode, end.reason.as_str());
        self.hear(format!(
            "{episode} {reason} {:?} {:?}",
            end.outcome, end.blame
        ));
        match end.observation {
            Value::Int(99) => Err("told to fail".into()),
            _ => Ok(()),
        }
    }

    fn open_group(
        &mut self,
        seats: &BTreeMap<usize, Arc<Seat>>,
        slots: usize,
    ) -> Result<Option<Box<dyn Any + Send>>, Failure> {
        assert_eq!(seats.keys().copied().collect::<Vec<_>>(), [1]);
        Ok(match self.columns {
            true => Some(Box::new(vec![Random::new(0); slots])),
            false => None,
        })
    }

    fn step_rows(&mut self, rows: &Rows, memory: &mut dyn Any) -> Result<Vec<i64>, Failure> {
        let random: &mut Vec<Random> = memory.downcast_mut().unwrap();
        for (row, seed) in rows.starts.iter().zip(&rows.seeds) {
            random[rows.slots[*row as usize] as usize] = Random::new(*seed);
        }
        self.hear(format!("{} rows", rows.slots.len()));
        let choose = |row: usize| {
            let legal = rows.legal.actions(row);
            *random[rows.slots[row] as usize].choose(&legal).unwrap()
        };
        Ok((0..rows.slots.len()).map(choose).collect())
    }

    fn end_rows(&mut self, ends: &vector::Ends, _memory: &mut dyn Any) -> Result<(), Failure> {
        self.hear(format!("{} ends", ends.slots.len()));
        match ends.observations {
            Value::Nil => Ok(()),
            _ => Err("told to fail".into()),
        }
    }
}

/// A host with instance 5 in seat 1 of group 2, and what it heard.
fn seated(columns: bool) -> (AgentHost, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = heard.clone();
    let kind = AgentType::new("player", move |_, _| {
        let heard = kept.clone();
        Ok(Player { columns, heard })
    });
    let mut host = AgentHost::new([kind]).unwrap();
    let create = Create {
        instance: 5,
        agent: "player".into(),
        ..Create::default()
    };
    ask(&mut host, ToAgent::Create(create));
    let init = Init {
        r#match: 2,
        seat: 1,
        instance: 5,
        slots: 3,
        spec: Spec {
            seats: 2,
            action_spaces: vec![Space::discrete(7)],
            ..Spec::default()
        },
        ..Init::default()
    };
    assert_eq!(ask(&mut host, ToAgent::Init(init)), None);
    (host, heard)
}

fn decisions(slots: &[i32], turn: i32) -> AgentSteps {
    AgentSteps {
        r#match: 2,
        instance: 5,
        slots: column(slots).into(),
        seats: column(&vec![1; slots.len()]).into(),
        turns: column(&vec![turn; slots.len()]).into(),
        legal: masks(&vec![0x7f; slots.len()]).into(),
        ..AgentSteps::default()
    }
}

fn first() -> AgentSteps {
    AgentSteps {
        starts: column(&[0, 1]).into(),
        episodes: column(&[40i64, 41]).into(),
        seeds: column(&[9u64, 10]).into(),
        ..decisions(&[0, 2], 0)
    }
}

fn ends() -> Ends {
    Ends {
        r#match: 2,
        instance: 5,
        slots: column(&[0, 1]).into(),
        seats: column(&[1, 1]).into(),
        episodes: column(&[40i64, 60]).into(),
        rewards: column(&[0.0, 1.0]).into(),
        totals: column(&[0.5, 1.0]).into(),
        decisions: column(&[2, 0]).into(),
        reasons: vec![Reason::Terminated, Reason::Truncated],
        outcomes: shaped(&[2, 2], &[0.5, 0.5, f64::NAN, f64::NAN]).into(),
        blames: column(&[-1, 0]).into(),
        ..Ends::default()
    }
}

/// The actions of a player of single matches with the seeds of `first`.
fn drawn(before: usize) -> Value {
    let actions = [9, 10].map(|seed| {
        let mut random = Random::new(seed);
        for _ in 0..before {
            random.below(7);
        }
        random.below(7) as i64
    });
    column(&actions)
}

#[test]
fn rows_reach_an_agent_as_single_decisions() {
    let (mut host, heard) = seated(false);
    let actions = ask(&mut host, ToAgent::Steps(first())).unwrap();
    assert_eq!(get(&actions, "slots"), &column(&[0, 2]));
    assert_eq!(get(&actions, "seats"), &column(&[1, 1]));
    assert_eq!(get(&actions, "actions"), &drawn(0));
    let second = AgentSteps {
        rewards: column(&[0.25, 0.0]).into(),
        ..decisions(&[0, 2], 1)
    };
    let actions = ask(&mut host, ToAgent::Steps(second)).unwrap();
    assert_eq!(get(&actions, "actions"), &drawn(1));
    assert_eq!(ask(&mut host, ToAgent::Ends(ends())), None);
    let told = [
        "40/0 0",
        "41/0 0",
        "40/1 0.25",
        "41/1 0",
        "40 terminated Some([0.5, 0.5]) None",
        "60 truncated None Some(0)",
    ];
    assert_eq!(*heard.lock().unwrap(), told);
    host.handle(Event::Welcome(Welcome::default()), &mut Outbox::default());
    let last = heard.lock().unwrap().last().cloned();
    assert_eq!(last.as_deref(), Some("41 disconnected None None"));
}

#[test]
fn rows_reach_an_agent_that_takes_columns_with_one_call() {
    let (mut host, heard) = seated(true);
    let actions = ask(&mut host, ToAgent::Steps(first())).unwrap();
    assert_eq!(get(&actions, "actions"), &drawn(0));
    let actions = ask(&mut host, ToAgent::Steps(decisions(&[0, 2], 1))).unwrap();
    assert_eq!(get(&actions, "actions"), &drawn(1));
    assert_eq!(ask(&mut host, ToAgent::Ends(ends())), None);
    let load = Load {
        instance: 5,
        ..Load::default()
    };
    ask(&mut host, ToAgent::Load(load));
    let actions = ask(&mut host, ToAgent::Steps(first())).unwrap();
    assert_eq!(get(&actions, "actions"), &drawn(0));
    assert_eq!(
        *heard.lock().unwrap(),
        ["2 rows", "2 rows", "2 ends", "2 rows"]
    );
}

#[test]
fn a_decision_that_fails_is_a_fault_and_what_is_no_action_number_is_not_legal() {
    let (mut host, _) = seated(false);
    let bad = AgentSteps {
        observations: Value::from([99, 98]).into(),
        ..first()
    };
    let actions = ask(&mut host, ToAgent::Steps(bad)).unwrap();
    let faults = get(&actions, "faults").as_array().unwrap();
    assert_eq!(faults.len(), 1);
    assert_eq!(get(&faults[0], "slot"), &Value::Int(0));
    let text = get(&faults[0], "message").as_str().unwrap();
    assert!(text.starts_with("player in turn 0 panicked at "), "{text}");
    assert_eq!(get(&actions, "actions"), &column(&[i64::MIN, i64::MIN]));
    let invalid = [
        decisions(&[1], 1),
        AgentSteps {
            observations: Value::from([0, 0]).into(),
            ..decisions(&[2], 1)
        },
        AgentSteps {
            seats: column(&[0]).into(),
            ..decisions(&[2], 1)
        },
    ];
    for steps in invalid {
        let said = ask(&mut host, ToAgent::Steps(steps)).unwrap();
        assert_eq!(get(&said, "code").as_str(), Some("invalid"), "{said:?}");
    }
    let leave = Leave {
        r#match: 2,
        ..Leave::default()
    };
    ask(&mut host, ToAgent::Leave(leave));
    let said = ask(&mut host, ToAgent::Steps(decisions(&[2], 1))).unwrap();
    assert_eq!(get(&said, "code").as_str(), Some("unknown"));
}

#[test]
fn the_next_batch_tells_of_ends_that_failed() {
    for columns in [false, true] {
        let (mut host, _) = seated(columns);
        ask(&mut host, ToAgent::Steps(first()));
        let ends = Ends {
            observations: Value::Array(vec![99.into(), 99.into()]).into(),
            ..ends()
        };
        assert_eq!(ask(&mut host, ToAgent::Ends(ends)), None);
        let told = ask(&mut host, ToAgent::Steps(first())).unwrap();
        assert_eq!(get(&told, "code"), &"crashed".into());
        let text = "player at the end of an episode failed: told to fail";
        assert_eq!(get(&told, "message"), &text.into());
        let actions = ask(&mut host, ToAgent::Steps(first())).unwrap();
        assert_eq!(get(&actions, "actions"), &drawn(0));
    }
}
