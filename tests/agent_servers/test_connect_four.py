"""The players of Connect Four: the solver, and the n-tuple network."""

from __future__ import annotations

import math
import random
import tracemalloc
import zlib
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.connect_four import ConnectFourSolver
from dovetail_agents.games.connect_four.book import (
    BOOK,
    PLIES,
    children,
    key,
    positions,
    reached,
    read,
)
from dovetail_agents.games.connect_four.build import build
from dovetail_agents.games.connect_four.ntuple import NTupleConnectFour, NTupleConnectFourParameters
from dovetail_agents.games.connect_four.ntuple.agent import LEAST_SHARE, Traces, looks
from dovetail_agents.games.connect_four.ntuple.kernels import COHERENCE
from dovetail_agents.games.connect_four.solver import Solver
from dovetail_games.connect_four import ConnectFour
from dovetail_games.connect_four.rules import ConnectFourBoard
from dovetail_studies.keeping import KeepValue, hard, kept

# A sample of Pons' test sets (http://blog.gamesolver.org/solving-connect-four/02-test-protocol/).
PUBLISHED = """
2252576253462244111563365343671351441 -1
7422341735647741166133573473242566 1
23163416124767223154467471272416755633 0
71255763773133525731261364622167124446454 0
65214673556155731566316327373221417 -1
52677675164321472411331752454 0
2762751722231276466633475674533 5
3642756176227637211322113551637574556 2
427566236745127177115664464254 2
3575316255751336464276636772271112 -3
67152117737262713366376314254 6
4455 18
44455554221 -15
"""


def minimax(board: ConnectFourBoard) -> int:
    """Return the score of a position by the rules alone."""
    left = 42 - board.moves
    if board.winner is not None:
        return -(left // 2 + 1)
    return 0 if board.over else max(-minimax(after) for _, after in children(board))


@pytest.fixture(scope="module")
def solver() -> Solver:
    return Solver(bits=20, book=False)


@pytest.mark.parametrize("line", PUBLISHED.split("\n")[1:-1])
def test_scores_are_those_of_published_positions(solver: Solver, line: str) -> None:
    moves, score = line.split()
    board = reached(moves)
    assert solver.score(board) == int(score)
    assert solver.value(board) == (int(score) > 0) - (int(score) < 0)


def test_endings_are_exact(solver: Solver) -> None:
    rng = random.Random(5)
    count = 0
    while count < 40:
        board = ConnectFourBoard()
        while not board.over and board.moves < 34:
            board.drop(rng.choice(board.legal()))
        if board.over:
            continue
        count += 1
        expected = {column: -minimax(after) for column, after in children(board)}
        assert solver.scores(board) == expected
        assert solver.score(board) == max(expected.values())
        most = max(expected.values())
        assert solver.best(board) == [x for x in sorted(expected) if expected[x] == most]
        signs = {column: (score > 0) - (score < 0) for column, score in expected.items()}
        assert solver.values(board) == signs


def test_threads_that_share_a_solver_do_not_disturb_each_other() -> None:
    boards: list[ConnectFourBoard] = []
    rng = random.Random(6)
    while len(boards) < 400:
        board = ConnectFourBoard()
        while not board.over and board.moves < 18:
            board.drop(rng.choice(board.legal()))
        if not board.over:
            boards.append(board)
    alone = Solver(bits=16, book=False)
    expected = [alone.score(board) for board in boards]
    shared = Solver(bits=16, book=False)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(shared.score, boards)) == expected


# By rows and columns: -1 if the second player wins, 0 for a draw (Tromp,
# http://tromp.github.io/c4/c4.html).
BOARDS = {(4, 4): 0, (4, 5): 0, (4, 6): -1, (5, 4): 0, (5, 5): 0, (6, 4): 0}


@pytest.mark.parametrize(("rows", "columns"), BOARDS)
def test_small_boards_have_their_published_values(rows: int, columns: int) -> None:
    assert Solver(rows, columns).value(ConnectFourBoard(rows, columns)) == BOARDS[rows, columns]


def test_mirror_images_share_a_place_in_the_book() -> None:
    assert key(reached("1223")) == key(reached("7665"))
    assert key(reached("1223")) != key(reached("1232"))


