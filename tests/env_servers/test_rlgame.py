"""RLGame against rules written a second time, from the study's text, with sets and tuples."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import DovetailError
from dovetail.peer import options
from dovetail.peer.environments.environment import IllegalAction
from dovetail_games.rlgame import Configuration, RLGame, RLGameBoard

Square = tuple[int, int]
IN_BASE: Square = (-1, -1)
ENTERED: Square = (-2, -2)
DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1)]


class Slow:
    """Pawns by number and player; every rule as a sentence of the study."""

    def __init__(self, n: int, a: int, pawns: int, loss: str, bases: bool) -> None:
        self.n, self.a, self.count, self.loss, self.bases = n, a, pawns, loss, bases
        self.pawns: list[dict[int, Square]] = [
            dict.fromkeys(range(pawns), IN_BASE) for _ in range(2)
        ]
        self.mover = 0
        self.winner: int | None = None

    def base_of(self, player: int) -> set[Square]:
        corner = {(x, y) for x in range(self.a) for y in range(self.a)}
        if player == 0:
            return corner
        return {(self.n - 1 - x, self.n - 1 - y) for x, y in corner}

    def distance(self, player: int, square: Square) -> int:
        """The study's formula, with the board's coordinates from 1."""
        x, y = square[0] + 1, square[1] + 1
        if player == 0:
            return max(x - self.a, y - self.a)
        return max(self.n - self.a - x, self.n - self.a - y)

    def occupied(self) -> set[Square]:
        return {s for side in self.pawns for s in side.values() if s not in (IN_BASE, ENTERED)}

    def exits(self, player: int) -> list[Square]:
        """Squares that share a side with the base."""
        base = self.base_of(player)
        beside = {
            (x + dx, y + dy)
            for x, y in base
            for dx, dy in DIRECTIONS
            if 0 <= x + dx < self.n and 0 <= y + dy < self.n
        }
        return sorted(beside - base)

    def targets(self, player: int, square: Square) -> list[Square]:
        """Where the rules of movement lead, occupied or not."""
        if square == IN_BASE:
            return self.exits(player)
        found = []
        for dx, dy in DIRECTIONS:
            x, y = square[0] + dx, square[1] + dy
            if not (0 <= x < self.n and 0 <= y < self.n):
                continue
            if self.distance(player, (x, y)) >= self.distance(player, square):
                found.append((x, y))
        return found

    def free(self, player: int, square: Square) -> list[Square]:
        taken = self.occupied()
        return [t for t in self.targets(player, square) if t not in taken]

    def moves(self) -> set[tuple[Square, Square]]:
        me = self.mover
        return {(s, t) for s in self.pawns[me].values() for t in self.free(me, s)}

    def play(self, source: Square, target: Square) -> None:
        me = self.mover
        number = min(k for k, s in self.pawns[me].items() if s == source)
        self.mover = 1 - me
        if target in self.base_of(1 - me):
            self.pawns[me][number] = ENTERED
            self.winner = me
            return
        self.pawns[me][number] = target
        self.sweep()
        if not self.pawns[me]:
            self.winner = 1 - me
        elif not self.pawns[1 - me] or not self.moves():
            self.winner = me

    def doomed(self, player: int, number: int) -> bool:
        square = self.pawns[player].get(number)
        if square is None or (square == IN_BASE and not self.bases):
            return False
        return not self.free(player, square)

    def sweep(self) -> None:
        order = [(number, player) for number in range(self.count) for player in (1, 0)]
        if self.loss == "simultaneous":
            for number, player in [each for each in order if self.doomed(each[1], each[0])]:
                del self.pawns[player][number]
            return
        for number, player in order:
            if self.doomed(player, number):
                del self.pawns[player][number]


def ends(board: RLGameBoard, action: int) -> tuple[Square, Square]:
    """Decode a move's number by its documentation."""
    n, a = board.geometry.size, board.geometry.base
    if action >= 4 * n * n:
        number = action - 4 * n * n
        x, y = (a, number) if number < a else (number - a, a)
        return IN_BASE, ((x, y) if board.mover == 0 else (n - 1 - x, n - 1 - y))
    square, direction = divmod(action, 4)
    x, y = divmod(square, n)
    dx, dy = DIRECTIONS[direction]
    return (x, y), (x + dx, y + dy)


