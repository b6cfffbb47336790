"""What results mean: counts, rates and intervals.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dovetail.protocol.messages import Episode

Z = 1.959964
"""Standard normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


def wilson(successes: float, trials: int) -> Estimate:
    """Return a rate with its Wilson score interval (Wilson 1927).

    >>> wilson(90, 100)
    Estimate(value=0.9, low=0.8256343384950865, high=0.9447708629393249)
    """
    if trials == 0:
        return Estimate(math.nan, 0.0, 1.0)
    p = successes / trials
    square = Z * Z / trials
    centre = (p + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(p * (1 - p) / trials + square / (4 * trials))
    return Estimate(p, max(0.0, centre - half), min(1.0, centre + half))


def mean(values: Sequence[float]) -> Estimate:
    """Return a mean with its normal interval; one value alone has none."""
    n = len(values)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan)
    average = math.fsum(values) / n
    if n == 1:
        return Estimate(average, -math.inf, math.inf)
    variance = math.fsum((value - average) ** 2 for value in values) / (n - 1)
    half = Z * math.sqrt(variance / n)
    return Estimate(average, average - half, average + half)


@dataclass(slots=True)
class Tally:
    """What one agent did in one seat."""

    agent: str
    seat: int
    wins: int = 0
    draws: int = 0
    losses: int = 0
    unscored: int = 0
    """Episodes without an outcome: interrupted, truncated, or of a game without a score."""
    returns: list[float] | None = None
    decisions: int = 0
    seconds: float = 0.0
    breaches: int = 0

    @property
    def games(self) -> int:
        """Episodes that count."""
        return len(self.returns or ())

    @property
    def decided(self) -> int:
        """Episodes with an outcome."""
        return self.wins + self.draws + self.losses

    @property
    def win_rate(self) -> Estimate:
        """The share of outcomes that are wins."""
        return wilson(self.wins, self.decided)

    @property
    def mean_return(self) -> Estimate:
        """The mean of the returns."""
        return mean(self.returns or [])


def result_of(outcome: Sequence[float], seat: int) -> str:
    """Return ``win``, ``draw`` or ``loss``: a seat wins alone at the top, and draws if it shares it."""
    best = max(outcome)
    if outcome[seat] < best:
        return "loss"
    return "draw" if sum(score == best for score in outcome) > 1 else "win"


def tally(
    episodes: Iterable[Episode], names: Sequence[str], *, rotate: bool = False
) -> list[Tally]:
    """Count episodes by agent and seat.

    Args:
        episodes: results; those that are played again or do not count are left out.
        names: the agents in the order of the run.
        rotate: whether the run rotated its seats.
    """
    tallies: dict[tuple[str, int], Tally] = {}
    for episode in episodes:
        if episode.will_retry or not episode.scored:
            continue
        for number, seat in enumerate(episode.seats):
            shift = episode.index if rotate else 0
            name = names[(number - shift) % len(names)]
            entry = tallies.setdefault((name, number), Tally(name, number, returns=[]))
            assert entry.returns is not None
            entry.returns.append(seat.total)
            entry.decisions += seat.decisions
            entry.seconds += seat.seconds
            entry.breaches += seat.breaches
            if episode.outcome is None or len(episode.outcome) < 2:
                entry.unscored += 1
                continue
            match result_of(episode.outcome, number):
                case "win":
                    entry.wins += 1
                case "draw":
                    entry.draws += 1
                case _:
                    entry.losses += 1
    return sorted(tallies.values(), key=lambda each: (names.index(each.agent), each.seat))
