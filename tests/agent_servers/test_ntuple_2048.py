from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent_servers.memory import remembering
from tests.env_servers.cases import after_moves
from typer.testing import CliRunner

from dovetail import DovetailError, InProcess
from dovetail.client.run_options import RunOptions
from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail.protocol.messages import Mode
from dovetail_agents.games.game_2048 import NTuple2048, kernels, saved
from dovetail_agents.games.game_2048.networks import Layout, images, layout, lines
from dovetail_games.connect_four import ConnectFour
from dovetail_games.game_2048 import Game2048
from dovetail_games.game_2048.kernels import slide
from dovetail_studies.game_2048 import train
from dovetail_studies.game_2048.command import app

SMALL = {"rows": 3, "columns": 3}


def test_tuples_are_lines_and_blocks() -> None:
    assert len(lines(4, 4)) == 4 + 4 + 9  # the 17 four-tuples of Szubert and Jaskowski
    assert lines(2, 2) == [[0, 1], [2, 3], [0, 2], [1, 3], [0, 1, 2, 3]]


def test_values_and_updates_by_hand() -> None:
    places = np.array([[0, 1, -1, -1], [2, 3, 1, -1]])
    network = Layout(places, np.array([0, 1]), 16, (2, 16**4))
    weights = network.zeros()
    tiles = np.array([3, 1, 0, 17])
    kernels.update(tiles, network.of(weights), 0.5)
    assert weights[0, 3 * 16 + 1] == 0.5
    assert weights[1, (0 * 16 + 15) * 16 + 1] == 0.5
    assert weights.sum() == 1.0
    assert kernels.value(tiles, network.of(weights)) == 1.0


def test_a_stage_s_weights_are_those_of_the_stage_before_until_they_learn() -> None:
    network = Layout(np.array([[0, 1]]), np.array([0]), 16, (3, 256), 3)
    weights = network.zeros()

    def value(*tiles: int) -> float:
        return kernels.value(np.array(tiles), network.of(weights))

    def update(step: float, *tiles: int) -> None:
        kernels.update(np.array(tiles), network.of(weights), step)

    update(1.0, 2, 1, 12)
    assert value(2, 1, 12) == value(2, 1, 13) == value(2, 1, 17) == 1.0
    update(0.5, 2, 1, 13)
    assert [value(2, 1, tile) for tile in (12, 13, 14, 15)] == [1.0, 1.5, 1.5, 1.5]
    update(0.25, 2, 1, 15)
    update(4.0, 2, 1, 12)
    assert [value(2, 1, tile) for tile in (12, 13, 14, 15)] == [5.0, 1.5, 1.75, 1.75]
    assert weights[:, 2 * 16 + 1].tolist() == [5.0, 1.5, 1.75]


@pytest.mark.parametrize("name", ["fives", "sixes"])
def test_symmetric_networks_value_all_images_of_a_board_alike(name: Any) -> None:
    network = layout(name, 4, 4)
    rng = np.random.default_rng(1)
    tiles = rng.integers(0, network.exponents, 16)
    weights = network.zeros()
    found = np.empty(len(network.tables), np.int64)
    kernels.entries(tiles, network.of(weights), found)
    weights.ravel()[found] = rng.normal(size=len(found))
    value = kernels.value(tiles, network.of(weights))
    assert value != 0
    assert len(images(4, 4)) == 8
    for image in images(4, 4):
        assert kernels.value(tiles[image], network.of(weights)) == pytest.approx(value)
    with pytest.raises(DovetailError, match="for boards of 4 x 4, not 3 x 4"):
        layout(name, 3, 4)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_compiled_slides_are_the_rules(rows: int, columns: int, seed: int) -> None:
    tiles = np.random.default_rng(seed).integers(0, 4, rows * columns)
    board = tuple(tuple(row) for row in tiles.reshape(rows, columns).tolist())
    out = np.zeros(rows * columns, np.int64)
    for move, (after, gain) in enumerate(after_moves(board)):
        reward = slide(tiles, rows, columns, move, out)
        if after == board:
            assert reward == -1
        else:
            assert (reward, out.reshape(rows, columns).tolist()) == (gain, [*map(list, after)])


