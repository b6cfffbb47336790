"""The checks of the original codecs' test programs, said again: contents, messages, limits,
empty values, size.

The programs send as the codecs do, a frame's header by a call of its own, or each frame in one
piece, or byte by byte.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest
from tests.bridges.rlglue import legacy
from tests.bridges.rlglue.legacy import (
    AGENT,
    ENVIRONMENT,
    Experiment,
    Program,
    adt,
    core,
    frame,
    read,
    text,
)

from dovetail_bridges.rlglue.listener import Port

Answers = dict[int, bytes | Callable[[bytes], bytes]]


def _pieces(data: bytes, sizes: tuple[int, ...]) -> list[bytes]:
    cut = []
    for size in sizes:
        cut.append(data[:size])
        data = data[size:]
    return [each for each in [*cut, data] if each]


@pytest.fixture(params=["one piece", "header apart", "byte by byte"])
def style(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How all programs of a test send."""
    sizes = {"one piece": (), "header apart": (8,), "byte by byte": (1,) * 60}[request.param]

    def send(connection: socket.socket, data: bytes) -> None:
        for piece in _pieces(data, sizes):
            connection.sendall(piece)

    monkeypatch.setattr(legacy, "send", send)


def _said(payload: bytes) -> str:
    return payload[4:].decode()


