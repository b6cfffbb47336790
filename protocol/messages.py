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
Want = Literal["afterstates", "text"]
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
    elements: Positive = 1_000_000
    """Values of any kind, keys included."""


class Hello(Message):
    """The first message of a peer, and again after a reconnection."""

    version: int
    role: Role
    name: str = ""
    """Unique among the peers present; empty lets the broker choose."""
    offers: list[Offer] = []
    token: str | None = None
    """What the broker was started with as its access token, if it was."""
    resume: str | None = None
    """The session token of an earlier ``welcome``."""
    software: str = ""
    features: list[str] = []


class Welcome(Message):
    """The broker's answer to ``hello``."""

    session: str
    """To be presented as ``resume`` after a reconnection."""
    name: str
    resumed: bool = False
    version: int = VERSION
    heartbeat: Seconds = 1.0
    """Seconds between pings; silence for ``patience`` is death."""
    patience: Seconds = 30.0
    limits: Limits = Limits()
    features: list[str] = []


class Ping(Message):
    """Either side asks whether the other lives."""

    number: Natural = 0


class Pong(Message):
    """The answer to ``ping``; it confirms everything that was sent before that ping."""

    number: Natural = 0


class Error(Message):
    """Something was refused; nothing else has changed."""

    code: str
    message: str
    id: int | None = None
    """The request that it answers, if it answers one."""
    episode: int | None = None
    seat: int | None = None
    match: int | None = None


class Bye(Message):
    """An orderly leave; the broker keeps nothing for a resumption."""

    reason: str = ""


class Reply(Message):
    """The answer to any message that has an ``id``."""

    id: int
    body: Any = None


# -- broker and environment ------------------------------------------------------------------


class Spec(Message):
    """What a seat can expect of an environment; the answer to ``open``."""

    match: int = 0
    name: str = ""
    seats: Positive = 1
    observation_spaces: list[Space] = []
    """One per seat, or one for all; see SPEC.md, Spaces."""
    action_spaces: list[Space] = []
    """One per seat, or one for all."""
    reward_range: tuple[float, float] | None = None
    discount: Annotated[float, Meta(ge=0, le=1)] = 1.0
    perfect_information: bool = True
    """Whether a watcher may see what any seat sees."""
    afterstates: bool = False
    """Whether the environment can add them."""
    forfeit: tuple[float, float] | None = None
    """Reward of the seat to blame and of every other one, when an episode is forfeited."""
    max_turns: Positive | None = None
    """No episode has more turns than this."""


class Open(Message):
    """Make an environment for a match."""

    match: int
    environment: str
    configuration: dict[str, Any] = {}


class EnvironmentStart(Message, tag="start"):
    """Begin an episode; one in progress in the same match is abandoned."""

    match: int
    episode: int
    seed: int
    wants: list[list[Want]] = []
    """Per seat, what to add to its views; empty if no seat wants anything."""
    watched: bool = False
    """Whether to add the ``text`` that all may see to each turn."""


class EnvironmentStep(Message, tag="step"):
    """The actions of every seat in ``to_act``."""

    episode: int
    turn: int
    actions: list[tuple[int, Any]]
    """Pairs of seat and action, in the order of ``to_act``."""


class Close(Message):
    """The match is over; the environment made for it may go."""

    match: int


class EnvironmentMessage(Message, tag="message"):
    """Free text or data from an experiment to an environment."""

    id: int
    match: int
    body: Any = None


class View(Part):
    """What a transition means to one seat."""

    seat: Natural
    observation: Payload = NIL
    legal: Legal = None
    reward: float = 0.0
    """Earned in this transition."""
    afterstates: Payload = NIL
    """If wanted: an array with one row per legal action, in their order."""
    text: str | None = None
    """If wanted: the position as this seat may see it."""


