"""Lookahead: what would follow from sequences of actions, played on copies of an episode."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from dovetail.env_servers.environment import Environment, IllegalAction
from dovetail.protocol.messages import Preview


def previews(
    root: Environment, to_act: Sequence[int], seats: int, lines: Sequence[Sequence[Sequence[Any]]]
) -> list[Preview]:
    """Return what each line leads to.

    A line that continues from the one before it is played from there, so depth-first order is
    cheap.

    Args:
        root: a fork of the episode; it stays as it is.
        to_act: the seats to act there.
        seats: how many there are.
        lines: sequences of entries with one action for each seat to act, in their order.
    """
    first = Preview(list(to_act), rewards=[0.0] * seats)
    found: list[Preview] = []
    done: list[Sequence[Any]] = []
    here, preview = copy.deepcopy(root), first
    for line in lines:
        if preview.error or list(line[: len(done)]) != done:
            here, preview, done = copy.deepcopy(root), first, []
        for actions in line[len(done) :]:
            preview = _after(here, preview, actions)
            if preview.error:
                break
            done.append(actions)
        found.append(preview)
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
    return Preview(
        turn.to_act,
        turn.seats,
        rewards,
        turn.terminated,
        turn.truncated,
        turn.outcome,
        before.applied + 1,
    )
