"""Every message of the contract as a typed struct; SPEC.md says when each is sent.

A frame is one MessagePack map whose ``type`` names the message.  The same word may travel in
two directions with different fields (``start``, ``step``, ``turn``, ``message``), so there is one
set of messages per direction and role, listed at the end of this file.  Nothing here does
I/O or keeps state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Raw, Struct

from dovetail.protocol.spaces import Space

if TYPE_CHECKING:
    Payload = Any
else:
    Payload = Raw
    # A value that the broker passes on as the bytes it came in.  Between parts of one process
    # it is the object itself; encoding takes either.

NIL = Raw(b"\xc0")

VERSION = 1
"""The protocol version.  Peers of another version are refused at ``hello``."""

Role = Literal["environment", "agent", "experiment", "observer"]
Mode = Literal["learn", "evaluate"]
Want = Literal["afterstates", "text", "scene"]
Breach = Literal["forfeit", "random", "truncate"]

Reason = Literal[
    "terminated",
    "truncated",
    "illegal-action",
    "timeout",
    "stalled",
    "disconnected",
    "crashed",
    "cancelled",
    "environment-failed",
]
"""Why an episode ended.  The first two are the environment's word, the others the broker's."""

DoneReason = Literal["finished", "drained", "cancelled", "failed"]

WORDS: dict[str, dict[str, str]] = {
    "Role": {
        "": "What a peer is.",
        "environment": "Knows the rules of games.",
        "agent": "Makes decisions: a player, often a learner.",
        "experiment": "Asks for runs and receives their results.",
        "observer": "Only watches.",
    },
    "Mode": {
        "": "Whether an agent may change during an episode.",
        "learn": "The agent may learn.",
        "evaluate": "The agent must not change.",
    },
    "Want": {
        "": "What the environment adds to a seat's decisions on request.",
        "afterstates": "One row per legal action: what the seat would observe after it.",
        "text": "The position for a person to read.",
        "scene": "The position to be drawn.",
    },
    "Breach": {
        "": "What a late or illegal answer costs.",
        "forfeit": "The seat loses the episode.",
        "random": "The broker plays a random legal action for the seat.",
        "truncate": "The episode is truncated.",
    },
    "Reason": {
        "": "Why an episode ended.",
        "terminated": "The rules ended it.",
        "truncated": "A limit outside the rules cut it short.",
        "illegal-action": "A seat's action was not legal.",
        "timeout": "A seat used up its clock.",
        "stalled": "A seat without a clock did not answer in time.",
        "disconnected": "An agent's program went away.",
        "crashed": "An agent failed at a decision.",
        "cancelled": "The run was cancelled, or its experiment or the broker left.",
        "environment-failed": "The environment failed, left, or broke the contract.",
    },
    "DoneReason": {
        "": "Why a run is over.",
        "finished": "All episodes were played.",
        "drained": "The run was asked to start no more episodes.",
        "cancelled": "The run was ended at once.",
        "failed": "The run could not continue.",
    },
}
"""What the words of each enumeration mean, for the clients' documentation; "" is the summary."""

Legal = list[int] | bytes | None
"""Legal actions: action numbers, or a bit mask (bit ``a % 8`` of byte ``a // 8``), or no limit."""

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]


class Message(Struct, tag_field="type", tag=str.lower, omit_defaults=True, gc=False):
    """What all messages share: a ``type`` on the wire, and defaults that are left out."""


class Part(Struct, omit_defaults=True, gc=False):
    """A map inside a message; it has no ``type``."""


# -- any peer and the broker -----------------------------------------------------------------


class Offer(Part):
    """An environment or agent type that a peer can make."""

    name: str
    """How a run or a ``create`` names it."""
    description: str = ""
    """One sentence for a person."""
    parameters: dict[str, Any] = {}
    """JSON Schema of each option by name, with its default."""
    wants: list[Want] = []
    """For agents: what the environment is to add to this agent's decisions."""
    capacity: Natural = 1
    """For agents: episodes that one instance plays at once; 0 is no limit."""
    instance: bool = False
    """For agents: the program is this one agent; it need not and cannot be created."""
    seats: list[int] | None = None
    """For environments: the numbers of seats it can have."""


