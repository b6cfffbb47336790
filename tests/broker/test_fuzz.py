"""Any messages in any order: no exception leaves the core, and every start has one end."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import event, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.broker.anarchy import CONNECTIONS, Crowd

from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete

small = st.integers(-1, 14)
seat = st.integers(-1, 3)
text = st.sampled_from(["", "a", "game", "player"])
number = st.one_of(st.floats(), st.floats(-2, 2))
legal = st.one_of(st.none(), st.lists(st.integers(-1, 3), max_size=3), st.binary(max_size=1))
views = st.lists(
    st.builds(m.View, seat=st.integers(0, 3), observation=small, legal=legal, reward=number),
    max_size=3,
)
offers = st.lists(
    st.builds(
        m.Offer,
        name=text,
        capacity=st.integers(0, 2),
        instance=st.booleans(),
        stacked=st.booleans(),
        wants=st.lists(st.sampled_from(["afterstates", "text"]), max_size=2),
    ),
    max_size=2,
)
entries = st.lists(st.integers(0, 3), max_size=3)
columns = st.one_of(
    st.none(),
    small,
    st.builds(
        np.array,
        entries | entries.map(lambda row: [row]) | entries.map(lambda row: [row, row]),
        dtype=st.sampled_from(["i4", "i8", "u1", "f8"]),
    ),
)
COLUMNS = [
    *("slots", "seats", "rows", "legal", "over", "rewards", "observations", "finals", "outcomes"),
    *("afterstates", "actions", "refused"),
]
"""Of the answers to a batch."""
faults = st.lists(st.builds(m.Fault, st.integers(0, 3), text, text, st.none() | seat), max_size=2)
scores = st.none() | st.lists(number, max_size=3)
messages = st.one_of(
    st.builds(m.Ping, small.filter(lambda n: n >= 0)),
    st.builds(m.Pong, small.filter(lambda n: n >= 0), small.filter(lambda n: n >= 0)),
    st.builds(m.Bye),
    st.builds(
        m.Error,
        text,
        text,
        st.none() | small,
        st.none() | small,
        st.none() | seat,
    ),
    st.builds(
        m.Spec,
        small,
        text,
        st.integers(1, 3),
        st.lists(st.just(Discrete(3)), max_size=2),
        st.lists(st.just(Discrete(3)), max_size=2),
        forfeit=st.none() | st.just((-1.0, 1.0)),
    ),
    st.builds(
        m.Turn,
        small,
        st.integers(0, 3),
        st.lists(seat, max_size=3),
        views,
        st.booleans(),
        st.booleans(),
        scores,
    ),
    st.builds(
        m.Turns,
        *(small, st.integers(0, 3), columns, columns, columns, columns, columns),
        legal=columns,
        observations=columns,
        faults=faults,
    ),
    st.builds(
        m.Actions,
        *(small, small, st.integers(0, 3), columns, columns, columns),
        resigns=st.lists(seat, max_size=2),
        refused=columns,
        measures=st.none() | st.lists(st.just({"loss": 1.0}), max_size=2),
        faults=faults,
    ),
    st.builds(m.Reply, small),
    st.builds(m.Action, small, seat, seat, small),
    st.builds(m.Saved, small, st.binary(max_size=2)),
    st.builds(
        m.Run,
        small,
        text,
        st.lists(small | text, max_size=2),
        episodes=st.integers(1, 3),
        concurrency=st.integers(1, 3),
        rotate=st.booleans(),
        seeds=st.none() | st.lists(small, max_size=2),
        clock=st.builds(m.ClockRule, st.none() | st.just(1.0), st.none() | st.just(2.0)),
        answer_timeout=st.none() | st.just(3.0),
        max_turns=st.none() | st.just(2),
        on_timeout=st.sampled_from(["forfeit", "random", "truncate"]),
        on_illegal=st.sampled_from(["forfeit", "random", "truncate"]),
        on_crash=st.sampled_from(["interrupt", "forfeit", "truncate"]),
        check=st.booleans(),
        stepwise=st.booleans(),
        stacked=st.booleans(),
    ),
    st.builds(m.Pause, small, small, st.booleans()),
    st.builds(m.Drain, small, small),
    st.builds(m.Cancel, small, st.none() | small, st.none() | small),
    st.builds(m.ExperimentStart, small, small, st.booleans()),
    st.builds(m.ExperimentStep, small, small),
    st.builds(m.Catalogue, small),
    st.builds(
        m.Watch,
        small,
        st.none() | small,
        st.booleans(),
        scenes=st.booleans(),
        thoughts=st.booleans(),
        every=st.sampled_from([0.0, 0.1, 5.0]),
    ),
    st.builds(m.ExperimentCreate, small, text, state_name=st.none() | text),
    st.builds(m.Save, small, small, st.none() | text),
    st.builds(m.Load, small, small, state_name=st.none() | text),
    st.builds(m.Cleanup, small, small),
    st.builds(m.ExperimentMessage, small, st.none() | small, st.none() | small),
)


class Anarchy(RuleBasedStateMachine):
    """The acts of a crowd, chosen by Hypothesis."""

    def __init__(self) -> None:
        super().__init__()
        self.crowd = Crowd()

    @rule(connection=st.integers(0, CONNECTIONS - 1), message=messages)
    def say_anything(self, connection: int, message: m.Message) -> None:
        self.crowd.say(connection, message)

    @rule(
        connection=st.integers(0, CONNECTIONS - 1),
        role=st.sampled_from(["environment", "agent", "experiment", "observer"]),
        name=text,
        offers=offers,
    )
    def hello(self, connection: int, role: m.Role, name: str, offers: list[m.Offer]) -> None:
        self.crowd.hello(connection, role, name, offers)

    @rule(stacked=st.booleans())
    def set_up(self, stacked: bool) -> None:
        self.crowd.set_up(stacked=stacked)

    @rule()
    def sensible(self) -> None:
        self.crowd.sensible()

    @rule(
        wrong=st.one_of(
            st.dictionaries(st.sampled_from(COLUMNS), columns, min_size=1, max_size=2),
            st.builds(dict, faults=faults),
            st.builds(dict, resigns=st.lists(st.integers(-1, 3), max_size=2)),
            st.builds(dict, measures=st.just([{"loss": 1.0}, {}])),
        )
    )
    def nearly_sensible(self, wrong: dict[str, Any]) -> None:
        self.crowd.sensible(wrong)

    @rule(connection=st.integers(0, CONNECTIONS - 1))
    def lose(self, connection: int) -> None:
        self.crowd.lose(connection)

    @rule(connection=st.integers(0, CONNECTIONS - 1), rubbish=st.binary(max_size=20))
    def rubbish(self, connection: int, rubbish: bytes) -> None:
        self.crowd.hear(connection, rubbish)

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.crowd.wait(seconds)

    @rule()
    def resume(self) -> None:
        self.crowd.resume()

    @invariant()
    def books_balance(self) -> None:
        self.crowd.books_balance()

    def teardown(self) -> None:
        self.crowd.over()
        event(f"episodes: {min(self.crowd.core.broker.counters['episodes'], 5)}")


TestAnarchy = pytest.mark.learners(Anarchy.TestCase)
TestAnarchy.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
