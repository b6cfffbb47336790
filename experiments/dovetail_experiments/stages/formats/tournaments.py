"""Pairings of a tournament, round by round.  Pure."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.protocol.seeds import derive
from dovetail_experiments.files.file import Tournament

TABLES = 200
"""Maximum groups of players per round in games with more than two seats."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """A finished meeting of two players."""

    round: int
    players: tuple[str, str]
    points: float
    """Points of the first player, in games; a draw is half a point."""
    games: int

    @property
    def winner(self) -> str:
        """Return the player with more points; on a tie the first, which is seeded higher."""
        return self.players[self.points * 2 < self.games]


def first_round(tournament: Tournament, players: Sequence[str], seed: int) -> list[list[str]]:
    """Return the pairings of the first round.

    Args:
        players: all players, strongest first if known; snapshots by their full names.
    """
    if tournament.seats == 1:
        return [[name] for name in players]
    if tournament.seats > 2:
        return _groups(players, tournament.seats, derive(seed, "groups", tournament.name))
    if tournament.format == "gauntlet":
        challengers = players[: tournament.challengers]
        rest = players[tournament.challengers :]
        return [[one, other] for one in challengers for other in rest]
    if tournament.format == "knockout":
        return _bracket(players)
    if tournament.format == "swiss":
        return _swiss(players, [])
    return [list(pair) for pair in itertools.combinations(players, 2)]


def next_round(
    tournament: Tournament, players: Sequence[str], meetings: Sequence[Meeting]
) -> list[list[str]]:
    """Return the pairings of the next round; empty if the tournament is over.

    Args:
        players: all players, in the order of the file.
    """
    played = 1 + max((each.round for each in meetings), default=-1)
    if tournament.format == "knockout":
        left = survivors(players, meetings)
        return _bracket(left) if len(left) > 1 else []
    if tournament.format == "swiss":
        rounds = tournament.rounds or max(1, math.ceil(math.log2(len(players))))
        return _swiss(players, meetings) if played < rounds else []
    return []


def survivors(players: Sequence[str], meetings: Sequence[Meeting]) -> list[str]:
    """Return the players still in a knockout, in the order of the file."""
    lost = {name for each in meetings for name in each.players if name != each.winner}
    return [name for name in players if name not in lost]


def _bracket(players: Sequence[str]) -> list[list[str]]:
    """Return a knockout round: first against last; byes go to the first players.

    Only the first round has byes; after it the number of players is a power of two.
    """
    size = 1 << (len(players) - 1).bit_length()
    playing = list(players[size - len(players) :])
    half = len(playing) // 2
    return [[playing[k], playing[-1 - k]] for k in range(half)]


def _swiss(players: Sequence[str], meetings: Sequence[Meeting]) -> list[list[str]]:
    """Return a round of players with similar points, avoiding rematches if possible."""
    points = dict.fromkeys(players, 0.0)
    met: set[frozenset[str]] = set()
    byes = dict.fromkeys(players, 1 + max((each.round for each in meetings), default=-1))
    for each in meetings:
        one, other = each.players
        met.add(frozenset(each.players))
        byes[one] -= 1
        byes[other] -= 1
        share = each.points / each.games if each.games else 0.5
        points[one] += share
        points[other] += 1 - share
    for name, count in byes.items():
        points[name] += count
    order = sorted(players, key=lambda name: (-points[name], players.index(name)))
    if len(order) % 2:
        idle = min(
            reversed(order), key=lambda name: (byes[name], points[name], -players.index(name))
        )
        order.remove(idle)
    return _paired(order, points, met) or _paired(order, points, set()) or []


def _paired(
    order: list[str], points: dict[str, float], met: set[frozenset[str]]
) -> list[list[str]] | None:
    """Pair players from the top, backtracking if the rest cannot be paired.

    Among players with equal points, the upper half meets the lower half.
    """
    if not order:
        return []
    one, *rest = order
    level = [name for name in rest if points[name] == points[one]]
    half = (len(level) + 1) // 2 - 1
    candidates = [*level[half:], *reversed(level[: max(0, half)])] if level else []
    for other in [*candidates, *(name for name in rest if name not in level)]:
        if frozenset((one, other)) in met:
            continue
        left = _paired([name for name in rest if name != other], points, met)
        if left is not None:
            return [[one, other], *left]
    return None


def _groups(players: Sequence[str], seats: int, seed: int) -> list[list[str]]:
    """Return all groups of players; if there are too many, random ones that seat players equally
    often."""
    if math.comb(len(players), seats) <= TABLES:
        return [list(group) for group in itertools.combinations(players, seats)]
    rng = random.Random(seed)
    found: list[list[str]] = []
    seen: set[frozenset[str]] = set()
    seated = dict.fromkeys(players, 0)
    while len(found) < TABLES:
        order = sorted(players, key=lambda name: (seated[name], rng.random()))
        group = order[:seats]
        if frozenset(group) in seen:
            group = rng.sample(list(players), seats)
        seen.add(frozenset(group))
        found.append(sorted(group, key=list(players).index))
        for name in group:
            seated[name] += 1
    return found