class Limits(Struct, omit_defaults=True, frozen=True):
    """The largest frame a receiver reads; a frame beyond it gets the error ``limit``."""

    frame: Positive = 16 * 1024 * 1024
    """Bytes."""
    depth: Positive = 32
    """Nested arrays and maps."""
    elements: Positive = 100_000
    """Values of any kind, keys included."""


class Hello(Message):
    """The first message of a peer, and again after a reconnection."""

    version: int
    """The protocol version that the peer speaks."""
    role: Role
    """What the peer is; it is fixed for the session."""
    name: str = ""
    """Unique among the peers present; empty lets the broker choose."""
    offers: list[Offer] = []
    """What environments and agents bring with them; empty for the other roles."""
    token: str | None = None
    """What the broker was started with as its access token, if it was."""
    resume: str | None = None
    """The session token of an earlier ``welcome``."""
    seen: Natural = 0
    """With ``resume``: the highest ``seq`` that arrived in that session."""
    software: str = ""
    """Name and version of the peer's program, for people."""
    features: list[str] = []
    """Names of the optional parts of the protocol that the peer knows; see SPEC.md, Versions."""


class Welcome(Message):
    """The broker's answer to ``hello``."""

    session: str
    """To be presented as ``resume`` after a reconnection."""
    name: str
    """The peer's name: its own, or the one that the broker chose."""
    resumed: bool = False
    """Whether this goes on with the session that ``resume`` named; false means that everything of
    an earlier session is gone."""
    version: int = VERSION
    """The protocol version that the broker speaks."""
    heartbeat: Seconds = 1.0
    """Seconds between the broker's pings; 0: none, since this connection cannot lose anything."""
    peer_timeout: Seconds = 30.0
    """Seconds of silence after which the broker gives up a peer that owes no answer."""
    limits: Limits = Limits()
    """What the broker reads; frames beyond it are refused."""
    features: list[str] = []
    """The optional parts that both sides know; only these may be used."""


class Ping(Message):
    """Either side asks whether the other is alive."""

    number: Natural = 0
    """Returned in the ``pong``."""
    settled: Natural = 0
    """From the broker: no frame up to this ``seq`` will be sent again, so the peer may forget its
    answers to them."""


class Pong(Message):
    """The answer to ``ping``."""

    number: Natural = 0
    """The number of the ``ping`` that it answers."""
    seen: Natural = 0
    """From a peer: the highest ``seq`` that has arrived."""


class Error(Message):
    """Something was refused or failed; nothing else has changed."""

    code: str
    """One of the error codes."""
    message: str
    """One line for a person: what is wrong, what was expected, what to do."""
    id: int | None = None
    """The request that it answers."""
    answers: int | None = None
    """From a peer: the ``seq`` of the frame that it answers, if that frame has no ``id``."""
    seat: int | None = None
    """From an environment, with the code ``illegal``: the seat whose action the rules refuse."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Bye(Message):
    """An orderly leave; the broker keeps nothing for a resumption."""

    reason: str = ""
    """One line for a person."""


class Reply(Message):
    """The answer to any message that has an ``id``."""

    id: int
    """The ``id`` of the request."""
    body: Any = None
    """What was asked for; each request says what that is."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


# -- broker and environment ------------------------------------------------------------------


class Symmetry(Part):
    """A way to turn or mirror the game that changes nothing about it."""

    observation: list[int]
    """The symmetric observation's elements in row-major order, as places in the observation's."""
    actions: list[int] = []
    """The number of the symmetric action by action number; empty if it is not told."""


