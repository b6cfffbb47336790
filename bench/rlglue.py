"""RL-Glue: our core beside one in C, with the same programs in C.

The programs and the other core (``bench/rlglue.c``) are written from the wire's description and do what the original
and its C codec do: two calls to send a frame, two to receive one, and a core that decodes and encodes every value.
One experiment asks both cores by turns, an episode of 42 steps each, so that what else the machine does meets both.
``python -m bench.rlglue [SECONDS [ROUNDS]]`` needs a C compiler.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.measure import BenchError, processor

SOURCE = Path(__file__).with_suffix(".c")
OURS = [sys.executable, "-m", "dovetail", "rlglue", "--port", "0"]
WARM_UP = 50 * 42
"""Steps that the experiment makes with each core before it counts."""
CASES = {
    "RL_episode, 9 ints": (27, 9),
    "RL_step, 9 ints": (22, 9),
    "RL_episode, 50,000 ints": (27, 50_000),
}
"""For each case the request of the experiment, and the size of observations and actions."""


@contextmanager
def program() -> Iterator[str]:
    """Give the path of the compiled programs."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise BenchError("this bench needs a C compiler; install gcc")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rlglue")
        subprocess.run([compiler, "-std=gnu11", "-O2", "-o", path, str(SOURCE)], check=True)
        yield path


class Measured(NamedTuple):
    """What one core did in a round."""

    rate: float
    """Steps per second."""
    work: float
    """Microseconds of the core's own processor time for a step."""


def measure(path: str, code: int, ints: int, seconds: float) -> list[Measured]:
    """Measure our core and the one in C together for so many seconds."""
    started: list[subprocess.Popen[str]] = []

    def start(command: list[str]) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "INTS": str(ints)}
        )
        started.append(process)
        return process

    try:
        cores = [start(OURS), start([path, "core"])]
        ports = []
        for core in cores:
            assert core.stdout is not None
            ports.append(core.stdout.readline().strip().rpartition("=")[2])
        before = [processor(core.pid) for core in cores]
        for port in ports:
            for role in ("agent", "environment"):
                start([path, role, port])
        said, _ = start([path, "experiment", str(seconds), str(code), *ports]).communicate(
            timeout=seconds + 60
        )
        lines = [line.split() for line in said.splitlines()]
        if len(lines) != len(ports):
            raise BenchError(f"the experiment said {said!r}; expected a line for each core")
        found = []
        for core, begun, (steps, taken) in zip(cores, before, lines, strict=True):
            work = processor(core.pid) - begun
            found.append(Measured(int(steps) / float(taken), 1e6 * work / (int(steps) + WARM_UP)))
        return found
    finally:
        for process in started:
            process.kill()
            process.communicate()


def main() -> None:
    """Print steps per second, processor time and their ratios for each case."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with program() as path:
        for name, (code, ints) in CASES.items():
            found = [measure(path, code, ints, seconds) for _ in range(rounds)]
            print(f"{name}, medians of {rounds} rounds:")
            for core, who in enumerate(("Dovetail", "the core in C")):
                rates, works = zip(*(each[core] for each in found), strict=True)
                print(
                    f"  {who:13} {statistics.median(rates):8,.0f} steps/s "
                    f"({min(rates):,.0f} to {max(rates):,.0f}), "
                    f"{statistics.median(works):,.1f} us of processor time a step "
                    f"({min(works):,.1f} to {max(works):,.1f})"
                )
            ratios = [ours.rate / theirs.rate for ours, theirs in found]
            print(f"  ratio of steps/s {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
