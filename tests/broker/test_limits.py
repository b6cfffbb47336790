"""What a peer may cost the others: sizes, requests at once, and what becomes of one that asks for too much."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail.broker import feed as feed_module
from dovetail.broker import limits
from dovetail.broker.clocks import FOREVER
from dovetail.broker.core import Settings
from dovetail.broker.feed import HELD, LEAST, LONGEST, SHARE, TIMES, Feed
from dovetail.broker.journal import Journal
from dovetail.broker.live import Live
from dovetail.broker.outbox import Audience, Out, Outbox
from dovetail.broker.server import Server
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.transport.dealer import Dealer
from dovetail.transport.router import Router


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
    assert 99 not in table.core.tables.connections


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
    for number in range(100_000):
        table.core.receive(address, m.Catalogue(number), 0.0)
        if table.core.tables.slowed.pop(address, None) and "slowed" not in seen:
            seen.append("slowed")
        table.carry()
        while observer.heard:
            answer = observer.heard.popleft()
            what = getattr(answer, "code", type(answer).__name__)
            if what not in seen:
                seen.append(what)
        if address in table.core.tables.dropped:
            break
    assert seen == ["Reply", "slowed", "limit", "Bye"]
    assert observer.token not in table.core.tables.sessions


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
    owed = {peer.name: peer.owed for peer in table.core.tables.sessions.values()}
    assert owed["p0"] == owed["rules"] == 0


def test_runs_of_an_experiment_share_the_matches() -> None:
    table = Conversation(episodes=10**6, concurrency=10**6)
    table.now += 10.0
    run: Any = m.Run(2, "game", agents=["p0", "p1"])
    table.experiment.says(run)
    table.experiment.hears(m.Error, id=2, code="limit")


def test_requests_that_are_not_answered_are_limited() -> None:
    table = Conversation().opens()
    for number in range(2, limits.UNANSWERED + 3):
        table.now += 1.0
        table.experiment.says(m.ExperimentMessage(number, run=table.run))
    table.experiment.hears(m.Error, id=limits.UNANSWERED + 2, code="limit")


def turn(number: int, reason: Any = None) -> m.WatchedTurn:
    return m.WatchedTurn(1, 1, 0, 1, number, [0], [], [0.0], [], ["a"], reason=reason)


def gathering(behind: bool = False) -> tuple[Feed, Outbox, list[tuple[list[Any], list[m.Message]]]]:
    sent: list[tuple[list[Any], list[m.Message]]] = []
    feed = Feed(
        lambda to, messages, frames: sent.append((to, messages)), lambda address: behind, Out()
    )
    return feed, Outbox(Out(), "watcher"), sent


def test_watchers_see_fewer_turns_than_are_played_between_two_sendings() -> None:
    feed, watcher, sent = gathering()
    audience = Audience([watcher])
    size = len(codec.encode(turn(1000)))
    for number in range(1000, 1000 + 4 * HELD // size):
        feed.add(audience, turn(number))
    feed.add(audience, turn(1, "terminated"))
    feed.flush()
    [(to, messages)] = sent
    assert to == ["watcher"]
    assert HELD // size < len(messages) < HELD // size + 5
    assert messages[-1] == turn(1, "terminated")


def test_a_watcher_that_is_behind_sees_the_ends_only() -> None:
    feed, watcher, sent = gathering(behind=True)
    for each in (turn(1), turn(2), turn(2, "truncated")):
        feed.add(Audience([watcher]), each)
    feed.flush()
    assert sent == [(["watcher"], [turn(2, "truncated")])]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The feed's clocks, which stand until a test moves them."""
    times = dict.fromkeys(("thread_time", "monotonic"), 100.0)
    clock = SimpleNamespace(**{name: partial(times.get, name) for name in times})
    monkeypatch.setattr(feed_module, "time", clock)
    return times


def test_watchers_wait_longer_the_longer_it_takes_to_send_to_all(now: dict[str, float]) -> None:

    def slow(to: Any, messages: Any, frames: Any) -> None:
        now["thread_time"] += 0.01

    feed = Feed(slow, lambda address: False, Out())
    feed.add(Audience([Outbox(Out(), 1)]), turn(1))
    assert feed.wait <= 0
    feed.flush()
    assert feed.wait == FOREVER
    feed.add(Audience([Outbox(Out(), 1)]), turn(2))
    whole = 0.01 / SHARE
    assert feed.wait == pytest.approx(whole)
    now["monotonic"] += 0.6 * whole
    assert feed.wait == pytest.approx(0.4 * whole)
    now["monotonic"] += 0.6 * whole
    assert feed.wait <= 0


