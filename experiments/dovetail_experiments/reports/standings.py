"""Standings of a tournament: points, ratings and their uncertainty.  Pure."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.protocol.seeds import derive
from dovetail_experiments.files.file import ExperimentFile, Pairing, Tournament
from dovetail_experiments.stages.formats.stopping import Stopping
from dovetail_experiments.stages.formats.tournaments import survivors
from dovetail_experiments.stages.schedule import StageResult, meeting, of_tournament, players
from dovetail_experiments.statistics.censored import Censored, censored, described
from dovetail_experiments.statistics.estimates import (
    Difference,
    Estimate,
    mean,
    paired,
    without_interval,
)
from dovetail_experiments.statistics.ranked import likelihood, ranked
from dovetail_experiments.statistics.ratings import PRIOR, nash_averaging, ratings
from dovetail_experiments.statistics.scores import Sample, as_elo, interval, stratified, superiority
from dovetail_experiments.statistics.tallies import faulty, interrupted, left_out, result_of
from dovetail_experiments.statistics.units import Distinct, Units, distinct

_Superiority = Callable[[str, str], float]


@dataclass(slots=True)
class Standing:
    """A player's results."""

    player: str
    wins: int = 0
    draws: int = 0
    losses: int = 0
    truncated: int = 0
    episodes: int = 0
    """Episodes played, in games of one seat."""
    points: float = 0.0
    score: Estimate = field(default_factory=lambda: without_interval(math.nan))
    """Mean points over units, a draw counting half; in games of one seat, the mean return."""
    elo: Estimate | None = None
    """Elo rating relative to the mean of all players; for two players, their difference."""
    one_sided: str = ""
    """``least`` or ``most`` if only one end of the interval of ``elo`` is meaningful."""
    pairs: Sample | None = None
    distinct: Distinct = field(default_factory=lambda: Distinct(0, 0))
    next_best: float = math.nan
    """Likelihood that it is stronger than the next player."""
    nash: tuple[float, float] | None = None
    """Share of the Nash equilibrium, and score against it minus one half; complete round robins
    only."""
    capped: Censored | None = None
    """Estimate of uncapped returns, in games of one seat with a cap."""

    @property
    def games(self) -> int:
        """Number of games with a result."""
        return self.wins + self.draws + self.losses

    @property
    def range(self) -> tuple[float, float]:
        """Points per game if all truncated games were lost, and if all were won."""
        total = self.games + self.truncated
        return self.points / total, (self.points + self.truncated) / total


@dataclass(frozen=True, slots=True)
class Test:
    """State of a meeting's sequential test."""

    pair: tuple[str, str]
    line: str


@dataclass(frozen=True, slots=True)
class Standings:
    """Result of a tournament, best player first."""

    name: str
    seats: int
    rows: list[Standing]
    caption: str
    notes: list[str]
    """Remarks that qualify the figures, one per line."""
    crosses: dict[tuple[str, str], tuple[float, int]]
    """Points and number of games of each player against each opponent."""
    tests: list[Test]
    comparisons: dict[tuple[str, str], Difference]
    """Differences on equal seeds, in games of one seat."""


def standings(
    file: ExperimentFile, tournament: Tournament, played: Sequence[StageResult]
) -> Standings:
    """Return the standings of a tournament from the stages played so far."""
    mine = of_tournament(tournament, played)
    if tournament.seats == 1:
        return _alone(tournament, mine)
    names = players(file, tournament)
    rows = {name: Standing(name) for name in names}
    found = [(each, each.units) for each in mine]
    signatures: dict[str, list[Hashable]] = {name: [] for name in names}
    for each, units in found:
        _count(each.stage.part.seats, units, rows, signatures)
    for name, row in rows.items():
        row.distinct = distinct(signatures[name])
    notes = _notes(rows, found)
    two = tournament.seats == 2
    superior = _pairs(rows, found, notes) if two else _many(file, tournament, rows, found)
    order = _ordered(tournament, rows, mine)
    for row, following in itertools.pairwise(order):
        row.next_best = superior(row.player, following.player)
    return Standings(
        tournament.name,
        tournament.seats,
        order,
        _caption(rows, found, two),
        notes,
        _crosses(mine) if two else {},
        [test for each in mine if (test := _test(each)) is not None],
        {},
    )


