//! Sessions and hosts without a socket: repeats, resumption, failures.

mod common;

use std::time::{Duration, Instant};

use common::{Counter, Nim};
use dovetail::messages::*;
use dovetail::session::{Host, Outbox, Session};
use dovetail::{
    map, AgentHost, AgentType, Control, EnvironmentHost, Happening, Legal, Request, Value,
};

/// A host with the session that it belongs to, as one thing to talk to.
struct Peer<H: Host> {
    session: Session<H::Incoming>,
    host: H,
    out: Outbox,
    now: Instant,
}

impl<H: Host> Peer<H> {
    fn new(host: H) -> Self {
        let mut peer = Self {
            session: Session::new(Hello::default()),
            host,
            out: Outbox::default(),
            now: Instant::now(),
        };
        peer.session.greet(peer.now, &mut peer.out);
        peer.out.take();
        assert!(peer.hear(&[welcome(false)]).is_empty());
        peer
    }

    /// Takes frames of one ZeroMQ message; returns what is said.
    fn hear(&mut self, frames: &[Vec<u8>]) -> Vec<Value> {
        let mut events = Vec::new();
        self.session
            .receive(frames, self.now, &mut events, &mut self.out)
            .expect("the broker refuses nothing");
        for event in events {
            self.host.handle(event, &mut self.out);
        }
        self.said()
    }

    /// What is to be sent.
    fn said(&mut self) -> Vec<Value> {
        let frames = self.out.take();
        frames
            .iter()
            .map(|frame| Value::decode(frame).expect("it can be read"))
            .collect()
    }

    /// Takes one frame that is answered once.
    fn ask(&mut self, frame: Vec<u8>) -> Value {
        let mut said = self.hear(&[frame]);
        assert_eq!(said.len(), 1, "{said:?}");
        said.remove(0)
    }
}

impl Peer<Control> {
    fn ask_for(&mut self, mut request: impl Request) -> Result<i64, dovetail::Error> {
        self.host.request(&mut request, &mut self.out)
    }
}

fn welcome(resumed: bool) -> Vec<u8> {
    let session = "s".to_owned();
    Welcome {
        session,
        resumed,
        ..Welcome::default()
    }
    .encode()
}

fn text<'a>(said: &'a Value, key: &str) -> &'a str {
    said.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn agents() -> Peer<AgentHost> {
    let mut peer = Peer::new(AgentHost::new([Counter::kind("counter")]).unwrap());
    let create = Create {
        id: 1,
        instance: 7,
        agent: "counter".into(),
        ..Default::default()
    };
    assert_eq!(text(&peer.ask(create.encode()), "type"), "reply");
    peer.hear(&[init(7)]);
    peer
}

fn init(instance: i64) -> Vec<u8> {
    let spec = Spec {
        seats: 2,
        ..Spec::default()
    };
    Init {
        r#match: 3,
        seat: 0,
        instance,
        spec,
        ..Init::default()
    }
    .encode()
}

fn start(episode: i64, turn: i64) -> Vec<u8> {
    AgentStart {
        episode,
        r#match: 3,
        turn,
        seed: 42,
        legal: Some(Legal::List((0..1000).collect())),
        ..AgentStart::default()
    }
    .encode()
}

fn step(episode: i64, turn: i64) -> Vec<u8> {
    let legal = Some(Legal::mask(0..1000, 1000));
    AgentStep {
        episode,
        turn,
        legal,
        ..AgentStep::default()
    }
    .encode()
}

fn end(episode: i64) -> Vec<u8> {
    End {
        episode,
        r#match: 3,
        total: 0.5,
        ..End::default()
    }
    .encode()
}

fn counted(peer: &mut Peer<AgentHost>, id: i64) -> (i64, i64) {
    let said = peer.ask(
        AgentMessage {
            id,
            instance: 7,
            ..AgentMessage::default()
        }
        .encode(),
    );
    let count = |key| {
        said.get("body")
            .and_then(|body| body.get(key))
            .and_then(Value::as_i64)
    };
    (count("decisions").unwrap(), count("ends").unwrap())
}

#[test]
fn a_repeated_decision_gets_the_same_action_and_is_not_made_again() {
    let mut peer = agents();
    let first = peer.ask(start(5, 0));
    assert_eq!(text(&first, "type"), "action");
    assert_eq!(peer.ask(start(5, 0)), first);
    let second = peer.ask(step(5, 2));
    assert_eq!(peer.ask(step(5, 2)), second);
    assert_ne!(first.get("action"), second.get("action"));
    assert!(peer.hear(&[start(5, 0), step(5, 1), step(6, 0)]).is_empty());
    assert_eq!(counted(&mut peer, 10), (2, 0));
}

