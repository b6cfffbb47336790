"""``Agent``: what a player or learner implements.  It knows no game, socket or broker.

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
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from msgspec import Struct

from dovetail.peer.agents.needs import Needs
from dovetail.peer.options import named_struct
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
    """The observation of the seat, of its space."""
    legal: list[int] | None
    """Action numbers in rising order; None if every action of the space is legal."""
    reward: float
    """The sum of what the seat earned since its last decision."""
    mode: Mode
    """In ``evaluate`` an agent must not change."""
    rng: random.Random
    """The generator for this seat's random choices in this episode; if they all use it, the same
    seeds give the same episode."""
    afterstates: Any = None
    """One row per legal action: what the seat would observe after it (if ``needs`` asks for
    afterstates)."""
    text: str | None = None
    """The position for a person to read (if ``wants`` asks)."""
    scene: Any = None
    """The position to be drawn, as ``dovetail.protocol.scenes`` says (if ``wants`` asks)."""
    clock: Clock | None = None
    """The time that the seat has, in seconds; None without a clock."""
    seed: int = 0
    """The seed of ``rng``, for agents that use their own generators."""
    memory: Any = None
    """The agent's memory of this seat's episode: the same object until ``end``."""
    refused: int = 0
    """For bridges: set it to how many earlier answers to this decision were illegal; the results
    count them."""
    think: bool = False
    """True if someone who may see ``thoughts`` is watching; this must not change the action."""
    thoughts: Thoughts | None = None
    """Set it to show watchers what the agent thinks; sent only if ``think``."""


class End(Struct, gc=False):
    """The end of an episode for one seat; it comes exactly once, whatever happened."""

    seat: Seat
    """The seat whose episode ends."""
    episode: int
    """The broker's number of the episode."""
    reward: float
    """The sum of what the seat earned since its last decision."""
    observation: Any
    """The last observation of the seat; None if it has none."""
    outcome: list[float] | None
    """A score per seat: 1 won, 0 lost, shared when drawn; None if there are none."""
    reason: Reason
    """The reason why the episode ended; ``truncated`` if a limit ended it in place of the rules."""
    blame: int | None
    """The seat at fault; None if none is."""
    total: float
    """The return: all rewards of the seat in this episode."""
    decisions: int
    """The number of decisions of the seat."""
    mode: Mode
    """In ``evaluate`` an agent must not change."""
    text: str | None = None
    """The last position for a person to read (if ``wants`` asks)."""
    scene: Any = None
    """The last position to be drawn (if ``wants`` asks)."""
    memory: Any = None
    """As in the seat's decisions; a new one if it had none."""

    @property
    def interrupted(self) -> bool:
        """True if the episode failed or was cancelled, so that nothing can be learned from how it
        ended."""
        return self.reason in INTERRUPTED


class Lookahead(Struct, frozen=True):
    """A question to the environment: what would follow from these lines of actions?

    A ``step`` that is a generator yields it, receives a list with one ``Preview`` per line, and
    finally returns its action. The run must allow this; ``seat.lookahead`` says whether it does.

    >>> class OneAhead(Agent):
    ...     def step(self, decision):
    ...         previews = yield Lookahead([[a] for a in decision.legal])
    ...         gains = [preview.rewards[decision.seat.seat] for preview in previews]
    ...         return decision.legal[gains.index(max(gains))]
    """

    lines: Sequence[Sequence[Any]]
    """Sequences of actions; where several seats act at once, a tuple of theirs in rising order."""
    seed: int = 0
    """Seeds hidden information and chance; all lines share one sample."""


class Agent(ABC, Generic[P]):
    """A player.  Subclass it, answer ``step``, and ``serve`` it.

    One instance may hold several seats at once, in one episode or in up to ``capacity`` episodes.
    What it must remember of an episode belongs in ``decision.memory``: the host makes one
    ``Memory`` for each seat of each episode, hands it out with every decision and with the end, and
    drops it.

    With parameters, name their type once; the class attribute ``Parameters`` follows from it:

    >>> class Options(Struct, frozen=True):
    ...     epsilon: float = 0.1
    >>> class Player(Agent[Options]):
    ...     pass
    >>> Player.Parameters is Options
    True
    """

    packages: ClassVar[tuple[str, ...]] = ()
    """Optional packages that it requires; a program that serves it checks them at its start."""
    name: ClassVar[str] = ""
    """The agent type's name for others; the class name in lower case if empty."""
    Parameters: ClassVar[type[Struct]] = NoParameters
    """A msgspec struct: names, types, limits and defaults of the agent's parameters."""
    Memory: ClassVar[type[Any]] = dict
    """Called to make the ``memory`` of a seat's episode, for example a class in which every field
    has a default."""
    needs: ClassVar[Needs] = Needs()
    """Requirements of the game; the host refuses a seat in any other game before it calls
    ``init``."""
    wants: ClassVar[Sequence[Want]] = ()
    """``"text"`` and ``"scene"``: what the environment adds to each decision if it can."""
    capacity: ClassVar[int] = 1
    """Episodes that one instance plays at once; 0 for any number."""

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
        """Called before a program offers this type to a broker.

        Raises:
            DovetailError: the program lacks what every such agent needs, whatever its parameters.
        """

    @classmethod
    def check_game(cls, parameters: P, spec: Spec, lookahead: bool) -> None:
        """Check, before an agent is created, that it can play a game.

        ``dovetail run`` calls it for all that a file names, before the first game.

        Args:
            parameters: with which the agent would be made.
            spec: of the game.
            lookahead: whether the run allows it.

        Raises:
            DovetailError: as for ``init``.
        """

    def init(self, seat: Seat) -> None:
        """Take a seat of a match that has what this agent ``needs``.

        Raises:
            DovetailError: this agent cannot play this game; the text says why, in one line.
        """

    def start(self, decision: Decision) -> Any:
        """Answer the first decision of an episode with an action."""
        return self.step(decision)

    @abstractmethod
    def step(self, decision: Decision) -> Any:
        """Answer a decision with an action; as a generator it may ask with ``Lookahead`` first.

        ``RESIGN`` gives the episode up.
        """

    def end(self, end: End) -> None:
        """Called when an episode is over, also for a seat that never had to decide."""

    def message(self, body: Any) -> Any:
        """Answer a message of the experiment."""
        return None

    def report(self, **measures: float) -> None:
        """Put numbers such as ``loss`` or ``epsilon`` into the record of the experiment.

        They travel with the next action of this agent; the result of that episode has the mean of
        what was reported under each name.  Where two seats or episodes share the instance, the
        first to act takes them.  A value that is not finite, such as
        that of a learner that diverges, is stored as NULL.

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
        """Return the mean of what was reported since the last call, by name; for hosts."""
        reported = self.__dict__.pop("_reported", {})
        return {name: total / count for name, (total, count) in reported.items()}

    def save(self) -> bytes:
        """Return the agent's complete state; loading it continues exactly from here."""
        return b""

    def load(self, state: bytes) -> None:
        """Continue from what ``save`` returned.

        Raises:
            DovetailError: these bytes are not of such an agent.
        """

    def cleanup(self) -> None:
        """Release resources.  No method is called after this one."""


class BatchAgent(Agent[P]):
    """An agent that answers all decisions that are waiting with one call."""

    @abstractmethod
    def step_batch(self, decisions: Sequence[Decision]) -> Sequence[Any]:
        """Answer each decision with an action, in the same order."""

    def step(self, decision: Decision) -> Any:
        return self.step_batch([decision])[0]
