"""Agents and tables of an experiment are its own, unless it says that they are shared."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.protocol import messages as m

pytestmark = pytest.mark.rule("S13.3")


def made(table: Conversation, maker: Voice, **fields: Any) -> int:
    """Have the experiment make an agent; return its number."""
    table.experiment.says(m.ExperimentCreate(2, "td", **fields))
    maker.says(m.Reply(maker.hears(m.Create).id))
    return int(table.experiment.hears(m.Reply, id=2).body["instance"])


def scene() -> tuple[Conversation, Voice, Voice]:
    table = Conversation(episodes=3).opens()
    maker = Voice(table, "agent", "maker", m.Offer("td"))
    return table, maker, Voice(table, "experiment", "other")


USES = [
    lambda number: m.Save(1, number),
    lambda number: m.Load(1, number, b"worse"),
    lambda number: m.Cleanup(1, number),
    lambda number: m.ExperimentMessage(1, number, body="forget"),
]
KINDS = ["save", "load", "clean up", "message"]


@pytest.mark.parametrize("use", USES, ids=KINDS)
def test_an_instance_is_used_by_the_experiment_that_made_it(use: Any) -> None:
    table, maker, other = scene()
    number = made(table, maker)
    other.says(use(number))
    other.hears(m.Error, id=1, code="access")
    assert not maker.heard
    table.experiment.says(m.Save(3, number))
    maker.hears(m.Save, instance=number)


def test_an_instance_is_seated_by_the_experiment_that_made_it() -> None:
    table, maker, other = scene()
    number = made(table, maker)
    other.says(m.Run(1, "game", [number, "p1"]))
    other.hears(m.Error, id=1, code="access")
    table.experiment.says(m.Run(3, "game", [number, "p1"]))
    table.experiment.hears(m.Reply, id=3)


@pytest.mark.parametrize("use", USES, ids=KINDS)
def test_a_shared_instance_is_used_by_all(use: Any) -> None:
    table, maker, other = scene()
    other.says(use(made(table, maker, shared=True)))
    assert len(maker.heard) == 1
    assert not other.heard


def test_only_its_experiment_sends_messages_to_the_environment_of_a_run() -> None:
    table, _, other = scene()
    table.environment.heard.clear()
    other.says(m.ExperimentMessage(1, run=table.run, body="cheat"))
    other.hears(m.Error, id=1, code="access")
    assert not table.environment.heard
    table.experiment.says(m.ExperimentMessage(3, run=table.run, body="hint"))
    table.environment.hears(m.EnvironmentMessage, body="hint")


def kept(table: Conversation, maker: Voice, **fields: Any) -> int:
    """Have the experiment store a state; return the number of the agent."""
    number = made(table, maker)
    table.experiment.says(m.Save(3, number, "best", **fields))
    maker.says(m.Saved(maker.hears(m.Save).id, b"wise"))
    table.experiment.hears(m.Saved, id=3)
    return number


def test_a_stored_state_is_read_and_replaced_by_its_experiment() -> None:
    table, maker, other = scene()
    kept(table, maker)
    other.says(m.ExperimentCreate(1, "td", state_name="best"))
    other.hears(m.Error, id=1, code="access")
    other.says(m.ExperimentCreate(2, "td", seed=1))
    create = maker.hears(m.Create)
    maker.says(m.Reply(create.id))
    theirs = other.hears(m.Reply, id=2).body["instance"]
    other.says(m.Load(3, theirs, state_name="best"))
    other.hears(m.Error, id=3, code="access")
    other.says(m.Save(4, theirs, "best"))
    other.hears(m.Error, id=4, code="access")
    assert table.core.broker.states == {"best": b"wise"}


def test_of_two_that_store_a_state_the_second_is_refused() -> None:
    table, maker, other = scene()
    mine = made(table, maker)
    other.says(m.ExperimentCreate(1, "td"))
    maker.says(m.Reply(maker.hears(m.Create).id))
    theirs = other.hears(m.Reply, id=1).body["instance"]
    table.experiment.says(m.Save(3, mine, "best"))
    other.says(m.Save(2, theirs, "best"))
    first, second = maker.hears(m.Save), maker.hears(m.Save)
    maker.says(m.Saved(first.id, b"mine"))
    maker.says(m.Saved(second.id, b"theirs"))
    other.hears(m.Error, id=2, code="access")
    assert table.core.broker.states == {"best": b"mine"}
    assert [each.state for each in table.records] == [b"mine"]


@pytest.mark.parametrize("how", ["shared", "its experiment left"])
def test_others_use_a_stored_state_that_is_shared_or_left(how: str) -> None:
    table, maker, other = scene()
    kept(table, maker, shared=how == "shared")
    if how != "shared":
        table.experiment.says(m.Bye())
        maker.heard.clear()
    other.says(m.ExperimentCreate(1, "td", state_name="best"))
    maker.hears(m.Create, state=b"wise")


def test_a_run_may_name_the_peer_that_serves_its_environment() -> None:
    table, _, other = scene()
    table.environment.heard.clear()
    second = Voice(table, "environment", "second", m.Offer("game"))
    for number in (1, 2, 3):
        other.says(m.Run(number, "game", ["p0", "p1"], peer="rules"))
        other.hears(m.Reply, id=number)
        table.environment.hears(m.Open)
    assert not second.heard
    other.says(m.Run(4, "game", ["p0", "p1"], peer="third"))
    other.hears(m.Error, id=4, code="unknown")
    assert "'third'" in other.last.message  # type: ignore[attr-defined]


def test_a_shared_instance_is_cleaned_up_once_no_run_has_it_any_more() -> None:
    table, maker, other = scene()
    number = made(table, maker, shared=True)
    runs = []
    for request in (1, 2):
        other.says(m.Run(request, "game", [number, "p1"], concurrency=1))
        runs.append(other.hears(m.Reply, id=request).body["run"])
    table.experiment.says(m.Bye())
    assert not any(isinstance(each, m.Cleanup) for each in maker.heard)
    other.says(m.Cancel(3, run=runs[0]))
    assert not any(isinstance(each, m.Cleanup) for each in maker.heard)
    assert table.core.instances.get(number) is not None
    other.says(m.Cancel(4, run=runs[1]))
    assert [each.instance for each in maker.heard if isinstance(each, m.Cleanup)] == [number]
    assert table.core.instances.get(number) is None


def test_the_loss_of_a_shared_instance_ends_the_run_although_its_owner_left() -> None:
    table, maker, other = scene()
    number = made(table, maker, shared=True)
    other.says(m.Run(1, "game", [number, "p1"]))
    other.hears(m.Reply, id=1)
    table.experiment.says(m.Bye())
    maker.says(m.Bye())
    other.hears(m.Done, reason="failed", blame=0)
    assert not list(table.core.runs)
