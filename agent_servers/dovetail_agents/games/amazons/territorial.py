"""An agent that plays Amazons by territory."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision, Needs, Seat, Thoughts
from dovetail.peer.agents.sampling import pick
from dovetail_agents.games.amazons import book, territory
from dovetail_agents.games.amazons.position import (
    FEATURES,
    AmazonsGeometry,
    AmazonsPosition,
    AmazonsSearch,
    board_of,
)
from dovetail_agents.learning.checked import whole


class AmazonsTerritoryParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``AmazonsTerritory``."""

    depth: Annotated[int, Meta(ge=1, le=2, description="Plies to look ahead.")] = 2
    book: Annotated[
        bool, Meta(description="Play from the opening book, which has moves of the 8 x 8 board.")
    ] = False


class AmazonsTerritory(Agent[AmazonsTerritoryParameters]):
    """Amazons by alpha-beta over territory: the squares that each side reaches first.

    Territory counts queen's and king's moves (t1 and t2 of Lieberum 2005, with his c1 and c2); the
    more squares are in dispute, the higher the weight of the terms other than t1.  It plays the
    environment ``amazons`` with whole moves as actions, on any board; ties are broken at random.
    """

    name = "amazons-territory"
    needs = Needs(game="amazons", seats=2, legal="list")
    capacity = 0

    def init(self, seat: Seat) -> None:
        self._geometry = AmazonsGeometry(*board_of(seat.spec, self.name))
        self._search = AmazonsSearch(np.zeros(FEATURES), 1.0, False, territory.WON)
        self._book = book.read() if self.parameters.book else {}

    def step(self, decision: Decision) -> int:
        shape = 3, self._geometry.rows, self._geometry.columns
        planes = whole("boards", decision.observation, shape)
        if (known := book.look_up(self._book, planes)) is not None:
            if decision.think:
                decision.thoughts = Thoughts(text="from the book")
            return known
        assert decision.legal is not None
        actions, values = self.considered(planes)
        if decision.think:
            worth = dict(zip(actions, values, strict=True))
            text = f"depth {self.parameters.depth}; other values are bounds"
            decision.thoughts = Thoughts([worth[each] for each in decision.legal], text=text)
        return pick(actions, values, decision.rng)

    def considered(self, planes: Any) -> tuple[list[int], list[float]]:
        """Return the moves in a position with their values, all but the highest of which may be
        bounds."""
        position = AmazonsPosition(planes, self._geometry)
        work = self._search.work(position)
        count = territory.search(work, self.parameters.depth > 1)
        actions = [position.action(move) for move in work.moves[0, :count].tolist()]
        return actions, work.values[:count].tolist()
