from __future__ import annotations

import pickle
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent_servers import feature_network_reference as reference
from typer.testing import CliRunner

from dovetail import DovetailError, InProcess
from dovetail_agents.games.tetris import kernels
from dovetail_agents.games.tetris.agent import TetrisPlayer
from dovetail_agents.games.tetris.weights import DT_10, KINDS, PLAYERS, Weights, size
from dovetail_agents.general.feature_network import (
    FeatureNetwork,
    Genome,
    Unit,
    UnitNetwork,
    handmade,
)
from dovetail_agents.learning import splitmix
from dovetail_experiments.statistics import mean
from dovetail_games.game_2048 import Game2048
from dovetail_games.tetris import Tetris, TetrisBoard
from dovetail_studies import working
from dovetail_studies.learned import States, using
from dovetail_studies.tetris import games, genome_rows, rows, temporal, train
from dovetail_studies.tetris.command import app
from dovetail_studies.tetris.searches import CMAES, CrossEntropy, noise

Array = Any
LOW = games.TetrisGame(6, 5)
NUMBERS = np.arange(7)


# -- games -----------------------------------------------------------------------------------------


def slow_game(
    weights: Weights, game: games.TetrisGame, seed: int, avoid: bool = True
) -> tuple[TetrisBoard, list[tuple[Array, int, bool]]]:
    """Play a game on the rules' own board; also return features, rows cleared and end of each
    placement."""
    state = np.array([seed], np.uint64)
    board = TetrisBoard(game.height, game.width, game.pieces)
    numbers = game.numbers()
    kind = KINDS[weights.features]
    told = []
    while not board.over and not 0 < game.most <= board.placed:
        board.piece = int(numbers[splitmix.draw(state, len(numbers))])
        best, worth, seen = -1, -np.inf, None
        for action in board.legal():
            after = TetrisBoard(game.height, game.width)
            after.wall[:], after.piece = board.wall, board.piece
            before = board.wall.copy()
            cleared = after.place(action)
            out = np.zeros(kernels.size(kernels.ALL, game.width))
            described(before, after, board.piece, action, cleared, kind, out)
            value = weights.reward * cleared + float(
                np.dot(weights.array(), out[: len(weights.weights)])
            )
            if avoid and after.over:
                value = -np.inf
            if value > worth + 1e-9 or best < 0:
                best, worth, seen = (
                    action,
                    value,
                    (out[: len(weights.weights)], cleared, after.over),
                )
        assert seen is not None
        board.place(best)
        told.append(seen)
    return board, told


def described(
    before: Array, after: TetrisBoard, piece: int, action: int, cleared: int, kind: int, out: Array
) -> None:
    """Write features of a placement, with what the drop did worked out from the boards alone."""
    from dovetail_games.tetris.pieces import PIECES, SHAPES

    rotation, column = divmod(action, after.width)
    shape = SHAPES[PIECES[piece]][rotation]
    row = next(
        at
        for at in range(len(before) - shape.height, -2, -1)
        if at == -1
        or any(int(before[at + i]) & bits << column for i, bits in enumerate(shape.rows))
    )
    row += 1
    full = (1 << after.width) - 1
    eroded = sum(
        bits.bit_count()
        for i, bits in enumerate(shape.rows)
        if int(before[row + i]) | bits << column == full
    )
    kernels.describe(
        after.wall, after.height, after.width, row, shape.height, cleared, eroded, kind, out
    )


@pytest.mark.long
@pytest.mark.parametrize("features", ["dt", "dt-diversity", "bertsekas", "all"])
@pytest.mark.parametrize("most", [0, 12])
def test_compiled_games_are_the_rules(features: Any, most: int) -> None:
    rng = np.random.default_rng(1)
    game = games.TetrisGame(7, 5, "SZTI", most)
    for seed in (1, 2):
        start = train.first_weights(features, 5) + 0.1 * rng.standard_normal(size(features, 5))
        weights = Weights(1, features, start.tolist(), 0.5, 5)
        for avoid in (True, False):
            board, _ = slow_game(weights, game, seed, avoid)
            found = games.LinearPlayer(weights, avoid).play(game, np.uint64(seed))
            assert found == (board.lines, board.placed, board.over)


def test_pieces_are_drawn_evenly() -> None:
    state = np.array([3], np.uint64)
    counts = np.bincount([splitmix.draw(state, 7) for _ in range(7000)], minlength=7)
    assert abs(counts - 1000).max() < 120


