"""Memory that a peer makes the broker keep is counted in bytes, and costs it as many units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec import structs
from tests.broker.conversation import Conversation, Voice
from tests.broker.test_stacked import Stack

from dovetail.broker.core.intake import Intake
from dovetail.broker.matches.stack_columns import MEASURE, NONE
from dovetail.broker.peers import limits
from dovetail.broker.peers.holdings import full
from dovetail.broker.peers.state import ALL
from dovetail.broker.runs import episodes
from dovetail.protocol import codec
from dovetail.protocol import messages as m


def frames(voice: Voice, *messages: m.Message) -> None:
    """Say something as a connection does, whose bytes are known."""
    table = voice.table
    Intake(table.core).take(voice.address, [codec.encode(each) for each in messages], table.now)
    table.carry()


def peer(voice: Voice) -> Any:
    return voice.table.core.broker.sessions[voice.token]


class Scene:
    """A program that makes agents, and two experiments of which each has one."""

    def __init__(self) -> None:
        self.table = table = Conversation().opens()
        self.maker = Voice(table, "agent", "maker", m.Offer("td"))
        self.one, self.other = table.experiment, Voice(table, "experiment", "other")
        self.made = {voice: self.makes(voice, 2) for voice in (self.one, self.other)}

    def makes(self, voice: Voice, number: int, **fields: Any) -> int:
        frames(voice, m.ExperimentCreate(number, "td", **fields))
        frames(self.maker, m.Reply(self.maker.hears(m.Create).id))
        made: int = voice.hears(m.Reply, id=number).body["instance"]
        return made

    def saves(self, voice: Voice, number: int, name: str | None, state: bytes) -> Any:
        """Return the answer to a request to save; all units that were owed have worn off before."""
        self.table.now += 1e4
        frames(voice, m.Save(number, self.made[voice], name))
        save = self.maker.hears(m.Save)
        self.maker.says(m.Saved(save.id, state))
        return voice.heard.popleft()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_stored_states_have_so_many_bytes_of_each_and_in_all(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    for voice in (scene.one, scene.other):
        peer(voice).allowance = replace_allowance(state_bytes=1_000)
    monkeypatch.setattr(limits, "STATE_BYTES_IN_ALL", 1_500)
    one, other = scene.one, scene.other
    states = scene.table.core.broker.states
    assert isinstance(scene.saves(one, 3, "a", bytes(600)), m.Saved)
    refused = scene.saves(one, 4, "b", bytes(500))
    assert (refused.id, refused.code) == (4, "limit")
    assert "1,000 bytes of states, and have 600" in refused.message
    assert isinstance(scene.saves(one, 5, "a", bytes(1_000)), m.Saved)  # in its place
    assert isinstance(scene.saves(one, 6, "a", bytes(700)), m.Saved)
    refused = scene.saves(other, 3, "c", bytes(900))
    assert refused.code == "limit"
    assert "the broker stores 1,500 bytes of states" in refused.message
    assert isinstance(scene.saves(other, 4, "c", bytes(800)), m.Saved)
    assert {name: len(state) for name, state in states.items()} == {"a": 700, "c": 800}
    assert [len(each.state) for each in scene.table.records] == [600, 1_000, 700, 800]
    assert isinstance(scene.saves(other, 5, None, bytes(9_000)), m.Saved)  # which is not stored


def replace_allowance(**fields: Any) -> limits.Allowance:
    return structs.replace(limits.USUAL, **fields)


def test_a_state_has_a_name_of_so_many_characters(scene: Scene) -> None:
    frames(scene.one, m.Save(3, scene.made[scene.one], "n" * 257))
    refused = scene.one.hears(m.Error, id=3, code="limit")
    assert refused.message == "the name of the state has 257 characters; it may have 256"


@pytest.mark.parametrize(
    ("name", "unit"), [("kept", limits.STORED_BYTES), (None, limits.SAVED_BYTES)]
)
def test_a_state_that_is_saved_costs_by_its_bytes(scene: Scene, name: Any, unit: int) -> None:
    before = peer(scene.maker).owed
    scene.saves(scene.one, 3, name, bytes(8 << 20))
    assert (8 << 20) / unit <= peer(scene.one).owed < (8 << 20) / unit + 10
    assert peer(scene.maker).owed == before  # it was asked


@pytest.mark.parametrize("how", ["load", "create"])
def test_a_stored_state_that_is_sent_costs_who_asks_for_it(scene: Scene, how: str) -> None:
    scene.saves(scene.one, 3, "kept", bytes(8 << 20))
    scene.table.now += 1e4
    if how == "load":
        frames(scene.one, m.Load(4, scene.made[scene.one], state_name="kept"))
    else:
        frames(scene.one, m.ExperimentCreate(4, "td", state_name="kept"))
    assert peer(scene.one).owed >= (8 << 20) / limits.UNIT_BYTES


def test_so_many_saves_are_under_way_for_a_peer(scene: Scene) -> None:
    instance = scene.made[scene.one]
    for number in range(3, 3 + limits.SAVES):
        frames(scene.one, m.Save(number, instance))
    assert not scene.one.heard
    frames(scene.one, m.Save(99, instance))
    scene.one.hears(m.Error, id=99, code="limit")
    frames(scene.maker, m.Saved(scene.maker.hears(m.Save).id, b""))
    scene.one.hears(m.Saved)
    frames(scene.one, m.Save(100, instance))
    assert not scene.one.heard


HOLD: dict[str, Callable[[Scene, int], m.Message]] = {
    "create": lambda scene, n: m.ExperimentCreate(n, "td", {"x": "y" * 50_000}),
    "create from": lambda scene, n: m.ExperimentCreate(n, "td", state=bytes(50_000)),
    "load": lambda scene, n: m.Load(n, scene.made[scene.one], bytes(50_000)),
    "message": lambda scene, n: m.ExperimentMessage(n, scene.made[scene.one], body="x" * 50_000),
    "run": lambda scene, n: m.Run(
        n, "game", ["p0", "p1"], episodes=20_000, seeds=[1 << 20] * 20_000
    ),
}


@pytest.mark.parametrize("what", HOLD)
def test_what_requests_hold_is_limited_of_each_and_in_all(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    one, other = scene.one, scene.other
    before = peer(one).held
    scene.table.now += 1e4
    frames(one, HOLD[what](scene, 3))
    size = peer(one).held - before
    assert size > 50_000
    one.heard.clear()
    with monkeypatch.context() as patch:
        patch.setattr(limits, "HELD", peer(one).held + 50_000)
        scene.table.now += 1e4
        frames(one, HOLD[what](scene, 4))
        refused = one.hears(m.Error, id=4, code="limit")
        assert "your offers, requests, agents and runs hold" in refused.message
        frames(other, m.ExperimentCreate(3, "td"))
        assert not other.heard  # which holds less
    with monkeypatch.context() as patch:
        patch.setattr(limits, "HELD_IN_ALL", peer(one).held + peer(other).held + 50_000)
        patch.setattr(limits, "LITTLE", 0)
        scene.table.now += 1e4
        frames(one, HOLD[what](scene, 5))
        refused = one.hears(m.Error, id=5, code="limit")
        assert "the broker holds" in refused.message
    scene.table.now += 1e4
    frames(one, HOLD[what](scene, 6))
    assert peer(one).held - before == 2 * size


def test_the_offers_of_all_peers_hold_so_many_bytes(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offers of 900 kB from 150 connections took 320 MB, and any number of them could come."""
    monkeypatch.setattr(limits, "HELD_IN_ALL", 2_000_000)
    broker = scene.table.core.broker

    def hello(number: int, offers: int) -> m.Hello:
        made = [m.Offer(f"{number} {each} {'x' * 200}") for each in range(offers)]
        return m.Hello(m.VERSION, "environment", name=f"many {number}", offers=made)

    def greets(number: int, offers: int) -> bool:
        before = len(broker.sessions)
        frame = codec.encode(hello(number, offers))
        Intake(scene.table.core).take(b"new %d" % number, [frame], scene.table.now)
        return len(broker.sessions) > before

    assert [greets(number, 1_000) for number in range(4)] == [True, True, False, False]
    assert greets(5, 10)  # as most are
    [error] = [
        each for to, each in broker.out.messages if to == b"new 2" and isinstance(each, m.Error)
    ]
    assert (error.code, "for offers, requests" in error.message) == ("limit", True)