def test_new_tiles_are_drawn_evenly_and_a_tenth_are_fours() -> None:
    state = np.array([5], np.uint64)
    places: list[int] = []
    fours = 0
    for _ in range(4000):
        tiles = np.array([1, 0, 0, 3, 0])
        kernels.appear(tiles, state)
        new = [square for square in (1, 2, 4) if tiles[square]]
        assert len(new) == 1
        places += new
        fours += tiles[new[0]] == 2
    assert all(abs(places.count(square) - 4000 / 3) < 150 for square in (1, 2, 4))
    assert abs(fours - 400) < 80


class Slow:
    """Training once more in plain Python: a dictionary a table, rules for slides."""

    def __init__(self, network: Layout, rows: int, columns: int, rate: float, tc: bool) -> None:
        self.network, self.rows, self.columns, self.rate, self.tc = network, rows, columns, rate, tc
        self.weights: dict[tuple[int, int], float] = {}
        self.sums: dict[tuple[int, int], float] = {}
        self.sizes: dict[tuple[int, int], float] = {}

    def keys(self, board: Any) -> list[tuple[int, int]]:
        flat = [min(tile, self.network.exponents - 1) for row in board for tile in row]
        found = []
        for table, squares in zip(self.network.tables, self.network.places, strict=True):
            entry = 0
            for square in squares:
                if square >= 0:
                    entry = entry * self.network.exponents + flat[square]
            found.append((int(table), entry))
        return found

    def value(self, board: Any) -> float:
        return sum(self.weights.get(key, 0.0) for key in self.keys(board))

    def learn(self, board: Any, target: float) -> None:
        step = self.rate * (target - self.value(board)) / len(self.network.tables)
        for key in self.keys(board):
            share = 1.0
            if self.tc:
                size = self.sizes.get(key, 0.0)
                share = abs(self.sums.get(key, 0.0)) / size if size else 1.0
                self.sums[key] = self.sums.get(key, 0.0) + step
                self.sizes[key] = size + abs(step)
            self.weights[key] = self.weights.get(key, 0.0) + share * step

    def game(self, seed: Any) -> int:
        state = np.array([seed], np.uint64)
        tiles = np.zeros(self.rows * self.columns, np.int64)
        kernels.appear(tiles, state)
        kernels.appear(tiles, state)
        last, score = None, 0
        while True:
            board = tuple(tuple(row) for row in tiles.reshape(self.rows, -1).tolist())
            options = [(b, gain) for b, gain in after_moves(board) if b != board]
            worth = [gain + self.value(b) for b, gain in options]
            if last is not None:
                self.learn(last, max(worth, default=0.0))
            if not options:
                return score
            last, gain = options[worth.index(max(worth))]
            score += gain
            tiles = np.array(last).ravel()
            kernels.appear(tiles, state)


@pytest.mark.parametrize(("rows", "tc"), [(2, False), (2, True), (3, False)])
def test_compiled_training_is_td_over_afterstates(rows: int, tc: bool) -> None:
    network = layout("lines", rows, 2)
    # A power of two keeps sums of float32 the same in every order.
    slow = Slow(network, rows, 2, 0.5, tc)
    weights = network.zeros()
    games = 6 if not tc else 3
    outs = list(train.chunks(network, weights, rows, 2, games, 3, train.LearningRule(0.5, tc)))
    scores = [slow.game(seed) for seed in train.seeds(3, 0, games)]
    assert np.concatenate(outs)[:, 0].tolist() == scores
    for (table, entry), weight in slow.weights.items():
        assert weights[table, entry] == pytest.approx(weight, rel=1e-4, abs=1e-4)


