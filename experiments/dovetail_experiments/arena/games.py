"""The score of a game, and the points of a unit.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dovetail.protocol.messages import Episode
from dovetail_experiments.statistics.scores import points

FAULTS = ("illegal-action", "timeout", "stalled", "disconnected", "crashed")
"""Reasons for which a game is lost; leaving is among them, so that no one can dodge a loss."""
FORFEITED = "forfeited"
"""The reason of a game that was not played, because a program refused it or had left."""


class ArenaGame(Struct, frozen=True):
    """A game that counts."""

    number: int
    """In its unit, from 0."""
    seating: list[int]
    """By seat, the place of its player in the unit."""
    scores: list[float]
    """By seat, the higher the better."""
    returns: list[float]
    decisions: list[int]
    seconds: list[float]
    seed: int = 0
    episode: int = 0
    reason: str = "terminated"
    blame: int | None = None
    """The seat that lost by fault, if any."""
    turns: int = 0
    digest: str = ""
    opening: list[list[Any]] = []
    message: str = ""

    @property
    def fault(self) -> int | None:
        """The place in the unit of the player that lost by fault."""
        return None if self.blame is None else self.seating[self.blame]


def game(episode: Episode, number: int, seating: list[int]) -> ArenaGame | None:
    """Return a game as it counts; None if it does not count, if it ended through no player's fault.

    A game that was cut short without an outcome is drawn. A fault loses: the others share a win.

    Args:
        episode: the broker's result.
        number: of the game in its unit.
        seating: by seat, the place of its player in the unit.
    """
    fault = episode.reason in FAULTS and episode.blame is not None
    if not episode.scored and not fault:
        return None
    seats = len(episode.seats)
    scores = episode.outcome
    if fault:
        scores = _lost(seats, episode.blame)
    elif scores is None:
        scores = [1 / seats] * seats
    return ArenaGame(
        number,
        seating,
        list(scores),
        [0.0 if math.isnan(each.total) else each.total for each in episode.seats],
        [each.decisions for each in episode.seats],
        [each.seconds for each in episode.seats],
        episode.seed,
        episode.episode,
        episode.reason,
        episode.blame if fault else None,
        episode.turns,
        episode.digest,
        episode.opening,
        episode.message,
    )


def forfeited(number: int, seating: list[int], blame: int, message: str) -> ArenaGame:
    """Return a game that was not played because a program refused it or had left; ``blame`` is its
    seat."""
    seats = len(seating)
    nothing = [0.0] * seats
    return ArenaGame(
        number,
        seating,
        _lost(seats, blame),
        nothing,
        [0] * seats,
        nothing,
        reason=FORFEITED,
        blame=blame,
        message=message,
    )


def _lost(seats: int, blame: int | None) -> list[float]:
    return [0.0 if seat == blame else 1 / max(1, seats - 1) for seat in range(seats)]


def worth(played: Sequence[ArenaGame], players: int) -> list[float]:
    """Return the points of each player of a unit: the mean over its games, 1 for first to 0 for
    last.

    In games of one seat each player has one game of its own, and the returns are compared.
    """
    if all(len(each.seating) == 1 for each in played):
        returns = [0.0] * players
        for each in played:
            returns[each.seating[0]] = -math.inf if each.fault is not None else each.returns[0]
        return points(returns)
    total = [0.0] * players
    for each in played:
        for place, score in zip(each.seating, points(each.scores), strict=True):
            total[place] += score / len(played)
    return total