class Turn(Message):
    """A transition: who must act now and what each seat learns."""

    episode: int = 0
    turn: Natural = 0
    """The number of this decision point, from 0 within the episode."""
    to_act: list[int] = []
    """Seats that must act; empty if and only if the episode is over."""
    seats: list[View] = []
    """Seats in ``to_act``, and any that earned a reward; at the end every seat."""
    terminated: bool = False
    truncated: bool = False
    outcome: list[float] | None = None
    """At the end: a score per seat, 1 won, 0 lost, shared when drawn."""
    text: str | None = None
    """If watched: the position as all may see it."""
    info: Payload = NIL


# -- broker and agent --------------------------------------------------------------------------


class Create(Message):
    """Make an agent instance of a type that the peer offered."""

    id: int
    instance: int
    agent: str
    parameters: dict[str, Any] = {}
    seed: int = 0
    state: bytes | None = None
    """Bytes of an earlier ``saved`` to begin from."""


class Init(Message):
    """An instance takes a seat of a match."""

    match: int
    seat: int
    instance: int
    spec: Spec


class Clock(Part):
    """What the seat may use, and what its last answer took; seconds at the broker."""

    decision: float | None = None
    left: float | None = None
    last: float | None = None


class AgentStart(Message, tag="start"):
    """A seat's first decision of an episode."""

    episode: int
    match: int
    seat: int
    turn: int
    seed: int
    """For this seat's random choices in this episode."""
    mode: Mode = "learn"
    observation: Any = None
    legal: Legal = None
    afterstates: Any = None
    text: str | None = None
    clock: Clock | None = None
    reward: float = 0.0
    """Earned before the first decision."""


class AgentStep(Message, tag="step"):
    """A later decision of a seat."""

    episode: int
    seat: int
    turn: int
    reward: float = 0.0
    """The sum of what the seat earned since its last decision."""
    observation: Any = None
    legal: Legal = None
    afterstates: Any = None
    text: str | None = None
    clock: Clock | None = None


class End(Message):
    """The episode is over for a seat, whatever happened."""

    episode: int
    seat: int
    match: int = 0
    reward: float = 0.0
    observation: Any = None
    outcome: list[float] | None = None
    reason: Reason = "terminated"
    blame: int | None = None
    """The seat at fault, if one is."""
    total: float = 0.0
    """The seat's return: all its rewards of the episode."""
    decisions: int = 0
    text: str | None = None


class Action(Message):
    """The answer to ``start`` or ``step``."""

    episode: int
    turn: int
    seat: int
    action: Any = None


class Save(Message):
    """Ask an instance for its state."""

    id: int
    instance: int
    keep: str | None = None
    """From an experiment: the broker keeps the state under this name, across its restarts."""


class Saved(Message):
    """An instance's state."""

    id: int
    state: bytes


class Load(Message):
    """Put an instance into a state that it saved."""

    id: int
    instance: int
    state: bytes = b""
    kept: str | None = None
    """From an experiment: what the broker keeps under this name, instead of ``state``."""


class AgentMessage(Message, tag="message"):
    """Free text or data from an experiment to an agent instance."""

    id: int
    instance: int
    body: Any = None


class Leave(Message):
    """The match is over; the seats that were taken by ``init`` are free."""

    match: int


class Cleanup(Message):
    """The instance is no longer needed."""

    id: int
    instance: int


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
    environment: str
    agents: list[int | str]
    """Seat by seat: an instance number, or the name of a self-offered agent."""
    configuration: dict[str, Any] = {}
    episodes: Positive = 1
    seed: int = 0
    """The master seed of the run."""
    seeds: list[int] | None = None
    """The environment seed of each episode instead of derived ones."""
    first: Natural = 0
    """The index of the first episode, to go on with an earlier run."""
    mode: Mode = "learn"
    concurrency: Positive = 1
    rotate: bool = False
    """Episode i seats agent k at seat (k + i) modulo seats; such rounds share a seed."""
    clock: ClockRule = ClockRule()
    patience: Annotated[float, Meta(gt=0)] | None = 60.0
    """Seconds for any answer that no clock bounds; null waits for ever."""
    max_turns: Positive | None = None
    """Truncate after this many turns."""
    on_timeout: Breach = "forfeit"
    on_illegal: Breach = "forfeit"
    retries: Natural = 1
    """How often an interrupted episode is played again."""
    check: bool = False
    """Hold observations and rewards against the declared spaces."""
    stepwise: bool = False
    """Wait for ``start`` and ``step`` of the experiment."""
    secret: bool = False
    """Nobody may watch."""


