"""Units of all intervals (pairs, rotations, seeds) and counts of distinct games.  Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from dovetail.protocol.messages import Episode
from dovetail.protocol.seats import seated
from dovetail_experiments.statistics.scores import points


@dataclass(frozen=True, slots=True)
class ScoredGame:
    """A finished or truncated game; players are numbered by their order in the run."""

    index: int
    seating: tuple[int, ...]
    """Player in each seat."""
    digest: str
    """Digest of its actions; empty if unknown."""
    opening: str
    """Identity of the opening that the broker played; empty if there was none."""
    points: tuple[float, ...] | None
    """Points of each player, 1 for the first place to 0 for the last; None if truncated or not
    scored."""
    returns: tuple[float, ...]
    """Return of each player."""
    truncated: bool

    @property
    def signature(self) -> Hashable:
        """Key shared by identical games; unknown actions differ from all others."""
        return (self.seating, self.digest or self.index)


def games(
    episodes: Iterable[Episode], players: int, *, rotate: bool, draw: bool = False
) -> list[ScoredGame]:
    """Return the games that count, in the order of the schedule.

    Args:
        episodes: results in any order.
        draw: whether a truncated game counts as a draw.
    """
    found = []
    for episode in episodes:
        if episode.will_retry or not episode.scored:
            continue
        seating = tuple(seated(range(players), episode.index if rotate else 0))
        scores = None
        truncated = episode.reason == "truncated" and episode.outcome is None
        if episode.outcome is not None and len(episode.outcome) > 1:
            scores = points(episode.outcome)
        elif truncated and draw:
            scores = [0.5] * players
        found.append(
            ScoredGame(
                episode.index,
                seating,
                episode.digest,
                key(episode.opening),
                None if scores is None else _by_player(seating, scores),
                _by_player(seating, [each.total for each in episode.seats]),
                truncated,
            )
        )
    return sorted(found, key=lambda each: each.index)


def key(opening: Sequence[object]) -> str:
    """Return the key of an opening; empty for none."""
    return msgspec.json.encode(opening, enc_hook=repr).decode() if opening else ""


def _by_player(seating: Sequence[int], by_seat: Sequence[float]) -> tuple[float, ...]:
    return tuple(by_seat[seating.index(player)] for player in range(len(seating)))


@dataclass(frozen=True, slots=True)
class Distinct:
    """Counts of distinct games."""

    games: int
    distinct: int

    @property
    def repeats(self) -> bool:
        """Return whether any game was repeated."""
        return self.distinct < self.games


def distinct(signatures: Iterable[Hashable]) -> Distinct:
    """Count games by their signature.

    >>> distinct("aaab")
    Distinct(games=4, distinct=2)
    """
    counts = Counter(signatures)
    return Distinct(counts.total(), len(counts))


@dataclass(frozen=True, slots=True)
class PairedUnit:
    """Games that count once: an opening in every seating."""

    games: tuple[ScoredGame, ...]

    @property
    def points(self) -> tuple[float, ...]:
        """Mean points of each player over the games."""
        scored = [game.points for game in self.games if game.points is not None]
        return tuple(math.fsum(each) / len(scored) for each in zip(*scored, strict=True))


@dataclass(frozen=True, slots=True)
class Units:
    """All games of the same players."""

    games: tuple[ScoredGame, ...]
    units: tuple[PairedUnit, ...]
    """Units in the order of the schedule."""
    unpaired: int
    """Finished games of incomplete rounds, which belong to no unit."""
    players: int
    rotate: bool

    @property
    def finished(self) -> list[ScoredGame]:
        """Games with a result."""
        return [game for game in self.games if game.points is not None]

    @property
    def distinct(self) -> Distinct:
        """Number of distinct finished games."""
        return distinct(game.signature for game in self.finished)


def units(found: Sequence[ScoredGame], players: int, *, rotate: bool) -> Units:
    """Group games into units.

    A round is one game in each seating. Rounds with the same opening form one unit. Rounds without
    an opening form one unit if all are identical, which means that no player acts at random;
    otherwise each one is a unit.
    """
    size = players if rotate else 1
    rounds: dict[int, list[ScoredGame]] = {}
    for game in found:
        if game.points is not None:
            rounds.setdefault(game.index // size, []).append(game)
    whole = [each for each in rounds.values() if len(each) == size]
    unpaired = sum(len(each) for each in rounds.values() if len(each) != size)
    plain = [each for each in whole if not each[0].opening]
    if len(plain) > 1 and len({tuple(g.signature for g in each) for each in plain}) == 1:
        merged = {id(each): "" for each in plain}
    else:
        merged = {id(each): f"#{number}" for number, each in enumerate(plain)}
    groups: dict[str, list[ScoredGame]] = {}
    for each in whole:
        groups.setdefault(merged.get(id(each), each[0].opening), []).extend(each)
    return Units(
        tuple(found),
        tuple(PairedUnit(tuple(each)) for each in groups.values()),
        unpaired,
        players,
        rotate,
    )
