"""Territory of Amazons by hand and by a plain search, the player's choices, and its book."""

import random
from collections import deque
from typing import Any

import numpy as np
import pytest

from dovetail import InProcess
from dovetail.peer.agents.agent import Decision, Seat, Thoughts
from dovetail_agents.games.amazons import AmazonsTerritory, book, build, territory
from dovetail_agents.games.amazons.position import AmazonsGeometry, AmazonsPosition, AmazonsSearch
from dovetail_agents.games.amazons.territorial import AmazonsTerritoryParameters
from dovetail_games.amazons import Amazons, Configuration
from dovetail_games.amazons.rules import AmazonsBoard, start_position

STEPS = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]


def planes_of(board: AmazonsBoard) -> Any:
    squares = board.squares.reshape(board.rows, board.columns)
    marks = (1, 2, 3) if board.mover == 0 else (2, 1, 3)
    return np.array([squares == mark for mark in marks], np.uint8)


def prepared(board: AmazonsBoard) -> Any:
    geometry = AmazonsGeometry(board.rows, board.columns)
    position = AmazonsPosition(planes_of(board), geometry)
    return AmazonsSearch(np.zeros(12), 1.0, False, territory.WON).work(position), position


def measured(board: AmazonsBoard, mover: int = 0) -> list[float]:
    work, _ = prepared(board)
    found: Any = np.empty(5)
    territory.features(work, mover, found)
    return [float(each) for each in found]


def random_board(seed: int, rows: int, columns: int, turns: int) -> AmazonsBoard:
    rng, board = random.Random(seed), AmazonsBoard(start_position(rows, columns))
    for _ in range(turns):
        if not board.over:
            board.play(rng.choice(board.legal()))
    return board


def moves_needed(grid: Any, mark: int, longest: int) -> dict[tuple[int, int], int]:
    """Return the least moves of at most ``longest`` squares to each free square, by search."""
    waiting = deque((row, column, 0) for row, column in np.argwhere(grid == mark).tolist())
    found: dict[tuple[int, int], int] = {}
    while waiting:
        row, column, moves = waiting.popleft()
        for down, right in STEPS:
            for far in range(1, longest + 1):
                at = row + far * down, column + far * right
                if not (0 <= at[0] < grid.shape[0] and 0 <= at[1] < grid.shape[1]) or grid[at]:
                    break
                if at not in found:
                    found[at] = moves + 1
                    waiting.append((*at, moves + 1))
    return found


def test_territory_that_only_one_side_reaches_is_its_own() -> None:
    # The arrows part the board: three free squares are the mover's, two the opponent's.
    t1, t2, _, c2, dispute = measured(AmazonsBoard("a..x./..xxb/xxx.x"))
    assert (t1, t2, dispute) == (4.0 - 2.0, 4.0 - 2.0, 0.0)
    assert c2 == 2.0


def test_a_square_that_both_reach_is_worth_a_little_to_the_side_to_move() -> None:
    board = AmazonsBoard("a.b")
    assert measured(board, 0)[:2] == [0.2, 0.2]
    assert measured(board, 1)[:2] == [-0.2, -0.2]
    assert measured(board)[2:] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("seed", range(8))
def test_features_are_those_of_a_plain_search(seed: int) -> None:
    board = random_board(seed, 6, 7, 3 * seed)
    planes = planes_of(board)
    grid = planes[0] + 2 * planes[1] + 3 * planes[2]
    sums = dict.fromkeys(("t1", "t2", "c1", "c2", "dispute"), 0.0)
    for name, longest in (("t1", 9), ("t2", 1)):
        own, other = moves_needed(grid, 1, longest), moves_needed(grid, 2, longest)
        for row, column in np.argwhere(grid == 0).tolist():
            a, b = (each.get((row, column), 60) for each in (own, other))
            if a != b:
                sums[name] += 1 if a < b else -1
            elif a < 60:
                sums[name] += 0.2
            if name == "t1":
                sums["c1"] += 2 * (2.0**-a - 2.0**-b)
                sums["dispute"] += 2.0 ** -abs(a - b) if max(a, b) < 60 else 0.0
            else:
                sums["c2"] += min(1.0, max(-1.0, (b - a) / 6))
    sums["dispute"] /= max(1, (grid == 0).sum())
    assert measured(board) == pytest.approx(list(sums.values()))


