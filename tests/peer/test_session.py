"""A peer's end of a session: greetings, heartbeats, resumption, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.peer.session import FATAL, NameTaken, Session
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

pytestmark = pytest.mark.processes

READ = codec.Decoder[Any](m.FromAgent)


def frames(*messages: m.Message) -> list[bytes]:
    return [codec.encode(message) for message in messages]


def read(answers: list[bytes]) -> list[Any]:
    return [READ.decode(each) for each in answers]


@pytest.fixture
def session() -> Session:
    return Session(m.Hello(m.VERSION, "agent", "north"))


def welcome(session: Session, **fields: Any) -> None:
    session.greet(0.0)
    session.receive(frames(m.Welcome("token", "north", **fields)), 0.0)


def test_the_first_hello_resumes_nothing(session: Session) -> None:
    assert READ.decode(session.greet(0.0)) == m.Hello(m.VERSION, "agent", "north")


def test_a_later_hello_resumes_the_session(session: Session) -> None:
    welcome(session)
    assert READ.decode(session.greet(1.0)).resume == "token"


def test_a_session_that_was_not_resumed_is_replaced(session: Session) -> None:
    welcome(session)
    session.greet(1.0)
    session.receive(frames(m.Welcome("other", "north")), 1.0)
    assert READ.decode(session.greet(2.0)).resume == "other"


def test_the_role_hears_the_welcome_and_its_own_messages_in_order(session: Session) -> None:
    session.greet(0.0)
    end = m.End(1, 0)
    messages, answers = session.receive(frames(m.Welcome("t", "north"), end, m.Leave(3)), 0.0)
    assert [type(each) for each in messages] == [m.Welcome, m.End, m.Leave]
    assert answers == []


def test_a_ping_is_answered_with_its_number(session: Session) -> None:
    welcome(session)
    messages, answers = session.receive(frames(m.Ping(1), m.Ping(7)), 0.0)
    assert messages == [m.Ping(1), m.Ping(7)]  # the host learns what is settled
    assert read(answers) == [m.Pong(1), m.Pong(7)]


def test_a_pong_says_what_has_arrived_and_a_hello_too(session: Session) -> None:
    welcome(session)
    told = frames(m.Leave(3, seq=4), m.Ping(1), m.Leave(4, seq=7), m.Leave(3, seq=4), m.Ping(2))
    _, answers = session.receive(told, 0.0)
    assert read(answers) == [m.Pong(1, 4), m.Pong(2, 7)]
    assert READ.decode(session.greet(1.0)).seen == 7
    session.receive(frames(m.Welcome("token", "north", resumed=True)), 1.0)
    assert session.seen == 7
    session.greet(2.0)
    session.receive(frames(m.Welcome("other", "north")), 2.0)
    assert session.seen == 0


@pytest.mark.parametrize(
    ("hello", "welcomed", "again"),
    [
        (m.Hello(m.VERSION, "agent", "north"), False, True),
        (m.Hello(m.VERSION, "agent", offers=[m.Offer("deep", instance=True)]), False, True),
        (m.Hello(m.VERSION, "agent", offers=[m.Offer("deep")]), False, False),
        (m.Hello(m.VERSION, "agent", "north"), True, False),
    ],
)
def test_only_a_starting_peer_that_asks_for_a_name_may_wait_for_it(
    hello: m.Hello, welcomed: bool, again: bool
) -> None:
    session = Session(hello)
    if welcomed:
        welcome(session)
    session.greet(1.0)
    with pytest.raises(DovetailError, match="the broker refuses: taken") as caught:
        session.receive(frames(m.Error("name-taken", "taken")), 1.0)
    assert isinstance(caught.value, NameTaken) is again


def test_the_same_welcome_twice_is_taken_once(session: Session) -> None:
    session.greet(0.0)
    both = frames(m.Welcome("token", "north"), m.Leave(3, seq=1), m.Welcome("token", "north"))
    messages, _ = session.receive(both, 0.0)
    assert [type(each) for each in messages] == [m.Welcome, m.Leave]
    assert session.seen == 1


def test_a_pong_is_taken_in_silence(session: Session) -> None:
    welcome(session)
    assert session.receive(frames(m.Pong(1)), 0.0) == ([], [])


def test_a_broker_that_forgot_is_greeted_once(session: Session) -> None:
    welcome(session)
    _, answers = session.receive(frames(*[m.Error("hello-first", "who?")] * 3), 1.0)
    assert [each.resume for each in read(answers)] == ["token"]
    _, answers = session.receive(frames(m.Error("hello-first", "who?")), 1.1)
    assert answers == []


@pytest.mark.parametrize("code", sorted(FATAL))
def test_a_refused_hello_is_an_error_for_a_person(session: Session, code: str) -> None:
    session.greet(0.0)
    with pytest.raises(DovetailError, match="the broker refuses: no entry"):
        session.receive(frames(m.Error(code, "no entry")), 0.0)


def test_other_errors_are_for_the_role(session: Session) -> None:
    welcome(session)
    error = m.Error("illegal", "not your seat")
    assert session.receive(frames(error), 0.0) == ([error], [])


def test_a_bad_frame_is_refused_and_the_others_are_read(session: Session) -> None:
    welcome(session)
    messages, answers = session.receive([b"\xc1", *frames(m.Leave(3)), b"\x80", b""], 0.0)
    assert messages == [m.Leave(3)]
    assert [each.code for each in read(answers)] == ["malformed", "unknown-type", "malformed"]


def test_what_is_read_is_what_the_broker_reads(session: Session) -> None:
    body: Any = 0
    for _ in range(40):
        body = [body]
    deep = codec.encode(m.Reply(1, body))
    welcome(session)
    _, answers = session.receive([deep], 0.0)
    assert [(each.code, each.id, each.answers) for each in read(answers)] == [("limit", None, None)]
    welcome(session, resumed=True, limits=m.Limits(depth=64))
    messages, _ = session.receive([deep], 0.0)
    assert [type(each) for each in messages] == [m.Reply]


def test_a_bad_frame_is_answered_by_its_number(session: Session) -> None:
    welcome(session)
    bad = codec.encode({"type": "step", "episode": 1, "seat": "none", "turn": 0, "seq": 9})
    _, answers = session.receive([bad], 0.0)
    assert [(each.code, each.id, each.answers) for each in read(answers)] == [("invalid", None, 9)]


def test_the_brokers_goodbye_is_noted(session: Session) -> None:
    welcome(session)
    assert not session.departed
    session.receive(frames(m.Bye("closing")), 0.0)
    assert session.departed


def test_silence_is_measured_from_the_last_frame(session: Session) -> None:
    welcome(session, heartbeat=1.0)
    session.receive(frames(m.Ping(1)), 10.0)
    assert not session.silent(14.0)
    assert session.silent(14.1)


@pytest.mark.rule("S4.6")
def test_a_hello_is_said_again_after_longer_and_longer_waits(session: Session) -> None:
    said = 0.0
    for wait in (4.0, 8.0, 16.0, 16.0):
        session.greet(said)
        assert not session.silent(said + wait)
        said += wait + 1.0
        assert session.silent(said)


@pytest.mark.rule("S4.11")
def test_a_hello_that_resumes_is_waited_for_as_long(session: Session) -> None:
    for begun in (0.0, 100.0):  # a welcome ends the growth
        welcome(session, resumed=begun > 0, heartbeat=0.1)
        session.heard = begun
        assert session.silent(begun + 2.1)
        session.greet(begun + 2.1)
        assert not session.silent(begun + 6.1)
        session.greet(begun + 6.2)
        assert not session.silent(begun + 14.1)
    welcome(session, resumed=True, heartbeat=30.0)
    session.greet(200.0)
    assert not session.silent(320.0)


@pytest.mark.rule("S13.6")
def test_a_peer_that_is_sent_away_hears_why(session: Session) -> None:
    welcome(session)
    with pytest.raises(DovetailError, match="the broker refuses: the key was revoked"):
        session.receive(frames(m.Error("access", "the key was revoked"), m.Bye()), 1.0)


def test_a_request_without_permission_ends_nothing(session: Session) -> None:
    welcome(session)
    for error in (m.Error("access", "not yours", id=3), m.Error("access", "not yours", answers=3)):
        assert session.receive(frames(error), 1.0) == ([error], [])


@pytest.mark.rule("S4.11")
def test_without_heartbeats_silence_means_nothing(session: Session) -> None:
    welcome(session, heartbeat=0.0)
    assert not session.silent(1e9)
