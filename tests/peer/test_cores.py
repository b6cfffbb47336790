"""A program keeps to the broker's core while that pays, and what it starts does not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace

import pytest

from dovetail.peer import cores
from dovetail.peer.cores import BETTER, FEWEST, LONGEST, SHORTEST, WINDOW, Follower, Leader, Place

needs_two = pytest.mark.skipif(
    not cores.POSSIBLE or cores.available() < 2, reason="needs Linux and two cores"
)


# -- the broker's decision -------------------------------------------------------------------------


class Recorded:
    """A leader whose place is only written down, and a clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.leader = Leader()
        place = SimpleNamespace(core=set(), thawed=0)
        place.take = lambda core: setattr(place, "core", core)
        place.leave = lambda: setattr(place, "core", set())
        place.thaw = lambda: setattr(place, "thawed", place.thawed + 1)
        self.place = self.leader._place = place  # type: ignore[assignment]
        monkeypatch.setattr(cores, "_here", lambda: 3)
        monkeypatch.setattr(cores, "POSSIBLE", True)
        self.window(0)  # whatever came in the first one

    def tried(self, rate: float) -> bool:
        """Let frames come at a rate until a trial on the core is judged; return whether it is kept then."""
        assert self.window(rate)
        return self.window(rate)

    def window(self, rate: float, at_once: int = 1) -> bool:
        """Let frames come for a window at a rate a second; return whether the core is kept then."""
        count = round(rate * WINDOW)
        for number in range(count // at_once):
            self.leader.received([(b"", [b""] * at_once)], self.now + number * WINDOW / count)
        self.now += 1.001 * WINDOW
        self.leader.received([(b"", [])], self.now)
        return bool(self.place.core)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    return Recorded(monkeypatch)


def test_the_core_is_kept_if_frames_come_faster_on_it(recorded: Recorded) -> None:
    assert recorded.window(4000)
    assert recorded.place.core == {3}
    assert recorded.tried(8000)
    assert recorded.window(8000)
    assert recorded.place.thawed


def test_the_core_is_left_if_frames_come_no_faster_on_it(recorded: Recorded) -> None:
    assert recorded.window(4000)
    assert not recorded.tried(4000 * (BETTER - 0.05))
    assert not recorded.window(4000)


def test_trials_become_rarer(recorded: Recorded) -> None:
    windows = range(round(4 * LONGEST / WINDOW))
    kept = [(recorded.now, False), *((recorded.now, recorded.window(4000)) for _ in windows)]
    begun = [now for (_, before), (now, after) in pairwise(kept) if after and not before]
    gaps = [later - earlier for earlier, later in pairwise(begun)]
    assert SHORTEST <= gaps[0] < SHORTEST + 3 * WINDOW
    assert LONGEST <= gaps[-1] < LONGEST + 3 * WINDOW
    assert gaps == sorted(gaps)


def test_what_begins_after_a_silence_is_tried_at_once(recorded: Recorded) -> None:
    for _ in range(round(2 * LONGEST / WINDOW)):
        recorded.window(4000)
    recorded.now += 5
    recorded.window(0)
    assert recorded.window(4000)


def test_there_is_another_trial_once_frames_come_slower(recorded: Recorded) -> None:
    assert recorded.window(4000)
    assert recorded.tried(8000)
    assert not recorded.window(5000)
    assert recorded.window(5000), "a trial"
    assert not recorded.tried(5000)


@pytest.mark.parametrize(("rate", "at_once"), [(FEWEST - 100, 1), (40_000, 4)])
def test_the_core_is_left_where_waking_up_does_not_matter(
    recorded: Recorded, rate: float, at_once: int
) -> None:
    assert not recorded.window(rate, at_once)
    assert recorded.window(4000)
    assert not recorded.window(rate, at_once)
    recorded.window(4000)
    assert recorded.tried(8000)
    assert not recorded.window(rate, at_once)


def test_nothing_is_tried_where_the_system_has_no_such_thing(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "POSSIBLE", False)
    assert not any(recorded.window(4000) for _ in range(5))


# -- places ----------------------------------------------------------------------------------------


def mine() -> set[int]:
    return os.sched_getaffinity(0)


@pytest.fixture
def place() -> Iterator[Place]:
    before = mine()
    made = Place()
    yield made
    made.leave()
    os.sched_setaffinity(0, before)


@needs_two
def test_a_place_is_taken_and_left(place: Place) -> None:
    before = mine()
    one = {min(before)}
    place.take(one)
    assert (mine(), place.core) == (one, one)
    place.leave()
    assert (mine(), place.core) == (before, set())


@needs_two
def test_a_place_leaves_alone_what_others_have_chosen(place: Place) -> None:
    before = mine()
    low, high = {min(before)}, {max(before)}
    place.take(low)
    os.sched_setaffinity(0, high)
    place.leave()
    assert mine() == high
    place.take(high)
    place.take(low)
    assert (mine(), place.core) == (high, set()), "it may use no other core"


@needs_two
def test_programs_begin_with_all_cores(place: Place) -> None:
    before = mine()
    place.take({min(before)})
    said = subprocess.run(
        [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert {int(core) for core in said.split()} == before


@needs_two
def test_threads_are_set_free(place: Place) -> None:
    before = mine()
    one = {min(before)}
    place.take(one)
    seen: list[set[int]] = []
    begun, freed = threading.Event(), threading.Event()

    def work() -> None:
        seen.append(mine())
        begun.set()
        freed.wait(60)
        seen.append(mine())

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait(60)
    place.thaw()
    freed.set()
    thread.join()
    assert seen == [one, before]
    assert mine() == one


# -- peers -----------------------------------------------------------------------------------------


@needs_two
def test_a_peer_goes_where_the_broker_is(place: Place) -> None:
    before = mine()
    follower = Follower()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as broker:
        follower.received(broker.pid, 0.0)
        assert mine() == before
        for core in before:
            os.sched_setaffinity(broker.pid, {core})
            follower.received(broker.pid, 0.0)
            assert mine() == {core}
        os.sched_setaffinity(broker.pid, before)
        follower.received(broker.pid, 0.0)
        assert mine() == before
        os.sched_setaffinity(broker.pid, {min(before)})
        follower.received(broker.pid, 0.0)
        broker.communicate(b"\n")
    follower.received(broker.pid, 0.0)
    assert mine() == before, "the broker has ended"
    follower.received(0, 0.0)
    assert mine() == before
