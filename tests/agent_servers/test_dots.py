"""The players of dots: the study's, and the perfect one."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent_servers.memory import remembering

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.agent import Agent, Decision, End, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.dots import DotsPlayer
from dovetail_agents.games.dots.agent import WEIGHTS, DotsParameters
from dovetail_agents.games.dots.perfect import DotsPerfect, after, ending, keeping, values
from dovetail_agents.games.dots.position import TO_THE_END, DotsPosition, DotsSearch
from dovetail_experiments.statistics import wilson
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dots import Configuration, Dots, DotsBoard
from dovetail_games.dots.rules import grid
from dovetail_studies.dots.rows import kept
from dovetail_studies.playing import match

END = np.array(WEIGHTS["end"])


def game(rows: int, columns: int, lines: int, seed: int) -> Dots:
    rng = random.Random(seed)
    environment = Dots(Configuration(rows=rows, columns=columns))
    environment.start(0)
    for _ in range(min(lines, environment.board.grid.lines - 1)):
        environment.step({environment.board.mover: rng.choice(environment.board.legal())})
    return environment


def seen(environment: Dots) -> DotsPosition:
    board = environment.board
    return DotsPosition(environment.observation(board.mover), board.grid)


def slow_features(board: DotsBoard) -> list[float]:
    edges = [sum(board.drawn >> line & 1 for line in sides) for sides in board.grid.sides]
    mine = board.scores[board.mover]
    return [*(float(edges.count(n)) for n in range(4)), mine, sum(board.scores) - mine, 1.0]


def slow_value(board: DotsBoard, me: int, turns: int, weights: Any) -> float:
    """Minimax once more, by the rules and by words: turns end when no box is completed."""
    if board.over:
        return float(board.scores[me] - board.scores[1 - me])
    if turns == 0:
        edges = [sum(board.drawn >> line & 1 for line in sides) for sides in board.grid.sides]
        features = [*(edges.count(n) for n in range(4)), board.scores[me], board.scores[1 - me], 1]
        return float(np.dot(weights, features))
    values = []
    for line in board.legal():
        after = board.copy()
        after.draw(line)
        left = turns if after.mover == board.mover else turns - 1
        values.append(slow_value(after, me, left, weights))
    return max(values) if board.mover == me else min(values)


@given(st.sampled_from([(2, 2), (3, 3), (3, 4), (4, 4)]), st.integers(0, 30), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_features_are_the_studys(size: tuple[int, int], lines: int, seed: int) -> None:
    environment = game(*size, lines, seed)
    assert seen(environment).features().tolist() == slow_features(environment.board)


@given(st.sampled_from([(2, 3), (3, 3)]), st.integers(3, 10), st.integers(0, 99), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_pruning_and_the_table_change_no_value(
    size: tuple[int, int], lines: int, seed: int, turns: int
) -> None:
    environment = game(*size, max(lines, environment_lines(size) - 7), seed)
    board = environment.board
    expected = slow_value(board, board.mover, turns, END)
    for prune, table in ((False, 0), (True, 0), (True, 64), (True, 1 << 12), (False, 64)):
        search = DotsSearch(END, prune=prune, table=table)
        worth, line = search.line(seen(environment), 0, turns)
        assert worth == pytest.approx(expected)
        chosen, values = search.root(seen(environment), turns)
        assert max(values) == pytest.approx(expected)
        best = {each for each, value in zip(chosen, values, strict=True) if value == max(values)}
        if table == 0:
            assert line[0] in best
        exact = set()
        for each in board.legal():
            after = board.copy()
            after.draw(each)
            left = turns if after.mover == board.mover else turns - 1
            if slow_value(after, board.mover, left, END) == pytest.approx(expected):
                exact.add(each)
        assert best <= exact


def environment_lines(size: tuple[int, int]) -> int:
    rows, columns = size
    return rows * (columns - 1) + (rows - 1) * columns


@cache
def solved(rows: int, columns: int, drawn: int) -> int:
    """Boxes of the player to move minus the other's, from here on, by exhaustive search."""
    board = DotsBoard(rows, columns)
    lines = board.grid.lines
    best = -99
    for line in range(lines):
        if drawn >> line & 1:
            continue
        after = drawn | 1 << line
        made = sum(after & mask == mask for _, mask in board.grid.beside[line])
        rest = solved(rows, columns, after)
        best = max(best, made + rest if made else -rest)
    return 0 if best == -99 else best


