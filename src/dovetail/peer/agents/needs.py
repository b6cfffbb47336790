"""The requirements of agents, declared as ``needs``; the host refuses other games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Discrete

if TYPE_CHECKING:
    from dovetail.protocol.messages import Spec


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
