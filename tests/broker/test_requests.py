"""Requests: how they end, and that one that comes twice is done once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from tests.broker.conversation import Conversation, Voice

from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError


@pytest.fixture
def table() -> Conversation:
    return Conversation(answer_timeout=None)


@pytest.fixture
def maker(table: Conversation) -> Voice:
    return Voice(table, "agent", "maker", m.Offer("td"))


def made(table: Conversation, maker: Voice, number: int = 2) -> int:
    """Have the experiment make an agent; return its number."""
    table.experiment.says(m.ExperimentCreate(number, "td", seed=7))
    create = maker.hears(m.Create, agent="td", seed=7)
    maker.says(m.Reply(create.id))
    return int(table.experiment.hears(m.Reply, id=number).body["instance"])


def test_an_agent_is_made_saved_loaded_and_cleaned_up(table: Conversation, maker: Voice) -> None:
    experiment = table.experiment
    number = made(table, maker)
    experiment.says(m.Save(3, number, "best"))
    maker.says(m.Saved(maker.hears(m.Save, instance=number, state_name=None).id, b"wise"))
    experiment.hears(m.Saved, id=3, state=b"wise")
    assert [(r.name, r.agent, r.state) for r in table.records] == [("best", "td", b"wise")]
    experiment.says(m.Load(4, number, state_name="best"))
    maker.says(m.Reply(maker.hears(m.Load, instance=number, state=b"wise").id))
    experiment.hears(m.Reply, id=4)
    experiment.says(m.Load(5, number, state_name="worst"))
    experiment.hears(m.Error, id=5, code="unknown")
    experiment.says(m.Cleanup(6, number))
    maker.says(m.Reply(maker.hears(m.Cleanup, instance=number).id))
    experiment.hears(m.Reply, id=6)
    experiment.says(m.Save(7, number))
    experiment.hears(m.Error, id=7, code="unknown")


@pytest.mark.parametrize(
    ("code", "told"),
    [("crashed", "crashed"), ("unavailable", "unavailable"), ("unknown", "unavailable")],
)
def test_a_program_that_cannot_is_told_from_one_that_failed(
    table: Conversation, maker: Voice, code: str, told: str
) -> None:
    table.experiment.says(m.ExperimentCreate(2, "td"))
    maker.says(m.Error(code, "no option 'x'", id=maker.hears(m.Create).id))
    table.experiment.hears(m.Error, id=2, code=told, message="no option 'x'")
    assert not [each for each in table.core.instances if each.agent == "td"]


def test_a_request_may_be_refused_by_its_number_too(table: Conversation, maker: Voice) -> None:
    table.experiment.says(m.ExperimentCreate(2, "td"))
    maker.says(m.Error("crashed", "no", answers=maker.hears(m.Create).seq))
    table.experiment.hears(m.Error, id=2, code="crashed")


@pytest.mark.rule("S7.3")
def test_an_answer_of_the_wrong_kind_is_a_crash(table: Conversation, maker: Voice) -> None:
    table.experiment.says(m.ExperimentCreate(2, "td"))
    maker.says(m.Saved(maker.hears(m.Create).id, b""))
    text = "maker answered `create` with `saved`"
    table.experiment.hears(m.Error, id=2, code="crashed", message=text)
    assert not [each for each in table.core.instances if each.agent == "td"]
    table.experiment.says(m.Save(4, made(table, maker, 3), "best"))
    maker.says(m.Reply(maker.hears(m.Save).id))
    text = "maker answered `save` with `reply`"
    table.experiment.hears(m.Error, id=4, code="crashed", message=text)
    assert not table.core.broker.states


@pytest.mark.rule("S13.3")
def test_a_program_that_is_one_agent_is_not_cleaned_up(table: Conversation) -> None:
    one = Voice(table, "agent", "one", m.Offer("solo", instance=True))
    (number,) = [each.number for each in table.core.instances if each.agent == "solo"]
    table.experiment.says(m.Cleanup(2, number))
    text = f"agent {number} is the program one; stop that"
    table.experiment.hears(m.Error, id=2, code="wrong-state", message=text)
    assert not one.heard
    table.experiment.says(m.Run(3, "game", agents=["solo", "p1"]))
    table.experiment.hears(m.Reply, id=3)


LONG = "n" * 10_000


@pytest.mark.parametrize(
    "asked",
    [
        lambda number: m.ExperimentCreate(9, LONG, peer=LONG),
        lambda number: m.ExperimentCreate(9, "td", state_name=LONG),
        lambda number: m.Load(9, number, state_name=LONG),
        lambda number: m.Run(9, LONG, ["p0"], peer=LONG),
        lambda number: m.Run(9, "game", [LONG]),
    ],
    ids=["create", "create-from", "load", "run", "run-agent"],
)
def test_a_refusal_quotes_the_beginning_of_a_long_name(
    table: Conversation, maker: Voice, asked: Any
) -> None:
    table.experiment.says(asked(made(table, maker)))
    message = table.experiment.hears(m.Error, id=9, code="unknown").message
    assert "nnn'... (10,000 characters)" in message
    assert len(message) < 400


@pytest.mark.rule("S12.4")
def test_an_answer_that_cannot_be_read_ends_the_request(table: Conversation, maker: Voice) -> None:
    number = made(table, maker)
    table.experiment.says(m.Save(3, number))
    about = {"id": maker.hears(m.Save).id}
    table.core.refuse(maker.address, ProtocolError("invalid", "a list", "saved", about), 0.0)
    table.carry()
    assert "cannot be read" in table.experiment.hears(m.Error, id=3, code="crashed").message
    maker.hears(m.Error, code="invalid", id=None)


def requests(number: int, **fields: Any) -> list[Any]:
    return [
        m.Save(3, number, **fields),
        m.Load(3, number, **fields),
        m.Cleanup(3, number, **fields),
        m.ExperimentMessage(3, number, **fields),
        m.ExperimentCreate(3, "td", **fields),
    ]


@pytest.mark.rule("S7.2")
@pytest.mark.parametrize("kind", range(5))
def test_a_request_ends_by_its_limit_and_a_late_answer_is_dropped(
    table: Conversation, maker: Voice, kind: int
) -> None:
    number = made(table, maker)
    table.experiment.says(requests(number, timeout=5.0)[kind])
    [asked] = maker.heard
    table.at(4.9)
    assert not table.experiment.heard
    table.at(5.0)
    assert "within 5 s" in table.experiment.hears(m.Error, id=3, code="timeout").message
    maker.says(m.Saved(asked.id, b"") if kind == 0 else m.Reply(asked.id))
    assert not table.experiment.heard


@pytest.mark.parametrize("kind", range(5))
def test_a_request_ends_by_cancel(table: Conversation, maker: Voice, kind: int) -> None:
    number = made(table, maker)
    table.experiment.says(requests(number, timeout=None)[kind])
    table.at(500.0)
    assert not table.experiment.heard
    table.experiment.says(m.Cancel(4, request=3))
    table.experiment.hears(m.Error, id=3, code="cancelled")
    table.experiment.hears(m.Reply, id=4)
    table.experiment.says(m.Cancel(5, request=3))
    table.experiment.hears(m.Error, id=5, code="unknown")


def test_an_agent_made_too_late_is_cleaned_up(table: Conversation, maker: Voice) -> None:
    table.experiment.says(m.ExperimentCreate(2, "td"))
    create = maker.hears(m.Create)
    table.at(120.0)
    table.experiment.hears(m.Error, id=2, code="timeout")
    maker.hears(m.Cleanup, instance=create.instance)
    maker.says(m.Reply(create.id))
    assert not [each for each in table.core.instances if each.agent == "td"]


def test_cancel_names_what_to_cancel(table: Conversation) -> None:
    table.experiment.says(m.Cancel(2))
    table.experiment.hears(m.Error, id=2, code="invalid")
    table.experiment.says(m.Cancel(3, run=99))
    table.experiment.hears(m.Error, id=3, code="unknown")
    table.experiment.says(m.Cancel(4, table.run))
    table.experiment.hears(m.Reply, id=4)
    table.experiment.hears(m.Done, reason="cancelled")
    table.experiment.says(m.Cancel(5, table.run))
    table.experiment.hears(m.Error, id=5, code="unknown")


@pytest.mark.rule("S5.6")
def test_a_request_that_comes_twice_is_done_once(table: Conversation, maker: Voice) -> None:
    create = m.ExperimentCreate(2, "td")
    table.experiment.says(create)
    table.experiment.says(create)
    asked = maker.hears(m.Create)
    assert not maker.heard
    maker.says(m.Reply(asked.id))
    first = table.experiment.hears(m.Reply, id=2)
    table.experiment.says(create)
    assert table.experiment.hears(m.Reply) == first
    table.at(1.0)  # a pong says that it has arrived
    table.experiment.says(create)
    assert not table.experiment.heard
    assert not maker.heard


def test_what_an_experiment_had_made_goes_with_it(table: Conversation, maker: Voice) -> None:
    number = made(table, maker)
    table.experiment.says(m.ExperimentMessage(3, number))
    maker.hears(m.AgentMessage)
    table.experiment.says(m.Bye())
    maker.hears(m.Cleanup, instance=number)


def test_a_request_of_a_program_that_is_gone_is_unavailable(
    table: Conversation, maker: Voice
) -> None:
    number = made(table, maker)
    table.experiment.says(m.ExperimentMessage(3, number))
    maker.says(m.Bye())
    table.experiment.hears(m.Error, id=3, code="unavailable", message="maker left")


@pytest.mark.rule("S4.10")
def test_a_program_at_work_may_be_silent_ten_times_as_long() -> None:
    table = Conversation(answer_timeout=None)
    maker = Voice(table, "agent", "maker", m.Offer("td"))
    table.experiment.says(m.ExperimentCreate(2, "td", timeout=5.0))
    core = table.core
    session = core.broker.connections[maker.address]
    for now in range(1, 300):  # nobody answers a ping
        core.tick(float(now))
        core.take()
        assert session.machine.state == "ready", now
    core.tick(300.0)
    assert session.machine.state == "away"


# -- stepwise runs, watching -----------------------------------------------------------------------


def stepwise(**run: Any) -> Conversation:
    table = Conversation(stepwise=True, **run).opens()
    table.experiment.says(m.ExperimentStart(2, table.run))
    table.environment.hears(m.EnvironmentStart, watched=True)
    table.environment.turns(0)
    assert table.experiment.hears(m.Reply, id=2).body.turn == 0
    table.experiment.says(m.ExperimentStep(3, table.run))
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    return table


def test_a_stepwise_run_may_go_without_texts_unless_someone_watches() -> None:
    table = Conversation(stepwise=True, texts=False, episodes=2).opens()
    table.experiment.says(m.ExperimentStart(2, table.run))
    table.environment.hears(m.EnvironmentStart, watched=False)
    table.environment.turns(terminated=True)
    observer = Voice(table, "observer", "eye")
    observer.says(m.Watch(9))
    table.experiment.says(m.ExperimentStart(3, table.run))
    table.environment.hears(m.EnvironmentStart, watched=True)


def test_an_episode_may_be_abandoned_for_the_next() -> None:
    table = stepwise(episodes=2)
    table.experiment.says(m.ExperimentStart(4, table.run))
    table.experiment.hears(m.Error, id=4, code="wrong-state")
    table.experiment.says(m.ExperimentStart(5, table.run, abandon=True))
    table.agents[0].hears(m.End, reason="truncated", blame=None, outcome=None)
    table.experiment.hears(m.Episode, reason="truncated", blame=None, outcome=None, scored=True)
    table.experiment.hears(m.Error, id=3, code="wrong-state")
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(1)
    table.experiment.hears(m.Reply, id=5)
    table.experiment.says(m.ExperimentStart(6, table.run, abandon=True))
    table.experiment.hears(m.Episode, index=1, reason="truncated")
    assert "last episode" in table.experiment.hears(m.Error, id=6).message
    table.experiment.hears(m.Done, finished=2, reason="finished")


@pytest.mark.rule("S7.13")
def test_a_watcher_hears_turns_results_and_the_end_as_words_that_may_be_lost() -> None:
    table = Conversation(episodes=2)
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1))
    watcher.hears(m.Reply, id=1)
    table.opens()
    for index in range(2):
        table.environment.hears(m.EnvironmentStart, watched=True)
        table.environment.turns(0)
        watcher.hears(m.WatchedTurn, turn=0, index=index)
        if index == 0:
            table.agents[0].hears(m.Init)
        table.agents[0].hears(m.AgentStart)
        table.agents[0].acts(0)
        table.environment.hears(m.EnvironmentStep)
        table.environment.turns(terminated=True)
        watcher.hears(m.WatchedTurn, reason="terminated")
        table.agents[0].hears(m.End)
        watcher.hears(m.Episode, index=index, seq=0)
        assert table.experiment.hears(m.Episode, index=index).seq > 0
    watcher.hears(m.Done, run=table.run, seq=0)


@pytest.mark.rule("S7.13")
def test_turns_that_could_not_be_sent_are_not_made_but_the_last_of_an_episode_is() -> None:
    table = Conversation()
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1))
    watcher.hears(m.Reply, id=1)
    table.opens()
    table.environment.hears(m.EnvironmentStart, watched=True)
    table.core.broker.out.crowded = True
    table.environment.turns(0)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True)
    watcher.hears(m.WatchedTurn, turn=1, reason="terminated")
    watcher.hears(m.Episode)


@pytest.mark.rule("S7.17")
def test_a_watcher_that_comes_late_gets_the_present_turn_and_scenes_from_the_next() -> None:
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart, watched=False, scenes=False)
    table.environment.turns(0)
    plain, seeing = Voice(table, "observer", "plain"), Voice(table, "observer", "seeing")
    plain.says(m.Watch(1))
    plain.hears(m.Reply, id=1)
    seeing.says(m.Watch(1, scenes=True))
    seeing.hears(m.Reply, id=1)
    seeing.hears(m.WatchedTurn, turn=0, scene=None)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart, think=False)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep, watched=True, scenes=True)
    table.environment.turns(1, scene={"caption": "one"})
    plain.hears(m.WatchedTurn, turn=1, scene=None)
    seeing.hears(m.WatchedTurn, turn=1, scene={"caption": "one"})
    table.agents[1].hears(m.Init)
    table.agents[1].hears(m.AgentStart)
    table.agents[1].acts(0)
    table.environment.hears(m.EnvironmentStep, watched=False, scenes=False)


@pytest.mark.rule("S7.17")
def test_watchers_see_the_game_and_the_clocks_even_in_the_middle_of_a_decision() -> None:
    table = Conversation(clock=m.ClockRule(decision=4.0, episode=10.0, increment=1.0))
    first, late = (Voice(table, "observer", name) for name in ("first", "late"))
    first.says(m.Watch(1))
    first.hears(m.Reply)
    table.opens().environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    full = m.Clock(4.0, 10.0)
    first.hears(m.WatchedTurn, environment="game", clocks=[full, full], running=[0])
    table.at(3.0)
    late.says(m.Watch(1, scenes=True))
    late.hears(m.Reply)
    late.hears(m.WatchedTurn, environment="game", clocks=[m.Clock(1.0, 7.0), full])
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(1)
    left = [m.Clock(4.0, 8.0, 3.0), full]
    first.hears(m.WatchedTurn, turn=1, clocks=left, running=[1])
    late.hears(m.WatchedTurn, turn=1, clocks=left)
    table.at(8.0)
    first.hears(m.WatchedTurn, turn=1, reason="timeout", clocks=[], running=[])


@pytest.mark.rule("S7.17")
def test_watchers_learn_whose_clock_stands_when_one_of_several_seats_has_answered() -> None:
    table = Conversation(clock=m.ClockRule(decision=4.0), thoughts=True)
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1, thoughts=True))
    watcher.hears(m.Reply)
    table.opens().environment.hears(m.EnvironmentStart)
    table.environment.turns(0, 1)
    full = m.Clock(4.0)
    watcher.hears(m.WatchedTurn, turn=0, clocks=[full, full], running=[0, 1])
    table.at(1.0)
    table.agents[1].hears(m.Init)
    table.agents[1].hears(m.AgentStart, think=True)
    table.agents[1].acts(0, thoughts=m.Thoughts(text="paper"))
    left = [m.Clock(3.0), m.Clock(4.0, None, 1.0)]
    # Its thoughts come with the next turn, when the opponent can no longer use them.
    watcher.hears(m.WatchedTurn, turn=0, to_act=[0], clocks=left, running=[0], thoughts=[])
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(1)
    thoughts = [(1, m.Thoughts(text="paper"))]
    watcher.hears(m.WatchedTurn, turn=1, thoughts=thoughts, running=[1])


@pytest.mark.rule("S7.17")
def test_watchers_of_a_stepwise_run_learn_when_the_clock_begins_to_run() -> None:
    table = Conversation(stepwise=True, clock=m.ClockRule(decision=4.0)).opens()
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1))
    watcher.hears(m.Reply)
    table.experiment.says(m.ExperimentStart(2, table.run))
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    full = [m.Clock(4.0), m.Clock(4.0)]
    watcher.hears(m.WatchedTurn, turn=0, to_act=[0], clocks=full, running=[])
    table.at(60.0)
    table.experiment.says(m.ExperimentStep(3, table.run))
    watcher.hears(m.WatchedTurn, turn=0, to_act=[0], clocks=full, running=[0])
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(1)
    watcher.hears(m.WatchedTurn, turn=1, clocks=[m.Clock(4.0, last=0.0), full[1]], running=[])
    assert not watcher.heard


def test_watchers_and_the_catalogue_call_agents_as_the_run_does() -> None:
    table = Conversation(episodes=2, rotate=True, names=["ann", "bob"])
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1))
    watcher.hears(m.Reply, id=1)
    watcher.says(m.Catalogue(2))
    assert watcher.hears(m.Reply, id=2).body["runs"][0]["agents"] == ["ann", "bob"]
    table.opens()
    for agents in (["ann", "bob"], ["bob", "ann"]):
        table.environment.hears(m.EnvironmentStart)
        table.environment.turns(terminated=True, outcome=[1.0, 0.0])
        watcher.hears(m.WatchedTurn, agents=agents)
        watcher.hears(m.Episode)
    table.experiment.says(m.Run(5, "game", ["p0", "p1"], names=["ann"]))
    error = next(each for each in table.experiment.heard if isinstance(each, m.Error))
    assert "1 names for 2 agents; give one each" in error.message


def paced(episodes: int = 3) -> tuple[Conversation, Voice]:
    """Return two seats that act in turn, and who watches them at a pace of ten turns a second."""
    table = Conversation(thoughts=True, episodes=episodes)
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1, scenes=True, thoughts=True, every=0.1))
    watcher.hears(m.Reply, id=1)
    return table.opens(), watcher


def move(table: Conversation, **turn: Any) -> Any:
    """Have the seat to act do so, and the environment answer; return what that was asked."""
    seat = (
        table.environment.last.turn + 1
        if isinstance(table.environment.last, m.EnvironmentStep)
        else 0
    )
    agent = table.agents[seat % 2]
    if agent.heard and isinstance(agent.heard[0], m.Init):
        agent.hears(m.Init)
    agent.hears(m.AgentStart if seat < 2 else m.AgentStep)
    agent.acts(0)
    asked = table.environment.hears(m.EnvironmentStep)
    given = {"text": "t", "scene": {}} if asked.once else {}
    table.environment.turns(*(() if turn else ((seat + 1) % 2,)), **given, **turn)
    return asked


@pytest.mark.rule("S7.18")
def test_a_watcher_at_a_pace_sees_short_episodes_whole_and_costs_no_more_than_that() -> None:
    table, watcher = paced()
    table.environment.hears(m.EnvironmentStart, watched=True, scenes=True, once=True)
    table.environment.turns(0, text="t", scene={})
    for turn in range(9):
        watcher.hears(m.WatchedTurn, turn=turn)
        asked = move(table)
        assert (asked.watched, asked.scenes, asked.once) == (True, True, True)
    watcher.hears(m.WatchedTurn, turn=9)
    assert move(table, terminated=True).once
    watcher.hears(m.WatchedTurn, reason="terminated")
    watcher.hears(m.Episode, index=0)
    for agent in table.agents:
        agent.hears(m.End)
    # Eleven turns were shown, so nothing is for 1.1 s: no scene is drawn, no result comes.
    table.environment.hears(m.EnvironmentStart, watched=False, scenes=False)
    table.environment.turns(0)
    assert table.agents[0].hears(m.AgentStart, think=False)
    assert not watcher.heard
    table.at(1.0)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep, watched=False, scenes=False)
    table.environment.turns(terminated=True)
    assert not watcher.heard
    for agent in table.agents:
        agent.hears(m.End)
    table.environment.hears(m.EnvironmentStart, watched=False)
    # A watcher that joins during an episode waits up to a second for the next one.
    table.environment.turns(0)
    table.agents[0].hears(m.AgentStart)
    table.at(2.5)
    table.agents[0].acts(0)
    table.environment.hears(m.EnvironmentStep, watched=True, scenes=True, once=True)
    table.environment.turns(1, text="t", scene={})
    watcher.hears(m.WatchedTurn, index=2, turn=1, scene={})
    assert table.agents[1].hears(m.AgentStart).think


@pytest.mark.rule("S7.18")
@pytest.mark.parametrize("every", [0.1, 0.01])
def test_many_short_runs_show_no_more_turns_than_a_long_one(every: float) -> None:
    table, watcher = paced(episodes=1)

    def play(run: int) -> tuple[bool, int]:
        """Play an episode of ten turns; return whether the first is shown, and how many are."""
        begun = table.environment.hears(m.EnvironmentStart)
        table.environment.turns(0, **({"text": "t", "scene": {}} if begun.once else {}))
        for turn in range(9):
            move(table, **({"terminated": True} if turn == 8 else {}))
        shown = sum(isinstance(each, m.WatchedTurn) for each in watcher.heard)
        for voice in (table.environment, watcher, *table.agents):
            voice.heard.clear()
        again = m.Run(run, "game", ["p0", "p1"], retries=0, check=False)
        table.experiment.says(again)
        match = table.environment.hears(m.Open).match
        table.environment.says(structs.replace(table.spec, match=match))
        return begun.once, shown

    assert play(2) == (True, 10)
    watcher.says(m.Watch(2, scenes=True, every=every))
    watcher.heard.clear()
    assert play(3) == (False, 0)
    table.at(0.9 * 10 * every)
    assert play(4) == (False, 0)
    table.at(1.1 * 10 * every)
    assert play(5) == (False, 0)  # it began before
    assert play(6) == (True, 10)


@pytest.mark.rule("S7.18")
def test_a_long_episode_is_shown_to_who_watches_at_a_pace_now_and_then() -> None:
    table, watcher = paced()
    table.environment.hears(m.EnvironmentStart, once=True)
    table.environment.turns(0, text="t", scene={})
    for _ in range(200):
        move(table)
    # 10 s ahead of the pace, at 0.1 s for each turn.
    shown = len([each for each in watcher.heard if isinstance(each, m.WatchedTurn)])
    assert shown == 101
    watcher.heard.clear()
    table.at(1.05)
    for _ in range(50):
        move(table)
    assert [each.turn for each in watcher.heard if isinstance(each, m.WatchedTurn)] == [
        *range(201, 211)
    ]


@pytest.mark.rule("S7.18")
def test_who_watches_every_turn_is_not_slowed_by_who_watches_at_a_pace() -> None:
    table, watcher = paced()
    other = Voice(table, "observer", "all")
    other.says(m.Watch(1, table.run))
    other.hears(m.Reply, id=1)
    table.environment.hears(m.EnvironmentStart, watched=True, scenes=True, once=True)
    table.environment.turns(0, text="t", scene={})
    for _ in range(150):
        move(table)
    turns = [each for each in other.heard if isinstance(each, m.WatchedTurn)]
    assert [each.turn for each in turns] == [*range(151)]
    assert all(each.scene is None for each in turns)
    assert len([each for each in watcher.heard if isinstance(each, m.WatchedTurn)]) == 101


@pytest.mark.rule("S7.16")
@pytest.mark.parametrize("everyone", [False, True])
def test_thoughts_are_for_those_who_may_see_them(everyone: bool) -> None:
    table = Conversation(thoughts=everyone).opens()
    observer = Voice(table, "observer", "eyes")
    observer.says(m.Watch(1, thoughts=True))
    observer.hears(m.Reply, id=1)
    table.experiment.says(m.Watch(2, run=table.run, thoughts=True))
    table.experiment.hears(m.Reply, id=2)
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    observer.hears(m.WatchedTurn, turn=0)
    table.experiment.hears(m.WatchedTurn, turn=0)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart, think=True)
    thoughts = m.Thoughts([0.5, 0.25])
    table.agents[0].acts(0, thoughts=thoughts)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(1)
    shown = observer.hears(m.WatchedTurn, turn=1).thoughts
    assert shown == ([(0, thoughts)] if everyone else [])
    assert table.experiment.hears(m.WatchedTurn, turn=1).thoughts == [(0, thoughts)]
    # The opponent gets its decision, and nothing else.
    table.agents[1].hears(m.Init)
    assert not hasattr(table.agents[1].hears(m.AgentStart), "thoughts")
    table.agents[1].acts(0)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(0)
    assert table.experiment.hears(m.WatchedTurn, turn=2).thoughts == []


@pytest.mark.rule("S7.16")
def test_thoughts_without_a_watcher_are_dropped() -> None:
    table = Conversation(thoughts=True).opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    table.agents[0].hears(m.Init)
    table.agents[0].hears(m.AgentStart, think=False)
    table.agents[0].acts(0, thoughts=m.Thoughts([0.5]))
    table.environment.hears(m.EnvironmentStep)
    observer = Voice(table, "observer", "eyes")
    observer.says(m.Watch(1, thoughts=True))
    observer.hears(m.Reply, id=1)
    table.environment.turns(1)
    assert observer.hears(m.WatchedTurn, turn=1).thoughts == []


@pytest.mark.rule("S7.10")
def test_progress_comes_once_a_heartbeat_and_when_it_has_changed() -> None:
    table = Conversation(episodes=3)
    said: list[m.Progress] = []

    def beat(now: float) -> None:
        table.core.tick(now)
        said.extend(x for _, x in table.core.take()[1] if isinstance(x, m.Progress))

    beat(0.0)
    beat(1.0)
    assert said == []
    table.opens()
    beat(2.0)
    beat(3.0)
    assert said == [m.Progress(table.run, 0, 1, 3)]


@pytest.mark.rule("S7.7")
def test_an_agent_is_made_from_a_kept_state(table: Conversation, maker: Voice) -> None:
    experiment = table.experiment
    experiment.says(m.ExperimentCreate(2, "td", state_name="best"))
    experiment.hears(m.Error, id=2, code="unknown", message="no state is saved under 'best'")
    number = made(table, maker, 3)
    experiment.says(m.Save(4, number, "best"))
    maker.says(m.Saved(maker.hears(m.Save).id, b"wise"))
    experiment.hears(m.Saved, id=4)
    experiment.says(m.ExperimentCreate(5, "td", state_name="best"))
    maker.hears(m.Create, state=b"wise")


def test_an_agent_that_plays_cannot_be_cleaned_up(table: Conversation) -> None:
    playing = next(each.number for each in table.core.instances if each.agent == "p0")
    table.experiment.says(m.Cleanup(2, playing))
    error = table.experiment.hears(m.Error, id=2, code="wrong-state")
    assert "cancel the run first" in error.message
    assert not table.agents[0].heard


def test_a_message_goes_to_an_agent_or_to_the_environment_of_a_run(
    table: Conversation, maker: Voice
) -> None:
    experiment = table.experiment
    number = made(table, maker)
    experiment.says(m.ExperimentMessage(3, number, body="how are you?"))
    asked = maker.hears(m.AgentMessage, instance=number, body="how are you?")
    maker.says(m.Reply(asked.id, "well"))
    experiment.hears(m.Reply, id=3, body="well")
    experiment.says(m.ExperimentMessage(4, run=table.run, body=[1]))
    asked = table.environment.hears(m.EnvironmentMessage, match=table.spec.match, body=[1])
    table.environment.says(m.Reply(asked.id, [2]))
    experiment.hears(m.Reply, id=4, body=[2])
    for number, (instance, run) in enumerate([(None, None), (999, None), (None, 999)], 5):
        experiment.says(m.ExperimentMessage(number, instance, run))
        experiment.hears(m.Error, id=number, code="unknown")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"agents": []}, "at least one agent"),
        ({"episodes": 2, "seeds": [1]}, "1 seeds for 2 episodes"),
        ({"modes": ["learn"]}, "1 modes for 2 agents"),
        ({"stepwise": True, "concurrency": 2}, "concurrency must be 1"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(
    table: Conversation, fields: dict[str, Any], text: str
) -> None:
    asked: dict[str, Any] = {"agents": ["p0", "p1"], **fields}
    table.experiment.says(m.Run(2, "game", **asked))
    assert text in table.experiment.hears(m.Error, id=2).message


def test_a_broker_that_stops_begins_no_more_runs(table: Conversation) -> None:
    table.core.stop(table.now)
    table.carry()
    table.experiment.hears(m.Done, run=table.run)
    table.experiment.says(m.Run(2, "game", ["p0", "p1"]))
    assert "shutting down" in table.experiment.hears(m.Error, id=2).message


def test_an_experiment_may_give_the_seeds() -> None:
    table = Conversation(episodes=2, seeds=[11, 7]).opens()
    table.environment.hears(m.EnvironmentStart, seed=11)
    table.environment.turns(terminated=True)
    table.environment.hears(m.EnvironmentStart, seed=7)


@pytest.mark.rule("S6.15")
def test_a_lookahead_is_passed_on_while_the_decision_is_owed() -> None:
    table = Conversation(lookahead=True).opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    agent = table.agents[0]
    agent.hears(m.Init, lookahead=True)
    episode = agent.hears(m.AgentStart).episode
    agent.says(m.AgentLookahead(1, episode, 0, 0, [[[0]]], seed=9))
    asked = table.environment.hears(m.EnvironmentLookahead, seat=0, turn=0, lines=[[[0]]], seed=9)
    table.environment.says(m.Reply(asked.id, []))
    agent.hears(m.Reply, id=1)
    agent.says(m.AgentLookahead(2, episode, 1, 0, [[[0]]]))
    agent.hears(m.Error, id=2, code="wrong-state")


@pytest.mark.rule("S6.17")
def test_a_run_without_lookahead_refuses_it() -> None:
    table = Conversation().opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    agent = table.agents[0]
    agent.hears(m.Init)
    agent.says(m.AgentLookahead(1, agent.hears(m.AgentStart).episode, 0, 0, [[[0]]]))
    agent.hears(m.Error, id=1, code="lookahead")


def test_a_watcher_may_stop_watching() -> None:
    table = Conversation(episodes=2)
    watcher = Voice(table, "observer", "eyes")
    watcher.says(m.Watch(1, 999))
    watcher.hears(m.Error, id=1, code="unknown")
    watcher.says(m.Watch(2, table.run))
    watcher.says(m.Watch(3, table.run, on=False))
    watcher.hears(m.Reply, id=2)
    watcher.hears(m.Reply, id=3)
    table.opens()
    table.environment.hears(m.EnvironmentStart, watched=False)
    table.environment.turns(0)
    assert not watcher.heard
