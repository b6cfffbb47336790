"""A core between three legacy programs: what each hears, byte for byte, and what happens when one
is broken."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

import pytest
from tests.bridges.rlglue.legacy import (
    AGENT,
    ENVIRONMENT,
    EXPERIMENT,
    SPEC,
    Experiment,
    Program,
    adt,
    chain,
    core,
    echo,
    frame,
    join,
    read,
    text,
)

from dovetail.transport.lines import MAX_LINES
from dovetail_bridges.rlglue import listener as port_module
from dovetail_bridges.rlglue.listener import Port

EMPTY = adt()


def test_every_call_is_relayed_as_the_protocol_says() -> None:
    with core() as port:
        agent, environment = Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain())
        e = Experiment(port)
        assert e.ask(33, text("before init")) == text("before init")
        assert e.ask(34, text("")) == text("")
        assert e.ask(20) == text(SPEC)
        assert (e.number(25), e.number(26), e.total()) == (0, 0, 0.0)
        assert e.ask(21) == adt([0]) + adt([100])
        assert (e.number(25), e.number(26), e.total()) == (1, 0, 0.0)
        assert e.ask(22) == struct.pack(">id", 0, 1.0) + adt([1]) + adt([101])
        assert e.ask(22) == struct.pack(">id", 0, 2.0) + adt([2]) + adt([102])
        assert (e.number(25), e.number(26), e.total()) == (3, 0, 3.0)
        # The end repeats the action before; it is counted as an episode and not as a step.
        assert e.ask(22) == struct.pack(">id", 1, 3.0) + adt([3]) + adt([102])
        assert (e.number(25), e.number(26), e.total()) == (3, 1, 6.0)
        assert e.ask(23) == b""
        e.leave()
        assert agent.ended.wait(30)
        assert environment.ended.wait(30)
        assert agent.heard == [
            (10, text("before init")),
            (4, text(SPEC)),
            (5, adt([0])),
            (6, struct.pack(">d", 1.0) + adt([1])),
            (6, struct.pack(">d", 2.0) + adt([2])),
            (7, struct.pack(">d", 3.0)),
            (8, b""),
            (35, b""),
        ]
        assert environment.heard == [
            (19, text("")),
            (11, b""),
            (12, b""),
            (13, adt([100])),
            (13, adt([101])),
            (13, adt([102])),
            (14, b""),
            (35, b""),
        ]


def test_an_end_in_the_first_step_of_all_has_no_action() -> None:
    with core() as port:
        Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain(1))
        e = Experiment(port)
        e.ask(20)
        e.ask(21)
        assert e.ask(22) == struct.pack(">id", 1, 1.0) + adt([1]) + EMPTY
        e.leave()


def test_episodes_with_limits() -> None:
    with core() as port:
        agent = Program(port, AGENT, echo())
        environment = Program(port, ENVIRONMENT, chain(5))
        e = Experiment(port)
        e.ask(20)
        assert e.episode(1) == 0
        assert environment.codes()[-1] == 12  # a limit of 1 makes the start calls alone
        assert (e.number(25), e.number(26), e.total()) == (1, 0, 0.0)
        assert e.episode(5) == 0
        assert environment.codes()[-4:] == [13] * 4
        assert agent.codes()[-1] == 6  # the agent does not hear that it was cut off
        assert (e.number(25), e.number(26), e.total()) == (5, 0, 10.0)
        assert e.episode(6) == 1
        assert agent.codes()[-1] == 7
        assert (e.number(25), e.number(26), e.total()) == (5, 1, 15.0)
        assert e.episode(0) == 1
        assert e.number(26) == 2
        e.ask(20)
        assert (e.number(25), e.number(26), e.total()) == (0, 0, 0.0)
        e.leave()


def test_a_terminal_other_than_1_ends_an_episode_for_the_experiment_alone() -> None:
    with core() as port:
        agent = Program(port, AGENT, echo())
        Program(port, ENVIRONMENT, chain(2, terminal=2))
        e = Experiment(port)
        e.ask(20)
        assert e.episode(9) == 2
        assert agent.codes()[-1] == 6
        assert (e.number(25), e.number(26), e.total()) == (3, 0, 3.0)
        e.leave()


def test_the_halves_can_be_stepped_apart() -> None:
    with core() as port:
        Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain(2))
        e = Experiment(port)
        e.ask(20)
        assert e.ask(36) == adt([0])
        assert e.ask(38, adt([0])) == adt([100])
        assert e.ask(37, adt([100])) == struct.pack(">id", 0, 1.0) + adt([1])
        assert e.ask(39, struct.pack(">d", 1.0) + adt([1])) == adt([101])
        assert e.ask(37, adt([101])) == struct.pack(">id", 1, 2.0) + adt([2])
        assert e.ask(40, struct.pack(">d", 2.0)) == b""
        assert (e.number(25), e.number(26), e.total()) == (2, 1, 3.0)
        e.leave()


def test_init_and_cleanup_may_be_repeated() -> None:
    with core() as port:
        agent = Program(port, AGENT, echo())
        Program(port, ENVIRONMENT, chain())
        e = Experiment(port)
        for code in (20, 23, 23, 20, 20, 23):
            e.ask(code)
        assert agent.codes() == [4, 8, 8, 4, 4, 8]
        e.leave()


SHAPES = [
    adt(),
    adt([-(2**31), 2**31 - 1]),
    adt(doubles=[1e308, -0.0, float("inf")]),
    adt(chars=bytes(range(256))),
    adt([1] * 50_000, [0.5] * 50_000, b"\0" * 50_000),
]


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_abstract_types_pass_unchanged(shape: int) -> None:
    body = SHAPES[shape]
    answers = {5: body, 6: body}
    with core() as port:
        agent = Program(port, AGENT, answers)
        environment = Program(
            port,
            ENVIRONMENT,
            {11: text("sample task spec"), 12: body, 13: struct.pack(">id", 0, 0.5) + body},
        )
        e = Experiment(port)
        assert e.ask(20) == text("sample task spec")
        assert e.ask(21) == body + body
        assert e.ask(22) == struct.pack(">id", 0, 0.5) + body + body
        assert agent.heard[1:] == [(5, body), (6, struct.pack(">d", 0.5) + body)]
        assert environment.heard[-1] == (13, body)
        e.leave()


def test_any_order_of_arrival_and_several_trios() -> None:
    with core() as port:
        for order in ((1, 2, 3), (3, 1, 2), (2, 3, 1)):
            programs = []
            for role in order:
                if role == EXPERIMENT:
                    e = Experiment(port)
                    e.connection.sendall(frame(20))  # asked before the others are there
                else:
                    programs.append(Program(port, role, echo() if role == AGENT else chain()))
            assert read(e.connection) == (20, text(SPEC))
            assert e.episode() == 1
            e.leave()
            assert all(each.ended.wait(30) for each in programs)


def test_a_second_program_replaces_the_first_before_the_game_and_is_refused_in_it() -> None:
    with core() as port:
        first, second = Program(port, AGENT, echo()), Program(port, AGENT, echo())
        assert first.ended.wait(30)
        assert first.codes() == [35]
        Program(port, ENVIRONMENT, chain())
        e = Experiment(port)
        e.ask(20)
        third = Program(port, AGENT, echo())
        assert third.ended.wait(30)
        assert third.codes() == [35]
        assert e.episode() == 1
        e.leave()
        assert 5 in second.codes()


# -- broken programs
# ---------------------------------------------------------------------------------

OVER = struct.pack(">id", 1, 0.0)


def _silence(_: bytes) -> bytes:
    time.sleep(30)
    return b""


def _death(_: bytes) -> bytes:
    raise EOFError


BAD_ADTS = {
    "counts beyond the payload": struct.pack(">IIIi", 1000, 0, 0, 7),
    "two million ints": struct.pack(">III", 2_000_000, 0, 0),
    "all counts at their greatest": b"\xff" * 12,
    "nothing": b"",
    "half of the counts": b"\0" * 6,
    "more than announced": adt([1]) + b"more",
}
BROKEN: dict[str, tuple[int, dict[int, bytes | Callable[[bytes], bytes]]]] = {
    **{f"agent dies at {code}": (AGENT, {code: _death}) for code in (4, 5, 6, 7, 8, 10)},
    **{
        f"environment dies at {code}": (ENVIRONMENT, {code: _death})
        for code in (11, 12, 13, 14, 19)
    },
    "agent hangs in a step": (AGENT, {6: _silence}),
    "environment hangs in a step": (ENVIRONMENT, {13: _silence}),
    **{f"action with {name}": (AGENT, {6: bad}) for name, bad in BAD_ADTS.items()},
    **{f"first action with {name}": (AGENT, {5: bad}) for name, bad in BAD_ADTS.items()},
    **{
        f"observation with {name}": (ENVIRONMENT, {13: OVER + bad})
        for name, bad in BAD_ADTS.items()
    },
    **{
        f"first observation with {name}": (ENVIRONMENT, {12: bad}) for name, bad in BAD_ADTS.items()
    },
    "task spec longer than it says": (ENVIRONMENT, {11: struct.pack(">I", 3) + b"abcdef"}),
    "task spec shorter than it says": (ENVIRONMENT, {11: struct.pack(">I", 2**31) + b"abc"}),
    "message that is no text": (AGENT, {10: b"\xff"}),
}


def everything(e: Experiment) -> None:
    for code in (20, 33, 34, 21, 22, 22, 22, 23):
        e.ask(code, text("hello") if code in (33, 34) else b"")


def check_that_the_core_still_works(port: Port) -> None:
    agent, environment = Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain())
    e = Experiment(port)
    everything(e)
    e.leave()
    assert agent.ended.wait(30)
    assert environment.ended.wait(30)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_program_ends_its_experiment_and_nothing_else(case: str) -> None:
    role, broken = BROKEN[case]
    with core(patience=2.0) as port:
        answers = {AGENT: echo(), ENVIRONMENT: chain()}
        answers[role] |= broken
        programs = {each: Program(port, each, answers[each]) for each in answers}
        e = Experiment(port)
        with pytest.raises((AssertionError, EOFError), match=r"code 35|^$"):
            everything(e)
        e.connection.close()
        (sound,) = (programs[each] for each in programs if each != role)
        assert sound.ended.wait(30)
        assert sound.codes()[-1] == 35
        check_that_the_core_still_works(port)


WRONG_FRAMES = {
    "another code": frame(7),
    "an unknown code": frame(99),
    "a negative code": frame(-5),
    "an enormous length": struct.pack(">iI", 6, 0x70000000),
    "the greatest length": struct.pack(">iI", 6, 0xFFFFFFFF),
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "its own hello": frame(AGENT),
}


@pytest.mark.parametrize("case", WRONG_FRAMES)
def test_an_answer_that_is_not_the_one_asked_for(case: str) -> None:
    with core(patience=2.0) as port:
        agent = join(port, AGENT)
        Program(port, ENVIRONMENT, chain())
        e = Experiment(port)
        e.connection.sendall(frame(20))
        assert read(agent)[0] == 4
        agent.sendall(WRONG_FRAMES[case])
        assert read(e.connection) == (35, b"")
        assert read(agent) == (35, b"")
        agent.close()
        e.connection.close()
        check_that_the_core_still_works(port)


REQUESTS = {
    "an unknown code": frame(99),
    "a hole in the codes": frame(28),
    "an agent's code": frame(6, struct.pack(">d", 0.0) + adt([1])),
    "a negative code": frame(-1),
    "an enormous length": struct.pack(">iI", 22, 0x70000000),
    "RL_episode without a limit": frame(27),
    "a message that is no text": frame(33, b"\0\0\0\x09x"),
    "an action that is none": frame(37, b"\0" * 5),
    "half a frame": b"\0\0\0",
    "rubbish": b"\xde\xad\xbe\xef" * 20,
}


@pytest.mark.parametrize("case", REQUESTS)
def test_an_experiment_that_sends_what_it_must_not(case: str) -> None:
    with core(patience=2.0) as port:
        agent, environment = Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain())
        e = Experiment(port)
        e.ask(20)
        e.connection.sendall(REQUESTS[case])
        if case == "half a frame":
            e.connection.close()
        else:
            assert read(e.connection) == (35, b"")
        assert agent.ended.wait(30)
        assert environment.ended.wait(30)
        assert agent.codes()[-1] == environment.codes()[-1] == 35
        check_that_the_core_still_works(port)


def test_an_experiment_that_dies_frees_the_others_though_one_of_them_hangs() -> None:
    with core(patience=None) as port:
        Program(port, AGENT, {**echo(), 6: _silence})
        environment = Program(port, ENVIRONMENT, chain())
        e = Experiment(port)
        e.ask(20)
        e.ask(21)
        e.connection.sendall(frame(22))
        e.connection.close()
        assert environment.ended.wait(10)
        check_that_the_core_still_works(port)


def test_an_experiment_that_dies_in_an_endless_episode_frees_the_others() -> None:
    with core() as port:
        agent, environment = Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain(-1))
        e = Experiment(port)
        e.ask(20)
        e.connection.sendall(frame(27, struct.pack(">I", 0)))
        e.connection.close()
        assert agent.ended.wait(20)
        assert environment.ended.wait(30)
        assert agent.codes()[-1] == environment.codes()[-1] == 35
        check_that_the_core_still_works(port)


STRANGERS = {
    "silent": b"",
    "half a hello": b"\0\0",
    "no role": frame(4),
    "a role with a payload": frame(2, b"abc"),
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "an enormous hello": struct.pack(">iI", 2, 0x70000000),
}


@pytest.mark.parametrize("case", STRANGERS)
def test_a_stranger_is_closed_and_holds_up_no_one(case: str) -> None:
    with core(hello=0.3) as port:
        stranger = socket.create_connection(("127.0.0.1", port.number), 10)
        stranger.sendall(STRANGERS[case])
        check_that_the_core_still_works(port)
        rest = b""
        try:
            while more := stranger.recv(100):
                rest += more
        except ConnectionError:
            pass
        assert rest in (b"", frame(35))


def test_a_crowd_of_silent_connections() -> None:
    with core(hello=30.0) as port:
        crowd = [socket.create_connection(("127.0.0.1", port.number), 10) for _ in range(300)]
        check_that_the_core_still_works(port)
        kept = []
        for each in crowd:
            each.setblocking(False)
            try:
                assert each.recv(100) == frame(35)
                kept.append(False)
            except BlockingIOError:
                kept.append(True)
            each.close()
        assert kept == sorted(kept), "the oldest make room"
        roles = 3
        assert port_module.UNANNOUNCED - roles <= sum(kept) <= port_module.UNANNOUNCED


def test_a_core_says_which_programs_are_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(port_module, "LONELY", 0.0)
    with core() as port:
        agent = join(port, AGENT)
        end = time.monotonic() + 20
        while not caplog.messages and time.monotonic() < end:
            time.sleep(0.01)
        agent.close()
    assert "agent connected, still waiting for a legacy environment and experiment" in caplog.text


def test_a_crowd_of_strangers_costs_a_bounded_number_of_lines(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with core() as port:
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", port.number), 20) as stranger:
                stranger.sendall(frame(99))
                stranger.recv(100)
    assert 0 < len(caplog.messages) <= 2 * MAX_LINES
