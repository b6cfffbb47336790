"""The costs that a peer may cause to others: sizes, requests at once, and what becomes of one that
asks for too much."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.broker.conversation import Conversation, Voice
from tests.broker.test_runs import second_run

from dovetail.broker.core.core import Settings
from dovetail.broker.core.intake import Intake
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.write_ahead_log import Live
from dovetail.broker.peers import limits
from dovetail.broker.peers.outbox import Audience, Out, Outbox
from dovetail.broker.requests import catalogue as catalogue_module
from dovetail.broker.requests.requests import Requests
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.runs.runs import Runs
from dovetail.broker.shell import watcher_queue as queue_module
from dovetail.broker.shell.server import Server
from dovetail.broker.shell.watcher_queue import HELD, LEAST, MAX_DELAY, SHARE, WatcherQueue
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.transport.dealer import Dealer
from dovetail.transport.router import Router

pytestmark = pytest.mark.processes


def hello(**fields: Any) -> m.Hello:
    return m.Hello(m.VERSION, fields.pop("role", "environment"), **fields)


@pytest.mark.rule("S11.3")
@pytest.mark.parametrize(
    "greeting",
    [
        hello(name="n" * 257),
        hello(software="n" * 257),
        hello(offers=[m.Offer("n" * 257)]),
        hello(offers=[m.Offer(str(number)) for number in range(4_097)]),
        hello(offers=[m.Offer("game", parameters={"p": [0] * 20_000})]),
    ],
    ids=["name", "software", "offer", "offers", "parameters"],
)
def test_a_hello_that_is_too_large_is_refused(greeting: m.Hello) -> None:
    table = Conversation()
    table.core.receive(99, greeting, 0.0)
    [(_, answer)] = table.core.take()[1]
    assert isinstance(answer, m.Error)
    assert answer.code == "limit"
    assert 99 not in table.core.broker.connections


@pytest.mark.rule("S7.12")
def test_a_large_catalogue_comes_in_pages() -> None:
    table = Conversation()
    for number in range(6):
        offers = [m.Offer(f"{number}-{each}") for each in range(4_000)]
        Voice(table, "environment", f"rules {number}", *offers)
    names: list[str] = []
    start, pages = 0, 0
    while True:
        table.now += 60.0
        pages += 1
        table.experiment.says(m.Catalogue(10 + pages, start))
        body = table.experiment.hears(m.Reply, id=10 + pages).body
        codec.Decoder(codec.AT_PEER["experiment"]).decode(codec.encode(table.experiment.last))
        names += [each["name"] for each in body["environments"]]
        if "more" not in body:
            break
        assert body["more"] > start
        start = body["more"]
    assert pages > 1
    assert len(names) == len(set(names)) == 6 * 4_000 + 1


@pytest.mark.rule("S11.3")
def test_one_that_asks_for_too_much_is_slowed_then_refused_then_sent_away() -> None:
    table = Conversation()
    observer = Voice(table, "observer")
    address = observer.address
    seen: list[str] = []
    refused = 0
    for number in range(100_000):
        table.core.receive(address, m.Catalogue(number), 0.0)
        if table.core.broker.slowed.pop(address, None) and "slowed" not in seen:
            seen.append("slowed")
        table.carry()
        while observer.heard:
            answer = observer.heard.popleft()
            what = getattr(answer, "code", type(answer).__name__)
            refused += what == "limit"
            if what not in seen:
                seen.append(what)
        if address in table.core.broker.dropped:
            break
    assert seen == ["Reply", "slowed", "limit", "Bye"]
    assert refused == 5_000
    assert observer.token not in table.core.broker.sessions


def test_a_connection_without_a_session_may_say_a_hundred_things() -> None:
    table = Conversation()
    for number in range(1, 102):
        assert "new" not in table.core.broker.dropped, number
        table.core.receive("new", m.Ping(number), 0.0)
        _, [(_, answer)] = table.core.take()
        assert isinstance(answer, m.Error)
        assert answer.code == "hello-first"
    why = "101 messages without a session; say hello first"
    assert table.core.broker.dropped == {"new": why}


@pytest.mark.rule("S11.3")
def test_what_was_refused_is_taken_after_a_while() -> None:
    table = Conversation()
    observer = Voice(table, "observer")
    number = 0
    while not isinstance(observer.last, m.Error):
        number += 1
        observer.says(m.Catalogue(number))
        observer.last = observer.heard.popleft()
    assert observer.last.code == "limit"
    assert observer.last.id == number
    table.now += limits.REFUSE / limits.RATE
    observer.says(m.Catalogue(number))
    observer.hears(m.Reply, id=number)


def test_answers_that_are_waited_for_cost_nothing() -> None:
    table = Conversation(seats=1, episodes=1).opens()
    table.agents[0].hears(m.Init)
    table.environment.hears(m.EnvironmentStart)
    for _ in range(2_000):
        table.environment.turns(0)
        table.agents[0].acts(0, table.agents[0].heard.popleft())
        table.environment.hears(m.EnvironmentStep)
    owed = {peer.name: peer.owed for peer in table.core.broker.sessions.values()}
    assert owed["p0"] == owed["rules"] == 0


def owed(voice: Voice) -> float:
    return voice.table.core.broker.sessions[voice.token].owed


def cost(voice: Voice, message: m.Message) -> float:
    """Return the units that a message costs its sender."""
    voice.table.now += 1e6
    voice.says(message)
    return owed(voice)


NESTED: list[Any] = [[number] for number in range(40_000)]


@pytest.mark.parametrize("frame", [b"\xc1", b"\xc1" * 1_000_000], ids=["short", "long"])
def test_a_frame_that_is_refused_costs_by_its_size(frame: bytes) -> None:
    table = Conversation()
    Intake(table.core).take(table.agents[0].address, [frame], 0.0)
    units = owed(table.agents[0])
    assert (limits.UNREADABLE <= units < 10) if len(frame) == 1 else (4_000 < units < 10_000)


@pytest.mark.parametrize("many", [False, True])
def test_an_answer_that_nothing_waits_for_costs_by_its_values(many: bool) -> None:
    table = Conversation().opens()
    much: Any = NESTED if many else 0
    views = [m.View(0, much, [0])]
    symmetries = [m.Symmetry(list(range(80_000)), [])] if many else []
    spec = m.Spec(99, "game", 2, [], [], symmetries=symmetries)
    for voice, message in (
        (table.agents[0], m.Action(99, 0, 0, much)),
        (table.agents[0], m.Reply(99, much)),
        (table.environment, m.Reply(99, much)),
        (table.environment, m.Turn(99, 0, [0], views)),
        (table.environment, m.Turns(99, 0, much, much, much, much)),
        (table.environment, spec),
    ):
        units = cost(voice, message)
        assert (units > 3_000) if many else (1 <= units < 3), message


@pytest.mark.parametrize("name", ["ping", "catalogue", "action"])
def test_fields_that_no_one_knows_are_charged(name: str) -> None:
    table = Conversation()
    voice = table.agents[0] if name == "action" else table.experiment
    fields = {"action": {"episode": 99, "turn": 0, "seat": 0, "action": 0}}.get(name, {"id": 9})
    costs = []
    junks: list[list[Any]] = [[], [[]] * 90_000]
    for junk in junks:
        table.now += 1e6
        frame = msgspec.msgpack.encode({"type": name, **fields, "junk": junk})
        Intake(table.core).take(voice.address, [frame], table.now)
        costs.append(owed(voice))
    assert costs[0] < 50
    assert costs[1] > 4_000


def test_a_state_costs_by_its_bytes_alone() -> None:
    table = Conversation()
    load = codec.encode(m.Load(2, 99, bytes(10 << 20)))
    Intake(table.core).take(table.experiment.address, [load], table.now)
    assert 2_500 < owed(table.experiment) < 2_700


def test_a_lookahead_that_is_refused_costs_as_often_as_it_is_sent() -> None:
    table = Conversation().opens()
    agent = table.agents[0]
    for number in (1, 2, 2):
        assert cost(agent, m.AgentLookahead(number, 99, 0, 0, [])) == limits.LOOKAHEAD
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    assert cost(agent, m.AgentLookahead(3, 99, 0, 0, [])) == limits.LOOKAHEAD  # not allowed


def test_a_lookahead_for_a_decision_costs_nothing() -> None:
    table = Conversation(lookahead=True).opens()
    table.environment.hears(m.EnvironmentStart)
    table.environment.turns(0)
    table.agents[0].hears(m.Init)
    asked = table.agents[0].hears(m.AgentStart)
    assert cost(table.agents[0], m.AgentLookahead(1, asked.episode, 0, 0, [])) == 0
    table.environment.hears(m.EnvironmentLookahead)


def test_what_is_looked_through_costs_by_its_number() -> None:
    """Each message cost a few units, and the broker up to a thousand times as much."""
    table = Conversation()
    maker = Voice(table, "agent", "maker", m.Offer("td"))
    for number in range(2, 502):
        table.now += 1.0
        table.experiment.says(m.ExperimentCreate(number, "td", timeout=None))
    assert cost(table.experiment, m.Cancel(600, request=999)) >= 5
    for create in [*maker.heard]:
        maker.says(m.Reply(create.id))
    assert cost(maker, m.Pong()) >= 5
    assert cost(maker, m.Action(99, 0, 0)) >= 5


@pytest.mark.parametrize("how", ["watch", "resume"])
def test_turns_that_a_watcher_is_shown_at_once_cost_it_something(how: str) -> None:
    table = second_run(0, episodes=99, concurrency=50)
    for each in [*table.environment.heard]:
        view = m.View(0, 1, [0])
        table.environment.says(m.Turn(each.episode, 0, [0], [view]))
    watcher = Voice(table, "observer", "eyes")
    asked = cost(watcher, m.Watch(1, scenes=True))
    again = cost(watcher, m.Hello(1, "observer", resume=watcher.token))
    assert (asked if how == "watch" else again) >= 50


def test_an_idle_peer_leaves_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Conversation()
    one, other = (Voice(table, "agent", name, m.Offer(name)) for name in "ab")

    def searched(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(Runs, "__iter__", searched)
    table.core.lost(one.address, table.now)
    monkeypatch.setattr(Requests, "abandon", searched)
    other.says(m.Bye())
    assert other.token not in table.core.broker.sessions


def test_a_catalogue_costs_by_the_values_of_its_page() -> None:
    table = Conversation()
    small = cost(table.experiment, m.Catalogue(2))
    for number in range(8):
        offers = [m.Offer("game", parameters={"x": [0] * 19_000})]
        Voice(table, "environment", f"rules {number}", *offers)
    units = cost(table.experiment, m.Catalogue(3))
    assert small < 100 < 3_000 < units < 5_000  # a page's, however many there are
    body = table.experiment.heard.pop().body
    assert "more" in body


def test_of_a_catalogue_only_the_page_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Conversation()
    for number in range(8):
        offers = [m.Offer("game", parameters={"x": [0] * 19_000})]
        Voice(table, "environment", f"rules {number}", *offers)
    made = []
    whole = catalogue_module._offer

    def offer(*arguments: Any) -> Any:
        made.append(arguments)
        return whole(*arguments)

    monkeypatch.setattr(catalogue_module, "_offer", offer)
    table.experiment.says(m.Catalogue(2))
    body = table.experiment.heard.pop().body
    assert len(made) == sum(len(body[part]) for part in ("environments", "agents")) < 8
    assert body["counters"]


def unconfirmed(table: Conversation, count: int) -> Voice:
    """Return an agent that has not confirmed a number of refusals."""
    agent = table.agents[0]
    for number in range(count):
        table.core.receive(agent.address, m.AgentLookahead(number, 99, 0, 0, []), table.now)
    table.core.take()
    return agent


@pytest.mark.parametrize("away", [False, True])
def test_a_resumption_costs_by_what_is_sent_again(away: bool) -> None:
    table = Conversation()
    agent = unconfirmed(table, 40_000)
    table.now += 1e3
    if away:
        table.core.lost(agent.address, table.now)
    hello = m.Hello(1, "agent", resume=agent.token, seen=0)
    table.core.receive(agent.address, hello, table.now)
    units = owed(agent)
    assert limits.SLOW <= units <= limits.SLOW + 2 if away else units >= 40_000 * limits.REPLAYED


def test_a_peer_that_confirms_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KEPT", 10_000)
    table = Conversation()
    agent = unconfirmed(table, 1_000)
    address = agent.address
    table.core.tick(1.0)  # it had no time yet
    assert table.core.role(address) == "agent"
    table.core.receive(address, m.Pong(1, 10**6), 1.5)
    table.core.tick(2.0)
    assert table.core.role(address) == "agent"
    unconfirmed(table, 3_000)
    table.core.tick(3.0)
    assert table.core.role(address) == "agent"
    table.core.tick(4.0)
    assert table.core.role(address) is None
    assert any(isinstance(each, m.Bye) for _, each in table.core.take()[1])


def test_what_is_not_confirmed_is_weighed_once() -> None:
    outbox = Outbox(Out(), "peer")
    for _ in range(100):
        outbox.deliver(m.Leave(1))
    assert outbox.unseen() == 0
    size = outbox.unseen()
    assert size > 500
    outbox.deliver(m.Leave(1))
    assert outbox.unseen() == size
    outbox.arrived(50)
    assert size / 3 < outbox.unseen() < size
    outbox.arrived(200)
    assert outbox.unseen() == 0


def test_what_is_kept_is_not_searched_whole() -> None:
    """A peer that confirms nothing can have 100,000 frames kept, and then say ``pong`` often."""
    looked = 0

    class Kept(dict[int, Any]):
        def __iter__(self) -> Any:
            nonlocal looked
            for each in super().__iter__():
                looked += 1
                yield each

        def values(self) -> Any:
            raise AssertionError

    outbox = Outbox(Out(), "peer")
    for number in range(1, 100):
        outbox.deliver(m.Reply(number))
    outbox._kept = Kept(outbox._kept)
    outbox.arrived(3)
    assert looked <= 4
    found: Any = outbox.reply_to(50)
    assert (found.id, outbox.reply_to(3)) == (50, None)
    outbox.arrived(99)
    assert outbox.reply_to(50) is None
    outbox.ask(m.Save(1, 1))
    outbox.deliver(m.Leave(1))
    outbox.release(100)
    assert outbox.replay(100) == 1  # not the other, which was confirmed


def test_a_run_may_have_so_many_seats() -> None:
    table = Conversation()
    many: Any = ["p0"] * (limits.RUN_SEATS + 1)
    table.experiment.says(m.Run(2, "game", agents=many))
    assert table.experiment.hears(m.Error, id=2, code="limit").message.startswith("1,025 agents;")
    table.experiment.says(m.Run(3, "game", agents=["p0"], substitutes=many))
    error = table.experiment.hears(m.Error, id=3, code="limit")
    assert error.message == "1,025 substitutes; a run may name 1,024"
    number = limits.OPEN_SEATS // limits.RUN_SEATS
    many.pop()
    table.experiment.says(m.Run(5, "game", agents=many, episodes=10**6, concurrency=10**6))
    table.experiment.hears(m.Reply, id=5)
    opened = [each for each in table.environment.heard if isinstance(each, m.Open)]
    assert number - 1 <= len(opened) <= number
    table.experiment.says(m.Run(6, "game", agents=many))
    table.experiment.hears(m.Error, id=6, code="limit")


@pytest.mark.rule("S11.3")
@pytest.mark.parametrize("wrong", [{"label": "n" * 257}, {"names": ["me", "n" * 257]}])
def test_a_label_and_names_of_a_run_are_names(wrong: dict[str, Any]) -> None:
    table = Conversation()
    table.experiment.says(m.Run(2, "game", agents=["p0", "p1"], **wrong))
    error = table.experiment.hears(m.Error, id=2, code="limit")
    assert error.message.endswith(" has 257 characters; it may have 256")
    table.experiment.says(m.Run(3, "game", agents=["p0", "p1"], label="n" * 256))
    table.experiment.hears(m.Reply, id=3)


@pytest.mark.rule("S4.5")
@pytest.mark.parametrize(
    "request_",
    [
        m.Run(2, "game", agents=["p0", "p1"], label="a\nb"),
        m.Run(2, "game", agents=["p0", "p1"], names=["me", "\x1b[2Jyou"]),
        m.ExperimentCreate(2, "p0", state_name="a\u202db"),
    ],
)
def test_names_that_others_read_have_no_control_characters(request_: m.Message) -> None:
    table = Conversation()
    table.experiment.says(request_)
    assert "control characters" in table.experiment.hears(m.Error, id=2, code="invalid").message


def test_a_single_agent_is_found_by_its_name_without_a_search() -> None:
    table = Conversation()
    instances = table.core.instances
    found = instances.called("p0")
    assert found is not None
    instances._all = dict.fromkeys(range(3))  # type: ignore[assignment]
    assert instances.called("p0") is found
    assert instances.called("p9") is None


def test_runs_of_an_experiment_share_the_matches() -> None:
    table = Conversation(episodes=10**6, concurrency=10**6)
    table.now += 10.0
    run: Any = m.Run(2, "game", agents=["p0", "p1"])
    table.experiment.says(run)
    table.experiment.hears(m.Error, id=2, code="limit")


def waiting_runs(count: int) -> Conversation:
    """Return a table at which runs wait for the agents, which play in the first."""
    table = Conversation().opens()
    for number in range(2, count + 2):
        table.now += 1.0
        table.experiment.says(m.Run(number, "game", agents=["p0", "p1"]))
        found = table.environment.heard.pop()
        table.environment.says(structs.replace(table.spec, match=found.match))
    return table


def test_an_experiment_may_have_so_many_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "RUNS", 3)
    table = waiting_runs(2)
    table.experiment.says(m.Run(9, "game", agents=["p0", "p1"]))
    assert table.experiment.heard.pop().code == "limit"
    table.experiment.says(m.Cancel(10, run=table.run))
    table.experiment.says(m.Run(11, "game", agents=["p0", "p1"]))
    assert table.experiment.heard.pop().id == 11


def test_runs_that_wait_for_an_agent_cost_nothing_until_it_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = waiting_runs(20)
    Voice(table, "agent", "q", m.Offer("q", instance=True))
    table.experiment.heard.clear()
    table.experiment.says(m.Run(90, "game", agents=["q", "q"]))
    another = table.experiment.heard.pop().body["run"]
    advanced: list[int] = []
    advance = Runs.advance

    def counted(runs: Runs, run: Any, now: float) -> None:
        advanced.append(run.number)
        advance(runs, run, now)

    monkeypatch.setattr(Runs, "advance", counted)
    table.experiment.says(m.Cancel(91, run=another))
    assert advanced == []
    table.experiment.says(m.Cancel(92, run=table.run))  # one of those that wait can begin
    assert len(advanced) == 1
    assert isinstance(table.environment.heard.pop(), m.EnvironmentStart)


def test_the_run_that_an_agent_plays_in_is_sought_once_for_all_that_wait_and_each_is_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = waiting_runs(20)
    sought = 0

    class Counted(set[int]):
        def __iter__(self) -> Iterator[int]:
            nonlocal sought
            sought += 1
            return super().__iter__()

    for instance in table.core.instances:
        instance.runs = Counted(instance.runs)
    said = []
    for later in (0.0, 3.0):
        table.core.runs.report(table.now + later)
        said = [each.told.waiting for each in table.core.runs if each.told.waiting]
    assert len(said) == 20
    assert "plays in run" in said[0]
    assert sought == 1
    assert {run.experiment.owed for run in table.core.runs} == {21 * limits.REPORTED}


def test_requests_that_are_not_answered_are_limited() -> None:
    table = Conversation().opens()
    for number in range(2, limits.UNANSWERED + 3):
        table.now += 1.0
        table.experiment.says(m.ExperimentMessage(number, run=table.run))
    table.experiment.hears(m.Error, id=limits.UNANSWERED + 2, code="limit")


def turn(number: int, reason: Any = None) -> m.WatchedTurn:
    return m.WatchedTurn(1, 1, 0, 1, number, [0], [], [0.0], [], ["a"], reason=reason)


def gathering(
    behind: bool = False,
) -> tuple[WatcherQueue, Outbox, list[tuple[list[Any], list[m.Message]]]]:
    sent: list[tuple[list[Any], list[m.Message]]] = []
    queue = WatcherQueue(
        lambda to, messages, frames: sent.append((to, messages)), lambda address: behind, Out()
    )
    return queue, Outbox(Out(), "watcher"), sent


def test_watchers_see_fewer_turns_than_are_played_between_two_sendings() -> None:
    queue, watcher, sent = gathering()
    audience = Audience([watcher])
    size = len(codec.encode(turn(1000)))
    for number in range(1000, 1000 + 4 * HELD // size):
        queue.add(audience, turn(number))
    queue.add(audience, turn(1, "terminated"))
    queue.flush()
    [(to, messages)] = sent
    assert to == ["watcher"]
    assert HELD // size < len(messages) < HELD // size + 5
    assert messages[-1] == turn(1, "terminated")


def test_a_watcher_that_is_behind_sees_the_ends_only() -> None:
    queue, watcher, sent = gathering(behind=True)
    for each in (turn(1), turn(2), turn(2, "truncated")):
        queue.add(Audience([watcher]), each)
    queue.flush()
    assert sent == [(["watcher"], [turn(2, "truncated")])]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The queue's clocks, which stand until a test moves them."""
    times = dict.fromkeys(("thread_time", "monotonic"), 100.0)
    clock = SimpleNamespace(**{name: partial(times.get, name) for name in times})
    monkeypatch.setattr(queue_module, "time", clock)
    return times


