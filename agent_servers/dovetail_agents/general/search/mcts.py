"""UCT: Monte Carlo tree search with upper confidence bounds (Kocsis and Szepesvari 2006)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator

from dovetail.peer.agents.sampling import pick
from dovetail_agents.general.search.tree import Expand, Node


class _Branch:
    """A position in the tree, with the totals that simulations through it earned for each seat."""

    __slots__ = ("children", "node", "total", "untried", "visits")

    def __init__(self, node: Node, rng: random.Random) -> None:
        self.node = node
        self.untried = node.legal.copy()
        rng.shuffle(self.untried)
        self.children: list[_Branch] = []
        self.visits = 0
        self.total = [0.0] * len(node.rewards)

    def best(self, exploration: float) -> _Branch:
        """Return the child with the highest upper confidence bound for the seat that acts here."""
        seat = self.node.seat
        assert seat is not None
        scale = exploration * math.sqrt(math.log(self.visits))
        return max(
            self.children,
            key=lambda child: child.total[seat] / child.visits + scale / math.sqrt(child.visits),
        )


def search(
    start: Node,
    rng: random.Random,
    simulations: int,
    exploration: float,
    enough: Callable[[], bool] | None,
    tell: Callable[[dict[int, tuple[int, float]]], None] | None = None,
) -> Generator[Expand, list[Node], int]:
    """Return the root action with the most visits.

    Args:
        start: the decision.
        rng: the source of the order of actions and of random play-outs.
        simulations: the maximum number of simulations.
        exploration: the constant of UCT, for rewards between -1 and 1.
        enough: returns whether time is up.
        tell: called at the end with the visits and the mean return of each root action that was
            tried.
    """
    root = _Branch(start, rng)
    for number in range(simulations):
        if number and enough is not None and enough():
            break
        path = [root]
        branch = root
        while not branch.untried and branch.children:
            branch = branch.best(exploration)
            path.append(branch)
        if branch.untried:
            (node,) = yield Expand(branch.node, [branch.untried.pop()])
            child = _Branch(node, rng)
            branch.children.append(child)
            path.append(child)
            branch = child
        node = branch.node
        while node.seat is not None:
            (node,) = yield Expand(node, [rng.choice(node.legal)])
        for each in path:
            each.visits += 1
            for seat, reward in enumerate(node.rewards):
                each.total[seat] += reward
    if tell is not None:
        mover = start.seat
        assert mover is not None
        tell(
            {
                child.node.line[-1]: (child.visits, child.total[mover] / child.visits)
                for child in root.children
            }
        )
    most = pick(root.children, [child.visits for child in root.children], rng)
    action: int = most.node.line[-1]
    return action
