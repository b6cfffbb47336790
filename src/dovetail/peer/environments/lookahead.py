"""Lookahead: plays sequences of actions on copies of an episode."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from dovetail.peer import coercion as given
from dovetail.peer.environments.environment import Environment, IllegalAction
from dovetail.protocol.messages import Preview


class Walk:
    """Plays lines of actions from a fork of an episode, which is not modified.

    A line that extends the previous one continues from its end, even across calls.  This makes
    depth-first order cheap, and play-outs that ask for one action at a time.
    """

    def __init__(self, root: Environment, to_act: Sequence[int], seats: int) -> None:
        self._root = root
        self._first = Preview(list(to_act), rewards=[0.0] * seats)
        self._restart()

    def _restart(self) -> None:
        self._here, self._preview = copy.deepcopy(self._root), self._first
        self._done: list[Sequence[Any]] = []

    def previews(self, lines: Sequence[Sequence[Sequence[Any]]]) -> list[Preview]:
        """Return the position after each line.

        Args:
            lines: sequences of entries with one action for each seat to act, in their order.
        """
        found: list[Preview] = []
        for line in lines:
            done = self._done
            if self._preview.error or list(line[: len(done)]) != done:
                self._restart()
            for actions in line[len(self._done) :]:
                self._preview = _after(self._here, self._preview, actions)
                if self._preview.error:
                    break
                self._done.append(actions)
            found.append(self._preview)
        return found


def _after(environment: Environment, before: Preview, actions: Sequence[Any]) -> Preview:
    """Apply one entry of a line."""
    error = ""
    if not before.to_act:
        error = "the episode would be over"
    elif len(actions) != len(before.to_act):
        error = f"{len(actions)} actions for the seats {before.to_act}"
    else:
        try:
            turn = environment.step(dict(zip(before.to_act, actions, strict=True)))
        except IllegalAction as refused:
            error = str(refused)
    if error:
        failed = copy.copy(before)
        failed.error = error
        return failed
    rewards = list(before.rewards)
    for view in turn.seats:
        rewards[view.seat] += view.reward
        view.legal = given.legal(view.legal)
    return Preview(
        turn.to_act,
        turn.seats,
        rewards,
        turn.terminated,
        turn.truncated,
        turn.outcome,
        before.applied + 1,
    )
