from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dovetail_agents.general.search.alpha_beta import AlphaBeta
from dovetail_agents.general.search.tree import LocalRules, Node, root
from dovetail_games.connect_four import ConnectFour
from dovetail_games.rlgame import RLGameBoard
from dovetail_studies.rlgame import kernels as k
from dovetail_studies.rlgame import plain, tables
from dovetail_studies.rlgame.play import LearningPair, Played
from dovetail_studies.rlgame.profiles import LAYERS, PROFILES
from dovetail_studies.rlgame.rows import STUDY
from dovetail_studies.working import units


@pytest.mark.parametrize("name", PROFILES)
def test_the_compiled_learner_plays_move_for_move_as_the_plain_one(name: str) -> None:
    """The study's check of its new program; every rounding would show after a few hundred moves."""
    pair = LearningPair("rlgame-6", 7)
    wanted = plain.self_play(pair, 3, PROFILES[name])
    found = [pair.play(1, PROFILES[name]).last for _ in wanted]
    assert found == wanted
    assert sum(map(len, wanted)) > 60


def test_two_steps_by_hand() -> None:
    """A network with one input and one unit, seed-fidelity: rewards 100/N, then the end at 100."""
    profile = PROFILES["seed-fidelity"]
    first, second = np.array([[0.2], [0.4]]), np.array([0.6, -0.2])
    learner = plain.PlainLearner(first, second, profile)
    row = np.array([1.0])
    h = 1 / (1 + np.exp(-(0.2 + 0.5 * 0.4)))
    y = 1 / (1 + np.exp(-(0.6 * h - 0.5 * 0.2)))
    learner.moved(row, 10.0, explored=False, final=False)  # no traces yet: nothing is learned
    assert learner.second.tolist() == [0.6, -0.2]
    assert learner.last == pytest.approx(y)
    slope = y * (1 - y)
    learner.moved(row, 100.0, explored=False, final=True)
    error = 100 + 0.95 * 1 - y
    assert learner.second == pytest.approx([0.6 + error * slope * h, -0.2 + error * slope * 0.5])
    beneath = slope * 0.6 * h * (1 - h)
    assert learner.first.ravel() == pytest.approx(
        [0.2 + error * beneath, 0.4 + error * beneath * 0.5]
    )
    learner.moved(row, 10.0, explored=True, final=False)
    assert not learner.first_trace.any()
    assert learner.last == pytest.approx(learner.forward(row)[0] + 10)  # the program's quirk


def test_a_game_that_never_ends_is_cut_and_counted() -> None:
    played = LearningPair("rlgame-8", 3).play(4, PROFILES["seed-fidelity"], cap=25)
    (found,) = tables.counted(played)
    assert found["cut"] == 4
    assert found["wins"] == [0, 0]
    assert tables.won([found], 0).value == 0  # of all games, not of those that ended
    assert tables.cut([found, found]) == "8 of 8"


def test_statistics_are_those_of_the_plain_rules() -> None:
    pair = LearningPair("rlgame-8", 11)
    for _ in range(6):
        played = pair.play(1, PROFILES["thesis-text"])
        board = RLGameBoard()
        for action in played.last:
            board.play(action)
        row = played.stats[0]
        assert board.winner == row[k.WINNER]
        assert [board.alive(0), board.alive(1)] == row[k.ALIVE : k.ALIVE + 2].tolist()
        assert [board.inside(0), board.inside(1)] == row[k.INSIDE : k.INSIDE + 2].tolist()
        own = sum(1 for turn in range(len(played.last)) if turn % 2 == board.winner)
        assert (len(played.last), own) == (row[k.PLIES], row[k.MOVES])


def _position(rng: np.random.Generator, discs: int) -> ConnectFour:
    while True:
        game = ConnectFour()
        game.start(0)
        for _ in range(discs):
            if not game.board.over:
                game.step({game.board.mover: int(rng.choice(game.board.legal()))})
        if not game.board.over:
            return game


def test_connect_four_looks_three_plies_ahead_as_plain_minimax_does() -> None:
    rng = np.random.default_rng(5)
    nets = LearningPair("connect-four", 2).nets
    inputs, units_ = LAYERS["connect-four"]
    decided = set()
    for discs in (4, 12, 20, 26, 30, 33, 36, 38, 39):
        game = _position(rng, discs)
        me = game.board.mover

        def worth(node: Node, seat: int, me: int = me) -> float:
            assert isinstance(node.environment, ConnectFour)
            seen = node.environment.observation(0)
            row = np.zeros(inputs)
            for column in range(7):
                for square in range(6):
                    for player in np.flatnonzero(seen[:, square, column]):
                        row[2 * (7 * square + column) + player] = 1
            learner = plain.PlainLearner(nets.first[me], nets.second[me], PROFILES["seed-fidelity"])
            return learner.forward(row)[0]

        start = root(me, 2, game.board.legal(), game.observation(me), game)
        wanted = LocalRules().run(AlphaBeta(me, worth, prune=False).deepen(start, 3)).values
        seen, heights = game.observation(0), np.array(game.board.heights)
        found = k.three_ahead(seen, heights, discs, me, 1.0, nets, np.empty(units_))
        assert {c: pytest.approx(v, abs=1e-12) for c, v in wanted.items()} == {
            column: value for column, value in enumerate(found.tolist()) if np.isfinite(value)
        }
        decided |= {round(value) for value in wanted.values() if abs(value) == 1}
    assert decided == {-1, 1}


