"""Kaggle's environments through the broker: the real package if installed, or a stand-in."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.bridges.stand_ins import installed, stand_in

from dovetail import Agent, InProcess
from dovetail.peer import registry
from dovetail.peer.agents.agent import Decision
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.presets import preset
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, IllegalAction
from dovetail.protocol.spaces import Discrete, Text
from dovetail_agents.general.search.agents import MCTSAgent, MCTSParameters
from dovetail_agents.general.td import TD
from dovetail_bridges import choices
from dovetail_bridges.kaggle import Kaggle
from dovetail_bridges.kaggle.agent import KaggleParameters
from dovetail_bridges.kaggle.environment import KaggleEnvironment, Options, _actions
from dovetail_bridges.kaggle.to_kaggle import Player

REAL = installed("kaggle_environments")
alone = pytest.mark.skipif(REAL, reason="the stand-in's own game")


@pytest.fixture(autouse=True)
def theirs(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_in("kaggle_environments", monkeypatch)


class First(Agent):
    """Plays the first column that is free."""

    name = "first"
    capacity = 0
    chosen: ClassVar[list[int]] = []

    def step(self, decision: Decision) -> int:
        board = json.loads(decision.observation)["board"]
        columns = decision.seat.spec.action_spaces[0].n  # type: ignore[union-attr]
        action = next(each for each in range(columns) if not board[each])
        self.chosen.append(action)
        return action


class Adds(Agent):
    """Adds its seat's number."""

    name = "adds"
    capacity = 0

    def step(self, decision: Decision) -> str:
        return json.dumps({"add": decision.seat.seat + 1})


def test_the_same_actions_earn_the_same_as_in_a_bare_loop(theirs: Any) -> None:
    First.chosen.clear()
    with InProcess([KaggleEnvironment], [First]) as experiment:
        agents = [experiment.create("first"), experiment.create("first")]
        (episode,) = experiment.run("kaggle", agents, check=True).wait()
    bare = theirs.make("connectx")
    bare.reset(2)
    for number, action in enumerate(First.chosen):
        bare.step([action if number % 2 == seat else None for seat in range(2)])
    assert bare.done
    assert episode.reason == "terminated"
    assert [seat.total for seat in episode.seats] == [each.reward for each in bare.state]
    assert episode.outcome == [(each.reward + 1) / 2 for each in bare.state]


def test_an_invalid_action_is_the_seats_and_leaves_the_position() -> None:
    made = KaggleEnvironment(Options())
    spec = made.init()
    assert isinstance(spec.action_spaces[0], Discrete)
    made.start(1)
    rows = made.env.configuration.get("rows", 1)
    for number in range(rows):
        made.step({number % 2: 0})
    before = made.text(0)
    with pytest.raises(IllegalAction, match="answers INVALID to 0") as refused:
        made.step({rows % 2: 0})
    assert refused.value.seat == rows % 2
    assert made.text(0) == before
    turn = made.step({rows % 2: 1})
    assert turn.to_act == [1 - rows % 2]


def test_random_play_ends_with_its_forfeits_blamed() -> None:
    with InProcess([KaggleEnvironment], [Random]) as experiment:
        agents = [experiment.create("random"), experiment.create("random", seed=1)]
        results = experiment.run("kaggle", agents, episodes=5, seed=2).wait()
    for each in results:
        assert each.reason in ("terminated", "illegal-action")
        assert (each.blame is None) == (each.reason == "terminated")


@alone
def test_totals_become_rewards_and_seats_act_at_once() -> None:
    with InProcess([KaggleEnvironment], [Adds]) as experiment:
        agents = [experiment.create("adds") for _ in range(3)]
        given = {"id": "duel", "players": 3}
        (episode,) = experiment.run("kaggle", agents, configuration=given, check=True).wait()
    assert [seat.total for seat in episode.seats] == [3.0, 6.0, 9.0]
    assert [seat.decisions for seat in episode.seats] == [3, 3, 3]
    assert episode.outcome == pytest.approx([0.0, 1 / 3, 2 / 3])


@alone
def test_a_seat_sees_its_own_and_what_is_shared() -> None:
    made = KaggleEnvironment(Options("duel"))
    assert isinstance(made.init().action_spaces[0], Text)
    turn = made.start(9)
    first, second = (json.loads(view.observation) for view in turn.seats)
    assert set(second) == {"configuration", "private", "remainingOverageTime", "rounds", "step"}
    assert second["configuration"] == {"episodeSteps": 1000}  # without the seed, which tells
    assert "log" not in first
    assert first["private"] == random.Random(9).random()  # by the seed in its configuration
    other = json.loads(made.start(8).seats[0].observation)
    assert other["private"] == random.Random(8).random()
    assert made.start(9).seats[0].observation == turn.seats[0].observation
    with pytest.raises(IllegalAction, match="is not JSON"):
        made.step({0: "no", 1: "{}"})