def test_watchers_wait_longer_the_longer_it_takes_to_send_to_all(now: dict[str, float]) -> None:

    def slow(to: Any, messages: Any, frames: Any) -> None:
        now["thread_time"] += 0.01

    queue = WatcherQueue(slow, lambda address: False, Out())
    queue.add(Audience([Outbox(Out(), 1)]), turn(1))
    assert queue.wait <= 0
    queue.flush()
    assert queue.wait == FOREVER
    queue.add(Audience([Outbox(Out(), 1)]), turn(2))
    whole = 0.01 / SHARE
    assert queue.wait == pytest.approx(whole)
    now["monotonic"] += 0.6 * whole
    assert queue.wait == pytest.approx(0.4 * whole)
    now["monotonic"] += 0.6 * whole
    assert queue.wait <= 0


def test_turns_are_not_made_for_watchers_once_that_took_its_share(now: dict[str, float]) -> None:
    out = Out()
    queue = WatcherQueue(lambda to, messages, frames: None, lambda address: False, out)
    audience = Audience([Outbox(out, 1)])
    for _ in range(2):
        for part, crowded in ((0.5, False), (0.4, False), (0.2, True)):
            out.spent += part * SHARE * MAX_DELAY
            queue.add(audience, turn(1))
            assert out.crowded == crowded
        queue.flush()
        assert (out.crowded, out.spent) == (False, 0.0)
        queue.add(audience, turn(1))
        assert queue.wait == pytest.approx(MAX_DELAY)  # what making took is waited for, too
        now["monotonic"] += MAX_DELAY
        queue.flush()