#[test]
fn the_same_seed_gives_the_same_actions() {
    let play = || {
        let mut peer = agents();
        [
            peer.ask(start(5, 0)),
            peer.ask(step(5, 1)),
            peer.ask(step(5, 2)),
        ]
    };
    assert_eq!(play(), play());
}

#[test]
fn what_comes_after_the_end_is_ignored() {
    let mut peer = agents();
    peer.ask(start(5, 0));
    assert!(peer
        .hear(&[end(5), end(5), start(5, 0), step(5, 1)])
        .is_empty());
    assert_eq!(counted(&mut peer, 10), (1, 1));
    // A seat that never moved hears the end all the same.
    assert!(peer.hear(&[end(6), start(6, 0)]).is_empty());
    assert_eq!(counted(&mut peer, 11), (1, 2));
}

#[test]
fn repeated_requests_get_the_same_answer() {
    let mut peer = agents();
    let ask = AgentMessage {
        id: 10,
        instance: 7,
        ..AgentMessage::default()
    }
    .encode();
    let before = peer.ask(ask.clone());
    peer.ask(start(5, 0));
    assert_eq!(peer.ask(ask), before);
    assert_eq!(counted(&mut peer, 11), (1, 0));
}

#[test]
fn resumption_keeps_what_a_lost_session_does_not() {
    let mut peer = agents();
    let action = peer.ask(start(5, 0));
    assert_eq!(peer.hear(&[welcome(true), start(5, 0)]), [action]);
    assert!(peer
        .hear(&[welcome(false), step(5, 1), start(6, 0)])
        .is_empty());
    let gone = AgentMessage {
        id: 10,
        instance: 7,
        ..AgentMessage::default()
    };
    assert_eq!(text(&peer.ask(gone.encode()), "type"), "error");
}

#[test]
fn agents_that_fail_or_panic_are_reported_and_live_on() {
    let mut peer = agents();
    for (id, body) in [(10, "fail"), (11, "panic")] {
        let message = AgentMessage {
            id,
            instance: 7,
            body: body.into(),
            ..AgentMessage::default()
        };
        let said = peer.ask(message.encode());
        assert_eq!(
            (text(&said, "type"), text(&said, "code")),
            ("error", "crashed")
        );
        assert!(text(&said, "message").contains(&format!("told to {body}")));
        assert_eq!(said.get("id"), Some(&id.into()));
    }
    // The place of a panic is named.
    assert!(text(
        &peer.ask(
            AgentMessage {
                id: 13,
                instance: 7,
                body: "panic".into(),
                ..AgentMessage::default()
            }
            .encode()
        ),
        "message"
    )
    .starts_with("counter in message panicked at tests/common/mod.rs:"));
    // No action is legal, so that none can be chosen.
    let none = AgentStart {
        legal: Some(Legal::List(vec![])),
        r#match: 3,
        ..Default::default()
    };
    let said = peer.ask(none.encode());
    assert_eq!(
        (text(&said, "code"), said.get("seat")),
        ("crashed", Some(&0.into()))
    );
    assert_eq!(
        text(&said, "message"),
        "counter in turn 0 failed: no action is legal"
    );
    assert_eq!(peer.ask(none.encode()), said);
    assert_eq!(counted(&mut peer, 12), (1, 0));
}

#[test]
fn a_program_is_one_agent_at_the_most() {
    let two = ["one", "other"].map(|name| Counter::kind(name).instance());
    let refused = AgentHost::new(two).err().unwrap().to_string();
    assert!(refused.contains("one agent only"), "{refused}");
    let panics = AgentType::new("odd", |_, _| -> Result<Counter, _> { panic!("at once") });
    let refused = AgentHost::new([panics.instance()]).err().unwrap();
    assert!(refused.to_string().ends_with("at once"), "{refused}");
}

#[test]
fn an_observation_that_cannot_be_read_costs_its_decision_only() {
    let mut peer = agents();
    let mut frame = AgentStart {
        episode: 5,
        r#match: 3,
        seed: 1,
        ..Default::default()
    }
    .encode();
    // One more field: a tensor of one byte that says it has two.
    frame[0] += 1;
    frame.extend(b"\xabobservation\xc7\x0b\x01\x93\xa4int8\x91\x02\xc4\x01\x07");
    let said = peer.ask(frame);
    assert_eq!(
        (text(&said, "type"), text(&said, "code")),
        ("error", "malformed")
    );
    assert_eq!(
        (said.get("episode"), said.get("seat")),
        (Some(&5.into()), Some(&0.into()))
    );
    assert_eq!(text(&peer.ask(step(5, 1)), "type"), "action");
}

