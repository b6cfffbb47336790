"""``Environment``: what a game implements.  It knows no agent, socket or broker.

The verbs are RL-Glue's.  After each transition an environment says which seats must act: one
(turns), the same again, several (simultaneous) or none (over).
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
    """The rules of a game.

    ``start`` and ``step`` return a ``Turn``, made by one of three constructors: ``Turn.ask`` (one
    seat must act), ``Turn.simultaneous`` (several) or ``Turn.end`` (the episode is over).  Do not
    change an array after you have handed it out.

    With options, name their type once; the class attribute ``Configuration`` follows from it:

    >>> class Options(Struct, frozen=True):
    ...     heap: int = 7
    >>> class Nim(Environment[Options]):
    ...     pass
    >>> Nim.Configuration is Options
    True
    """

    packages: ClassVar[tuple[str, ...]] = ()
    """Optional packages that it cannot do without; a program that serves it checks them as it
    starts."""
    name: ClassVar[str] = ""
    """The environment's name for others; the class name in lower case if empty."""
    seat_counts: ClassVar[tuple[int, ...]] = ()
    """The numbers of seats that the game may have, for the offer; empty to declare none."""
    matches: ClassVar[int] = 0
    """Matches that one program plays at once; 0 for any number."""
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
        """Return what seats can expect; called once, before any episode.

        Raises:
            DovetailError: the configuration is invalid; the text names the option.
        """

    @abstractmethod
    def start(self, seed: int) -> Turn:
        """Begin an episode, dropping one in progress."""

    @abstractmethod
    def step(self, actions: Mapping[int, Any]) -> Turn:
        """Apply the actions of all seats that had to act, by seat.

        Raises:
            IllegalAction: the rules refuse one; the episode is as before.
        """

    def afterstates(self, seat: int) -> Any:
        """Return an array with one row per legal action, in their order: what ``seat`` would
        observe."""
        raise NotImplementedError

    def text(self, seat: int | None = None) -> str:
        """Return the present position for a person to read.

        It shows what ``seat`` may know, or what everyone may know if ``seat`` is None.
        """
        return ""

    def scene(self, seat: int | None = None) -> Scene | None:
        """Return the current position as a scene to draw; what it may show is as for ``text``."""
        return None

    def fork(self, seat: int, seed: int) -> Self:
        """Return an independent copy of the episode as ``seat`` knows it.

        Sample hidden information and future chance events from ``seed``.  The default suits games
        without hidden information and chance.

        Raises:
            NoLookahead: that is not possible, now or ever.
        """
        return copy.deepcopy(self)

    @classmethod
    def rules(cls, configuration: C | None = None) -> str:
        """Return the rules for players to read, in Markdown.

        They are in ``rules.md`` beside the class's module; empty if there is none.
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

        So it can be searched.  Define it only if that determines the whole position.
        """
        raise NotImplementedError

    @classmethod
    def vector(cls, configuration: Any, slots: int) -> VectorEnvironment | None:
        """Return what plays many episodes of this game at once, as arrays.

        It must play exactly as this environment does. If you return None, the host plays copies of
        this environment.
        """
        return None

    def message(self, body: Any) -> Any:
        """Answer a message of the experiment."""
        return None

    def cleanup(self) -> None:
        """Release resources, also after a failed ``init``.  No method is called after this."""
