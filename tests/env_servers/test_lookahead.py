"""Lookahead: agents ask the environment what would follow, in process and over sockets."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dovetail import (
    Agent,
    Decision,
    DovetailError,
    Environment,
    InProcess,
    Spec,
    Turn,
    View,
    spaces,
)
from dovetail.client.client import Experiment
from dovetail.peer.agents.agent import Lookahead, Preview
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.lookahead import Walk
from dovetail_agents.general.td import TD
from dovetail_experiments.stages.processes import Processes
from dovetail_games.connect_four import ConnectFour


class Guess(Environment):
    """Hidden information: a digit is drawn; seat 0 is told its parity and guesses it twice."""

    def init(self) -> Spec:
        return Spec(observation_spaces=[spaces.Discrete(2)], action_spaces=[spaces.Discrete(10)])

    def start(self, seed: int) -> Turn:
        self.digit = random.Random(seed).randrange(10)
        self.tries = 0
        return self._turn(0.0)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.tries += 1
        return self._turn(float(actions[0] == self.digit))

    def fork(self, seat: int, seed: int) -> Guess:
        copy = super().fork(seat, seed)
        copy.digit = random.Random(seed).choice(range(self.digit % 2, 10, 2))
        return copy

    def _turn(self, reward: float) -> Turn:
        over = self.tries == 2
        to_act = [] if over else [0]
        return Turn(to_act=to_act, seats=[View(0, self.digit % 2, None, reward)], terminated=over)


class Ahead(Agent):
    """Looks two moves ahead: wins if it can, and else does not let the other win at once."""

    name = "ahead"

    def step(self, decision: Decision) -> Any:
        me = decision.seat.seat
        lines = []
        for mine in decision.legal or ():
            lines.append([mine])
            lines += [[mine, other] for other in range(7)]
        found = yield Lookahead(lines)
        worth: dict[int, float] = {}
        for line, position in zip(lines, found, strict=True):
            value = position.rewards[me]
            worth[line[0]] = min(worth.get(line[0], 1.0), value) if len(line) > 1 else value
        return max(worth, key=lambda action: worth[action])


def outcomes(experiment: Experiment) -> list[Any]:
    agents = [experiment.create("ahead"), experiment.create("random")]
    run = experiment.run("connect_four", agents, episodes=20, seed=3, lookahead=True)
    return [(each.index, each.reason, each.outcome, each.turns, each.message) for each in run]


def test_an_agent_that_asks_plays_the_same_in_process_and_over_sockets() -> None:
    with InProcess([ConnectFour], [Ahead, Random]) as experiment:
        here = outcomes(experiment)
    with Processes() as processes:
        at = ["--connect", processes.address]
        processes.start("environment", ["env", "connect_four", *at])
        processes.start("agents", ["agent", f"{__file__}:Ahead", "random", *at])
        with Experiment.connect(processes.address) as experiment:
            experiment.expect(["connect_four"], ["ahead", "random"])
            there = outcomes(experiment)
    assert here == there
    assert {each[1] for each in here} == {"terminated"}
    assert sum(each[2][0] for each in here) >= 18


def test_a_run_that_does_not_allow_it_says_so() -> None:
    class Told(Ahead):
        name = "told"

        def step(self, decision: Decision) -> Any:
            assert not decision.seat.lookahead
            with pytest.raises(DovetailError, match="this run allows no lookahead"):
                yield Lookahead([[0]])
            return decision.legal[0] if decision.legal else None

    with InProcess([ConnectFour], [Told]) as experiment:
        told = experiment.create("told")
        (episode,) = experiment.run("connect_four", [told, told])
        assert (episode.reason, episode.message) == ("terminated", "")


def test_an_agent_that_yields_something_else_crashes_alone() -> None:
    class Odd(Agent):
        name = "odd"

        def step(self, decision: Decision) -> Any:
            yield 3

    with InProcess([ConnectFour], [Odd]) as experiment:
        odd = experiment.create("odd")
        episode = experiment.run("connect_four", [odd, odd], retries=0).wait()[0]
        assert episode.reason == "crashed"
        assert episode.message == "an agent's step may yield Lookahead only, not 3"


def test_afterstates_that_a_game_does_not_offer_are_not_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with InProcess([Guess], [TD]) as experiment:
        for stacked in (False, True):
            learner = experiment.create("td")
            with pytest.raises(DovetailError, match="td needs afterstates; guess provides none"):
                experiment.run("guess", [learner], episodes=4, stacked=stacked).wait()
    assert not caplog.records


def test_positions_are_those_that_are_reached_by_playing() -> None:
    game = ConnectFour()
    game.start(0)
    for column in (3, 3, 2):
        game.step({1 if game.board.moves % 2 else 0: column})
    lines = [[[0]], [[0], [1]], [[0], [1], [6]], [[4], [4]], [[4]]]
    before = game.observation(0)
    for line, found in zip(lines, Walk(game.fork(1, 0), [1], 2).previews(lines), strict=True):
        other = game.fork(1, 0)
        for entry in line:
            turn = other.step({other.board.mover: entry[0]})
        assert (found.to_act, found.applied, found.error) == (turn.to_act, len(line), "")
        assert [view.seat for view in found.seats] == turn.to_act
        np.testing.assert_array_equal(found.seats[0].observation, turn.seats[0].observation)
        assert found.seats[0].legal == turn.seats[0].legal
    np.testing.assert_array_equal(game.observation(0), before)


def test_a_line_ends_at_what_is_not_legal_and_at_the_end() -> None:
    game = ConnectFour()
    game.start(0)
    win = [[0], [1], [0], [1], [0], [1], [0]]
    found = Walk(game, [0], 2).previews([[*win, [2]], [[0], [9]], [[0, 1]], win, []])
    assert [each.applied for each in found] == [7, 1, 0, 7, 0]
    assert found[0].error == "the episode would be over"
    assert found[1].error.startswith("9 is not a column")
    assert found[2].error == "2 actions for the seats [0]"
    assert found[3].rewards == [1.0, -1.0]
    assert found[3].terminated
    assert found[3].outcome == [1.0, 0.0]
    assert found[4] == Preview([0], rewards=[0.0, 0.0])


def test_a_play_out_that_asks_for_one_action_at_a_time_steps_once_for_each() -> None:
    steps = 0

    class Counting(ConnectFour):
        name = "counting"

        def step(self, actions: Any) -> Any:
            nonlocal steps
            steps += 1
            return super().step(actions)

    class Deep(Agent):
        name = "deep"

        def step(self, decision: Decision) -> Any:
            line: list[int] = []
            for column in (0, 1, 2, 3, 4, 5, 6, 0, 1, 2):
                line.append(column)
                (found,) = yield Lookahead([line])
                assert (found.applied, found.error) == (len(line), "")
            (found,) = yield Lookahead([[3]], seed=1)  # another draw begins at the root again
            assert found.applied == 1
            return 3

    with InProcess([Counting], [Deep]) as experiment:
        deep = experiment.create("deep")
        run = experiment.run("counting", [deep, deep], max_turns=1, retries=0, lookahead=True)
        (episode,) = run.wait()
    assert episode.reason == "truncated", episode.message
    assert steps == 10 + 1 + 1


def test_what_is_hidden_is_drawn_from_the_seed_and_not_told() -> None:
    """The lines of all digits win in exactly one of five, the same for a seed, whatever is true."""
    won = set()
    for seed in range(40):
        game = Guess()
        game.start(0)
        truth = game.digit
        lines = [[[digit]] for digit in range(10)]
        rewards = [each.rewards[0] for each in Walk(game.fork(0, seed), [0], 1).previews(lines)]
        again = [each.rewards[0] for each in Walk(game.fork(0, seed), [0], 1).previews(lines)]
        assert rewards == again
        assert sum(rewards) == 1
        won.add(rewards.index(1.0))
        assert game.digit == truth
    assert won == set(range(truth % 2, 10, 2))
