//! The messages of the protocol; SPEC.md, section 6, says what each field means.

use crate::error::ProtocolError;
use crate::field::{find_tag, records, words, Record};
use crate::legal::Legal;
use crate::space::Space;
use crate::value::{Map, Payload, Value};
use crate::wire::{self, Reader, Token};

/// The version of the protocol that this library speaks.
pub const VERSION: i64 = 1;

words! {
    /// What a peer is.
    Role {
        /// The rules of games.
        Environment = "environment",
        /// Players.
        Agent = "agent",
        /// Run control.
        Experiment = "experiment",
        /// Somebody who only watches.
        Observer = "observer",
    }

    /// Whether an agent may change in an episode.
    Mode {
        /// It may.
        Learn = "learn",
        /// It must be the same afterwards.
        Evaluate = "evaluate",
    }

    /// What an agent asks the environment to add to its decisions.
    Want {
        /// One row per legal action: what the seat would observe after it.
        Afterstates = "afterstates",
        /// The position for a person to read.
        Text = "text",
        /// The position to be drawn.
        Scene = "scene",
    }

    /// Why an episode is over.
    Reason {
        /// The rules ended it.
        Terminated = "terminated",
        /// It was cut short.
        Truncated = "truncated",
        /// A seat's action was not legal.
        IllegalAction = "illegal-action",
        /// A seat answered later than its clock.
        Timeout = "timeout",
        /// A seat did not answer.
        Stalled = "stalled",
        /// An agent's program went away.
        Disconnected = "disconnected",
        /// An agent failed in a decision.
        Crashed = "crashed",
        /// The run was cancelled, or its experiment or the broker left.
        Cancelled = "cancelled",
        /// The environment crashed, left, or contradicted itself.
        EnvironmentFailed = "environment-failed",
    }

    /// Why a run is over.
    DoneReason {
        /// All episodes are played.
        Finished = "finished",
        /// It was asked to start no more.
        Drained = "drained",
        /// It was ended at once.
        Cancelled = "cancelled",
        /// It could not go on.
        Failed = "failed",
    }

    /// What a breach costs.
    Price {
        /// The seat loses the episode.
        Forfeit = "forfeit",
        /// The broker draws an action for it.
        Random = "random",
        /// The episode is cut short.
        Truncate = "truncate",
    }
}

records! {
    /// The largest frame that a receiver reads.
    Limits {
        /// Bytes.
        frame: u64 = 16_777_216,
        /// Nested arrays and maps.
        depth: u64 = 32,
        /// Values of any kind, keys included.
        elements: u64 = 100_000,
    }

    /// An environment or agent type that a peer can make.
    Offer {
        /// How a run or a `create` names it.
        name: String,
        /// One sentence for a person.
        description: String = String::new(),
        /// JSON Schema of each option by name, with its default.
        parameters: Map = Map::new(),
        /// For agents: what is to be added to their decisions.
        wants: Vec<Want> = Vec::new(),
        /// For agents: episodes that one instance plays at once; 0 is no limit.
        capacity: u64 = 1,
        /// For agents: the program is this one agent.
        instance: bool = false,
        /// For environments: the numbers of seats it can have.
        seats: Option<Vec<i64>> = None,
    }

    /// The first message of a peer, and again after a reconnection.
    Hello["type" = "hello"] {
        /// The protocol version that the peer speaks.
        version: i64,
        /// What the peer is.
        role: Role,
        /// Unique among the peers present; empty lets the broker choose.
        name: String = String::new(),
        /// What environments and agents bring with them.
        offers: Vec<Offer> = Vec::new(),
        /// The broker's access token.
        token: Option<String> = None,
        /// The session token of an earlier `welcome`.
        resume: Option<String> = None,
        /// Name and version of the peer's program.
        software: String = String::new(),
        /// The optional parts of the protocol that the peer knows.
        features: Vec<String> = Vec::new(),
    }

    /// The broker's answer to `hello`.
    Welcome["type" = "welcome"] {
        /// To be presented as `resume` after a reconnection.
        session: String,
        /// The peer's name.
        name: String,
        /// Whether this goes on with the session that `resume` named.
        resumed: bool = false,
        /// The protocol version that the broker speaks.
        version: i64 = 1,
        /// Seconds between pings.
        heartbeat: f64 = 1.0,
        /// Seconds of silence after which a peer is taken for lost.
        patience: f64 = 30.0,
        /// What the broker reads.
        limits: Limits = Limits::default(),
        /// The optional parts that both sides know.
        features: Vec<String> = Vec::new(),
    }

    /// Asks whether the other side lives.
    Ping["type" = "ping"] {
        /// To be returned in the `pong`.
        number: u64 = 0,
    }

    /// The answer to `ping`.
    Pong["type" = "pong"] {
        /// The number of the `ping`.
        number: u64 = 0,
    }

    /// Something was refused; nothing else has changed.
    ErrorMessage["type" = "error"] {
        /// One of the error codes.
        code: String,
        /// One line for a person.
        message: String,
        /// The request that it answers.
        id: Option<i64> = None,
        /// The episode that it is about.
        episode: Option<i64> = None,
        /// The seat that it is about.
        seat: Option<i64> = None,
        /// The match that it is about.
        match_id["match"]: Option<i64> = None,
    }
}

