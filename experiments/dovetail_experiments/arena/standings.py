"""Standings of a ladder: ratings with intervals from all units, and the live order."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct

from dovetail.peer import provenance
from dovetail_experiments.arena.description import Ladder
from dovetail_experiments.arena.store import ArenaStore, LadderPlayer
from dovetail_experiments.arena.units import FinishedUnit
from dovetail_experiments.statistics.estimates import Estimate, without_interval
from dovetail_experiments.statistics.ranked import Ranking, ranked
from dovetail_experiments.statistics.ratings import PRIOR, ratings
from dovetail_experiments.statistics.scores import Sample
from dovetail_experiments.statistics.units import key


class StandingsRow(Struct):
    """A player's results."""

    player: int
    name: str
    baseline: bool
    state: str
    elo: Estimate
    """Elo rating, relative to ``LadderTable.zero``."""
    one_sided: str = ""
    """``least`` or ``most`` if only one end of the interval is meaningful."""
    points: float = 0.0
    """Mean points over its units, from 1 (always first) to 0 (always last)."""
    units: int = 0
    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    faults: int = 0
    live: float = math.nan
    """OpenSkill's mu minus three sigma, a cautious rating that depends on the order of the
    games."""
    component: int = 0
    """Group of players connected by games; ratings are comparable only within a group."""


class LadderTable(Struct):
    """A ladder's standings, best first."""

    rows: list[StandingsRow]
    units: int
    """Rated units; repeats by deterministic players count once."""
    played: int
    """Units played."""
    zero: str = "the mean"
    """Words for the rating 0."""
    warning: str = ""
    """Note shown if different software versions played the units."""


def standings(
    store: ArenaStore, ladder: Ladder, season: int, seed: int, *, practice: bool = False
) -> LadderTable:
    """Return the standings of a ladder in season number ``season``; ``seed`` is the arena's.

    With ``practice``, count only games on request.
    """
    return table(
        store.players(ladder.name),
        store.played(season, ladder.name, last=ladder.window, practice=practice),
        ladder.seats,
        seed,
        ladder.pinned,
    )


def table(
    players: Mapping[int, LadderPlayer],
    played: Sequence[FinishedUnit],
    seats: int,
    seed: int = 0,
    pinned: str = "",
) -> LadderTable:
    """Return the standings of a ladder.

    Args:
        players: the ladder's players, by number.
        played: the ladder's units in a season.
        seats: the number of seats in its game.
        seed: the bootstrap's seed, for more than two seats.
        pinned: the baseline with rating 0, in games of up to two seats; empty for the mean of
            the baselines, or without any of the active players.
    """
    rows = {
        each.id: StandingsRow(
            each.id, each.name, not each.entrant, each.state, without_interval(math.nan)
        )
        for each in players.values()
    }
    for unit in played:
        _count(unit, rows)
    met = [row.player for row in rows.values() if row.units]
    names = [str(each) for each in met]
    counted, zero = 0, pinned or "the mean"
    if seats <= 2 and met:
        meetings = _meetings(played, seats)
        counted = round(sum(sample.n for sample in meetings.values()))
        # Half a drawn game for each player, spread over its opponents.
        prior = min(PRIOR, PRIOR * len(names) / max(1, len(meetings)))
        by_name = {(str(a), str(b)): each for (a, b), each in meetings.items()}
        found = ratings(names, by_name, prior, sparse=True)
        for row in (rows[each] for each in met):
            name = str(row.player)
            row.one_sided = "least" * (name in found.undefeated) or "most" * (name in found.winless)
            row.component = next(
                number for number, each in enumerate(found.components) if name in each
            )
        anchors: set[str] = set()
        for number in reversed(range(len(found.components))):
            group = [rows[each] for each in met if rows[each].component == number]
            zero, chosen = _zero(group, pinned)
            anchors |= chosen
        estimates = found.around(anchors)
        for each in met:
            rows[each].elo = estimates[str(each)]
    elif met:
        rankings = _rankings(played)
        counted = len(rankings)
        zero, anchors = _zero([rows[each] for each in met])
        many = ranked(names, rankings, seed, zero=anchors)
        for each in met:
            rows[each].elo = many[str(each)]
    order = sorted(
        rows.values(), key=lambda row: (not row.units, row.component, -_number(row.elo.value))
    )
    warning = provenance.mixed((each.software for each in played), "matches")
    return LadderTable(order, counted, len(played), zero, warning)


