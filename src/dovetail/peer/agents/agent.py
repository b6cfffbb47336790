"""``Agent``: the base class of players and learners.  It knows no game, socket or broker.

The verbs are RL-Glue's.  The smallest agent answers ``step``:

>>> class First(Agent):
...     def step(self, decision):
...         return decision.legal[0]
"""

from __future__ import annotations

import random
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

from msgspec import Struct

from dovetail.peer.options import named_struct
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import (
    INTERRUPTED,
    Clock,
    Mode,
    Preview,
    Reason,
    Spec,
    Thoughts,
    Want,
)
from dovetail.protocol.spaces import Discrete

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    P = TypeVar("P", bound=Struct, default=Any)
else:
    from typing import TypeVar

    P = TypeVar("P")

__all__ = [
    "RESIGN",
    "Agent",
    "BatchAgent",
    "Decision",
    "End",
    "Lookahead",
    "Needs",
    "Preview",
    "Seat",
    "Thoughts",
]


class _Resign:
    """The type of ``RESIGN``."""


RESIGN = _Resign()
"""Return this to resign; the seat loses the episode."""


class NoParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of an agent that has none."""


class Seat(Struct, frozen=True):
    """A seat in a match, as the agent sees it."""

    match: int
    """The match's number."""
    seat: int
    """The seat's number in the game, from 0."""
    spec: Spec
    """The game: ``seats``, ``observation_spaces``, ``action_spaces``, ``reward_range`` and more."""
    lookahead: bool = False
    """True if the run allows the agent to ask with ``Lookahead``."""


class Decision(Struct, gc=False):
    """One decision of one seat."""

    seat: Seat
    """The seat that decides."""
    episode: int
    """The broker's number of the episode."""
    turn: int
    """The number of this decision point within the episode, from 0."""
    observation: Any
    """The seat's observation, from its observation space."""
    legal: list[int] | None
    """Legal action numbers in ascending order; None if the whole action space is legal."""
    reward: float
    """The sum of the seat's rewards since its last decision."""
    mode: Mode
    """In ``evaluate`` an agent must not change."""
    rng: random.Random
    """The generator for this seat's random choices in this episode; using no other makes episodes
    reproducible from their seeds."""
    afterstates: Any = None
    """One row per legal action: the observation that would follow (if ``needs`` asks for it)."""
    text: str | None = None
    """The position as text (if ``wants`` has ``"text"``)."""
    scene: Any = None
    """The position to draw, a scene of ``dovetail.protocol.scenes`` (if ``wants`` has
    ``"scene"``)."""
    clock: Clock | None = None
    """The seat's remaining time, in seconds; None without a clock."""
    seed: int = 0
    """The seed of ``rng``, for agents that use their own generators."""
    memory: Any = None
    """The agent's memory of this seat's episode: the same object until ``end``."""
    refused: int = 0
    """For bridges: the number of earlier illegal answers to this decision, to set for the
    results."""
    think: bool = False
    """True if someone who may see ``thoughts`` is watching; it must not affect the action."""
    thoughts: Thoughts | None = None
    """The agent's evaluation, to set for watchers; sent only if ``think`` is true."""


class End(Struct, gc=False):
    """The end of an episode for one seat, sent exactly once, whatever the reason."""

    seat: Seat
    """The seat whose episode ends."""
    episode: int
    """The broker's number of the episode."""
    reward: float
    """The sum of the seat's rewards since its last decision."""
    observation: Any
    """The seat's final observation; None if the environment gave none."""
    outcome: list[float] | None
    """A score per seat: 1 for a win, 0 for a loss, shared if drawn; None if the game is not
    scored."""
    reason: Reason
    """The reason for the end; ``truncated`` if a limit outside the rules ended the episode."""
    blame: int | None
    """The seat at fault; None if there is none."""
    total: float
    """The return: the sum of the seat's rewards in this episode."""
    decisions: int
    """The number of decisions that the seat was given."""
    mode: Mode
    """In ``evaluate`` an agent must not change."""
    text: str | None = None
    """The final position as text (if ``wants`` has ``"text"``)."""
    scene: Any = None
    """The final position to draw (if ``wants`` has ``"scene"``)."""
    memory: Any = None
    """The memory of the seat's decisions; a new one if it had no decision."""

    @property
    def interrupted(self) -> bool:
        """True if the episode failed or was cancelled: its ending says nothing about the play."""
        return self.reason in INTERRUPTED