impl ErrorMessage {
    /// An error about nothing in particular.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            ..Self::default()
        }
    }
}

records! {
    /// An orderly leave.
    Bye["type" = "bye"] {
        /// One line for a person.
        reason: String = String::new(),
    }

    /// The answer to any message that has an `id`.
    Reply["type" = "reply"] {
        /// The `id` of the request.
        id: i64,
        /// What was asked for.
        body: Payload = Payload::default(),
    }
}

// -- broker and environment ------------------------------------------------------------------------

records! {
    /// Make an environment for a match.
    Open["type" = "open"] {
        /// The broker's number of the match.
        match_id["match"]: i64,
        /// The name of an offer of this peer.
        environment: String,
        /// The options by name.
        configuration: Map = Map::new(),
    }

    /// A way to turn or mirror the game that changes nothing about it.
    Symmetry {
        /// The symmetric observation's elements in row-major order, as places in the observation's.
        observation: Vec<i64>,
        /// The number of the symmetric action by action number.
        actions: Vec<i64> = Vec::new(),
    }

    /// What a seat can expect of an environment; the answer to `open`.
    Spec["type" = "spec"] {
        /// The match of the `open` that it answers.
        match_id["match"]: i64 = 0,
        /// What the game is called; the offer's name if empty.
        name: String = String::new(),
        /// The number of seats.
        seats: usize = 1,
        /// One per seat, or one for all.
        observation_spaces: Vec<Space> = Vec::new(),
        /// One per seat, or one for all.
        action_spaces: Vec<Space> = Vec::new(),
        /// The lowest and highest reward of one transition.
        reward_range: Option<(f64, f64)> = None,
        /// The discount factor that the game means its returns to be read with.
        discount: f64 = 1.0,
        /// Whether a watcher may see what any seat sees.
        perfect_information: bool = true,
        /// Whether the environment can add them.
        afterstates: bool = false,
        /// Reward of the seat to blame and of every other one, when an episode is forfeited.
        forfeit: Option<(f64, f64)> = None,
        /// No episode has more turns than this.
        max_turns: Option<i64> = None,
        /// Of observation and afterstates, if they are one tensor.
        symmetries: Vec<Symmetry> = Vec::new(),
    }
}

impl Spec {
    /// The observation space of a seat.
    pub fn observation_space(&self, seat: usize) -> Option<&Space> {
        one_of(&self.observation_spaces, seat)
    }

    /// The action space of a seat.
    pub fn action_space(&self, seat: usize) -> Option<&Space> {
        one_of(&self.action_spaces, seat)
    }
}

fn one_of(spaces: &[Space], seat: usize) -> Option<&Space> {
    match spaces {
        [all] => Some(all),
        each => each.get(seat),
    }
}

