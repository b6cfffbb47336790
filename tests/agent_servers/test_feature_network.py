from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from tests.agent_servers import feature_network_reference as reference
from tests.env_servers.cases import after_moves

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.game_2048.kernels import appear
from dovetail_agents.games.tetris.columns import columns_of, room
from dovetail_agents.general.feature_network import (
    FeatureNetwork,
    Genome,
    Unit,
    UnitNetwork,
    decode,
    encode,
    genes,
    handmade,
    kernels,
)
from dovetail_agents.general.feature_network.agent import boards
from dovetail_agents.learning.splitmix import draw
from dovetail_games.dominion import Dominion
from dovetail_games.game_2048 import Game2048
from dovetail_games.tetris import Tetris, TetrisBoard
from dovetail_games.tetris import features as named
from dovetail_games.tetris.kernels import boards_after_all
from dovetail_studies.tetris import bits, sliding

Array = Any
ALL_PIECES = np.arange(7)


def values_after_all(at: Array, piece: int, height: int, width: int, network: UnitNetwork) -> Array:
    """Return what the game compiled for bits says of every placement of a piece."""
    values, ends = np.empty(4 * width), np.empty((4 * width, 2), np.int64)
    columns, tables = columns_of(at, width), network.tables()
    count = bits._valued(columns, piece, height, *tables, room(width), ends, values)
    return values[:count]


def wall(seed: int, height: int, width: int) -> Array:
    """Return a wall without full rows, up to any height and of any density."""
    rng = np.random.default_rng(seed)
    cells = rng.random((height, width)) < rng.random()
    cells[np.arange(height), rng.integers(0, width, height)] = False
    out = np.zeros(height + 4, np.int64)
    high = rng.integers(0, height - 1)
    out[:high] = (cells[:high] << np.arange(width)).sum(1)
    return out


def placed(at: Array, piece: int, height: int, width: int) -> Array:
    """Return the boards of all placements: int64, shape (placements, 3, height, width)."""
    out = np.empty((4 * width, 3, height, width), np.uint8)
    return out[: boards_after_all(at, piece, height, width, out)].astype(np.int64)


def random_network(seed: int, planes: int, rows: int, columns: int) -> UnitNetwork:
    """Return a network of random genes, biases small enough to matter."""
    rng = np.random.default_rng(seed)
    genome = rng.random((4, genes(rows, columns)))
    genome[:, -10] = 0.5 + (genome[:, -10] - 0.5) / rng.choice([1, 4, 10])
    return decode(genome.ravel(), planes, rows, columns)


# -- genes -----------------------------------------------------------------------------------------


def test_a_half_everywhere_is_worth_nothing() -> None:
    network = decode([0.5] * 64, 3, 20, 10)
    assert network.units == (Unit(1, "column", (0,) * 20, 0.0, 0.0, count=1, middle=True),) * 2
    assert reference.value(np.ones((3, 20, 10), int), network) == 0


@pytest.mark.parametrize(
    ("gene", "values", "field"),
    [
        (0, [(0.33, 0), (0.34, 1), (0.66, 1), (0.67, 2)], "plane"),
        (1, [(0.33, "row"), (0.34, "column"), (0.66, "column"), (0.67, "square")], "shape"),
        (22, [(0.0, -20.0), (0.5, 0.0), (1.0, 20.0), (1.5, 20.0), (-3.0, -20.0)], "bias"),
        (23, [(0.49, 0), (0.5, 1)], "sides"),
        (24, [(0.49, 0), (0.5, 1)], "ends"),
        (27, [(0.1, "left"), (0.3, "up"), (0.6, "right"), (0.8, "down")], "loop"),
        (28, [(0.49, 0), (0.5, 1)], "count"),
        (31, [(0.25, -10.0), (0.525, 1.0)], "weight"),
    ],
)
def test_thresholds_of_the_study(gene: int, values: Any, field: str) -> None:
    for given_gene, expected in values:
        genome = [0.9] * 32
        genome[29] = 0.1  # without flip, so that there is a loop
        genome[gene] = given_gene
        assert getattr(decode(genome, 3, 20, 10).units[0], field) == pytest.approx(expected)