def test_turns_are_not_made_for_watchers_once_that_took_as_long_as_sending(
    now: dict[str, float],
) -> None:

    def slow(to: Any, messages: Any, frames: Any) -> None:
        now["thread_time"] += 0.01

    out = Out()
    feed, audience = Feed(slow, lambda address: False, out), Audience([Outbox(out, 1)])
    for allowed in (LEAST, 0.01):
        for part, crowded in ((0.5, False), (0.4, False), (0.2, True)):
            out.spent += part * allowed
            feed.add(audience, turn(1))
            assert out.crowded == crowded
        feed.flush()
        assert not out.crowded


def test_watchers_see_fewer_turns_where_sending_all_takes_more_than_its_share(
    now: dict[str, float],
) -> None:
    each, played = 0.01, 200
    took: list[float] = []

    def slow(to: Any, messages: Any, frames: Any) -> None:
        now["thread_time"] += each * len(messages)
        took.append(each * len(messages))

    feed = Feed(slow, lambda address: False, Out())
    audience = Audience([Outbox(Out(), 1)])
    for _ in range(5):
        for number in range(played):
            feed.add(audience, turn(number))
        feed.add(audience, turn(played, "terminated"))
        feed.flush()
    assert took[:TIMES] == [pytest.approx(each * (played + 1))] * TIMES
    assert all(0 < after < SHARE * LONGEST + 3 * each for after in took[TIMES:])
    each = 0.0
    for _ in range(12):
        for number in range(played):
            feed.add(audience, turn(number))
        feed.flush()
    each = 0.01
    feed.add(audience, turn(1))
    feed.flush()
    for number in range(played):
        feed.add(audience, turn(number))
    feed.flush()
    assert took[-1] == pytest.approx(each * played)  # all are sent again once there is time for it


def test_only_watchers_are_sent_what_was_gathered_before_something_else() -> None:
    feed, watcher, sent = gathering()
    feed.add(Audience([watcher]), turn(1))
    assert feed.catch_up("another") == []
    assert feed.catch_up("watcher") == [(turn(1), codec.encode(turn(1)))]
    assert feed.catch_up("watcher") == []
    feed.add(Audience([watcher]), turn(2))
    feed.flush()
    assert sent == [(["watcher"], [turn(2)])]


def test_a_watcher_that_came_back_is_sent_what_was_gathered_before() -> None:
    feed, watcher, sent = gathering()
    feed.add(Audience([watcher]), turn(1))
    watcher.connect("again")
    assert feed.catch_up("again") == []
    feed.flush()
    assert sent == [(["again"], [turn(1)])]


def test_what_is_sent_to_a_watcher_alone_does_not_overtake_what_it_watches() -> None:
    feed, watcher, sent = gathering()
    audience = Audience([watcher, Outbox(Out(), "other")])
    feed.add(audience, turn(1))
    assert feed.catch_up("watcher") == [(turn(1), codec.encode(turn(1)))]
    assert feed.catch_up("nobody") == []
    feed.add(audience, turn(2))
    feed.flush()
    assert sent == [(["watcher"], [turn(2)]), (["other"], [turn(1), turn(2)])]


# -- over sockets --------------------------------------------------------------------------------


@contextmanager
def broker() -> Iterator[tuple[Server, Callable[[Callable[[], bool]], int]]]:
    """A broker, and a function that moves it until something holds; it returns in how many rounds."""
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


def test_a_first_frame_of_many_bytes_costs_its_sender_the_connection() -> None:
    with broker() as (server, until):
        assert server.address is not None
        dealer = Dealer(server.address, lambda: codec.encode(hello(name="n" * (2 << 20))))
        try:

            def refused() -> bool:
                dealer.receive(0.0)
                return "at most 1048576" in dealer.trouble

            until(refused)
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
            other = Dealer(server.address, lambda: codec.encode(hello(role="observer")))
            assert until(lambda: other.receive(0.0) != []) < 100  # a second, if nothing were to do
            other.close(0.0)
            sending.setblocking(True)
            until(lambda: not router._paused)  # it is read again
        finally:
            flood.close(0.0)


def test_strangers_leave_no_trace_beside_the_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "games")
    live = Live(journal)
    server = Server("tcp://127.0.0.1:*", Settings(), journal, live)
    begun = live.path.stat().st_size
    try:
        assert server.address is not None
        for frame in (b"\xc1" * 1000, codec.encode(hello(name="n" * 1000))):
            stranger = Dealer(server.address, lambda frame=frame: frame)  # type: ignore[misc]
            end = time.monotonic() + 20.0
            while not stranger.receive(0.0):
                assert time.monotonic() < end
                server.pump(0.01)
            stranger.close(0.0)
        assert live.path.stat().st_size - begun < 300
    finally:
        server.close()
