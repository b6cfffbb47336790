"""The results of each agent in each seat.  Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dovetail.protocol.messages import Episode
from dovetail.protocol.seats import seated
from dovetail_experiments.statistics.censored import Censored, censored
from dovetail_experiments.statistics.estimates import Estimate, mean, wilson, without_interval
from dovetail_experiments.statistics.scores import Sample, interval
from dovetail_experiments.statistics.units import Distinct, distinct, key


@dataclass(slots=True)
class Tally:
    """The results of one agent in one seat."""

    agent: str
    seat: int
    wins: int = 0
    draws: int = 0
    losses: int = 0
    truncated: int = 0
    """Games that a limit outside the rules ended without an outcome."""
    unscored: int = 0
    """Episodes without an outcome: truncated, or of a game without a score."""
    returns: list[float] | None = None
    decisions: int = 0
    seconds: float = 0.0
    breaches: int = 0
    """Late, illegal and failed answers, also in episodes that were played again."""
    interrupted: int = 0
    """Episodes that were played again, which are in no other figure but ``breaches``."""
    uncounted: int = 0
    """Episodes that do not count, as with a substitute; they too are only in ``breaches``."""
    played: list[tuple[str, str, float | None, float]] = field(default_factory=list)
    """Of each episode the opening, a digest of the actions, whether it was won, and the return."""
    cut: list[bool] = field(default_factory=list)
    """True if each episode was truncated without an outcome."""

    @property
    def games(self) -> int:
        """Episodes that count."""
        return len(self.returns or ())

    @property
    def decided(self) -> int:
        """Episodes with an outcome."""
        return self.wins + self.draws + self.losses

    @property
    def distinct(self) -> Distinct:
        """How many episodes differ in their actions."""
        return distinct(digest or number for number, (_, digest, _, _) in enumerate(self.played))

    @property
    def repeats(self) -> bool:
        """Return whether equal games were played that count once only."""
        return len(self._units()) < len(self.played)

    @property
    def win_rate(self) -> Estimate:
        """The share of outcomes that are wins, equal games counting once; without an interval if
        all are equal."""
        if not self.repeats:
            return wilson(self.wins, self.decided)
        won = [_mean(w for _, _, w, _ in unit if w is not None) for unit in self._units(True)]
        return interval(Sample.observed(won, 3))

    @property
    def mean_return(self) -> Estimate:
        """The mean of the returns, equal games counting once.

        Without an interval if all are equal, or if some were cut off: it is not where the mean
        would be.
        """
        values = self.returns or []
        if self.repeats:
            values = [_mean(each for *_, each in unit) for unit in self._units()]
        found = mean(values)
        return without_interval(found.value) if any(self.cut) else found

    @property
    def uncut(self) -> Censored | None:
        """The estimate of the returns if none had been cut off; None if none was, or equal games
        repeat."""
        values = self.returns or []
        if self.decided or not any(self.cut) or self.repeats:
            return None
        stopped = [value for value, cut in zip(values, self.cut, strict=True) if cut]
        return censored(values, self.cut, max(stopped))

    def _units(self, decided: bool = False) -> list[list[tuple[str, str, float | None, float]]]:
        """Return the episodes, those together that count as one."""
        played = [each for each in self.played if not decided or each[2] is not None]
        plain = [digest for opening, digest, _, _ in played if not opening]
        same = len(plain) > 1 and "" not in plain and len(set(plain)) == 1
        groups: dict[object, list[tuple[str, str, float | None, float]]] = {}
        for number, each in enumerate(played):
            groups.setdefault(each[0] or ("" if same else number), []).append(each)
        return list(groups.values())


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found)


def result_of(outcome: Sequence[float], seat: int) -> str:
    """Return ``win``, ``draw`` or ``loss``: a seat wins alone at the top, and draws if it shares
    it."""
    best = max(outcome)
    if outcome[seat] < best:
        return "loss"
    return "draw" if sum(score == best for score in outcome) > 1 else "win"


def interrupted(count: int) -> str:
    """Return how many games were interrupted and played again, in words.

    >>> interrupted(1)
    '1 game was interrupted and played again'
    """
    return f"{count:,} game{' was' if count == 1 else 's were'} interrupted and played again"


def left_out(count: int) -> str:
    """Return how many games do not count, in words.

    >>> left_out(2)
    '2 games with a substitute, or that could not be played, do not count'
    """
    one = count == 1
    return (
        f"{count:,} game{'s' * (not one)} with a substitute, or that could not be played, "
        f"do{'es' * one} not count"
    )


def faulty(count: int) -> str:
    """Return how many answers were breaches, in words.

    >>> faulty(2)
    '2 late, illegal or failed answers'
    """
    return f"{count:,} late, illegal or failed answer{'s' * (count != 1)}"


def tally(
    episodes: Iterable[Episode],
    names: Sequence[str],
    *,
    rotate: bool = False,
    truncated: Literal["apart", "draw"] = "apart",
) -> list[Tally]:
    """Count episodes by agent and seat.

    Args:
        episodes: results; of those that are played again or do not count only breaches do.
        names: the agents in the order of the run.
        rotate: whether the run rotated its seats.
        truncated: whether a game for two or more that is truncated without an outcome counts
            apart or as a draw.
    """
    tallies: dict[tuple[str, int], Tally] = {}
    breaches: Counter[tuple[str, int]] = Counter()
    again: Counter[tuple[str, int]] = Counter()
    uncounted: Counter[tuple[str, int]] = Counter()
    for episode in episodes:
        if episode.will_retry or not episode.scored:
            for number, name in enumerate(seated(names, episode.index if rotate else 0)):
                breaches[name, number] += episode.seats[number].breaches
                again[name, number] += episode.will_retry
                uncounted[name, number] += not episode.will_retry
            continue
        agents = seated(names, episode.index if rotate else 0)
        for number, (name, seat) in enumerate(zip(agents, episode.seats, strict=True)):
            entry = tallies.setdefault((name, number), Tally(name, number, returns=[]))
            assert entry.returns is not None
            entry.returns.append(seat.total)
            entry.decisions += seat.decisions
            entry.seconds += seat.seconds
            entry.breaches += seat.breaches
            won = None
            cut = episode.reason == "truncated" and episode.outcome is None
            drawn = cut and truncated == "draw" and len(agents) > 1
            entry.cut.append(cut and not drawn)
            if drawn:
                entry.draws += 1
                won = 0.0
            elif episode.outcome is None or len(episode.outcome) < 2:
                entry.unscored += 1
                entry.truncated += episode.reason == "truncated"
            else:
                match result_of(episode.outcome, number):
                    case "win":
                        entry.wins += 1
                    case "draw":
                        entry.draws += 1
                    case _:
                        entry.losses += 1
                won = float(result_of(episode.outcome, number) == "win")
            entry.played.append((key(episode.opening), episode.digest, won, seat.total))
    for sitter, entry in tallies.items():
        entry.breaches += breaches[sitter]
        entry.interrupted = again[sitter]
        entry.uncounted = uncounted[sitter]
    return sorted(tallies.values(), key=lambda each: (names.index(each.agent), each.seat))