def test_a_book_is_continued_and_parents_follow_from_their_children(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("1 2\n2 1\n4 -1\n3 0\n")
    lines = list(build(1, path, bits=10, jobs=1))
    assert lines == [" 1"]
    assert path.read_text().endswith("3 0\n 1\n")
    assert not list(build(1, path, bits=10, jobs=1))


def test_the_book_is_whole_and_has_the_published_scores_of_the_first_columns() -> None:
    known = read(BOOK)
    assert set(known) == {each for ply in range(PLIES + 1) for each in positions(ply)}
    for ply in range(PLIES):
        for position, moves in positions(ply).items():
            after = (each for _, each in children(reached(moves)))
            assert known[position] == max(-known[key(each)] for each in after)
    # The middle wins, its neighbours draw (Allis 1988); with the number of moves, Pons.
    assert list(Solver().scores(ConnectFourBoard()).values()) == [-2, -1, 0, 1, 0, -1, -2]


def test_it_wins_what_is_won_and_refuses_boards_that_are_too_large() -> None:
    small = {"rows": 4, "columns": 6}  # the second player wins
    with InProcess([ConnectFour], [ConnectFourSolver, Random]) as experiment:
        players = [experiment.create("random", seed=1), experiment.create("connect-four-solver")]
        run = experiment.run("connect_four", players, episodes=20, configuration=small)
        assert [episode.outcome for episode in run] == [[0.0, 1.0]] * 20
    with pytest.raises(DovetailError, match="42 squares"):
        Solver(7, 7)
    with pytest.raises(DovetailError, match=r"\(rows \+ 1\) x columns is at most 54"):
        Solver(3, 14)


def test_players_are_told_apart_by_the_values_they_keep() -> None:
    with InProcess([KeepValue], [ConnectFourSolver, Random]) as experiment:
        best = kept(experiment, experiment.create("connect-four-solver"), 40, 1)
        chance = kept(experiment, experiment.create("random", seed=1), 40, 1)
    assert (best.positions, best.kept, best.lost) == (40, 40, 0.0)
    assert chance.kept < 30
    assert 0.1 < chance.lost < 1
    assert 0.1 < chance.chance == best.chance < 0.7


def test_a_hard_position_has_columns_that_keep_its_value_and_others() -> None:
    played, values = hard(3)
    assert (played, values) == hard(3)
    assert 14 <= len(played) <= 34
    assert len(set(values.values())) > 1


SMALL = NTupleConnectFourParameters(tuples=6, length=4, learning_rate=0.1)


class Plain:
    """The same by the rules and dictionaries."""

    def __init__(self, agent: NTupleConnectFour) -> None:
        self.places, self.tables = looks(6, 7, SMALL.tuples, SMALL.length, agent.seed)
        self.weights: Any = defaultdict(float)
        self.errors: Any = defaultdict(float)
        self.sizes: Any = defaultdict(float)

    def keys(self, board: ConnectFourBoard) -> list[tuple[int, int, tuple[str, ...]]]:
        """Return the entries of a position for the side that has just moved."""
        side = 1 - board.mover
        seen = {}
        for row in range(6):
            for column in range(7):
                bit = 1 << column * 7 + row
                if board.discs[side] & bit:
                    seen[row * 7 + column] = "own"
                elif board.discs[1 - side] & bit:
                    seen[row * 7 + column] = "other"
                else:
                    seen[row * 7 + column] = "next" if board.heights[column] == row else "free"
        return [
            (side, table, tuple(seen[square] for square in look))
            for table, look in zip(self.tables.tolist(), self.places.tolist(), strict=True)
        ]

    def value(self, board: ConnectFourBoard) -> float:
        """Return what a position is worth to the side that has just moved."""
        if board.over:
            return 0.0 if board.winner is None else 1.0
        return math.tanh(sum(self.weights[each] for each in self.keys(board)))

    def learn(self, board: ConnectFourBoard, decay: float = 0.0) -> list[float]:
        """Return the values of all columns, and learn; a new game begins on the empty board."""
        found = []
        for column in board.legal():
            after = board.copy()
            after.drop(column)
            found.append(self.value(after))
        if not board.moves:
            self.trace: list[tuple[list[Any], float]] = []
            return found
        was = self.value(board)
        self.trace.append((self.keys(board), 1 - was**2))
        for back, (keys, slope) in enumerate(reversed(self.trace)):
            share = (-decay) ** back
            if abs(share) < LEAST_SHARE:
                break
            step = SMALL.learning_rate * (-max(found) - was) * share * slope
            for each in keys:
                size = self.sizes[each]
                agreed = abs(self.errors[each]) / size if size else 1.0
                self.weights[each] += step * math.exp(COHERENCE * (agreed - 1))
                self.errors[each] += step
                self.sizes[each] += abs(step)
        return found


def planes(board: ConnectFourBoard) -> np.ndarray[Any, Any]:
    """Return what the side to move sees."""
    discs = board.discs[board.mover], board.discs[1 - board.mover]
    return np.array(
        [[[of >> c * 7 + r & 1 for c in range(7)] for r in range(6)] for of in discs], np.uint8
    )


def agent(parameters: NTupleConnectFourParameters = SMALL, seed: int = 1) -> NTupleConnectFour:
    found = NTupleConnectFour(parameters, seed)
    found._prepare((6, 7))
    return found


def values(
    learner: NTupleConnectFour, board: ConnectFourBoard, traces: Traces | None = None
) -> list[float]:
    legal = np.zeros((1, 7), bool)
    legal[0, board.legal()] = True
    found: list[float] = learner._values(planes(board)[None], legal, traces)[legal].tolist()
    return found


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 1.0])
def test_it_learns_what_a_plain_implementation_learns(decay: float) -> None:
    learner, rng = agent(replace(SMALL, trace=decay)), random.Random(5)
    plain, traces = Plain(learner), learner._traces(1)
    for _ in range(60):
        board = ConnectFourBoard()
        while not board.over:
            expected = plain.learn(board, decay)
            assert values(learner, board, traces) == pytest.approx(expected, abs=1e-4)
            if rng.random() < 0.1:
                plain.trace.clear()
                traces.cut(0)
            board.drop(rng.choice(board.legal()))
    assert np.count_nonzero(learner.sizes) == sum(1 for size in plain.sizes.values() if size)


