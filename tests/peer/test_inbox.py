"""The rule for repeats, at a peer; and how long a broker is silent: only time in which somebody
listened counts."""

from __future__ import annotations

import pytest

from dovetail.peer import inbox as inbox_module
from dovetail.peer.broker_watchdog import STEP, Silence
from dovetail.peer.inbox import Inbox
from dovetail.protocol import messages as m

NEW = m.Welcome("token", "north")
AGAIN = m.Welcome("token", "north", resumed=True)
LOCAL = m.Welcome("token", "north", heartbeat=0.0)


def taken(inbox: Inbox, *numbers: int) -> tuple[list[bool], list[m.Message]]:
    out: list[m.Message] = []
    return [inbox.take(number, out) for number in numbers], out


def test_a_number_is_taken_once_and_gaps_are_allowed() -> None:
    inbox = Inbox()
    assert taken(inbox, 1, 2, 2, 5, 4, 5, 6) == ([True, True, False, True, False, False, True], [])
    assert inbox.seen == 6


def test_what_has_no_number_is_always_taken() -> None:
    inbox = Inbox()
    out: list[m.Message] = []
    inbox.answer(0, m.Reply(1), out)
    assert taken(inbox, 0, 0) == ([True, True], [])


def test_what_is_answered_is_answered_again() -> None:
    inbox = Inbox()
    out: list[m.Message] = []
    taken(inbox, 1, 2)
    inbox.answer(2, m.Reply(9), out)
    assert out == [m.Reply(9)]
    assert taken(inbox, 1, 2) == ([False, False], [m.Reply(9)])
    inbox.settle(1)
    assert taken(inbox, 2) == ([False], [m.Reply(9)])
    inbox.settle(2)
    assert taken(inbox, 2) == ([False], [])


def test_what_has_arrived_may_be_forgotten() -> None:
    inbox = Inbox()
    taken(inbox, 3, 5)
    inbox.answer(3, m.Reply(9), [])
    inbox.keep(5, m.Reply(10), before=3)
    assert taken(inbox, 3, 5) == ([False, False], [m.Reply(10)])


def test_another_session_counts_from_one_and_the_same_goes_on() -> None:
    inbox = Inbox()
    inbox.begin(NEW)
    taken(inbox, 4)
    inbox.answer(4, m.Reply(9), [])
    inbox.begin(AGAIN)
    assert taken(inbox, 4) == ([False], [m.Reply(9)])
    inbox.begin(NEW)
    assert taken(inbox, 1, 4) == ([True, True], [])


def test_nothing_is_kept_where_nothing_can_be_lost() -> None:
    inbox = Inbox()
    inbox.begin(LOCAL)
    taken(inbox, 1)
    inbox.answer(1, m.Reply(9), [])
    assert taken(inbox, 1) == ([False], [])


def test_an_answer_that_cannot_travel_is_an_error_also_when_it_is_asked_for_again() -> None:
    inbox = Inbox()
    taken(inbox, 1, 2)
    action, reply = m.Action(1, 0, 0, object()), m.Reply(9, object())
    inbox.answer(1, action, [])
    inbox.answer(2, reply, [])
    error = inbox.failed(action, "no")
    assert (error.code, error.answers, error.id) == ("crashed", 1, None)
    other = inbox.failed(reply, "no")
    assert (other.answers, other.id) == (None, 9)
    assert taken(inbox, 1, 2)[1] == [error, other]


def test_a_broker_that_settles_nothing_does_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inbox_module, "MOST", 3)
    monkeypatch.setattr(inbox_module, "BYTES", 10)
    inbox = Inbox()
    taken(inbox, *range(1, 7))
    kept = [m.Saved(1, b"12345"), m.Reply(2, "123"), m.Reply(4, [1])]
    answers = [*kept[:2], m.Saved(3, b"123"), kept[2], m.Reply(5), m.Saved(6, b"")]
    out: list[m.Message] = []
    for seq, answer in enumerate(answers, 1):
        inbox.answer(seq, answer, out)
    assert out == answers
    assert taken(inbox, *range(1, 7))[1] == kept
    inbox.settle(6)
    inbox.answer(6, m.Saved(6, b"1234567890"), [])
    assert taken(inbox, 6)[1] == [m.Saved(6, b"1234567890")]


def test_only_answers_that_are_kept_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "MOST", 1)
    monkeypatch.setattr(inbox_module, "BYTES", 10)
    inbox = Inbox()
    taken(inbox, 1, 2, 3)
    inbox.answer(1, m.Reply(1), [])
    inbox.answer(2, m.Saved(2, b"123456"), [])  # too many
    inbox.settle(2)
    inbox.answer(3, m.Saved(3, b"123456"), [])
    assert taken(inbox, 3)[1] == [m.Saved(3, b"123456")]


def listen(silence: Silence, begin: float, seconds: float, heard: float) -> float:
    """Look every half second; return when that ended."""
    now = begin
    while now < begin + seconds:
        now += STEP / 2
        silence.nothing(now, heard)
    return now


def test_listening_adds_up() -> None:
    silence = Silence(give_up=10.0)
    now = listen(silence, 100.0, 10.0, heard=100.0)
    assert silence.seconds == 10.0
    assert not silence.hopeless
    listen(silence, now, STEP / 2, heard=100.0)
    assert silence.hopeless


def test_time_in_which_nobody_listened_counts_as_one_look() -> None:
    silence = Silence(give_up=10.0)
    silence.nothing(1000.0, heard=100.0)  # a program that computed for a quarter of an hour
    assert silence.seconds == STEP
    silence.nothing(2000.0, heard=100.0)
    assert silence.seconds == 2 * STEP


def test_a_frame_ends_it() -> None:
    silence = Silence(give_up=1.0)
    listen(silence, 0.0, 5.0, heard=0.0)
    silence.told = True
    silence.over()
    assert not silence.hopeless
    assert not silence.told
    silence.nothing(5.25, heard=5.0)
    assert silence.seconds == 0.25


def test_without_a_limit_there_is_always_hope() -> None:
    silence = Silence()
    listen(silence, 0.0, 10_000.0, heard=0.0)
    assert not silence.hopeless
