"""Legacy experiments with native games and agents: every mix of roles."""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.bridges.rlglue.legacy import (
    AGENT,
    ENVIRONMENT,
    Experiment,
    Nim,
    Program,
    adt,
    chain,
    echo,
    frame,
    read,
    text,
)

from dovetail import Agent
from dovetail.broker.shell.serve import serve as serve_broker
from dovetail.client.client import Experiment as Native
from dovetail.peer.agents.serve import serve as serve_agents
from dovetail.peer.environments.serve import serve as serve_environments
from dovetail_bridges.rlglue.adapters import NativeSide, experiments
from dovetail_bridges.rlglue.listener import Port
from dovetail_bridges.rlglue.seat import SeatOptions
from dovetail_bridges.rlglue.serve import Bridge, relay


class TakesOne(Agent):
    """Takes one, and remembers what it heard."""

    name = "one"
    capacity = 0
    heard: list[tuple[Any, ...]] = []  # noqa: RUF012
    ended = threading.Condition()

    def step(self, decision: Any) -> int:
        TakesOne.heard.append(("decision", decision.observation, decision.reward, decision.legal))
        return 1

    def end(self, end: Any) -> None:
        if end.reason != "cancelled":  # the episode that was about to begin when the run ended
            with TakesOne.ended:
                TakesOne.heard.append(("end", end.reward, end.reason))
                TakesOne.ended.notify_all()

    def message(self, body: Any) -> str:
        return f"one heard {body}"


class Hangs(Agent):
    """Fails in its second decision."""

    name = "fails"

    def step(self, decision: Any) -> int:
        if decision.turn:
            raise RuntimeError("no more")
        return 1


@contextlib.contextmanager
def broker(games: Sequence[type[Nim]] = (Nim,)) -> Iterator[str]:
    """A broker with Nim and some agents, in threads."""
    stop, there = threading.Event(), threading.Event()
    address: list[str] = []

    def ready(server: Any) -> None:
        address.append(server.address)
        there.set()

    def start(target: Any, *arguments: Any, **named: Any) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, kwargs=named, daemon=True)
        thread.start()
        return thread

    main = start(serve_broker, "tcp://127.0.0.1:*", ready=ready, stop=stop, finish=0.0)
    assert there.wait(10)
    TakesOne.heard.clear()
    parts = [
        start(serve_environments, list(games), address[0]),
        start(serve_agents, [TakesOne, Hangs], address[0]),
    ]
    try:
        with Native.connect(address[0]) as native:
            native.expect([each.name for each in games], ["one"])
        yield address[0]
    finally:
        stop.set()
        for each in (main, *parts):
            each.join(10)
            assert not each.is_alive()


@contextlib.contextmanager
def world(table: NativeSide) -> Iterator[Port]:
    """A port for legacy experiments of that kind."""
    make, roles = experiments(table)
    port = Port(number=0, roles=roles, patience=20.0)
    thread = threading.Thread(target=relay, args=[port, make, roles])
    thread.start()
    try:
        yield port
    finally:
        port.close()
        thread.join(20)
        assert not thread.is_alive()


def outcome(terminal: int, reward: float) -> bytes:
    return struct.pack(">id", terminal, reward)


def takes(*numbers: int) -> dict[int, Any]:
    left = list(numbers)

    def act(_: bytes) -> bytes:
        return adt([(left.pop(0) if left else 1) - 1])

    return {5: act, 6: act, 10: lambda body: body}


# -- environment and experiment legacy, agent native
# ---------------------------------------------------


def test_a_native_agent_in_a_legacy_environment_and_experiment() -> None:
    with broker() as address, world(NativeSide(player="one", address=address)) as port:
        environment = Program(port, ENVIRONMENT, chain(3))
        e = Experiment(port)
        assert e.ask(33, text("who?")) == text("one heard who?")
        assert e.ask(20).endswith(b"EXTRA a chain")
        assert e.ask(21) == adt([0]) + adt([1])
        assert e.ask(22) == outcome(0, 1.0) + adt([1]) + adt([1])
        assert environment.codes() == [11, 12, 13]  # no step ahead of the experiment
        assert e.ask(22) == outcome(0, 2.0) + adt([2]) + adt([1])
        assert e.ask(22) == outcome(1, 3.0) + adt([3]) + adt([1])
        assert (e.number(25), e.number(26), e.total()) == (3, 1, 6.0)
        assert e.episode(2) == 0
        assert e.episode(0) == 1
        e.ask(23)
        e.ask(20)
        assert e.episode(0) == 1
        e.leave()
        whole = [
            ("decision", 0, 0.0, None),
            ("decision", 1, 1.0, None),
            ("decision", 2, 2.0, None),
            ("end", 3.0, "terminated"),
        ]
        cut = [("decision", 0, 0.0, None), ("decision", 1, 1.0, None), ("end", 0.0, "truncated")]
        expected = whole + cut + whole + whole
        with TakesOne.ended:  # the last end may still be on its way
            TakesOne.ended.wait_for(lambda: len(TakesOne.heard) >= len(expected), timeout=10)
        assert TakesOne.heard == expected


def test_a_native_agent_that_fails_ends_the_experiment_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with broker() as address, world(NativeSide(player="fails", address=address)) as port:
        Program(port, ENVIRONMENT, chain(3))
        e = Experiment(port)
        e.ask(20)
        e.connection.sendall(frame(27, bytes(4)))
        assert read(e.connection) == (35, b"")
        assert "no more" in caplog.text


