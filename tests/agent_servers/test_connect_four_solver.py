from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

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