class Spec(Message):
    """What a seat can expect of an environment; the answer to ``open``."""

    match: int = 0
    """The match of the ``open`` that it answers."""
    name: str = ""
    """What the game is called; the offer's name if the environment gives none."""
    seats: Positive = 1
    """The number of seats, numbered from 0."""
    observation_spaces: list[Space] = []
    """One per seat, or one for all; see SPEC.md, Spaces."""
    action_spaces: list[Space] = []
    """One per seat, or one for all."""
    reward_range: tuple[float, float] | None = None
    """The lowest and highest reward of one transition; nil if not known."""
    discount: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """The discount factor that the game means its returns to be read with."""
    perfect_information: bool = True
    """Whether a watcher may see what any seat sees."""
    chance: bool = False
    """Whether chance plays a part after the start: equal actions may lead to different turns."""
    afterstates: bool = False
    """Whether the environment can add them."""
    forfeit: tuple[float, float] | None = None
    """Reward of the seat to blame and of every other one, when an episode is forfeited."""
    max_turns: Positive | None = None
    """No episode has more turns than this."""
    symmetries: list[Symmetry] = []
    """Of observation and afterstates, if they are one tensor; the identity is left out."""


class Open(Message):
    """Make an environment for a match."""

    match: int
    """The broker's number of the match; later messages name it."""
    environment: str
    """The name of an offer of this peer."""
    configuration: dict[str, Any] = {}
    """The options by name; those left out have their defaults."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class EnvironmentStart(Message, tag="start"):
    """Begin an episode; one in progress in the same match is abandoned."""

    match: int
    """The match."""
    episode: int
    """The broker's number of the episode; later messages name it."""
    seed: int
    """For everything that the environment draws in this episode."""
    wants: list[list[Want]] = []
    """Per seat, what to add to its views; empty if no seat wants anything."""
    watched: bool = False
    """Whether to add the ``text`` that all may see to each turn."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class EnvironmentStep(Message, tag="step"):
    """The actions of every seat in ``to_act``."""

    episode: int
    """The episode."""
    turn: int
    """The number of the turn that these actions answer."""
    actions: list[tuple[int, Any]]
    """Pairs of seat and action, in the order of ``to_act``."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Close(Message):
    """The match is over; the environment made for it may go."""

    match: int
    """The match."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class EnvironmentLookahead(Message, tag="lookahead"):
    """A seat asks what would follow; answered with ``reply``, from what that seat knows."""

    id: int
    """To be returned in the ``reply``."""
    episode: int
    """The episode."""
    seat: int
    """The seat that asks, which must act."""
    turn: int
    """The turn of its decision."""
    lines: list[list[list[Any]]]
    """Sequences of actions, as in the agent's ``lookahead``."""
    seed: int = 0
    """For what the seat cannot know and for chance; the same draw for all lines."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class EnvironmentMessage(Message, tag="message"):
    """Free text or data from an experiment to an environment."""

    id: int
    """To be returned in the ``reply``."""
    match: int
    """The match that the environment was made for."""
    body: Any = None
    """Whatever the experiment and the environment have agreed on."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class View(Part):
    """What a transition means to one seat."""

    seat: Natural
    """The seat."""
    observation: Payload = NIL
    """What the seat sees, in its observation space; it passes through the broker unopened."""
    legal: Legal = None
    """What the seat may do, for a seat in ``to_act``; nil: whatever its action space contains."""
    reward: float = 0.0
    """Earned in this transition."""
    afterstates: Payload = NIL
    """If wanted: an array with one row per legal action, in their order."""
    text: str | None = None
    """If wanted: the position as this seat may see it."""
    scene: Payload = NIL
    """If wanted: the same to be drawn; see SPEC.md, Scenes."""


class Turn(Message):
    """A transition: who must act now and what each seat learns."""

    episode: int = 0
    """The episode."""
    turn: Natural = 0
    """The number of this decision point, from 0 within the episode."""
    to_act: list[int] = []
    """Seats that must act; empty if and only if the episode is over."""
    seats: list[View] = []
    """Seats in ``to_act``, and any that earned a reward; at the end every seat."""
    terminated: bool = False
    """Whether the rules ended the episode."""
    truncated: bool = False
    """Whether the environment cut the episode short, by a limit that is no part of the rules."""
    outcome: list[float] | None = None
    """At the end: a score per seat, 1 won, 0 lost, shared when drawn."""
    text: str | None = None
    """If watched: the position as all may see it."""
    info: Payload = NIL
    """Whatever may help a person; the broker passes it to nobody."""


# -- broker and agent --------------------------------------------------------------------------