def test_nothing_is_held_once_all_has_ended(scene: Scene) -> None:
    one = scene.one
    frames(one, m.Cleanup(3, scene.made[one]))
    frames(scene.maker, m.Reply(scene.maker.hears(m.Cleanup).id))
    one.hears(m.Reply, id=3)
    frames(one, m.Run(4, "game", ["p0", "p1"]))
    frames(one, m.ExperimentCreate(5, "td", timeout=1.0, state=bytes(9_000)))
    create = scene.maker.hears(m.Create)
    assert peer(one).held > 9_000
    scene.table.at(scene.table.now + 2.0)  # given up
    frames(scene.maker, m.Reply(create.id))
    frames(one, m.Cancel(6, run=one.hears(m.Reply, id=4).body["run"]))
    assert peer(one).held == 0


def test_what_is_recorded_with_each_episode_is_limited(scene: Scene) -> None:
    wrong: list[dict[str, Any]] = [
        {"configuration": {"text": "x" * limits.RECORDED}},
        {"agents": ["p0", "p1"] * 512, "names": ["ä" * 256] * 1024},
    ]
    for number, fields in enumerate(wrong, 3):
        scene.table.now += 1e4
        frames(scene.one, m.Run(number, "game", **{"agents": ["p0", "p1"], **fields}))
        refused = scene.one.hears(m.Error, id=number, code="limit")
        assert "they are recorded with each episode, and may have 262,144" in refused.message
    assert limits.RECORDED == 262_144