def test_mirror_images_are_worth_the_same() -> None:
    learner, rng = agent(), random.Random(6)
    board = ConnectFourBoard()
    for _ in range(300):
        if board.over:
            board = ConnectFourBoard()
        values(learner, board, learner._traces(1))
        board.drop(rng.choice(board.legal()))
    for _ in range(30):
        board, image = ConnectFourBoard(), ConnectFourBoard()
        for _ in range(rng.randrange(20)):
            if not board.over:
                column = rng.choice(board.legal())
                board.drop(column)
                image.drop(6 - column)
        if not board.over:
            turned = values(learner, image)[::-1]
            assert values(learner, board) == pytest.approx(turned, abs=1e-6)


def test_errors_reach_the_moves_since_the_last_that_was_not_the_best() -> None:
    """In single matches, in which each seat is asked for itself."""
    learner = NTupleConnectFour(replace(SMALL, trace=0.9, epsilon=0.5), 1)
    lengths = []

    class Watched(NTupleConnectFour):
        def step(self, decision: Any) -> int:
            self.__dict__.update(learner.__dict__)
            column = learner.step(decision)
            [traces] = learner._games.values()
            lengths.append((decision.turn, int(traces.lengths[0])))
            return column

        def end(self, end: Any) -> None:
            learner.end(end)

        def init(self, seat: Any) -> None:
            learner.init(seat)

    with InProcess([ConnectFour], [Watched]) as experiment:
        player = experiment.create("ntuple-connect-four", seed=3)
        experiment.run("connect_four", [player] * 2, episodes=20, seed=1).wait()
    assert not learner._games
    expected = -1
    longest = 0
    for turn, length in lengths:
        expected = 0 if turn == 0 else expected + 1
        assert length in (0, expected)
        expected, longest = length, max(longest, length)
    assert longest >= 5
    assert sum(length == 0 for turn, length in lengths if turn) >= 50


