"""Alpha-beta with iterative deepening, for one or two seats; a seat may move several times in a
row.

All values are for the same seat, so a position is maximised or minimised by its player to move, not
by its depth, and windows are never negated. That keeps pruning sound when a player moves again.
Programs that assume alternation get this wrong, so the study of dots and boxes dropped it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from msgspec import Struct

from dovetail_agents.general.search.tree import Expand, Node

REMEMBERED = 1 << 20
"""Maximum positions that a search remembers."""
Evaluate = Callable[[Node, int], float]
"""Value of an unfinished position for a seat, in addition to the rewards so far."""
Inner = Generator[Expand, "list[Node]", float]


def nothing(node: Node, seat: int) -> float:
    """Return 0 for any position."""
    return 0.0


class Bound(Struct, gc=False):
    """A position's entry in the table."""

    depth: int
    value: float
    bound: int
    """Kind of the value: -1 an upper bound, 0 exact, 1 a lower bound."""
    best: int | None


class Result(Struct, frozen=True):
    """The result of a search."""

    values: dict[int, float]
    """Value of each root action: exact for the best ones, possibly an upper bound for others."""
    best: list[int]
    """Actions with the highest value."""
    depth: int
    """Depth up to which the search was completed."""
    nodes: int


class OutOfNodes(Exception):
    """The limit on positions was reached."""


class AlphaBeta:
    """A search from one decision.

    Args:
        seat: the seat that values are for.
        evaluate: the evaluation at the horizon.
        prune: False for plain minimax, as a comparison.
        table: whether to remember positions; valid only if the observation of the seat to act is
            the complete position.
        limit: the maximum number of positions to expand; 0 for no limit.
        quiescence: plies beyond the horizon in which actions that earn something at once or end the
            game are followed; the seat to act may also accept the position's value.
        exact: the number of best root actions to value exactly.
    """

    def __init__(
        self,
        seat: int,
        evaluate: Evaluate = nothing,
        *,
        prune: bool = True,
        table: bool = True,
        limit: int = 0,
        quiescence: int = 0,
        exact: int = 1,
    ) -> None:
        self.seat = seat
        self.quiescence = quiescence
        self.exact = exact
        self.evaluate = evaluate
        self.prune = prune
        self.limit = limit
        self.nodes = 0
        self.table: dict[Any, Bound] | None = {} if table else None

    def deepen(
        self, node: Node, depth: int, enough: Callable[[], bool] | None = None
    ) -> Generator[Expand, list[Node], Result]:
        """Search to depth one, two, and so on up to ``depth``; stop early at the limits.

        Args:
            node: the decision.
            depth: the maximum plies, counting each seat's action.
            enough: returns whether time is up; called between depths and regularly within them.
        """
        found: Result | None = None
        order = list(node.legal)
        first = depth if not self.limit and enough is None else 1
        for ply in range(first, depth + 1):
            try:
                values = yield from self._root(node, ply, order, enough if ply > 1 else None)
            except OutOfNodes:
                break
            best = max(values.values())
            order.sort(key=lambda action: -values[action])
            found = Result(values, [a for a in node.legal if values[a] == best], ply, self.nodes)
            if enough is not None and enough():
                break
        if found is None:  # not even one ply was searched: any action will do
            return Result(dict.fromkeys(node.legal, 0.0), list(node.legal), 0, self.nodes)
        return found

    def _root(
        self, node: Node, depth: int, order: list[int], enough: Callable[[], bool] | None
    ) -> Generator[Expand, list[Node], dict[int, float]]:
        values: dict[int, float] = {}
        alpha = -math.inf
        best: list[float] = []
        maximise = node.seat == self.seat
        assert maximise, "the root is the searching seat's decision"
        children = yield from self._expand(node, order)
        for child in children:
            # One below the best, so that ties are recognised.
            floor = math.nextafter(alpha, -math.inf) if self.prune else -math.inf
            value = yield from self._value(child, depth - 1, floor, math.inf, enough)
            values[child.line[-1]] = value
            best = sorted([*best, value], reverse=True)[: self.exact]
            if len(best) == self.exact:
                alpha = best[-1]
        return values

    def _expand(self, node: Node, actions: list[int]) -> Generator[Expand, list[Node], list[Node]]:
        self.nodes += len(actions)
        if self.limit and self.nodes > self.limit:
            raise OutOfNodes
        return (yield Expand(node, actions))

    def _value(
        self, node: Node, depth: int, alpha: float, beta: float, enough: Callable[[], bool] | None
    ) -> Inner:
        """Return the node's value within the window; fail-soft."""
        if node.seat is None:
            return node.rewards[self.seat]
        if depth <= 0:
            worth = node.rewards[self.seat] + self.evaluate(node, self.seat)
            if depth <= -self.quiescence:
                return worth
            return (yield from self._quiet(node, depth, alpha, beta, worth, enough))
        if enough is not None and self.nodes % 64 == 0 and enough():
            raise OutOfNodes
        # The table holds future rewards, as past ones depend on the line.
        earned = node.rewards[self.seat]
        key = self._key(node)
        order = node.legal
        entry = self.table.get(key) if self.table is not None else None
        if entry is not None:
            if entry.depth == depth and self.prune:
                value = entry.value + earned
                if (
                    entry.bound == 0
                    or (entry.bound > 0 and value >= beta)
                    or (entry.bound < 0 and value <= alpha)
                ):
                    return value
            if entry.best is not None and entry.best in order:
                order = [entry.best, *(action for action in order if action != entry.best)]
        maximise = node.seat == self.seat
        low, high = alpha, beta
        best, choice = (-math.inf if maximise else math.inf), None
        children = yield from self._expand(node, order)
        for child in children:
            value = yield from self._value(child, depth - 1, low, high, enough)
            if (value > best) if maximise else (value < best):
                best, choice = value, child.line[-1]
            if self.prune:
                if maximise:
                    low = max(low, best)
                else:
                    high = min(high, best)
                if low >= high:
                    break
        if self.table is not None:
            bound = 1 if best >= beta else -1 if best <= alpha else 0
            if len(self.table) < REMEMBERED or key in self.table:
                self.table[key] = Bound(depth, best - earned, bound, choice)
        return best

    def _quiet(
        self,
        node: Node,
        depth: int,
        alpha: float,
        beta: float,
        worth: float,
        enough: Callable[[], bool] | None,
    ) -> Inner:
        """Return the value beyond the horizon: ``worth``, or the value of actions that change
        rewards."""
        maximise = node.seat == self.seat
        best = worth
        children = yield from self._expand(node, node.legal)
        for child in children:
            if maximise:
                alpha = max(alpha, best)
            else:
                beta = min(beta, best)
            if self.prune and alpha >= beta:
                break
            if child.seat is None or child.rewards != node.rewards:
                value = yield from self._value(child, depth - 1, alpha, beta, enough)
                best = max(best, value) if maximise else min(best, value)
        return best

    def _key(self, node: Node) -> Any:
        if self.table is None:
            return None
        seen = node.observation
        packed = seen.tobytes() if isinstance(seen, np.ndarray) else repr(seen)
        return node.seat, packed


def pick(result: Result, rng: random.Random) -> int:
    """Return a random one of the best actions."""
    return result.best[0] if len(result.best) == 1 else rng.choice(result.best)