def test_saves_for_a_run_that_waits_cost_its_experiment() -> None:
    table = Conversation(save_every=1, on_agent_lost="wait", episodes=50).opens()
    table.environment.hears(m.EnvironmentStart)
    for each in (table.experiment, *table.agents):
        peer(each).held = 0
    run = next(iter(table.core.runs))
    recovery = table.core._recovery
    table.now += 1e4
    recovery.ended(run, None, table.now)
    saves = [
        next(each for each in agent.heard if isinstance(each, m.Save)) for agent in carried(table)
    ]
    frames(table.agents[0], m.Saved(saves[0].id, bytes(15 << 20)))
    assert peer(table.experiment).owed >= (15 << 20) / limits.SAVED_BYTES
    assert peer(table.agents[0]).held >= 15 << 20
    frames(table.agents[1], m.Saved(saves[1].id, bytes(15 << 20)))
    assert peer(table.experiment).owed > limits.SLOW
    for agent in table.agents:
        agent.heard.clear()
    recovery.ended(run, None, table.now)  # which owes too much for another
    assert not any(isinstance(each, m.Save) for agent in carried(table) for each in agent.heard)
    table.now += 1e4
    peer(table.experiment).heard = table.now
    recovery.ended(run, None, table.now)
    assert all(any(isinstance(e, m.Save) for e in agent.heard) for agent in carried(table))


def carried(table: Conversation) -> list[Voice]:
    table.carry()
    return table.agents


def test_an_agent_that_would_hold_too_much_is_not_saved_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Conversation(save_every=1, on_agent_lost="wait", episodes=50).opens()
    run = next(iter(table.core.runs))
    monkeypatch.setattr(limits, "HELD", 1_000)
    table.core._recovery.ended(run, None, table.now)
    save = next(each for each in carried(table)[0].heard if isinstance(each, m.Save))
    frames(table.agents[0], m.Saved(save.id, bytes(2_000)))
    said = [each.message for each in table.experiment.heard if isinstance(each, m.Error)]
    assert said == [
        "p0 could not be saved, and is not asked again: your offers, requests, agents and runs may hold "
        "1,000 bytes"
    ]
    assert run.agents[0].saved is None