records! {
    /// Begin an episode; one in progress in the same match is abandoned.
    EnvironmentStart["type" = "start"] {
        /// The match.
        match_id["match"]: i64,
        /// The broker's number of the episode.
        episode: i64,
        /// For everything that the environment draws in this episode.
        seed: i64,
        /// Per seat, what to add to its views.
        wants: Vec<Vec<Want>> = Vec::new(),
        /// Whether to add the `text` that all may see to each turn.
        watched: bool = false,
    }

    /// The actions of every seat in `to_act`.
    EnvironmentStep["type" = "step"] {
        /// The episode.
        episode: i64,
        /// The number of the turn that these actions answer.
        turn: i64,
        /// Pairs of seat and action, in the order of `to_act`.
        actions: Vec<(usize, Value)>,
    }

    /// What a transition means to one seat.
    View {
        /// The seat.
        seat: usize,
        /// What the seat sees.
        observation: Value = Value::Nil,
        /// What the seat may do, for a seat in `to_act`.
        legal: Option<Legal> = None,
        /// Earned in this transition.
        reward: f64 = 0.0,
        /// If wanted: an array with one row per legal action.
        afterstates: Value = Value::Nil,
        /// If wanted: the position as this seat may see it.
        text: Option<String> = None,
        /// If wanted: the same to be drawn.
        scene: Value = Value::Nil,
    }

    /// A transition: who must act now and what each seat learns.
    Turn["type" = "turn"] {
        /// The episode; filled in by the library.
        episode: i64 = 0,
        /// The number of this decision point; filled in by the library.
        turn: i64 = 0,
        /// Seats that must act; empty if and only if the episode is over.
        to_act: Vec<usize> = Vec::new(),
        /// Seats in `to_act`, and any that earned a reward; at the end every seat.
        seats: Vec<View> = Vec::new(),
        /// Whether the rules ended the episode.
        terminated: bool = false,
        /// Whether the environment cut the episode short.
        truncated: bool = false,
        /// At the end: a score per seat.
        outcome: Option<Vec<f64>> = None,
        /// If watched: the position as all may see it.
        text: Option<String> = None,
        /// Whatever may help a person.
        info: Value = Value::Nil,
    }

    /// A seat asks an environment what would follow.
    EnvironmentLookahead["type" = "lookahead"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The episode.
        episode: i64,
        /// The seat that asks.
        seat: usize,
        /// The turn of its decision.
        turn: i64,
        /// Sequences of actions.
        lines: Vec<Vec<Vec<Value>>>,
        /// For what the seat cannot know and for chance.
        seed: i64 = 0,
    }

    /// What a line of actions leads to.
    Position {
        /// Seats that would have to act.
        to_act: Vec<usize> = Vec::new(),
        /// What the last action would mean to each seat.
        seats: Vec<View> = Vec::new(),
        /// Per seat, of the whole line.
        rewards: Vec<f64> = Vec::new(),
        /// Whether the rules would have ended the episode.
        terminated: bool = false,
        /// Whether the environment would have cut it short.
        truncated: bool = false,
        /// At the end: a score per seat.
        outcome: Option<Vec<f64>> = None,
        /// How many actions of the line were applied.
        applied: i64 = 0,
        /// Why the next one was not.
        error: String = String::new(),
    }

    /// Free text or data from an experiment to an environment.
    EnvironmentMessage["type" = "message"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The match that the environment was made for.
        match_id["match"]: i64,
        /// Whatever the experiment and the environment have agreed on.
        body: Payload = Payload::default(),
    }

    /// The match is over.
    Close["type" = "close"] {
        /// The match.
        match_id["match"]: i64,
    }
}

// -- broker and agent ------------------------------------------------------------------------------

