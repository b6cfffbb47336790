"""Pairings, and what they do to the table: simulated players of known strength."""

from __future__ import annotations

import itertools
import math
import random
import statistics

import numpy as np
import pytest

from dovetail_experiments.arena.games import ArenaGame, worth
from dovetail_experiments.arena.pairing import Candidate, choose, round_robin
from dovetail_experiments.arena.standings import LadderTable, table
from dovetail_experiments.arena.store import LadderPlayer
from dovetail_experiments.arena.units import FinishedUnit, Rating
from dovetail_experiments.statistics.ranked import after
from dovetail_experiments.statistics.ratings import SCALE

pytestmark = pytest.mark.fast


def simulated(
    players: int, units: int, seats: int, seed: int, width: float, uniform: float
) -> tuple[list[float], LadderTable, list[Rating]]:
    """Play a season among players of normal strengths; return those, the table and the live
    ratings."""
    rng = random.Random(seed)
    truth = [rng.gauss(0, 1) for _ in range(players)]
    live: dict[str, Rating] = {}
    counts = [0] * players
    last = [0] * players
    played = []
    for turn in range(units):
        mu = [live.get(str(p), (25.0, 0.0))[0] for p in range(players)]
        chosen = choose(
            [Candidate(p, "", counts[p], last[p], mu[p]) for p in range(players)],
            seats,
            turn,
            rng,
            width=width,
            uniform=uniform,
            spread=statistics.pstdev(mu),
        )
        games = [one_game(number, chosen, truth, rng) for number in range(seats)]
        points = worth(games, seats)
        live.update(after(live, {str(p): -w for p, w in zip(chosen, points, strict=True)}))
        for each in chosen:
            counts[each] += 1
            last[each] = turn + 1
        played.append(
            FinishedUnit(turn, turn, 0.0, chosen, points, [live[str(p)] for p in chosen], games)
        )
    known = {p: LadderPlayer(p, "x", f"e{p}", "a", "active", "") for p in range(players)}
    return truth, table(known, played, seats), [live[str(p)] for p in range(players)]


def one_game(number: int, chosen: list[int], truth: list[float], rng: random.Random) -> ArenaGame:
    """Draw an order as Plackett and Luce's model has it; digests differ."""
    n = len(chosen)
    seating = [(seat - number) % n for seat in range(n)]
    speed = [rng.expovariate(math.exp(truth[chosen[place]])) for place in seating]
    scores = [0.0] * n
    for rank, seat in enumerate(sorted(range(n), key=lambda seat: speed[seat])):
        scores[seat] = float(n - rank)
    nothing = [0.0] * n
    digest = str(rng.random())
    return ArenaGame(number, seating, scores, nothing, [1] * n, nothing, digest=digest)


@pytest.mark.parametrize(("players", "units", "seats"), [(16, 400, 2), (6, 40, 3)])
def test_the_intervals_hold_the_known_strengths(players: int, units: int, seats: int) -> None:
    from scipy import stats

    inside, correlations = [], []
    for seed in range(6 if seats == 2 else 1):
        truth, found, live = simulated(players, units, seats, seed, 1.0, 0.1)
        mean = statistics.mean(truth)
        for row in found.rows:
            real = SCALE * (truth[row.player] - mean)
            assert row.elo.known
            inside.append(row.elo.low < real < row.elo.high)
        correlations.append(stats.spearmanr(truth, [mu for mu, _ in live]).statistic)
    assert 0.9 <= np.mean(inside) <= (0.99 if seats == 2 else 1.0)
    assert np.mean(correlations) > 0.75


