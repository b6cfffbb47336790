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

from bench.measure import BenchError

SOURCE = Path(__file__).with_suffix(".c")
OURS = [sys.executable, "-m", "dovetail", "rlglue", "--port", "0", "--once"]
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


def measure(path: str, code: int, ints: int, seconds: float) -> list[float]:
    """Return the steps per second of our core and of the one in C, measured together for so many seconds."""
    started: list[subprocess.Popen[str]] = []

    def start(command: list[str]) -> subprocess.Popen[str]:
        extra = {"INTS": str(ints)}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **extra}
        )
        started.append(process)
        return process

    try:
        ports = []
        for core in (OURS, [path, "core"]):
            out = start(core).stdout
            assert out is not None
            ports.append(out.readline().strip().rpartition("=")[2])
        for port in ports:
            for role in ("agent", "environment"):
                start([path, role, port])
        said, _ = start([path, "experiment", str(seconds), str(code), *ports]).communicate(
            timeout=seconds + 60
        )
        lines = [line.split() for line in said.splitlines()]
        if len(lines) != len(ports):
            raise BenchError(f"the experiment said {said!r}; expected a line for each core")
        return [int(steps) / float(taken) for steps, taken in lines]
    finally:
        for process in started:
            process.kill()
            process.communicate()


def main() -> None:
    """Print steps per second and their ratio for each case."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with program() as path:
        for name, (code, ints) in CASES.items():
            found = [measure(path, code, ints, seconds) for _ in range(rounds)]
            ours, theirs = ([rates[core] for rates in found] for core in (0, 1))
            ratios = [mine / other for mine, other in found]
            print(
                f"{name}: Dovetail {statistics.median(ours):,.0f} steps/s, the core in C "
                f"{statistics.median(theirs):,.0f}; ratio {statistics.median(ratios):.2f} "
                f"({min(ratios):.2f} to {max(ratios):.2f} in {rounds} rounds)"
            )


if __name__ == "__main__":
    main()
