"""Simulated rollouts: the best actions of a search are played out by search on both sides.

This is the Amazons study's "Monte Carlo" (section 3.5), for any game in which one seat acts at a
time.
"""

from __future__ import annotations

import random
from collections.abc import Generator

from dovetail_agents.general.search.alpha_beta import AlphaBeta, Evaluate, pick
from dovetail_agents.general.search.tree import Expand, Node


def search(
    start: Node,
    rng: random.Random,
    evaluate: Evaluate,
    *,
    depth: int,
    candidates: int,
    rollout_depth: int,
    rollout_actions: int = 0,
    table: bool,
) -> Generator[Expand, list[Node], int]:
    """Return a random one of the best actions whose rollout was won, or if none was, of all the
    best.

    Args:
        start: the decision.
        rng: the source of random choices among ties.
        evaluate: the evaluation at horizons, for the seat that searches.
        depth: the plies of the search that ranks the actions.
        candidates: the number of best actions to play out; ties for the last one are broken at
            random.
        rollout_depth: the plies of search in the rollouts, by the seat that acts.
        rollout_actions: the maximum actions of a rollout, after which rewards decide; 0 plays to
            the end.
        table: whether searches remember positions.
    """
    seat = start.seat
    assert seat is not None
    ranking = AlphaBeta(seat, evaluate, table=table, exact=candidates)
    found = yield from ranking.deepen(start, depth)
    actions = list(start.legal)
    rng.shuffle(actions)
    best = sorted(actions, key=lambda action: -found.values[action])[:candidates]
    if len(best) == 1:
        return best[0]
    good = []
    for action in best:
        (node,) = yield Expand(start, [action])
        last = len(node.line) + rollout_actions
        while node.seat is not None and (not rollout_actions or len(node.line) < last):
            player = AlphaBeta(node.seat, evaluate, table=table)
            result = yield from player.deepen(node, rollout_depth)
            (node,) = yield Expand(node, [pick(result, rng)])
        if _won(node, seat):
            good.append(action)
    return rng.choice(good or best)


def _won(node: Node, seat: int) -> bool:
    """Return whether a seat alone has the highest score or, without scores, the highest rewards."""
    scores = node.outcome or node.rewards
    return all(scores[seat] > score for other, score in enumerate(scores) if other != seat)