class Create(Message):
    """Make an agent instance of a type that the peer offered."""

    id: int
    """To be returned in the ``reply``."""
    instance: int
    """The broker's number for the new agent; later messages name it."""
    agent: str
    """The name of an offer of this peer."""
    parameters: dict[str, Any] = {}
    """The options by name; those left out have their defaults."""
    seed: int = 0
    """For the random choices of the agent that belong to no episode."""
    state: bytes | None = None
    """Bytes of an earlier ``saved`` to begin from."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Init(Message):
    """An instance takes a seat of a match."""

    match: int
    """The match."""
    seat: int
    """The seat that the agent takes."""
    instance: int
    """The agent that takes it."""
    spec: Spec
    """What the environment said of itself."""
    lookahead: bool = False
    """Whether the agent may send ``lookahead``."""
    agent: str = ""
    """The name of the offer that the instance was made from."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Clock(Part):
    """What the seat may use, and what its last answer took; seconds at the broker."""

    decision: float | None = None
    """What this decision may take; nil is no limit."""
    left: float | None = None
    """What the seat has left for the episode, this decision included; nil is no limit."""
    last: float | None = None
    """What the seat's last answer took; nil before the first."""


class AgentStart(Message, tag="start"):
    """A seat's first decision of an episode."""

    episode: int
    """The episode."""
    match: int
    """The match, whose ``init`` said who holds the seat."""
    seat: int
    """The seat."""
    turn: int
    """The number of the turn; the ``action`` names it."""
    seed: int
    """For this seat's random choices in this episode."""
    mode: Mode = "learn"
    """In ``evaluate`` the agent must not change."""
    observation: Any = None
    """What the seat sees."""
    legal: Legal = None
    """What the seat may do; nil: whatever its action space contains."""
    afterstates: Any = None
    """If wanted: an array with one row per legal action, in their order."""
    text: str | None = None
    """If wanted: the position as this seat may see it."""
    scene: Any = None
    """If wanted: the same to be drawn."""
    clock: Clock | None = None
    """What the seat may use; nil if no clock runs."""
    reward: float = 0.0
    """Earned before the first decision."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class AgentStep(Message, tag="step"):
    """A later decision of a seat."""

    episode: int
    """The episode."""
    seat: int
    """The seat."""
    turn: int
    """The number of the turn; the ``action`` names it."""
    reward: float = 0.0
    """The sum of what the seat earned since its last decision."""
    observation: Any = None
    """What the seat sees."""
    legal: Legal = None
    """What the seat may do; nil: whatever its action space contains."""
    afterstates: Any = None
    """If wanted: an array with one row per legal action, in their order."""
    text: str | None = None
    """If wanted: the position as this seat may see it."""
    scene: Any = None
    """If wanted: the same to be drawn."""
    clock: Clock | None = None
    """What the seat may use; nil if no clock runs."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class End(Message):
    """The episode is over for a seat, whatever happened."""

    episode: int
    """The episode."""
    seat: int
    """The seat."""
    match: int = 0
    """The match, for a seat that never had a ``start``."""
    reward: float = 0.0
    """The sum of what the seat earned since its last decision."""
    observation: Any = None
    """The last position as the seat sees it; nil if the environment gave none."""
    outcome: list[float] | None = None
    """A score per seat, 1 won, 0 lost, shared when drawn; nil if nobody is scored."""
    reason: Reason = "terminated"
    """Why it is over."""
    blame: int | None = None
    """The seat at fault, if one is."""
    total: float = 0.0
    """The seat's return: all its rewards of the episode."""
    decisions: int = 0
    """How many decisions the seat was given in this episode."""
    text: str | None = None
    """If wanted: the last position as this seat may see it."""
    scene: Any = None
    """If wanted: the same to be drawn."""
    mode: Mode = "learn"
    """The mode of the episode."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Action(Message):
    """The answer to ``start`` or ``step``."""

    episode: int
    """The episode."""
    turn: int
    """The number of the turn that it answers."""
    seat: int
    """The seat."""
    action: Any = None
    """A legal action: an action number where ``legal`` was given, else a value of the action
    space."""
    refused: Natural = 0
    """How many answers the rules refused before this one; for bridges that ask again by themselves."""


class AgentLookahead(Message, tag="lookahead"):
    """Ask what would follow from the position in which the seat must act.

    The reply's ``body`` is a list of ``Preview``, one for each line.
    """

    id: int
    """To be returned in the ``reply``."""
    episode: int
    """The episode."""
    seat: int
    """The seat that must act."""
    turn: int
    """The turn of its decision."""
    lines: list[list[list[Any]]]
    """Sequences of actions; at each point one action for each seat to act, in the order of
    ``to_act``."""
    seed: int = 0
    """For what the seat cannot know and for chance; the same draw for all lines."""


class Preview(Part):
    """What a line of actions leads to."""

    to_act: list[int] = []
    """Seats that would have to act; empty if the episode would be over."""
    seats: list[View] = []
    """What the last action would mean to each seat that a turn would speak of."""
    rewards: list[float] = []
    """Per seat, of the whole line."""
    terminated: bool = False
    """Whether the rules would have ended the episode."""
    truncated: bool = False
    """Whether the environment would have cut it short."""
    outcome: list[float] | None = None
    """At the end: a score per seat."""
    applied: int = 0
    """How many actions of the line were applied."""
    error: str = ""
    """Why the next one was not: it is not legal, or the episode is over."""


class Save(Message):
    """Ask an instance for its state."""

    id: int
    """To be returned in the ``saved``."""
    instance: int
    """The agent."""
    state_name: str | None = None
    """From an experiment: the broker keeps the state under this name, across its restarts."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """From an experiment: seconds after which the request fails; nil waits for ever."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Saved(Message):
    """An instance's state."""

    id: int
    """The ``id`` of the ``save``."""
    state: bytes
    """Bytes of the agent's own form; the broker does not open them."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Load(Message):
    """Put an instance into a state that it saved."""

    id: int
    """To be returned in the ``reply``."""
    instance: int
    """The agent."""
    state: bytes = b""
    """Bytes of an earlier ``saved``."""
    state_name: str | None = None
    """From an experiment: load what the broker keeps under this name, instead of ``state``."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """From an experiment: seconds after which the request fails; nil waits for ever."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class AgentMessage(Message, tag="message"):
    """Free text or data from an experiment to an agent instance."""

    id: int
    """To be returned in the ``reply``."""
    instance: int
    """The agent."""
    body: Any = None
    """Whatever the experiment and the agent have agreed on."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Leave(Message):
    """The match is over; the seats that were taken by ``init`` are free."""

    match: int
    """The match."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Cleanup(Message):
    """The instance is no longer needed."""

    id: int
    """To be returned in the ``reply``."""
    instance: int
    """The agent."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """From an experiment: seconds after which the request fails; nil waits for ever."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