@pytest.mark.parametrize("what", ["actions", "thoughts"])
def test_an_episode_whose_actions_are_too_many_bytes_is_truncated(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(episodes, "ACTIONS", 20_000)
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    agent = table.agents[0]
    for _ in range(3):
        if isinstance(agent.heard[0], m.Init):
            agent.hears(m.Init)
        asked = agent.heard.popleft()
        thoughts = m.Thoughts(line=["y" * 90_000]) if what == "thoughts" else None
        fields = {"unknown": bytes(9_000)} if what == "actions" else {}
        action = m.Action(asked.episode, asked.turn, asked.seat, 1, thoughts=thoughts)
        raw = {**msgspec.msgpack.decode(codec.encode(action)), **fields}
        Intake(table.core).take(agent.address, [msgspec.msgpack.encode(raw)], table.now)
        table.carry()
        if isinstance(table.environment.heard[0], m.EnvironmentStep):
            table.environment.hears(m.EnvironmentStep)
            table.environment.turns(0)
    if what == "thoughts":  # which are not kept
        assert not table.records
        return
    [record] = table.records
    assert record.result.reason == "truncated"
    assert record.result.scored
    assert record.result.turns == 2
    assert "the broker keeps 20,000 of an episode" in record.result.message


def frame(voice: Voice, message: m.Message, **fields: Any) -> None:
    """Say something with fields that no peer knows."""
    raw = {**msgspec.msgpack.decode(codec.encode(message)), **fields}
    Intake(voice.table.core).take(voice.address, [msgspec.msgpack.encode(raw)], voice.table.now)
    voice.table.carry()


def turn(table: Conversation, observation: Any) -> None:
    """Answer the environment's last request with a turn in which seat 0 must act."""
    asked: Any = table.environment.last
    number = getattr(asked, "turn", -1) + 1
    views = [m.View(0, observation, [0, 1]), m.View(1, 0, [0, 1])]
    frame(table.environment, m.Turn(asked.episode, number, [0], views))


def test_turns_in_progress_are_held_for_the_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, observation = Conversation(episodes=2).opens(), bytes(90_000)
    trial, agent = peer(table.experiment), table.agents[0]
    before = trial.held
    table.environment.hears(m.EnvironmentStart)
    turn(table, observation)
    assert trial.held - before > 90_000
    agent.hears(m.Init)
    agent.hears(m.AgentStart)
    agent.acts(1)
    table.environment.hears(m.EnvironmentStep)
    turn(table, 0)  # in the place of the other
    assert trial.held - before < 10_000
    monkeypatch.setattr(limits, "HELD", trial.held + 50_000)
    agent.hears(m.AgentStep)
    agent.acts(1)
    table.environment.hears(m.EnvironmentStep)
    turn(table, observation)
    [record] = table.records
    assert record.result.reason == "truncated"
    assert "your offers, requests, agents and runs hold" in record.result.message
    assert trial.held == before


def test_actions_in_progress_are_held_for_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Conversation(episodes=1).opens()
    trial = peer(table.experiment)
    before = trial.held
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    agent = table.agents[0]
    agent.hears(m.Init)
    agent.hears(m.AgentStart)
    monkeypatch.setattr(limits, "HELD", before + 100_000)
    for number in range(20):
        asked: Any = agent.last
        frame(agent, m.Action(asked.episode, asked.turn, 0, 1), unknown=bytes(9_000))
        if table.records:
            break
        assert trial.held - before > 9_000 * number
        table.environment.hears(m.EnvironmentStep)
        table.environment.turns(0)
        agent.hears(m.AgentStep)
    assert table.records[0].result.reason == "truncated"
    assert trial.held == before


def test_turns_of_a_group_are_held_for_the_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Stack().begun()
    trial = peer(table.experiment)
    turns = table.core.broker.connections[table.environment.address]
    before = trial.held
    columns: dict[str, Any] = {"observations": codec.encode([bytes(30_000)] * 3)}
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 1, 1)
    table.environment.hears(m.EnvironmentSteps)
    monkeypatch.setattr(type(turns), "size", property(lambda _: 90_000, lambda *_: None))
    table.turns(1, **columns)
    assert trial.held - before > 90_000
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 1, 1)
    table.environment.hears(m.EnvironmentSteps)
    monkeypatch.setattr(limits, "HELD", trial.held)
    monkeypatch.setattr(type(turns), "size", property(lambda _: 180_000, lambda *_: None))
    table.turns(2, **columns)
    assert [each.result.reason for each in table.records] == ["truncated"] * 3
    assert trial.held == 0


