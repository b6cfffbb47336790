from __future__ import annotations

import random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent_servers.memory import remembering

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.amazons import AmazonsPlayer
from dovetail_agents.games.amazons.agent import WEIGHTS, AmazonsParameters
from dovetail_agents.games.amazons.endgame import UNKNOWN, Endgame, longest
from dovetail_agents.games.amazons.position import AmazonsGeometry, AmazonsPosition, AmazonsSearch
from dovetail_games.amazons import Amazons, AmazonsBoard, Configuration, start_position
from dovetail_games.amazons.kernels import act, listed
from dovetail_games.connect_four import ConnectFour
from dovetail_studies.keeping import KeepAmazons, kept

pytestmark = pytest.mark.xdist_group("every agent")

MP = np.array(WEIGHTS["mp"])


def game(rows: int, columns: int, plies: int, seed: int) -> Amazons:
    """Return a game some random plies on, but not over."""
    rng = random.Random(seed)
    environment = Amazons(Configuration(rows=rows, columns=columns))
    environment.start(0)
    for _ in range(plies):
        before = environment.board.copy()
        environment.board.play(rng.choice(environment.board.legal()))
        if environment.board.over:
            environment.board = before
            break
    return environment


def slow_features(planes: Any, mobility: float, full: bool = False) -> list[float]:
    """The twelve features once more, square by square as the study words them."""
    rows, columns = map(int, planes.shape[1:])
    taken = {tuple(at) for at in np.argwhere(planes.any(0)).tolist()}
    ways = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]

    def inside(row: int, column: int) -> bool:
        return 0 <= row < rows and 0 <= column < columns

    def reached(row: int, column: int, besides: tuple[int, int]) -> list[tuple[int, int]]:
        found = []
        for down, right in ways:
            at = (row + down, column + right)
            while inside(*at) and (at not in taken or at == besides):
                found.append(at)
                at = (at[0] + down, at[1] + right)
        return found

    out: list[list[float]] = []
    for plane in planes[:2]:
        amazons = [tuple(at) for at in np.argwhere(plane).tolist()]
        moves = 0
        lone = unhindered = trapped = 0
        for row, column in amazons:
            targets = reached(row, column, (-1, -1))
            moves += sum(len(reached(*t, (row, column))) for t in targets) if full else len(targets)
            around = [(row + a, column + b) for a, b in ways if inside(row + a, column + b)]
            free = [at for at in around if at not in taken]
            lone += len(free) == 1
            trapped += not free
            unhindered += len(free) == len(around)
        corners = sum(at[0] in (0, rows - 1) and at[1] in (0, columns - 1) for at in amazons)
        quadrants = {(at[0] >= rows // 2, at[1] >= columns // 2) for at in amazons}
        whole = rows % 2 == 0 and columns % 2 == 0 and len(quadrants) == 4
        out.append(
            [min(1.0, moves / mobility), corners / 4, lone / 4, unhindered / 4, trapped / 4, whole]
        )
    return [float(value) for pair in zip(*out, strict=True) for value in pair]


@pytest.mark.long
@given(st.sampled_from([(5, 5), (6, 6), (4, 7), (8, 8)]), st.integers(0, 40), st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_features_are_the_studys(size: tuple[int, int], plies: int, seed: int) -> None:
    environment = game(*size, plies, seed)
    planes = environment.observation(environment.board.mover)
    position = AmazonsPosition(planes, AmazonsGeometry(*size))
    for full in (False, True):
        divisor = 1000.0 if full else 40.0
        worth, found = AmazonsSearch(MP, divisor, full, 100.0).value(position)
        expected = slow_features(planes, divisor, full)
        assert found.tolist() == pytest.approx(expected)
        assert worth == pytest.approx(float(MP @ expected))


def test_changing_places_swaps_the_features() -> None:
    environment = game(6, 6, 9, 3)
    search = AmazonsSearch(MP, 40.0, False, 100.0)
    seen = [
        search.value(AmazonsPosition(environment.observation(seat), AmazonsGeometry(6, 6)))[1]
        for seat in (0, 1)
    ]
    assert seen[0].reshape(6, 2)[:, ::-1].ravel().tolist() == seen[1].tolist()


def test_the_start_of_8_x_8_has_mobility_one_and_mp_values_it() -> None:
    environment = game(8, 8, 0, 0)
    worth, found = AmazonsSearch(MP, 60.0, False, 100.0).value(
        AmazonsPosition(environment.observation(0), AmazonsGeometry(8, 8))
    )
    # Each side has 60 queen moves, and nothing stands beside any amazon.
    assert found.tolist() == [1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert worth == pytest.approx(5 - 1.2 + 3 - 1)


@pytest.mark.long
@given(st.sampled_from([(4, 4), (5, 5)]), st.integers(3, 12), st.integers(0, 999))
@settings(max_examples=25, deadline=None)
def test_pruning_finds_what_plain_minimax_finds(
    size: tuple[int, int], plies: int, seed: int
) -> None:
    environment = game(*size, plies, seed)
    position = AmazonsPosition(
        environment.observation(environment.board.mover), AmazonsGeometry(*size)
    )
    search = AmazonsSearch(MP, 28.0, False, 100.0)
    for depth in (1, 2, 3):
        plain = dict(
            zip(*map(np.ndarray.tolist, search.root(position, depth, prune=False)), strict=True)
        )
        assert sorted(map(position.action, plain)) == environment.board.legal()
        best = max(plain.values())
        for top in (1, 5):
            pruned = dict(
                zip(*map(np.ndarray.tolist, search.root(position, depth, top)), strict=True)
            )
            assert {m for m, v in pruned.items() if v == best} == {
                m for m, v in plain.items() if v == best
            }
            assert sorted(pruned.values())[-top:] == sorted(plain.values())[-top:]
        assert search.line(position, 0, depth)[0] == best


@given(
    st.sampled_from([(4, 7), (5, 5), (6, 6)]),
    st.integers(3, 24),
    st.integers(0, 999),
    st.sampled_from(["zeros", "ones", "mp", "ones-vs-abmp"]),
)
@settings(max_examples=30, deadline=None)
def test_refuted_moves_have_upper_bounds_below_the_best(
    size: tuple[int, int], plies: int, seed: int, weights: str
) -> None:
    """Replies are made for many moves at once, and a scan ends at what no reply exceeds."""
    environment = game(*size, plies, seed)
    position = AmazonsPosition(
        environment.observation(environment.board.mover), AmazonsGeometry(*size)
    )
    search = AmazonsSearch(np.array(WEIGHTS[weights]), 28.0, False, 100.0)
    moves, values = search.root(position, 2, prune=False)
    plain = dict(zip(moves.tolist(), values.tolist(), strict=True))
    for top in (1, 5):
        moves, values = search.root(position, 2, top)
        assert sorted(moves.tolist()) == sorted(plain)
        worst = sorted(plain.values())[-top:][0]
        for move, found in zip(moves.tolist(), values.tolist(), strict=True):
            if plain[move] >= worst:
                assert found == plain[move]
            else:
                assert plain[move] <= found < worst


@given(st.sampled_from([(4, 4), (4, 7), (5, 5)]), st.integers(0, 14), st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_values_from_notes_are_those_of_a_survey(
    size: tuple[int, int], plies: int, seed: int
) -> None:
    """One ply deep a search values arrows by what they change; each position alone is worth as
    much."""
    environment = game(*size, plies, seed)
    position = AmazonsPosition(
        environment.observation(environment.board.mover), AmazonsGeometry(*size)
    )
    for full in (False, True):
        search = AmazonsSearch(MP, 60.0, full, 100.0)
        for move, found in zip(*search.root(position, 1), strict=True):
            after = position.copy()
            after.play(int(move))
            assert search.value(after, mover=1)[0] == found


def wins(board: Any, seen: dict[Any, bool]) -> bool:
    """Solve a position by the rules alone: whether who is to move wins."""
    key = (board.squares.tobytes(), board.mover)
    if key not in seen:
        after = []
        for move in board.legal():
            other = board.copy()
            other.play(move)
            after.append(other)
        # A move without a reply, or with losing replies only, wins.
        seen[key] = any(other.over or not wins(other, seen) for other in after)
    return seen[key]


@pytest.mark.long
@pytest.mark.parametrize("size", [(4, 4), (5, 5)])
def test_it_solves_endgames(size: tuple[int, int]) -> None:
    """Few free squares: searched to the end, the value is that of an exhaustive search of the
    rules."""
    solved = {True: 0, False: 0}
    for seed in range(200):
        environment = game(*size, size[0] * size[1] - 8 - 5, seed)
        planes = environment.observation(environment.board.mover)
        free = int((planes.sum(0) == 0).sum())
        if free > 6:
            continue
        expected = wins(environment.board, {})
        search = AmazonsSearch(np.zeros(12), 60.0, False, 100.0)
        # Every move fills a square, so no line is longer than there are free ones.
        _, values = search.root(AmazonsPosition(planes, AmazonsGeometry(*size)), free + 1)
        assert values.max() == (100.0 if expected else -100.0), seed
        solved[expected] += 1
    assert min(solved.values()) >= 5, solved


@pytest.mark.long
@pytest.mark.parametrize("size", [(4, 4), (5, 5), (4, 6)])
def test_endgames_are_solved_as_by_exhaustive_search_of_the_rules(size: tuple[int, int]) -> None:
    exact = Endgame(*size)
    solved = {True: 0, False: 0}
    for seed in range(200):
        board = game(*size, size[0] * size[1] - 8 - 5, seed).board
        if board.over or (board.squares == 0).sum() > 6:
            continue
        before = board.squares.copy()
        expected = wins(board, {})
        assert exact.value(board.squares, board.mover) == expected, seed
        assert (board.squares == before).all()
        solved[expected] += 1
    assert min(solved.values()) >= 5, solved


def test_an_endgame_that_is_too_large_is_left_open() -> None:
    board = AmazonsBoard(start_position(6, 6))
    assert Endgame(6, 6, positions=1000).value(board.squares, 0) == UNKNOWN


def alone(board: Any, rows: int, columns: int) -> int:
    """The most moves that seat 0 can make one after another, by trying all."""
    best = 0
    for move in listed(board, rows, columns, 0, False, -1).tolist():
        after = board.copy()
        assert act(after, rows, columns, 0, False, -1, move)
        best = max(best, 1 + alone(after, rows, columns))
    return best


def test_moves_that_a_seat_can_make_alone_are_counted() -> None:
    counts = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        board = rng.permutation([1, 2, *[0] * 5, *[3] * 5]).astype(np.int8)
        counts.add(expected := alone(board, 3, 4))
        assert longest(board, 3, 4, 0, np.array([10_000])) == expected, seed
    assert len(counts) > 3
    assert longest(np.zeros(12, np.int8), 3, 4, 0, np.array([0])) == UNKNOWN


@pytest.mark.long
def test_a_player_that_solves_endgames_keeps_every_value() -> None:
    board = {"rows": 5, "columns": 5}
    with InProcess([KeepAmazons], [AmazonsPlayer]) as experiment:
        exact = experiment.create("amazons-player", parameters={"endgame": 12}, seed=1)
        plain = experiment.create("amazons-player", parameters={"depth": 1, "rollouts": False})
        best = kept(experiment, exact, 40, 1, "amazons", board)
        other = kept(experiment, plain, 40, 1, "amazons", board)
    assert (best.kept, best.lost) == (40, 0.0)
    assert other.kept < 40


@pytest.mark.long
def test_a_search_leaves_the_position_as_it_was() -> None:
    environment = game(6, 6, 6, 1)
    position = AmazonsPosition(environment.observation(0), AmazonsGeometry(6, 6))
    before = position.board.copy(), position.where.copy()
    search = AmazonsSearch(MP, 40.0, False, 100.0)
    moves, _ = search.root(position, 2, 5)
    search.wins(position, int(moves[0]), 2, 7)
    assert (position.board == before[0]).all()
    assert (position.where == before[1]).all()


def test_a_game_that_is_lost_is_worth_minus_100() -> None:
    # Seat 1's only amazon is walled in; seat 0 has moves left.
    environment = Amazons(Configuration(position="b.../..../..../...a"))
    environment.start(0)
    planes = environment.observation(0)
    planes[2, 0, 1] = planes[2, 1, 0] = planes[2, 1, 1] = 1
    search = AmazonsSearch(MP, 10.0, False, 100.0)
    position = AmazonsPosition(planes, AmazonsGeometry(4, 4))
    assert search.value(position, mover=1)[0] == 100.0
    assert search.value(position, mover=1)[1].tolist() == pytest.approx(slow_features(planes, 10.0))
    assert search.value(position, mover=0)[0] != 100.0
    assert search.root(position, 2)[1].max() == 100.0


# -- learning --------------------------------------------------------------------------------------


def seated(parameters: dict[str, Any]) -> tuple[AmazonsPlayer, Seat]:
    player = remembering(AmazonsPlayer(msgspec.convert(parameters, AmazonsParameters)))
    seat = Seat(1, 0, Amazons(Configuration(rows=5, columns=5)).init())
    player.init(seat)
    return player, seat


def decision(
    environment: Amazons, seat: Seat, turn: int, seed: int = 1, mode: Any = "learn"
) -> Decision:
    board = environment.board
    seen = environment.observation(board.mover)
    return Decision(seat, 1, turn, seen, board.legal(), 0.0, mode, random.Random(seed))


def over(seat: Seat, total: float) -> End:
    return End(seat, 1, total, None, [1.0, 0.0], "terminated", None, total, 1, "learn")


def test_the_predicted_target_by_hand() -> None:
    """w += rate F(s) (V(s') - V(s)), s' after the move that was made and the reply that is best."""
    parameters = {"weights": "mp", "epsilon": 0.0, "rollouts": False, "learning_rate": 0.25}
    player, seat = seated(parameters)
    environment = game(5, 5, 2, 4)
    position = AmazonsPosition(environment.observation(0), AmazonsGeometry(5, 5))
    action = player.step(decision(environment, seat, 0))
    before = AmazonsSearch(MP, 28.0, False, 100.0)
    value, features = before.value(position)
    position.play(position.move(action))
    swapped = []
    environment.board.play(action)
    for reply in environment.board.legal():
        after = environment.board.copy()
        after.play(reply)
        seen = Amazons(Configuration(rows=5, columns=5))
        seen.board = after
        worth = (
            -100.0
            if after.over
            else before.value(AmazonsPosition(seen.observation(0), AmazonsGeometry(5, 5)))[0]
        )
        swapped.append(worth)
    expected = MP + 0.25 * features * (min(swapped) - value)
    assert player.weights.tolist() == pytest.approx(expected.tolist())
    assert player.updates == 1


def test_the_actual_target_by_hand() -> None:
    parameters = {
        **{"weights": "mp", "epsilon": 0.0, "rollouts": False, "learning_rate": 0.25},
        **{"target": "actual", "depth": 1, "halving": 1},
    }
    player, seat = seated(parameters)
    environment = game(5, 5, 0, 0)
    geometry = AmazonsGeometry(5, 5)
    weights = MP.copy()
    seen = []
    for turn in (0, 2):
        seen.append(
            AmazonsSearch(weights, 28.0, False, 100.0).value(
                AmazonsPosition(environment.observation(0), geometry)
            )[1]
        )
        environment.board.play(player.step(decision(environment, seat, turn)))
        environment.board.play(environment.board.legal()[0])
    player.end(over(seat, -1.0))
    first, second = seen
    weights += 0.25 * (weights @ second - weights @ first) * first
    weights += 0.125 * (-100.0 - weights @ second) * second
    assert player.weights.tolist() == pytest.approx(weights.tolist())


def test_td_leaf_learns_from_the_leaves() -> None:
    parameters = {
        **{"weights": "mp", "epsilon": 0.0, "rollouts": False, "learning_rate": 0.25},
        **{"target": "leaf", "halving": 0},
    }
    player, seat = seated(parameters)
    environment = game(5, 5, 0, 0)
    search = AmazonsSearch(MP, 28.0, False, 100.0)
    position = AmazonsPosition(environment.observation(0), AmazonsGeometry(5, 5))
    worth, line = search.line(position, 0, 2)
    leaf = position.copy()
    leaf.play(line[0], 0)
    leaf.play(line[1], 1)
    assert search.value(leaf)[0] == worth
    player.step(decision(environment, seat, 0))
    player.end(over(seat, 1.0))
    features = search.value(leaf)[1]
    expected = MP + 0.25 * (100.0 - worth) * features
    assert player.weights.tolist() == pytest.approx(expected.tolist())


def tournament(
    first: dict[str, Any],
    second: str | dict[str, Any],
    episodes: int,
    mode: Any = "evaluate",
    size: int = 6,
) -> list[float]:
    with InProcess([Amazons], [AmazonsPlayer, Random]) as experiment:
        one = experiment.create("amazons-player", parameters=first, seed=1)
        if isinstance(second, str):
            two = experiment.create(second, seed=2)
        else:
            two = experiment.create("amazons-player", parameters=second, seed=2)
        run = experiment.run(
            "amazons",
            [one, two],
            configuration={"rows": size, "columns": size},
            episodes=episodes,
            seed=3,
            rotate=True,
            mode=mode,
        )
        return [float(each.outcome[each.index % 2]) for each in run if each.outcome]


@pytest.mark.parametrize("name", ["mp", "mp-vs-mcmp", "ones-vs-abmp", "mp-vs-random"])
def test_published_weights_beat_random(name: str) -> None:
    assert sum(tournament({"weights": name, "rollouts": False}, "random", 10)) == 10


@pytest.mark.long
def test_rollouts_choose_among_the_winners() -> None:
    assert sum(tournament({"weights": "mp"}, {"weights": "mp", "rollouts": False}, 20)) >= 11


@pytest.mark.long
def test_learning_from_zeros_finds_the_way_to_beat_random() -> None:
    with InProcess([Amazons], [AmazonsPlayer, Random]) as experiment:
        learner = experiment.create(
            "amazons-player", parameters={"weights": "zeros", "rollouts": False}, seed=1
        )
        random_player = experiment.create("random", seed=2)
        size = {"rows": 6, "columns": 6}

        def won(episodes: int, mode: Any, seed: int) -> int:
            run = experiment.run(
                "amazons",
                [learner, random_player],
                configuration=size,
                episodes=episodes,
                seed=seed,
                rotate=True,
                mode=mode,
            )
            return sum(int(each.outcome[each.index % 2]) for each in run if each.outcome)

        state = experiment.save(learner)
        assert won(20, "evaluate", 5) < 20  # zeros know wins within two plies only
        assert experiment.save(learner) == state
        won(120, "learn", 6)
        assert won(20, "evaluate", 5) == 20
        snapshots = experiment.message(learner, "snapshots")
        assert len(snapshots) == experiment.message(learner, "updates") // 50 > 5
        weights = np.asarray(experiment.message(learner, "weights"))
        assert weights[9] > 0 > weights[8]  # trapped opponents are good, own are bad


def test_save_load_and_continue_is_as_if_uninterrupted() -> None:
    def play(player: AmazonsPlayer, first: int, last: int) -> None:
        for turn in range(first, last):
            environment = game(5, 5, turn % 7, turn)
            player.step(decision(environment, seat, turn, seed=turn))

    whole, seat = seated({"weights": "ones", "rollouts": False, "snapshot_every": 3})
    play(whole, 0, 14)
    half, _ = seated({"weights": "ones", "rollouts": False, "snapshot_every": 3})
    play(half, 0, 7)
    rest, _ = seated({})
    rest.load(half.save())
    play(rest, 7, 14)
    assert rest.save() == whole.save()
    assert rest.updates == 14
    with pytest.raises(DovetailError, match="not a saved amazons-player"):
        rest.load(b"rubbish")


def test_it_says_what_it_cannot_play() -> None:
    with InProcess([ConnectFour, Amazons], [AmazonsPlayer]) as experiment:
        player = experiment.create("amazons-player")
        with pytest.raises(DovetailError, match="plays amazons only"):
            experiment.run("connect_four", [player, player]).wait()
        with pytest.raises(DovetailError, match="needs whole moves"):
            experiment.run("amazons", [player, player], configuration={"action": "steps"}).wait()
    with pytest.raises(DovetailError, match="12 are needed"):
        AmazonsPlayer(AmazonsParameters(weights=[1.0]))