# -- experiment and broker -----------------------------------------------------------------------


class ClockRule(Struct, omit_defaults=True, frozen=True):
    """How long a seat may think; seconds, null is no limit."""

    decision: Annotated[float, Meta(gt=0)] | None = None
    """For one decision."""
    episode: Annotated[float, Meta(gt=0)] | None = None
    """For all decisions of an episode together."""
    increment: Seconds = 0.0
    """Added to ``episode`` after each decision."""
    margin: Seconds = 0.0
    """Forgiven, for the way to the agent and back."""


class Run(Message):
    """Play episodes; the reply is ``{"run": number}``."""

    id: int
    """To be returned in the ``reply``."""
    environment: str
    """The name of an environment on offer."""
    agents: list[int | str]
    """Seat by seat: an instance number, or the name of a self-offered agent."""
    configuration: dict[str, Any] = {}
    """The environment's options by name."""
    episodes: Positive = 1
    """How many episodes to play."""
    seed: int = 0
    """The master seed of the run."""
    seeds: list[int] | None = None
    """The environment seed of each episode instead of derived ones."""
    first_index: Natural = 0
    """The index of the first episode, to continue an earlier run."""
    mode: Mode = "learn"
    """Whether agents may change."""
    concurrency: Positive = 1
    """How many episodes to play at once, as far as the agents' capacity allows; each is a match
    of its own."""
    rotate: bool = False
    """Episode i seats agent k at seat (k + i) modulo seats; such rounds share a seed."""
    clock: ClockRule = ClockRule()
    """How long seats may think."""
    answer_timeout: Annotated[float, Meta(gt=0)] | None = 60.0
    """Seconds for any answer that no clock bounds; null waits for ever."""
    max_turns: Positive | None = None
    """Truncate after this many turns."""
    on_timeout: Breach = "forfeit"
    """What an answer that is too late costs."""
    on_illegal: Breach = "forfeit"
    """What an action that is not legal costs."""
    retries: Natural = 1
    """How often an interrupted episode is played again."""
    check: bool = False
    """Hold observations and rewards against the declared spaces."""
    stepwise: bool = False
    """Wait for ``start`` and ``step`` of the experiment."""
    secret: bool = False
    """Nobody may watch."""
    lookahead: bool = False
    """Agents may ask the environment what would follow from actions."""