@pytest.mark.parametrize("size", [(2, 2), (2, 3), (2, 4), (3, 3)])
def test_searched_to_the_end_it_plays_solved_games(size: tuple[int, int]) -> None:
    """1 x 1 to 1 x 3 and 2 x 2 boxes, whose values an exhaustive search finds independently."""
    environment = game(*size, 0, 0)
    worth, _ = DotsSearch(np.zeros(7)).line(seen(environment), 0, TO_THE_END)
    assert worth == solved(*size, 0)


def test_two_by_three_boxes_from_a_few_lines_on() -> None:
    for seed in range(4):
        environment = game(3, 4, 4, seed)
        board = environment.board
        worth, _ = DotsSearch(np.zeros(7)).line(seen(environment), 0, TO_THE_END)
        gone = board.scores[board.mover] - board.scores[1 - board.mover]
        assert worth == gone + solved(3, 4, board.drawn)


# -- learning --------------------------------------------------------------------------------------


def seated(**parameters: Any) -> tuple[DotsPlayer, Seat]:
    player = remembering(DotsPlayer(DotsParameters(**parameters)))
    seat = Seat(1, 0, Dots(Configuration(rows=3, columns=3)).init())
    player.init(seat)
    return player, seat


def decision(
    environment: Dots, seat: Seat, turn: int, seed: int = 1, mode: Any = "learn"
) -> Decision:
    board = environment.board
    observation = environment.observation(board.mover)
    return Decision(seat, 1, turn, observation, board.legal(), 0.0, mode, random.Random(seed))


def test_updates_by_hand() -> None:
    """Each feature vector has a step size of c / N of its own; the end's target is the boxes'
    difference."""
    player, seat = seated(epsilon=0.0, turns=1, weights=[0.5, 0, 0, 0, 0, 0, 0], learning_rate=0.5)
    environment = game(3, 3, 0, 0)
    first = seen(environment).features()
    player.step(decision(environment, seat, 0))
    player.step(decision(environment, seat, 2))  # the same features again
    # 4 boxes without lines: value 2; moving to the same value changes nothing, but N is 1 now.
    assert player.weights.tolist() == [0.5, 0, 0, 0, 0, 0, 0]
    last = game(3, 3, 11, 0)
    last.step({last.board.mover: last.board.legal()[0]})
    scores = last.board.scores
    outcome = [0.0, 1.0]
    player.end(End(seat, 1, 0.0, last.observation(0), outcome, "terminated", None, 0.0, 2, "learn"))
    expected = np.array([0.5, 0, 0, 0, 0, 0, 0]) + 0.5 / 2 * (scores[0] - scores[1] - 2) * first
    assert player.weights.tolist() == pytest.approx(expected.tolist())


def test_the_predicted_target_looks_past_the_replies() -> None:
    player, seat = seated(
        epsilon=0.0, turns=2, target="predicted", weights="end", learning_rate=0.5
    )
    environment = game(3, 3, 6, 5)
    position = seen(environment)
    before = player.weights.copy()
    action = player.step(decision(environment, seat, 0))
    search = DotsSearch(before)
    after = position.copy()
    mover = after.draw(action)
    if mover == 1:
        for reply in search.line(after, 1, 1)[1]:
            mover = after.draw(reply, mover)
            if mover == 0:
                break
    features = position.features()
    expected = before + 0.5 * (search.value(after) - before @ features) * features
    assert player.weights.tolist() == pytest.approx(expected.tolist())


def played(
    parameters: dict[str, Any], games: int, learn: int = 0, size: int = 4
) -> tuple[int, np.ndarray[Any, Any], bytes]:
    """Learn by self-play, then play against random from either seat; return wins, weights,
    state."""
    with InProcess([Dots], [DotsPlayer, Random]) as experiment:
        player = experiment.create("dots-player", parameters=parameters, seed=1)
        other = experiment.create("random", seed=2)
        options = {"rows": size, "columns": size}
        if learn:
            experiment.run(
                "dots", [player, player], configuration=options, episodes=learn, seed=4
            ).wait()
        before = experiment.save(player)
        run = experiment.run(
            "dots",
            [player, other],
            configuration=options,
            episodes=games,
            seed=5,
            rotate=True,
            mode="evaluate",
        )
        wins = sum(each.outcome[each.index % 2] == 1 for each in run if each.outcome)
        assert experiment.save(player) == before
        return wins, np.asarray(experiment.message(player, "weights")), before


