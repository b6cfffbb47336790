from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.agent_servers.memory import remembering

from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail_agents.general.search.alpha_beta import AlphaBeta
from dovetail_agents.general.search.tree import LocalRules, Node, root
from dovetail_agents.general.td import TD
from dovetail_agents.learning.network import Network
from dovetail_games.connect_four import ConnectFour
from dovetail_games.rlgame import RLGame, RLGameBoard
from dovetail_studies.rlgame import kernels as k
from dovetail_studies.rlgame import plain, tables
from dovetail_studies.rlgame.one_sided import CODE, OURS, SETTINGS, STUDYS, Setting, Two
from dovetail_studies.rlgame.play import LearningPair, Played
from dovetail_studies.rlgame.profiles import LAYERS, PROFILES
from dovetail_studies.rlgame.rows import STUDY
from dovetail_studies.rows import ACROSS, Result, study
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


class _Told(random.Random):
    """Repeats a choice that was made elsewhere."""

    def __init__(self, explored: bool, chosen: int) -> None:
        super().__init__(0)
        self.explored, self.chosen = explored, chosen

    def random(self) -> float:
        return 0.0 if self.explored else 0.999

    def randrange(self, *_: Any) -> int:
        return self.chosen


def _replay(agents: list[TD], number: int, moves: list[tuple[int, int]], cap: int) -> None:
    """Let agents play a game of the compiled learners, and learn from it."""
    game = RLGame(RLGame.Configuration(win_reward=1.0, pawn_reward=0.01, max_moves=cap))
    seats = [Seat(number, seat, game.init()) for seat in (0, 1)]
    turn = game.start(0)
    due = [0.0, 0.0]
    for ply, (action, explored) in enumerate(moves):
        mover = game.board.mover
        legal = game.board.legal()
        after, chosen = game.afterstates(mover), legal.index(action)
        decision = Decision(
            *(seats[mover], number, ply, None, legal, due[mover], "learn"),
            *(_Told(bool(explored), chosen), after),
        )
        # Moves that lead to the same position are equal, but for the last bits of a matrix product.
        found = legal.index(agents[mover].step(decision))
        assert np.array_equal(after[found], after[chosen])
        due[mover] = 0.0
        turn = game.step({mover: action})
        for view in turn.seats:
            due[view.seat] += view.reward
    assert not turn.to_act
    reason = "truncated" if turn.truncated else "terminated"
    for seat, agent in enumerate(agents):
        seen = game.observation(seat)
        told = seats[seat], number, due[seat], seen, None, reason, None, 0.0, 1, "learn"
        agent.end(End(*told))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    [
        *("td-rlgame", "hidden units relu", "falling steps", "a step of 0.05 in both layers"),
        *("accumulating traces", "linear output", "td", "td, hidden units sigmoid"),
    ],
)
def test_the_compiled_learners_play_and_learn_as_td_does(name: str) -> None:
    two = Two(SETTINGS[name], 3)
    kind = SETTINGS[name].parameters
    agents = [remembering(TD(kind, 2 * 3 + player)) for player in (0, 1)]
    ends = set()
    for number, cap in enumerate((40, 3000) * 2):
        played = two.play(1, cap=cap)
        assert played is not None
        ends.add(int(played[0, 0]))
        moves = [(int(a), int(e)) for a, e in two.last[: played[0, 1]]]
        assert any(explored for _, explored in moves)
        _replay(agents, number, moves, cap)
    assert min(ends) < 0 <= max(ends)  # truncated games, and games that were won
    for player, agent in enumerate(agents):
        assert isinstance(agent.network, Network)
        first, second = agent.network.layers(agent.network.weights)
        assert two.nets.first[player] == pytest.approx(first, abs=2e-4)
        assert two.nets.second[player] == pytest.approx(second, abs=2e-4)
        if kind.averaging:
            assert isinstance(agent.averaged, Network)
            mean, _ = agent.averaged.layers(agent.averaged.weights)
            assert two.nets.first_mean[player] == pytest.approx(mean, abs=2e-4)


def test_what_is_tested_does_not_learn() -> None:
    two = Two(Setting(OURS), 1)
    two.play(2)
    before = [each.copy() for each in two.nets]
    for side in (0, 1):
        two.play(3, against_random=side, averaged=True, cap=300)
    # Traces alone are room, and begin at zero in each game.
    same = [np.array_equal(*each) for each in zip(before[:4], two.nets[:4], strict=True)]
    assert all(same)
    assert two.nets.episodes[0] == 2


def test_a_loser_that_is_not_told_keeps_its_weights() -> None:
    told, untold = (Two(Setting(STUDYS, told=each), 5) for each in (True, False))
    played = [two.play(1) for two in (told, untold)]
    assert played[0] is not None
    loser = 1 - int(played[0][0, 0])
    assert not np.array_equal(told.nets.second[loser], untold.nets.second[loser])
    assert np.array_equal(told.nets.second[1 - loser], untold.nets.second[1 - loser])


def _result(white: int, black: int) -> Result:
    tested = [{"games": 10, "wins": wins, "cut": 1} for wins in (white, black)]
    tests = {"last": tested, "averaged": tested[::-1]}
    counts = {"games": 40, "white": 10, "cut": 0, "moves": 900, "distinct": 19}
    return {**counts, "diverged": False, "tests": tests}


def test_the_table_counts_pairs_with_a_side_that_hardly_learned() -> None:
    unit = {"games": 20, "tests": 10}
    results = {
        "td-rlgame": [_result(9, 1), _result(2, 9)],
        "hidden units relu": [_result(9, 8), _result(9, 9)],
        "loser not told": [_result(9, 8), {"games": 20, "diverged": True, "tests": {}}],
    }
    _, _, draw = CODE
    drawn = draw(
        [
            ({**unit, "setting": name, "seed": seed}, result)
            for name, found in results.items()
            for seed, result in enumerate(found)
        ]
    )
    lines = {line[0]: line[1:] for line in drawn.lines}
    assert list(lines) == ["`td-rlgame`", "averaged weights", *list(results)[1:]]
    assert lines["`td-rlgame`"][2:] == ["10, 20", "2 of 2", "4 of 40"]
    assert lines["hidden units relu"][2:] == ["80, 90", "0 of 2", "4 of 40"]
    assert lines["loser not told"][2:] == ["80", "1 of 2", "2 of 20"]
    assert "No seed has a side below 50 % with: hidden units relu. " in drawn.note
    assert drawn.note.endswith("Every seed has one with: `td-rlgame`; averaged weights.")


def test_the_row_runs_and_is_not_among_those_that_the_studies_print() -> None:
    _, work, _ = CODE
    assert study(ACROSS).row("one-sided").work is work
    found = work({"setting": "td", "games": 2, "tests": 3, "seed": 1})
    assert [test["games"] for test in found["tests"]["averaged"]] == [3, 3]
    assert found["games"] == 2 + 4 * 3