def test_watchers_see_fewer_turns_where_sending_all_takes_more_than_its_share(
    now: dict[str, float],
) -> None:
    each, played = 0.01, 200
    took: list[float] = []

    def slow(to: Any, messages: Any, frames: Any) -> None:
        now["thread_time"] += each * len(messages)
        took.append(each * len(messages))

    queue = WatcherQueue(slow, lambda address: False, Out())
    audience = Audience([Outbox(Out(), 1)])

    def plays() -> None:
        for number in range(played):
            queue.add(audience, turn(number))
        queue.add(audience, turn(played, "terminated"))
        queue.flush()

    for _ in range(5):
        plays()
    fewest = LEAST // len(codec.encode(turn(0)))
    assert took[0] == pytest.approx(each * (played + 1))
    assert all(after <= each * (fewest + 3) for after in took[1:])
    each = 0.0
    for _ in range(12):
        plays()
    each = 0.01
    plays()
    assert took[-1] == pytest.approx(each * (played + 1))  # all are sent again, as there is time


def test_only_watchers_are_sent_what_was_gathered_before_something_else() -> None:
    queue, watcher, sent = gathering()
    queue.add(Audience([watcher]), turn(1))
    assert queue.catch_up("another") == []
    assert queue.catch_up("watcher") == [(turn(1), codec.encode(turn(1)))]
    assert queue.catch_up("watcher") == []
    queue.add(Audience([watcher]), turn(2))
    queue.flush()
    assert sent == [(["watcher"], [turn(2)])]


