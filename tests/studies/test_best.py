from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.studies.test_learned import assert_states_give, trained

from dovetail.client.inprocess import InProcess
from dovetail_agents.games.connect_four.ntuple import NTupleConnectFour
from dovetail_agents.games.dots.perfect import DotsPerfect
from dovetail_games.dots import Configuration, Dots
from dovetail_studies import archive, pages, working
from dovetail_studies.archive import Member
from dovetail_studies.best import amazons, connect_four_traces, dots, game_2048_stages
from dovetail_studies.best.game_2048 import COHERENT
from dovetail_studies.best.parts import points
from dovetail_studies.findings import BESIDE
from dovetail_studies.game_2048.train import chunks
from dovetail_studies.learned import States, using
from dovetail_studies.pages import DOCS
from dovetail_studies.results import KeptResults
from dovetail_studies.rows import study

TINY = {
    "connect_four": {"games": 20, "positions": 5, "tests": 2},
    "connect-four-traces": {"games": 32, "least": 16, "positions": 5, "tests": 0},
    "connect-four-long": {"positions": 5},
    "rlgame": {"games": 10, "tests": 1},
    "amazons": {"games": 2},
    "amazons-territory": {"games": 2},
    "dominion": {"games": 2_000, "again": 200},
    "tetris": {"population": 10, "each": 1, "generations": 2, "low": 1, "high": 1, "most": 500},
    "tetris-trainers": {"percent": 1, "low": 1, "high": 1, "most": 500},
    "2048": {"games": 10, "tests": 1},  # a search of three plies takes seconds a game
    "2048-stages": {"tests": 1},
    "dots": {"games": 10, "few": 5, "positions": 5, "tests": 2},
}


def test_there_is_a_row_for_each_game_and_one_for_trainers() -> None:
    assert [row.key for row in study("best").rows] == list(TINY)


@pytest.mark.parametrize("key", TINY)
def test_a_row_has_three_sizes_over_several_seeds(key: str) -> None:
    row = study("best").row(key)
    seeds = {"quick": 2, "part": 5, "study": 5}
    assert {name: size.seeds for name, size in row.sizes.items()} == seeds
    for size in row.sizes:
        made = working.units(row, size)
        assert len({json.dumps(unit, sort_keys=True) for unit in made}) == len(made)
        assert {unit["seed"] for unit in made} == set(range(1, row.sizes[size].seeds + 1))


LONG = dict.fromkeys(("connect_four", "amazons", "amazons-territory", "2048"), pytest.mark.long)
"""Rows whose players take half a minute to compile."""
STATELESS = ("amazons", "dominion")
"""Rows whose learners leave no states: Amazons' are weights in the results, Dominion's are large
tables."""


@pytest.mark.parametrize("key", [pytest.param(each, marks=LONG.get(each, ())) for each in TINY])
def test_a_row_runs_is_drawn_and_is_measured_again_with_its_states(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = study("best").row(key)
    assert row.draw
    found = trained(
        row, [{**unit, **TINY[key]} for unit in working.units(row, "quick", 2)], tmp_path
    )
    drawn = row.draw(found)
    assert drawn.games == sum(result["games"] for _, result in found) > 0
    assert drawn.distinct
    assert all(len(line) == len(drawn.columns) for line in drawn.lines)
    assert (key in STATELESS) != bool(list(tmp_path.iterdir()))
    if key not in STATELESS:
        some = [each for each in found if each[0]["seed"] == 1 and each[0].get("size") != 8]
        assert_states_give(row, some, tmp_path, monkeypatch)


def test_what_is_not_kept_is_trained(tmp_path: Path) -> None:
    unit = {**working.units(study("best").row("rlgame"), "quick", 1)[0], **TINY["rlgame"]}
    row = study("best").row("rlgame")
    assert row.work
    with using(States(tmp_path)):
        result = row.work(unit)
    first, second = sorted(tmp_path.iterdir())
    was = first.read_bytes(), second.read_bytes()
    second.unlink()
    with using(States(tmp_path, (tmp_path,))):
        assert row.work(unit) == result
    assert (first.read_bytes(), second.read_bytes()) == was


def test_results_are_compared_with_those_that_are_kept(tmp_path: Path) -> None:
    best = study("best")
    row = best.row("tetris")
    told: list[str] = []
    working.run([(best, [row])], "quick", 1, out=tmp_path, told=told.append)
    again = tmp_path / "again"
    working.run([(best, [row])], "quick", 1, out=tmp_path, told=told.append, again=again)
    assert len(told) == 2 * len(working.units(row, "quick", 1))
    found = pages.at(best, row, "quick", 1, again)
    file = working.file(tmp_path, "best", row, "quick")

    def compared(text: str) -> str:
        archive.write(tmp_path / "best.zip", {file.name: text.encode()})
        return pages.compared(best, found, tmp_path)

    text = file.read_text()
    assert compared(text).startswith("tetris: 5 of 5 pieces give the results in")
    text = text.replace('"games":3,', '"games":4,', 1)
    assert "tetris: 4 of 5 pieces" in compared(text)
    text = "".join(text.splitlines(keepends=True)[1:])
    said = f"tetris: 3 of 4 pieces give the results in {tmp_path}, which has none of 1 more"
    assert said in compared(text)
    assert compared("").startswith("tetris: nothing to compare")


def test_a_game_cut_short_earns_nothing() -> None:
    one = {"games": 10, "wins": 4, "losses": 2, "cut": 2, "distinct": 10}  # and two draws
    other = {**one, "wins": 6, "losses": 0}
    found = points([{"match": one}, {"match": other}], "match")
    assert found.value == pytest.approx(0.6)
    assert 0 <= found.low < 0.5
    assert 0.7 < found.high <= 1
    same = points([{"match": one}, {"match": one}], "match")  # Wilson's
    assert same.value == pytest.approx(0.5)
    assert 0.25 < same.low < same.high < 0.75


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 4)])
def test_perfect_play_keeps_all_values_and_wins_from_won_openings(rows: int, columns: int) -> None:
    board = {"rows": rows, "columns": columns}
    unit = {"seed": 1, "positions": 20, "tests": 20}
    with InProcess([Dots, dots.KeepBoxes, dots.WonDots], [DotsPerfect]) as experiment:
        player = experiment.create("dots-perfect", parameters={"rows": rows}, seed=1)
        kept = dots._kept(experiment, player, unit, board)
        assert (kept["right"], kept["lost"]) == ([20, 20], 0)
        assert 0 < kept["chance"] < 1
        won = dots._won(experiment, player, unit, board)
        assert (won["games"], won["wins"], won["given"]) == (20, 20, 0)
        assert won["distinct"] > 10


