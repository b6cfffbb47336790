"""Alpha-beta with iterative deepening, for two seats or one, also where a seat moves again.

Values are always the same seat's, so a position is maximised or minimised by who acts in it, not by
its depth; windows are never negated. That keeps pruning sound when a player moves again, where
programs that assume alternation go wrong (the study of dots and boxes gave it up for that reason).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from msgspec import Struct

from dovetail_agents.general.search.tree import Expand, Node

Evaluate = Callable[[Node, int], float]
"""The worth to a seat of a position that is not over, beyond the rewards so far."""
Inner = Generator[Expand, "list[Node]", float]


def nothing(node: Node, seat: int) -> float:
    """Know nothing of a position."""
    return 0.0


class Bound(Struct, gc=False):
    """A position's entry in the table."""

    depth: int
    value: float
    bound: int
    """-1: the value is at most this; 0: it is this; 1: at least this."""
    best: int | None


class Result(Struct, frozen=True):
    """The result of a search."""

    values: dict[int, float]
    """By root action: exact for the best ones, for others perhaps an upper bound below these."""
    best: list[int]
    """The actions whose value is the highest."""
    depth: int
    """To which the search was completed."""
    nodes: int


class OutOfNodes(Exception):
    """The limit on positions is reached."""


class AlphaBeta:
    """A search from one decision.

    Args:
        seat: for whom values are.
        evaluate: at the horizon.
        prune: False is plain minimax, for comparison.
        table: whether positions that were reached are remembered; right only where the observation
            of the seat to act is the whole position.
        limit: positions to expand at the most; 0 for no limit.
        quiescence: plies beyond the horizon in which actions are followed that earn something at
            once or end the game; the seat that acts may also leave it at the position's worth.
        exact: how many root actions get their exact value, the best ones.
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
        """Search one ply, then two, up to ``depth``; stop early at the limits.

        Args:
            node: the decision.
            depth: plies, each seat's action counted.
            enough: asked between depths, and every so often, whether time is up.
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
        if found is None:  # not even one ply: any action is as good
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
            # One below what counts, so that an equal action is seen to be equal.
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
        # The table holds what is still to come; what was earned on the way differs.
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
        """Return the value beyond the horizon: ``worth``, or what follows from actions that change
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
    """Return one of the best actions, drawn at random."""
    return result.best[0] if len(result.best) == 1 else rng.choice(result.best)