class Lookahead(Struct, frozen=True):
    """A question to the environment: which positions do these lines of actions lead to?

    A ``step`` that is a generator yields it, receives a list with one ``Preview`` per line, and
    finally returns its action. The run must allow this; ``seat.lookahead`` says whether it does.

    >>> class OneAhead(Agent):
    ...     def step(self, decision):
    ...         previews = yield Lookahead([[a] for a in decision.legal])
    ...         gains = [preview.rewards[decision.seat.seat] for preview in previews]
    ...         return decision.legal[gains.index(max(gains))]
    """

    lines: Sequence[Sequence[Any]]
    """Sequences of actions; where several seats act at once, a tuple of actions in order of
    seat."""
    seed: int = 0
    """The seed of hidden information and chance; all lines share one sample."""


class Needs(Struct, frozen=True, kw_only=True):
    """The requirements of an agent; fields left at their defaults allow anything.

    >>> from dovetail.protocol.messages import Spec
    >>> Needs(game="dominion").check("bot", Spec(name="chess"))
    Traceback (most recent call last):
        ...
    dovetail.protocol.errors.DovetailError: bot plays dominion only, not chess
    """

    game: str = ""
    """The only game that the agent plays."""
    seats: int = 0
    """The number of seats of the game."""
    afterstates: bool = False
    """True if every decision must bring afterstates; the host requests them."""
    legal: Literal["any", "list"] = "any"
    """``list``: the legal actions with every decision, as numbers."""
    actions: Literal["any", "discrete"] = "any"
    """``discrete``: every action space is ``Discrete``, and all seats have the same."""

    def check(self, who: str, spec: Spec) -> None:
        """Check that a game meets the requirements of an agent.

        Raises:
            DovetailError: a requirement is not met; the text names it.
        """
        game = spec.name or "this game"
        if self.game and spec.name != self.game:
            raise DovetailError(f"{who} plays {self.game} only, not {game}")
        if self.seats and spec.seats != self.seats:
            raise DovetailError(
                f"{who} needs a game with {self.seats} seats; {game} has {spec.seats}"
            )
        if self.afterstates and not spec.afterstates:
            raise DovetailError(f"{who} needs afterstates; {game} provides none")
        if self.actions == "discrete" and not _all_alike(spec.action_spaces):
            raise DovetailError(
                f"{who} needs the same discrete actions for all seats; {game} has others"
            )

    @property
    def of_decisions(self) -> bool:
        """True if each decision must be checked, too."""
        return self.legal == "list" or self.afterstates

    def missing(self, legal: Sequence[int] | None, afterstates: object) -> str:
        """Return what a decision lacks; empty if it is complete."""
        if self.legal == "list" and not legal:
            return "a list of legal actions"
        if self.afterstates and afterstates is None:
            return "afterstates"
        return ""


def _all_alike(spaces: Sequence[object]) -> bool:
    return len({(each.n, each.start) for each in spaces if isinstance(each, Discrete)}) == 1 and (
        all(isinstance(each, Discrete) for each in spaces)
    )


