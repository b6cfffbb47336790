"""Groups at the broker: one whole exchange, and what wrong columns cost whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.conversation import Conversation, Voice

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.durable import snapshot
from dovetail.broker.matches.stack_columns import StackColumns
from dovetail.broker.matches.stack_decode import _difference, problem
from dovetail.broker.peers.limits import elements
from dovetail.broker.rules.legality import chosen
from dovetail.broker.runs import stacked
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.seeds import SeatSeeds, derive
from dovetail.protocol.spaces import Discrete, Text


def i4(*values: int) -> Any:
    return np.array(values, np.int32)


class Stack(Conversation):
    """An environment and two agents that play in groups of three slots."""

    def __init__(
        self, spec: Any = None, offers: Any = None, *, together: bool = False, **run: Any
    ) -> None:
        self.core, self.now, self.seats = Core(Settings(), b""), 0.0, 2
        self.voices, self.records = [], []
        more = {"stacked": True, "capacity": 0, **(offers or {})}
        self.environment = Voice(self, "environment", "rules", m.Offer("game", stacked=True))
        made = [m.Offer(name, instance=True, **more) for name in ("p0", "p1")]
        if together:  # in one program
            self.agents = [Voice(self, "agent", "both", *made)]
        else:
            self.agents = [Voice(self, "agent", each.name, each) for each in made]
        self.experiment = Voice(self, "experiment", "trial")
        asked = {"agents": ["p0", "p1"], "retries": 0, "episodes": 3, "concurrency": 3, **run}
        self.experiment.says(m.Run(1, "game", stacked=True, **asked))
        self.run = self.experiment.hears(m.Reply, id=1).body["run"]
        self.opened = self.environment.hears(m.Open)
        self.spec = m.Spec(
            *(self.opened.match, "game", 2),
            **{"action_spaces": [Discrete(3)], "observation_spaces": [Discrete(9)], **(spec or {})},
        )

    def begun(self) -> Stack:
        """Have the first batch played: seat 0 must act in all slots, with actions 0 and 1."""
        self.environment.says(self.spec)
        for agent in self.agents:
            agent.hears(m.Init, slots=3)
        self.environment.hears(m.EnvironmentSteps, batch=0)
        self.turns(0)
        return self

    def turns(self, batch: int, *slots: int, seat: int = 0, **columns: Any) -> None:
        named = i4(*(slots or (0, 1, 2)))
        fields = {
            **{
                "rows": named,
                "seats": named * 0 + seat,
                "legal": np.full((len(named), 1), 3, "u1"),
            },
            **{"observations": codec.encode(list(range(len(named))))},
            **columns,
        }
        seen = fields.pop("observations")
        turns = m.Turns(self.opened.match, batch, fields.pop("slots", named), **fields)
        frame = codec.encode(turns)
        read: Any = codec.Decoder(m.FromEnvironment).decode(frame)
        read.observations = msgspec.Raw(seen)
        self.environment.says(read)

    def answers(self, agent: int, *actions: int, **columns: Any) -> None:
        voice = self.agents[agent]
        asked = voice.last
        assert isinstance(asked, m.AgentSteps)
        given: dict[str, Any] = {
            "slots": asked.slots,
            "seats": asked.seats,
            "actions": np.array(actions, np.int64),
            **columns,
        }
        match = given.pop("match", asked.match)
        voice.says(m.Actions(match, asked.instance, given.pop("batch", asked.batch), **given))


def reasons(voice: Voice) -> list[str]:
    found = voice.hears(m.Episodes)
    return [each.reason for each in found.results]


@pytest.mark.rule("S12.4")
def test_an_unreadable_answer_of_one_of_two_instances_of_a_program() -> None:
    """Both owe an answer, so that only its number tells which of them has failed."""
    table = Stack(together=True)
    program = table.agents[0]
    table.environment.says(table.spec)
    for seat in (0, 1):
        program.hears(m.Init, seat=seat, slots=3)
    table.environment.hears(m.EnvironmentSteps, batch=0)
    rows, legal = i4(0, 0, 1, 1, 2, 2), np.full((6, 1), 3, "u1")
    observations = codec.encode(list(range(6)))
    table.turns(
        0, rows=rows, seats=rows * 0 + i4(0, 1, 0, 1, 0, 1), legal=legal, observations=observations
    )
    _, second = (program.hears(m.AgentSteps) for _ in range(2))
    about = {"match": second.match, "instance": second.instance}
    unread = ProtocolError("malformed", "no", "actions", about)
    table.core.refuse(program.address, unread, table.now)
    table.carry()
    results = table.experiment.hears(m.Episodes).results
    assert [(each.reason, each.blame) for each in results] == [("crashed", 1)] * 3


@pytest.mark.rule("S16.3", "S16.4", "S16.7", "S16.10")
def test_a_whole_group() -> None:
    table = Stack().begun()
    steps = table.agents[0].hears(m.AgentSteps, batch=0, instance=3)
    assert steps.slots.tolist() == steps.starts.tolist() == [0, 1, 2]
    assert steps.seats.tolist() == steps.turns.tolist() == [0, 0, 0]
    assert len(set(steps.seeds.tolist())) == 3
    table.answers(0, 0, 1, 1)
    step = table.environment.hears(m.EnvironmentSteps, batch=1, restarts=None)
    assert step.actions.tolist() == [0, 1, 1]
    over = np.array([0, 1, 2], np.uint8)
    rewards = np.array([[0, 0.5], [1, -1], [0, 0]])
    table.turns(
        1,
        0,
        1,
        2,
        rows=i4(0),
        seats=i4(1),
        legal=np.array([[1]], "u1"),
        over=over,
        rewards=rewards,
        outcomes=np.array([[1.0, 0.0], [np.nan, np.nan]]),
        observations=codec.encode(["only"]),
    )
    ends = table.agents[0].hears(m.Ends, reasons=["terminated", "truncated"])
    assert ends.slots.tolist() == [1, 2]
    assert ends.rewards.tolist() == [1.0, 0.0]
    results = table.experiment.hears(m.Episodes, run=table.run).results
    assert [(each.reason, each.outcome, each.turns) for each in results] == [
        ("terminated", [1.0, 0.0], 1),
        ("truncated", None, 1),
    ]
    assert len(table.records) == 2
    table.agents[1].hears(m.Ends)
    steps = table.agents[1].hears(m.AgentSteps, batch=1, instance=5)
    assert steps.slots.tolist() == [0]
    assert steps.rewards.tolist() == [0.5]
    table.answers(1, 0)
    table.environment.hears(m.EnvironmentSteps, batch=2)
    table.turns(
        2, 0, rows=None, seats=None, legal=None, over=np.array([1], np.uint8), observations=b"\xc0"
    )
    assert reasons(table.experiment) == ["terminated"]
    table.experiment.hears(m.Done, reason="finished", finished=3)
    table.environment.hears(m.Close)


NARROW = {"legal": np.full((3, 2), 3, "u1")}


@pytest.mark.rule("S16.6")
@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"slots": i4(0, 1, 1)}, "slot 2 missing"),
        ({"slots": i4(0, 1, 7)}, "slot 7 foreign"),
        ({"slots": i4(0, 2, 1)}, "out of order"),
        ({"rows": i4(0, 1, 1)}, "slot 1, seat 0 is twice"),
        ({"rows": i4(0, 1, 7)}, "slot 7 foreign"),
        ({"rows": i4(0, 1), "seats": i4(0, 0)}, "slot 2 missing"),
        ({"seats": i4(0, 0, 2)}, "not 0 to 1"),
        ({"rows": np.array([0, 1, 2], np.int64)}, "int64 [3], not a tensor int32 [n]"),
        (NARROW, "uint8 [3, 2], not a tensor uint8 [3, 1]"),
        ({"observations": codec.encode([1, 2])}, "`observations` has 2 rows; it must have 3"),
        ({"over": np.array([0, 0, 9], np.uint8)}, "`over` has a 9"),
        ({"over": np.array([0, 0, 1], np.uint8)}, "slot 2 foreign"),
        ({"over": np.array([0, 0, 3], np.uint8), "rows": i4(0, 1), "seats": i4(0, 0)}, "faults"),
    ],
)
def test_wrong_turns_end_their_batch(columns: dict[str, Any], text: str) -> None:
    table = Stack()
    table.environment.says(table.spec)
    table.environment.hears(m.EnvironmentSteps, batch=0)
    if text == "faults":
        columns = {**columns, "legal": None, "observations": codec.encode([1, 2])}
    table.turns(0, **columns)
    assert text in table.environment.hears(m.Error, code="invalid").message
    found = table.experiment.hears(m.Episodes).results
    assert [each.reason for each in found] == ["environment-failed"] * 3
    assert text in found[0].message
    table.experiment.hears(m.Done, reason="finished")


@pytest.mark.rule("S16.6")
@pytest.mark.parametrize("what", ["reward", "no action"])
def test_a_wrong_value_ends_its_own_slot(what: str) -> None:
    table = Stack()
    table.environment.says(table.spec)
    table.environment.hears(m.EnvironmentSteps, batch=0)
    if what == "reward":
        rewards = np.zeros((3, 2))
        rewards[1, 0] = np.nan
        table.turns(0, rewards=rewards)
    else:
        table.turns(0, legal=np.array([[1], [0], [3]], "u1"))
    [found] = table.experiment.hears(m.Episodes).results
    assert (found.reason, found.index) == ("environment-failed", 1)
    for _ in range(2):
        table.agents[0].heard.popleft()  # init, and the end of the slot
    assert table.agents[0].hears(m.AgentSteps).slots.tolist() == [0, 2]


@pytest.mark.rule("S16.6", "S16.10")
@pytest.mark.parametrize("what", ["reward", "no action", "fault"])
def test_nothing_of_a_turn_that_fails_counts(what: str) -> None:
    """As in a single match, whose turn is refused whole, or is an ``error`` without rewards."""
    table = Stack().begun()
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0)
    table.environment.hears(m.EnvironmentSteps)
    rewards = np.ones((3, 2))
    if what == "reward":
        rewards[1, 1] = 1.1e100
        table.turns(1, rewards=rewards)
    elif what == "no action":
        table.turns(1, rewards=rewards, legal=np.array([[1], [0], [3]], "u1"))
    else:
        going = {"rows": i4(0, 2), "seats": i4(0, 0), "legal": np.full((2, 1), 3, "u1")}
        table.turns(
            1,
            **going,
            rewards=rewards,
            over=np.array([0, 3, 0], np.uint8),
            faults=[m.Fault(1, "crashed", "a bug")],
            observations=codec.encode([7, 8]),
        )
    [found] = table.experiment.hears(m.Episodes).results
    assert (found.reason, found.index) == ("environment-failed", 1)
    assert [seat.total for seat in found.seats] == [0.0, 0.0]
    ends = table.agents[0].hears(m.Ends)
    assert ends.rewards.tolist() == ends.totals.tolist() == [0.0]
    assert codec.opened(ends.observations) == [1]  # of slot 1 in the turn before
    assert table.agents[0].hears(m.AgentSteps).rewards.tolist() == [1.0, 1.0]


@pytest.mark.rule("S16.8")
@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"slots": i4(0, 1, 1)}, "slot 2 missing"),
        ({"slots": i4(0, 1, 7)}, "slot 7 foreign"),
        ({"slots": i4(0, 1)}, "slot 2 missing"),
        ({"slots": i4(2, 1, 0)}, "out of order"),
        ({"seats": i4(0, 1, 0)}, "not those of the decisions"),
        ({"actions": np.zeros(2, np.int64)}, "int64 [2], not a tensor int64 [3]"),
        ({"actions": np.zeros(3)}, "float64 [3]"),
        ({"resigns": [3]}, "beyond 2"),
        ({"faults": [m.Fault(7, "crashed", "x", 0)]}, "slot 7, seat 0, which has no row"),
        ({"faults": [m.Fault(0, "crashed", "x", 0)] * 4}, "more than an entry for each of 3 rows"),
    ],
)
def test_wrong_actions_end_their_batch(columns: dict[str, Any], text: str) -> None:
    table = Stack().begun()
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, **columns)
    assert text in table.agents[0].hears(m.Error, code="invalid").message
    found = table.experiment.hears(m.Episodes).results
    assert [(each.reason, each.blame) for each in found] == [("crashed", 0)] * 3
    table.experiment.hears(m.Done)
    table.agents[1].hears(m.Ends)


@pytest.mark.rule("S16.8")
def test_a_batch_that_is_late_doubled_or_anothers_is_ignored() -> None:
    table = Stack().begun()
    steps = table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, batch=5)
    table.answers(0, 0, 0, 0, match=99)
    assert table.core.broker.counters["ignored"] == 2
    table.agents[1].last = steps
    table.answers(1, 0, 0, 0)
    table.agents[1].hears(m.Error, code="illegal")
    table.answers(0, 0, 0, 0)
    table.answers(0, 1, 1, 1)
    assert table.core.broker.counters["ignored"] == 4
    table.environment.hears(m.EnvironmentSteps, batch=1)
    assert not table.experiment.heard


@pytest.mark.rule("S16.7", "S16.8")
@pytest.mark.parametrize("seat", [0, None])
def test_what_is_wrong_in_a_row_is_its_own_matter(seat: int | None) -> None:
    """A fault may leave its seat out."""
    table = Stack(on_illegal="forfeit").begun()
    table.agents[0].hears(m.AgentSteps)
    fault = m.Fault(2, "crashed", "no idea", seat)
    table.answers(0, 1, 2, 0, faults=[fault])
    found = table.experiment.hears(m.Episodes).results
    assert [(e.index, e.reason) for e in found] == [(1, "illegal-action"), (2, "crashed")]
    assert table.environment.hears(m.EnvironmentSteps, batch=1).slots.tolist() == [0]


def refuses(table: Stack, seat: int | None) -> Any:
    """Have the environment refuse what was done in slot 1; return the result."""
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0)
    table.environment.hears(m.EnvironmentSteps)
    going = {"rows": i4(0, 2), "legal": np.full((2, 1), 3, "u1")}
    table.turns(
        1,
        **going,
        seats=i4(0, 0),
        over=np.array([0, 3, 0], np.uint8),
        faults=[m.Fault(1, "illegal", "suicide", seat)],
        observations=codec.encode([7, 8]),
    )
    [found] = table.experiment.hears(m.Episodes).results
    assert found.index == 1
    return found


@pytest.mark.rule("S16.6")
@pytest.mark.parametrize(
    ("seat", "price", "reason", "blame", "outcome"),
    [
        (0, "forfeit", "illegal-action", 0, [0.0, 1.0]),
        (0, "truncate", "truncated", 0, None),
        (1, "forfeit", "environment-failed", None, None),
        (None, "forfeit", "environment-failed", None, None),
        (99, "forfeit", "environment-failed", None, None),
        (-2, "truncate", "environment-failed", None, None),
    ],
)
def test_the_environment_refuses_an_action_of_one_slot(
    seat: int | None, price: Any, reason: str, blame: int | None, outcome: Any
) -> None:
    """Only a seat that has acted in the turn before can have broken a rule in it."""
    found = refuses(Stack(on_illegal=price).begun(), seat)
    assert (found.reason, found.blame, found.outcome) == (reason, blame, outcome)
    assert "suicide" in found.message
    assert [each.breaches for each in found.seats] == [int(blame == 0), 0]


@pytest.mark.rule("S16.10")
def test_a_forfeit_earns_what_the_game_says() -> None:
    found = refuses(Stack({"forfeit": (-5.0, 2.0)}, on_illegal="forfeit").begun(), 0)
    assert [each.total for each in found.seats] == [-5.0, 2.0]


@pytest.mark.parametrize(
    ("price", "reason", "outcome"),
    [
        ("interrupt", "crashed", None),
        ("forfeit", "stalled", [0.0, 1.0]),
        ("truncate", "truncated", None),
    ],
)
def test_a_run_says_what_a_fault_in_a_decision_costs(price: str, reason: str, outcome: Any) -> None:
    table = Stack(on_crash=price, retries=0).begun()
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, faults=[m.Fault(1, "crashed", "no idea", 0)])
    [found] = table.experiment.hears(m.Episodes).results
    assert (found.index, found.reason, found.outcome) == (1, reason, outcome)
    assert (found.scored, found.message) == (price != "interrupt", "no idea")
    assert [each.breaches for each in found.seats] == [1, 0]


@pytest.mark.rule("S16.8")
def test_an_illegal_action_is_replaced_by_one_drawn_from_the_seed() -> None:
    """The draw is that of a single match, from the seat's seed and the turn."""
    table = Stack(on_illegal="random").begun()
    steps = table.agents[0].hears(m.AgentSteps)
    table.answers(0, 2, 0, 2)
    drawn = [
        chosen(derive(seed, "breach", 0), [0, 1], Discrete(3)) for seed in steps.seeds.tolist()
    ]
    step = table.environment.hears(m.EnvironmentSteps, batch=1)
    assert step.actions.tolist() == [drawn[0], 0, drawn[2]]
    rest: dict[str, Any] = {"rows": None, "seats": None, "legal": None, "observations": b"\xc0"}
    table.turns(1, 0, 1, 2, over=np.ones(3, np.uint8), **rest)
    found = table.experiment.hears(m.Episodes).results
    assert [each.seats[0].breaches for each in found] == [1, 0, 1]
    assert [record.breached for record in table.records] == [[[0, 0]], [], [[0, 0]]]


