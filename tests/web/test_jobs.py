"""Requests of browsers to the broker: one slow agent stops no one else, and what is given up leaves
nothing behind."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.testclient import TestClient
from tests import loops

from dovetail.client.client import Experiment
from dovetail.peer.agents.agent import Decision, Seat
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail_web.app import application
from dovetail_web.browser import Browser
from dovetail_web.chairs import Chair
from dovetail_web.channel import Channels
from dovetail_web.hub import Hub
from dovetail_web.jobs import Jobs, Steps
from dovetail_web.people import UNSEEN_MINUTES
from dovetail_web.tables import Plan, Sitter, Table


class Line:
    """The hub's connection: it notes what is said, and answers when the test does."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.answers: dict[int, m.Message] = {}

    def post(self, message: Any) -> int:
        self.said.append(message)
        return len(self.said)

    def request(self, message: Any) -> Any:
        self.said.append(message)
        return {"run": 5}

    def forget(self, number: int) -> None:
        pass

    def answer(self, number: int) -> m.Message | None:
        return self.answers.pop(number, None)

    def made(self, number: int) -> None:
        """Say that the agent of the last request was made."""
        self.answers[len(self.said)] = m.Reply(0, {"instance": number})

    def refused(self) -> None:
        self.answers[len(self.said)] = m.Error("failed", "it is broken", id=1)

    def kinds(self) -> list[str]:
        return [type(each).__name__ for each in self.said]


AGENTS = (Sitter("agent", "slow"), Sitter("agent", "slow"))


class Page:
    """A hub whose thread is the test's."""

    def __init__(self) -> None:
        self.agent = "slow"
        """The agent that is asked for a hint."""
        self.removed: list[str] = []
        """Chairs."""
        self.line = Line()
        self.hub = Hub("tcp://127.0.0.1:9")  # never started
        self.hub.problem = ""
        self.hub.chairs = cast(Any, SimpleNamespace(remove=lambda key: None))
        self.jobs = Jobs()
        self.hub._jobs = self.jobs

    def work(self) -> None:
        self.jobs.work(cast(Experiment, self.line))

    def begin(self) -> Future[Any]:
        """Begin a game of two agents."""
        self.table = Table(Plan("four", {}, AGENTS, 1, m.ClockRule()), [None, None])
        return self.jobs.make(lambda client: self.hub.people._begin(client, self.table, []))


@pytest.fixture
def page() -> Page:
    return Page()


def test_others_do_not_wait_for_an_agent_that_is_slow_to_be_made(page: Page) -> None:
    slow, other = page.begin(), page.jobs.add(lambda client: "done")
    page.work()
    assert page.line.kinds() == ["ExperimentCreate"]
    assert other.result(0) == "done"
    page.line.made(1)
    page.work()
    page.line.made(2)
    page.work()
    slow.result(0)
    assert page.table.run == 5
    assert page.table.instances == [1, 2]
    (run,) = [each for each in page.line.said if isinstance(each, m.Run)]
    assert run.agents == [1, 2]