def test_flips_filters_and_middles_of_the_study() -> None:
    genome = [0.9] * 32
    assert decode(genome, 3, 20, 10).units[0].flip == "horizontal"
    assert decode(genome, 3, 20, 10).units[0].loop is None
    genome[30] = 0.4
    genome[2:5] = [0.1, 0.5, 0.7]
    assert decode(genome, 3, 20, 10).units[0].flip == "vertical"
    assert decode(genome, 3, 20, 10).units[0].filter == (-1, 0, 1, 1, 1, 1, 1, 1, 1)
    genome[1] = 0.1
    assert decode(genome, 3, 20, 10).units[0].middle
    assert len(decode(genome, 3, 20, 10).units[0].filter) == 10


@given(st.integers(0, 10**6), st.sampled_from([(3, 20, 10), (3, 6, 4), (1, 4, 4), (5, 9, 13)]))
@settings(max_examples=60, deadline=None)
def test_what_genes_say_is_encoded_again(seed: int, board: tuple[int, int, int]) -> None:
    network = random_network(seed, *board)
    again = decode(encode(network), *board)
    for unit, other in zip(network.units, again.units, strict=True):
        assert (unit.bias, unit.weight) == pytest.approx((other.bias, other.weight))
        assert replace(unit, bias=0, weight=0) == replace(other, bias=0, weight=0)


def test_the_hand_made_genome_is_the_studys() -> None:
    network = handmade.network("study", 3, 20, 10)
    genome = encode(network).reshape(6, 32)
    assert genome[:, 22] == pytest.approx([0.4875, 0.2625, 0.4875, 0.4875, 0.4875, 0.4625])
    assert genome[:, 31] == pytest.approx([0.475, 0.525, 0.475, 0.475, 0.4, 0.475])
    again = decode(genome.ravel(), 3, 20, 10)
    for unit, other in zip(network.units, again.units, strict=True):
        assert replace(unit, bias=0, weight=0) == replace(other, bias=0, weight=0)


def test_genes_that_are_none() -> None:
    with pytest.raises(
        DovetailError, match="32 genes for each unit on 20 x 10; 33 is not a multiple"
    ):
        decode([0.5] * 33, 3, 20, 10)
    with pytest.raises(DovetailError, match="one is not finite"):
        decode([float("nan")] * 32, 3, 20, 10)


# -- units -----------------------------------------------------------------------------------------


def rows(*lines: str) -> Array:
    return np.array([[int(cell) for cell in line] for line in lines])


def test_correlation_as_in_the_studys_figure() -> None:
    image = rows("0111000", "0011100", "0001110", "0001100", "0011000", "0110000", "1100000")
    kernel = rows("101", "010", "101")
    found = (sliding_window_view(image, (3, 3)) * kernel).sum((2, 3))
    assert found.tolist() == rows("14341", "12433", "12341", "13311", "33110").tolist()
    # A unit counts the sums that are above minus its bias; the frame of free cells adds its own.
    framed = (sliding_window_view(np.pad(image, 1), (3, 3)) * kernel).sum((2, 3))
    for least in range(6):
        unit = Unit(0, "square", tuple(kernel.ravel().tolist()), 0.5 - least, 1.0)
        assert reference.unit_value(image, unit) == (framed >= least).sum()


def test_middles_by_hand() -> None:
    assert reference.middle(np.array([0, 1, 0, 1, 1, 0]), -0.5) == 2.5  # the study's figure 3.12
    assert reference.middle(np.zeros(6, int), -0.5) == 0
    assert reference.middle(np.zeros(6, int), 0.5) == 499.5
    unit = handmade.landing_height(10)
    board = np.zeros((20, 10), int)
    board[15:19, 3] = 1
    assert reference.unit_value(board, unit) == 2.5
    board[:] = 0
    board[19, 2:6] = 1
    assert reference.unit_value(board, unit) == 0
    column = Unit(0, "column", (1,) * 20, -0.5, 1.0, middle=True)
    board[:] = 0
    board[3, 0] = 1
    assert reference.unit_value(board, column) == 9
    assert reference.unit_value(board[:, ::-1], column) == 0