class RunCommand(Message):
    """What ``pause``, ``drain``, ``cancel`` have in common."""

    id: int
    run: int


class Pause(RunCommand):
    """Start no new episodes until told otherwise."""

    paused: bool = True


class Drain(RunCommand):
    """Finish the episodes in progress and start no other."""


class Cancel(RunCommand):
    """End everything of the run now."""


class ExperimentStart(RunCommand, tag="start"):
    """Stepwise: begin the next episode; the reply is its first turn."""


class ExperimentStep(RunCommand, tag="step"):
    """Stepwise: let the seats act once; the reply is the turn that follows."""


class Catalogue(Message):
    """Ask what is connected; see SPEC.md for the reply."""

    id: int


class Watch(Message):
    """Receive the turns of a run, or of all runs."""

    id: int
    run: int | None = None
    on: bool = True


class ExperimentCreate(Message, tag="create"):
    """Make an agent instance; the reply is ``{"instance": number}``."""

    id: int
    agent: str
    parameters: dict[str, Any] = {}
    seed: int = 0
    state: bytes | None = None
    kept: str | None = None
    """The name under which the broker keeps the state to begin from."""
    peer: str | None = None
    """The name of the peer to make it, if several offer the type."""


class ExperimentMessage(Message, tag="message"):
    """Pass a message to an agent instance, or to the environments of a run."""

    id: int
    instance: int | None = None
    run: int | None = None
    body: Any = None


class SeatResult(Part):
    """What one seat got out of an episode."""

    agent: str
    """The agent's type or name."""
    instance: int
    total: float = 0.0
    """Return: the undiscounted sum of rewards."""
    decisions: int = 0
    seconds: float = 0.0
    """Thinking time, from sending a decision to receiving the answer."""
    breaches: int = 0
    """Answers too late or illegal that cost the run's price."""
    ignored: int = 0
    """Actions that were late, doubled or foreign."""


class Episode(Message):
    """The result of one episode; it is in the journal before it is sent."""

    run: int
    index: int
    """The number of the episode in its run."""
    episode: int
    seed: int
    reason: Reason
    seats: list[SeatResult]
    outcome: list[float] | None = None
    blame: int | None = None
    turns: int = 0
    scored: bool = True
    """False if the episode was interrupted; it counts for nobody."""
    again: bool = False
    """Whether an interrupted episode is played again under the same index."""
    message: str = ""
    """What went wrong, if something did."""


class Progress(Message):
    """How far a run is."""

    run: int
    finished: int
    running: int
    total: int


class Done(Message):
    """A run is over."""

    run: int
    finished: int
    reason: Literal["finished", "drained", "cancelled", "failed"] = "finished"
    message: str = ""


class WatchedTurn(Message, tag="turn"):
    """A turn as a watcher may see it."""

    run: int
    match: int
    index: int
    episode: int
    turn: int
    to_act: list[int] = []
    actions: list[tuple[int, Any]] = []
    """The actions that led here."""
    rewards: list[float] = []
    """Per seat, of this transition."""
    observations: list[tuple[int, Any]] = []
    """Seat and observation, in games of perfect information."""
    agents: list[str] = []
    terminated: bool = False
    truncated: bool = False
    outcome: list[float] | None = None
    reason: Reason | None = None
    text: str | None = None


# -- who says what -----------------------------------------------------------------------------------

Session = Hello | Ping | Pong | Error | Bye
FromEnvironment = Hello | Ping | Pong | Error | Bye | Spec | Turn | Reply
FromAgent = Hello | Ping | Pong | Error | Bye | Action | Saved | Reply
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
    | Save
    | Load
    | AgentMessage
    | Leave
    | Cleanup
)
ToExperiment = (
    Welcome | Ping | Pong | Error | Bye | Reply | Saved | Episode | Progress | Done | WatchedTurn
)