# -- agent and experiment legacy, game native
# ------------------------------------------------------------


def game(address: str, **options: Any) -> NativeSide:
    return NativeSide(
        "nim", {"heap": 5}, against=("one",), address=address, view=SeatOptions(**options)
    )


def test_a_legacy_agent_and_experiment_in_a_seat_of_a_native_game() -> None:
    with broker() as address, world(game(address)) as port:
        agent = Program(port, AGENT, takes(2, 1, 1, 3, 1))
        e = Experiment(port)
        spec = e.ask(20)
        assert b"game=nim seats=2 seat=0" in spec
        assert e.ask(21) == adt([5]) + adt([1])
        assert e.ask(22) == outcome(0, 0.0) + adt([2]) + adt([0])
        assert e.ask(22) == outcome(1, -1.0) + adt([0]) + adt([0])
        assert (e.number(25), e.number(26), e.total()) == (2, 1, -1.0)
        assert e.ask(21) == adt([5]) + adt([0])  # the third of its answers
        assert e.ask(21) == adt([5]) + adt([2])  # again: what was in progress is abandoned
        assert e.ask(22) == outcome(0, 0.0) + adt([1]) + adt([0])
        assert e.ask(22) == outcome(1, 1.0) + adt([0]) + adt([0])
        e.ask(23)
        e.leave()
        assert agent.ended.wait(30)
        assert agent.codes() == [4, 5, 6, 7, 5, 5, 6, 7, 8, 35]


def test_an_illegal_action_is_answered_as_an_environment_would() -> None:
    with broker() as address, world(game(address, tries=2)) as port:
        Program(port, AGENT, takes(3, *[3] * 9))
        e = Experiment(port)
        e.ask(20)
        assert e.ask(21) == adt([5]) + adt([2])
        assert e.ask(22) == outcome(0, 0.0) + adt([1]) + adt([2])
        assert e.ask(22) == outcome(0, -1.0) + adt([1]) + adt([2])
        assert e.ask(22) == outcome(0, -1.0) + adt([1]) + adt([2])
        assert struct.unpack(">i", e.ask(22)[:4]) == (1,)  # the run judged
        e.leave()


# -- experiment legacy, agent and game native
# ---------------------------------------------------------------


def test_a_legacy_experiment_alone() -> None:
    table_of: Sequence[str] = ("one",)
    with broker() as address:
        table = NativeSide("nim", {"heap": 5}, tuple(table_of), 1, "one", address=address)
        with world(table) as port:
            e = Experiment(port)
            e.ask(20)
            assert e.ask(21) == adt([4]) + adt([0])
            assert e.ask(22) == outcome(0, 0.0) + adt([2]) + adt([0])
            assert e.ask(22) == outcome(1, -1.0) + adt([0]) + adt([0])
            assert e.episode() == 1
            assert e.number(26) == 2
            e.ask(23)
            e.leave()


# -- agent and environment legacy, experiment native
# -----------------------------------------------------------


def test_a_native_experiment_drives_a_legacy_agent_in_a_legacy_environment() -> None:
    with broker() as address:
        bridge = Bridge(address)
        port = Port(number=0, roles=["agent", "environment"], patience=20.0)
        bridge.environment("chain", port)
        bridge.agent("echo", port)
        try:
            answers = {each: adt([1]) for each in (5, 6)}
            agent = Program(port, AGENT, {**echo(), **answers})
            environment = Program(port, ENVIRONMENT, chain(3))
            with Native.connect(address) as native:
                native.expect(["chain"], ["echo"])
                results = native.run("chain", ["echo"], episodes=3).wait()
                assert [each.seats[0].total for each in results] == [6.0] * 3
        finally:
            bridge.close()
        assert agent.codes() == [4, *[5, 6, 6, 7] * 3, 8, 35]
        assert environment.codes() == [11, *[12, 13, 13, 13] * 3, 14, 35]


def test_an_offer_is_there_while_its_program_is() -> None:
    from dovetail_bridges.rlglue.agent import JoinOptions

    with broker() as address:
        bridge = Bridge(address)
        port = Port(number=0, roles=["agent"], patience=20.0)
        bridge.agent("white", port, JoinOptions(grace=0.3))
        try:
            with Native.connect(address) as native:

                def offered() -> bool:
                    return any(each["name"] == "white" for each in native.catalogue()["agents"])

                assert not offered()
                program = Program(port, AGENT, takes())
                native.expect([], ["white"])
                program.connection.shutdown(2)
                while offered():
                    native.wait(0.05)
                Program(port, AGENT, takes())
                native.expect([], ["white"])
        finally:
            bridge.close()


class Talks(Nim):
    """Nim that answers messages."""

    name = "talks"

    def message(self, body: Any) -> Any:
        return f"nim heard {body}"


def test_messages_reach_native_sides_before_and_after_the_first_call() -> None:
    with (
        broker([Talks]) as address,
        world(NativeSide("talks", {"heap": 5}, ("one",), 0, "one", address=address)) as port,
    ):
        e = Experiment(port)
        assert e.ask(34, text("hello")) == text("nim heard hello")
        assert e.ask(33, text("")) == text("one heard ")
        spec = e.ask(20)
        assert e.ask(20) == spec
        assert e.episode(1) == 0
        assert (e.number(25), e.number(26)) == (1, 0)
        assert e.ask(34, text("")) == text("nim heard ")
        assert e.ask(23) == b""
        assert e.ask(23) == b""
        e.leave()