ENDED: dict[str, Any] = {"rows": None, "seats": None, "legal": None, "observations": b"\xc0"}


@pytest.mark.rule("S16.10")
def test_empty_final_observations_of_any_shape_reach_the_seats() -> None:
    """NumPy cannot put together those with 2^62 rows, which left the results unsent."""
    table = Stack().begun()
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0)
    table.environment.hears(m.EnvironmentSteps)
    empty = np.empty((1 << 62, 0), np.int8)
    table.turns(1, over=np.ones(3, np.uint8), finals=[[empty, empty]] * 3, **ENDED)
    assert reasons(table.experiment) == ["terminated"] * 3
    assert [each.shape for each in table.agents[1].hears(m.Ends).observations] == [empty.shape] * 3


@pytest.mark.rule("S11.1")
def test_results_come_in_frames_that_an_experiment_can_read() -> None:
    table = Stack().begun()
    broker = table.core.broker
    broker.settings = replace(broker.settings, limits=m.Limits(elements=200))
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, measures=[{str(number): 1.0 for number in range(30)}] * 3)
    table.environment.hears(m.EnvironmentSteps)
    table.turns(1, over=np.ones(3, np.uint8), **ENDED)
    for index in range(3):
        found = table.experiment.hears(m.Episodes)
        assert elements(msgspec.to_builtins(found)) <= 200
        assert [each.index for each in found.results] == [index]