def test_a_watcher_that_came_back_is_sent_what_was_gathered_before() -> None:
    queue, watcher, sent = gathering()
    queue.add(Audience([watcher]), turn(1))
    watcher.connect("again")
    assert queue.catch_up("again") == []
    queue.flush()
    assert sent == [(["again"], [turn(1)])]


def test_what_is_sent_to_a_watcher_alone_does_not_overtake_what_it_watches() -> None:
    queue, watcher, sent = gathering()
    audience = Audience([watcher, Outbox(Out(), "other")])
    queue.add(audience, turn(1))
    assert queue.catch_up("watcher") == [(turn(1), codec.encode(turn(1)))]
    assert queue.catch_up("nobody") == []
    queue.add(audience, turn(2))
    queue.flush()
    assert sent == [(["watcher"], [turn(2)]), (["other"], [turn(1), turn(2)])]


# -- over sockets --------------------------------------------------------------------------------


@contextmanager
def broker() -> Iterator[tuple[Server, Callable[[Callable[[], bool]], int]]]:
    """A broker, and a function that moves it until something holds; it returns in how many
    rounds."""
    server = Server("tcp://127.0.0.1:*", Settings())

    def until(done: Callable[[], bool]) -> int:
        end, rounds = time.monotonic() + 20.0, 0
        while not done():
            assert time.monotonic() < end, "it never came to that"
            server.pump(0.01)
            rounds += 1
        return rounds

    try:
        yield server, until
    finally:
        server.close()