def same(board: RLGameBoard, slow: Slow) -> None:
    n = board.geometry.size
    for player in (0, 1):
        placed = sorted(s[0] * n + s[1] for s in slow.pawns[player].values() if s[0] >= 0)
        assert [s for s in range(n * n) if board.cells[s] == player + 1] == placed
        assert board.alive(player) == len(slow.pawns[player])
        assert board.inside(player) == list(slow.pawns[player].values()).count(IN_BASE)
    assert board.winner == slow.winner
    if not board.over:
        assert board.mover == slow.mover
        assert {ends(board, action) for action in board.legal()} == slow.moves()


SIZES = [(8, 2, 10), (6, 2, 10), (5, 1, 4), (7, 3, 5), (4, 1, 1), (3, 1, 2), (9, 4, 12)]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SIZES),
    st.sampled_from(["ordered", "simultaneous"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_it_agrees_with_slow_rules_move_by_move(
    shape: tuple[int, int, int], loss: Any, bases: bool, rng: Any
) -> None:
    board = RLGameBoard(*shape, 0, loss, bases)
    slow = Slow(*shape, loss, bases)
    for _ in range(150):
        same(board, slow)
        if board.over:
            break
        action = rng.choice(board.legal())
        slow.play(*ends(board, action))
        board.play(action)
    same(board, slow)


def perft(board: RLGameBoard, depth: int) -> int:
    if depth == 0 or board.over:
        return 1
    total = 0
    for action in board.legal():
        after = board.copy()
        after.play(action)
        total += perft(after, depth - 1)
    return total


def perft_slowly(slow: Slow, depth: int) -> int:
    if depth == 0 or slow.winner is not None:
        return 1
    total = 0
    for move in slow.moves():
        after = Slow(slow.n, slow.a, slow.count, slow.loss, slow.bases)
        after.pawns = [dict(side) for side in slow.pawns]
        after.mover = slow.mover
        after.play(*move)
        total += perft_slowly(after, depth - 1)
    return total


@pytest.mark.parametrize("moves", [0, 12, 40, 60])
def test_games_are_as_many_as_by_slow_rules(moves: int) -> None:
    board, slow, rng = RLGameBoard(6, 2, 10), Slow(6, 2, 10, "ordered", True), random.Random(moves)
    for _ in range(moves):
        action = rng.choice(board.legal())
        slow.play(*ends(board, action))
        board.play(action)
        if board.over:
            board, slow = RLGameBoard(6, 2, 10), Slow(6, 2, 10, "ordered", True)
    assert perft(board, 3) == perft_slowly(slow, 3)


def test_the_shortest_way_in_is_as_the_study_says() -> None:
    """2 (n - 2a) + 2 own moves: 10 on 8 x 8 and 6 on 6 x 6, by search over one pawn's moves."""
    for n, a, expected in ((8, 2, 10), (6, 2, 6)):
        slow = Slow(n, a, 1, "ordered", True)
        reached, seen, steps = {IN_BASE}, {IN_BASE}, 0
        while not reached & slow.base_of(1):
            reached = {t for s in reached for t in slow.targets(0, s)} - seen
            seen |= reached
            steps += 1
        assert steps == 2 * (n - 2 * a) + 2 == expected


def invariants(board: RLGameBoard) -> None:
    for player in (0, 1):
        on_board = int((board.cells == player + 1).sum())
        assert on_board + board.inside(player) + board.home(player) == board.alive(player)
        assert board.alive(player) <= board.pawns.shape[1]
    # Whoever is left can move, so there is never a need to pass.
    if not board.over:
        assert board.legal()


def random_games(count: int, every: int = 1, **shape: Any) -> dict[str, float]:
    rng = random.Random(1)
    wins, moves, entered, cut = [0, 0], 0, 0, 0
    for _ in range(count):
        board = RLGameBoard(**shape)
        while not board.over and board.moves < 20_000:
            before = [board.alive(0), board.alive(1)]
            board.play(rng.choice(board.legal()))
            if board.moves % every == 0 or board.over:
                assert board.alive(0) <= before[0]
                assert board.alive(1) <= before[1]
                invariants(board)
        moves += board.moves
        if board.winner is None:
            cut += 1
            continue
        wins[board.winner] += 1
        entered += board.home(board.winner)
    return {
        "white": wins[0] / count,
        "black": wins[1] / count,
        "moves": moves / count,
        "entered": entered / count,
        "cut": cut / count,
    }


def test_random_play_keeps_what_must_be_kept() -> None:
    found = random_games(300)
    assert found["cut"] == 0
    assert found["white"] + found["black"] == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_random_games() -> None:
    print("rlgame, 10^5 random games:", random_games(100_000, every=20))


def position(
    white: list[Square | None], black: list[Square | None], mover: int = 0, **shape: Any
) -> RLGameBoard:
    """A board with these pawns by number; None is a lost one."""
    board = RLGameBoard(pawns=len(white), first=mover, **shape)
    n = board.geometry.size
    for player, side in enumerate((white, black)):
        for number, square in enumerate(side):
            if square is None:
                board.pawns[player, number] = -2
            elif square != IN_BASE:
                board.pawns[player, number] = square[0] * n + square[1]
                board.cells[board.pawns[player, number]] = player + 1
    return board


def move(board: RLGameBoard, source: Square, target: Square) -> RLGameBoard:
    (action,) = [each for each in board.legal() if ends(board, each) == (source, target)]
    board.play(action)
    return board


def left(board: RLGameBoard, player: int) -> list[int]:
    """The numbers of the pawns that live."""
    return [number for number, square in enumerate(board.pawns[player]) if square != -2]


def test_a_pawn_is_lost_to_friend_and_foe_alike() -> None:
    """White's pawn in the corner (7, 0) can only go to (7, 1)."""
    friend = position([(7, 0), (6, 1)], [IN_BASE, IN_BASE])
    assert left(move(friend, (6, 1), (7, 1)), 0) == [1]
    foe = position([(7, 0), (4, 4)], [(7, 2), IN_BASE], mover=1)
    assert left(move(foe, (7, 2), (7, 1)), 0) == [1]
    assert foe.winner is None


def test_a_move_may_lose_the_pawn_that_makes_it_and_the_game_with_it() -> None:
    board = position([(6, 0), (4, 4)], [(7, 1), IN_BASE])
    assert left(move(board, (6, 0), (7, 0)), 0) == [1]
    assert board.winner is None
    board = position([(6, 0), None], [(7, 1), IN_BASE])
    assert left(move(board, (6, 0), (7, 0)), 0) == []
    assert board.winner == 1


@pytest.mark.parametrize(("bases", "alive"), [(True, 4), (False, 10)])
def test_pawns_in_a_base_are_lost_when_its_exits_are_occupied(bases: bool, alive: int) -> None:
    outside: list[Square | None] = [(2, 0), (2, 1), (0, 2)]
    board = position(outside + [IN_BASE] * 7, [IN_BASE] * 10, base_pawns=bases)
    move(board, IN_BASE, (1, 2))
    assert board.alive(0) == alive
    assert board.inside(0) == alive - 4


@pytest.mark.parametrize(
    ("loss", "corner_first", "survivors"),
    [
        ("ordered", True, [1]),
        ("ordered", False, [1]),
        ("simultaneous", True, []),
        ("simultaneous", False, []),
    ],
)
def test_in_order_a_lost_pawn_saves_its_neighbour_and_together_it_does_not(
    loss: Any, corner_first: bool, survivors: list[int]
) -> None:
    """White's pawns on (7, 0) and (7, 1) block each other; Black holds (7, 2)."""
    pawns: list[Square | None] = [(7, 0), (6, 1)]
    board = position(
        pawns if corner_first else pawns[::-1], [(7, 2), IN_BASE], loss=loss, base_pawns=True
    )
    move(board, (6, 1), (7, 1))
    assert left(board, 0) == survivors
    assert board.winner == (None if survivors else 1)


@pytest.mark.parametrize(("number", "white", "black"), [(0, [0, 1], [1]), (1, [1], [0, 1])])
def test_of_equal_numbers_the_black_pawn_is_looked_at_first(
    number: int, white: list[int], black: list[int]
) -> None:
    """White's pawn 0 on (7, 0) and a Black pawn on (7, 1) are blocked by the same move."""
    theirs: list[Square | None] = [IN_BASE, IN_BASE]
    theirs[number] = (7, 1)
    board = position([(6, 0), (6, 1)], theirs)
    move(board, (6, 0), (7, 0))
    assert (left(board, 0), left(board, 1)) == (white, black)


@pytest.mark.parametrize("loss", ["ordered", "simultaneous"])
def test_if_all_pawns_are_lost_at_once_the_mover_loses(loss: Any) -> None:
    """A full board of 3 x 3; looked at in order, the last pawn always has room."""
    board = position(
        [(0, 1), (2, 0), (0, 2), IN_BASE],
        [(1, 1), (1, 2), (2, 1), None],
        size=3,
        base=1,
        loss=loss,
    )
    move(board, IN_BASE, (1, 0))
    if loss == "simultaneous":
        assert (board.alive(0), board.alive(1), board.winner) == (0, 0, 1)
    else:
        assert board.alive(0) + board.alive(1) > 0


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SIZES), st.booleans(), st.randoms(use_true_random=False))
def test_with_colours_and_corners_exchanged_the_game_is_the_same(
    shape: tuple[int, int, int], bases: bool, rng: Any
) -> None:
    """Not so looked at in order, where Black's pawns come first."""
    squares = shape[0] ** 2
    board = RLGameBoard(*shape, 0, "simultaneous", bases)
    other = RLGameBoard(*shape, 1, "simultaneous", bases)

    def turned(action: int) -> int:
        if action >= 4 * squares:
            return action
        return 4 * (squares - 1 - action // 4) + (action % 4 ^ 1)

    for _ in range(200):
        assert sorted(map(turned, board.legal())) == other.legal()
        assert board.winner == (None if other.winner is None else 1 - other.winner)
        if board.over:
            break
        action = rng.choice(board.legal())
        board.play(action)
        other.play(turned(action))


def test_copies_share_the_geometry_and_nothing_else() -> None:
    game = RLGame()
    game.start(0)
    fork = game.fork(0, 1)
    assert fork.board.geometry is game.board.geometry
    fork.step({0: 256})
    assert (game.board.moves, bool(game.board.cells.any()), game.board.inside(0)) == (0, False, 10)


def test_the_study_inputs_of_the_first_position_and_after_a_move() -> None:
    """122 inputs on 8 x 8, 66 on 6 x 6; all pawns in base is the last of four quarters."""
    for size, inputs in ((8, 122), (6, 66)):
        game = RLGame(Configuration(size=size, encoding="study"))
        assert game.init().observation_spaces[0].shape == [inputs]  # type: ignore[union-attr]
        seen = np.flatnonzero(game.start(0).seats[0].observation)
        assert seen.tolist() == [inputs - 10 + 3, inputs - 10 + 7]
    game = RLGame(Configuration(encoding="study"))
    game.start(0)
    first = (
        4 * 64
    )  # the exit (2, 0): square 16; those before it outside the bases: 2..7 of two columns
    game.step({0: first})
    # 9 of 10 pawns inside is still the last quarter
    assert np.flatnonzero(game.observation(1)).tolist() == [2 * 12, 112 + 3, 112 + 7]


@pytest.mark.parametrize(
    ("inside", "quarter"), [(0, 0), (2, 0), (3, 1), (5, 1), (6, 2), (7, 2), (8, 3), (10, 3)]
)
def test_quarters_of_ten_pawns_are_as_in_the_study(inside: int, quarter: int) -> None:
    game = RLGame(Configuration(encoding="study"))
    game.start(0)
    game.board.pawns[0, inside:] = -2
    assert np.flatnonzero(game.observation(0)[112:116]).tolist() == [quarter]


def test_own_encoding_shows_both_players_the_same_game() -> None:
    """After mirrored openings both seats see the same, from their own corners."""
    game = RLGame()
    game.start(0)
    game.step({0: 256})
    turn = game.step({1: 256})
    np.testing.assert_array_equal(turn.seats[0].observation, game.observation(1))


def test_the_reward_scheme_of_the_study() -> None:
    game = RLGame(Configuration(size=6, win_reward=100.0, pawn_reward=1.0))
    rng, turn = random.Random(4), game.start(0)
    while turn.to_act:
        mover = turn.to_act[0]
        turn = game.step({mover: rng.choice(game.board.legal())})
        rewards = {view.seat: view.reward for view in turn.seats}
        if turn.to_act:
            lead = (game.board.alive(mover) - game.board.alive(1 - mover)) / 10
            assert rewards.get(mover, 0.0) == pytest.approx(lead)
            assert rewards.get(1 - mover, 0.0) == 0
        else:
            winner = game.board.winner
            assert winner is not None
            assert rewards == {winner: 100.0, 1 - winner: -100.0}


def test_a_game_that_is_too_long_is_cut_short_and_scored_for_nobody() -> None:
    game = RLGame(Configuration(max_moves=3))
    game.start(0)
    for seat in (0, 1):
        game.step({seat: 256})
    turn = game.step({0: 257})
    assert (turn.to_act, turn.terminated, turn.truncated, turn.outcome) == ([], False, True, None)
    assert "to move" not in game.text()
    with pytest.raises(IllegalAction, match="the game is over"):
        game.step({1: 257})


@pytest.mark.parametrize(
    ("given_", "complaint"),
    [
        ({"size": 2}, "environment rlgame, option 'size': "),
        ({"size": 8, "base": 4}, "option 'base': two bases of 4 x 4 leave no way between them"),
        ({"pawns": 0}, "environment rlgame, option 'pawns': "),
        ({"pawns": 101}, "environment rlgame, option 'pawns': "),
        ({"encoding": "binary"}, "environment rlgame, option 'encoding': "),
        ({"bord": 8}, "bord"),
    ],
)
def test_bad_options_get_one_line(given_: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DovetailError) as caught:
        RLGame(options.read(Configuration, given_, "environment rlgame"))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text() -> None:
    game = RLGame(Configuration(size=5, pawns=3))
    game.start(0)
    game.step({0: 100})
    assert game.text().splitlines() == [
        " 5  .  .  .  +  3",
        " 4  .  .  .  +  +",
        " 3  .  .  .  .  .",
        " 2  #  #  .  .  .",
        " 1  2  #  W  .  .",
        "    a  b  c  d  e",
        "White (W) has 3 pawns, Black (B) 3",
        "Black to move; 100: base-c5, 101: base-c4, 102: base-e3, 103: base-d3",
    ]


def test_the_seats_are_told_in_words_how_many_pawns_they_have() -> None:
    seats = RLGame().scene().seats
    assert [(each.score, each.note) for each in seats] == [(10.0, "10 of 10 pawns in the base")] * 2