def test_walks_are_of_neighbours_and_seeds_draw_others() -> None:
    places, tables = looks(6, 7, 30, 8, 3)
    assert places.shape == (60, 8)
    assert tables.tolist() == [*range(30), *range(30)]
    for walk in places.tolist():
        assert len(set(walk)) == 8
        for at, square in enumerate(walk[1:], 1):
            near = (max(abs(square // 7 - x // 7), abs(square % 7 - x % 7)) for x in walk[:at])
            assert min(near) == 1
    assert (looks(6, 7, 30, 8, 4)[0] != places).any()
    assert looks(2, 2, 3, 8, 1)[0].shape == (6, 4)


def test_a_saved_agent_continues_bit_for_bit() -> None:
    def play(experiment: Any, seats: list[int], seed: int) -> None:
        experiment.run("connect_four", seats, episodes=30, seed=seed).wait()

    given = {"tuples": 6, "length": 4}
    with InProcess([ConnectFour], [NTupleConnectFour]) as experiment:
        whole = experiment.create("ntuple-connect-four", parameters=given, seed=3)
        play(experiment, [whole] * 2, 1)
        again = experiment.create("ntuple-connect-four", state=experiment.save(whole))
        for each in (whole, again):
            play(experiment, [each] * 2, 2)
        assert experiment.save(whole) == experiment.save(again)


def test_it_learns_to_beat_random_and_evaluation_changes_nothing() -> None:
    with InProcess([ConnectFour], [NTupleConnectFour, Random]) as experiment:
        learner = experiment.create("ntuple-connect-four", seed=1)
        experiment.run("connect_four", [learner] * 2, episodes=2000, seed=1, stacked=True).wait()
        before = experiment.save(learner)
        seats = [experiment.create("random", seed=1), learner]
        run = experiment.run("connect_four", seats, episodes=100, seed=2, mode="evaluate")
        assert sum(episode.outcome == [0.0, 1.0] for episode in run) >= 80
        assert experiment.save(learner) == before


def test_states_that_would_reach_beyond_its_tables_are_refused() -> None:
    learner = agent()
    values(learner, ConnectFourBoard())
    learner.sizes.ravel()[-1] = 1.0
    large = learner.save()
    small = agent(NTupleConnectFourParameters(tuples=6, length=4, connect=5))
    for state in (large, small.save()):
        agent().load(state)
    learner.parameters = NTupleConnectFourParameters(tuples=5, length=4)
    with pytest.raises(DovetailError, match="an entry beyond the 2560 of its tables"):
        small.load(learner.save())
    assert small.parameters.connect == 5
    learner.shape = 30, 30
    with pytest.raises(DovetailError, match="a board of"):
        small.load(learner.save())


def test_a_small_state_does_not_take_more_memory_than_its_tables() -> None:
    learner = agent()
    values(learner, ConnectFourBoard())
    numbers = {
        "entries": np.zeros(25_000_000, np.uint32),
        **dict.fromkeys(("weights", "errors", "sizes"), np.zeros(25_000_000, np.float32)),
    }
    state = msgspec.msgpack.decode(learner.save())
    for name, array in numbers.items():
        packed = zlib.compress(array.tobytes(), 9)
        state["arrays"][name] |= {"shape": [array.size], "data": packed}
    data = msgspec.msgpack.encode(state)
    assert len(data) < 1_000_000
    tracemalloc.start()
    try:
        with pytest.raises(DovetailError, match="entries have 25000000 numbers; at most 3072"):
            learner.load(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("decay", [0.0, 0.8])
def test_compiled_games_with_itself_teach_what_the_same_games_teach_elsewhere(decay: float) -> None:
    # Without random moves both play the same games, or their mirror images: the tables look at all
    # squares, so that no other moves are equal.
    parameters = replace(SMALL, tuples=40, trace=decay, epsilon=0.0)
    given = msgspec.structs.asdict(parameters)
    both = [agent(parameters) for _ in range(2)]
    for each in both:
        each.weights[:] = np.random.default_rng(1).normal(0, 0.1, each.weights.shape)
        each.errors[:] = each.sizes[:] = 1e-20  # so that all weights are in a saved state
    both[0].play_itself(3, seed=1)
    with InProcess([ConnectFour], [NTupleConnectFour]) as experiment:
        player = experiment.create(NTupleConnectFour.name, parameters=given, seed=1)
        experiment.load(player, both[1].save())
        experiment.run("connect_four", [player, player], episodes=3, seed=1).wait()
        other = agent(parameters)
        other.load(experiment.save(player))
    changed = np.flatnonzero(both[0].sizes > 1e-20)
    assert len(changed) > 100
    assert both[0].steps == other.steps
    for name in ("weights", "errors"):
        ours, theirs = (getattr(each, name).ravel()[changed] for each in (both[0], other))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_compiled_games_with_itself_depend_on_their_seed() -> None:
    learned = [agent() for _ in range(3)]
    for each, seed in zip(learned, (1, 1, 2), strict=True):
        each.play_itself(20, seed)
    assert np.array_equal(learned[0].weights, learned[1].weights)
    assert not np.array_equal(learned[0].weights, learned[2].weights)