@pytest.mark.parametrize("seed", range(4))
def test_the_best_moves_are_those_of_plain_minimax(seed: int) -> None:
    board = random_board(seed, 5, 5, 6)

    def worth(after: AmazonsBoard, mover: int) -> float:
        """Return the value to ``mover``, who has just moved."""
        work, _ = prepared(after)
        return -territory.evaluate(work, 0, np.empty(5))

    def replied(after: AmazonsBoard, mover: int) -> float:
        if after.over:
            return territory.WON
        return min(-worth(build.after(after, reply), 1 - mover) for reply in after.legal())

    exact = {action: replied(build.after(board, action), board.mover) for action in board.legal()}
    player = AmazonsTerritory(AmazonsTerritoryParameters(depth=2))
    game = Amazons(Configuration(rows=5, columns=5))
    player.init(Seat(0, 0, game.init()))
    actions, values = player.considered(planes_of(board))
    best = max(exact.values())
    assert sorted(actions) == sorted(exact)
    assert {a for a, v in zip(actions, values, strict=True) if v > best - 1e-9} == {
        a for a, v in exact.items() if v > best - 1e-9
    }
    assert all(value >= exact[a] - 1e-9 for a, value in zip(actions, values, strict=True))


def test_it_takes_a_move_after_which_the_opponent_has_none() -> None:
    board = AmazonsBoard("a..b/xxxx")
    player = AmazonsTerritory(AmazonsTerritoryParameters(depth=1))
    player.init(Seat(0, 0, Amazons(Configuration(position="a..b/xxxx")).init()))
    actions, values = player.considered(planes_of(board))
    won = {a for a, v in zip(actions, values, strict=True) if v == territory.WON}
    assert won == {action for action in board.legal() if build.after(board, action).winner == 0}
    assert 0 < len(won) < len(actions)


def test_it_beats_the_study() -> None:
    from dovetail_agents.games.amazons import AmazonsPlayer
    from dovetail_studies.playing import match

    with InProcess([Amazons], [AmazonsPlayer, AmazonsTerritory]) as experiment:
        pair = [
            experiment.create("amazons-territory", parameters={"depth": 1}, seed=1),
            experiment.create("amazons-player", parameters={"rollouts": False}, seed=1),
        ]
        board = {"rows": 8, "columns": 8}
        assert match(experiment, "amazons", pair, 10, 1, board, openings=2).wins >= 7


def test_a_move_of_the_book_is_found_from_each_image() -> None:
    board = AmazonsBoard(start_position(8, 8))
    board.play(board.legal()[7])
    position, places = book.image(book.seen(planes_of(board)))
    action = board.legal()[100]
    kept = {position: book.moved(action, np.argsort(places))}
    assert book.look_up(kept, planes_of(board)) == action
    for turn in range(4):
        for step in (1, -1):
            planes = np.rot90(planes_of(board), turn, (1, 2))[:, :, ::step]
            found = book.look_up(kept, planes)
            assert found is not None
            squares = np.arange(64).reshape(8, 8)
            there = np.argsort(np.rot90(squares, turn)[:, ::step].ravel())
            assert found == book.moved(action, there)
    assert book.look_up(kept, planes_of(AmazonsBoard(start_position(8, 8)))) is None
    assert book.look_up(kept, planes_of(AmazonsBoard(start_position(6, 6)))) is None


def test_the_book_that_ships_has_legal_moves() -> None:
    moves = book.read()
    assert moves
    for position, action in moves.items():
        marks = str.maketrans("0123", ".abx")
        grid = position.translate(marks)
        board = AmazonsBoard("/".join(grid[at : at + 8] for at in range(0, 64, 8)))
        assert action in board.legal()


def test_the_player_plays_from_the_book() -> None:
    player = AmazonsTerritory(AmazonsTerritoryParameters(book=True))
    game = Amazons(Configuration(rows=8, columns=8))
    spec = game.init()
    game.start(0)
    player.init(Seat(0, 0, spec))
    decision = Decision(
        *(Seat(0, 0, spec), 0, 0, game.observation(0), game.board.legal(), 0.0, "evaluate"),
        random.Random(1),
    )
    decision.think = True
    assert player.step(decision) == book.look_up(book.read(), game.observation(0))
    assert decision.thoughts == Thoughts(text="from the book")


def test_a_book_is_built_from_games(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "book.txt"
    given = ["build", "--plies", "2", "--moves", "2", "--games", "1", "--out", str(path)]
    monkeypatch.setattr("sys.argv", given)
    build.main()
    moves = book.read(path)
    assert len(moves) == 3  # the first position, and one after each of its two best moves
    board = AmazonsBoard(start_position(8, 8))
    first = book.look_up(moves, planes_of(board))
    assert first in board.legal()
    assert book.look_up(moves, planes_of(build.after(board, first))) is not None