def _notes(rows: Mapping[str, Standing], found: Sequence[tuple[StageResult, Units]]) -> list[str]:
    notes = [note for each, units in found if (note := _repetition(each, units))]
    trials = sum(_only_trial(units) for _, units in found)
    if trials:
        notes.append(
            f"{trials} meeting{'s' * (trials != 1)} began with a round that was played twice, "
            "which showed that the players are deterministic; it counts once"
        )
    breaches: Counter[str] = Counter()
    for each, _ in found:
        for mine in each.tallies:
            breaches[mine.agent] += mine.breaches
    notes += [f"{name}: {faulty(breaches[name])}" for name in rows if breaches[name]]
    left = sum(each.tallies[0].uncounted for each, _ in found if each.tallies)
    if left:
        notes.append(left_out(left))
    again = sum(len(each.interrupted) for each, _ in found)
    if again:
        notes.append(interrupted(again))
    unpaired = sum(units.unpaired for _, units in found)
    if unpaired:
        notes.append(
            f"finished games of incomplete rounds, which count in no score or rating: {unpaired}"
        )
    notes += [
        f"{row.player}: points {row.range[0]:.1%} .. {row.range[1]:.1%} if its {row.truncated} "
        "truncated games were all lost .. all won"
        for row in rows.values()
        if row.truncated
    ]
    return notes


def _ordered(
    tournament: Tournament, rows: Mapping[str, Standing], mine: Sequence[StageResult]
) -> list[Standing]:
    """Return the players, best first by the rule of the tournament's format."""
    order = sorted(rows.values(), key=lambda row: -(row.elo.value if row.elo else 0.0))
    if tournament.format == "swiss":
        order.sort(key=lambda row: -row.points)
    if tournament.format == "knockout":
        meetings = [meeting(each) for each in mine]
        left = survivors(list(rows), meetings)
        rounds = {n: m.round for m in meetings for n in m.players}
        order.sort(key=lambda row: (row.player not in left, -rounds.get(row.player, 0)))
    return order


def _crosses(mine: Sequence[StageResult]) -> dict[tuple[str, str], tuple[float, int]]:
    crosses: dict[tuple[str, str], tuple[float, int]] = {}
    for each in mine:
        result = meeting(each)
        for pair, points in (
            (result.players, result.points),
            (result.players[::-1], result.games - result.points),
        ):
            before = crosses.get((pair[0], pair[1]), (0.0, 0))
            crosses[pair[0], pair[1]] = before[0] + points, before[1] + result.games
    return crosses


def _caption(
    rows: Mapping[str, Standing], found: Sequence[tuple[StageResult, Units]], two: bool
) -> str:
    unit = "a pair (one opening, seats swapped)" if two else "an opening with all rotations"
    count = sum(len(units.units) for _, units in found)
    prior = "half a drawn game added per pairing" if two else "one drawn game each against a ghost"
    about = (
        "Elo: the difference to the other player"
        if two and len(rows) == 2
        else f"Elo around the mean of the pool, {prior}"
    )
    draws = "a draw counts half" if two else "points: 1 for the first place to 0 for the last"
    caption = f"{draws}; 95 % over {count} unit{'s' * (count != 1)}, each {unit}; {about}"
    if any(row.truncated for row in rows.values()):
        caption += "; T: truncated, left out"
    return caption


def _score(rows: Mapping[str, Standing], found: Sequence[tuple[StageResult, Units]]) -> None:
    """Set the scores for games of two seats: means over units, meetings weighted by their games."""
    parts: dict[str, list[tuple[int, list[float]]]] = {name: [] for name in rows}
    for each, units in found:
        count = sum(len(unit.games) for unit in units.units)
        for place, name in enumerate(each.stage.part.seats):
            if count:
                parts[name].append((count, [unit.points[place] for unit in units.units]))
    for name, own in parts.items():
        pooled = [score for _, scores in own for score in scores]
        if not pooled:
            continue
        total = sum(count for count, _ in own)
        even = len({count / len(scores) for count, scores in own}) == 1
        rows[name].score = (
            interval(Sample.observed(pooled))
            if even
            else stratified([(count / total, Sample.observed(scores)) for count, scores in own])
        )