def test_agent_and_training_learn_alike() -> None:
    """One game of the trainer, told to the agent decision by decision."""
    network = layout("lines", 2, 2)
    weights = network.zeros()
    agent = remembering(NTuple2048(saved.NTupleParameters(learning_rate=0.25)))
    environment = Game2048(msgspec.convert({"rows": 2, "columns": 2}, Game2048.Configuration))
    seat = Seat(1, 0, environment.init())
    agent.init(seat)
    state = np.array([train.seeds(4, 0, 1)[0]], np.uint64)
    tiles = np.zeros(4, np.int64)
    kernels.appear(tiles, state)
    kernels.appear(tiles, state)
    turn = 0
    while True:
        board = tuple(tuple(row) for row in tiles.reshape(2, 2).tolist())
        after = after_moves(board)
        legal = [move for move, (b, _) in enumerate(after) if b != board]
        if not legal:
            break
        decision = Decision(
            seat, 1, turn, tiles.reshape(2, 2), legal, 0.0, "learn", random.Random(1)
        )
        tiles = np.array(after[agent.step(decision)][0]).ravel()
        kernels.appear(tiles, state)
        turn += 1
    agent.end(End(seat, 1, 0.0, None, None, "terminated", None, 0.0, turn, "learn"))
    list(train.chunks(network, weights, 2, 2, 1, 4, train.LearningRule(0.25, False)))
    assert agent.weights == pytest.approx(weights)
    assert weights.any()


def trained(path: Path, *options: str) -> bytes:
    result = CliRunner().invoke(app, ["train", str(path), "--games", "30", *options])
    assert result.exit_code == 0, result.output
    return path.read_bytes()


def test_what_is_trained_is_the_same_for_the_same_seed_and_played_by_the_agent(
    tmp_path: Path,
) -> None:
    state = trained(tmp_path / "one")
    assert state == trained(tmp_path / "two", "--save-every", "10")
    assert state != trained(tmp_path / "three", "--seed", "2")
    with InProcess([Game2048], [NTuple2048]) as experiment:
        agent = experiment.create("ntuple-2048", state=state)
        run = experiment.run("2048", [agent], episodes=8, seed=2, mode="evaluate")
        scores = [episode.seats[0].total for episode in run]
        assert experiment.save(agent) == state
    assert sum(scores) / 8 > 1500  # at random some 1,100
    result = CliRunner().invoke(app, ["measure", str(tmp_path / "one"), "--games", "20"])
    assert result.output.startswith("learned from 30 games; 20 games played\nscore ")
    (tmp_path / "bad").write_bytes(b"bad")
    result = CliRunner().invoke(app, ["measure", str(tmp_path / "bad")])
    assert isinstance(result.exception, DovetailError)
    assert "bad: these bytes are not a saved ntuple-2048" in str(result.exception)


def test_learning_pays_and_evaluation_changes_nothing() -> None:
    with InProcess([Game2048], [NTuple2048]) as experiment:
        agent = experiment.create("ntuple-2048")

        def score() -> float:
            run = experiment.run(
                "2048", [agent], configuration=SMALL, episodes=60, seed=9, mode="evaluate"
            )
            return sum(episode.seats[0].total for episode in run) / 60

        before = score()
        experiment.run("2048", [agent], configuration=SMALL, episodes=400, seed=1).wait()
        state = experiment.save(agent)
        after = score()
        assert after > 1.3 * before
        assert experiment.save(agent) == state


def test_saved_loaded_and_going_on_is_the_same_as_never_stopping() -> None:
    with InProcess([Game2048], [NTuple2048]) as experiment:
        whole = experiment.create("ntuple-2048", seed=3)
        experiment.run("2048", [whole], configuration=SMALL, episodes=40, seed=1).wait()
        half = experiment.create("ntuple-2048", seed=3)
        experiment.run("2048", [half], configuration=SMALL, episodes=20, seed=1).wait()
        again = experiment.create("ntuple-2048", seed=3, state=experiment.save(half))
        options: RunOptions = {"configuration": SMALL, "episodes": 20, "first_index": 20, "seed": 1}
        experiment.run("2048", [again], **options).wait()
        assert experiment.save(again) == experiment.save(whole)


