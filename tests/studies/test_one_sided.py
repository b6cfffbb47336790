from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.agent_servers.memory import remembering

from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail_agents.general.td import TD
from dovetail_agents.learning.network import Network
from dovetail_games.rlgame import RLGame
from dovetail_studies.rlgame.one_sided import CODE, OURS, SETTINGS, STUDYS, Setting, Two
from dovetail_studies.rows import ACROSS, Result, study


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