def _average(rows: Mapping[str, Standing], meetings: Mapping[tuple[str, str], Sample]) -> None:
    """Set the Nash averages, if every player met every other."""
    names = list(rows)
    table = np.zeros((len(names), len(names)))
    for (one, other), sample in meetings.items():
        i, j = names.index(one), names.index(other)
        table[i, j] = sample.score - 0.5
        table[j, i] = -table[i, j]
    if len(meetings) < len(names) * (len(names) - 1) // 2:
        return
    share, values = nash_averaging(table)
    for name, each, value in zip(names, share, values, strict=True):
        rows[name].nash = float(each), float(value)


def _count(
    seats: Sequence[str],
    units: Units,
    rows: dict[str, Standing],
    signatures: dict[str, list[Hashable]],
) -> None:
    for game in units.games:
        for player, name in enumerate(seats):
            row = rows[name]
            if game.points is None:
                row.truncated += game.truncated
                continue
            row.points += game.points[player]
            signatures[name].append((tuple(seats), game.signature))
            match result_of(game.points, player):
                case "win":
                    row.wins += 1
                case "draw":
                    row.draws += 1
                case _:
                    row.losses += 1


def _repetition(played: StageResult, units: Units) -> str:
    """Return a remark on a meeting with repeated games; empty if they do not matter."""
    found = units.distinct
    if (
        _only_trial(units)
        or not found.repeats
        or len(units.units) * (units.players if units.rotate else 1) >= len(units.finished)
    ):
        return ""
    who = " - ".join(played.stage.part.seats)
    count = len(units.units)
    worth = "no interval" if count < 2 else f"counted as {count} units"
    return f"{who}: {found.games} games, {found.distinct} distinct: {worth}"


def _only_trial(units: Units) -> bool:
    """Return whether only one round was repeated and all other games differ."""
    found = units.distinct
    size = units.players if units.rotate else 1
    opened = sum(bool(game.opening) for game in units.finished)
    return (
        found.games - found.distinct == size
        and opened == found.games - 2 * size > 0
        and (len(units.units) + 1) * size == found.games
    )


def _pairs(
    rows: dict[str, Standing], found: Sequence[tuple[StageResult, Units]], notes: list[str]
) -> _Superiority:
    meetings: dict[tuple[str, str], Sample] = {}
    values: dict[str, list[float]] = {name: [] for name in rows}
    pooled: dict[tuple[str, str], list[float]] = {}
    for each, units in found:
        one, other = each.stage.part.seats
        scores = [unit.points[0] for unit in units.units]
        if (other, one) in pooled:
            one, other = other, one
            scores = [1 - score for score in scores]
        pooled.setdefault((one, other), []).extend(scores)
    _score(rows, found)
    for (one, other), scores in pooled.items():
        if scores:
            meetings[one, other] = Sample.observed(scores)
        values[one] += scores
        values[other] += [1 - score for score in scores]
    for name, row in rows.items():
        row.pairs = Sample.observed(values[name])
    if len(rows) == 2:
        for (one, other), sample in meetings.items():
            for name, mine in ((one, sample), (other, Sample.observed(values[other]))):
                rows[name].elo = as_elo(interval(mine))
                rows[name].one_sided = {0.0: "most", 1.0: "least"}.get(mine.score, "")
        return lambda first, second: superiority(Sample.observed(values[first]))
    _average(rows, meetings)
    result = ratings(list(rows), meetings, PRIOR)
    for name, row in rows.items():
        row.elo = result.elo[name]
        if name in result.undefeated:
            row.one_sided = "least"
        elif name in result.winless:
            row.one_sided = "most"
    if len(result.components) > 1:
        notes.append(
            "ratings compare only players that are connected by games: "
            + "; ".join(", ".join(group) for group in result.components)
        )
    return result.superiority


