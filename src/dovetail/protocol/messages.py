"""Every message of the contract as a typed struct; SPEC.md says when each is sent.

A frame is one MessagePack map whose ``type`` names the message.  The same word may travel in
two directions with different fields (``start``, ``step``, ``turn``, ``message``), so there is one
set of messages per direction and role, listed at the end of this file.  Nothing here does
I/O or keeps state.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from msgspec import Meta, Raw, Struct

from dovetail.protocol import display_text as shown
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
Crash = Literal["interrupt", "forfeit", "truncate"]
AgentLost = Literal["fail", "forfeit", "truncate", "wait", "substitute"]

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
"""The reason of an episode's end.  The environment reports the first two (unless a seat is blamed),
the broker the rest."""

INTERRUPTED: frozenset[Reason] = frozenset(
    ("disconnected", "crashed", "cancelled", "environment-failed")
)
"""Reasons that say nothing about the final position; such episodes are not scored."""

DoneReason = Literal["finished", "drained", "cancelled", "failed"]

Legal = list[int] | bytes | None
"""Legal actions: action numbers, a bit mask (bit ``a % 8`` of byte ``a // 8``), or None for all."""

Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
GroupSize = Annotated[int, Meta(ge=0, le=65_536)]
Count = Annotated[int, Meta(ge=1, le=2**63 - 1)]
"""A count that a file can have, too."""
Seconds = Annotated[float, Meta(ge=0)]


class Message(Struct, tag_field="type", tag=str.lower, omit_defaults=True, gc=False):
    """The base of all messages: tagged with ``type`` on the wire, defaults omitted."""


class Sequenced(Message, kw_only=True):
    """A message of the broker that must arrive."""

    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""


class Asking(Message):
    """A message that asks for a ``reply``."""

    id: int
    """The request's number, repeated in the ``reply``."""


class SequencedRequest(Sequenced):
    """A message of the broker that asks for a ``reply``."""

    id: int
    """The request's number, repeated in the ``reply``."""


class Part(Struct, omit_defaults=True, gc=False):
    """A map inside a message; it has no ``type``."""


# -- any peer and the broker -----------------------------------------------------------------


class Offer(Part):
    """An environment or agent type that a peer offers."""

    name: str
    """The name that ``run`` and ``create`` use."""
    description: str = ""
    """One sentence for a person."""
    parameters: dict[str, Any] = {}
    """The JSON Schema of each option, by name, with a ``default`` that environments also accept as
    a value; the number of seats is marked ``"x-seats": true``."""
    wants: list[Want] = []
    """For agents: the additions to each decision that the agent wants."""
    capacity: Natural = 1
    """For agents: maximum episodes in progress per instance; 0 for no limit."""
    instance: bool = False
    """For agents: true if the program is a single agent, which experiments seat by name and do not
    create."""
    seats: list[int] | None = None
    """For environments: the possible numbers of seats."""
    stacked: bool = False
    """True if it can play in groups; see SPEC.md, Stacked turns."""
    matches: Natural = 0
    """For environments: maximum matches in progress at this peer; 0 for no limit."""
    games: list[str] = []
    """For agents: the names of the environments that it plays; empty for any."""


class Limits(Struct, omit_defaults=True, frozen=True):
    """The largest frame that a receiver reads; it refuses a larger one with the error ``limit``."""

    frame: Positive = 16 * 1024 * 1024
    """Bytes."""
    depth: Positive = 32
    """Maximum nesting of arrays and maps."""
    elements: Positive = 100_000
    """Maximum number of values, including map keys."""


class Hello(Message):
    """A peer's first message on a connection."""

    version: int
    """The protocol version that the peer speaks."""
    role: Role
    """The peer's role, for the whole session."""
    name: str = ""
    """Unique among connected peers; the broker chooses a name if it is empty."""
    offers: list[Offer] = []
    """The types that environments and agents can make; empty for other roles."""
    token: str | None = None
    """The broker's access token, if it has one."""
    resume: str | None = None
    """The session token of an earlier ``welcome``, to resume that session."""
    seen: Natural = 0
    """With ``resume``: the highest ``seq`` that arrived in that session."""
    software: str = ""
    """Name and version of the peer's program, for people."""
    features: list[str] = []
    """Names of the optional parts of the protocol that the peer knows; see SPEC.md, Versions."""


class Welcome(Message):
    """The broker's answer to ``hello``."""

    session: str
    """The session token; a peer that reconnects sends it as ``resume``."""
    name: str
    """The peer's name: its own, or one that the broker chose."""
    resumed: bool = False
    """True if the session named by ``resume`` continues; if false, nothing of it is left."""
    version: int = VERSION
    """The protocol version that the broker speaks."""
    heartbeat: Seconds = 1.0
    """Seconds between the broker's pings; 0 for none, on connections that cannot lose messages."""
    peer_timeout: Seconds = 30.0
    """Seconds of silence after which the broker considers an idle peer lost."""
    limits: Limits = Limits()
    """The largest frames that the broker reads."""
    features: list[str] = []
    """The optional parts of the protocol that both sides know and may use."""


class Ping(Message):
    """Asks whether the other side is alive; answered with ``pong``."""

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


class Error(Sequenced):
    """Reports that a message was refused or failed; nothing else has changed."""

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

    def __post_init__(self) -> None:
        self.message = shown.line(self.message)


class Bye(Message):
    """Ends the session; it cannot be resumed."""

    reason: str = ""
    """One line for a person."""

    def __post_init__(self) -> None:
        self.reason = shown.line(self.reason)


class Reply(Sequenced):
    """The answer to any message that has an ``id``."""

    id: int
    """The ``id`` of the request that it answers."""
    body: Any = None
    """The result; each request defines its form."""


# -- broker and environment ------------------------------------------------------------------


class Symmetry(Part):
    """A rotation or reflection under which the game is the same."""

    observation: list[int]
    """For each element of the symmetric observation, in row-major order, its index in the
    observation."""
    actions: list[int] = []
    """For each action number, the number of the symmetric action; empty if unknown."""


class Spec(Message):
    """Describes a game to its seats; the answer to ``open``."""

    match: int = 0
    """The match of the ``open`` that it answers."""
    name: str = ""
    """The name of the game; the offer's name if empty."""
    seats: Positive = 1
    """The number of seats, numbered from 0."""
    observation_spaces: list[Space] = []
    """The observation space of each seat, or one for all; see SPEC.md, Spaces."""
    action_spaces: list[Space] = []
    """The action space of each seat, or one for all."""
    reward_range: tuple[float, float] | None = None
    """The lowest and highest reward of one transition; nil if unknown."""
    discount: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """The discount factor that the game suggests to learners; the broker does not discount."""
    perfect_information: bool = True
    """True if watchers may see every seat's observations."""
    chance: bool = False
    """True if there is chance after the start, so that equal actions may lead to different
    turns."""
    afterstates: bool = False
    """True if the environment can provide afterstates."""
    forfeit: tuple[float, float] | None = None
    """The rewards when a seat forfeits the episode: its own, and every other seat's."""
    max_turns: Positive | None = None
    """The maximum number of turns of an episode; nil if unknown."""
    symmetries: list[Symmetry] = []
    """Symmetries of an observation that is one tensor, without the identity."""

    def __post_init__(self) -> None:
        _check_spaces("observation_spaces", self.observation_spaces)
        _check_spaces("action_spaces", self.action_spaces)
        self.name = shown.line(self.name)

    def observation_space(self, seat: int) -> Space:
        """Return the space of a seat's observations; IndexError if none is declared."""
        return self.observation_spaces[seat if len(self.observation_spaces) > 1 else 0]

    def action_space(self, seat: int) -> Space:
        """Return the space of a seat's actions; IndexError if none is declared."""
        return self.action_spaces[seat if len(self.action_spaces) > 1 else 0]


def _check_spaces(name: str, given: Any) -> None:
    """Raise ValueError if ``given`` are not spaces, which msgspec does not check in Python."""
    if not isinstance(given, list | tuple):
        raise ValueError(
            f"{name} must be a list of spaces, one per seat or one for all, not {given!r:.60}"
        )
    for each in given:
        if not isinstance(each, Space):
            kind = f"{type(each).__module__}.{type(each).__name__}".removeprefix("builtins.")
            raise ValueError(f"{name} has {each!r:.60} of {kind}; use dovetail.spaces")


class Open(Message):
    """Creates an environment for a match; answered with ``spec``."""

    match: int
    """The broker's number for the match."""
    environment: str
    """The name of an offer of this peer."""
    configuration: dict[str, Any] = {}
    """Options by name; the others keep their defaults."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    slots: GroupSize = 0
    """For offers with ``stacked``: the number of episodes to play at once, as a group; 0 for an
    ordinary match."""
    afterstates: bool = False
    """True if the ``turns`` of the group need ``afterstates``."""


class EnvironmentStart(Message, tag="start"):
    """Starts an episode, dropping one in progress in the same match; answered with ``turn`` 0."""

    match: int
    """The match."""
    episode: int
    """The broker's number for the episode."""
    seed: int
    """The seed of everything random in this episode."""
    wants: list[list[Want]] = []
    """For each seat, the additions to its views; empty if there are none."""
    watched: bool = False
    """True to add the public ``text`` to each turn."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    scenes: bool = False
    """True to add the public ``scene`` to each turn, too."""
    once: bool = False
    """True if ``watched`` and ``scenes`` hold for this turn only."""


class EnvironmentStep(Message, tag="step"):
    """Applies the actions of all seats in ``to_act``; answered with the next ``turn``."""

    episode: int
    """The episode."""
    turn: int
    """The turn that these actions answer."""
    actions: list[tuple[int, Any]]
    """Pairs of seat and action, in the order of ``to_act``."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    watched: bool = False
    """True to add the public ``text`` from this step's turn on, whatever ``start`` said."""
    scenes: bool = False
    """The same for the public ``scene``."""
    once: bool = False
    """True if ``watched`` and ``scenes`` hold for the turn that answers this step only, and change
    nothing else."""


class Close(Sequenced):
    """Ends a match; the environment can release what it holds for it."""

    match: int
    """The match."""


class EnvironmentLookahead(SequencedRequest, tag="lookahead"):
    """Asks which positions would follow from actions, given what a seat can know; answered with
    ``reply``."""

    episode: int
    """The episode."""
    seat: int
    """The seat that asks and must act."""
    turn: int
    """The turn of the seat's decision."""
    lines: list[list[list[Any]]]
    """Sequences of joint actions, as in the agent's ``lookahead``."""
    seed: int = 0
    """The seed of chance and hidden information; all lines share one sample."""


class EnvironmentMessage(SequencedRequest, tag="message"):
    """A message from an experiment to an environment; answered with ``reply``."""

    match: int
    """The match that the environment was made for."""
    body: Any = None
    """Any value that both sides understand."""


class EnvironmentSteps(Sequenced, tag="steps"):
    """A batch for an environment's group: actions to apply, and episodes to begin; answered with
    ``turns``."""

    match: int
    """The group."""
    batch: Natural
    """The number of the batch in the group, from 0; the ``turns`` repeats it."""
    slots: Any = None
    """Tensor int32 [rows]: the slot of each action, ascending; nil if there are none."""
    seats: Any = None
    """Tensor int32 [rows]: its seat; seats of one slot are adjacent and ascending."""
    actions: Any = None
    """Tensor int64 [rows]: the action."""
    restarts: Any = None
    """Tensor int32 [begun]: the slots in which an episode begins, ascending; nil for none."""
    episodes: Any = None
    """Tensor int64 [begun]: the broker's number of each of these episodes."""
    seeds: Any = None
    """Tensor uint64 [begun]: the seed of each of these episodes."""


class Fault(Part):
    """A failure in one slot of a batch; the others continue."""

    slot: Natural
    """The slot."""
    code: str
    """``illegal`` if the rules refuse an action, ``crashed`` for anything else."""
    message: str
    """One line for a person: what is wrong."""
    seat: int | None = None
    """The seat at fault, if it is a seat's; in `actions`, nil is every seat of the slot."""

    def __post_init__(self) -> None:
        self.message = shown.line(self.message)


class Turns(Message):
    """The result of a batch, in every slot that it named; SPEC.md says what each column must
    hold."""

    match: int
    """The group."""
    batch: Natural
    """The batch that it answers."""
    slots: Any
    """Tensor int32 [slots]: the slots of the batch, each once, ascending."""
    rewards: Any = None
    """Tensor float64 [slots, seats]: each seat's reward in the transition; nil if all are 0."""
    over: Any = None
    """Tensor uint8 [slots]: 0 continues, 1 terminated, 2 truncated, 3 failed; nil if all
    continue."""
    rows: Any = None
    """Tensor int32 [rows]: the slot of each seat that must act, ascending; nil if none must."""
    seats: Any = None
    """Tensor int32 [rows]: the seat; seats of one slot are adjacent and ascending."""
    observations: Payload = NIL
    """A tensor [rows, ...], or an array of one value per row: the observations."""
    legal: Any = None
    """Tensor uint8 [rows, bytes]: the legal actions of each row as a bit mask; nil allows the whole
    action space."""
    afterstates: Payload = NIL
    """If wanted: a tensor [legal, ...] of the observations after each legal action, row by row."""
    finals: Payload = NIL
    """A tensor [ended, seats, ...], or an array of arrays: the final observations where ``over`` is
    1 or 2."""
    outcomes: Any = None
    """Tensor float64 [ended, seats]: the scores there, NaN where there are none; nil if there are
    none."""
    faults: list[Fault] = []
    """The error where ``over`` is 3, in the same order."""
    truncated: Any = None
    """Tensor uint8 [ended, seats]: 1 if a limit cut that seat short, 0 if the rules ended it; nil
    is as ``over`` says."""


class View(Part):
    """A transition as one seat experiences it."""

    seat: Natural
    """The seat."""
    observation: Payload = NIL
    """A value of the seat's observation space; the broker passes it on unread."""
    legal: Legal = None
    """For a seat in ``to_act``: its legal actions; nil allows its whole action space."""
    reward: float = 0.0
    """The seat's reward for this transition."""
    afterstates: Payload = NIL
    """If wanted: an array with one row per legal action, in the same order."""
    text: str | None = None
    """If wanted: the seat's view of the position as text."""
    scene: Payload = NIL
    """If wanted: the position as a scene to draw."""
    truncated: bool | None = None
    """In the last turn: whether a limit outside the rules truncated this seat; nil follows the
    turn."""


class Turn(Message):
    """A transition: which seats must act, and what each seat observes and earns."""

    episode: int = 0
    """The episode."""
    turn: Natural = 0
    """The number of this decision point within the episode, from 0."""
    to_act: list[int] = []
    """The seats that must act; empty if and only if the episode is over."""
    seats: list[View] = []
    """A view for each seat in ``to_act`` or with a reward; at the end, for every seat."""
    terminated: bool = False
    """True if the rules ended the episode."""
    truncated: bool = False
    """True if a limit outside the rules ended the episode."""
    outcome: list[float] | None = None
    """At the end: a score per seat; 1 for a win, 0 for a loss, shared if drawn."""
    text: str | None = None
    """If watched: the public position as text."""
    info: Payload = NIL
    """For debugging; the broker does not pass it on."""
    scene: Payload = NIL
    """If requested: the public position as a scene to draw."""
    blame: int | None = None
    """At the end: the seat that ended the episode by breaking a rule, if there is one."""

    @classmethod
    def ask(
        cls,
        seat: int,
        observation: Any,
        legal: Legal = None,
        reward: float = 0.0,
        *,
        others: Iterable[View] = (),
    ) -> Self:
        """Return the turn of one seat.

        Args:
            seat: the seat that must act.
            observation: its observation.
            legal: its legal actions; None allows its whole action space.
            reward: its reward in the transition.
            others: views of other seats that earned a reward.
        """
        return cls(to_act=[seat], seats=[View(seat, observation, legal, reward), *others])

    @classmethod
    def simultaneous(
        cls,
        observations: Mapping[int, Any],
        legal: Mapping[int, Legal] | None = None,
        rewards: Mapping[int, float] | None = None,
    ) -> Self:
        """Return the turn of several seats at once.

        Args:
            observations: the observation of each seat that must act, by seat.
            legal: legal actions by seat; missing seats may use their whole action space.
            rewards: rewards in the transition by seat; 0 for missing seats.
        """
        legal, rewards = legal or {}, rewards or {}
        views = [
            View(seat, seen, legal.get(seat), rewards.get(seat, 0.0))
            for seat, seen in observations.items()
        ]
        return cls(to_act=list(observations), seats=views)

    @classmethod
    def end(
        cls,
        observations: Iterable[Any],
        rewards: Sequence[float],
        *,
        winners: Sequence[int] | None = None,
        outcome: list[float] | None = None,
        truncated: bool | Collection[int] = False,
        blame: int | None = None,
    ) -> Self:
        """Return the end of an episode.

        Args:
            observations: the final observation of each seat, in order.
            rewards: the reward of each seat in the last transition.
            winners: the seats that share the win, all seats for a draw; None if the game has no
                winners or ``outcome`` is given.
            outcome: the score of each seat, if not equal shares of the win.
            truncated: whether a limit outside the rules ended the episode; or the seats truncated
                by a limit, if the rules ended it for the others.
            blame: the seat that ended it by breaking a rule.

        >>> Turn.end([None, None], [1.0, -1.0], winners=[0]).outcome
        [1.0, 0.0]
        >>> Turn.end([None, None], [0.0, 0.0], winners=[0, 1]).outcome
        [0.5, 0.5]
        """
        seen = list(observations)
        if len(seen) != len(rewards):
            count = f"{len(rewards)} reward{'s' * (len(rewards) != 1)}"
            raise ValueError(f"{count} for {len(seen)} seats; give one for each seat")
        views = [View(seat, seen[seat], None, reward) for seat, reward in enumerate(rewards)]
        if winners is not None:
            for each in winners:
                if each not in range(len(views)):
                    raise ValueError(
                        f"winners names seat {each}; the seats are 0 to {len(views) - 1}"
                    )
            outcome = [1 / len(winners) if seat in winners else 0.0 for seat in range(len(views))]
        if not isinstance(truncated, bool):
            cut = set(truncated)
            truncated = bool(cut) and cut.issuperset(range(len(views)))
            for view in views:
                view.truncated = view.seat in cut
        return cls(
            seats=views, terminated=not truncated, truncated=truncated, outcome=outcome, blame=blame
        )


# -- broker and agent --------------------------------------------------------------------------


class Create(SequencedRequest):
    """Creates an agent instance of a type that the peer offers; answered with ``reply``."""

    instance: int
    """The broker's number for the new instance."""
    agent: str
    """The name of an offer of this peer."""
    parameters: dict[str, Any] = {}
    """Options by name; the others keep their defaults."""
    seed: int = 0
    """The seed of the agent's random choices outside episodes."""
    state: bytes | None = None
    """The state to start from: bytes of an earlier ``saved``."""


class Init(Message):
    """Seats an agent instance in a match."""

    match: int
    """The match."""
    seat: int
    """The seat."""
    instance: int
    """The instance that takes the seat."""
    spec: Spec
    """The environment's description of the game."""
    lookahead: bool = False
    """True if the agent may send ``lookahead``."""
    agent: str = ""
    """The name of the offer that the instance was made from."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    slots: GroupSize = 0
    """How many episodes a group plays at once; 0 for an ordinary match."""


class Clock(Part):
    """A seat's remaining time, and the time of its last answer, in seconds of the broker's
    clock."""

    decision: float | None = None
    """The limit of this decision; nil if there is none."""
    left: float | None = None
    """The time left for the rest of the episode, including this decision; nil if there is no
    limit."""
    last: float | None = None
    """The time of the seat's last answer; nil before the first."""


class AgentStart(Message, tag="start"):
    """Asks for a seat's first decision of an episode; answered with ``action``."""

    episode: int
    """The episode."""
    match: int
    """The match."""
    seat: int
    """The seat."""
    turn: int
    """The turn; the ``action`` repeats it."""
    seed: int
    """The seed of this seat's random choices in this episode."""
    mode: Mode = "learn"
    """In ``evaluate`` the agent must not learn."""
    observation: Any = None
    """The seat's observation."""
    legal: Legal = None
    """The legal actions; nil allows the whole action space."""
    afterstates: Any = None
    """If wanted: an array with one row per legal action, in the same order."""
    text: str | None = None
    """If wanted: the seat's view of the position as text."""
    scene: Any = None
    """If wanted: the position as a scene to draw."""
    clock: Clock | None = None
    """The seat's clock; nil if none runs."""
    reward: float = 0.0
    """The seat's reward before its first decision."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    think: bool = False
    """True if a watcher may see the answer's ``thoughts``; it must not affect the action."""


class AgentStep(Message, tag="step"):
    """Asks for a later decision of a seat; answered with ``action``."""

    episode: int
    """The episode."""
    seat: int
    """The seat."""
    turn: int
    """The turn; the ``action`` repeats it."""
    reward: float = 0.0
    """The sum of the seat's rewards since its last decision."""
    observation: Any = None
    """The seat's observation."""
    legal: Legal = None
    """The legal actions; nil allows the whole action space."""
    afterstates: Any = None
    """If wanted: an array with one row per legal action, in the same order."""
    text: str | None = None
    """If wanted: the seat's view of the position as text."""
    scene: Any = None
    """If wanted: the position as a scene to draw."""
    clock: Clock | None = None
    """The seat's clock; nil if none runs."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    think: bool = False
    """True if a watcher may see the answer's ``thoughts``; it must not affect the action."""


class End(Sequenced):
    """Tells a seat that its episode is over, whatever the reason."""

    episode: int
    """The episode."""
    seat: int
    """The seat."""
    match: int = 0
    """The match; needed by a seat that never had a ``start``."""
    reward: float = 0.0
    """The sum of the seat's rewards since its last decision."""
    observation: Payload = NIL
    """The seat's final observation; nil if the environment gave none."""
    outcome: list[float] | None = None
    """A score per seat; 1 for a win, 0 for a loss, shared if drawn; nil if the game is not
    scored."""
    reason: Reason = "terminated"
    """Why the episode ended."""
    blame: int | None = None
    """The seat at fault, if any."""
    total: float = 0.0
    """The seat's return: the sum of its rewards."""
    decisions: int = 0
    """How many decisions the seat was given in this episode."""
    text: str | None = None
    """If wanted: the final position as text, as this seat may see it."""
    scene: Payload = NIL
    """If wanted: the position as a scene to draw."""
    mode: Mode = "learn"
    """The mode of the episode."""


class AgentSteps(Sequenced, tag="steps"):
    """A batch of decisions for an instance in a group; answered with ``actions``."""

    match: int
    """The group."""
    instance: int
    """The instance that decides."""
    batch: Natural
    """The number of the batch in the group; the ``actions`` repeats it."""
    slots: Any
    """Tensor int32 [rows]: the slot of each decision, ascending."""
    seats: Any
    """Tensor int32 [rows]: its seat; seats of one slot are adjacent and ascending."""
    turns: Any
    """Tensor int32 [rows]: its turn."""
    observations: Any = None
    """A tensor [rows, ...], or an array of one value per row: the observations."""
    legal: Any = None
    """Tensor uint8 [rows, bytes]: the legal actions of each row as a bit mask; nil allows the whole
    action space."""
    afterstates: Any = None
    """If wanted: a tensor [legal, ...] of the observations after each legal action, row by row."""
    rewards: Any = None
    """Tensor float64 [rows]: the sum of the seat's rewards since its last decision; nil for 0."""
    starts: Any = None
    """Tensor int32 [first]: the rows, from 0, that are the first of their seat in an episode; nil
    for none."""
    episodes: Any = None
    """Tensor int64 [first]: the broker's numbers of these episodes."""
    seeds: Any = None
    """Tensor uint64 [first]: the seed of the seat's random choices in each of them."""
    mode: Mode = "learn"
    """In ``evaluate`` the agent must not learn."""
    clock: Clock | None = None
    """The clock of each of these decisions; nil if none runs."""


class Ends(Sequenced):
    """Tells an instance in a group which of its seats' episodes are over; a column for each field
    of ``end``."""

    match: int
    """The group."""
    instance: int
    """The instance."""
    slots: Any
    """Tensor int32 [ended]: the slot of each seat."""
    seats: Any
    """Tensor int32 [ended]: the seat."""
    episodes: Any
    """Tensor int64 [ended]: the broker's number of the episode."""
    rewards: Any
    """Tensor float64 [ended]: the sum of the seat's rewards since its last decision."""
    totals: Any
    """Tensor float64 [ended]: the seat's return."""
    decisions: Any
    """Tensor int32 [ended]: how many decisions the seat was given."""
    reasons: list[Reason]
    """Why each episode ended."""
    outcomes: Any = None
    """Tensor float64 [ended, seats]: the scores, NaN where there are none; nil if there are
    none."""
    blames: Any = None
    """Tensor int32 [ended]: the seat at fault, -1 if none is; nil if none is anywhere."""
    observations: Any = None
    """A tensor [ended, ...], or an array of one value each: the final observations."""
    mode: Mode = "learn"
    """The mode of these episodes."""


class Actions(Message):
    """The answer to a batch of decisions: an action for every row, in their order."""

    match: int
    """The group."""
    instance: int
    """The instance."""
    batch: Natural
    """The batch that it answers."""
    slots: Any
    """Tensor int32 [rows]: as in the ``steps``."""
    seats: Any
    """Tensor int32 [rows]: as in the ``steps``."""
    actions: Any
    """Tensor int64 [rows]: the action number of each."""
    resigns: list[int] = []
    """The rows, from 0, that give up their episode instead."""
    refused: Any = None
    """Tensor int32 [rows]: how many earlier answers were illegal, as in ``action``; nil for
    none."""
    measures: Any = None
    """An array with a map for each row: the agent's measures since its last answer; nil for
    none."""
    faults: list[Fault] = []
    """The decisions at which the agent failed, in place of their actions."""


class Thoughts(Part):
    """An agent's evaluation at a decision, for watchers; opponents do not get it."""

    values: list[float] = []
    """The value of each legal action, in their order, in the agent's own unit: NaN if
    unknown, empty if all are."""
    probabilities: list[float] = []
    """The probability that the agent plays each legal action, in their order; empty if unknown."""
    line: list[Any] = []
    """The actions that the agent expects, its own first."""
    text: str = ""
    """Anything else, for a person."""


class Action(Message):
    """The answer to ``start`` or ``step``."""

    episode: int
    """The episode."""
    turn: int
    """The turn that it answers."""
    seat: int
    """The seat."""
    action: Any = None
    """An action number if ``legal`` was given, otherwise a value of the action space."""
    refused: Natural = 0
    """How many earlier answers to this decision were illegal; for bridges that ask their player
    again."""
    measures: dict[str, float] = {}
    """Figures that the agent measured since its last answer, such as ``loss``; they go into the
    result of the episode."""
    thoughts: Thoughts | None = None
    """For watchers, if the decision asks for it with ``think``."""
    resign: bool = False
    """True to give up the episode instead; ``action`` is then ignored."""


class AgentLookahead(Asking, tag="lookahead"):
    """Asks which positions would follow from the one in which the seat must act.

    The reply's ``body`` is a list of ``Preview``, one for each line.
    """

    episode: int
    """The episode."""
    seat: int
    """The seat that must act."""
    turn: int
    """The turn of the seat's decision."""
    lines: list[list[list[Any]]]
    """Sequences of joint actions: at each step, one action per seat in ``to_act``, in that
    order."""
    seed: int = 0
    """The seed of chance and hidden information; all lines share one sample."""


class Preview(Part):
    """The position that a line of actions leads to."""

    to_act: list[int] = []
    """The seats that would have to act; empty if the episode would be over."""
    seats: list[View] = []
    """The views in the turn that would follow the last action."""
    rewards: list[float] = []
    """The sum of each seat's rewards along the line."""
    terminated: bool = False
    """True if the rules would end the episode."""
    truncated: bool = False
    """True if a limit outside the rules would end it."""
    outcome: list[float] | None = None
    """At the end: a score per seat."""
    applied: int = 0
    """How many steps of the line were applied."""
    error: str = ""
    """The reason why the next step was not applied: an illegal action, or the end of the
    episode."""


class Save(Sequenced):
    """Asks for an instance's state; answered with ``saved``."""

    id: int
    """To be returned in the ``saved``."""
    instance: int
    """The agent."""
    state_name: str | None = None
    """From an experiment: the broker also stores the state under this name, across restarts."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """From an experiment: seconds after which the request fails; nil waits forever."""
    shared: bool = False
    """From an experiment: whether others may use the stored state while its session lasts."""


class Saved(Sequenced):
    """An instance's state."""

    id: int
    """The ``id`` of the ``save``."""
    state: bytes
    """The state, in the agent's own format; the broker does not open it."""


class Load(SequencedRequest):
    """Restores a state that an instance of this type saved."""

    instance: int
    """The agent."""
    state: bytes = b""
    """The bytes of an earlier ``saved``."""
    state_name: str | None = None
    """From an experiment: load the state that the broker stores under this name instead."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """From an experiment: seconds after which the request fails; nil waits forever."""


class AgentMessage(SequencedRequest, tag="message"):
    """A message from an experiment to an agent instance; answered with ``reply``."""

    instance: int
    """The agent."""
    body: Any = None
    """Any value that both sides understand."""


class Leave(Sequenced):
    """Ends a match for an agent; the seats that ``init`` assigned are free again."""

    match: int
    """The match."""


class Cleanup(SequencedRequest):
    """Asks a program to release an instance; answered with ``reply``."""

    instance: int
    """The agent."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """From an experiment: seconds after which the request fails; nil waits forever."""


# -- experiment and broker -----------------------------------------------------------------------


class ClockRule(Struct, omit_defaults=True, frozen=True):
    """How long a seat may think, in seconds; nil means any time."""

    decision: Annotated[float, Meta(gt=0)] | None = None
    """The limit of one decision."""
    episode: Annotated[float, Meta(gt=0)] | None = None
    """The limit of all decisions of an episode together."""
    increment: Seconds = 0.0
    """Added to ``episode`` after each decision."""
    margin: Seconds = 0.0
    """Added to every limit, for the network's delay."""


class GameRules(Struct, omit_defaults=True, gc=False, frozen=True, kw_only=True):
    """How each game is played: in ``run``, experiment files, arena files and the page's form."""

    clock: ClockRule = ClockRule()
    """The seats' clocks: seconds for ``decision``, ``episode`` (all decisions together),
    ``increment`` (added after each) and ``margin`` (for the network)."""
    max_turns: Count | None = None
    """The turn after which an episode is truncated."""
    on_timeout: Breach = "forfeit"
    """The cost of a late answer: the seat loses (``forfeit``), a random legal action is played
    (``random``), or the episode is truncated (``truncate``)."""
    on_illegal: Breach = "forfeit"
    """The cost of an illegal action: a choice as for ``on_timeout``."""
    on_crash: Crash = "interrupt"
    """The cost of an agent's failure at a decision: the episode is not scored and may be played
    again (``interrupt``), the seat loses (``forfeit``), or the episode is truncated
    (``truncate``)."""
    lookahead: bool = False
    """True if agents may ask the environment what would follow; see ``lookahead``."""


class PlayRules(GameRules, frozen=True, kw_only=True):
    """How many games are played at a time; in ``run`` and experiment files."""

    concurrency: Count = 1
    """Episodes in progress at once, up to the agents' capacity; each is a separate match."""
    stacked: bool = False
    """True if the turns of many episodes share a message, if environment, agents and the other
    fields allow it; see Stacked turns in SPEC.md."""


class RunRules(PlayRules, frozen=True, kw_only=True):
    """The settings of a run that apply to each of its episodes."""

    mode: Mode = "learn"
    """``learn``: agents may change; ``evaluate``: they must not."""
    answer_timeout: Annotated[float, Meta(gt=0)] | None = 60.0
    """Seconds for any answer without a clock; nil waits forever."""
    check: bool | None = None
    """True to check observations, legal actions and rewards against the declared spaces and
    range; nil checks those of the run's first episode, false none."""
    stepwise: bool = False
    """True if the experiment drives the run with ``start`` and ``step``."""
    opening_turns: Natural = 0
    """Without ``openings``: the number of first turns with random legal actions."""

    @property
    def patience(self) -> float:
        """Seconds for any answer without a clock; infinite if there is no limit."""
        return math.inf if self.answer_timeout is None else self.answer_timeout


class Run(RunRules, Message, frozen=False):  # type: ignore[misc]  # ``id`` is set when it is sent
    """Plays episodes; the reply is ``{"run": number}``."""

    id: int
    """The request's number, repeated in the ``reply``."""
    environment: str
    """The name of an offered environment."""
    agents: list[int | str]
    """For each seat, an instance number or the name of a program that is one agent."""
    configuration: dict[str, Any] = {}
    """The environment's options by name; the others keep their defaults."""
    episodes: Positive = 1
    """The number of episodes to play."""
    seed: int = 0
    """The master seed, from which the seeds of the episodes are derived."""
    seeds: list[int] | None = None
    """The environment seed of each episode, in place of derived ones."""
    first_index: Natural = 0
    """The index of the first episode, to continue an earlier run."""
    rotate: bool = False
    """True if agent k sits at seat (k + i) modulo seats in episode i; the episodes of one full
    rotation share an environment seed."""
    retries: Natural = 1
    """Maximum number of times that an interrupted episode is played again."""
    secret: bool = False
    """True if watching is forbidden."""
    modes: list[Mode] = []
    """The mode of each of ``agents``, if they differ; empty to use ``mode`` for all."""
    openings: list[list[list[Any]]] = []
    """Lines of joint actions with which the broker begins episodes, in place of the seats."""
    label: str = ""
    """The run's name in the journal, recorded with each episode."""
    on_agent_lost: AgentLost = "fail"
    """The consequence if an agent's program does not come back: ``fail``, ``forfeit``,
    ``truncate``, ``wait`` or ``substitute``; see docs/durable.md."""
    save_every: Natural = 0
    """Episodes between the broker's saves of each agent that learns, to recreate lost ones from;
    0 for never."""
    thoughts: bool = False
    """True if every watcher may see what the agents think; otherwise only this experiment may."""
    texts: bool = True
    """In a stepwise run: true if each turn has the position as text.  Watchers always get it."""
    peer: str | None = None
    """The name of the peer that serves the environment, if several offer it; nil for any."""
    substitutes: list[int | str] = []
    """With ``on_agent_lost`` ``substitute``: the agents that take a lost agent's seat until it is
    back; one for each of ``agents``, or one for all."""
    names: list[str] = []
    """The name of each of ``agents`` for watchers, the catalogue and the journal; empty for the
    offered names."""
    agents_seed: int | None = None
    """The master seed of the seats; nil derives it from ``seed``, which a player may then find
    if it can be guessed."""
    derivation: Annotated[int, Meta(ge=1, le=2)] = 2
    """The way the seats' seeds are derived: 2, or 1 to repeat episodes of former versions; see
    Seeds in SPEC.md."""


class RunCommand(Asking):
    """The fields that commands about a run share."""

    run: int
    """The run; the sender must own it."""


class Pause(RunCommand):
    """Pauses or resumes a run: while paused, it starts no episodes."""

    paused: bool = True
    """False resumes the run."""


class Drain(RunCommand):
    """Ends a run after the episodes in progress."""


class Cancel(Asking):
    """Ends a run at once, or gives up a request."""

    run: int | None = None
    """The run; the sender must own it."""
    request: int | None = None
    """The ``id`` of the request to give up, instead of a run; it gets the error ``cancelled``."""


class ExperimentStart(RunCommand, tag="start"):
    """In a stepwise run: starts the next episode; the reply is its first turn."""

    abandon: bool = False
    """True to truncate an episode in progress first, without blame or outcome."""


class ExperimentStep(RunCommand, tag="step"):
    """In a stepwise run: lets the seats in ``to_act`` act once; the reply is the next turn."""


class Catalogue(Asking):
    """Asks for the connected peers, the agents and the runs; SPEC.md defines the reply."""

    start: Natural = 0
    """The first entry of the reply: ``more`` from the previous reply, if there was more."""


class Watch(Asking):
    """Subscribes to the turns and results of a run, or of all runs."""

    run: int | None = None
    """The run; nil for all runs, present and future."""
    on: bool = True
    """False unsubscribes."""
    scenes: bool = False
    """True to receive the public ``scene`` with turns, beginning with the current ones."""
    thoughts: bool = False
    """True to receive the agents' thoughts with turns, where the run allows it."""
    every: Annotated[float, Meta(ge=0)] = 0.0
    """Minimum average time between two turns of a match, in seconds; 0 shows all turns."""


class ExperimentCreate(Asking, tag="create"):
    """Creates an agent instance; the reply is ``{"instance": number}``."""

    agent: str
    """The name of an offered agent type."""
    parameters: dict[str, Any] = {}
    """Options by name; the others keep their defaults."""
    seed: int = 0
    """The seed of the agent's random choices outside episodes."""
    state: bytes | None = None
    """The state to start from: bytes of an earlier ``saved``."""
    state_name: str | None = None
    """The name of a state that the broker stores, to start from."""
    peer: str | None = None
    """The name of the peer that creates it, if several offer the type."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """Seconds after which the request fails; nil waits forever."""
    shared: bool = False
    """True if other experiments may use the instance, too."""


class ExperimentMessage(Asking, tag="message"):
    """Passes a message to an agent instance, or to the environment of a run."""

    instance: int | None = None
    """The instance to pass it to."""
    run: int | None = None
    """The run whose first environment gets the message, instead of an agent."""
    body: Any = None
    """Any value that the two sides understand; the ``reply`` carries the answer."""
    timeout: Annotated[float, Meta(gt=0)] | None = 120.0
    """Seconds after which the request fails; nil waits forever."""


class SeatResult(Part):
    """The result of one seat in an episode."""

    agent: str
    """The agent's type or name."""
    instance: int
    """The number of the agent instance."""
    total: float = 0.0
    """Return: the undiscounted sum of rewards."""
    decisions: int = 0
    """How many decisions the seat was given."""
    seconds: float = 0.0
    """Thinking time, from sending decisions to receiving their answers."""
    breaches: int = 0
    """The number of answers that were late, illegal or an error."""
    ignored: int = 0
    """The number of actions ignored as stale, repeated or for another seat."""
    refused: int = 0
    """The sum of ``action.refused``: illegal answers that a bridge caught."""
    measures: dict[str, float] = {}
    """The mean of each of ``action.measures``, over the answers that had it."""
    stands_for: Natural | None = None
    """For a substitute: the number of the lost instance that it replaces; the result counts from
    then on."""
    since: Natural = 0
    """For a substitute: the first turn in which it could act."""


class Episode(Message):
    """The result of one episode, sent after it is in the journal."""

    run: int
    """The run."""
    index: int
    """The number of the episode in its run."""
    episode: int
    """The broker's number of the episode, unique while the broker runs."""
    seed: int
    """The environment's seed; 0 for watchers, since other episodes of the round may share it."""
    reason: Reason
    """Why it ended."""
    seats: list[SeatResult]
    """The result of each seat, in order."""
    outcome: list[float] | None = None
    """A score per seat; 1 for a win, 0 for a loss, shared if drawn; nil if the game is not
    scored."""
    blame: int | None = None
    """The seat at fault, if any."""
    turns: int = 0
    """How many turns were played."""
    scored: bool = True
    """False if the episode was interrupted and does not count."""
    will_retry: bool = False
    """True if the broker plays an interrupted episode again under the same index."""
    message: str = ""
    """The error, if there is one."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    digest: str = ""
    """A digest of the actions of all turns: episodes with equal actions have equal digests."""
    opening: list[list[Any]] = []
    """The joint actions that the broker played in place of the seats at the beginning."""


class Episodes(Sequenced):
    """Several results of a run that plays in groups."""

    run: int
    """The run."""
    results: list[Episode]
    """The results in order, each as an ``episode`` would have it."""


class Progress(Message):
    """Reports the progress of a run."""

    run: int
    """The run."""
    finished: int
    """Episodes that are over and will not be played again."""
    running: int
    """Episodes in progress."""
    total: int
    """Episodes requested by the run."""
    waiting: str = ""
    """If no episode could begin for 2 s: one line for a person that names what the run waits
    for."""


class Done(Message):
    """A run is over."""

    run: int
    """The run."""
    finished: int
    """Episodes that are over."""
    reason: DoneReason = "finished"
    """Why the run is over."""
    message: str = ""
    """One line for a person, or empty."""
    seq: Natural = 0
    """From the broker: the frame's number in this session; see SPEC.md, Delivery."""
    blame: Natural | None = None
    """If the run failed because an agent refused to play or left: its place in ``agents``."""
    code: str = ""
    """If the run failed: the code of the error that says why."""


class WatchedTurn(Message, tag="turn"):
    """A turn, as watchers may see it."""

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
    """The seats that must act now."""
    actions: list[tuple[int, Any]] = []
    """The actions that led here."""
    rewards: list[float] = []
    """The reward of each seat in this transition."""
    observations: list[tuple[int, Any]] = []
    """Pairs of seat and observation, in games of perfect information."""
    agents: list[str] = []
    """The agents' names, by seat."""
    terminated: bool = False
    """True if the rules ended the episode."""
    truncated: bool = False
    """True if the environment truncated the episode."""
    outcome: list[float] | None = None
    """At the end: a score per seat."""
    reason: Reason | None = None
    """Why the episode ended; nil while it continues."""
    text: str | None = None
    """The public position as text."""
    scene: Any = None
    """If requested: the public position as a scene to draw."""
    thoughts: list[tuple[int, Any]] = []
    """If requested and allowed: pairs of seat and ``Thoughts``, for the seats that acted."""
    environment: str = ""
    """The environment's name, as the run gave it."""
    clocks: list[Clock] = []
    """The remaining time of each seat when this is sent; empty without a clock, and at the end."""
    running: list[int] = []
    """The seats whose clocks are running."""


# -- who says what
# -----------------------------------------------------------------------------------

Session = Hello | Ping | Pong | Error | Bye
FromEnvironment = Session | Spec | Turn | Reply | Turns
FromAgent = Session | Action | AgentLookahead | Saved | Reply | Actions
FromObserver = Session | Catalogue | Watch
FromExperiment = (
    Session
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
ToPeer = Welcome | Ping | Pong | Error | Bye
ToExperiment = ToPeer | Reply | Saved | Episode | Progress | Done | WatchedTurn | Episodes
ToEnvironment = (
    ToPeer
    | Open
    | EnvironmentStart
    | EnvironmentStep
    | Close
    | EnvironmentLookahead
    | EnvironmentMessage
    | EnvironmentSteps
)
ToAgent = (
    ToPeer
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
    | AgentSteps
    | Ends
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
    | EnvironmentSteps
    | AgentSteps
)
"""Messages that the broker repeats until they are answered; ``init`` only an ``error`` answers."""

Delivered = Close | End | Leave | Reply | Saved | Error | Episode | Done | Ends | Episodes
"""Messages that the broker repeats until they have arrived."""

Numbered = Asked | Delivered
"""Every message from the broker that has a ``seq``."""
