"""``Environment``: the base class of games.  It knows no agent, socket or broker.

The verbs are RL-Glue's.  After each transition an environment names the seats that must act: one,
several at once, or none at the end.
"""

from __future__ import annotations

import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from msgspec import Struct

from dovetail.peer.options import named_struct
from dovetail.protocol.errors import DovetailError, IllegalAction
from dovetail.protocol.messages import Spec, Turn, View
from dovetail.protocol.scenes import Scene

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from dovetail.peer.environments.vector import VectorEnvironment

    C = TypeVar("C", bound=Struct, default=Any)
else:
    from typing import TypeVar

    C = TypeVar("C")

__all__ = [
    "DovetailError",
    "Environment",
    "IllegalAction",
    "NoConfiguration",
    "Scene",
    "Spec",
    "Turn",
    "View",
    "sole_action",
]


def sole_action(actions: Mapping[int, Any], seat: int, *, over: bool) -> Any:
    """Return the action of the one seat that must act.

    Raises:
        IllegalAction: the game is over, or other seats act.
    """
    if over:
        raise IllegalAction("the game is over; no action is legal", seat)
    if list(actions) != [seat]:
        raise IllegalAction(
            f"seat {seat} is to act, and only it; got actions of {sorted(actions)}", seat
        )
    return actions[seat]


class NoConfiguration(Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration of an environment that has no options."""


class Environment(ABC, Generic[C]):
    """The base class of games: implement ``init``, ``start`` and ``step``.

    ``start`` and ``step`` return a ``Turn``, made by one of three constructors: ``Turn.ask`` (one
    seat must act), ``Turn.simultaneous`` (several) or ``Turn.end`` (the episode is over).  Do not
    change an array after you have handed it out.

    Declare options by naming their type; this also sets the class attribute ``Configuration``:

    >>> class Options(Struct, frozen=True):
    ...     heap: int = 7
    >>> class Nim(Environment[Options]):
    ...     pass
    >>> Nim.Configuration is Options
    True
    """

    packages: ClassVar[tuple[str, ...]] = ()
    """Optional packages that the game requires; checked when a program that serves it starts."""
    name: ClassVar[str] = ""
    """The environment's public name; the class name in lower case if empty."""
    seat_counts: ClassVar[tuple[int, ...]] = ()
    """The possible numbers of seats, for the offer; empty if undeclared."""
    matches: ClassVar[int] = 0
    """Maximum matches in progress per program; 0 for no limit."""
    Configuration: ClassVar[type[Any]] = NoConfiguration
    """A msgspec struct: names, types, limits and defaults of the environment's options."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Configuration" not in vars(cls) and (given := named_struct(cls, Environment)):
            cls.Configuration = given

    def __init__(self, configuration: C | None = None) -> None:
        made: Any = self.Configuration() if configuration is None else configuration
        self.configuration: C = made

    @abstractmethod
    def init(self) -> Spec:
        """Return the game's description; called once, before any episode.

        Raises:
            DovetailError: the configuration is invalid; the text names the option.
        """

    @abstractmethod
    def start(self, seed: int) -> Turn:
        """Begin an episode, dropping one in progress."""

    @abstractmethod
    def step(self, actions: Mapping[int, Any]) -> Turn:
        """Apply one action from each seat that had to act; ``actions`` maps seats to actions.

        Raises:
            IllegalAction: the rules refuse an action; the episode is unchanged.
        """

    def afterstates(self, seat: int) -> Any:
        """Return an array with, for each legal action in order, the observation of ``seat`` after
        it."""
        raise NotImplementedError

    def text(self, seat: int | None = None) -> str:
        """Return the current position as text.

        It shows only what ``seat`` may know; if None, only public information.
        """
        return ""

    def scene(self, seat: int | None = None) -> Scene | None:
        """Return the current position as a scene to draw, with the same secrecy as ``text``."""
        return None

    def fork(self, seat: int, seed: int) -> Self:
        """Return an independent copy of the episode as ``seat`` knows it.

        Sample hidden information and future chance events from ``seed``.  The default suits games
        without hidden information and chance.

        Raises:
            NoLookahead: the game cannot be forked here, or at all.
        """
        return copy.deepcopy(self)

    @classmethod
    def rules(cls, configuration: C | None = None) -> str:
        """Return the rules for players to read, in Markdown.

        The text is ``rules.md`` from the class's package; empty if there is none.
        """
        for kind in cls.__mro__:
            package = getattr(sys.modules.get(kind.__module__), "__package__", None)
            if package and issubclass(kind, Environment) and kind is not Environment:
                page = resources.files(package) / "rules.md"
                if page.is_file():
                    return page.read_text("utf-8")
        return ""

    def place(self, seat: int, observation: Any) -> None:
        """Set this environment to the position in which ``seat`` must act and sees ``observation``.

        It allows search.  Define it only if an observation determines the whole position.
        """
        raise NotImplementedError

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment | None:
        """Return a player of many episodes of this game at once, in arrays; see
        ``VectorEnvironment``.

        It must play exactly as this environment does.  If None, the host uses copies of this
        environment.
        """
        return None

    def message(self, body: Any) -> Any:
        """Answer a message from the experiment."""
        return None

    def cleanup(self) -> None:
        """Release resources, also after a failed ``init``.  No method is called after this."""
