"""The results of each agent in each seat.  Pure."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dovetail.protocol.messages import Episode
from dovetail.protocol.seats import seated
from dovetail_experiments.statistics.censored import Censored, censored
from dovetail_experiments.statistics.estimates import Estimate, mean, wilson, without_interval
from dovetail_experiments.statistics.scores import Sample, interval
from dovetail_experiments.statistics.units import Distinct, key


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of one agent in one seat."""

    agent: str
    seat: int
    wins: int
    draws: int
    losses: int
    truncated: int
    """Games that an external limit ended without an outcome."""
    games: int
    """Episodes that count."""
    decisions: int
    seconds: float
    breaches: int
    """Late, illegal and failed answers, including those in retried episodes."""
    interrupted: int
    """Retried episodes; only their breaches count."""
    uncounted: int
    """Episodes that do not count, such as those with a substitute; only their breaches count."""
    distinct: Distinct
    """Number of episodes that differ in their actions."""
    repeats: bool
    """True if some games were identical and therefore count once."""
    win_rate: Estimate
    """Share of wins among outcomes, identical games counting once; without an interval if all are
    equal."""
    mean_return: Estimate
    """Mean return, identical games counting once.

    Without an interval if all returns are equal, or if some were cut off, as the true mean would
    lie elsewhere.
    """
    constant: bool
    """True if all returns are equal."""
    uncut: Censored | None
    """Estimate of the uncut returns; None if none was cut off or some games were identical."""

    @property
    def decided(self) -> int:
        """Episodes with an outcome."""
        return self.wins + self.draws + self.losses


class _Seat:
    """Running counts of one agent's episodes in one seat, about 20 bytes each."""

    def __init__(self) -> None:
        self.wins = self.draws = self.losses = self.truncated = 0
        self.decisions = self.breaches = 0
        self.seconds = 0.0
        self.returns = array("d")
        self.won = array("b")
        """1, 0, or -1 without an outcome."""
        self.cut = array("b")
        """1 if the episode was truncated without an outcome."""
        self.actions = array("q")
        """Hash of the actions; unknown actions differ from all others."""
        self.openings = array("q")
        """Number of each opening; 0 for none."""
        self._numbers: dict[str, int] = {"": 0}

    def add(self, episode: Episode, number: int, drawn: bool, cut: bool) -> None:
        """Count an episode of this seat."""
        seat = episode.seats[number]
        self.decisions += seat.decisions
        self.seconds += seat.seconds
        self.breaches += seat.breaches
        won = -1
        if drawn:
            self.draws += 1
            won = 0
        elif episode.outcome is None or len(episode.outcome) < 2:
            self.truncated += episode.reason == "truncated"
        else:
            match result_of(episode.outcome, number):
                case "win":
                    self.wins += 1
                    won = 1
                case "draw":
                    self.draws += 1
                    won = 0
                case _:
                    self.losses += 1
                    won = 0
        self.actions.append(hash(episode.digest or (len(self.returns), "unknown")))
        self.returns.append(seat.total)
        self.won.append(won)
        self.cut.append(cut and not drawn)
        opening = key(episode.opening)
        self.openings.append(self._numbers.setdefault(opening, len(self._numbers)))

    def tally(self, agent: str, seat: int, *others: int) -> Tally:
        """Return the results; ``others`` count breaches, interrupted and uncounted episodes."""
        breaches, interrupted, uncounted = others
        decided = self.wins + self.draws + self.losses
        cut = any(self.cut)
        plain = np.frombuffer(self.actions, np.int64)[np.frombuffer(self.openings, np.int64) == 0]
        same = len(plain) > 1 and bool((plain == plain[0]).all())
        repeats = same or len(self.returns) - len(plain) >= len(self._numbers)
        rate = wilson(self.wins, decided)
        average = mean(self.returns)
        if repeats:
            rate = interval(Sample.observed(self._units(self.won, decided=True), 3))
            average = mean(self._units(self.returns))
        if cut:
            average = without_interval(average.value)
        uncut = None
        if cut and not decided and not repeats:
            ends = [value for value, cut in zip(self.returns, self.cut, strict=True) if cut]
            uncut = censored(list(self.returns), [*map(bool, self.cut)], max(ends))
        return Tally(
            agent,
            seat,
            self.wins,
            self.draws,
            self.losses,
            self.truncated,
            len(self.returns),
            self.decisions,
            self.seconds,
            self.breaches + breaches,
            interrupted,
            uncounted,
            Distinct(len(self.actions), len(np.unique(np.frombuffer(self.actions, np.int64)))),
            repeats,
            rate,
            average,
            all(each == self.returns[0] for each in self.returns),
            uncut,
        )

    def _units(self, values: Sequence[float], decided: bool = False) -> list[float]:
        """Return the means of values over identical episodes."""
        of = [number for number, won in enumerate(self.won) if won >= 0 or not decided]
        plain = [self.actions[number] for number in of if not self.openings[number]]
        same = len(plain) > 1 and len(set(plain)) == 1
        groups: dict[object, list[float]] = {}
        for number in of:
            opening = self.openings[number]
            group = opening if opening or same else (number,)
            groups.setdefault(group, []).append(values[number])
        return [math.fsum(each) / len(each) for each in groups.values()]


def result_of(outcome: Sequence[float], seat: int) -> str:
    """Return ``win``, ``draw`` or ``loss``: a seat wins if it alone has the top score, and draws if
    it shares it."""
    best = max(outcome)
    if outcome[seat] < best:
        return "loss"
    return "draw" if sum(score == best for score in outcome) > 1 else "win"


def interrupted(count: int) -> str:
    """Return the number of interrupted and retried games as text.

    >>> interrupted(1)
    '1 game was interrupted and played again'
    """
    return f"{count:,} game{' was' if count == 1 else 's were'} interrupted and played again"


def left_out(count: int) -> str:
    """Return the number of games that do not count as text.

    >>> left_out(2)
    '2 games with a substitute, or that could not be played, do not count'
    """
    one = count == 1
    return (
        f"{count:,} game{'s' * (not one)} with a substitute, or that could not be played, "
        f"do{'es' * one} not count"
    )


def faulty(count: int) -> str:
    """Return the number of breaches as text.

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
        episodes: results; retried episodes and those that do not count contribute only breaches.
        rotate: whether the run rotated its seats.
        truncated: whether games with several seats that were truncated without an outcome count
            apart or as draws.
    """
    found: dict[tuple[str, int], _Seat] = {}
    others: dict[tuple[str, int], list[int]] = {}
    """Breaches, and numbers of interrupted and uncounted episodes."""
    for episode in episodes:
        agents = seated(names, episode.index if rotate else 0)
        cut = episode.reason == "truncated" and episode.outcome is None
        drawn = cut and truncated == "draw" and len(agents) > 1
        for number, name in enumerate(agents):
            if episode.will_retry or not episode.scored:
                counts = others.setdefault((name, number), [0, 0, 0])
                counts[0] += episode.seats[number].breaches
                counts[2 - episode.will_retry] += 1
                continue
            if (seat := found.get((name, number))) is None:
                seat = found[name, number] = _Seat()
            seat.add(episode, number, drawn, cut)
    rows = [seat.tally(*sitter, *others.get(sitter, (0, 0, 0))) for sitter, seat in found.items()]
    return sorted(rows, key=lambda each: (names.index(each.agent), each.seat))
