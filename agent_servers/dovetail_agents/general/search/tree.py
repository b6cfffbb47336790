"""Positions of a search, and the two ways to come by them: by rules at hand, or by asking.

A search is a generator: it yields ``Expand`` and gets the positions that the actions lead to.
``LocalRules`` answers from an environment in this program, ``asked`` turns the questions into
``Lookahead`` for the environment's own; the search itself is the same.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Sequence
from typing import Any

from msgspec import Struct

from dovetail.peer.agents.agent import Lookahead, Preview
from dovetail.peer.environments.environment import Environment
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import unmask
from dovetail.protocol.messages import Turn, View

ANSWERED = 30_000
"""Values of one answer, far below what a frame may have (``Limits.elements``), since positions
differ."""
SPARE = 50
"""Values of a position beside its legal actions, of which it is taken to have as many as the one
before."""

Search = Generator["Expand", "list[Node]", Any]


class Node(Struct, gc=False, eq=False):
    """A position that a search has reached."""

    line: list[Any]
    """The actions from the root."""
    seat: int | None
    """The seat to act; None once the episode is over."""
    legal: list[int]
    observation: Any
    """The observation of the seat to act."""
    rewards: list[float]
    """Per seat, from the root to here."""
    environment: Environment | None = None
    """At this position, for local rules."""
    outcome: list[float] | None = None
    """Once the episode is over: a score per seat, 1 won."""


class Expand(Struct, gc=False):
    """A search's question: the positions after some actions at a node."""

    node: Node
    actions: Sequence[int]


def root(
    seat: int,
    seats: int,
    legal: Sequence[int],
    observation: Any,
    environment: Environment | None = None,
) -> Node:
    """Return the node of a decision."""
    return Node([], seat, list(legal), observation, [0.0] * seats, environment)


def _node(
    line: list[Any], to_act: Sequence[int], views: Sequence[View], rewards: list[float]
) -> Node:
    if len(to_act) > 1:
        raise DovetailError("search needs a game in which one seat acts at a time")
    if not to_act:
        return Node(line, None, [], None, rewards)
    view = next(view for view in views if view.seat == to_act[0])
    if view.legal is None:
        raise DovetailError("search needs a list of legal actions")
    legal = unmask(view.legal) if isinstance(view.legal, bytes) else view.legal
    return Node(line, to_act[0], legal, view.observation, rewards)


class LocalRules:
    """Answers a search from copies of an environment."""

    def answer(self, asked: Expand) -> list[Node]:
        """Return the positions after the actions."""
        node = asked.node
        assert node.environment is not None
        assert node.seat is not None
        found = []
        for action in asked.actions:
            environment = copy.deepcopy(node.environment)
            turn: Turn = environment.step({node.seat: action})
            rewards = node.rewards.copy()
            for view in turn.seats:
                rewards[view.seat] += view.reward
            child = _node([*node.line, action], turn.to_act, turn.seats, rewards)
            child.environment, child.outcome = environment, turn.outcome
            found.append(child)
        return found

    def run(self, search: Search) -> Any:
        """Let a search run to its end; return its result."""
        try:
            asked = next(search)
            while True:
                asked = search.send(self.answer(asked))
        except StopIteration as stop:
            return stop.value


def _answered(line: list[Any], position: Preview) -> Node:
    if position.error:
        raise DovetailError(f"the environment cannot play {line}: {position.error}")
    node = _node(line, position.to_act, position.seats, position.rewards)
    node.outcome = position.outcome
    return node


def asked(search: Search, seed: int = 0) -> Generator[Lookahead, list[Preview], Any]:
    """Let a search run by asking the environment; ``yield from`` it in an agent's ``step``."""
    try:
        question = next(search)
        while True:
            every = [[*question.node.line, action] for action in question.actions]
            most = max(1, ANSWERED // (len(question.node.legal) + SPARE))
            nodes = []
            for start in range(0, len(every), most):
                lines = every[start : start + most]
                positions = yield Lookahead(lines, seed)
                for line, position in zip(lines, positions, strict=True):
                    nodes.append(_answered(line, position))
            question = search.send(nodes)
    except StopIteration as stop:
        return stop.value