records! {
    /// Make an agent instance.
    AgentCreate["type" = "create"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The broker's number for the new agent.
        instance: i64,
        /// The name of an offer of this peer.
        agent: String,
        /// The options by name.
        parameters: Map = Map::new(),
        /// For random choices that belong to no episode.
        seed: i64 = 0,
        /// Bytes of an earlier `saved` to begin from.
        state: Option<Vec<u8>> = None,
    }

    /// An instance takes a seat of a match.
    Init["type" = "init"] {
        /// The match.
        match_id["match"]: i64,
        /// The seat that the agent takes.
        seat: usize,
        /// The agent that takes it.
        instance: i64,
        /// What the environment said of itself.
        spec: Spec,
        /// Whether the agent may send `lookahead`.
        lookahead: bool = false,
    }

    /// What the seat may use, and what its last answer took; seconds at the broker.
    Clock {
        /// What this decision may take.
        decision: Option<f64> = None,
        /// What the seat has left for the episode.
        left: Option<f64> = None,
        /// What the seat's last answer took.
        last: Option<f64> = None,
    }

    /// A seat's first decision of an episode.
    AgentStart["type" = "start"] {
        /// The episode.
        episode: i64,
        /// The match, whose `init` said who holds the seat.
        match_id["match"]: i64,
        /// The seat.
        seat: usize,
        /// The number of the turn.
        turn: i64,
        /// For this seat's random choices in this episode.
        seed: i64,
        /// Whether the agent may change.
        mode: Mode = Mode::Learn,
        /// What the seat sees.
        observation: Payload = Payload::default(),
        /// What the seat may do.
        legal: Option<Legal> = None,
        /// If wanted: an array with one row per legal action.
        afterstates: Payload = Payload::default(),
        /// If wanted: the position as this seat may see it.
        text: Option<String> = None,
        /// If wanted: the same to be drawn.
        scene: Payload = Payload::default(),
        /// What the seat may use.
        clock: Option<Clock> = None,
        /// Earned before the first decision.
        reward: f64 = 0.0,
    }

    /// A later decision of a seat.
    AgentStep["type" = "step"] {
        /// The episode.
        episode: i64,
        /// The seat.
        seat: usize,
        /// The number of the turn.
        turn: i64,
        /// The sum of what the seat earned since its last decision.
        reward: f64 = 0.0,
        /// What the seat sees.
        observation: Payload = Payload::default(),
        /// What the seat may do.
        legal: Option<Legal> = None,
        /// If wanted: an array with one row per legal action.
        afterstates: Payload = Payload::default(),
        /// If wanted: the position as this seat may see it.
        text: Option<String> = None,
        /// If wanted: the same to be drawn.
        scene: Payload = Payload::default(),
        /// What the seat may use.
        clock: Option<Clock> = None,
    }

    /// The answer to `start` or `step`.
    Action["type" = "action"] {
        /// The episode.
        episode: i64,
        /// The number of the turn that it answers.
        turn: i64,
        /// The seat.
        seat: usize,
        /// A legal action.
        action: Value = Value::Nil,
    }

    /// The episode is over for a seat.
    EndMessage["type" = "end"] {
        /// The episode.
        episode: i64,
        /// The seat.
        seat: usize,
        /// The match, for a seat that never had a `start`.
        match_id["match"]: i64 = 0,
        /// The sum of what the seat earned since its last decision.
        reward: f64 = 0.0,
        /// The last position as the seat sees it.
        observation: Payload = Payload::default(),
        /// A score per seat.
        outcome: Option<Vec<f64>> = None,
        /// Why it is over.
        reason: Reason = Reason::Terminated,
        /// The seat at fault.
        blame: Option<i64> = None,
        /// All rewards of the episode.
        total: f64 = 0.0,
        /// How many decisions the seat had.
        decisions: i64 = 0,
        /// If wanted: the last position as this seat may see it.
        text: Option<String> = None,
        /// If wanted: the same to be drawn.
        scene: Payload = Payload::default(),
        /// The mode of the episode.
        mode: Mode = Mode::Learn,
    }

    /// An agent asks what would follow.
    AgentLookahead["type" = "lookahead"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The episode.
        episode: i64,
        /// The seat that must act.
        seat: usize,
        /// The turn of its decision.
        turn: i64,
        /// Sequences of actions.
        lines: Vec<Vec<Vec<Value>>>,
        /// For what the seat cannot know and for chance.
        seed: i64 = 0,
    }

    /// Ask an instance for its state.
    Save["type" = "save"] {
        /// To be returned in the `saved`.
        id: i64,
        /// The agent.
        instance: i64,
        /// From an experiment: the broker keeps the state under this name.
        keep: Option<String> = None,
    }

    /// An instance's state.
    Saved["type" = "saved"] {
        /// The `id` of the `save`.
        id: i64,
        /// Bytes of the agent's own form.
        state: Vec<u8>,
    }

    /// Put an instance into a state that it saved.
    Load["type" = "load"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The agent.
        instance: i64,
        /// Bytes of an earlier `saved`.
        state: Vec<u8> = Vec::<u8>::new(),
        /// From an experiment: what the broker keeps under this name.
        kept: Option<String> = None,
    }

    /// Free text or data from an experiment to an agent instance.
    AgentMessage["type" = "message"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The agent.
        instance: i64,
        /// Whatever the experiment and the agent have agreed on.
        body: Payload = Payload::default(),
    }

    /// The match is over; the seats that were taken by `init` are free.
    Leave["type" = "leave"] {
        /// The match.
        match_id["match"]: i64,
    }

    /// The instance is no longer needed.
    Cleanup["type" = "cleanup"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The agent.
        instance: i64,
    }
}