@pytest.mark.rule("S11.2")
def test_a_first_frame_of_many_bytes_is_told_why_it_costs_its_sender_the_connection() -> None:
    with broker() as (server, until):
        assert server.address is not None
        dealer = Dealer(server.address, lambda: codec.encode(hello(name="n" * (2 << 20))))
        heard: list[bytes] = []
        try:

            def refused() -> bool:
                heard.extend(dealer.receive(0.0))
                return "at most 1,048,576" in dealer.trouble

            until(refused)
            error = codec.decode(heard[0])
            assert (error["type"], error["code"]) == ("error", "limit")
            assert "at most 1,048,576 are read" in error["message"]
        finally:
            dealer.close(0.0)


@pytest.mark.parametrize("what", [m.Ping(1), m.Catalogue(1)], ids=["pings", "catalogues"])
def test_a_flood_is_read_later_and_others_are_answered(what: Any) -> None:
    with broker() as (server, until):
        assert server.address is not None
        flood = Dealer(server.address, lambda: codec.encode(hello(role="observer", name="flood")))
        try:
            until(lambda: flood.receive(0.0) != [])
            frame = codec.encode(what)
            data = b"".join(b"\x00" + len(frame).to_bytes() + frame for _ in range(20_000))
            sending, router = flood._socket, server._router
            assert sending is not None
            assert isinstance(router, Router)
            sending.setblocking(False)

            def paused() -> bool:
                with contextlib.suppress(BlockingIOError):
                    sending.send(data)
                return bool(router._paused)

            until(paused)
            first = dict(router._paused)
            other = Dealer(server.address, lambda: codec.encode(hello(role="observer")))
            assert until(lambda: other.receive(0.0) != []) < 100  # a second, if nothing were to do
            other.close(0.0)
            sending.setblocking(True)
            until(lambda: router._paused != first)  # it is read again, and perhaps paused again
        finally:
            flood.close(0.0)


def test_strangers_leave_no_trace_beside_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "games")
    live = Live(journal)
    server = Server("tcp://127.0.0.1:*", Settings(), journal, live)
    begun = len(live.path.read_bytes())
    try:
        assert server.address is not None
        for frame in (b"\xc1" * 1000, codec.encode(hello(name="n" * 1000))):
            stranger = Dealer(server.address, lambda frame=frame: frame)  # type: ignore[misc]
            end = time.monotonic() + 20.0
            while not stranger.receive(0.0):
                assert time.monotonic() < end
                server.pump(0.01)
            stranger.close(0.0)
        written = live.path.read_bytes().rstrip(b"\0")  # zeros are room for more
        assert len(written) - begun < 300
    finally:
        server.close()