@pytest.mark.rule("S16.9")
def test_an_answer_that_comes_after_its_time_is_a_timeout_in_each_slot() -> None:
    """The broker itself may be late to look at the clock, while the answer waits."""
    table = Stack(clock=m.ClockRule(decision=1.0, margin=0.5)).begun()
    table.agents[0].hears(m.AgentSteps)
    table.now = 1.6  # without a tick of the core
    table.answers(0, 0, 0, 0)
    found = table.experiment.hears(m.Episodes).results
    assert [(each.reason, each.blame) for each in found] == [("timeout", 0)] * 3
    assert "answered after 1.600 s" in found[0].message


@pytest.mark.rule("S16.8")
def test_an_agent_that_fails_at_a_batch_fails_in_each_slot() -> None:
    table = Stack().begun()
    steps = table.agents[0].hears(m.AgentSteps)
    table.agents[0].says(m.Error("crashed", "out of memory", answers=steps.seq))
    found = table.experiment.hears(m.Episodes).results
    assert [(each.reason, each.blame) for each in found] == [("crashed", 0)] * 3
    assert "out of memory" in found[0].message


@pytest.mark.rule("S16.6")
def test_an_environment_that_fails_at_a_batch_ends_its_episodes() -> None:
    table = Stack().begun()
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0)
    step = table.environment.hears(m.EnvironmentSteps)
    table.environment.says(m.Error("crashed", "a bug", answers=step.seq))
    found = table.experiment.hears(m.Episodes).results
    assert [each.reason for each in found] == ["environment-failed"] * 3
    assert "a bug" in found[0].message