def test_full_columns_are_not_legal() -> None:
    made = KaggleEnvironment(Options())
    made.init()
    made.start(1)
    rows = made.env.configuration.rows
    for number in range(rows):
        turn = made.step({number % 2: 0})
    (seat,) = turn.to_act
    legal = next(view.legal for view in turn.seats if view.seat == seat)
    assert legal == list(range(1, made.env.configuration.columns))


def test_a_configuration_may_have_fewer_actions_than_the_schema() -> None:
    schema = {"type": "integer", "minimum": 0, "maximum": 4}
    assert _actions(schema, {"signs": 3}) == (None, Discrete(3))
    assert _actions(schema, {}) == (None, Discrete(5))
    assert _actions({"type": "integer"}, {"columns": 7}) == (None, Discrete(7))


FREE = """
def play(observation, configuration):
    return [c for c in range(configuration.columns) if observation.board[c] == 0][-1]
"""
ADD = """
def play(observation, configuration):
    assert configuration.episodeSteps
    return {"add": observation["rounds"] + 1}
"""
WALK = """
def play(observation, configuration):
    return "NORTH" if observation.place < configuration.far else "SOUTH"
"""


@pytest.fixture
def register(tmp_path: Path) -> Iterator[Callable[[str], KaggleParameters]]:
    def add(source: str) -> KaggleParameters:
        (tmp_path / "mine.py").write_text(source)
        registry.register("policy", "mine", str(tmp_path / "mine.py"))
        return KaggleParameters("mine", timeout=20)

    yield add
    registry._registered.clear()


def played(source: str, register: Callable[[str], KaggleParameters], **given: Any) -> m.Episode:
    register(source)
    seats = given.pop("seats")
    with InProcess([KaggleEnvironment], [Kaggle]) as experiment:
        agents = [experiment.create("kaggle", parameters={"policy": "mine"}) for _ in range(seats)]
        (episode,) = experiment.run("kaggle", agents, configuration=given, check=True).wait()
    return episode


def test_a_file_of_kaggle_sees_what_kaggle_shows_it(register: Any) -> None:
    episode = played(FREE, register, seats=2)
    assert episode.reason == "terminated"
    assert episode.outcome is not None


@alone
def test_a_file_answers_with_json_or_names(register: Any) -> None:
    episode = played(ADD, register, id="duel", seats=2)
    assert [seat.total for seat in episode.seats] == [6.0, 6.0]
    episode = played(WALK, register, id="walk", seats=1)
    assert [seat.total for seat in episode.seats] == [2.0]


@alone
def test_named_actions_are_shown_by_name() -> None:
    made = KaggleEnvironment(Options("walk"))
    made.init()
    turn = made.start(1)
    assert choices.labels(made.scene(0), turn.seats[0].legal) == {0: "NORTH", 1: "SOUTH"}


def test_agents_play_connect_four_where_kaggle_runs_connectx(theirs: Any) -> None:
    env = theirs.make("connectx")
    players = [
        Player(MCTSAgent(MCTSParameters(simulations=5)), env, 0),
        Player(Random(), env, 1, seed=4),
    ]
    for _ in range(2):
        env.run(players)
        assert [each.status for each in env.state] == ["DONE", "DONE"]
        assert sum(each.reward for each in env.state) == 0


@alone
def test_agents_answer_in_kaggles_form_where_kaggle_runs(theirs: Any, register: Any) -> None:
    env = theirs.make("duel")
    parameters = register(ADD)
    players = [Player(Kaggle(parameters), env, 0), Player(Adds(), env, 1)]
    env.run(players)
    assert [each.reward for each in env.state] == [6, 6]
    env = theirs.make("walk")
    env.run([Player(Kaggle(register(WALK)), env, 0)])
    assert env.state[0].reward == 2


def test_a_seat_that_an_environment_lacks_is_one_line(theirs: Any) -> None:
    with pytest.raises(DovetailError, match="seat 2 does not exist; connectx has 2, numbered"):
        Player(Random(), theirs.make("connectx"), 2)


def test_an_agent_that_cannot_play_is_refused(theirs: Any) -> None:
    env = theirs.make("rps" if REAL else "duel")
    with pytest.raises(DovetailError, match="needs"):
        Player(TD(), env, 0)


@alone
def test_an_environment_that_keeps_its_match_in_a_module_plays_one_at_a_time() -> None:
    kind = preset(KaggleEnvironment, {"id": "lux_ai_2021"}, "environment kaggle")
    with InProcess([kind], [Random]) as experiment:
        agents = [experiment.create("random")]
        results = experiment.run("kaggle", agents, episodes=6, concurrency=3).wait()
    assert [each.seats[0].total for each in results] == [3.0] * 6
    with pytest.raises(DovetailError, match="one match in a program; start one with --set id=lux"):
        KaggleEnvironment(Options("lux_ai_2021")).init()


def test_what_cannot_be_made_is_one_line() -> None:
    for options, text in [
        (Options("no_such_game"), "no_such_game cannot be made: .*Unknown Environment"),
        (Options(players=7), "connectx takes 2, not 7"),
    ]:
        with pytest.raises(DovetailError, match=text) as refused:
            KaggleEnvironment(options).init()
        assert "\n" not in str(refused.value)
