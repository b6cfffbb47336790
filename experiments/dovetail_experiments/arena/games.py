"""Scores of games and points of units.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dovetail.protocol.messages import Episode
from dovetail_experiments.statistics.scores import points

FAULTS = ("illegal-action", "timeout", "stalled", "disconnected", "crashed")
"""Reasons that count as a loss by fault; disconnecting is one, so leaving never saves a game."""
FORFEITED = "forfeited"
"""Reason of a game that was not played because a program refused it or had disconnected."""


class ArenaGame(Struct, frozen=True):
    """A game that counts for the ratings."""

    number: int
    """Index within its unit, from 0."""
    seating: list[int]
    """Index in the unit of each seat's player."""
    scores: list[float]
    """Score of each seat; higher is better."""
    returns: list[float]
    decisions: list[int]
    seconds: list[float]
    seed: int = 0
    episode: int = 0
    reason: str = "terminated"
    blame: int | None = None
    """Seat that lost by fault, or None."""
    turns: int = 0
    digest: str = ""
    opening: list[list[Any]] = []
    message: str = ""

    @property
    def fault(self) -> int | None:
        """Index in the unit of the player that lost by fault, or None."""
        return None if self.blame is None else self.seating[self.blame]


def game(episode: Episode, number: int, seating: list[int]) -> ArenaGame | None:
    """Return the game to count for an episode; None if it ended through no player's fault.

    A truncated game without an outcome is a draw. A loss by fault is a win shared by the others.

    Args:
        number: the game's index in its unit.
        seating: for each seat, the index of its player in the unit.
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
    """Return a game lost by seat ``blame``, whose program refused it or had disconnected."""
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
    """Return each player's points for a unit: the mean over its games, from 1 (first) to 0 (last).

    In one-seat games each player plays one game alone, and the returns are compared.
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