def counting() -> tuple[Answers, Answers]:
    """Programs that answer a message with the number of their step, as often as its rest by
    three."""
    made = {AGENT: 0, ENVIRONMENT: 0}

    def message(role: int) -> Callable[[bytes], bytes]:
        def answer(body: bytes) -> bytes:
            steps, said = made[role], _said(body)
            return text(f"{said}|{f'{steps}.' * (steps % 3)}|{said}")

        return answer

    def first(role: int, answer: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
        def act(payload: bytes) -> bytes:
            made[role] = 0
            return answer(payload)

        return act

    def show(_: bytes) -> bytes:
        return adt([0], [0.0, 0.5], b"abc")

    def move(_: bytes) -> bytes:
        made[ENVIRONMENT] += 1
        steps = made[ENVIRONMENT]
        return struct.pack(">id", steps == 5, 1.0) + adt([steps - 1])

    def echo(payload: bytes) -> bytes:
        made[AGENT] += 1
        return payload[8:]

    agent: Answers = {5: first(AGENT, lambda seen: seen), 6: echo, 10: message(AGENT)}
    environment: Answers = {
        11: text("sample task spec"),
        12: first(ENVIRONMENT, show),
        13: move,
        19: message(ENVIRONMENT),
    }
    return agent, environment


def outcome(terminal: int, reward: float = 1.0) -> bytes:
    return struct.pack(">id", terminal, reward)


def seat(port: Port, agent: Answers, environment: Answers) -> Experiment:
    Program(port, AGENT, agent)
    Program(port, ENVIRONMENT, environment)
    return Experiment(port)


def said(e: Experiment, code: int, body: str) -> str:
    return _said(e.ask(code, text(body)))


@pytest.mark.usefixtures("style")
def test_contents_messages_and_the_return() -> None:
    with core() as port:
        e = seat(port, *counting())
        assert e.ask(20) == text("sample task spec")
        first = adt([0], [0.0, 0.5], b"abc")
        assert e.ask(21) == first + first
        words = {"one": "1.", "two": "2.2.", "three": "", "four": "4."}
        for number, (word, middle) in enumerate(words.items()):
            assert e.ask(22) == outcome(0) + adt([number]) + adt([number])
            for code in (33, 34):
                assert said(e, code, word) == f"{word}|{middle}|{word}"
        assert e.ask(22) == outcome(1) + adt([4]) + adt([3])
        assert said(e, 34, "five") == "five|5.5.|five"
        assert said(e, 33, "five") == "five|4.|five"  # the agent was not asked in the last step
        assert (e.total(), e.number(25), e.number(26)) == (5.0, 5, 1)
        e.leave()


@pytest.mark.usefixtures("style")
def test_empty_and_long_messages() -> None:
    def answer(body: bytes) -> bytes:
        return text({"": "empty", "empty": "", "null": ""}.get(_said(body), _said(body)))

    with core() as port:
        e = seat(port, {10: answer}, {11: text(""), 19: answer})
        assert e.ask(20) == text("")
        for code in (33, 34):
            for body, expected in (("", "empty"), ("empty", ""), ("null", ""), ("1", "1")):
                assert said(e, code, body) == expected
            for long in ("1" + "0" * 21, "2" + "1" * 112 + "3", "x" * 100_000):
                assert said(e, code, long) == long
        e.leave()


@pytest.mark.usefixtures("style")
def test_the_limit_of_an_episode() -> None:
    with core() as port:
        e = seat(port, *counting())
        e.ask(20)
        ended = 0
        for limit, terminal, steps in (
            *((0, 1, 5), (1, 0, 1), (2, 0, 2), (5, 0, 5), (6, 1, 5), (7, 1, 5), (100, 1, 5)),
        ):
            assert e.episode(limit) == terminal
            ended += terminal
            assert (e.number(25), e.number(26)) == (steps, ended)
            assert e.total() == steps - 1 + terminal
        e.leave()


@pytest.mark.usefixtures("style")
def test_empty_values_take_turns_with_full_ones() -> None:
    episode = [0]
    seen = adt([0, 1], [0.0, 0.25, 0.5, 0.75], b"abcde")
    action = adt(range(7), [0.0, 0.5, 1.0], b"a")

    def show(_: bytes) -> bytes:
        episode[0] += 1
        return adt() if episode[0] % 2 == 0 else seen

    def act(_: bytes) -> bytes:
        return adt() if episode[0] % 2 == 0 else action

    def move(_: bytes) -> bytes:
        return outcome(0, 0.0) + (adt() if episode[0] % 2 == 0 else seen)

    with core() as port:
        e = seat(port, {5: act, 6: act}, {11: text(""), 12: show, 13: move})
        e.ask(20)
        for number in range(1, 5):
            both = adt() + adt() if number % 2 == 0 else seen + action
            assert e.ask(21) == both
            for _ in range(5):
                assert e.ask(22) == outcome(0, 0.0) + both
        e.leave()


@pytest.mark.usefixtures("style")
def test_init_and_cleanup_in_any_number() -> None:
    with core() as port:
        e = seat(port, *counting())
        for _ in range(3):
            assert e.ask(20) == text("sample task spec")
            assert (e.number(25), e.number(26), e.total()) == (0, 0, 0.0)
            assert e.episode() == 1
            assert e.ask(23) == b""
        assert e.ask(23) == b""
        e.leave()


def test_large_values() -> None:
    large = adt(range(50_000), [n / 7 for n in range(50_000)], bytes(50_000))
    with core() as port:
        e = seat(
            port,
            {5: lambda seen: seen, 6: lambda percept: percept[8:]},
            {11: text(""), 12: large, 13: lambda action: outcome(0, 0.5) + action},
        )
        e.ask(20)
        assert e.ask(21) == large + large
        for _ in range(5):
            assert e.ask(22) == outcome(0, 0.5) + large + large
        e.leave()


def test_a_program_that_reconnects_by_itself_plays_the_next_experiment() -> None:
    """As the codecs do with RLGLUE_AUTORECONNECT: after RLTerm they connect again at once."""
    with core() as port:
        for _ in range(3):
            agent, environment = counting()
            programs = [Program(port, AGENT, agent), Program(port, ENVIRONMENT, environment)]
            e = Experiment(port)
            e.ask(20)
            assert e.episode() == 1
            e.connection.close()  # the codecs' experiments say no goodbye
            for each in programs:
                assert each.ended.wait(10)
                assert each.heard[-1] == (35, b"")


def test_two_requests_at_once_are_answered_in_order() -> None:
    with core() as port:
        e = seat(port, *counting())
        e.connection.sendall(frame(20) + frame(21) + frame(22) + frame(25))
        assert [read(e.connection)[0] for _ in range(4)] == [20, 21, 22, 25]
        e.leave()
