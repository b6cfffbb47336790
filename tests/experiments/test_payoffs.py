"""Rankings of players in cycles and exact values, by published numbers and OpenSpiel's
algorithms."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import best_response, expected_game_score
from open_spiel.python.policy import TabularPolicy

from dovetail import Agent, Decision, DovetailError, Spec, spaces
from dovetail.peer.agents.random_agent import Random
from dovetail_experiments.statistics.exact import (
    Exactly,
    ExactPosition,
    evaluate,
    observed,
    policy_of,
    uniform,
)
from dovetail_experiments.statistics.ratings import nash_averaging

CYCLE = np.array(
    [[0, 0.2, -0.4, 0.6], [-0.2, 0, 0.5, 0.6], [0.4, -0.5, 0, 0.6], [-0.6, -0.6, -0.6, 0]]
)


def test_nash_averaging_of_a_cycle_above_a_weak_player() -> None:
    share, values = nash_averaging(CYCLE)
    assert list(share) == pytest.approx([5 / 11, 4 / 11, 2 / 11, 0], abs=1e-6)
    assert list(values) == pytest.approx([0, 0, 0, -0.6], abs=1e-6)


def test_nash_averaging_takes_equal_players_alike() -> None:
    share, _ = nash_averaging(np.zeros((4, 4)))
    assert list(share) == pytest.approx([0.25] * 4, abs=1e-4)
    clones = np.array([[0.0, 0.0, 0.3], [0.0, 0.0, 0.3], [-0.3, -0.3, 0.0]])
    assert list(nash_averaging(clones)[0]) == pytest.approx([0.5, 0.5, 0], abs=1e-4)
    with pytest.raises(ValueError, match="antisymmetric"):
        nash_averaging(np.ones((2, 2)))


def test_kuhn_poker_at_random_and_in_equilibrium() -> None:
    found = evaluate("kuhn_poker", uniform)
    assert found.nash_conv == pytest.approx(11 / 12)  # as OpenSpiel's documentation has it
    assert found.exploitability == pytest.approx(11 / 24)

    def equilibrium(place: ExactPosition) -> dict[int, float]:
        """Kuhn's equilibrium for alpha = 0: card, then p(ass) and b(et) so far; 0 passes, 1
        bets."""
        bet = {
            **{"0": 0.0, "1": 0.0, "2": 0.0},
            **{"0pb": 0.0, "1pb": 1 / 3, "2pb": 1.0},
            **{"0p": 1 / 3, "1p": 0.0, "2p": 1.0},
            **{"0b": 0.0, "1b": 1 / 3, "2b": 1.0},
        }[place.knows]
        return {0: 1 - bet, 1: bet}

    exact = evaluate("kuhn_poker", equilibrium)
    assert exact.nash_conv == pytest.approx(0, abs=1e-9)
    assert exact.values == pytest.approx((-1 / 18, 1 / 18))


@pytest.mark.parametrize("game", ["nim(pile_sizes=2;3)", "hex(board_size=2)"])
def test_boards_are_evaluated_as_openspiel_does(game: str) -> None:
    loaded = pyspiel.load_game(game)
    table = TabularPolicy(loaded)
    found = evaluate(game, uniform)
    root = loaded.new_initial_state()
    assert found.values == pytest.approx(expected_game_score.policy_value(root, [table] * 2))
    theirs = [best_response.BestResponsePolicy(loaded, seat, table).value(root) for seat in (0, 1)]
    assert found.best == pytest.approx(theirs)


def test_tic_tac_toe_at_random() -> None:
    """Of all 255,168 games: 0.585 and 0.288 are won; the best first player draws 0.5 of 100."""
    found = evaluate("tic_tac_toe", uniform)
    assert found.values[0] == pytest.approx(0.584921 - 0.288095, abs=1e-6)
    assert found.best[0] == pytest.approx(0.994792, abs=1e-6)


def test_a_policy_is_observed_from_decisions() -> None:
    policy = observed({"2b": {1: 30}, "0b": {0: 3, 1: 1}})
    chances = [policy(ExactPosition(knows, 1, (0, 1), 3, ())) for knows in ("2b", "0b", "1b")]
    assert chances == [{0: 0.0, 1: 1.0}, {0: 0.75, 1: 0.25}, {0: 0.5, 1: 0.5}]
    assert isinstance(evaluate("kuhn_poker", policy), Exactly)


KUHN = Spec(
    name="kuhn", seats=2, observation_spaces=[spaces.Text(10)], action_spaces=[spaces.Discrete(2)]
)


class Bold(Agent):
    """Bets always, and sees what it holds."""

    name = "bold"

    def step(self, decision: Decision) -> int:
        assert decision.observation[0] in "012"
        assert decision.mode == "evaluate"
        return 1


def test_an_agent_is_evaluated_exactly() -> None:
    found = evaluate("kuhn_poker", policy_of(Bold(), KUHN))
    by_hand = evaluate("kuhn_poker", lambda place: {1: 1.0})
    assert found == by_hand
    # Against one who always bets: +2 with the king, 0 with the queen, -1 for folding the jack.
    assert found.values == pytest.approx((0, 0))
    assert found.best[1] == pytest.approx(1 / 3)
    dice = evaluate("kuhn_poker", policy_of(Random(), KUHN, samples=2000, seed=1))
    assert dice.nash_conv == pytest.approx(11 / 12, abs=0.1)


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(DovetailError, match="no game 'kuhn_pocker'"):
        evaluate("kuhn_pocker", uniform)
    with pytest.raises(DovetailError, match="simultaneous moves"):
        evaluate("matrix_rps", uniform)
    with pytest.raises(DovetailError, match="chances that sum to 1"):
        evaluate("kuhn_poker", lambda place: {0: 0.4})