// -- broker and experiment -------------------------------------------------------------------------

records! {
    /// Ask what is connected.
    Catalogue["type" = "catalogue"] {
        /// To be returned in the `reply`.
        id: i64,
    }

    /// Make an agent instance.
    Create["type" = "create"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The name of an agent type on offer.
        agent: String,
        /// The type's options by name.
        parameters: Map = Map::new(),
        /// For random choices that belong to no episode.
        seed: i64 = 0,
        /// Bytes of an earlier `saved` to begin from.
        state: Option<Vec<u8>> = None,
        /// The name under which the broker keeps the state to begin from.
        kept: Option<String> = None,
        /// The name of the peer to make it.
        peer: Option<String> = None,
    }
}

/// Who sits at a seat of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Player {
    /// An instance by number.
    Instance(i64),
    /// An agent that a program is, by its name.
    Name(String),
}

impl From<i64> for Player {
    fn from(instance: i64) -> Self {
        Player::Instance(instance)
    }
}

impl From<&str> for Player {
    fn from(name: &str) -> Self {
        Player::Name(name.to_owned())
    }
}

impl crate::field::Field for Player {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ProtocolError> {
        match reader.token()? {
            Token::Int(instance) => Ok(Player::Instance(instance)),
            Token::Text(name) => Ok(Player::Name(wire::utf8(name)?.to_owned())),
            other => Err(wire::expected("an integer or text", &other)),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Player::Instance(instance) => wire::write_int(out, *instance),
            Player::Name(name) => wire::write_text(out, name),
        }
    }
}

records! {
    /// How long a seat may think; seconds, `None` is no limit.
    ClockRule {
        /// For one decision.
        decision: Option<f64> = None,
        /// For all decisions of an episode together.
        episode: Option<f64> = None,
        /// Added to `episode` after each decision.
        increment: f64 = 0.0,
        /// Forgiven, for the way to the agent and back.
        margin: f64 = 0.0,
    }

    /// Play episodes.
    Run["type" = "run"] {
        /// To be returned in the `reply`; filled in by the library.
        id: i64,
        /// The name of an environment on offer.
        environment: String,
        /// Seat by seat.
        agents: Vec<Player>,
        /// The environment's options by name.
        configuration: Map = Map::new(),
        /// How many episodes to play.
        episodes: i64 = 1,
        /// The master seed of the run.
        seed: i64 = 0,
        /// The environment seed of each episode instead of derived ones.
        seeds: Option<Vec<i64>> = None,
        /// The index of the first episode.
        first: i64 = 0,
        /// Whether agents may change.
        mode: Mode = Mode::Learn,
        /// How many episodes to play at once.
        concurrency: i64 = 1,
        /// Episode i seats agent k at seat (k + i) modulo seats.
        rotate: bool = false,
        /// How long seats may think.
        clock: ClockRule = ClockRule::default(),
        /// Seconds for any answer that no clock bounds; `None` waits for ever.
        patience: Option<f64> = Some(60.0),
        /// Truncate after this many turns.
        max_turns: Option<i64> = None,
        /// What an answer that is too late costs.
        on_timeout: Price = Price::Forfeit,
        /// What an action that is not legal costs.
        on_illegal: Price = Price::Forfeit,
        /// How often an interrupted episode is played again.
        retries: i64 = 1,
        /// Hold observations and rewards against the declared spaces.
        check: bool = false,
        /// Wait for `start` and `step` of the experiment.
        stepwise: bool = false,
        /// Nobody may watch.
        secret: bool = false,
        /// Agents may ask the environment what would follow from actions.
        lookahead: bool = false,
    }
}