class RunCommand(Message):
    """What ``pause``, ``drain``, ``cancel`` have in common."""

    id: int
    """To be returned in the ``reply``."""
    run: int
    """The run; it must be the sender's own."""


class Pause(RunCommand):
    """Start no new episodes until told otherwise."""

    paused: bool = True
    """False goes on again."""


class Drain(RunCommand):
    """Finish the episodes in progress and start no other."""


class Cancel(Message):
    """End everything of a run now, or give up a request."""

    id: int
    """To be returned in the ``reply``."""
    run: int | None = None
    """The run; it must be the sender's own."""
    request: int | None = None
    """Or the ``id`` of the sender's request to give up; it gets the error ``cancelled``."""


class ExperimentStart(RunCommand, tag="start"):
    """Stepwise: begin the next episode; the reply is its first turn."""

    abandon: bool = False
    """Whether an episode in progress is abandoned: truncated, without blame or outcome."""


class ExperimentStep(RunCommand, tag="step"):
    """Stepwise: let the seats act once; the reply is the turn that follows."""


class Catalogue(Message):
    """Ask what is connected; see SPEC.md for the reply."""

    id: int
    """To be returned in the ``reply``."""


class Watch(Message):
    """Receive the turns of a run, or of all runs."""

    id: int
    """To be returned in the ``reply``."""
    run: int | None = None
    """The run; nil is all runs, present and future."""
    on: bool = True
    """False ends it."""


class ExperimentCreate(Message, tag="create"):
    """Make an agent instance; the reply is ``{"instance": number}``."""

    id: int
    """To be returned in the ``reply``."""
    agent: str
    """The name of an agent type on offer."""
    parameters: dict[str, Any] = {}
    """The type's options by name."""
    seed: int = 0
    """For the random choices of the agent that belong to no episode."""
    state: bytes | None = None
    """Bytes of an earlier ``saved`` to begin from."""
    state_name: str | None = None
    """The name under which the broker keeps the state to begin from."""
    peer: str | None = None
    """The name of the peer to make it, if several offer the type."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """Seconds after which the request fails; nil waits for ever."""


class ExperimentMessage(Message, tag="message"):
    """Pass a message to an agent instance, or to the environments of a run."""

    id: int
    """To be returned in the ``reply``."""
    instance: int | None = None
    """The agent that it is for."""
    run: int | None = None
    """Or the run whose first environment it is for."""
    body: Any = None
    """Whatever the experiment and the receiver have agreed on; the ``reply`` has the answer."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """Seconds after which the request fails; nil waits for ever."""


class SeatResult(Part):
    """What one seat got out of an episode."""

    agent: str
    """The agent's type or name."""
    instance: int
    """The number of the agent instance."""
    total: float = 0.0
    """Return: the undiscounted sum of rewards."""
    decisions: int = 0
    """How many decisions the seat was given."""
    seconds: float = 0.0
    """Thinking time, from sending a decision to receiving the answer."""
    breaches: int = 0
    """Answers too late or illegal that cost the run's price."""
    ignored: int = 0
    """Actions that were late, doubled or foreign."""
    refused: int = 0
    """Answers that the rules refused before a bridge sent a legal one: the sum of ``action.refused``."""