def test_two_tables_may_rest_on_the_same_games() -> None:
    row, sets = STUDY.row("minimax"), STUDY.row("minimax-sets")
    assert sets.shares == "minimax"
    for size in row.sizes:
        assert units(row, size) == units(sets, size)


def _sets(moves: Sequence[int], wins: Sequence[int]) -> list[dict[str, Any]]:
    """Return sets of ten games, by their number of moves and of White's wins."""
    stats = np.zeros((10 * len(moves), k.COLUMNS), np.int64)
    for number, (length, won) in enumerate(zip(moves, wins, strict=True)):
        stats[10 * number : 10 * number + 10, k.MOVES] = length
        stats[10 * number + won : 10 * number + 10, k.WINNER] = 1
    return tables.counted(Played(stats, np.arange(len(stats), dtype=np.uint64), []), len(moves))


def test_pairs_are_compared_by_how_their_games_change() -> None:
    """The level of one pair tells nothing: two of three tables' cells were too uncertain to say."""
    row = STUDY.row("self-play-sets")
    assert row.draw
    unit = {"profile": "seed-fidelity", "set": 5_000, "sets": 10, "seed": 1}
    results = [
        {
            "sets": _sets([90 + more] * 2 + [40 + more] * 8, [9] * 2 + [7] * 8),
            "distinct": 1,
            "games": 100,
        }
        for more in (0, 1, 40)
    ]
    drawn = row.draw([({**unit, "seed": n}, each) for n, each in enumerate(results)])
    share, moves = drawn.lines
    assert share == [
        "White wins, %: change from the first fifth to the rest",
        "-52.5",
        "-20.0 (every seed); rises in 0 of 3",
    ]
    assert moves[2] == "-50.0 (every seed); rises in 0 of 3"
    assert float(moves[1]) > 190, "the study's games grow longer"
    drawn = row.draw([({**unit, "set": 10}, results[0])])
    assert [line[1] for line in drawn.lines] == ["-", "-"]
    assert not drawn.compared
    assert "A set here has 10 games" in drawn.note


def test_minimax_is_compared_by_what_it_changes_in_a_pair() -> None:
    draw = STUDY.row("minimax").draw
    assert draw is not None
    found = []
    for seed, more in enumerate((0, 5, 30)):
        phases = _sets([20 + more, 15 + more, 30], [5, 9, 3])
        result = {"phases": phases, "distinct": 1, "games": 30}
        found.append(({"profile": "seed-fidelity", "set": 1, "sets": 0, "seed": seed}, result))
    alone = {"phases": _sets([50], [4]), "distinct": 1, "games": 10}
    drawn = draw([*found, ({**found[0][0], "profile": "loser told"}, alone)])
    lines = {line[0]: line[1:] for line in drawn.lines}
    assert lines["White wins, %: minimax"] == ["95.6", "90.0 (every seed)"]
    changed = lines["White wins, %: minimax, minus the same learners, continued"]
    assert changed == ["+59.8", "60.0 (every seed); rises in 3 of 3"]
    changed = lines["moves of the winner: minimax, minus two learners"]
    assert changed == ["+0.6", "-5.0 (every seed); rises in 0 of 3"]
    assert lines["White wins, %: two learners, loser told"] == ["50.6", "*40.0*"]
    assert len(drawn.compared) == 7
    assert drawn.curves
    assert len(drawn.curves.panels) == 6
    assert drawn.curves.panels[1].curves[0].runs[0] == [20.0, 15.0, 30.0]


def test_draws_of_connect_four_stand_beside_the_studys() -> None:
    stats = np.zeros((10, k.COLUMNS), np.int64)
    stats[:, k.MOVES] = 9
    stats[:2, k.WINNER] = k.NO_WINNER
    sets = tables.counted(Played(stats, np.arange(10, dtype=np.uint64), []), 10)
    whole = tables.counted(Played(stats, np.arange(10, dtype=np.uint64), []))[0]
    unit = {"profile": "seed-fidelity", "set": 5_000, "sets": 10, "seed": 1}
    draw = STUDY.row("connect-four").draw
    assert draw is not None
    drawn = draw([(unit, {"sets": sets, "all": whole, "distinct": 10, "games": 10})])
    assert drawn.columns == ["", "study", "seed-fidelity"]
    lines = {line[0]: line[1:] for line in drawn.lines}
    assert all(len(line) == len(drawn.columns) for line in drawn.lines)
    assert lines["games drawn"] == ["13 of 50,000", "2 of 10"]
    assert lines["moves of the winner"] == ["8.02", "*9.00*"]
    assert len(drawn.compared) == 2 + 2  # White's wins and the moves: the levels and the changes