def test_no_one_starves_and_newcomers_catch_up() -> None:
    rng = random.Random(3)
    counts, last, waits = [200] * 6 + [0], [*range(1, 7), 0], [0] * 7
    mu = [25.0, 26.0, 24.0, 25.5, 24.5, 60.0, 25.0]  # one is far better than all others
    longest = [0] * 7
    for turn in range(400):
        candidates = [Candidate(p, "", counts[p], last[p], mu[p]) for p in range(7)]
        chosen = choose(candidates, 2, turn, rng, width=1.0, uniform=0.1, spread=2.0)
        for each in range(7):
            waits[each] = 0 if each in chosen else waits[each] + 1
            longest[each] = max(longest[each], waits[each])
        for each in chosen:
            counts[each] += 1
            last[each] = turn + 100
    assert max(longest) <= 14  # each second turn serves who has waited longest: two rounds of seven
    assert counts[6] > 150
    assert all(count > 250 for count in counts[:6])


def test_programs_of_one_entrant_never_meet() -> None:
    rng = random.Random(1)
    candidates = [
        *(Candidate(p, "alice", 0, 0, 25.0) for p in range(3)),
        Candidate(3, "bob", 0, 0, 25.0),
        Candidate(4, "", 0, 0, 25.0),
        Candidate(5, "", 0, 0, 25.0),
    ]
    for turn in range(100):
        chosen = choose(candidates, 3, turn, rng, width=1.0, uniform=0.1, spread=1.0)
        assert len(set(chosen)) == 3
        assert sum(each < 3 for each in chosen) <= 1
    assert choose(candidates[:3], 2, 0, rng, width=1.0, uniform=0.1, spread=1.0) == []
    assert choose([], 2, 0, rng, width=1.0, uniform=0.1, spread=1.0) == []


def test_opponents_are_near_but_not_only() -> None:
    rng = random.Random(5)
    candidates = [Candidate(p, "", p, 0, float(p)) for p in range(21)]
    met = [
        next(p for p in choose(candidates, 2, 0, rng, width=0.5, uniform=0.1, spread=4.0) if p)
        for _ in range(2000)
    ]
    assert statistics.mean(p <= 4 for p in met) > 0.85  # two widths
    assert 0.02 < statistics.mean(p > 8 for p in met) < 0.1  # the uniform share


def test_who_is_busy_is_drawn_and_waited_for() -> None:
    rng = random.Random(2)
    candidates = [Candidate(p, "", 9, p, 25.0, free=p in (0, 1)) for p in range(10)]
    met = [
        choose(candidates, 2, turn, rng, width=1.0, uniform=0.1, spread=1.0) for turn in range(400)
    ]
    assert all(0 in each or 1 in each for each in met)
    assert statistics.mean({0, 1} == set(each) for each in met) < 0.2  # one in nine
    busy = [Candidate(p, "", 9, p, 25.0, free=False) for p in range(10)]
    assert choose(busy, 2, 0, rng, width=1.0, uniform=0.1, spread=1.0) == []


def test_in_a_final_all_meet_but_programs_of_one_entrant() -> None:
    entrants = {1: "alice", 2: "alice", 3: "bob", 4: "", 5: ""}
    units = round_robin(entrants, 2, random.Random(1))
    expected = {frozenset(pair) for pair in itertools.combinations(entrants, 2)} - {
        frozenset((1, 2))
    }
    assert len(units) == len(expected)
    assert {frozenset(unit) for unit in units} == expected
    assert {unit.index(min(unit)) for unit in units} == {0, 1}  # who is first is drawn
    assert round_robin(entrants, 2, random.Random(1)) == units


@pytest.mark.parametrize(("players", "size"), [(3, 3), (7, 3), (9, 4), (2, 3)])
def test_in_a_final_of_many_seats_all_sit_in_each_round(players: int, size: int) -> None:
    units = round_robin(dict.fromkeys(range(players), ""), size, random.Random(2))
    if players < size:
        assert units == []
        return
    rounds = math.ceil((players - 1) / (size - 1))
    assert len(units) == rounds * math.ceil(players / size)
    assert all(len(set(unit)) == size for unit in units)
    counts = [sum(each in unit for unit in units) for each in range(players)]
    assert min(counts) >= rounds