class Episode(Message):
    """The result of one episode; it is in the journal before it is sent."""

    run: int
    """The run."""
    index: int
    """The number of the episode in its run."""
    episode: int
    """The broker's number of the episode; it is never used again while the broker runs."""
    seed: int
    """The environment's seed."""
    reason: Reason
    """Why it ended."""
    seats: list[SeatResult]
    """The account of each seat, in order."""
    outcome: list[float] | None = None
    """A score per seat, 1 won, 0 lost, shared when drawn; nil if nobody is scored."""
    blame: int | None = None
    """The seat at fault, if one is."""
    turns: int = 0
    """How many turns were answered."""
    scored: bool = True
    """False if the episode was interrupted; it counts for nobody."""
    will_retry: bool = False
    """Whether the broker plays an interrupted episode again under the same index."""
    message: str = ""
    """What went wrong, if something did."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Progress(Message):
    """How far a run is."""

    run: int
    """The run."""
    finished: int
    """Episodes that are over and not to be played again."""
    running: int
    """Episodes in progress."""
    total: int
    """Episodes that the run asked for."""


class Done(Message):
    """A run is over."""

    run: int
    """The run."""
    finished: int
    """Episodes that are over."""
    reason: DoneReason = "finished"
    """Why the run is over."""
    message: str = ""
    """One line for a person, if there is something to say."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class WatchedTurn(Message, tag="turn"):
    """A turn as a watcher may see it."""

    run: int
    """The run."""
    match: int
    """The match."""
    index: int
    """The number of the episode in its run."""
    episode: int
    """The broker's number of the episode."""
    turn: int
    """The number of the turn."""
    to_act: list[int] = []
    """Seats that must act now."""
    actions: list[tuple[int, Any]] = []
    """The actions that led here."""
    rewards: list[float] = []
    """Per seat, of this transition."""
    observations: list[tuple[int, Any]] = []
    """Seat and observation, in games of perfect information."""
    agents: list[str] = []
    """The agents' types or names by seat."""
    terminated: bool = False
    """Whether the rules ended the episode."""
    truncated: bool = False
    """Whether the environment cut the episode short."""
    outcome: list[float] | None = None
    """At the end: a score per seat."""
    reason: Reason | None = None
    """Why the episode is over; nil while it goes on."""
    text: str | None = None
    """The position as all may see it."""


# -- who says what -----------------------------------------------------------------------------------

Session = Hello | Ping | Pong | Error | Bye
FromEnvironment = Hello | Ping | Pong | Error | Bye | Spec | Turn | Reply
FromAgent = Hello | Ping | Pong | Error | Bye | Action | AgentLookahead | Saved | Reply
FromExperiment = (
    Hello
    | Ping
    | Pong
    | Error
    | Bye
    | Run
    | Pause
    | Drain
    | Cancel
    | ExperimentStart
    | ExperimentStep
    | Catalogue
    | Watch
    | ExperimentCreate
    | Save
    | Load
    | Cleanup
    | ExperimentMessage
)
FromObserver = Hello | Ping | Pong | Error | Bye | Catalogue | Watch
ToEnvironment = (
    Welcome
    | Ping
    | Pong
    | Error
    | Bye
    | Open
    | EnvironmentStart
    | EnvironmentStep
    | Close
    | EnvironmentLookahead
    | EnvironmentMessage
)
ToAgent = (
    Welcome
    | Ping
    | Pong
    | Error
    | Bye
    | Create
    | Init
    | AgentStart
    | AgentStep
    | End
    | Reply
    | Save
    | Load
    | AgentMessage
    | Leave
    | Cleanup
)
ToExperiment = (
    Welcome | Ping | Pong | Error | Bye | Reply | Saved | Episode | Progress | Done | WatchedTurn
)

Asked = (
    Open
    | EnvironmentStart
    | EnvironmentStep
    | EnvironmentLookahead
    | EnvironmentMessage
    | Create
    | Init
    | AgentStart
    | AgentStep
    | Save
    | Load
    | AgentMessage
    | Cleanup
)
"""What the broker sends again until it is answered; ``init`` only an ``error`` answers."""

Delivered = Close | End | Leave | Reply | Saved | Error | Episode | Done
"""What the broker sends again until it has arrived."""

Numbered = Asked | Delivered
"""Every message from the broker that has a ``seq``."""