def test_workers_change_no_result_and_players_play_the_same_games() -> None:
    players = [games.LinearPlayer(PLAYERS[name]) for name in ("dellacherie", "dt-10")]
    low = games.TetrisGame(5, 10)
    seeds = games.seeds(1, 0, 3)
    one = games.play(players, low, seeds)
    assert one.shape == (2, 3, 3)
    assert (games.play(players, low, seeds, workers=2) == one).all()
    assert (games.play([players[1]], low, seeds)[0] == one[1]).all()
    assert len({*games.seeds(1, 0, 9).tolist(), *games.seeds(1, 1, 9).tolist()}) == 18


def test_cells_are_conserved() -> None:
    lines, placed, over = games.LinearPlayer(PLAYERS["bcts"]).play(
        games.TetrisGame(12, 10, most=300), np.uint64(1)
    )
    assert not over
    assert 0 <= 4 * placed - 10 * lines <= 120


# -- searches --------------------------------------------------------------------------------------


def sphere(vectors: Array) -> Array:
    return -((vectors - np.array([1.0, -2.0, 3.0])) ** 2).sum(1)


def test_cross_entropy_by_hand() -> None:
    search = CrossEntropy(
        np.zeros(2), np.ones(2), 10, 0.2, np.random.default_rng(1), lambda generation: 3.0
    )
    asked = search.ask().copy()
    worth = np.arange(10.0)
    worth[4] = 20.0
    search.tell(worth)
    best = asked[[4, 9]]
    assert search.mean.tolist() == best.mean(0).tolist()
    assert search.variance == pytest.approx(((best[0] - best[1]) / 2) ** 2 + 3.0)


def test_noises() -> None:
    assert [noise("constant", n, 4.0) for n in (0, 99)] == [4.0, 4.0]
    assert noise("decreasing", 10, 5.0) == 4.0  # Szita and Lorincz: max(5 - t / 10, 0)
    assert noise("none", 0, 5.0) == 0.0


def test_searches_find_the_top_of_a_sphere() -> None:
    rng = np.random.default_rng(1)
    for search in (
        CrossEntropy(np.zeros(3), np.full(3, 25.0), 60, 0.2, rng),
        CMAES(np.zeros(3), 1.0, 12, 1),
        CMAES(np.zeros(3), 1.0, 12, 1, diagonal=True, elitist=True, scales=np.ones(3) / 2),
    ):
        for _ in range(60):
            search.tell(sphere(search.ask()))
        assert search.mean == pytest.approx([1.0, -2.0, 3.0], abs=0.05)
    bounded = CMAES(np.full(3, 0.5), 0.2, 12, 1, bounds=(0.0, 1.0))
    for _ in range(60):
        asked = bounded.ask()
        assert asked.min() >= 0
        assert asked.max() <= 1
        bounded.tell(sphere(asked))
    assert bounded.mean == pytest.approx([1.0, 0.0, 1.0], abs=0.05)


def test_cma_is_the_same_for_the_same_seed() -> None:
    one, same, other = (CMAES(np.zeros(4), 1.0, 6, seed) for seed in (3, 3, 4))
    for _ in range(3):
        asked = one.ask(), same.ask(), other.ask()
        assert (asked[0] == asked[1]).all()
        assert (asked[0] != asked[2]).any()
        for search, vectors in zip((one, same, other), asked, strict=True):
            search.tell(vectors.sum(1))


def test_an_elitist_search_keeps_its_best_after_a_worse_generation() -> None:
    one, other = (
        CMAES(np.full(4, 0.5), 0.1, 8, 1, diagonal=True, elitist=each) for each in (True, False)
    )
    for worth in (1.0, 2.0, 0.0):
        assert (one.ask() == other.ask()).all()  # so far each generation was better than the last
        for search in (one, other):
            search.tell(worth + np.arange(8) / 10)
    assert (one.ask() != other.ask()).any()


def test_without_cma_one_line_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(DovetailError, match=r"^CMA-ES needs the package cma: pip install") as told:
        CMAES(np.zeros(3), 1.0, 12, 1)
    assert "\n" not in str(told.value)
    result = CliRunner().invoke(app, ["network", str(tmp_path / "out")])
    assert isinstance(result.exception, DovetailError)


