"""An event that signals set, at any time and many at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from dovetail.peer.stop_event import BURST, StopEvent, on_signals

pytestmark = pytest.mark.processes
PROGRAM = [sys.executable, "-m", "dovetail"]
STORM = """
import signal, sys, threading, time
from dovetail.peer.stop_event import StopEvent
stop = {kind}()
signal.signal(signal.SIGALRM, lambda *_: stop.set())
signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-4)
end = time.monotonic() + 1.0
while time.monotonic() < end:
    stop.clear()
    stop.wait(1e-4)
    stop.set()
signal.setitimer(signal.ITIMER_REAL, 0.0)
print("over")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such timers")
def test_a_handler_can_set_it_at_any_time() -> None:
    """``threading.Event`` waits for itself here."""
    text = STORM.format(kind="StopEvent")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("over\n", "")


def test_it_wakes_all_who_wait() -> None:
    stop = StopEvent()
    assert not stop.wait(0.0)
    assert not stop.is_set()
    found: list[bool] = []
    waiting = [threading.Thread(target=lambda: found.append(stop.wait(30))) for _ in range(3)]
    for each in waiting:
        each.start()
    stop.set()
    for each in waiting:
        each.join()
    assert found == [True] * 3
    assert stop.wait()
    stop.clear()
    assert not stop.wait(0.01)


@contextmanager
def ended(*line: str) -> Iterator[subprocess.Popen[str]]:
    """Start a program, and kill it if the test does not end it."""
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("kind", ["env", "broker"])
def test_a_program_ends_however_often_it_is_told_to(tmp_path: Path, kind: str) -> None:
    """A program hears the end of its parent once for each thread of it."""
    bind = f"ipc://{tmp_path}/b"
    told = ["broker", "--bind", bind, "--journal", "none"]
    line = [*PROGRAM, "env", "connect_four", "--connect", bind]
    with ended(*PROGRAM, *told) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline()
        with ended(*line) as env:
            assert env.stdout is not None
            assert "ready" in env.stdout.readline()
            one = env if kind == "env" else broker
            for _ in range(200):
                if one.poll() is not None:
                    break
                os.kill(one.pid, signal.SIGTERM)
            said = one.communicate(timeout=30)[1]
            assert "Traceback" not in said, said


def test_signals_at_once_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 1.0 + BURST / 2, 1.0 + 2 * BURST, 1.0 + 2.5 * BURST])
    times = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("dovetail.peer.stop_event.time", times)
    stop = StopEvent()
    before = on_signals(stop)
    try:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
