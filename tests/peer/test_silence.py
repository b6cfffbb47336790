"""How long a broker is silent: only time in which somebody listened counts."""

from __future__ import annotations

from dovetail.peer.broker_watchdog import STEP, Silence


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