@pytest.mark.parametrize(("wrong", "counted"), [(0, [1, 0]), (1, [1, 1])])
def test_what_a_seat_counted_before_another_ends_the_episode_is_kept(
    wrong: int, counted: list[int]
) -> None:
    table = Stack(agents=["p0", "p0"], on_illegal="forfeit")
    table.environment.says(table.spec)
    table.environment.hears(m.EnvironmentSteps)
    seats = {"rows": i4(0, 0, 1, 1, 2, 2), "seats": i4(0, 1, 0, 1, 0, 1)}
    table.turns(
        0, **seats, legal=np.full((6, 1), 3, "u1"), observations=codec.encode(list(range(6)))
    )
    for kind in (m.Init, m.Init, m.AgentSteps):
        table.agents[0].hears(kind)
    actions = [0] * 6
    actions[2 + wrong] = 2  # of slot 1
    table.answers(0, *actions, refused=i4(*[1] * 6))
    [result] = table.experiment.hears(m.Episodes).results
    assert (result.reason, result.blame) == ("illegal-action", wrong)
    assert [seat.refused for seat in result.seats] == counted


def test_what_a_seat_counts_is_what_others_can_read() -> None:
    """Only names have a measure, and a sum that has no room in a column stays at its end."""
    table = Stack().begun()
    measures = [{7: 1.0, "loss": 2, "n" * 257: 1.0, "a\x1b[2J": 1.0}, None, {}]
    most = np.iinfo(np.int32).max
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, refused=i4(most, 1, 0), measures=measures)
    table.environment.hears(m.EnvironmentSteps)
    table.turns(1)
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, refused=i4(most, 1, 0))
    table.environment.hears(m.EnvironmentSteps)
    table.turns(2, over=np.ones(3, np.uint8), **ENDED)
    results = table.experiment.hears(m.Episodes).results
    assert [each.seats[0].refused for each in results] == [most, 2, 0]
    assert [each.seats[0].measures for each in results] == [{"loss": 2.0}, {}, {}]


