"""The rules of playing by example: turns, rewards, clocks, breaches, blame, and who hears what."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.rules.account import LONGEST, MEASURES
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Box

FORFEIT = {"forfeit": (-5.0, 5.0)}


def begun(spec: Any = FORFEIT, **run: Any) -> Conversation:
    """Two seats; the first turn is asked for."""
    table = Conversation(spec=spec, **run).opens()
    table.environment.hears(m.EnvironmentStart)
    for seat, agent in enumerate(table.agents):
        agent.hears(m.Init, seat=seat, agent=f"p{seat}")
    return table


def over(table: Conversation, **fields: Any) -> list[m.End]:
    """Every seat hears one end, and the experiment the result; nobody hears more of the episode."""
    ends = [agent.hears(m.End, **fields) for agent in table.agents]
    table.experiment.hears(m.Episode, **fields)
    return ends


def quiet(*voices: Voice) -> None:
    for voice in voices:
        assert not voice.heard, voice.heard


@pytest.mark.parametrize("price", ["forfeit", "random", "truncate"])
def test_a_seat_may_resign_whatever_an_illegal_action_costs(price: str) -> None:
    table = begun(on_illegal=price)
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(1, resign=True)
    first, second = over(table, reason="terminated", blame=0, outcome=[0.0, 1.0])
    assert (first.reward, second.reward) == (-5.0, 5.0)
    (record,) = table.records
    assert (record.actions, record.result.scored) == ([], True)
    assert record.result.message == "seat 0 resigned at turn 0"
    table.environment.hears(m.Close)


def test_a_late_resignation_is_late() -> None:
    table = begun(clock=m.ClockRule(decision=1.0), on_timeout="truncate")
    table.environment.turns(0)
    decision = table.agents[0].hears(m.AgentStart)
    table.now = 5.0
    table.agents[0].acts(None, decision, resign=True)
    over(table, reason="truncated", blame=0)


# -- turns and rewards -----------------------------------------------------------------------------


@pytest.mark.rule("S6.6")
def test_a_seat_earns_the_sum_since_its_last_decision() -> None:
    table = begun()
    environment, (first, second) = table.environment, table.agents
    environment.turns(0, rewards=(1.0, 2.0))
    first.hears(m.AgentStart, turn=0, reward=1.0, observation=0)
    quiet(second)
    first.acts(1)
    environment.hears(m.EnvironmentStep, turn=0, actions=[(0, 1)])
    environment.turns(0, rewards=(10.0, 20.0))
    first.hears(m.AgentStep, turn=1, reward=10.0)
    first.acts(0)
    environment.hears(m.EnvironmentStep, turn=1)
    environment.turns(1, rewards=(100.0, 200.0))
    second.hears(m.AgentStart, turn=2, reward=222.0)
    second.acts(0)
    environment.hears(m.EnvironmentStep, turn=2)
    environment.turns(rewards=(0.5, 0.25), terminated=True, outcome=[1.0, 0.0])
    first.hears(m.End, reward=100.5, total=111.5, decisions=2, outcome=[1.0, 0.0], blame=None)
    second.hears(m.End, reward=0.25, total=222.25, decisions=1, reason="terminated")
    result = table.experiment.hears(m.Episode, turns=3, scored=True, reason="terminated")
    assert [seat.total for seat in result.seats] == [111.5, 222.25]
    assert [seat.decisions for seat in result.seats] == [2, 1]
    assert [record.actions for record in table.records] == [[[(0, 1)], [(0, 0)], [(1, 0)]]]
    assert table.records[0].result.seq == 0  # the journal knows no session


def test_simultaneous_actions_go_out_together_in_the_order_of_to_act() -> None:
    table = begun()
    table.environment.turns(1, 0)
    for agent in table.agents:
        agent.hears(m.AgentStart)
    table.agents[0].acts(0)
    quiet(table.environment, table.agents[1])
    table.agents[1].acts(1)
    table.environment.hears(m.EnvironmentStep, actions=[(1, 1), (0, 0)])


@pytest.mark.rule("S6.5")
def test_late_doubled_and_foreign_actions_are_counted_and_change_nothing() -> None:
    table = begun()
    environment, (first, second) = table.environment, table.agents
    environment.turns(0)
    asked = first.hears(m.AgentStart)
    second.acts(1, to=asked)
    assert "seat 0" in second.hears(m.Error, code="illegal", id=None).message
    first.says(m.Action(asked.episode, 7, 0, 1))
    quiet(environment)
    first.acts(1)
    first.acts(0)
    environment.hears(m.EnvironmentStep, actions=[(0, 1)])
    environment.turns(1)
    first.acts(0, to=asked)
    second.hears(m.AgentStart)
    second.acts(0)
    environment.hears(m.EnvironmentStep)
    environment.turns(terminated=True)
    over(table, reason="terminated")
    seats = table.records[0].result.seats
    assert [seat.ignored for seat in seats] == [3, 0]
    assert table.core.broker.counters["ignored"] == 4


def test_answers_that_a_bridge_had_refused_are_added_up() -> None:
    table = begun()
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(1, refused=2)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStep)
    table.agents[0].acts(1, refused=3)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True)
    over(table, reason="terminated")
    assert [seat.refused for seat in table.records[0].result.seats] == [5, 0]


def test_a_count_of_refused_answers_stays_an_integer_that_travels() -> None:
    table = begun()
    for refused, heard in ((2**64 - 1, m.AgentStart), (1, m.AgentStep)):
        table.environment.turns(0)
        table.agents[0].hears(heard)
        table.agents[0].acts(1, refused=refused)
        table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True)
    assert [seat.refused for seat in table.records[0].result.seats] == [2**63 - 1, 0]
    codec.encode(table.records[0])


# -- clocks ----------------------------------------------------------------------------------------


@pytest.mark.rule("S6.13")
def test_a_timeout_forfeits_and_every_seat_hears_whose_it_was() -> None:
    table = begun(clock=m.ClockRule(decision=1.0))
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart, turn=0, clock=m.Clock(1.0, None, None))
    table.at(0.999)
    quiet(*table.agents)
    table.at(1.0)
    loser, winner = over(table, reason="timeout", blame=0, outcome=[0.0, 1.0])
    assert (loser.reward, loser.decisions, winner.reward) == (-5.0, 1, 5.0)
    assert table.records[0].result.seats[0].breaches == 1
    assert table.records[0].result.scored


def test_an_answer_that_is_late_before_anybody_looked_is_late_all_the_same() -> None:
    table = begun(clock=m.ClockRule(decision=1.0, margin=0.5))
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.now = 1.6
    table.agents[0].acts(0)
    over(table, reason="timeout", blame=0)


@pytest.mark.rule("S6.13")
def test_a_timeout_can_cost_a_random_action_and_the_late_answer_is_ignored() -> None:
    table = begun(clock=m.ClockRule(decision=1.0, episode=60.0), on_timeout="random")
    table.environment.turns(0, legal=(2,))
    asked = table.agents[0].hears(m.AgentStart, clock=m.Clock(1.0, 60.0, None))
    table.at(1.0)
    table.environment.hears(m.EnvironmentStep, actions=[(0, 2)])
    table.agents[0].acts(2, to=asked)
    quiet(table.environment)
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStep, clock=m.Clock(1.0, 59.0, 1.0))
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True)
    over(table, reason="terminated", blame=None)
    record = table.records[0]
    assert (record.result.seats[0].breaches, record.breached) == (1, [[0, 0]])


@pytest.mark.rule("S6.13")
def test_a_timeout_can_truncate() -> None:
    table = begun(clock=m.ClockRule(episode=2.0), on_timeout="truncate")
    table.environment.turns(1)
    table.agents[1].hears(m.AgentStart)
    table.at(2.0)
    ends = over(table, reason="truncated", blame=1, outcome=None)
    assert [end.reward for end in ends] == [0.0, 0.0]


@pytest.mark.rule("S6.12", "S7.8")
def test_without_a_clock_a_silent_seat_stalls_and_plays_again_once_it_is_heard() -> None:
    table = begun(answer_timeout=3.0, episodes=2)
    table.environment.turns(0)
    asked = table.agents[0].hears(m.AgentStart, clock=None)
    table.at(3.0)
    assert [end.decisions for end in over(table, reason="stalled", blame=0)] == [1, 0]
    quiet(table.environment)
    table.agents[0].acts(0, to=asked)
    table.environment.hears(m.EnvironmentStart)


# -- actions that are not legal --------------------------------------------------------------------


@pytest.mark.rule("S6.5", "S6.13")
@pytest.mark.parametrize(
    ("action", "legal", "text"),
    [
        (2, (0, 1), "action 2 is not legal; legal: 0, 1"),
        (0, b"\x06", "action 0 is not legal; legal: 1, 2"),
        (7, None, "action 7 is not legal; it is not in Discrete(n=3, start=0)"),
        ("0", (0, 1), "action '0' is not legal"),
        (True, (0, 1), "action True is not legal"),
        (1.0, b"\x06", "action 1.0 is not legal"),
    ],
)
def test_an_action_that_is_not_legal_forfeits(action: Any, legal: Any, text: str) -> None:
    table = begun()
    table.environment.turns(1, legal=legal)
    table.agents[1].hears(m.AgentStart)
    table.agents[1].acts(action)
    over(table, reason="illegal-action", blame=1, outcome=[1.0, 0.0])
    assert text in table.records[0].result.message
    assert [seat.total for seat in table.records[0].result.seats] == [5.0, -5.0]


@pytest.mark.rule("S6.13")
def test_an_illegal_action_can_cost_a_random_one_or_the_episode() -> None:
    table = begun(on_illegal="random")
    table.environment.turns(0, legal=b"\x04")
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep, actions=[(0, 2)])
    table = begun(on_illegal="truncate")
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(5)
    over(table, reason="truncated", blame=0, outcome=None)


def test_what_cannot_be_drawn_is_forfeited() -> None:
    table = Conversation(on_illegal="random")
    table.spec.action_spaces = [Box([1], 0, 1)]
    table.opens().environment.hears(m.EnvironmentStart)
    for agent in table.agents:
        agent.hears(m.Init)
    table.environment.turns(0, legal=None)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts("left")
    over(table, reason="illegal-action", blame=0)


def test_an_action_that_the_rules_refuse_is_the_seats_breach() -> None:
    for on_illegal, reason in (
        ("forfeit", "illegal-action"),
        ("random", "illegal-action"),
        ("truncate", "truncated"),
    ):
        table = begun(on_illegal=on_illegal)
        table.environment.turns(0)
        table.agents[0].hears(m.AgentStart)
        table.agents[0].acts(1)
        step = table.environment.hears(m.EnvironmentStep)
        table.environment.says(m.Error("illegal", "not there", answers=step.seq, seat=0))
        over(table, reason=reason, blame=0)
        assert "not there" in table.records[0].result.message
        assert [seat.breaches for seat in table.records[0].result.seats] == [1, 0]


@pytest.mark.parametrize(
    ("loser", "outcome"), [(0, [0.0, 0.5, 0.5]), (1, [0.5, 0.0, 0.5]), (2, [0.5, 0.5, 0.0])]
)
def test_the_other_seats_share_the_win_of_a_forfeit(loser: int, outcome: list[float]) -> None:
    table = Conversation(seats=3, spec=FORFEIT).opens()
    table.environment.hears(m.EnvironmentStart)
    for agent in table.agents:
        agent.hears(m.Init)
    table.environment.turns(loser)
    table.agents[loser].hears(m.AgentStart)
    table.agents[loser].acts(7)
    over(table, reason="illegal-action", blame=loser, outcome=outcome)
    totals = [-5.0 if seat == loser else 5.0 for seat in range(3)]
    assert [seat.total for seat in table.records[0].result.seats] == totals


@pytest.mark.rule("S6.13")
@pytest.mark.parametrize(
    ("price", "reason", "outcome"),
    [
        ("interrupt", "crashed", None),
        ("forfeit", "stalled", [0.0, 1.0]),
        ("truncate", "truncated", None),
    ],
)
def test_a_run_says_what_an_error_in_a_decision_costs(
    price: str, reason: str, outcome: list[float] | None
) -> None:
    table = begun(on_crash=price, retries=0)
    table.environment.turns(0)
    asked = table.agents[0].hears(m.AgentStart)
    table.agents[0].says(m.Error("crashed", "no more ideas", answers=asked.seq))
    over(table, reason=reason, blame=0, outcome=outcome)
    result = table.records[0].result
    assert result.message == "no more ideas"
    assert result.scored == (price != "interrupt")
    assert [seat.breaches for seat in result.seats] == [1, 0]
    assert [seat.total for seat in result.seats] == ([-5.0, 5.0] if outcome else [0.0, 0.0])


@pytest.mark.rule("S6.13")
@pytest.mark.parametrize("price", ["interrupt", "forfeit", "truncate"])
@pytest.mark.parametrize(("code", "reason"), [("timeout", "timeout"), ("unavailable", "stalled")])
def test_a_player_behind_an_agent_that_fails_costs_the_game_whatever_a_crash_costs(
    price: str, code: str, reason: str
) -> None:
    table = begun(on_crash=price, retries=1)
    table.environment.turns(0)
    asked = table.agents[0].hears(m.AgentStart)
    table.agents[0].says(m.Error(code, "the engine has ended", answers=asked.seq))
    over(table, reason=reason, blame=0, outcome=[0.0, 1.0])
    result = table.records[0].result
    assert result.message.endswith("the engine has ended")
    assert result.scored
    assert [seat.breaches for seat in result.seats] == [1, 0]


# -- whose fault it is -----------------------------------------------------------------------------


def test_a_crash_is_blamed_and_not_scored_and_played_again() -> None:
    table = begun(retries=1)
    for again in (True, False):
        table.environment.turns(0)
        asked = table.agents[0].hears(m.AgentStart)
        table.agents[0].says(m.Error("crashed", "no more ideas", answers=asked.seq))
        for agent in table.agents:
            agent.hears(m.End, reason="crashed", blame=0, outcome=None)
        table.experiment.hears(m.Episode, index=0, scored=False, will_retry=again)
        if again:
            table.environment.hears(m.EnvironmentStart)
    table.experiment.hears(m.Done, reason="finished", finished=1)


def test_an_error_of_a_seat_that_owes_nothing_costs_nobody_an_episode() -> None:
    table = begun()
    table.environment.turns(0)
    asked = table.agents[0].hears(m.AgentStart)
    for answers in (None, 0, asked.seq, 77):
        table.agents[1].says(m.Error("crashed", "late", answers=answers))
    table.agents[1].says(m.Error("crashed", "late", id=5))
    assert table.core.broker.counters["ignored"] == 5
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.agents[0].says(m.Error("crashed", "after all", answers=asked.seq))
    quiet(*table.agents, table.experiment)


def test_a_refused_seat_fails_the_run() -> None:
    table = begun()
    init = table.agents[1].last
    table.agents[1].says(m.Error("unavailable", "I play chess only", answers=init.seq))  # type: ignore[attr-defined]
    over(table, reason="cancelled", blame=None, outcome=None)
    table.environment.hears(m.Close)
    table.experiment.hears(m.Done, reason="failed", message="I play chess only", code="unavailable")
    for agent in table.agents:
        agent.hears(m.Leave)


def test_an_agent_that_leaves_is_to_blame() -> None:
    table = begun(retries=3)
    table.environment.turns(1)
    table.agents[1].hears(m.AgentStart)
    table.agents[1].says(m.Bye())
    table.agents[0].hears(m.End, reason="disconnected", blame=1, outcome=None)
    table.experiment.hears(m.Episode, reason="disconnected", scored=False, will_retry=False)
    table.experiment.hears(m.Done, reason="failed")
    quiet(table.agents[1])


@pytest.mark.rule("S6.3")
@pytest.mark.parametrize(
    ("turn", "text"),
    [
        ({"rewards": (math.nan, 0.0)}, "nan"),
        ({"rewards": (0.0, -math.inf)}, "-inf"),
        ({"rewards": (0.0, -1.1e100)}, "-1.1e+100"),
        ({"terminated": True}, "to_act"),
        ({"outcome": [1.0]}, "2 seats"),
        ({"outcome": [1.0, math.nan]}, "finite"),
        ({"outcome": [1.0, 1.1e100]}, "finite"),
        ({"legal": ()}, "without a legal action"),
        ({"legal": b"\x00"}, "the mask of seat 0 allows no action"),
    ],
)
def test_a_turn_that_contradicts_itself_is_the_environments_failure(turn: Any, text: str) -> None:
    table = begun()
    table.environment.turns(0, **turn)
    over(table, reason="environment-failed", blame=None, outcome=None)
    assert text in table.records[0].result.message
    assert text in table.environment.hears(m.Error, code="invalid", id=None).message


@pytest.mark.rule("S6.3")
def test_a_turn_about_foreign_seats_is_the_environments_failure() -> None:
    for to_act in ((3,), (0, 0), (-1,), ()):
        table = begun()
        table.environment.turns(*to_act)
        table.agents[0].hears(m.End, reason="environment-failed")


@pytest.mark.rule("S6.3")
def test_a_checked_run_holds_turns_against_the_spec() -> None:
    for view, text in (
        (m.View(0, 1, [0], 3.0), "reward 3 of seat 0 is not in -1 .. 1"),
        (m.View(0, 9, [0]), "observation 9 of seat 0 is not in"),
        (m.View(0, 1, [0], afterstates=[1, 2]), "`afterstates` has 2 rows; it must have 1"),
        (m.View(0, 1, [0, 9999]), "legal action 9999 of seat 0 is not in Discrete(n="),
        (m.View(0, 1, [1, -1]), "legal action -1 of seat 0 is not in Discrete(n="),
        (m.View(0, 1, [2, 1]), "the legal actions of seat 0 do not rise"),
        (m.View(0, 1, [1, 1]), "the legal actions of seat 0 do not rise"),
        (m.View(0, 1, bytes([0b1000_0001])), "legal action 7 of seat 0 is not in Discrete(n="),
    ):
        table = begun({"reward_range": (-1.0, 1.0)}, check=True)
        start: Any = table.environment.last
        table.environment.says(m.Turn(start.episode, 0, [0], [view]))
        over(table, reason="environment-failed")
        assert text in table.records[0].result.message


@pytest.mark.rule("S6.3")
@pytest.mark.parametrize(
    ("seen", "after"),
    [(b"\xc7\x00\x01", b"\xc0"), (b"\x07", b"\x92\x01\x02"), (b"\x07", b"\x91\x01")],
    ids=["malformed", "two afterstates", "sound"],
)
def test_a_view_that_no_one_can_read_is_the_environments_fault(seen: bytes, after: bytes) -> None:
    """A tensor without a payload, for example; an agent that claims so is not believed."""
    table = begun(on_crash="forfeit")
    start: Any = table.environment.last
    view = m.View(0, msgspec.Raw(seen), [0], afterstates=msgspec.Raw(after))
    table.environment.says(m.Turn(start.episode, 0, [0], [view]))
    asked = table.agents[0].hears(m.AgentStart)
    table.agents[0].says(m.Error("crashed", "no", answers=asked.seq))
    if (seen, after) == (b"\x07", b"\x91\x01"):
        over(table, reason="stalled", blame=0)
    else:
        over(table, reason="environment-failed", blame=None)
        assert "the view of seat 0 in turn 0: " in table.records[0].result.message


@pytest.mark.rule("S6.12")
def test_a_silent_environment_is_replaced_by_another() -> None:
    table = begun(answer_timeout=2.0, retries=1)
    other = Voice(table, "environment", "others", m.Offer("game"))
    table.at(2.0)
    table.environment.hears(m.Close)
    assert other.hears(m.Open).match == table.spec.match
    other.says(table.spec)
    other.hears(m.EnvironmentStart)
    assert not table.records
    quiet(table.environment)


def test_an_environment_that_leaves_alone_fails_the_run() -> None:
    table = begun()
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.environment.says(m.Bye())
    for agent in table.agents:
        agent.hears(m.End, reason="environment-failed")
    table.experiment.hears(m.Episode, reason="environment-failed", will_retry=False)
    table.experiment.hears(m.Done, reason="failed", message="environment rules left")


def test_a_game_that_is_refused_or_has_other_seats_fails_the_run() -> None:
    table = Conversation()
    opened = table.environment.last
    table.environment.says(m.Error("\x1b[2J", "no such board", answers=opened.seq))  # type: ignore[attr-defined]
    table.experiment.hears(m.Done, reason="failed", message="no such board", code="unavailable")
    table = Conversation()
    table.spec.seats = 3
    table.opens()
    assert "3 seats" in table.experiment.hears(m.Done, reason="failed", code="seats").message
    table.environment.hears(m.Close)
    table = Conversation()
    table.spec.action_spaces = []
    table.opens()
    assert "0 action spaces" in table.experiment.hears(m.Done, reason="failed").message


@pytest.mark.rule("S6.14")
@pytest.mark.parametrize("forfeit", [(math.nan, 0.0), (0.0, math.inf), (-1.1e100, 0.0)])
def test_a_forfeit_is_finite(forfeit: Any) -> None:
    table = Conversation(spec={"forfeit": forfeit}).opens()
    text = "give two finite rewards"
    assert text in table.experiment.hears(m.Done, reason="failed", code="invalid").message


def test_a_run_may_be_cut_short_and_its_experiment_may_leave() -> None:
    table = begun(max_turns=1)
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(1)
    over(table, reason="truncated", blame=None, outcome=None)
    table = begun()
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.experiment.says(m.Bye())
    for agent in table.agents:
        agent.hears(m.End, reason="cancelled", blame=None, outcome=None)
        agent.hears(m.Leave)
    table.environment.hears(m.Close)


def test_what_an_agent_measured_is_averaged_into_the_result() -> None:
    table = begun()
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0, measures={"loss": 1.0, "rate": 0.5})
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStep)
    many = {f"name {number}": 1.0 for number in range(2 * MEASURES)}
    many = {"n" * (LONGEST + 1): 1.0, "a\x1b[2J": 1.0, **many}
    table.agents[0].acts(0, measures={"loss": 3.0, **many})
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True)
    measured = table.experiment.hears(m.Episode).seats[0].measures
    assert (measured["loss"], measured["rate"], len(measured)) == (2.0, 0.5, MEASURES)
    assert all(name.isprintable() and len(name) <= LONGEST for name in measured)


@pytest.mark.rule("S6.14")
@pytest.mark.parametrize("how", ["terminated", "truncated"])
def test_an_environment_may_blame_a_seat_for_the_end_that_it_judged(how: str) -> None:
    table = begun()
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(1)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(rewards=(-3.0, 0.0), outcome=[0.0, 0.5], blame=0, **{how: True})
    first, second = over(table, reason=how, blame=0, outcome=[0.0, 0.5])
    assert (first.reward, second.reward) == (-3.0, 0.0)  # no forfeit is added
    (record,) = table.records
    assert (record.result.blame, record.result.scored) == (0, True)


@pytest.mark.parametrize("turn", [{"blame": 2}, {"blame": -1}, {"blame": 0, "to_act": [0]}])
def test_a_blame_names_a_seat_at_the_end(turn: dict[str, Any]) -> None:
    table = begun()
    to_act = turn.pop("to_act", [])
    table.environment.turns(*to_act, terminated=not to_act, **turn)
    over(table, reason="environment-failed", blame=None)