def test_what_it_refuses() -> None:
    with InProcess([Game2048, ConnectFour], [NTuple2048]) as experiment:
        agent = experiment.create("ntuple-2048")
        with pytest.raises(DovetailError, match="plays 2048 only"):
            experiment.run("connect_four", [agent, agent]).wait()
        experiment.run("2048", [agent], configuration=SMALL).wait()
        with pytest.raises(DovetailError, match="has learned boards of"):
            experiment.run("2048", [agent]).wait()
        with pytest.raises(DovetailError, match="not a saved ntuple-2048"):
            experiment.create("ntuple-2048", state=random.Random(1).randbytes(30))


def test_saved_tables_are_checked() -> None:
    network = layout("lines", 3, 3)
    state = saved.dump(saved.NTupleParameters(), (3, 3), network.zeros(), 5)
    fields = msgspec.msgpack.decode(state)
    for wrong in ({"shape": [3, 4]}, {"shape": [99, 9]}, {"shape": [3]}, {"weights": b"x"}):
        with pytest.raises(DovetailError, match="not a saved ntuple-2048"):
            saved.parse(msgspec.msgpack.encode({**fields, **wrong}))


def _expected(board: Any, plies: int, value: Any) -> float:
    """Expectimax once more in plain Python: every tile, the best answer."""
    if plies == 1:
        return float(value(board))
    free = [(i, j) for i, row in enumerate(board) for j, tile in enumerate(row) if not tile]
    total = 0.0
    for i, j in free:
        for tile, chance in ((1, 0.9), (2, 0.1)):
            grown = tuple(
                tuple(tile if (a, b) == (i, j) else old for b, old in enumerate(row))
                for a, row in enumerate(board)
            )
            answers = [
                gain + _expected(after, plies - 1, value)
                for after, gain in after_moves(grown)
                if after != grown
            ]
            total += chance * max(answers, default=0.0)
    return total / len(free)


@pytest.mark.parametrize("plies", [1, 2, 3])
def test_expectimax_is_the_textbook_s(plies: int) -> None:
    network = layout("lines", 3, 3, 6)
    rng = np.random.default_rng(plies)
    weights = rng.normal(size=network.shape).astype(np.float32) * 20
    slow = Slow(network, 3, 3, 0.0, False)
    slow.weights = {
        (table, entry): float(weights[table, entry])
        for table in range(network.shape[0])
        for entry in range(network.shape[1])
    }
    for _ in range(6):
        tiles = rng.integers(0, 5, 9) * (rng.random(9) < 0.7)
        tiles[rng.integers(9)] = 0
        board = tuple(tuple(row) for row in tiles.reshape(3, 3).tolist())
        found = kernels.expected(tiles, plies, 3, 3, network.of(weights))
        assert found == pytest.approx(_expected(board, plies, slow.value), rel=1e-6)


def test_it_searches_only_where_it_does_not_learn() -> None:
    """Learning is TD(0) of the next move whatever ``plies`` is; only evaluations differ."""
    found = {}
    for plies in (1, 2):
        with InProcess([Game2048], [NTuple2048]) as experiment:
            agent = experiment.create("ntuple-2048", parameters={"plies": plies}, seed=1)

            def scores(mode: Mode, seed: int, agent: Any = agent, at: Any = experiment) -> Any:
                run = at.run("2048", [agent], configuration=SMALL, episodes=4, seed=seed, mode=mode)
                return [episode.seats[0].total for episode in run]

            found[plies] = scores("learn", 2), scores("evaluate", 3)
            assert saved.parse(experiment.save(agent))[0].plies == plies
    assert found[1][0] == found[2][0]
    assert found[1][1] != found[2][1]


def test_a_loaded_state_keeps_how_far_the_agent_looks() -> None:
    state = saved.dump(saved.NTupleParameters(exponents=9), None, None, 5)
    agent = NTuple2048(saved.NTupleParameters(plies=3))
    agent.load(state)
    assert agent.parameters == saved.NTupleParameters(plies=3, exponents=9)