@pytest.mark.rule("S16.9")
@pytest.mark.parametrize(
    ("clock", "reason"), [(m.ClockRule(decision=1.0), "timeout"), (m.ClockRule(), "stalled")]
)
def test_a_clock_runs_for_the_batch(clock: m.ClockRule, reason: str) -> None:
    table = Stack(clock=clock, answer_timeout=5.0).begun()
    steps = table.agents[0].hears(m.AgentSteps)
    assert (steps.clock is None) == (clock.decision is None)
    table.at(1.1 if clock.decision else 5.1)
    assert reasons(table.experiment) == [reason] * 3


def test_an_environment_that_is_silent_is_given_up() -> None:
    table = Stack(answer_timeout=5.0)
    table.environment.says(table.spec)
    table.environment.hears(m.EnvironmentSteps)
    table.at(5.1)
    assert reasons(table.experiment) == ["environment-failed"] * 3


def test_a_group_without_its_environment_continues_singly() -> None:
    table = Stack(retries=1).begun()
    single = Voice(table, "environment", "single", m.Offer("game"))
    table.environment.says(m.Bye())
    found = table.experiment.hears(m.Episodes).results
    assert [(each.reason, each.will_retry) for each in found] == [("environment-failed", True)] * 3
    for _ in range(3):
        spec = m.Spec(single.hears(m.Open, slots=0).match, "game", 2, table.spec.observation_spaces)
        spec.action_spaces = table.spec.action_spaces
        table.environment = single
        single.says(spec)
    indices = []
    for _ in range(3):
        single.hears(m.EnvironmentStart)
        single.turns(terminated=True)
        result = table.experiment.hears(m.Episode, reason="terminated", scored=True)
        indices.append(result.index)
    assert sorted(indices) == [0, 1, 2]
    table.experiment.hears(m.Done, reason="finished", finished=3)