#[test]
fn pings_and_bad_frames_are_answered_in_order() {
    let mut peer = agents();
    let ping = |number| {
        Ping {
            number,
            ..Ping::default()
        }
        .encode()
    };
    let said = peer.hear(&[ping(1), b"\xc1".to_vec(), ping(2)]);
    let kinds: Vec<&str> = said.iter().map(|each| text(each, "type")).collect();
    assert_eq!(kinds, ["pong", "error", "pong"]);
}

#[test]
fn a_session_asks_for_itself_again() {
    let mut peer = agents();
    let first = Error::new(Code::HelloFirst, "who are you?").encode();
    let said = peer.ask(first.clone());
    assert_eq!((text(&said, "type"), text(&said, "resume")), ("hello", "s"));
    // One hello under way is enough.
    assert!(peer.hear(&[first]).is_empty());
    assert!(!peer.session.silent(peer.now + Duration::from_secs(3)));
    assert!(peer.session.silent(peer.now + Duration::from_secs(5)));
    for heartbeat in [f64::NAN, -1.0, f64::INFINITY, 1e300] {
        let odd = Welcome {
            heartbeat,
            ..Welcome::default()
        };
        peer.hear(&[odd.encode()]);
        let later = peer.now + Duration::from_secs(1_000_000);
        assert!(!peer.session.silent(later), "{heartbeat}");
    }
    peer.session.greet(peer.now, &mut peer.out);
    let refused = Error::new(Code::Access, "not you").encode();
    let refused = peer
        .session
        .receive([refused], peer.now, &mut Vec::new(), &mut peer.out);
    assert!(refused.unwrap_err().to_string().contains("not you"));
}

fn environments() -> Peer<EnvironmentHost> {
    let mut peer = Peer::new(EnvironmentHost::new([Nim::kind("nim")]));
    let configuration = map! { "heap" => 4 };
    let open = Open {
        r#match: 1,
        environment: "nim".into(),
        configuration,
        ..Open::default()
    };
    let spec = peer.ask(open.encode());
    assert_eq!((text(&spec, "type"), text(&spec, "name")), ("spec", "nim"));
    assert_eq!(peer.ask(open.encode()), spec);
    peer
}

fn begin(episode: i64) -> Vec<u8> {
    EnvironmentStart {
        r#match: 1,
        episode,
        ..Default::default()
    }
    .encode()
}

fn act(episode: i64, turn: i64, seat: usize, action: i64) -> Vec<u8> {
    EnvironmentStep {
        episode,
        turn,
        actions: vec![(seat, action.into())],
        ..EnvironmentStep::default()
    }
    .encode()
}

#[test]
fn a_repeated_step_gets_the_same_turn_and_is_not_made_again() {
    let mut peer = environments();
    let first = peer.ask(begin(9));
    assert_eq!(peer.ask(begin(9)), first);
    let second = peer.ask(act(9, 0, 0, 2));
    assert_eq!(second.get("turn"), Some(&1.into()));
    assert_eq!(peer.ask(act(9, 0, 0, 2)), second);
    assert!(peer
        .hear(&[
            act(9, 3, 0, 1),
            act(9, i64::MAX, 0, 1),
            act(8, 0, 0, 1),
            begin(9)
        ])
        .is_empty());
    let last = peer.ask(act(9, 1, 1, 2));
    assert_eq!(last.get("outcome"), Some(&[0.0, 1.0].into()));
    assert_eq!(peer.ask(act(9, 1, 1, 2)), last);
    let ask = EnvironmentMessage {
        id: 1,
        r#match: 1,
        body: "steps".into(),
        ..EnvironmentMessage::default()
    };
    assert_eq!(peer.ask(ask.encode()).get("body"), Some(&2.into()));
}

#[test]
fn actions_that_the_rules_refuse_name_the_seat() {
    let mut peer = environments();
    peer.ask(begin(9));
    let said = peer.ask(act(9, 0, 0, 3));
    assert_eq!(
        (text(&said, "code"), said.get("seat")),
        ("illegal", Some(&0.into()))
    );
    assert_eq!(peer.ask(act(9, 0, 0, 3)), said);
}

#[test]
fn options_that_are_wrong_are_refused() {
    let mut peer = environments();
    for configuration in [
        map! { "heap" => "x" },
        map! { "deep" => 1 },
        map! { "heap" => 0 },
    ] {
        let open = Open {
            r#match: 2,
            environment: "nim".into(),
            configuration,
            ..Open::default()
        };
        let said = peer.ask(open.encode());
        assert_eq!(
            (text(&said, "type"), said.get("match")),
            ("error", Some(&2.into()))
        );
    }
}