def _many(
    file: ExperimentFile,
    tournament: Tournament,
    rows: dict[str, Standing],
    found: Sequence[tuple[StageResult, Units]],
) -> _Superiority:
    games = []
    values: dict[str, list[float]] = {name: [] for name in rows}
    for each, units in found:
        seats = each.stage.part.seats
        for unit in units.units:
            games.append(
                [
                    {name: -game.points[k] for k, name in enumerate(seats)}
                    for game in unit.games
                    if game.points is not None
                ]
            )
            for name, points in zip(seats, unit.points, strict=True):
                values[name].append(points)
    for name, row in rows.items():
        score = mean(values[name])
        row.score = (
            Estimate(score.value, max(0.0, score.low), min(1.0, score.high))
            if score.known
            else score
        )
    if not games:
        return lambda one, other: math.nan
    result = ranked(list(rows), games, derive(file.seed, "bootstrap", tournament.name))
    for name, row in rows.items():
        row.elo = result[name]
    return lambda one, other: likelihood(result[one], result[other], len(games))


def _alone(tournament: Tournament, mine: Sequence[StageResult]) -> Standings:
    rows, notes = [], []
    returns: dict[str, dict[int, float]] = {}
    for each in mine:
        (name,) = each.stage.part.seats
        units = each.units
        row = Standing(name)
        values = [game.returns[0] for game in units.games]
        returns[name] = {game.index: game.returns[0] for game in units.games}
        row.episodes = len(values)
        row.truncated = sum(game.truncated for game in units.games)
        row.distinct = distinct(game.signature for game in units.games)
        row.score = mean(values)
        if row.distinct.distinct == 1 and len(values) > 1:
            row.score = without_interval(row.score.value)
            notes.append(f"{name}: {len(values)} games, 1 distinct: no interval")
        elif len(values) > 1 and not row.score.known:
            notes.append(f"{name}: all {len(values)} returns are equal: no interval")
        if row.truncated:
            row.score = without_interval(row.score.value)
        if values and (tournament.cap is not None or row.truncated):
            stopped = [game.truncated for game in units.games]
            ends = [value for value, cut in zip(values, stopped, strict=True) if cut]
            cap = tournament.cap if tournament.cap is not None else max(ends)
            row.capped = censored(values, stopped, cap)
            notes.append(f"{name}: {described(row.capped)}")
        left = sum(found.uncounted for found in each.tallies)
        if left:
            notes.append(f"{name}: {left_out(left)}")
        rows.append(row)
    rows.sort(key=lambda row: -row.score.value)
    comparisons = {}
    for one, other in itertools.pairwise(rows):
        a, b = returns[one.player], returns[other.player]
        both = sorted(a.keys() & b.keys())
        if len(both) > 1:
            found = paired([a[i] for i in both], [b[i] for i in both])
            comparisons[one.player, other.player] = found
            one.next_best = 1 - found.p / 2
        missing = max(len(a), len(b)) - len(both)
        if missing:
            notes.append(
                f"{one.player} - {other.player}: {missing} games without one on the same seed are "
                "not compared"
            )
    caption = "mean return; 95 % over episodes (Student's t); differences on the same seeds"
    if any(row.truncated for row in rows):
        caption += "; T: truncated; their returns are incomplete, so the mean has no interval"
    return Standings(tournament.name, 1, rows, caption, notes, {}, [], comparisons)


def _test(played: StageResult) -> Test | None:
    part = played.stage.part
    if not isinstance(part, Pairing) or part.sprt is None:
        return None
    test = part.sprt
    stopping = Stopping(test, draw=part.truncated == "draw")
    stopping.take(played.episodes)
    pairs = sum(stopping.cells)
    if stopping.verdict == "continues":
        verdict = "undecided"
    else:
        sample = Sample.of(stopping.cells)
        at = as_elo(without_interval(sample.score)).value
        verdict = f"{stopping.verdict} accepted; Elo at the stop (biased) {at:+.1f}"
    one, other = part.seats
    return Test(
        (one, other),
        f"{one} - {other}: LLR {stopping.llr:z.2f} ({test.lower:.2f}, {test.upper:.2f}) "
        f"[{test.elo0:g}, {test.elo1:g}] {test.model}, {pairs:g} pair{'s' * (pairs != 1)}: "
        f"{verdict}",
    )