@pytest.mark.rule("S16.2")
@pytest.mark.parametrize(
    ("run", "offers"),
    [
        ({"lookahead": True}, {}),
        ({"check": True}, {}),
        ({"opening_turns": 1}, {}),
        ({"openings": [[[0]]]}, {}),
        ({"clock": m.ClockRule(episode=9.0)}, {}),
        ({"save_every": 2}, {}),
        ({"on_agent_lost": "wait"}, {}),
        ({"concurrency": 1}, {}),
        ({"seeds": [5, -1, 7]}, {}),
        ({}, {"stacked": False}),
        ({}, {"capacity": 1}),
        ({}, {"wants": ["text"]}),
        ({"agents": ["p0", "p0"], "modes": ["learn", "evaluate"]}, {}),
    ],
)
def test_what_does_not_fit_is_played_singly(run: Any, offers: Any) -> None:
    table = Stack(offers=offers, **run)
    assert table.opened.slots == 0


@pytest.mark.rule("S16.2")
@pytest.mark.parametrize(
    ("seats", "start", "expected"),
    [
        (17, 0, "it has more than 16 seats"),
        (2, -32_769, "all of its actions are below 0, for which a mask has no bit"),
        (2, -3, "all of its actions are below 0, for which a mask has no bit"),
    ],
)
def test_what_a_group_has_no_room_for(seats: int, start: int, expected: str) -> None:
    def found(seats: int, start: int) -> str:
        spaces: list[Any] = [Discrete(3, start=start)]
        return problem(m.Spec(1, "game", seats, action_spaces=spaces))

    assert found(seats, start) == expected
    assert found(16, -2) == ""