def test_learning_beats_random_and_the_untrained_self() -> None:
    opposite = {"weights": [-weight for weight in WEIGHTS["end"]], "turns": 1}
    untrained, _, _ = played(opposite, 400)
    trained, weights, _ = played(opposite, 400, learn=400)
    assert wilson(trained, 400).low > wilson(untrained, 400).high
    assert weights[4] > 0 > weights[5]


def test_a_step_size_that_diverges_says_so() -> None:
    with InProcess([Dots], [DotsPlayer]) as experiment:
        player = experiment.create("dots-player", parameters={"learning_rate": 5.0})
        run = experiment.run("dots", [player, player], episodes=200, seed=4)
        crashed = [each for each in run if each.reason == "crashed"]
    assert "dots-player has diverged" in crashed[0].message
    assert "use a smaller learning_rate than 5" in crashed[0].message


def test_the_same_seeds_learn_the_same() -> None:
    assert (
        played({"turns": 2}, 2, learn=5, size=3)[2] == played({"turns": 2}, 2, learn=5, size=3)[2]
    )


def test_save_load_and_continue_is_as_if_uninterrupted() -> None:
    def play(player: DotsPlayer, first: int, last: int) -> None:
        for number in range(first, last):
            player.step(decision(game(3, 3, number % 9, number), seat, number, seed=number))

    whole, seat = seated(target="predicted", turns=2)
    play(whole, 0, 12)
    half, _ = seated(target="predicted", turns=2)
    play(half, 0, 5)
    rest, _ = seated()
    rest.load(half.save())
    play(rest, 5, 12)
    assert rest.save() == whole.save()
    with pytest.raises(DovetailError, match="not a saved dots-player"):
        rest.load(b"rubbish")


def test_it_says_what_it_cannot_play() -> None:
    with InProcess([ConnectFour, Dots], [DotsPlayer]) as experiment:
        player = experiment.create("dots-player")
        with pytest.raises(DovetailError, match="plays dots only"):
            experiment.run("connect_four", [player, player]).wait()
        with pytest.raises(DovetailError, match="set its option rows"):
            experiment.run("dots", [player, player], configuration={"rows": 3}).wait()
        large = {"rows": 8, "columns": 8}
        with pytest.raises(DovetailError, match="at most 62 lines"):
            experiment.run("dots", [player, player], configuration=large).wait()
        oblong = experiment.create("dots-player", parameters={"rows": 3})
        experiment.run("dots", [oblong, oblong], configuration={"rows": 3}).wait()


def test_a_search_with_a_limit_ends_soon_and_without_need_of_it_changes_nothing() -> None:
    environment = game(6, 6, 40, 3)
    position = seen(environment)
    limited = DotsSearch(END, most=2_000)
    lines, values = limited.root(position, 3)
    assert len(lines) == len(values) == 20
    # Positions that are under way when the limit is reached still value their lines; without it
    # this search takes minutes.
    assert limited.nodes < 20_000
    assert (limited.limited, limited.decisions) == (1, 1)
    small = seen(game(3, 3, 4, 1))
    ample = DotsSearch(END, most=10**9)
    assert ample.root(small, 3) == DotsSearch(END).root(small, 3)
    assert (ample.limited, ample.decisions) == (0, 1)


def test_positions_found_again_count_towards_the_limit() -> None:
    """Near the end of a large board nearly all positions are in the table: not counted, they took
    minutes."""
    left = {
        1,
        4,
        5,
        6,
        9,
        10,
        15,
        16,
        17,
        20,
        24,
        31,
        35,
        38,
        39,
        40,
        42,
        43,
        45,
        47,
        50,
        *range(55, 59),
    }
    environment = Dots(Configuration(rows=6, columns=6))
    environment.start(1)
    for line in sorted(set(range(60)) - left):
        environment.step({environment.board.mover: line})
    search = DotsSearch(END, most=20_000)
    lines, _ = search.root(seen(environment), 4)
    assert set(lines) == left
    assert search.nodes < 40_000