class Agent(ABC, Generic[P]):
    """The base class of agents.  Implement ``step``, then ``serve`` the class.

    One instance may hold several seats at once, in one episode or in up to ``capacity`` episodes.
    Keep an episode's data in ``decision.memory``: the host makes one ``Memory`` for each seat of
    each episode, passes it with every decision and with the end, then drops it.

    Declare parameters by naming their type; this also sets the class attribute ``Parameters``:

    >>> class Options(Struct, frozen=True):
    ...     epsilon: float = 0.1
    >>> class Player(Agent[Options]):
    ...     pass
    >>> Player.Parameters is Options
    True
    """

    packages: ClassVar[tuple[str, ...]] = ()
    """Optional packages that the agent requires; checked when a program that serves it starts."""
    name: ClassVar[str] = ""
    """The agent type's public name; the class name in lower case if empty."""
    Parameters: ClassVar[type[Struct]] = NoParameters
    """A msgspec struct: names, types, limits and defaults of the agent's parameters."""
    Memory: ClassVar[type[Any]] = dict
    """The factory of ``memory``, such as a class whose fields all have defaults."""
    needs: ClassVar[Needs] = Needs()
    """Requirements of the game; the host refuses other games without calling ``init``."""
    wants: ClassVar[Sequence[Want]] = ()
    """Additions to each decision, if the environment has them: ``"text"``, ``"scene"``."""
    capacity: ClassVar[int] = 1
    """Maximum episodes in progress per instance; 0 for no limit."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Parameters" not in vars(cls) and (given := named_struct(cls, Agent)):
            cls.Parameters = given

    def __init__(self, parameters: P | None = None, seed: int = 0) -> None:
        made: Any = self.Parameters() if parameters is None else parameters
        self.parameters: P = made
        self.seed = seed

    @classmethod
    def offered(cls) -> None:
        """Check the installation before a program offers this type to a broker.

        Raises:
            DovetailError: something is missing that every agent of this type needs.
        """

    @classmethod
    def check_game(cls, parameters: P, spec: Spec, lookahead: bool) -> None:
        """Check, before an agent is created, that it can play a game.

        ``dovetail run`` calls it for every agent of a file before the first game.

        Args:
            parameters: the agent's parameters.
            spec: the game's description.
            lookahead: whether the run allows lookahead.

        Raises:
            DovetailError: as for ``init``.
        """

    def init(self, seat: Seat) -> None:
        """Take a seat in a match; the game meets this agent's ``needs``.

        Raises:
            DovetailError: this agent cannot play this game; one line says why.
        """

    def start(self, decision: Decision) -> Any:
        """Answer the first decision of an episode with an action."""
        return self.step(decision)

    @abstractmethod
    def step(self, decision: Decision) -> Any:
        """Answer a decision with an action; a generator may yield ``Lookahead`` questions first.

        Return ``RESIGN`` to give up the episode.
        """

    def end(self, end: End) -> None:
        """Handle the end of an episode; also called for a seat that never had a decision."""

    def message(self, body: Any) -> Any:
        """Answer a message from the experiment."""
        return None

    def report(self, **measures: float) -> None:
        """Record numbers such as ``loss`` or ``epsilon`` in the experiment's results.

        They are sent with this agent's next action; the episode's result has the mean for each
        name. If several seats or episodes share the instance, the first to act gets them.  Values
        that are not finite, as from a diverging learner, are stored as NULL.

        >>> class Learner(Agent):
        ...     def step(self, decision):
        ...         self.report(epsilon=0.1)
        ...         return decision.legal[0]

        Raises:
            TypeError: a value is not a number.
        """
        reported = self.__dict__.setdefault("_reported", {})
        for name, value in measures.items():
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                shown = reprlib.repr(value)
                raise TypeError(f"measure {name!r} must be a number, not {shown}") from None
            total, count = reported.get(name, (0.0, 0))
            reported[name] = total + number, count + 1

    def reported(self) -> dict[str, float]:
        """Return the mean of each measure reported since the last call; for hosts."""
        reported = self.__dict__.pop("_reported", {})
        return {name: total / count for name, (total, count) in reported.items()}

    def save(self) -> bytes:
        """Return the agent's complete state; loading it continues exactly from here."""
        return b""

    def load(self, state: bytes) -> None:
        """Continue from what ``save`` returned.

        Raises:
            DovetailError: the bytes are not a state of such an agent.
        """

    def cleanup(self) -> None:
        """Release resources.  No method is called after this one."""


class BatchAgent(Agent[P]):
    """An agent that answers all pending decisions in one call."""

    @abstractmethod
    def step_batch(self, decisions: Sequence[Decision]) -> Sequence[Any]:
        """Answer each decision with an action, in the same order."""

    def step(self, decision: Decision) -> Any:
        return self.step_batch([decision])[0]