def test_the_studys_board_with_wells() -> None:
    board = np.zeros((20, 10), int)
    board[17:] = rows("1110100000", "1111110100", "1101110111")
    expected = [
        (handmade.wells(), 5),
        (replace(handmade.wells(), loop=None), 4),
        (handmade.row_transitions(), 46),
        (handmade.column_transitions(), 22),
        (replace(handmade.column_transitions(), flip=None), 11),
        (handmade.direct_holes(), 1),
        (handmade.holes(), 1),
    ]
    assert [reference.unit_value(board, unit) for unit, _ in expected] == [n for _, n in expected]
    empty = np.zeros((20, 10), int)
    units = handmade.row_transitions(), handmade.column_transitions(), handmade.wells()
    assert [reference.unit_value(empty, unit) for unit in units] == [40, 20, 0]


def test_corners_of_the_frame_are_of_the_ends() -> None:
    corner = Unit(0, "square", (1, 0, 0, 0, 0, 0, 0, 0, 0), -0.5, 1.0)
    empty = np.zeros((4, 5), int)
    for sides, ends, count in ((0, 0, 0), (1, 0, 3), (0, 1, 5), (1, 1, 8)):
        assert reference.unit_value(empty, replace(corner, sides=sides, ends=ends)) == count


@given(st.integers(0, 10**6), st.sampled_from([(20, 10), (7, 5), (4, 4), (3, 12)]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_compiled_units_are_the_reference(seed: int, shape: tuple[int, int], flags: bool) -> None:
    rng = np.random.default_rng(seed)
    seen = rng.integers(0, 2, (3, 2, *shape)) if flags else rng.integers(-3, 9, (3, 2, *shape))
    network = random_network(seed, 2, *shape)
    found = kernels.values(seen, *network.tables())
    expected = [reference.value(each, network) for each in seen]
    assert found == pytest.approx(expected)


@given(st.integers(0, 10**6), st.sampled_from([(20, 10), (9, 6), (5, 4), (12, 13)]))
@settings(max_examples=80, deadline=None)
def test_units_on_rows_of_bits_are_the_reference(seed: int, shape: tuple[int, int]) -> None:
    network = random_network(seed, 3, *shape)
    at, piece = wall(seed, *shape), seed % 7
    found = values_after_all(at, piece, *shape, network)
    expected = [reference.value(each, network) for each in placed(at, piece, *shape)]
    assert found == pytest.approx(expected)


# -- loops -----------------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(["left", "up", "right", "down"]), st.integers(0, 1))
@settings(max_examples=40, deadline=None)
def test_loops_end_within_the_board(seed: int, direction: Any, count: int) -> None:
    board = np.random.default_rng(seed).integers(0, 2, (6, 5))
    fired = np.ones((6, 5), int)
    assert reference.walk(board, fired, direction, count) <= reference.longest(6, 5)


@pytest.mark.parametrize("cells", [0, 1])
@pytest.mark.parametrize("direction", ["left", "up", "right", "down"])
def test_the_worst_loop_ends(direction: Any, cells: int) -> None:
    """Every cell fires and every walk crosses the board."""
    unit = Unit(2, "square", (0,) * 9, 20.0, 1.0, loop=direction, count=cells)
    board = np.full((20, 10), cells)
    across = direction in ("left", "right")
    expected = 20 * sum(range(1, 11)) if across else 10 * sum(range(1, 21))
    assert reference.unit_value(board, unit) == expected
    network = UnitNetwork((unit,), 3, 20, 10)
    assert kernels.values(np.stack([board] * 3)[None], *network.tables())[0] == expected
    assert bits.play(20, 10, ALL_PIECES, 200, 1, *network.tables(), False)[1] > 0


# -- units set by hand -----------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from([(20, 10), (8, 6), (12, 5)]))
@settings(max_examples=60, deadline=None)
def test_hand_made_units_are_dellacheries_features(seed: int, shape: tuple[int, int]) -> None:
    board = TetrisBoard(*shape, rng=random.Random(seed))
    board.wall[:] = wall(seed, *shape)
    features, over = named.after_all(board)
    seen = placed(board.wall, board.piece, *shape)
    below = [(seen[n, 1].sum() == board_cells(board) + 4) and not over[n] for n in range(len(seen))]
    units = {
        0: handmade.landing_height(shape[1]),
        2: handmade.row_transitions(),
        4: handmade.holes(),
        5: handmade.wells(),
    }
    exact = handmade.network("exact", 3, *shape)
    six = np.array(named.DELLACHERIE)
    for n in np.flatnonzero(below):
        for feature, unit in units.items():
            assert reference.unit_value(seen[n, unit.plane], unit) == features[n, feature]
        after = seen[n, 2]
        columns = reference.unit_value(after, handmade.column_transitions())
        assert columns == features[n, 3] + (after[0] == 0).sum() - (after[0] == 1).sum()
        direct = reference.unit_value(after, handmade.direct_holes())
        assert 2 * direct + shape[1] == features[n, 3]
        rows_cleared = reference.unit_value(seen[n, 1], handmade.completed_rows(shape[1]))
        assert rows_cleared == (seen[n, 1].sum(1) == shape[1]).sum()
        # The network is Dellacherie's evaluation, with rows cleared in place of eroded cells.
        expected = features[n] @ six - features[n, 1] + rows_cleared
        assert reference.value(seen[n], exact) == pytest.approx(expected)


def board_cells(board: TetrisBoard) -> int:
    return sum(int(row).bit_count() for row in board.wall)


def test_learned_weights_are_of_the_studys_units_and_better() -> None:
    study, learned = (handmade.network(preset, 3, 8, 10) for preset in ("study", "learned"))
    assert [replace(unit, weight=0) for unit in study.units] == [
        replace(unit, weight=0) for unit in learned.units
    ]
    lines = [
        sum(bits.play(8, 10, ALL_PIECES, 0, seed, *net.tables(), False)[0] for seed in range(20))
        for net in (study, learned)
    ]
    assert lines[1] > 1.5 * lines[0]


def test_hand_made_units_need_three_boards() -> None:
    with pytest.raises(DovetailError, match="the hand-made units look at 3 boards"):
        handmade.network("study", 1, 20, 10)


# -- games -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_compiled_games_are_the_environments(seed: int) -> None:
    """The same placements on the rules' own board, valued by the plain reference."""
    shape = (8, 6)
    network = random_network(seed, 3, *shape) if seed == 2 else handmade.network("exact", 3, *shape)
    state = np.array([seed], np.uint64)
    board = TetrisBoard(*shape)
    while not board.over and board.placed < 40:
        board.piece = draw(state, 7)
        seen = placed(board.wall, board.piece, *shape)
        values = [reference.value(each, network) for each in seen]
        board.place(board.legal()[int(np.argmax(np.round(values, 9)))])
    found = bits.play(*shape, ALL_PIECES, 40, seed, *network.tables(), False)
    assert found == (board.lines, board.placed, board.over)


def test_the_agent_plays_the_same_placements() -> None:
    chosen: list[tuple[int, int]] = []
    network = handmade.network("exact", 3, 12, 8)

    class Watched(Tetris):
        def step(self, actions: Any) -> Any:
            board = self.board
            values = values_after_all(board.wall, board.piece, 12, 8, network)
            chosen.append((actions[0], board.legal()[int(values.argmax())]))
            return super().step(actions)

    with InProcess([Watched], [FeatureNetwork]) as experiment:
        player = experiment.create("feature-network")
        options = {"height": 12, "width": 8, "max_pieces": 40, "afterstates": "boards"}
        experiment.run("tetris", [player], configuration=options, episodes=1).wait()
        assert experiment.save(player) == b""
    assert len(chosen) == 40
    assert all(ours == theirs for ours, theirs in chosen)


def test_a_genome_is_saved_loaded_and_played() -> None:
    network = handmade.network("study", 3, 10, 10)
    state = Genome.of(network, {"command": "by hand"}).bytes()
    options = {"height": 10, "max_pieces": 60, "afterstates": "boards"}
    with InProcess([Tetris], [FeatureNetwork]) as experiment:
        loaded = experiment.create("feature-network", state=state)
        genome = {"genome": encode(network).tolist()}
        told = experiment.create("feature-network", parameters=genome)
        preset = experiment.create("feature-network", parameters={"units": "study"})
        runs = [
            experiment.run("tetris", [agent], configuration=options, episodes=4, seed=3)
            for agent in (loaded, told, preset)
        ]
        totals = [[episode.seats[0].total for episode in run] for run in runs]
        assert totals[0] == totals[1] == totals[2]
        assert sum(totals[0]) > 20
        assert experiment.save(loaded) == state
        with pytest.raises(DovetailError, match="genes are from 0 to 1"):
            experiment.create("feature-network", parameters={"genome": [2.0] * 22})
        with pytest.raises(DovetailError, match="not a saved feature-network"):
            experiment.create("feature-network", state=b"{}")
        for wrong, said in (
            ({"rows": 0}, r">= 1 - at `\$.rows`"),
            ({"planes": 10**12}, r"<= 256 - at `\$.planes`"),
        ):
            bad = msgspec.json.encode(msgspec.json.decode(state) | wrong)
            with pytest.raises(DovetailError, match=f"not a saved feature-network: .*{said}"):
                experiment.create("feature-network", state=bad)
        high = options | {"height": 20}
        results = experiment.run("tetris", [loaded], configuration=high, retries=0).wait()
        assert "this genome is for 3 boards of 10 x 10" in results[0].message


def test_without_the_three_boards_it_still_plays() -> None:
    with InProcess([Tetris], [FeatureNetwork]) as experiment:
        player = experiment.create("feature-network")
        low = {"height": 12, "max_pieces": 200}
        run = experiment.run("tetris", [player], configuration=low, episodes=3, seed=1)
        assert sum(episode.seats[0].total for episode in run) > 30


# -- other games -----------------------------------------------------------------------------------


def test_boards_of_one_plane_make_three() -> None:
    after = np.array([[[1, 2], [0, 0]], [[0, 0], [2, 1]]], np.uint8)
    before = np.array([[1, 1], [0, 1]], np.uint8)
    found = boards(after, before)
    assert found.shape == (2, 3, 2, 2)
    assert found[0, 0].tolist() == [[0, 1], [0, -1]]
    assert (found[:, 1] == after).all()
    assert (found[:, 2] == after).all()
    assert (boards(after, {"piece": 1, "board": before}) == found).all()
    assert (boards(after, {"piece": 1}) == np.stack([after] * 3, 1)).all()
    with pytest.raises(DovetailError, match="needs whole-number boards"):
        boards(np.zeros((3, 4)), before)


def test_compiled_games_of_2048_are_the_agents() -> None:
    """The same genome on the rules' boards, through the agent's own view of them."""
    network = random_network(5, 3, 4, 4)
    state = np.array([7], np.uint64)
    tiles = np.zeros(16, np.int64)
    appear(tiles, state)
    appear(tiles, state)
    score = moves = 0
    while True:
        board = tuple(tuple(row) for row in tiles.reshape(4, 4).tolist())
        options = [(after, gain) for after, gain in after_moves(board) if after != board]
        if not options:
            break
        seen = boards(np.array([after for after, _ in options]), tiles.reshape(4, 4))
        best = int(np.argmax([round(reference.value(each, network), 9) for each in seen]))
        score += options[best][1]
        tiles = np.array(options[best][0]).ravel()
        appear(tiles, state)
        moves += 1
    assert sliding.play(4, 4, 0, 7, *network.tables()) == (score, moves, True)
    assert sliding.Sliding(network).play(type("Cut", (), {"most": 3}), np.uint64(7))[1:] == (
        3,
        False,
    )


def test_one_genome_plays_2048_and_tetris() -> None:
    """Free squares and large tiles are counted by units for any game; they do better than
    chance."""
    free = Unit(2, "row", (1, 1, 1, 1), -1.5, -1.0)
    network = UnitNetwork((free,), 3, 4, 4)
    state = Genome.of(network).bytes()
    with InProcess([Game2048, Tetris], [FeatureNetwork, Random]) as experiment:
        agent = experiment.create("feature-network", state=state)
        run = experiment.run("2048", [agent], episodes=5, seed=1)
        assert all(episode.reason == "terminated" for episode in run)
        low = {"height": 4, "width": 4, "afterstates": "boards", "max_pieces": 20}
        run = experiment.run("tetris", [agent], configuration=low, episodes=5, seed=1)
        assert all(episode.reason in ("terminated", "truncated") for episode in run)


def test_what_it_cannot_play_it_says() -> None:
    with InProcess([Dominion], [FeatureNetwork, Random]) as experiment:
        agent = experiment.create("feature-network")
        other = experiment.create("random")
        with pytest.raises(DovetailError, match="feature-network needs boards of rows x columns"):
            experiment.run("dominion", [agent, other], retries=0).wait()