def _zero(group: Sequence[StandingsRow], pinned: str = "") -> tuple[str, set[str]]:
    """Return words for the rating 0 among players that met, and those whose mean it is.

    A rating of which only one end is known says little, and must not move those of all others.
    """
    firm = [row for row in group if not row.one_sided]
    choices = {
        pinned: [row for row in group if pinned and row.name == pinned],
        "the mean of the baselines": [row for row in firm if row.baseline],
        "the mean of the active agents": [row for row in firm if row.state == "active"],
        "the mean of all agents": group,
    }
    words, chosen = next((words, rows) for words, rows in choices.items() if rows)
    return words, {str(row.player) for row in chosen}


def elo(row: StandingsRow) -> str:
    """Return a rating with its interval as text; empty for a player without games."""
    if not row.units:
        return ""
    if not row.elo.known:
        return f"{row.elo.value:+.0f}"
    if math.isinf(row.elo.low) and math.isinf(row.elo.high):
        return f"{row.elo.value:+.0f}"
    low, high = f"{row.elo.low:+.0f}", f"{row.elo.high:+.0f}"
    if row.one_sided:
        return f"at least {low}" if row.one_sided == "least" else f"at most {high}"
    return f"{row.elo.value:+.0f} ({low}..{high})"


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _count(unit: FinishedUnit, rows: Mapping[int, StandingsRow]) -> None:
    for place, who in enumerate(unit.players):
        row = rows[who]
        row.points += (unit.points[place] - row.points) / (row.units + 1)
        row.units += 1
        mu, sigma = unit.ratings[place]
        row.live = mu - 3 * sigma
    alone = all(len(game.seating) == 1 for game in unit.games)
    for game in unit.games:
        for seat, place in enumerate(game.seating):
            row = rows[unit.players[place]]
            row.games += 1
            row.faults += game.blame == seat
            mine = unit.points[place] if alone else game.scores[seat]
            best = max(unit.points if alone else game.scores)
            first = (unit.points if alone else game.scores).count(best)
            row.losses += mine < best
            row.draws += mine == best and first > 1
            row.wins += mine == best and first == 1


def _meetings(played: Sequence[FinishedUnit], seats: int) -> dict[tuple[int, int], Sample]:
    """Return the first player's scores for each pair that met, from rated units."""
    by_pair: dict[tuple[int, int], list[FinishedUnit]] = {}
    for unit in played:
        one, other = sorted(unit.players)
        by_pair.setdefault((one, other), []).append(unit)
    cells = 3 if seats == 1 else 5
    return {
        pair: Sample.observed(
            (unit.points[unit.players.index(pair[0])] for unit in _counted(found)), cells
        )
        for pair, found in by_pair.items()
    }


def _counted(played: Sequence[FinishedUnit]) -> list[FinishedUnit]:
    """Return units without repeats by deterministic players.

    Identical units with the same players and opening count once, provided that all of them are
    identical, which means that no player acts at random. The same actions with different outcomes,
    in a game of chance, are different games.
    """
    groups: dict[Hashable, list[FinishedUnit]] = {}
    for unit in played:
        groups.setdefault((*sorted(unit.players), key(unit.games[0].opening)), []).append(unit)
    equal = {each: len({_moves(unit) for unit in found}) == 1 for each, found in groups.items()}
    return [unit for each, found in groups.items() for unit in found[: 1 if equal[each] else None]]


def _moves(unit: FinishedUnit) -> Hashable:
    """Return a key that is equal for identical units of the same players; unknown actions never
    match."""
    return frozenset(
        (
            tuple(unit.players[place] for place in game.seating),
            game.digest or (unit.id, game.number),
            tuple(game.scores),
        )
        for game in unit.games
    )


def _rankings(played: Sequence[FinishedUnit]) -> list[list[Ranking]]:
    return [
        [
            {
                str(unit.players[place]): -score
                for place, score in zip(game.seating, game.scores, strict=True)
            }
            for game in unit.games
        ]
        for unit in _counted(played)
    ]
