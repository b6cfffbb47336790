"""Pairings, the end of a meeting, and the opponents of a league's learner."""

from __future__ import annotations

from collections import Counter

import pytest

from dovetail.protocol.messages import Episode, SeatResult
from dovetail_experiments.files.file import League, Tournament
from dovetail_experiments.stages.formats.leagues import opponent, pool, weights
from dovetail_experiments.stages.formats.stopping import Stopping
from dovetail_experiments.stages.formats.tournaments import (
    Meeting,
    first_round,
    next_round,
    survivors,
)
from dovetail_experiments.statistics.sprt import Sprt

pytestmark = pytest.mark.fast

NAMES = list("abcdefgh")


def tournament(count: int, **fields: object) -> Tournament:
    return Tournament(name="t", players=NAMES[:count], **fields)  # type: ignore[arg-type]


def stronger_wins(number: int, pairs: list[list[str]]) -> list[Meeting]:
    return [Meeting(number, (one, two), 2.0 * (one < two), 2) for one, two in pairs]


def test_a_gauntlet_spares_the_rest() -> None:
    found = first_round(tournament(4, format="gauntlet", challengers=2), NAMES[:4], 0)
    assert found == [["a", "c"], ["a", "d"], ["b", "c"], ["b", "d"]]


@pytest.mark.parametrize("count", range(2, 9))
def test_a_knockout_leaves_one(count: int) -> None:
    cup = tournament(count, format="knockout")
    pairs = first_round(cup, cup.players, 0)
    meetings: list[Meeting] = []
    number = 0
    while pairs:
        meetings += stronger_wins(number, pairs)
        assert len({name for pair in pairs for name in pair}) == 2 * len(pairs)
        pairs = next_round(cup, cup.players, meetings)
        number += 1
    assert survivors(cup.players, meetings) == ["a"]
    assert len(meetings) == count - 1
    assert {*meetings[-1].players} == (
        {"a", "b"} if count > 1 else {"a"}
    )  # they cannot meet before


def test_the_higher_seeded_player_of_a_level_knockout_meeting_advances() -> None:
    assert Meeting(0, ("b", "a"), 1.0, 2).winner == "b"


@pytest.mark.parametrize("count", [4, 5, 7, 8])
def test_swiss_players_meet_others_of_like_points_and_none_twice(count: int) -> None:
    cup = tournament(count, format="swiss", rounds=3)
    pairs = first_round(cup, cup.players, 0)
    meetings: list[Meeting] = []
    number = 0
    idle: Counter[str] = Counter()
    while pairs:
        meetings += stronger_wins(number, pairs)
        idle.update(set(cup.players) - {name for pair in pairs for name in pair})
        pairs = next_round(cup, cup.players, meetings)
        number += 1
    assert number == 3
    seen = Counter(frozenset(each.players) for each in meetings)
    assert max(seen.values()) == 1
    assert sum(idle.values()) == (3 if count % 2 else 0)
    assert not idle or max(idle.values()) == 1
    if count == 8:  # the two that won twice meet in the third round
        assert meetings[8].players == ("a", "b")


def test_groups_of_many_seats() -> None:
    assert len(first_round(tournament(5, seats=3), NAMES[:5], 0)) == 10
    many = [f"p{k}" for k in range(30)]
    found = first_round(Tournament(name="t", players=many, seats=4), many, 1)
    seated = Counter(name for group in found for name in group)
    assert all(len(set(group)) == 4 for group in found)
    assert max(seated.values()) - min(seated.values()) <= 2
    assert found == first_round(Tournament(name="t", players=many, seats=4), many, 1)


# -- endings ---------------------------------------------------------------------------------------


def game(index: int, first_player_won: float | None, opening: str = "") -> Episode:
    """Return a game of two players who swap seats each time."""
    seats = [SeatResult("a", 1), SeatResult("b", 2)]
    score = first_player_won
    outcome = None
    if score is not None:
        outcome = [score, 1 - score] if index % 2 == 0 else [1 - score, score]
    return Episode(
        *(1, index, index, 0, "terminated" if outcome else "truncated", seats, outcome),
        digest=f"{index}",
        opening=[[opening]] if opening else [],
    )


def test_a_test_counts_pairs_in_the_order_of_the_schedule() -> None:
    wins = [game(index, 1.0, f"{index // 2}") for index in range(40)]
    ordered = Stopping(Sprt(0, 100))
    ordered.take(wins)
    shuffled = Stopping(Sprt(0, 100))
    for episode in reversed(wins):
        shuffled.take([episode])
        if episode.index:
            assert shuffled.last is None  # the first pair is still missing
    assert ordered.verdict == shuffled.verdict == "H1"
    assert ordered.last == shuffled.last
    assert ordered.last is not None
    assert ordered.last % 2 == 1
    assert ordered.cells == shuffled.cells


def test_a_test_counts_an_opening_once_and_no_incomplete_pair() -> None:
    found = Stopping(Sprt(0, 100))
    found.take(game(index, 1.0, "same") for index in range(100))
    assert sum(found.cells) == 1
    assert found.last is None
    found = Stopping(Sprt(0, 100))
    found.take(game(index, 1.0 if index % 2 else None) for index in range(100))
    assert sum(found.cells) == 0
    drawn = Stopping(Sprt(0, 100), draw=True)
    drawn.take(game(index, 1.0 if index % 2 else None, f"{index // 2}") for index in range(6))
    assert drawn.cells == [0, 0, 0, 3, 0]


def test_best_of_ends_when_one_cannot_be_caught() -> None:
    found = Stopping(best_of=5)
    found.take(game(index, score) for index, score in enumerate([1.0, 0.0, 0.5, 1.0, 0.5, 1.0]))
    assert found.last == 4  # 1 + 0.5 + 1 + 0.5 is more than 2.5


# -- leagues ---------------------------------------------------------------------------------------


def test_a_pool_keeps_the_latest_snapshots_and_the_fixed_members() -> None:
    league = League(name="l", learner="x", pool=["random"], snapshot_every=10, keep=2)
    assert pool(league, 0) == ["random", "x@0"]
    assert pool(league, 35) == ["random", "x@20", "x@30"]


def test_policies() -> None:
    scores = {"random": (95.0, 98), "x@0": (48.0, 98), "x@10": (10.0, 98)}
    drawn = {}
    for policy in ("latest", "uniform", "prioritised"):
        league = League(name="l", learner="x", pool=["random"], snapshot_every=10, policy=policy)
        drawn[policy] = Counter(opponent(league, 10, scores, seed) for seed in range(600))
    assert drawn["latest"] == {"x@10": 600}
    assert all(140 < count < 260 for count in drawn["uniform"].values())
    order = [name for name, _ in drawn["prioritised"].most_common()]
    assert order[:2] == ["x@10", "x@0"]
    assert drawn["prioritised"]["random"] < 10
    assert weights(["new"], {}) == [0.25]