#[test]
fn lookahead_follows_lines_and_changes_nothing() {
    let mut peer = environments();
    peer.ask(begin(9));
    let line = |actions: &[i64]| actions.iter().map(|a| vec![(*a).into()]).collect();
    let lines = vec![line(&[]), line(&[2, 2]), line(&[2, 3]), line(&[2, 2, 1])];
    let asked = EnvironmentLookahead {
        id: 1,
        episode: 9,
        lines,
        ..Default::default()
    };
    let said = peer.ask(asked.encode());
    let found: Vec<Position> = said
        .get("body")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|each| Position::decode(&each.encode()).unwrap())
        .collect();
    assert_eq!(found[0].to_act, [0]);
    assert_eq!(
        (found[1].rewards.as_slice(), found[1].terminated),
        (&[-1.0, 1.0][..], true)
    );
    assert_eq!((found[2].applied, found[2].error.is_empty()), (1, false));
    assert_eq!((found[3].applied, found[3].error.is_empty()), (2, false));
    assert_eq!(peer.ask(act(9, 0, 0, 1)).get("turn"), Some(&1.into()));
}

#[test]
fn what_is_larger_than_the_broker_reads_is_not_sent_but_told() {
    let limits = Limits {
        frame: 10,
        ..Limits::default()
    };
    let small = Welcome {
        resumed: true,
        limits,
        ..Welcome::default()
    };
    let small = [small.encode()];
    fn refused<H: Host>(peer: &mut Peer<H>, frame: Vec<u8>, about: &[(&str, i64)]) {
        let said = peer.ask(frame.clone());
        let told = text(&said, "message");
        assert!(
            told.ends_with("bytes in a message; the broker reads 10"),
            "{told}"
        );
        for (key, number) in about {
            assert_eq!(said.get(key), Some(&(*number).into()), "{said:?}");
        }
        assert_eq!(peer.ask(frame), said);
    }

    let mut peer = agents();
    peer.hear(&small);
    let save = Save {
        id: 2,
        instance: 7,
        ..Save::default()
    };
    refused(&mut peer, save.encode(), &[("id", 2)]);
    refused(&mut peer, start(5, 0), &[("episode", 5), ("seat", 0)]);
    peer.hear(&[welcome(true)]);
    assert_eq!(text(&peer.ask(step(5, 1)), "type"), "action");

    let mut peer = environments();
    peer.hear(&small);
    let open = Open {
        r#match: 2,
        environment: "nim".into(),
        ..Open::default()
    };
    refused(&mut peer, open.encode(), &[("match", 2)]);
    refused(&mut peer, begin(9), &[("episode", 9)]);
    let ask = EnvironmentMessage {
        id: 1,
        r#match: 1,
        body: "steps".into(),
        ..EnvironmentMessage::default()
    };
    refused(&mut peer, ask.encode(), &[("id", 1)]);

    let mut peer = Peer::new(Control::default());
    peer.hear(&small);
    let request = peer.ask_for(Catalogue::default());
    assert!(request.unwrap_err().to_string().ends_with("reads 10"));
    assert!(peer.hear(&[welcome(true)]).is_empty());
}

#[test]
fn an_experiment_sends_its_requests_again_and_tells_each_result_once() {
    let mut peer = Peer::new(Control::default());
    let id = peer.ask_for(Run::new("nim", ["a", "b"])).unwrap();
    let asked = peer.said();
    assert_eq!(text(&asked[0], "type"), "run");
    assert_eq!(peer.hear(&[welcome(true)]), asked);
    assert!(peer.host.answer(id).is_none());
    let episode = Episode {
        run: 4,
        episode: 8,
        ..Episode::default()
    };
    let done = Done {
        run: 4,
        finished: 1,
        ..Done::default()
    };
    let reply = Reply {
        id,
        body: map! { "run" => 4 }.into(),
        ..Reply::default()
    };
    // Results may come before the answer that names the run, and twice.
    peer.hear(&[
        episode.encode(),
        reply.encode(),
        episode.encode(),
        reply.encode(),
        done.encode(),
    ]);
    assert!(peer.host.answer(id).unwrap().is_ok());
    assert_eq!(peer.host.episode(4).unwrap(), Some(Some(episode)));
    assert_eq!(peer.host.episode(4).unwrap(), Some(None));
    assert!(peer.hear(&[welcome(true)]).is_empty());
    peer.hear(&[welcome(false)]);
    assert!(peer.ask_for(Catalogue::default()).is_err());
    assert!(peer.host.episode(5).is_err());
}

#[test]
fn events_come_in_the_order_of_arrival() {
    let mut peer = Peer::new(Control::default());
    let progress = Progress {
        run: 4,
        finished: 1,
        ..Progress::default()
    };
    let turn = WatchedTurn {
        run: 4,
        ..WatchedTurn::default()
    };
    peer.hear(&[progress.encode(), turn.encode()]);
    assert_eq!(peer.host.happening(), Some(Happening::Progress(progress)));
    assert_eq!(peer.host.happening(), Some(Happening::Turn(turn)));
    assert_eq!(peer.host.happening(), None);
}
