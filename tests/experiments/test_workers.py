"""Worker processes, interrupted as a terminal does it: the signal goes to all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import time
from dovetail.experiments.workers import starting, workers

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
