"""Replays a table's game in the installed environment, to show waiting people their own hands: the
broker sends a seat its scene only with its own decisions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from dovetail.peer import options
from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail_web.positions import drawn
from dovetail_web.tables import Plan

log = logging.getLogger("dovetail.web")


class Mirror:
    """A copy of a table's game, valid while its public scenes are equal.

    Args:
        plan: the table's plan.

    Raises:
        DovetailError: no such game is installed, or it refuses its options.
    """

    def __init__(self, plan: Plan) -> None:
        kind: Any = registered("environment", plan.environment)
        self._game = kind(options.read(kind.Configuration, plan.configuration, plan.environment))
        self._game.init()
        self._game.start(derive(plan.seed, "episode", 0))
        self._turn = 0

    def follow(self, turn: int, actions: Mapping[int, Any], scene: Any) -> None:
        """Play the actions that led to a turn.

        Args:
            turn: the turn's number.
            actions: the actions by seat.
            scene: the public scene of the turn.

        Raises:
            DovetailError: a turn is missing, or the table plays another version of the game.
        """
        if turn == self._turn + 1:
            self._game.step(dict(actions))
            self._turn = turn
        if turn != self._turn or drawn(self._game.scene()) != drawn(scene):
            raise DovetailError(f"turn {turn} is played otherwise")

    def scene(self, seat: int) -> dict[str, Any] | None:
        """Return the position as a seat sees it."""
        return drawn(self._game.scene(seat))[0]
