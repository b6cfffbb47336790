"""Tables of games that repeat, of rounds, and of games cut short."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.other_intervals import performance

from dovetail.protocol.messages import Episode, SeatResult
from dovetail_experiments.files.file import AgentPart, EnvironmentPart, ExperimentFile, Tournament
from dovetail_experiments.records import database
from dovetail_experiments.records.store import Store
from dovetail_experiments.reports.standings import Standings, standings
from dovetail_experiments.reports.table import outcome, percent, rating, standings_table, summary
from dovetail_experiments.stages.formats.stopping import Stopping
from dovetail_experiments.stages.schedule import Stage, StageResult
from dovetail_experiments.statistics import tally
from dovetail_experiments.statistics.scores import Sample, interval
from dovetail_experiments.statistics.sprt import MOST, Model, Sprt
from dovetail_experiments.statistics.units import games, units

pytestmark = pytest.mark.fast


def game(
    index: int, scores: list[float] | None, digest: str = "", opening: str = "", **fields: object
) -> Episode:
    """Return a game from the scores of the players; they change seats each time."""
    n = len(scores) if scores else 2
    outcome = scores and [scores[(seat - index) % n] for seat in range(n)]
    given: dict[str, object] = {
        "reason": "terminated" if scores else "truncated",
        "seats": [SeatResult("x", k) for k in range(n)],
        "digest": digest or f"{index}",
        "opening": [[opening]] if opening else [],
        **fields,
    }
    return Episode(1, index, index, 0, outcome=outcome, **given)  # type: ignore[arg-type]


def table(episodes: list[Episode], **fields: object) -> Standings:
    names = ["a", "b"]
    cup = Tournament(name="cup", players=names, **fields)  # type: ignore[arg-type]
    file = ExperimentFile(
        "x",
        EnvironmentPart("connect_four"),
        {name: AgentPart("random") for name in names},
        tournaments=[cup],
    )
    stage = Stage(0, cup.pairing(names, 0, 0), 0, len(episodes), 0)
    return standings(file, cup, [StageResult(stage, episodes)])


def test_sixty_games_of_two_deterministic_players_are_one_pair() -> None:
    """The first player to move wins, always with the same moves."""
    repeated = [
        game(index, [1.0, 0.0] if index % 2 == 0 else [0.0, 1.0], digest=f"{index % 2}")
        for index in range(60)
    ]
    found = table(repeated)
    assert found.notes == ["a - b: 60 games, 2 distinct: no interval"]
    assert [row.distinct.distinct for row in found.rows] == [2, 2]
    assert not found.rows[0].score.known
    assert rating(found.rows[0]) == "+0 (no interval)"
    assert percent(found.rows[0].score) == "50.0% (no interval)"


def test_one_player_who_wins_the_same_game_thirty_times_gets_no_rating() -> None:
    repeated = [game(index, [1.0, 0.0], digest=f"{index % 2}") for index in range(60)]
    found = table(repeated)
    assert found.notes == ["a - b: 60 games, 2 distinct: no interval"]
    assert rating(found.rows[0]) == "-"


def test_openings_make_units() -> None:
    """Six openings, each pair of games five times: six units, not thirty."""
    scores = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    repeated = [
        game(index, scores[index // 2 % 3], f"{index % 12}", f"{index // 2 % 6}")
        for index in range(60)
    ]
    found = table(repeated)
    assert found.notes == ["a - b: 60 games, 12 distinct: counted as 6 units"]
    pairs = found.rows[0].pairs
    assert pairs is not None
    assert pairs.n == 6
    assert found.rows[0].score.low == interval(Sample.of((2, 0, 2, 0, 2))).low
    assert "over 6 units" in found.caption


def test_meetings_that_repeat_do_not_move_a_score_out_of_its_interval() -> None:
    """Against b the games repeat, four pairs in all; against c there are twenty pairs."""
    names = ["a", "b", "c"]
    cup = Tournament(name="cup", players=names)
    file = ExperimentFile(
        "x",
        EnvironmentPart("connect_four"),
        {name: AgentPart("random") for name in names},
        tournaments=[cup],
    )
    even = [
        game(k, [1.0, 0.0] if k % 2 else [0.0, 1.0], f"{k % 8}", f"{k // 2 % 4}") for k in range(40)
    ]
    lost = [game(k, [1.0, 0.0] if k else [0.0, 1.0], opening=f"{k // 2}") for k in range(40)]
    found = standings(
        file,
        cup,
        [
            StageResult(Stage(0, cup.pairing(["a", "b"], 0, 0), 0, 40, 0), even),
            StageResult(Stage(1, cup.pairing(["a", "c"], 0, 0), 0, 40, 0), lost),
        ],
    )
    score = next(row.score for row in found.rows if row.player == "a")
    assert score.value == pytest.approx((20 + 39) / 80)
    assert 0.6 < score.low < score.value < score.high < 0.85


def test_a_meeting_without_a_whole_pair_leaves_the_score_its_interval() -> None:
    """Against b and c three and two pairs; against d one game of the only pair was cut short."""
    names = ["a", "b", "c", "d"]
    cup = Tournament(name="cup", players=names)
    file = ExperimentFile(
        "x",
        EnvironmentPart("connect_four"),
        {name: AgentPart("random") for name in names},
        tournaments=[cup],
    )
    split = [[1.0, 0.0], [0.0, 1.0]]
    found = standings(
        file,
        cup,
        [
            StageResult(
                Stage(number, cup.pairing(["a", other], 0, 0), 0, count, 0),
                [game(k, split[k % 2] if k < ended else None) for k in range(count)],
            )
            for number, (other, count, ended) in enumerate([("b", 6, 6), ("c", 4, 4), ("d", 2, 1)])
        ],
    )
    rows = {row.player: row for row in found.rows}
    assert rows["a"].score == interval(Sample.of((0, 0, 5, 0, 0)))
    assert math.isnan(rows["d"].score.value)
    assert percent(rows["d"].score) == "-"
    note = "finished games of incomplete rounds, which count in no score or rating: 1"
    assert note in found.notes


def test_a_score_is_in_its_interval_where_only_games_that_one_player_won_ended() -> None:
    """Ten level pairs, and twenty of which the game that was lost was truncated."""
    level = [game(k, [1.0, 0.0] if k % 2 else [0.0, 1.0]) for k in range(20)]
    found = table([*level, *(game(k, [1.0, 0.0] if k % 2 else None) for k in range(20, 60))])
    assert [(row.wins, row.losses) for row in found.rows] == [(30, 10), (10, 30)]
    assert [row.score.value for row in found.rows] == [0.5, 0.5]
    assert [row.elo and row.elo.value for row in found.rows] == [0.0, 0.0]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.5, 1.0])), max_size=40))
def test_a_score_is_in_its_interval(drawn: list[tuple[int, float]]) -> None:
    """Openings repeat unevenly."""
    episodes = [
        game(index, [points, 1 - points], f"{points}", f"{drawn[index // 2 * 2][0]}")
        for index, (_, points) in enumerate(drawn)
    ]
    for found in (row.score for row in table(episodes).rows):
        assert not found.known or found.low <= found.value <= found.high


def test_equal_games_of_players_who_draw_at_random_count_in_full() -> None:
    episodes = [game(index, [1.0, 0.0], f"{index % 2}{index > 5}") for index in range(20)]
    found = units(games(episodes, 2, rotate=True), 2, rotate=True)
    assert len(found.units) == 10
    assert found.distinct.distinct == 4
    assert table(episodes).notes == []


def test_a_pair_with_one_game_missing_is_in_no_interval() -> None:
    episodes = [game(index, [1.0, 0.0]) for index in range(10) if index != 3]
    found = units(games(episodes, 2, rotate=True), 2, rotate=True)
    assert (len(found.units), found.unpaired) == (4, 1)
    note = "finished games of incomplete rounds, which count in no score or rating: 1"
    assert note in table(episodes).notes


def test_truncated_games_are_a_column_and_give_a_range() -> None:
    episodes = [game(index, [1.0, 0.0] if index < 6 else None) for index in range(10)]
    found = table(episodes)
    row = found.rows[0]
    assert (row.games, row.truncated, row.score.value) == (6, 4, 1.0)
    assert row.range == (0.6, 1.0)
    assert any("60.0% .. 100.0% if its 4 truncated games" in note for note in found.notes)
    assert found.caption.endswith("T: truncated, left out")
    assert "T" in [column.header for column in standings_table(found).columns]
    drawn = table(episodes, truncated="draw")
    assert (drawn.rows[0].games, drawn.rows[0].points) == (10, 8.0)


def test_two_pairs_that_say_nothing_of_the_ratings_have_no_interval() -> None:
    found = table(
        [game(0, [1.0, 0.0]), game(1, [1.0, 0.0]), game(2, [0.0, 1.0]), game(3, [0.0, 1.0])]
    )
    assert [row.score.low for row in found.rows] == [0.0, 0.0]
    assert [rating(row) for row in found.rows] == ["+0 (no interval)"] * 2


def test_undefeated_players_have_one_end() -> None:
    found = table([game(index, [1.0, 0.0]) for index in range(20)])
    assert rating(found.rows[0]) == "at least +271"
    assert rating(found.rows[1]) == "at most -271"
    assert found.crosses["a", "b"] == (20.0, 20)


def test_rotations_of_many_seats_are_one_unit() -> None:
    scores = [[1.0, 0.5, 0.0], [0.0, 1.0, 0.5]]
    episodes = [game(index, scores[index // 3 % 2]) for index in range(12)]
    found = units(games(episodes, 3, rotate=True), 3, rotate=True)
    assert len(found.units) == 4
    assert found.units[0].points == (1.0, 0.5, 0.0)
    assert found.units[1].points == (0.0, 1.0, 0.5)


def test_a_tally_of_equal_games_has_no_interval() -> None:
    same = [
        Episode(
            *(1, index, index, 0, "terminated"),
            seats=[SeatResult("a", 1, 1.0), SeatResult("b", 2, -1.0)],
            outcome=[1.0, 0.0],
            digest="x",
        )
        for index in range(60)
    ]
    first, second = tally(same, ["a", "b"])
    assert first.repeats
    assert first.distinct.distinct == 1
    assert percent(first.win_rate) == "100.0% (no interval)"
    assert math.isnan(second.mean_return.low)
    stage = Stage(0, Tournament(name="t", players=["a", "b"]).pairing(["a", "b"], 0, 0), 0, 60, 0)
    assert summary("t", [(stage, first)]).caption == "t: a - b: 60 games, 1 distinct: no interval"


def test_a_tally_counts_openings_that_repeat_once() -> None:
    episodes = [
        Episode(
            *(1, index, index, 0, "terminated"),
            seats=[SeatResult("a", 1, 1.0), SeatResult("b", 2, -1.0)],
            outcome=[1.0, 0.0] if index % 4 else [0.0, 1.0],
            digest=f"{index % 4}",
            opening=[[index % 4]],
        )
        for index in range(60)
    ]
    first, _ = tally(episodes, ["a", "b"])
    assert first.win_rate == interval(Sample.of((1, 0, 3)))
    once = [episode for episode in episodes if episode.index % 4 or not episode.index]
    first, _ = tally(once, ["a", "b"])
    assert first.win_rate == interval(Sample.of((1, 0, 3)))
    assert first.wins == len(once) - 1


def test_a_stored_tournament_has_fastchess_s_numbers(tmp_path: Path) -> None:
    """LL 1, LD 5, WL 20, DD 10, WD 14, WW 4: what fastchess prints of these pairs."""
    kinds = [(0.0, 0.0)] + [(0.0, 0.5)] * 5 + [(1.0, 0.0)] * 20 + [(0.5, 0.5)] * 10
    kinds += [(1.0, 0.5)] * 14 + [(1.0, 1.0)] * 4
    store = Store(database.url_of(tmp_path / "results.sqlite"))
    row = store.begin_stage(store.begin("x", "", 0), 0, "tournament", "cup", 0, ["a", "b"], True)
    for number, pair in enumerate(kinds):
        for index, mine in enumerate(pair, 2 * number):
            store.add(row, game(index, [mine, 1 - mine], opening=f"{number}"))
    store.flush()
    episodes = list(store.results(row))
    store.close()
    pairs = units(games(episodes, 2, rotate=True), 2, rotate=True).units
    found = Sample.observed(pair.points[0] for pair in pairs)
    assert found.shown() == "1-5-30-14-4"
    printed = performance(found)
    assert printed is not None
    assert printed.elo.value == pytest.approx(48.568865, abs=1e-6)
    assert printed.elo_error == pytest.approx(38.105993, abs=1e-6)
    assert printed.nelo_error == pytest.approx(65.525525, abs=1e-6)
    test = Sprt(0, 20)
    stopping = Stopping(test)
    stopping.take(episodes)
    assert stopping.llr == test.llr([1, 5, 30, 14, 4])


def test_a_test_counts_the_pairs_that_the_table_counts() -> None:
    """Ten pairs without an opening, of which only the sixth differs: the players draw at random."""
    episodes = [game(k, [1.0, 0.0], f"{k % 2}{k // 2 == 5}") for k in range(20)]
    counted = []
    for count in range(2, 22, 2):
        stopping = Stopping(Sprt(0, 1))
        stopping.take(episodes[:count])
        counted.append(sum(stopping.cells))
    assert counted == [1, 1, 1, 1, 1, 6, 7, 8, 9, 10]
    found = units(games(episodes, 2, rotate=True), 2, rotate=True)
    assert len(found.units) == 10


@pytest.mark.parametrize("model", get_args(Model))
def test_a_test_says_which_bounds_it_can_decide(model: Model) -> None:
    most = MOST[model]
    with pytest.raises(ValueError, match=f"elo0 and elo1 must be within ±{most} in the {model}"):
        Sprt(0, most + 1, model=model)
    assert Sprt(-most, most, model=model).llr([1000.0, 0, 0, 0, 0]) <= 0


def test_players_in_a_cycle_share_the_equilibrium() -> None:
    names = ["a", "b", "c", "weak"]
    cup = Tournament(name="cup", players=names, episodes=8)
    file = ExperimentFile(
        "x", EnvironmentPart("g"), {name: AgentPart("t") for name in names}, tournaments=[cup]
    )
    won = {"ab": 0.75, "ac": 0.25, "bc": 0.75, "aw": 1.0, "bw": 1.0, "cw": 1.0}
    played: list[StageResult] = []
    for one, other in itertools.combinations(names, 2):
        share = won[one + other[0]]
        eight = [game(k, [1.0, 0.0] if k < 8 * share else [0.0, 1.0]) for k in range(8)]
        stage = Stage(len(played), cup.pairing([one, other], 0, 0), 0, 8, 0)
        played.append(StageResult(stage, eight))
    found = standings(file, cup, played)
    shares = {row.player: row.nash[0] for row in found.rows if row.nash}
    assert [shares[name] for name in names] == pytest.approx([1 / 3] * 3 + [0], abs=1e-4)
    assert found.rows[-1].nash == pytest.approx((0, -0.5), abs=1e-4)
    assert rating(found.rows[-1]).startswith("at most")
    heads = [str(column.header) for column in standings_table(found, full=True).columns]
    assert "Nash" in heads


def test_returns_that_were_cut_off_get_an_estimate_without_the_cap() -> None:
    lives = [120.0, 340, 95, 500, 210, 500, 60, 415, 500, 280]
    episodes = [
        Episode(
            *(1, index, index, 0, "truncated" if life == 500 else "terminated"),
            seats=[SeatResult("a", 1, life)],
            digest=f"{index}",
        )
        for index, life in enumerate(lives)
    ]
    (found,) = tally(episodes, ["a"])
    assert found.truncated == 3
    assert found.mean_return.value == 302
    assert not found.mean_return.known
    stage = Stage(0, Tournament(name="t", players=["a"], seats=1).pairing(["a"], 0, 0), 0, 10, 0)
    text = str(summary("t", [(stage, found)]).caption)
    assert "302.0 of at most 500, 3 of 10 capped; median 280" in text
    assert "without the cap 431.4 (223.1..1004.1)" in text


def alone(returns: list[float], cap: float, tournament_cap: float | None) -> Standings:
    """Return the standings of one player that was cut off at a cap."""
    cup = Tournament(name="cup", players=["a"], seats=1, episodes=len(returns), cap=tournament_cap)
    file = ExperimentFile("x", EnvironmentPart("g"), {"a": AgentPart("t")}, tournaments=[cup])
    episodes = [
        Episode(
            *(1, index, index, 0, "truncated" if each == cap else "terminated"),
            seats=[SeatResult("a", 1, each)],
            digest=f"{index}",
        )
        for index, each in enumerate(returns)
    ]
    stage = Stage(0, cup.pairing(["a"], 0, 0), 0, len(returns), 0)
    return standings(file, cup, [StageResult(stage, episodes)])


@pytest.mark.parametrize("cap", [20.0, None])
def test_one_return_of_0_leaves_the_estimate_without_the_cap(cap: float | None) -> None:
    found = alone([3.0, 8, 0, 20, 5, 20, 1, 11, 20, 7], 20, cap)
    [row] = found.rows
    assert row.score.value == 9.5
    assert not row.score.known
    assert row.capped is not None
    assert row.capped.mean is not None
    assert row.capped.mean.value == pytest.approx(13.571, abs=5e-4)
    [note] = found.notes
    assert "9.5 of at most 20, 3 of 10 capped; median 7" in note
    cells = [str(cell) for each in standings_table(found).columns for cell in each.cells]
    assert "9.5 (no interval)" in cells


def test_games_that_all_return_0_show_no_certainty() -> None:
    found = alone([0.0] * 12, 20, None)
    assert not found.rows[0].score.known
    assert found.notes == ["a: all 12 returns are equal: no interval"]
    (tallied,) = tally(
        [
            Episode(1, n, n, 0, "terminated", [SeatResult("a", 1, 0.0)], digest=f"{n}")
            for n in range(12)
        ],
        ["a"],
    )
    assert outcome(tallied)[1] == "0.000 (no interval)"


def test_games_that_do_not_count_are_named() -> None:
    games = [game(0, [1.0, 0.0]), msgspec.structs.replace(game(1, [1.0, 0.0]), scored=False)]
    (one, _) = tally(games, ["a", "b"])
    assert (one.games, one.uncounted) == (1, 1)
    stage = Stage(0, Tournament(name="t", players=["a", "b"]).pairing(["a", "b"], 0, 0), 0, 2, 0)
    text = str(summary("t", [(stage, one)]).caption)
    assert "1 game with a substitute, or that could not be played, does not count" in text