# -- values ----------------------------------------------------------------------------------------


def told(value: train.Value, weights: Array, seed: int) -> list[tuple[Array, int, bool]]:
    """Return features, rows cleared and end of each placement of a game by a value."""
    found = value.weights(weights, LOW.width)
    return slow_game(found, LOW, seed, value.avoid)[1]


@pytest.mark.long
@given(st.sampled_from(["bertsekas", "dt"]), st.sampled_from([0.0, 0.7, 1.0]), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_least_squares_are_the_sums(features: Any, trace: float, seed: int) -> None:
    value = train.Value(features, trace, 0.9)
    weights = train.first_weights(features, LOW.width)
    matrix, vector = np.zeros((len(weights),) * 2), np.zeros(len(weights))
    arguments = (*LOW_ARGUMENTS, np.uint64(seed), KINDS[value.features], weights, True)
    temporal.game(*arguments, trace, 0.9, train.NOTHING, matrix, vector)
    a, b, z = np.zeros_like(matrix), np.zeros_like(vector), np.zeros_like(vector)
    game = told(value, weights, seed)
    for (phi, _, _), (after, reward, over) in pairwise(game):
        z = trace * 0.9 * z + phi
        a += np.outer(z, phi - 0.9 * after * (not over))
        b += z * reward
    assert len(game) > 2
    assert matrix == pytest.approx(a)
    assert vector == pytest.approx(b)


LOW_ARGUMENTS = (LOW.height, LOW.width, NUMBERS, 0)


@given(st.sampled_from([0.0, 0.7, 1.0]), st.integers(0, 99))
@settings(max_examples=10, deadline=None)
def test_td_without_a_step_plays_and_with_one_learns_as_by_hand(trace: float, seed: int) -> None:
    """With steps too small to change a placement, the game is the first weights'."""
    value = train.Value("bertsekas", trace, 0.9)
    noise_on_ties = np.random.default_rng(seed).standard_normal(12) / 10
    first = train.first_weights("bertsekas", LOW.width) + noise_on_ties
    rates = np.linspace(1e-9, 2e-9, len(first))
    weights = first.copy()
    arguments = (*LOW_ARGUMENTS, np.uint64(seed), KINDS["bertsekas"], weights, True)
    temporal.game(*arguments, trace, 0.9, rates, np.empty((0, 0)), train.NOTHING)
    slow, z = first.copy(), np.zeros_like(first)
    game = told(value, first, seed)
    for (phi, _, _), (after, reward, over) in pairwise(game):
        z = trace * 0.9 * z + phi
        error = reward + 0.9 * (0 if over else slow @ after) - slow @ phi
        slow += rates * error * z
    assert weights - first == pytest.approx(slow - first, rel=1e-4, abs=1e-12)
    assert (weights != first).any()


def test_least_squares_solve_a_chain_by_hand() -> None:
    """Two states, one after the other, rewards 1 and 2, discount 1/2: V = 2 and 2."""
    phi = np.eye(2)
    a = np.outer(phi[0], phi[0] - 0.5 * phi[1]) + np.outer(phi[1], phi[1])
    b = 1.0 * phi[0] + 2.0 * phi[1]
    assert temporal.solve(a, b, 0.0) == pytest.approx([2.0, 2.0])
    singular = temporal.solve(np.zeros((2, 2)), np.zeros(2), 0.0)
    assert singular.tolist() == [0.0, 0.0]
    with pytest.raises((DovetailError, np.linalg.LinAlgError)):
        temporal.solve(np.full((2, 2), np.nan), np.zeros(2), 0.0)


def test_values_learn_to_clear_more_rows() -> None:
    trials = train.Trials(games.TetrisGame(10, 10, most=500), 1, 40, 10)
    value = train.Value("bertsekas", 0.0, 0.95)
    start = train.first_weights("bertsekas", 10)
    before = games.play([value.player(start)], trials.game, games.seeds(9, 0, 20))[:, :, 0].mean()
    found = [*train.least_squares(value, start, trials, 3, 1e-3)]
    assert train.best_of(found).lines > 2 * before
    sizes = train.scales("bertsekas", start, trials)
    learned = [*train.temporal_differences(value, start, trials, 2, lambda _: 0.01, sizes)]
    again = [*train.temporal_differences(value, start, trials, 2, lambda _: 0.01, sizes)]
    assert (learned[-1].vector == again[-1].vector).all()
    with pytest.raises(DovetailError, match="TD has diverged in generation 1"):
        list(train.temporal_differences(value, start, trials, 2, lambda _: 1e6, sizes))


def test_scales_are_root_mean_squares() -> None:
    start = train.first_weights("bertsekas", 10)
    found = train.scales("bertsekas", start, train.Trials(games.TetrisGame(), 1, 3, 1))
    assert found[-1] == 1.0  # of the constant
    assert (found >= 1).all()
    assert found[19] > found[:10].max()  # the highest column


# -- networks --------------------------------------------------------------------------------------


def test_a_network_is_made_for_another_height() -> None:
    column = Unit(1, "column", (0, 0, 1, -1), 0.5, 2.0)
    network = UnitNetwork((column, handmade.wells()), 3, 4, 10)
    high = train.resized(network, 6)
    assert high.rows == 6
    assert high.units[0].filter == (0, 0, 0, 0, 1, -1)
    assert train.resized(high, 4) == network
    with pytest.raises(DovetailError, match="does not fit on 1 rows"):
        train.resized(network, 1)
    board = np.zeros((3, 4, 10), int)
    board[:, 2:] = np.random.default_rng(1).integers(0, 2, (3, 2, 10))
    taller = np.concatenate([np.zeros((3, 2, 10), int), board], 1)
    assert reference.value(board, network) == reference.value(taller, high)


def test_vectors_stand_for_networks() -> None:
    first = handmade.network("study", 3, 10, 10)
    vector = train.start_of(first, "weights")
    assert vector.tolist() == [-1, 1, -1, -1, -4, -1]
    learned = train.network_of(vector * 10, first, "weights")
    assert [unit.weight for unit in learned.units] == [-10, 10, -10, -10, -20, -10]
    genome = train.start_of(first, "genome")
    assert len(genome) == len(train.gentle(6, 10, 10)) == 6 * 22
    again = train.network_of(genome, first, "genome")
    assert [unit.filter for unit in again.units] == [unit.filter for unit in first.units]
    scales = train.gentle(1, 10, 10)
    assert np.flatnonzero(scales == 0.1).tolist() == [12, 21]


# -- the command -----------------------------------------------------------------------------------


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


TINY = ("--height", "5", "--generations", "2", "--games", "2", "--final", "2", "--most", "100")
COMMANDS: dict[str, list[str]] = {
    "weights": ["weights", *TINY, "--population", "6"],
    "cma": ["weights", *TINY, "--population", "6", "--method", "cma-es"],
    "network": ["network", *TINY, "--population", "6", "--target", "20"],
    "genome": ["network", *TINY, "--population", "6", "--vary", "genome", "--start", "half"],
    "lstd": ["lstd", *TINY],
    "td": ["td", *TINY],
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_training_is_the_same_for_the_same_seed_and_the_agent_plays_it(
    kind: str, tmp_path: Path
) -> None:
    command, *options = COMMANDS[kind]
    contents = []
    for name, seed in (("one", "1"), ("two", "1"), ("three", "2")):
        output = run(command, str(tmp_path / name), *options, "--seed", seed)
        assert "generation 2: " in output
        contents.append(msgspec.json.decode((tmp_path / name).read_bytes()))
    made = [content.pop("made") for content in contents]
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]
    assert made[0]["history"] == made[1]["history"]
    assert len(made[0]["history"]) == made[0]["generation"]
    output = run("measure", str(tmp_path / "one"), "--games", "2", "--most", "50")
    assert "20 x 10, 2 games: " in output
    agent = "feature-network" if kind in ("network", "genome") else "tetris-player"
    state = (tmp_path / "one").read_bytes()
    height = 5 if kind == "genome" else 20
    height = 20
    with InProcess([Tetris], [TetrisPlayer, FeatureNetwork]) as experiment:
        player = experiment.create(agent, state=state)
        game = {"max_pieces": 20, "afterstates": "boards", "height": height}
        results = experiment.run("tetris", [player], configuration=game).wait()
        assert results[0].reason in ("terminated", "truncated")
        assert experiment.save(player) == state


def test_a_search_goes_on_from_a_genome(tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(Genome.of(handmade.network("exact", 3, 20, 10)).bytes())
    options = [*COMMANDS["network"][1:], "--genome", str(tmp_path / "first")]
    run("network", str(tmp_path / "out"), *options)
    found = Genome.read((tmp_path / "out").read_bytes())
    assert len(found.network().units) == 7
    assert found.rows == 20


@pytest.mark.parametrize("kind", ["weights", "network", "genome"])
def test_a_search_that_was_stopped_goes_on_as_if_it_had_not(kind: str, tmp_path: Path) -> None:
    command, *options = COMMANDS[kind]
    keep = ["--checkpoint", str(tmp_path / "state")]
    run(command, str(tmp_path / "whole"), *options, "--generations", "4")
    run(command, str(tmp_path / "half"), *options, *keep)
    run(command, str(tmp_path / "half"), *options, *keep, "--generations", "4")
    whole, half = (
        msgspec.json.decode((tmp_path / name).read_bytes()) for name in ("whole", "half")
    )
    assert len(half["made"].pop("history")) == len(whole["made"].pop("history")) == 4
    whole["made"].pop("command")
    half["made"].pop("command")
    assert half == whole
    wider = [*keep, "--generations", "5", "--population"]
    with pytest.raises(DovetailError, match=r"checkpoint of another search: it has generations of"):
        run(command, str(tmp_path / "half"), *options, *wider, "9")
    with pytest.raises(DovetailError, match=r"checkpoint of another search: its vectors differ"):
        run(command, str(tmp_path / "half"), *options, *keep, "--sigma", "0.25")


def test_a_checkpoint_runs_no_code(tmp_path: Path) -> None:
    class Malice:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "ran",)

    (tmp_path / "state").write_bytes(pickle.dumps((Malice(), [])))
    with pytest.raises(DovetailError, match="is not a checkpoint"):
        run("weights", str(tmp_path / "out"), *TINY, "--checkpoint", str(tmp_path / "state"))
    assert not (tmp_path / "ran").exists()


def test_the_same_search_finds_a_network_for_2048(tmp_path: Path) -> None:
    options = ["--generations", "8", "--population", "20", "--games", "3", "--final", "5"]
    for name in ("one", "two"):
        output = run("network-2048", str(tmp_path / name), *options)
    assert "points a game" in output
    states = [msgspec.json.decode((tmp_path / name).read_bytes()) for name in ("one", "two")]
    assert states[0]["genome"] == states[1]["genome"]
    measured = run("measure", "--2048", str(tmp_path / "one"), "--games", "30")
    assert float(measured.split()[4]) > 1400  # at random some 1,100
    with InProcess([Game2048], [FeatureNetwork]) as experiment:
        player = experiment.create("feature-network", state=(tmp_path / "one").read_bytes())
        results = experiment.run("2048", [player], episodes=2).wait()
        assert all(each.reason == "terminated" for each in results)


def test_measuring() -> None:
    output = run("measure", "dt-10", "--games", "3", "--height", "5")
    assert output.startswith("dt-10, 5 x 10, 3 games: ")
    assert run("measure", "dt-10", "--games", "3", "--height", "5", "--workers", "2") == output
    assert run("measure", "learned", "--games", "1", "--height", "5").startswith("learned, 5 x 10")
    cut = run("measure", "exact", "--games", "2", "--most", "10")
    assert (
        "2 of 2 games were cut short at 10 pieces; whole games, by an exponential law: at least "
        in cut
    )
    assert ".." not in cut  # no interval around a mean of cut games
    some = run("measure", "dt-10", "--games", "10", "--height", "5", "--most", "60")
    assert "at least " in some
    assert "cut short at 60 pieces; whole games" in some
    with pytest.raises(DovetailError, match=r"is neither one of dellacherie, .* nor a file"):
        run("measure", "nobody")
    with pytest.raises(DovetailError, match="was not written by a trainer"):
        run("measure", __file__)
    with pytest.raises(DovetailError, match="pieces are of ZSLJTOI, not 'XQ'"):
        run("measure", "study", "--pieces", "XQ")
    with pytest.raises(DovetailError, match=r"cannot write .* there is no folder"):
        run("weights", "no folder/file", *TINY)
    with pytest.raises(DovetailError, match="is not a checkpoint"):
        run("weights", "file", *TINY, "--checkpoint", __file__)


def test_searching_improves_weights_from_nothing_on_a_low_board() -> None:
    rng = np.random.default_rng(1)
    search = CrossEntropy(np.zeros(9), np.full(9, 100.0), 30, 0.2, rng, lambda _: 4.0)
    trials = train.Trials(games.TetrisGame(6, 10, most=400), 1, 2, 10)
    found = [*train.search(search, train.linear("dt-diversity"), trials, 6)]
    assert found[-1].average > 5 * found[0].average
    assert found[-1].lines > 20
    assert PLAYERS["dt-10"].weights == list(DT_10)


def test_the_page_says_when_a_search_met_its_best() -> None:
    shape = {"most": 100, "population": 10, "games": 2, "generations": 3, "again": 5}
    unit = {**shape, "seed": 1, "loops": False}
    early = {"best": 9.0, "again": 1.0, "games": 4, "curve": [[2.0, 1.0], [9.0, 1.0], [3.0, 1.0]]}
    late = {"best": 7.0, "again": 2.0, "games": 4, "curve": [[2.0, 1.0], [5.0, 1.0], [7.0, 1.0]]}
    row = rows.STUDY.row("run-2")
    assert row.draw is not None
    drawn = row.draw([(unit, early), ({**unit, "seed": 2}, late)])
    assert "met in generation 2, 3 of 3." in drawn.note
    assert "clear 1 to 2 rows by seed" in drawn.note
    assert drawn.distinct == "not counted; 22 sequences of pieces, which the players share"


def test_a_search_keeps_its_genome_and_is_measured_again_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows.STUDY.row("run-2b")
    assert row.units
    assert row.work
    size = {"population": 6, "games": 1, "generations": 2, "most": 50, "again": 2, "first": 1}
    off, on = row.units(size, [1])
    with using(States(tmp_path)):
        first = [row.work(unit) for unit in (off, on)]
    states = {path.stem: Genome.read(path.read_bytes()) for path in tmp_path.glob("*.state")}
    assert states.keys() == {"no-loops-1", "loops-1"}
    assert all(unit.loop is None for unit in states["no-loops-1"].network().units)

    def learn(*given: Any) -> bytes:
        raise AssertionError("learns again")

    monkeypatch.setattr(genome_rows, "_learn", learn)
    with using(States(tmp_path / "more", (tmp_path,))):
        assert [row.work(unit) for unit in (off, on)] == first


def test_a_row_s_search_that_was_killed_goes_on_with_its_next_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = rows.STUDY.row("run-2b")
    values = {"population": 30, "games": 1, "generations": 4, "most": 200, "again": 2, "first": 2}
    assert row.units
    assert row.work
    unit = row.units(values, [1])[0]
    whole = row.work(unit)
    play, played = games.play, 0

    def killed(*args: Any) -> Any:
        nonlocal played
        played += 1
        if played == 4:
            raise KeyboardInterrupt
        return play(*args)

    monkeypatch.setattr(games, "play", killed)
    with using(States(tmp_path)), pytest.raises(KeyboardInterrupt):
        row.work(unit)
    with using(States(tmp_path)):
        assert row.work(unit) == whole
    assert played == 4 + 3 + 1  # of six generations, one was broken off; the last is the vector's


def test_games_that_no_exponential_law_fits_have_students_interval_or_none() -> None:
    cleared = [200 + n % 7 for n in range(60)]
    ended = [True] * 60
    found, count, cut = rows.uncut([{"rows": cleared, "ended": ended}])
    assert rows.unfitted([{"rows": cleared, "ended": ended}])
    assert (found, count, cut) == (mean([float(each) for each in cleared]), 60, 0)
    found, _, cut = rows.uncut([{"rows": cleared, "ended": [False, *ended[1:]]}])
    assert cut == 1
    assert not found.known
    rng = np.random.default_rng(1)
    lives = [int(each) + 1 for each in rng.exponential(300, 60)]
    assert not rows.unfitted([{"rows": lives, "ended": ended}])


def test_units_whose_games_are_all_cut_have_a_lower_end() -> None:
    """Their mean was printed as inf."""
    row = rows.STUDY.row("handmade")
    assert row.work
    assert row.draw
    units = [each for each in working.units(row, "quick", 1) if not each["off"]]
    done = [({**unit, "most": 50}, row.work({**unit, "most": 50})) for unit in units]
    drawn = row.draw(done)
    [line] = drawn.lines
    assert line[3] == "2 of 2"
    assert re.fullmatch(r"at least \d+", line[2])