@pytest.mark.rule("S16.2")
@pytest.mark.parametrize(("start", "expected"), [(-32_768, ""), (-32_769, "below -32,768")])
def test_a_group_notes_actions_down_to(start: int, expected: str) -> None:
    spaces: list[Any] = [Discrete(40_000, start=start)]
    assert expected in problem(m.Spec(1, "game", 2, action_spaces=spaces))


@pytest.mark.rule("S16.2")
@pytest.mark.parametrize("spaces", [[Text(3)], [Discrete(3), Discrete(4)], [Discrete(40_000)]])
def test_a_game_that_does_not_fit_is_opened_again(spaces: Any) -> None:
    table = Stack({"action_spaces": spaces})
    assert table.opened.slots == 3
    table.environment.says(table.spec)
    table.environment.hears(m.Close)
    for _ in range(3):
        table.environment.hears(m.Open, slots=0)


@pytest.mark.rule("S16.1")
def test_an_environment_that_does_not_offer_it_plays_singly() -> None:
    table = Conversation(stacked=True, concurrency=2, episodes=2)
    assert table.environment.last.slots == 0  # type: ignore[attr-defined]


def test_a_large_run_over_sockets_has_two_groups() -> None:
    table = Stack(episodes=900, concurrency=513)
    other = table.environment.hears(m.Open)
    assert (table.opened.slots, other.slots) == (257, 256)


@pytest.mark.parametrize(("programs", "groups"), [(1, 2), (2, 2), (3, 3), (5, 4)])
def test_a_run_has_a_group_for_each_environment_of_256_slots_or_more(
    programs: int, groups: int
) -> None:
    table = Stack()
    for number in range(1, programs):
        Voice(table, "environment", f"more-{number}", m.Offer("game", stacked=True))
    core = table.core
    [run] = core.runs
    peers = core.runs.matches.with_room(run.asked, stacked=True)
    found = stacked.groups(run.asked, run.agents, peers, 1027)
    assert (len(peers), len(found), sum(found)) == (programs, groups, 1027)
    assert max(found) - min(found) < 2


def test_a_smaller_run_over_sockets_has_one_group() -> None:
    table = Stack(episodes=900, concurrency=511)
    assert table.opened.slots == 511
    assert not table.environment.heard


def test_an_agent_that_leaves_ends_its_run() -> None:
    table = Stack(on_agent_lost="forfeit").begun()
    table.agents[1].says(m.Bye())
    found = table.experiment.hears(m.Episodes).results
    assert [(each.reason, each.blame) for each in found] == [("stalled", 1)] * 3
    table.experiment.hears(m.Done, reason="failed")
    table.agents[0].hears(m.AgentSteps)
    table.agents[0].hears(m.Ends)
    table.agents[0].hears(m.Leave)


def test_a_cancelled_run_ends_its_groups() -> None:
    table = Stack().begun()
    table.experiment.says(m.Cancel(2, table.run))
    table.experiment.hears(m.Reply)
    assert reasons(table.experiment) == ["cancelled"] * 3
    table.environment.hears(m.Close)
    assert table.core.idle


@pytest.mark.rule("S16.9")
def test_each_agent_is_shown_what_its_own_last_answer_took() -> None:
    table = Stack(clock=m.ClockRule(decision=9.0)).begun()
    assert table.agents[0].hears(m.AgentSteps).clock == m.Clock(9.0)
    table.at(2.0)
    table.answers(0, 0, 0, 0)
    table.environment.hears(m.EnvironmentSteps)
    table.turns(1, seat=1)
    assert table.agents[1].hears(m.AgentSteps).clock == m.Clock(9.0)
    table.at(3.0)
    table.answers(1, 0, 0, 0)
    table.environment.hears(m.EnvironmentSteps)
    table.turns(2, seat=0)
    assert table.agents[0].hears(m.AgentSteps).clock == m.Clock(9.0, last=2.0)