def test_a_hard_position_is_the_same_for_the_same_seed_and_has_few_free_lines() -> None:
    for seed in range(5):
        board = Configuration(rows=4, columns=5)
        found = played, values = dots.hard(seed, board)
        assert len(played) + len(values) == 31
        assert len(values) <= dots.MOST_FREE
        assert len(set(values.values())) > 1
        dots.hard.cache_clear()
        assert dots.hard(seed, board) == found


def test_the_training_of_amazons_in_the_table_won_most_of_the_games_for_the_choice() -> None:
    kept = Path(__file__).parents[2] / "studies/pages/results/best.zip"
    wins: Counter[str] = Counter()
    for each in KeptResults([Member(kept, "amazons.study.jsonl")]).records.values():
        if "choice" in each.unit:
            wins[each.unit["choice"]] += each.result["wins"]
    assert set(wins) == {*amazons.RUNS, amazons.PLAIN}
    assert wins[amazons.CHOSEN] == max(wins.values())


def test_amazons_plays_fewer_games_at_depth_4_and_a_share_has_its_other_side() -> None:
    row = study("best").row("amazons")
    assert row.draw
    won = {"games": 100, "wins": 60, "losses": 40, "cut": 0, "distinct": 100, "longest": 0.5}
    units = working.units(row, "study")
    assert {unit["games"] for unit in units if unit.get("way") == "depth 4"} == {10}
    drawn = row.draw([(unit, won) for unit in units])
    shares = {line[0]: line[1:3] for line in drawn.lines}
    ours, published = shares["depth 3 against depth 2 with rollouts: wins %"]
    assert ours.startswith("60.0 (")
    assert published.startswith("40.0 (")
    assert shares["depth 3 against depth 3: wins %"][1] == "50, the player against itself"
    assert shares["depth 4: longest move of a game, seconds of a core"][0] == "0.50 (every seed)"


def test_a_training_of_amazons_without_rollouts_keeps_its_weights() -> None:
    row = study("best").row("amazons")
    assert row.work
    found = row.work({"train": "OnesVsAbMp", "moves": 10, "seed": 1})
    assert len(found["weights"]) == 12
    assert found["games"] > 0


def test_each_game_stands_beside_the_literature_with_figures_from_results() -> None:
    best = study("best")
    found = [pages.find(best, row, Path("none")) for row in best.rows]
    section = pages._beside(found)
    assert "\n".join(section) in (DOCS / "best.md").read_text(encoding="utf-8")
    assert {each.row for each in BESIDE} == {row.key for row in best.rows} - {
        "amazons",
        "connect-four-traces",
        "connect_four",
        "tetris-trainers",
        "2048-stages",
    }
    assert sum(line.count("..") for line in section) >= len(BESIDE), "each has an interval"


def test_a_long_training_continues_from_the_parts_that_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[int] = []
    play = NTupleConnectFour.play_itself

    def counting(self: NTupleConnectFour, games: int, seed: int) -> None:
        played.append(games)
        play(self, games, seed)

    monkeypatch.setattr(NTupleConnectFour, "play_itself", counting)
    training = "name", {"trace": 0.8}
    whole = connect_four_traces.trained(*training, 40, 10, 1)
    with using(States(tmp_path)):
        connect_four_traces.trained(*training, 20, 10, 1)
        assert played == [10, 10, 20, 10, 10]
        assert connect_four_traces.trained(*training, 40, 10, 1) == whole
        assert played[5:] == [20]


def test_a_training_in_stages_that_goes_on_is_one_that_never_stopped(tmp_path: Path) -> None:
    weights, errors = game_2048_stages.NETWORK.zeros(), np.zeros((2, 3 * 6 * 16**5), np.float32)
    for _ in chunks(game_2048_stages.NETWORK, weights, 4, 4, 4, 1, COHERENT, errors=errors):
        pass
    with using(States(tmp_path)):
        found = game_2048_stages._trained(4, 2, 1)
    assert (found[0] == weights).all()
    assert (found[1] == errors).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "stages-2-1.state",
        "stages-4-1.state",
    ]