def best(board: DotsBoard) -> int:
    """Return the value of a position to its mover, by the rules alone."""

    @cache
    def value(lines: tuple[int, ...]) -> int:
        found = -99
        there = DotsBoard(board.grid.rows, board.grid.columns)
        for line in lines:
            there.draw(line)
        for line in there.legal():
            next_ = there.copy()
            next_.draw(line)
            won = next_.scores[there.mover] - there.scores[there.mover]
            rest = value(tuple(sorted((*lines, line)))) if next_.free else 0
            found = max(found, won + rest if won else -rest)
        return found

    return value(tuple(line for line in range(board.grid.lines) if board.drawn >> line & 1))


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 4), (4, 3)])
def test_endings_have_the_values_of_the_whole_table(rows: int, columns: int) -> None:
    rng = random.Random(rows)
    for _ in range(20):
        board = DotsBoard(rows, columns)
        for _ in range(rng.randint(1, board.grid.lines - 1)):
            board.draw(rng.choice(board.legal()))
        found = ending(board.grid, board.drawn)
        assert found == {line: after(board.grid, board.drawn, line) for line in board.legal()}


@pytest.mark.parametrize(
    ("rows", "columns", "value"), [(2, 2, -1), (2, 3, 0), (2, 4, -1), (3, 3, 2), (3, 4, -2)]
)
def test_values_are_those_of_solved_boards(rows: int, columns: int, value: int) -> None:
    assert values(rows, columns)[0] == value
    if rows * columns < 9:
        assert best(DotsBoard(rows, columns)) == value


def test_the_value_of_a_line_is_that_of_the_rules() -> None:
    board = DotsBoard(3, 3)
    for line in (0, 2, 6, 7):
        board.draw(line)
    expected = {}
    for line in board.legal():
        there = board.copy()
        there.draw(line)
        won = there.scores[board.mover] - board.scores[board.mover]
        expected[line] = won + best(there) if won else -best(there)
    assert expected == {line: after(board.grid, board.drawn, line) for line in board.legal()}
    most = max(expected.values())
    assert keeping(board.grid, board.drawn) == [n for n, each in expected.items() if each == most]


def test_it_wins_every_won_seat_and_refuses_boards_that_are_too_large() -> None:
    with InProcess([Dots], [DotsPerfect, Random]) as experiment:
        players = [experiment.create("dots-perfect"), experiment.create("random")]
        found = match(experiment, "dots", players, 40, 1, {"rows": 3, "columns": 3})
        assert found.games == 40
        assert found.wins >= 30
        run = experiment.run(
            "dots", players[::-1], episodes=20, configuration={"rows": 2, "columns": 2}
        )
        assert [episode.outcome for episode in run] == [[0.0, 1.0]] * 20
    with pytest.raises(DovetailError, match="40 lines"):
        values(5, 5)


@pytest.mark.parametrize("kind", [DotsPerfect, DotsPlayer])
def test_it_plays_on_the_rows_that_it_is_given(kind: type[Agent]) -> None:
    def seat(rows: int, columns: int) -> Seat:
        return Seat(1, 0, Dots(Configuration(rows, columns)).init())

    def player(rows: int) -> Agent:
        return kind(kind.Parameters(rows=rows))

    player(0).init(seat(3, 3))
    player(3).init(seat(3, 4))
    player(4).init(seat(4, 3))
    for rows in (1, 5, 6, 20):
        with pytest.raises(
            DovetailError, match=f"6 boxes does not have {rows} rows of dots"
        ) as said:
            player(rows).init(seat(3, 4))
        assert str(said.value).startswith(f"agent {kind.name}, option 'rows':")
    with pytest.raises(DovetailError, match=f"{kind.name}: set its option rows, for the board is"):
        player(0).init(seat(3, 4))
    with pytest.raises(DovetailError, match=f"{kind.name} plays with at most"):
        player(0).init(seat(9, 9))


def test_a_share_of_kept_values_is_counted_in_positions_where_it_matters() -> None:
    right, count, chance = kept([0, 0, 0, 0, 1, -1, 0], 4, 30, 1)
    assert count == 30
    assert 0.1 < chance < 0.7 < right / count
    assert grid(4, 4).lines == 24