@pytest.mark.parametrize("group", [False, True])
def test_the_journal_has_so_many_bytes_of_each_experiments_episodes(group: bool) -> None:
    table: Any = Stack(episodes=30) if group else Conversation(episodes=30)
    table.core.broker.journalled = True
    trial = peer(table.experiment)
    trial.allowance = replace_allowance(record_bytes=5 * limits.RECORD)
    table.environment.says(table.spec)
    for number in range(30):
        if not any(True for _ in table.core.runs):
            break
        if group:
            table.environment.heard.clear()
            table.turns(
                number, over=np.array([1, 1, 1], np.uint8), rows=None, seats=None, legal=None
            )
        else:
            table.environment.hears(m.EnvironmentStart)
            table.environment.turns(terminated=True, outcome=[1.0, 0.0])
    assert len(table.records) == (9 if group else 5)  # a group has begun three more
    while not isinstance(done := table.experiment.heard.popleft(), m.Done):
        pass
    assert (done.reason, done.code) == ("failed", "limit")
    assert "bytes in the journal, and may have 5,120" in done.message
    frames(table.experiment, m.Run(9, "game", ["p0", "p1"]))
    refused = table.experiment.hears(m.Error, id=9, code="limit")
    assert "bytes in the journal, and may have 5,120" in refused.message
    frames(table.experiment, m.Bye())
    assert list(table.core.broker.recorded) == [ALL]


def test_the_journal_has_so_many_bytes_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RECORDS_IN_ALL", 3 * limits.RECORD)
    table = Conversation(episodes=30)
    table.core.broker.journalled = True
    table.environment.says(table.spec)
    for _ in range(30):
        if not any(True for _ in table.core.runs):
            break
        table.environment.hears(m.EnvironmentStart)
        table.environment.turns(terminated=True, outcome=[1.0, 0.0])
    while not isinstance(done := table.experiment.heard.popleft(), m.Done):
        pass
    assert (done.reason, done.code) == ("failed", "limit")
    assert "the broker's journal has " in done.message
    assert "bytes, and may have 3,072; ask for a broker with" in done.message
    # A new session starts at zero, but not the journal.
    frames(table.experiment, m.Bye())
    trial = peer(table.environment)
    assert "may have 3,072" in table.core.broker.recorded_too_much(trial)
    assert "may have 3,072" in full(table.core.broker, trial, "mine", 1)


def test_states_count_among_the_bytes_of_the_journal() -> None:
    table = Conversation()
    broker, trial = table.core.broker, peer(table.experiment)
    broker.journalled = True
    trial.allowance = replace_allowance(record_bytes=10_000)
    for _ in range(3):  # one name, again and again
        assert not full(broker, trial, "mine", 3_000)
        broker.store(trial, "mine", "learner", bytes(3_000), shared=False)
    assert "episodes and states have 12,072 bytes" in full(broker, trial, "mine", 1)


def test_a_group_has_room_for_no_more_than_may_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for the actions of twice as many turns was made first, and counted afterwards."""
    table = Stack().begun()
    trial = peer(table.experiment)
    turns = table.core.broker.connections[table.environment.address]
    monkeypatch.setattr(type(turns), "size", property(lambda _: 1, lambda *_: None))
    [stack] = table.core.runs.stacked._all.values()
    stack.acts = np.full((3, 1_000, 2), NONE, np.int32)
    stack.turn[:] = 998
    before = trial.held
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 1, 1, measures=[{str(number): 1.0 for number in range(64)}] * 3)
    table.environment.hears(m.EnvironmentSteps)
    table.turns(1)
    assert trial.held - before == stack.acts.nbytes + 1 + 3 * 64 * MEASURE
    monkeypatch.setattr(limits, "HELD", trial.held + 1_000)
    table.agents[0].hears(m.AgentSteps)
    table.answers(0, 0, 1, 1)
    table.environment.hears(m.EnvironmentSteps)
    table.turns(2)
    assert [each.result.reason for each in table.records] == ["truncated"] * 3
    assert stack.acts.shape == (3, 1_000, 2)