impl Run {
    /// One episode of an environment; change the fields for more.
    pub fn new<P: Into<Player>>(environment: &str, agents: impl IntoIterator<Item = P>) -> Self {
        Self {
            environment: environment.to_owned(),
            agents: agents.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

records! {
    /// Start no new episodes until told otherwise.
    Pause["type" = "pause"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The run.
        run: i64,
        /// False goes on again.
        paused: bool = true,
    }

    /// Finish the episodes in progress and start no other.
    Drain["type" = "drain"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The run.
        run: i64,
    }

    /// End everything of the run now.
    Cancel["type" = "cancel"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The run.
        run: i64,
    }

    /// Stepwise: begin the next episode.
    ExperimentStart["type" = "start"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The run.
        run: i64,
    }

    /// Stepwise: let the seats act once.
    ExperimentStep["type" = "step"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The run.
        run: i64,
    }

    /// Pass a message to an agent instance, or to the environments of a run.
    ExperimentMessage["type" = "message"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The agent that it is for.
        instance: Option<i64> = None,
        /// Or the run whose first environment it is for.
        run: Option<i64> = None,
        /// Whatever the experiment and the receiver have agreed on.
        body: Value = Value::Nil,
    }

    /// Receive the turns of a run, or of all runs.
    Watch["type" = "watch"] {
        /// To be returned in the `reply`.
        id: i64,
        /// The run; `None` is all runs.
        run: Option<i64> = None,
        /// False ends it.
        on: bool = true,
    }

    /// A turn as a watcher may see it.
    WatchedTurn["type" = "turn"] {
        /// The run.
        run: i64,
        /// The match.
        match_id["match"]: i64,
        /// The number of the episode in its run.
        index: i64,
        /// The broker's number of the episode.
        episode: i64,
        /// The number of the turn.
        turn: i64,
        /// Seats that must act now.
        to_act: Vec<usize> = Vec::new(),
        /// The actions that led here.
        actions: Vec<(usize, Value)> = Vec::new(),
        /// Per seat, of this transition.
        rewards: Vec<f64> = Vec::new(),
        /// Seat and observation, in games of perfect information.
        observations: Vec<(usize, Value)> = Vec::new(),
        /// The agents' types or names by seat.
        agents: Vec<String> = Vec::new(),
        /// Whether the rules ended the episode.
        terminated: bool = false,
        /// Whether the environment cut the episode short.
        truncated: bool = false,
        /// At the end: a score per seat.
        outcome: Option<Vec<f64>> = None,
        /// Why the episode is over; `None` while it goes on.
        reason: Option<Reason> = None,
        /// The position as all may see it.
        text: Option<String> = None,
    }

    /// What one seat got out of an episode.
    SeatResult {
        /// The agent's type or name.
        agent: String,
        /// The number of the agent instance.
        instance: i64,
        /// The undiscounted sum of rewards.
        total: f64 = 0.0,
        /// How many decisions the seat answered.
        decisions: i64 = 0,
        /// Thinking time.
        seconds: f64 = 0.0,
        /// Answers too late or illegal that cost the run's price.
        breaches: i64 = 0,
        /// Actions that were late, doubled or foreign.
        ignored: i64 = 0,
    }

    /// The result of one episode.
    Episode["type" = "episode"] {
        /// The run.
        run: i64,
        /// The number of the episode in its run.
        index: i64,
        /// The broker's number of the episode.
        episode: i64,
        /// The environment's seed.
        seed: i64,
        /// Why it ended.
        reason: Reason,
        /// The account of each seat.
        seats: Vec<SeatResult>,
        /// A score per seat.
        outcome: Option<Vec<f64>> = None,
        /// The seat at fault.
        blame: Option<i64> = None,
        /// How many turns were answered.
        turns: i64 = 0,
        /// False if the episode was interrupted.
        scored: bool = true,
        /// Whether an interrupted episode is played again.
        again: bool = false,
        /// What went wrong, if something did.
        message: String = String::new(),
    }

    /// How far a run is.
    Progress["type" = "progress"] {
        /// The run.
        run: i64,
        /// Episodes that are over.
        finished: i64,
        /// Episodes in progress.
        running: i64,
        /// Episodes that the run asked for.
        total: i64,
    }

    /// A run is over.
    Done["type" = "done"] {
        /// The run.
        run: i64,
        /// Episodes that are over.
        finished: i64,
        /// Why the run is over.
        reason: DoneReason = DoneReason::Finished,
        /// One line for a person.
        message: String = String::new(),
    }
}

// -- what each role accepts ------------------------------------------------------------------------

/// The messages that a role gets from the broker, beside those of every session.
pub trait Incoming: Sized {
    /// Reads the fields of a message by its type; nothing if the role does not know the type.
    #[doc(hidden)]
    fn read(kind: &[u8], fields: Fields<'_>) -> Option<Result<Self, ProtocolError>>;
}

/// The entries of a message that are still to be read.
#[doc(hidden)]
pub struct Fields<'a> {
    reader: Reader<'a>,
    count: usize,
}

macro_rules! incoming {
    ($(#[$about:meta])* $name:ident { $( $(#[$word:meta])* $kind:ident($type:ty) ),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name { $( $(#[$word])* $kind($type), )* }

        impl Incoming for $name {
            fn read(kind: &[u8], mut fields: Fields<'_>) -> Option<Result<Self, ProtocolError>> {
                $(
                    if kind == <$type as Record>::TAG.as_bytes() {
                        let read = <$type as Record>::read_fields(&mut fields.reader, fields.count);
                        return Some(read.map($name::$kind));
                    }
                )*
                None
            }
        }
    };
}

incoming! {
    /// What an environment hears.
    ToEnvironment {
        /// Apply actions.
        Step(EnvironmentStep),
        /// Begin an episode.
        Start(EnvironmentStart),
        /// Make an environment.
        Open(Open),
        /// Let it go.
        Close(Close),
        /// Say what would follow.
        Lookahead(EnvironmentLookahead),
        /// Answer an experiment.
        Message(EnvironmentMessage),
    }
}

incoming! {
    /// What an agent hears.
    ToAgent {
        /// A later decision.
        Step(AgentStep),
        /// A first decision.
        Start(AgentStart),
        /// The end of an episode.
        End(EndMessage),
        /// A seat is taken.
        Init(Init),
        /// Make an instance.
        Create(AgentCreate),
        /// The answer to a lookahead.
        Reply(Reply),
        /// Give the state.
        Save(Save),
        /// Take a state.
        Load(Load),
        /// Answer an experiment.
        Message(AgentMessage),
        /// Seats are free.
        Leave(Leave),
        /// Let an instance go.
        Cleanup(Cleanup),
    }
}

incoming! {
    /// What an experiment or observer hears.
    ToExperiment {
        /// The answer to a request.
        Reply(Reply),
        /// The answer to a `save`.
        Saved(Saved),
        /// A result.
        Episode(Episode),
        /// How far a run is.
        Progress(Progress),
        /// A run is over.
        Done(Done),
        /// A turn that is watched.
        Turn(WatchedTurn),
    }
}

/// A frame of the broker, read.
#[derive(Clone, Debug, PartialEq)]
pub enum Received<I> {
    /// The answer to `hello`.
    Welcome(Welcome),
    /// To be answered with a pong.
    Ping(Ping),
    /// Confirms what was sent.
    Pong(Pong),
    /// Something was refused.
    Error(ErrorMessage),
    /// The broker leaves.
    Bye(Bye),
    /// A message of the role's own.
    Role(I),
}

/// Reads a frame of the broker for a role.
///
/// # Errors
/// With the code that the sender is to be told.
pub fn read<I: Incoming>(frame: &[u8], limits: &Limits) -> Result<Received<I>, ProtocolError> {
    wire::check(frame, limits)?;
    let mut reader = Reader::new(frame);
    let count = reader.map()?;
    let kind = match find_tag(&reader, count, "type")? {
        Some(Token::Text(kind)) => kind,
        _ => return Err(unknown_type("a message needs a `type` that is text")),
    };
    let fields = Fields {
        reader: reader.clone(),
        count,
    };
    if let Some(message) = I::read(kind, fields) {
        return message.map(Received::Role);
    }
    let reader = &mut reader;
    Ok(match kind {
        b"ping" => Received::Ping(Ping::read_fields(reader, count)?),
        b"pong" => Received::Pong(Pong::read_fields(reader, count)?),
        b"welcome" => Received::Welcome(Welcome::read_fields(reader, count)?),
        b"error" => Received::Error(ErrorMessage::read_fields(reader, count)?),
        b"bye" => Received::Bye(Bye::read_fields(reader, count)?),
        other => {
            let other: String = wire::utf8(other)?.chars().take(40).collect();
            return Err(unknown_type(&format!("no message of this role: {other:?}")));
        }
    })
}

#[cold]
fn unknown_type(text: &str) -> ProtocolError {
    ProtocolError {
        code: crate::error::code::UNKNOWN_TYPE,
        message: text.to_owned(),
    }
}