def test_the_next_game_of_one_table_does_not_wait_for_that_of_another(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = (Table(Plan("four", {}, AGENTS, n, m.ClockRule()), [], done=True) for n in (1, 2))
    begun, over = threading.Event(), threading.Event()

    def play(plan: Plan, by: str = "") -> Table:
        if not begun.is_set():
            begun.set()
            assert over.wait(60)
        return Table(plan, [])

    monkeypatch.setattr(page.hub.people, "play", play)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(page.hub.people.again, slow)
        assert begun.wait(60)
        try:
            pool.submit(page.hub.people.again, quick).result(5)
        finally:
            over.set()
    assert first.result() is slow.again


@pytest.mark.parametrize(
    ("swapped", "names"), [(False, ["Ann", "b", "c"]), (True, ["c", "Ann", "b"])]
)
def test_the_next_game_keeps_the_seats_or_moves_everyone_by_one(
    page: Page, monkeypatch: pytest.MonkeyPatch, swapped: bool, names: list[str]
) -> None:
    sitters = (Sitter("person", "Ann"), Sitter("agent", "b"), Sitter("agent", "c"))
    chair = Chair("Ann", lambda: None)
    table = Table(Plan("three", {}, sitters, 1, m.ClockRule()), [chair, None, None], done=True)
    monkeypatch.setattr(page.hub.people, "play", lambda plan, by="": Table(plan, []))
    following = page.hub.people.again(table, swapped=swapped)
    assert following.plan.names == names
    assert names[table.after(chair)] == "Ann"
    assert page.hub.people.again(table, swapped=not swapped) is following  # the other person


def test_many_who_wait_for_an_agent_leave_threads_to_others(page: Page) -> None:
    chair, over = Chair("Ann", lambda: None), threading.Event()
    table = Table(Plan("four", {}, AGENTS, 1, m.ClockRule()), [chair, None])
    page.hub.people.tables[table.key] = table
    served: list[Chair] = []

    def wait(people: Any, at: Table, seat: Chair) -> None:
        assert over.wait(60)
        served.append(seat)

    async def play() -> None:
        browser = Browser(page.hub, Channels(page.hub), cast(Any, None))
        browser._about, browser._chair = f"table:{table.key}", chair.key
        asked = [
            asyncio.create_task(browser._do(wait))
            for _ in range(40)  # a loop has at most 32 threads
        ]
        await asyncio.sleep(0)
        try:
            assert await asyncio.wait_for(asyncio.to_thread(lambda: len(served)), 5) == 0
        finally:
            over.set()
        await asyncio.gather(*asked)

    loops.run(play())
    assert served == [chair] * 40


def test_what_is_given_up_starts_nothing_and_leaves_no_agent(page: Page) -> None:
    slow = page.begin()
    page.work()
    page.line.made(1)
    page.work()
    assert slow.cancel()
    page.line.made(2)
    page.work()
    assert page.line.kinds() == ["ExperimentCreate"] * 2 + ["Cleanup"] * 2
    assert {each.instance for each in page.line.said[2:]} == {1, 2}
    assert page.table.run is None


def test_what_is_given_up_before_it_begins_is_not_carried_out(page: Page) -> None:
    slow, other = page.begin(), page.jobs.add(lambda client: client.post(m.Cleanup(0, 1)))
    assert slow.cancel()
    assert other.cancel()
    page.work()
    assert page.line.said == []


def test_a_request_that_takes_too_long_is_given_up(page: Page) -> None:
    with pytest.raises(DovetailError, match="there was no answer"):
        page.hub.ask(lambda client: client.post(m.Cleanup(0, 1)), 0.01)
    page.work()
    assert page.line.said == []


def test_an_agent_that_cannot_be_made_ends_the_others(page: Page) -> None:
    slow = page.begin()
    page.work()
    page.line.made(1)
    page.work()
    page.line.refused()
    page.work()
    with pytest.raises(DovetailError, match="it is broken"):
        slow.result(0)
    assert page.line.kinds()[2:] == ["Cleanup"]


def test_requests_fail_if_the_broker_goes_away(page: Page) -> None:
    slow, other = page.begin(), page.jobs.add(lambda client: None)
    page.work()
    waiting = page.jobs.add(lambda client: None)
    page.jobs.fail(DovetailError("gone"))
    for each in slow, waiting:
        with pytest.raises(DovetailError, match="gone"):
            each.result(0)
    assert other.result(0) is None


def test_a_game_ends_that_no_one_comes_back_to(page: Page) -> None:
    people, client = page.hub.people, cast(Experiment, page.line)
    plan = Plan("four", {}, (Sitter("person", "Ann"), *AGENTS[1:]), 1, m.ClockRule())
    left, here = Table(plan, [Chair("Ann", lambda: None), None]), Table(plan, [None, None])
    for run, table in enumerate((left, here)):
        people.tables[table.key] = table
        table.run, table.seen = run, 1000.0
    people.tidy(client, 1000.0 + 60 * UNSEEN_MINUTES)
    assert page.line.said == []
    for _ in range(2):
        people.tidy(client, 1001.0 + 60 * UNSEEN_MINUTES)
    (cancel,) = page.line.said
    assert (cancel.run, here.abandoned) == (0, False)  # agents come to an end by themselves
    people.done(m.Done(0, 0, "cancelled"))
    assert left.done
    assert f"No one was here for {UNSEEN_MINUTES} minutes" in left.problem


def test_who_has_a_chair_and_the_page_open_is_there(page: Page) -> None:
    chair = Chair("Ann", lambda: None)
    table = Table(Plan("four", {}, AGENTS, 1, m.ClockRule()), [chair, None])
    page.hub.people.tables[table.key] = table
    client = TestClient(application(page.hub, hosts=("testserver",)))
    for key, there in (("", False), (chair.key, True)):
        table.seen = 0.0
        headers = {"origin": "http://testserver"}
        with client, client.websocket_connect("/live", headers=headers) as socket:
            socket.send_json({"about": f"table:{table.key}", "chair": key})
            socket.receive_json()
        assert (table.seen > 0) == there


@pytest.mark.parametrize("choices", [2, 2000])
def test_a_board_comes_before_its_many_choices(page: Page, choices: int) -> None:
    chair = Chair("Ann", lambda: None)
    legal = list(range(choices))
    chair.step(Decision(Seat(0, 1, m.Spec()), 1, 0, 0, legal, 0.0, "evaluate", random.Random(1)))
    table = Table(Plan("four", {}, AGENTS, 1, m.ClockRule()), [chair, None])
    page.hub.people.tables[table.key] = table
    client = TestClient(application(page.hub, hosts=("testserver",)))
    headers = {"origin": "http://testserver"}
    with client, client.websocket_connect("/live", headers=headers) as socket:
        socket.send_json({"about": f"table:{table.key}", "chair": chair.key})
        heard = [socket.receive_json() for _ in range(1 + (choices > 2))]
    assert [each["waiting"] for each in heard] == [False] * (choices > 2) + [True]
    assert heard[0]["mine"] is None or choices == 2


def asked(page: Page, to_act: list[int]) -> Future[Any]:
    """Have a person in seat 1 ask an agent for a hint, in a turn in which these seats act."""
    page.hub.catalogue = {"agents": [{"name": "one", "instance": 9}]}
    page.hub.chairs = cast(
        Any,
        SimpleNamespace(
            name="page",
            agent="person",
            add=lambda name, changed: Chair(name, changed),
            remove=lambda key: page.removed.append(key),
        ),
    )
    chair = Chair("Ann", lambda: None)
    seat = Seat(1, 1, m.Spec())
    chair.step(Decision(seat, 1, 0, 0, [7, 9], 0.0, "evaluate", random.Random(1)))
    table = Table(Plan("four", {}, (*AGENTS, Sitter("person", "Ann")), 1, m.ClockRule()), [])
    table.heard(m.WatchedTurn(1, 1, 0, 7, 0, to_act=to_act))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(page.hub.people.hint, table, chair, page.agent)
        while not future.done():
            page.work()
            if page.line.said and isinstance(page.line.said[-1], m.ExperimentCreate):
                page.line.made(len(page.line.said))
    return future


def test_a_hint_does_not_see_what_the_other_seats_see(page: Page) -> None:
    """They may act in the same turn, so someone else sits there."""
    asked(page, [0, 1]).result()
    (run,) = [each for each in page.line.said if isinstance(each, m.Run)]
    assert run.agents == [2, 1, 2]
    page.hub.people.done(m.Done(5, 1))
    page.work()
    assert [each.instance for each in page.line.said if isinstance(each, m.Cleanup)] == [1, 2]


def test_a_program_that_gives_a_hint_does_not_see_what_the_others_see(page: Page) -> None:
    page.agent = "one"
    asked(page, [1]).result()
    (run,) = [each for each in page.line.said if isinstance(each, m.Run)]
    assert run.agents == [1, "one", 1]
    (made,) = [each for each in page.line.said if isinstance(each, m.ExperimentCreate)]
    page.hub.people.done(m.Done(5, 1))
    page.work()
    assert page.removed == [made.parameters["chair"]]


def test_a_program_gives_no_hint_where_others_act_too(page: Page) -> None:
    page.agent = "one"
    with pytest.raises(DovetailError, match="ask another agent"):
        asked(page, [0, 1]).result()
    assert page.line.said == []


def test_a_fault_of_the_page_ends_one_request_only(page: Page) -> None:
    def broken(client: Experiment) -> Steps:
        yield m.ExperimentCreate(0, "slow")
        raise LookupError

    wrong = page.jobs.add(lambda client: int("x"))
    steps = page.jobs.make(broken)
    page.work()
    page.line.made(1)
    page.work()
    for each in wrong, steps:
        with pytest.raises(DovetailError, match="The page failed"):
            each.result(0)