@pytest.mark.rule("S16.9")
def test_no_clock_counts_while_the_broker_was_away() -> None:
    table = Stack(clock=m.ClockRule(decision=5.0), answer_timeout=None).begun()
    steps = table.agents[0].hears(m.AgentSteps)
    table.at(3.0)
    table.core.restarted(table.now)
    table.at(9.0)  # beyond the decision's deadline, within the grace period
    table.environment.returns()
    table.agents[0].returns()
    table.at(10.9)  # 3 s before and 1.9 s after
    assert not table.records
    table.agents[0].last = steps
    table.answers(0, 0, 0, 0)
    step = table.environment.hears(m.EnvironmentSteps, batch=1)
    assert step.actions.tolist() == [0, 0, 0]


def test_a_clock_that_stood_runs_out_in_the_end() -> None:
    table = Stack(clock=m.ClockRule(decision=5.0), answer_timeout=None).begun()
    table.agents[0].hears(m.AgentSteps)
    table.at(3.0)
    table.core.restarted(table.now)
    table.at(9.0)
    for voice in (table.experiment, table.agents[0]):
        voice.returns()
    table.at(10.9)
    assert not table.records
    table.at(11.1)
    assert reasons(table.experiment) == ["timeout"] * 3


def test_another_core_continues_a_group() -> None:
    table = Stack().begun()
    names = {str(address): address for address in range(len(table.voices))}
    data = snapshot.write(table.core, names)
    other = Core(Settings(), b"")
    snapshot.read(data, other, lambda name: names[name])
    table.core = other
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 1)
    assert table.environment.hears(m.EnvironmentSteps, batch=1).actions.tolist() == [0, 0, 1]
    table.turns(1, seat=1)
    assert table.agents[1].heard[-1].slots.tolist() == [0, 1, 2]


def test_results_that_wait_for_the_experiment_are_in_a_snapshot() -> None:
    table = Stack(retries=1).begun()
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 0, 0, faults=[m.Fault(1, "crashed", "no idea", 0)])
    sent = table.experiment.hears(m.Episodes)
    names = {str(address): address for address in range(len(table.voices))}
    other = Core(Settings(), b"")
    snapshot.read(snapshot.write(table.core, names), other, lambda name: names[name])
    table.core = other
    table.experiment.seen = sent.seq - 1
    table.experiment.returns()
    kept = table.experiment.hears(m.Episodes)
    assert kept == sent
    assert kept.results[0].message


HISTORIES = st.lists(
    st.lists(
        st.dictionaries(st.integers(0, 2), st.integers(-2, 200), min_size=1, max_size=3),
        max_size=20,
    ),
    min_size=1,
    max_size=4,
)
"""By episode and turn: the action of each seat that acts."""


@settings(max_examples=30)
@given(HISTORIES)
def test_a_history_is_what_was_noted(episodes: list[list[dict[int, int]]]) -> None:
    ledger = StackColumns(len(episodes) + 1, 3, i4(0, 0, 0), SeatSeeds(2, 0))
    slots = np.arange(1, len(episodes) + 1, dtype=np.int32)
    for noted in ([[{0: 7, 2: 9}] * 70] * len(episodes), episodes):
        ledger.begin(slots, range(len(slots)), [*slots], slots, np.arange(3))
        ledger.turn[slots] = 0
        for turn in range(max(map(len, noted))):
            rows = [
                (slot, seat, action)
                for slot, turns in zip(slots.tolist(), noted, strict=True)
                for seat, action in sorted((turns[turn] if turn < len(turns) else {}).items())
            ]
            ledger.note(*np.array(rows, np.int64).reshape(-1, 3).T)
            ledger.turn[slots] += 1
        ledger.end(slots)
        found = ledger.histories(slots)
        pairs = [[sorted(turn.items()) for turn in turns] for turns in noted]
        assert found == [(msgspec.Raw(codec.encode(turns)), len(turns)) for turns in pairs]


def test_what_is_wrong_with_the_slots_is_found_without_counting_each() -> None:
    class Slots(list[int]):
        def tolist(self) -> Slots:
            return self

        def count(self, value: Any) -> int:
            raise AssertionError("a list is walked for each of its values")

    asked = Slots([0, 0, 1, 1, 2])
    for came, expected in (
        ([0, 0, 1, 2, 2], "slot 2 doubled"),
        ([0, 0, 1, 1, 3], "slot 3 foreign"),
    ):
        found: Any = Slots(came)
        assert _difference(found, asked).startswith(expected)  # type: ignore[arg-type]
