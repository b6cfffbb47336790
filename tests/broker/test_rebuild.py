"""An episode whose environment is lost moves to another, and its seats notice nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.broker.conversation import SPACES, Conversation, Voice

from dovetail.broker.core.core import Settings
from dovetail.broker.runs.episode_migration import _plain
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Box


def playing(spec: Any = None, **run: Any) -> tuple[Conversation, Voice]:
    """Return a table in the middle of turn 1, with seat 0 to act, and another environment."""
    table = Conversation(spec=spec, settings=Settings(grace=5.0), **run).opens()
    other = Voice(table, "environment", "other", m.Offer("game"))
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(1)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(0, rewards=[0.25, 0.0])
    table.agents[0].hears(m.AgentStep, turn=1)
    return table, other


def lose(table: Conversation) -> None:
    table.environment.says(m.Bye())


def catch_up(table: Conversation, other: Voice) -> None:
    """Let the other environment play what was played."""
    match = other.hears(m.Open).match
    assert match == table.spec.match
    other.says(m.Spec(match, "game", 2, table.spec.observation_spaces, table.spec.action_spaces))
    other.hears(m.EnvironmentStart)
    other.turns(0)
    other.hears(m.EnvironmentStep, turn=0, actions=[(0, 1)])
    other.turns(0, rewards=[0.25, 0.0])


def finish(table: Conversation, other: Voice, total: float = 1.25) -> None:
    other.hears(m.EnvironmentStep, turn=1, actions=[(0, 0)])
    other.turns(terminated=True, outcome=[1.0, 0.0], rewards=[1.0, -1.0])
    table.agents[0].hears(m.End, reason="terminated", total=total, decisions=2)
    table.experiment.hears(m.Episode, reason="terminated", will_retry=False, index=0)
    (record,) = table.records
    assert record.actions == [[(0, 1)], [(0, 0)]]


@pytest.mark.rule("S6.18")
def test_the_seat_acts_after_the_other_has_caught_up() -> None:
    table, other = playing()
    lose(table)
    catch_up(table, other)
    table.agents[0].acts(0)
    finish(table, other)


@pytest.mark.rule("S4.4")
def test_an_environment_that_was_killed_and_started_again_by_its_name_goes_on() -> None:
    table, other = playing()
    other.says(m.Bye())
    table.core.lost(table.environment.address, table.now)
    again = Voice(table, "environment", "rules", m.Offer("game"))
    catch_up(table, again)
    table.agents[0].acts(0)
    finish(table, again)


@pytest.mark.parametrize("low", [0, 1])
def test_bounds_that_are_arrays_are_compared(low: int) -> None:
    """An array is not equal to another, but one with each of its elements."""

    def spaces(low: int) -> Any:
        return [Box([1, 2], [np.array([low, 0], "f4")], np.float64(1))]

    spec = {"observation_spaces": spaces(0), "action_spaces": SPACES}
    table, other = playing(spec=spec)
    lose(table)
    other.says(m.Spec(other.hears(m.Open).match, "game", 2, spaces(low), SPACES))
    if low:
        (record,) = table.records
        assert "describes another game" in record.result.message
    else:
        other.hears(m.EnvironmentStart)


@pytest.mark.parametrize("rows", [2**40, 2**41])
def test_bounds_without_elements_are_compared_by_their_shape(rows: int) -> None:
    """They have no bytes, and as lists they would fill the memory."""

    def spaces(rows: int) -> Any:
        return [Box([1, 2], [np.empty([rows, 0], "f4")])]

    table, other = playing(spec={"observation_spaces": spaces(2**40), "action_spaces": SPACES})
    lose(table)
    other.says(m.Spec(other.hears(m.Open).match, "game", 2, spaces(rows), SPACES))
    if rows == 2**40:
        other.hears(m.EnvironmentStart)
    else:
        (record,) = table.records
        assert "describes another game" in record.result.message


def test_the_seat_acts_before_the_other_has_caught_up() -> None:
    table, other = playing()
    lose(table)
    table.agents[0].acts(0)
    catch_up(table, other)
    finish(table, other)


def test_the_environment_is_lost_while_the_broker_waits_for_it() -> None:
    table, other = playing()
    table.agents[0].acts(0)
    lose(table)
    catch_up(table, other)
    finish(table, other)


def test_the_environment_is_lost_before_the_first_turn() -> None:
    table = Conversation(settings=Settings(grace=5.0)).opens()
    other = Voice(table, "environment", "other", m.Offer("game"))
    start = table.environment.hears(m.EnvironmentStart)
    lose(table)
    match = other.hears(m.Open).match
    other.says(m.Spec(match, "game", 2, table.spec.observation_spaces, table.spec.action_spaces))
    again = other.hears(m.EnvironmentStart, episode=start.episode, seed=start.seed)
    assert again.wants == start.wants
    other.turns(terminated=True, outcome=[1.0, 0.0])
    table.experiment.hears(m.Episode, reason="terminated")


def test_one_that_is_silent_is_left_and_its_late_turn_ignored() -> None:
    table, other = playing(answer_timeout=10.0)
    table.agents[0].acts(0)
    table.at(10.5)
    catch_up(table, other)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True, outcome=[0.0, 1.0])
    finish(table, other)


def test_one_that_plays_otherwise_does_not_take_over() -> None:
    table, other = playing()
    lose(table)
    match = other.hears(m.Open).match
    other.says(m.Spec(match, "game", 2, table.spec.observation_spaces, table.spec.action_spaces))
    other.hears(m.EnvironmentStart)
    other.turns(1)
    found = table.experiment.hears(m.Episode, reason="environment-failed")
    assert "plays turn 0 otherwise; are its episodes decided by the seed?" in found.message


@pytest.mark.parametrize("error", ["error", "spec"])
def test_one_that_cannot_does_not_take_over(error: str) -> None:
    table, other = playing()
    lose(table)
    asked = other.hears(m.Open)
    if error == "error":
        other.says(m.Error("crashed", "no room", answers=asked.seq))
    else:
        other.says(m.Spec(asked.match, "game", 2, [], []))
    table.experiment.hears(m.Episode, reason="environment-failed")


def test_a_third_takes_over_if_the_second_is_lost_as_well() -> None:
    table, other = playing()
    third = Voice(table, "environment", "third", m.Offer("game"))
    lose(table)
    other.hears(m.Open)
    other.says(m.Bye())
    catch_up(table, third)
    table.agents[0].acts(0)
    finish(table, third)


def test_an_episode_that_ends_meanwhile_is_not_continued() -> None:
    table, other = playing(episodes=2, clock=m.ClockRule(decision=3.0))
    lose(table)
    other.hears(m.Open)
    table.at(4.0)
    table.agents[0].hears(m.End, reason="timeout")
    table.experiment.hears(m.Episode, reason="timeout")
    assert table.core.runs.get(table.run) is not None
    opened = [each for each in other.heard if isinstance(each, m.Open)]
    assert len(opened) == 1
    match = opened[0].match
    other.says(m.Spec(match, "game", 2, table.spec.observation_spaces, table.spec.action_spaces))
    assert any(isinstance(each, m.EnvironmentStart) for each in other.heard)


ROWS = {"rows": {"type": "integer", "default": 6}, "file": {"type": "string"}}


@pytest.mark.parametrize(
    ("given", "fixed"),
    [({}, {"rows": 6}), ({"rows": 4}, {"rows": 4}), ({"file": "a"}, {"rows": 6, "file": "a"})],
)
def test_the_options_of_a_run_are_fixed_when_it_begins(given: Any, fixed: Any) -> None:
    table = Conversation(parameters=ROWS, configuration=given)
    assert table.opened.configuration == fixed


def test_another_program_plays_on_with_the_options_of_the_first() -> None:
    table = Conversation(parameters=ROWS).opens()
    other = Voice(
        table, "environment", "other", m.Offer("game", parameters={"rows": {"default": 3}})
    )
    lose(table)
    assert other.hears(m.Open).configuration == {"rows": 6}


def test_a_run_that_two_programs_would_play_differently_says_which_it_means() -> None:
    table = Conversation(parameters=ROWS)
    Voice(table, "environment", "other", m.Offer("game", parameters={"rows": {"default": 3}}))
    asked: dict[str, Any] = {"environment": "game", "agents": ["p0", "p1"]}
    table.experiment.says(m.Run(7, **asked))
    error = table.experiment.hears(m.Error, id=7, code="unknown")
    assert error.message == (
        "'game' is offered with different defaults: 'rows' is 6 at 'rules' and 3 at 'other'; "
        "give it in `configuration`, or name the program as `peer`"
    )
    table.experiment.says(m.Run(8, **asked, peer="other"))
    assert table.experiment.hears(m.Reply, id=8).body["run"]
    table.experiment.says(m.Run(9, **asked, configuration={"rows": 5}))
    assert table.experiment.hears(m.Reply, id=9).body["run"]


def test_an_option_that_only_one_of_the_programs_has_is_left_to_it() -> None:
    table = Conversation(parameters=ROWS)
    more = {"rows": {"default": 6}, "columns": {"default": 7}}
    Voice(table, "environment", "other", m.Offer("game", parameters=more))
    table.experiment.says(m.Run(7, "game", agents=["p0", "p1"]))
    assert table.experiment.hears(m.Reply, id=7).body["run"]


@pytest.mark.parametrize("opened", [True, False], ids=["opened", "not opened yet"])
def test_one_that_is_abandoned_while_it_moves_leaves_its_place_to_the_next(opened: bool) -> None:
    table = Conversation(settings=Settings(grace=5.0), stepwise=True, episodes=2).opens()
    other = Voice(table, "environment", "other", m.Offer("game"))
    table.experiment.says(m.ExperimentStart(2, table.run))
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    first = table.experiment.hears(m.Reply, id=2).body.episode
    lose(table)
    moved = other.hears(m.Open).match
    spec = m.Spec(moved, "game", 2, table.spec.observation_spaces, table.spec.action_spaces)
    if opened:
        other.says(spec)
        other.hears(m.EnvironmentStart, episode=first)
    table.experiment.says(m.ExperimentStart(3, table.run, abandon=True))
    table.experiment.hears(m.Episode, reason="truncated")
    other.hears(m.Open)
    fresh = other.last
    other.hears(m.Close, match=moved)
    other.says(spec)  # in answer to what has been closed since
    assert not other.heard
    spec.match = fresh.match  # type: ignore[attr-defined]
    other.says(spec)
    assert other.hears(m.EnvironmentStart).episode != first
    other.turns(0)
    table.experiment.hears(m.Reply, id=3)


def test_tensors_in_a_spec_are_compared_without_their_numbers_in_lists() -> None:
    """Sixteen million took five seconds, in which no one else was heard."""
    assert len(_plain(np.zeros(1 << 20, np.int8))) == 3
