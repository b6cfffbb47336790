//! Sessions and hosts without a socket: repeats, resumption, failures.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Counter, Nim};
use dovetail::messages::*;
use dovetail::session::{Host, Outbox, Session};
use dovetail::{
    map, Agent, AgentHost, AgentType, Control, Decision, EnvironmentHost, Failure, Happening,
    Legal, Request, Value,
};

/// A host with the session that it belongs to, as one thing to talk to.
struct Peer<H: Host> {
    session: Session<H::Incoming>,
    host: H,
    out: Outbox,
    now: Instant,
    seq: u64,
    /// The last frame with a number.
    last: Vec<u8>,
}

impl<H: Host> Peer<H> {
    fn new(host: H) -> Self {
        let mut peer = Self {
            session: Session::new(Hello::default()),
            host,
            out: Outbox::default(),
            now: Instant::now(),
            seq: 0,
            last: Vec::new(),
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

    /// Takes the messages to be sent.
    fn said(&mut self) -> Vec<Value> {
        let frames = self.out.take();
        frames
            .iter()
            .map(|frame| Value::decode(frame).expect("it can be read"))
            .collect()
    }

    /// Gives a frame the next number.
    fn number(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        self.seq += 1;
        add_field(&mut frame);
        frame.extend([b"\xa3seq\xcf".as_slice(), &self.seq.to_be_bytes()].concat());
        self.last.clone_from(&frame);
        frame
    }

    /// Takes new frames, one after the other; returns what is said.
    fn tell(&mut self, frames: &[Vec<u8>]) -> Vec<Value> {
        let frames = frames.iter().map(|frame| self.number(frame.clone()));
        let frames: Vec<Vec<u8>> = frames.collect();
        self.hear(&frames)
    }

    /// Takes a new frame that is answered once.
    fn ask(&mut self, frame: Vec<u8>) -> Value {
        one(self.tell(&[frame]))
    }

    /// Takes the last frame with a number again.
    fn again(&mut self) -> Vec<Value> {
        let last = self.last.clone();
        self.hear(&[last])
    }

    /// Takes a ping; returns the highest number that has arrived.
    fn ping(&mut self, settled: u64) -> Value {
        let ping = Ping {
            settled,
            ..Ping::default()
        };
        let pong = one(self.hear(&[ping.encode()]));
        pong.get("seen").cloned().unwrap_or_default()
    }
}

impl Peer<Control> {
    fn ask_for(&mut self, mut request: impl Request) -> Result<i64, dovetail::Error> {
        self.host.request(&mut request, &mut self.out)
    }
}

fn one(mut said: Vec<Value>) -> Value {
    assert_eq!(said.len(), 1, "{said:?}");
    said.remove(0)
}

/// Counts one more field in the head of a map, short or long.
fn add_field(frame: &mut [u8]) {
    let count = if frame[0] == 0xde { 2 } else { 0 };
    frame[count] += 1;
}

/// True if an error answers the frame of this number, and not a request.
fn answers(said: &Value, seq: u64) -> bool {
    said.get("answers") == Some(&seq.into()) && said.get("id").is_none()
}

fn welcome(resumed: bool) -> Vec<u8> {
    again("s", resumed)
}

fn again(session: &str, resumed: bool) -> Vec<u8> {
    let session = session.to_owned();
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
    assert!(peer.tell(&[init(7)]).is_empty());
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
    let old = peer.last.clone();
    assert_eq!(one(peer.again()), first);
    let second = peer.ask(step(5, 2));
    assert_eq!(one(peer.again()), second);
    assert_ne!(first.get("action"), second.get("action"));
    // Both may come together.
    let third = peer.number(step(5, 3));
    let said = peer.hear(&[third.clone(), third]);
    assert_eq!((said.len(), &said[0]), (2, &said[1]));
    // The first answer has arrived, since another decision followed.
    assert!(peer.hear(&[old]).is_empty());
    assert_eq!(counted(&mut peer, 10), (3, 0));
}

#[test]
fn answers_are_kept_until_the_broker_settles_them() {
    let mut peer = agents();
    let action = peer.ask(start(5, 0));
    let seq = peer.seq;
    assert_eq!(peer.ping(seq - 1), seq.into());
    assert_eq!(peer.again(), [action]);
    assert_eq!(peer.ping(seq), seq.into());
    assert!(peer.again().is_empty());
    // Over a connection that loses nothing there are no pings, and nothing is kept.
    let sure = Welcome {
        session: "t".into(),
        heartbeat: 0.0,
        ..Welcome::default()
    };
    peer.hear(&[sure.encode()]);
    peer.seq = 0;
    assert_eq!(text(&peer.ask(start(5, 0)), "code"), "unknown");
    assert!(peer.again().is_empty());
}

#[test]
fn a_decision_for_a_seat_that_is_not_held_is_refused() {
    let mut peer = agents();
    let said = peer.ask(step(6, 0));
    assert_eq!(text(&said, "code"), "unknown");
    assert!(answers(&said, peer.seq), "{said:?}");
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
fn an_end_is_heard_once() {
    let mut peer = agents();
    peer.ask(start(5, 0));
    assert!(peer.tell(&[end(5)]).is_empty());
    assert!(peer.again().is_empty());
    assert_eq!(counted(&mut peer, 10), (1, 1));
    // A seat that never moved hears the end all the same.
    assert!(peer.tell(&[end(6)]).is_empty());
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
    let before = peer.ask(ask);
    let asked = peer.last.clone();
    peer.ask(start(5, 0));
    assert_eq!(peer.hear(&[asked]), [before]);
    assert_eq!(counted(&mut peer, 11), (1, 0));
}

#[test]
fn resumption_keeps_what_a_lost_session_does_not() {
    let mut peer = agents();
    let action = peer.ask(start(5, 0));
    peer.hear(&[welcome(true)]);
    assert_eq!(peer.again(), [action]);
    // The answer to a `hello` that was said twice comes twice.
    peer.hear(&[welcome(false)]);
    assert_eq!(text(&peer.ask(step(5, 1)), "type"), "action");
    peer.hear(&[again("t", false)]);
    peer.seq = 0;
    assert_eq!(text(&peer.ask(step(5, 2)), "code"), "unknown");
    assert_eq!(peer.ping(0), 1.into());
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
    for (id, body, code) in [(10, "fail", "unavailable"), (11, "panic", "crashed")] {
        let message = AgentMessage {
            id,
            instance: 7,
            body: body.into(),
            ..AgentMessage::default()
        };
        let said = peer.ask(message.encode());
        assert_eq!((text(&said, "type"), text(&said, "code")), ("error", code));
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
    assert_eq!(text(&said, "code"), "crashed");
    assert!(answers(&said, peer.seq), "{said:?}");
    assert_eq!(
        text(&said, "message"),
        "counter in turn 0 failed: no action is legal"
    );
    assert_eq!(peer.again(), [said]);
    assert_eq!(counted(&mut peer, 12), (1, 0));
}

/// Fails or panics at each end.
struct Ends {
    cleanups: Arc<AtomicUsize>,
}

impl Agent for Ends {
    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        decision.any()
    }

    fn end(&mut self, end: &dovetail::End) -> Result<(), Failure> {
        assert!(end.reason != Reason::Truncated, "told to panic");
        Err("told to fail".into())
    }

    fn load(&mut self, _state: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    fn cleanup(&mut self) {
        self.cleanups.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_next_decision_or_request_tells_of_an_end_that_failed() {
    let cleanups = Arc::new(AtomicUsize::new(0));
    let kept = cleanups.clone();
    let kind = AgentType::new("ends", move |_, _| {
        let cleanups = kept.clone();
        Ok(Ends { cleanups })
    });
    let mut peer = Peer::new(AgentHost::new([kind]).unwrap());
    let create = Create {
        id: 1,
        instance: 7,
        agent: "ends".into(),
        ..Create::default()
    };
    peer.ask(create.encode());
    assert!(peer.tell(&[init(7)]).is_empty());
    let (instance, id) = (7, 2);
    let asked = [
        start(9, 0),
        Save {
            instance,
            id,
            ..Save::default()
        }
        .encode(),
        Load {
            instance,
            id,
            ..Load::default()
        }
        .encode(),
        AgentMessage {
            instance,
            id,
            ..AgentMessage::default()
        }
        .encode(),
        Cleanup {
            instance,
            id,
            ..Cleanup::default()
        }
        .encode(),
    ];
    for (episode, frame) in (10..).zip(asked) {
        assert!(peer.tell(&[end(episode)]).is_empty());
        let told = peer.ask(frame.clone());
        assert_eq!(text(&told, "code"), "crashed");
        let line = "ends at the end of an episode failed: told to fail";
        assert_eq!(text(&told, "message"), line);
        assert_eq!(peer.again(), [told]);
        let next = peer.ask(frame);
        let gone = episode == 14;
        assert_eq!(text(&next, "type") == "error", gone, "{next:?}");
    }
    assert_eq!(cleanups.load(Ordering::Relaxed), 1);
}

#[test]
fn an_end_that_panics_is_told_likewise() {
    let cleanups = Arc::default();
    let kind = AgentType::new("ends", move |_, _| {
        let cleanups = Arc::clone(&cleanups);
        Ok(Ends { cleanups })
    });
    let mut peer = Peer::new(AgentHost::new([kind.instance()]).unwrap());
    assert!(peer.tell(&[init(7)]).is_empty());
    let truncated = End {
        episode: 9,
        r#match: 3,
        reason: Reason::Truncated,
        ..End::default()
    };
    assert!(peer.tell(&[truncated.encode()]).is_empty());
    let told = peer.ask(start(9, 0));
    let line = text(&told, "message").to_owned();
    assert!(
        line.starts_with("ends at the end of an episode panicked at "),
        "{line}"
    );
    assert_eq!(text(&peer.ask(step(9, 1)), "type"), "action");
    assert!(peer.tell(&[truncated.encode()]).is_empty());
    assert!(peer.hear(&[again("t", false)]).is_empty());
    peer.seq = 0;
    assert!(peer.tell(&[init(7)]).is_empty());
    assert_eq!(text(&peer.ask(start(9, 0)), "type"), "action");
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
    add_field(&mut frame);
    frame.extend(b"\xabobservation\xc7\x0b\x01\x93\xa4int8\x91\x02\xc4\x01\x07");
    let said = peer.ask(frame);
    assert_eq!(
        (text(&said, "type"), text(&said, "code")),
        ("error", "malformed")
    );
    assert!(answers(&said, peer.seq), "{said:?}");
    assert_eq!(text(&peer.ask(step(5, 1)), "type"), "action");
    // The error for an unreadable message names that message, too.
    let said = peer.ask(map_of("step"));
    assert_eq!(text(&said, "code"), "invalid");
    assert!(answers(&said, peer.seq), "{said:?}");
    let mut request = map_of("save");
    request[0] += 1;
    request.extend(b"\xa2id\x09");
    let said = peer.ask(request);
    assert_eq!(
        (said.get("id"), said.get("answers")),
        (Some(&9.into()), None)
    );
}

/// A message without fields.
fn map_of(kind: &str) -> Vec<u8> {
    Value::from(map! { "type" => kind }).encode()
}

#[test]
fn a_question_is_asked_again_after_resumption() {
    let mut peer = Peer::new(AgentHost::new([Counter::kind("counter")]).unwrap());
    let create = Create {
        id: 1,
        instance: 7,
        agent: "counter".into(),
        parameters: map! { "asks" => true },
        ..Default::default()
    };
    peer.ask(create.encode());
    let init = Init {
        r#match: 3,
        instance: 7,
        lookahead: true,
        ..Init::default()
    };
    peer.tell(&[init.encode()]);
    let legal = Some(Legal::List(vec![4]));
    let start = AgentStart {
        episode: 5,
        r#match: 3,
        legal,
        ..AgentStart::default()
    };
    let question = peer.ask(start.encode());
    assert_eq!(text(&question, "type"), "lookahead");
    assert!(peer.again().is_empty());
    assert_eq!(one(peer.hear(&[welcome(true)])), question);
    let decision = peer.last.clone();
    let id = question.get("id").and_then(Value::as_i64).unwrap();
    let previews = Value::Array(vec![map! { "rewards" => [0.0, 0.0] }.into()]);
    let action = peer.ask(Reply::new(id, previews).encode());
    assert_eq!(action.get("action"), Some(&4.into()));
    assert_eq!(peer.hear(&[decision]), [action]);
    assert!(peer.hear(&[welcome(true)]).is_empty());
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
    let first = Error::to(Asked::default(), Code::HelloFirst, "who are you?").encode();
    let said = one(peer.hear(std::slice::from_ref(&first)));
    assert_eq!((text(&said, "type"), text(&said, "resume")), ("hello", "s"));
    assert_eq!(said.get("seen"), Some(&peer.seq.into()));
    // One hello under way is enough.
    assert!(peer.hear(&[first]).is_empty());
    assert!(!peer.session.silent(peer.now + Duration::from_secs(3)));
    assert!(peer.session.silent(peer.now + Duration::from_secs(5)));
    for (heartbeat, refused) in [(f64::NAN, 1), (-1.0, 1), (f64::INFINITY, 0), (1e300, 0)] {
        let odd = Welcome {
            heartbeat,
            resumed: true,
            ..Welcome::default()
        };
        assert_eq!(peer.hear(&[odd.encode()]).len(), refused, "{heartbeat}");
        let later = peer.now + Duration::from_secs(1_000_000);
        assert!(refused == 1 || !peer.session.silent(later), "{heartbeat}");
    }
    peer.session.greet(peer.now, &mut peer.out);
    let refused = Error::to(Asked::default(), Code::Access, "not you").encode();
    let refused = peer
        .session
        .receive([refused], peer.now, &mut Vec::new(), &mut peer.out);
    assert!(refused.unwrap_err().to_string().contains("not you"));
    let back = Welcome {
        heartbeat: 0.1,
        resumed: true,
        ..Welcome::default()
    };
    peer.hear(&[back.encode()]);
    let mut said = peer.now;
    for wait in [4, 8, 16, 16].map(Duration::from_secs) {
        peer.session.greet(said, &mut peer.out);
        said += wait;
        assert!(!peer.session.silent(said), "{wait:?}");
        assert!(peer.session.silent(said + Duration::from_nanos(1)));
    }
}

#[test]
fn a_peer_whose_key_is_revoked_hears_why() {
    let mut peer = agents();
    let mut hear = |error: Error| {
        let frames = [error.encode(), Bye::default().encode()];
        peer.session
            .receive(frames, peer.now, &mut Vec::new(), &mut peer.out)
    };
    let error = |id| Error {
        id,
        ..Error::to(Asked::default(), Code::Access, "the key was revoked")
    };
    assert!(hear(error(Some(3))).is_ok());
    let away = hear(error(None)).unwrap_err().to_string();
    assert_eq!(away, "the broker refuses: the key was revoked");
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
    assert_eq!(peer.again(), [spec]);
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
    assert_eq!(peer.again(), [first]);
    let second = peer.ask(act(9, 0, 0, 2));
    assert_eq!(second.get("turn"), Some(&1.into()));
    assert_eq!(peer.again(), [second]);
    for wrong in [act(9, 3, 0, 1), act(9, i64::MAX, 0, 1), act(8, 0, 0, 1)] {
        let said = peer.ask(wrong);
        assert_eq!(text(&said, "code"), "unknown");
        assert!(answers(&said, peer.seq), "{said:?}");
    }
    let last = peer.ask(act(9, 1, 1, 2));
    assert_eq!(last.get("outcome"), Some(&[0.0, 1.0].into()));
    assert_eq!(peer.again(), [last]);
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
    assert!(answers(&said, peer.seq), "{said:?}");
    assert_eq!(peer.again(), [said]);
    // The episode is as before, and continues if the broker asks for the turn once more.
    assert_eq!(peer.ask(act(9, 0, 0, 1)).get("turn"), Some(&1.into()));
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
        assert_eq!(text(&said, "code"), "unavailable");
        assert!(answers(&said, peer.seq), "{said:?}");
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
    let found: Vec<Preview> = said
        .get("body")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|each| Preview::decode(&each.encode()).unwrap())
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
    fn refused<H: Host>(peer: &mut Peer<H>, frame: Vec<u8>, id: Option<i64>) {
        let said = peer.ask(frame);
        let told = text(&said, "message");
        assert!(
            told.ends_with("bytes in a message; the broker reads 10"),
            "{told}"
        );
        match id {
            Some(id) => assert_eq!(said.get("id"), Some(&id.into()), "{said:?}"),
            None => assert!(answers(&said, peer.seq), "{said:?}"),
        }
        assert_eq!(peer.again(), [said]);
    }

    let mut peer = agents();
    peer.hear(&small);
    let save = Save {
        id: 2,
        instance: 7,
        ..Save::default()
    };
    refused(&mut peer, save.encode(), Some(2));
    refused(&mut peer, start(5, 0), None);
    peer.hear(&[welcome(true)]);
    assert_eq!(text(&peer.ask(step(5, 1)), "type"), "action");

    let mut peer = environments();
    peer.hear(&small);
    let open = Open {
        r#match: 2,
        environment: "nim".into(),
        ..Open::default()
    };
    refused(&mut peer, open.encode(), None);
    refused(&mut peer, begin(9), None);
    let ask = EnvironmentMessage {
        id: 1,
        r#match: 1,
        body: "steps".into(),
        ..EnvironmentMessage::default()
    };
    refused(&mut peer, ask.encode(), Some(1));

    let mut peer = Peer::new(Control::default());
    peer.hear(&small);
    let request = peer.ask_for(Catalogue::default());
    assert!(request.unwrap_err().to_string().ends_with("reads 10"));
    assert!(peer.hear(&[welcome(true)]).is_empty());
}

#[test]
fn a_run_that_waits_is_told_once() {
    let mut peer = Peer::new(Control::default());
    for waiting in ["", "agent 3 is busy", "agent 3 is busy", ""] {
        let waiting = waiting.to_owned();
        let progress = Progress {
            run: 5,
            waiting,
            ..Progress::default()
        };
        peer.hear(&[progress.encode()]);
    }
    let line = peer.host.notice();
    assert_eq!(line.as_deref(), Some("run 5 waits: agent 3 is busy"));
    assert_eq!(peer.host.notice(), None);
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
    peer.tell(&[episode.encode()]);
    peer.again();
    peer.tell(&[reply.encode()]);
    peer.again();
    peer.tell(&[done.encode()]);
    assert_eq!(peer.ping(0), 3.into());
    assert!(peer.host.answer(id).unwrap().is_ok());
    let heard = peer.host.episode(4).unwrap();
    assert_eq!(heard, Some(Some(Episode { seq: 1, ..episode })));
    assert_eq!(peer.host.episode(4).unwrap(), Some(None));
    assert!(peer.hear(&[welcome(true)]).is_empty());
    peer.hear(&[again("t", false)]);
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
