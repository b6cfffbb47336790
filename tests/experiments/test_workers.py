"""Worker processes where the program is interrupted, as a terminal does it, or killed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import time
from dovetail_experiments.engines.local import starting, workers

if __name__ == "__main__":
    try:
        with workers(2) as pool:
            with starting():
                waiting = [pool.submit(time.sleep, 600) for _ in range(4)]
            print("started", flush=True)
            waiting[0].result()
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupt_ends_workers_that_are_starting_and_their_work(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        os.killpg(program.pid, signal.SIGINT)
        said, wrong = program.communicate(timeout=60)
    assert (said, wrong, program.returncode) == ("interrupted\n", "", 0)


KILLED = """
import os
import time
from dovetail_experiments.engines.local import starting, workers

def work():
    os.write(1, b"working\\n")
    time.sleep(600)

if __name__ == "__main__":
    with workers(2) as pool:
        with starting():
            waiting = [pool.submit(work) for _ in range(4)]
        waiting[0].result()
"""


def test_workers_end_with_a_program_that_is_killed(tmp_path: Path) -> None:
    """They stayed for ever, and did what waited for them: their end closes the pipe, which they
    share."""
    path = tmp_path / "program.py"
    path.write_text(KILLED)
    with subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        assert program.stdout is not None
        try:
            assert [program.stdout.readline() for _ in range(2)] == ["working\n"] * 2
            program.kill()
            said, _ = program.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    assert (said, program.returncode) == ("", -signal.SIGKILL)


DEAF = """
import os
import signal
import time
from dovetail_experiments.engines.local import starting, workers

def deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

def work():
    os.write(1, b"working\\n")
    for _ in range(600):
        try:
            time.sleep(1)
        finally:
            continue

if __name__ == "__main__":
    with workers(2, deaf) as pool:
        with starting():
            waiting = [pool.submit(work) for _ in range(4)]
        waiting[0].result()
"""


def test_workers_do_not_work_on_while_their_program_is_dead(tmp_path: Path) -> None:
    """They took 5 to 10 s to stop their programs, and wrote meanwhile; what stops at SIGTERM may
    not."""
    path = tmp_path / "program.py"
    path.write_text(DEAF)
    with subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        assert program.stdout is not None
        try:
            assert [program.stdout.readline() for _ in range(2)] == ["working\n"] * 2
            program.kill()
            said, _ = program.communicate(timeout=60)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
    assert (said, program.returncode) == ("", -signal.SIGKILL)


STUBBORN = """
import sys
from dovetail_experiments.stages.processes import Processes

with Processes(address="tcp://127.0.0.1:1") as processes:
    processes.command("shell", [sys.executable, "-c", sys.argv[1]])
    print("started", flush=True)
    sys.stdin.read()
"""
GROUP = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    with open({ready!r}, "w") as file:
        print(os.getpid(), child, file=file)
while True:
    time.sleep(1)
"""


def test_programs_that_do_not_hear_end_with_a_runner_that_is_killed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    path = tmp_path / "program.py"
    path.write_text(STUBBORN)
    with subprocess.Popen(
        [sys.executable, str(path), GROUP.format(ready=str(ready))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        watched = [os.pidfd_open(int(word)) for word in ready.read_text().split()]
        program.kill()
    for each in watched:
        assert select.select([each], [], [], 20)[0], "a program outlives its runner"
        os.close(each)
