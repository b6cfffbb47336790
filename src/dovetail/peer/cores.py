"""Which cores of the machine a program uses, and whether broker and peers share one.

Where one program at a time has work, as in a single match, most of a turn goes into waking programs that
sleep on another core; on the core that is awake anyway, a wake-up takes a fifth of the time.  But
Linux wakes a program on an idle core if there is one.  So the broker tries how fast frames come
while it is confined to one core, and stays there if that is faster; peers on the same machine see
that it is confined, and follow (docs/decisions/0037-one-core-in-lock-step.md).
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

POSSIBLE = sys.platform == "linux"
"""Whether this system tells where programs run, and lets them choose."""
LOOK = 0.25
"""Seconds between two looks at how many cores there are."""
WINDOW = 0.1
"""Seconds for which frames are counted; in a trial twice, as peers follow in the first."""
FEWEST = 1500
"""Frames a second from which on it matters where programs are woken."""
IDLE = 100
"""Frames a second below which nothing is played; what begins afterwards is tried at once."""
BUNDLED = 2.05
"""Frames at a time from which on several programs have work at once."""
BETTER = 1.15
"""How many times as fast frames have to come on one core."""
SLOWER = 0.7
"""How many times as fast as in the trial they may come before the next one is due."""
SHORTEST, LONGEST = 1.0, 16.0
"""Seconds between trials; they double from one to the next."""
STARTS = ("os.fork", "os.posix_spawn", "os.system", "subprocess.Popen")
"""Audit events ahead of a new program, which begins with the cores of the thread that starts it."""


class Cores:
    """The cores that this program may use, which others may change while it runs."""

    __slots__ = ("_next", "_several")

    def __init__(self) -> None:
        self._next = 0.0
        self._several = True

    def several(self, now: float) -> bool:
        """Whether there is more than one, as of the last look; ``now`` is a monotonic time in seconds."""
        if now >= self._next:
            self._next = now + LOOK
            self._several = available() > 1
        return self._several


class Place:
    """Confines a thread to one core, but not the programs that it starts, nor threads for long."""

    def __init__(self) -> None:
        self.core: set[int] = set()
        """Where it is confined to; empty if it is not."""
        self._before: set[int] = set()
        self._thread = 0
        self._others: set[str] = set()

    def take(self, core: set[int]) -> None:
        """Confine the calling thread to a core, if it may use that one and others."""
        before = os.sched_getaffinity(0)
        if core < before:
            self._thread = threading.get_native_id()
            self.core, self._before, self._others = core, before, _threads()
            _confined[self._thread] = self
            _watch_starts()
            os.sched_setaffinity(0, core)

    def leave(self) -> None:
        """Let the thread use the cores of before, unless it was given others meanwhile."""
        core, self.core = self.core, set()
        if core:
            _confined.pop(self._thread, None)
            self._free(self._thread, core)

    def thaw(self) -> None:
        """Let threads that were started meanwhile use the cores of before."""
        for thread in _threads() - self._others:
            self._free(int(thread), self.core)

    def _free(self, thread: int, core: set[int]) -> None:
        with contextlib.suppress(OSError):  # it has ended, or the cores have been taken from it
            if os.sched_getaffinity(thread) == core:
                os.sched_setaffinity(thread, self._before)


_confined: dict[int, Place] = {}
"""The places of this program's threads."""
_watching = False


def _watch_starts() -> None:
    """Have threads leave their places before they start a program."""
    global _watching
    if not _watching:
        _watching = True
        sys.addaudithook(_starts)


def _starts(event: str, _: object) -> None:
    if event in STARTS and (place := _confined.get(threading.get_native_id())):
        place.leave()


class Leader(Cores):
    """The broker's side: counts frames, and decides whether to keep to one core."""

    def __init__(self) -> None:
        super().__init__()
        self._place = Place()
        self._begun = self._due = 0.0
        self._pause = SHORTEST
        self._frames = self._reads = 0
        self._trial = 0
        """Windows of a trial that are left; in the first, peers follow."""
        self._free = self._kept = 0.0
        """Frames a second without the core and with it, as last tried."""

    def received(self, events: Sequence[tuple[Any, list[bytes] | None]], now: float) -> None:
        """Take note of what came at once, as a router returns it; ``now`` is in seconds."""
        if not events:
            return
        for _, frames in events:
            self._frames += len(frames or ())
        self._reads += 1
        passed = now - self._begun
        if passed >= WINDOW and POSSIBLE:
            self._judge(self._frames / passed, now)
            self._begun, self._frames, self._reads = now, 0, 0

    def _judge(self, rate: float, now: float) -> None:
        place = self._place
        trial, self._trial = self._trial, max(0, self._trial - 1)
        if rate < FEWEST or self._frames > BUNDLED * self._reads:
            self._trial = 0
            place.leave()
            if rate < IDLE:
                self._due, self._pause = now, SHORTEST
        elif trial == 1:
            self._kept = rate
            if rate < BETTER * self._free:
                place.leave()
            self._due = now + self._pause
            self._pause = min(2 * self._pause, LONGEST)
        elif place.core and not trial:
            place.thaw()
            if now >= self._due or rate < SLOWER * self._kept:
                place.leave()
                self._due = now  # a window without the core, then a trial
        elif not trial and now >= self._due:
            self._free = rate
            self._trial = 2
            place.take({_here()})

    def close(self) -> None:
        """Confine the thread no longer."""
        self._place.leave()


class Follower(Cores):
    """A peer's side: keeps to the broker's core while the broker keeps to one."""

    def __init__(self) -> None:
        super().__init__()
        self._place = Place()
        self._due = 0.0

    def received(self, process: int, now: float) -> None:
        """See where the broker is that has just sent something; 0: it is on another machine."""
        core: set[int] = set()
        if process and POSSIBLE:
            with contextlib.suppress(OSError):  # it has ended
                core = os.sched_getaffinity(process)
        place = self._place
        if core != place.core:
            place.leave()
            if len(core) == 1:
                place.take(core)
        if place.core and now >= self._due:
            self._due = now + WINDOW
            place.thaw()

    def close(self) -> None:
        """Confine the thread no longer."""
        self._place.leave()


def _here() -> int:
    """Return the core that this thread is on."""
    text = Path("/proc/thread-self/stat").read_text()
    return int(text.rpartition(")")[2].split()[36])


def _threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def available() -> int:
    """Return how many cores this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
