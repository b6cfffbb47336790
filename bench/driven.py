"""Runs the bench's subjects with their programs, one at a time."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.groups import BASE, Group, Python, Subject
from bench.measure import PATIENCE, BenchError, line

ROOT = Path(__file__).resolve().parent.parent
SUBJECTS = ROOT / "bench/subjects.py"
READY = 180.0
"""Seconds a subject has to get ready, which may include compiling or warming up a virtual
machine."""


@contextmanager
def trees(groups: Mapping[str, Group]) -> Iterator[dict[Python, Path | str]]:
    """Yield the checkout for each Python that groups need, or the reason why there is none."""
    found: dict[Python, Path | str] = {"here": ROOT, "compiled": ROOT}
    if not _interpreter("compiled").exists():
        found["compiled"] = "there is no .venv-compiled; `make compiled` makes it"
    with TemporaryDirectory(prefix="dovetail-base-") as folder:
        wanted = [s for group in groups.values() for s in group.subjects.values()]
        if any(subject.python == "base" for subject in wanted):
            found["base"] = _unpacked(Path(folder))
        yield found


def _unpacked(folder: Path) -> Path | str:
    """Check out the base into a folder; return the folder, or the reason for a failure."""
    archive = folder / "base.tar"
    command = ["git", "-C", str(ROOT), "archive", "--output", str(archive), BASE]
    try:
        subprocess.run(command, check=True, capture_output=True)
        subprocess.run(["tar", "-xf", archive, "-C", folder], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return f"git has no commit {BASE} here; fetch the whole history"
    return folder


def _interpreter(python: Python) -> Path:
    return ROOT / ".venv-compiled/bin/python" if python == "compiled" else Path(sys.executable)


class Driven:
    """A running subject.

    Raises (all methods):
        BenchError: it failed, or does not answer.
    """

    def __init__(self, subject: Subject, tree: Path) -> None:
        # This interpreter plays the base, with the base's sources before the installed ones.
        path = [tree, tree / "src"] if subject.python == "base" else [tree]
        self._process = subprocess.Popen(
            [_interpreter(subject.python), "-P", SUBJECTS, *subject.command.split()],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def ready(self) -> None:
        """Wait until the subject is ready."""
        self._answer(READY)

    def burst(self, seconds: float) -> float:
        """Let the subject play; return its turns per second."""
        assert self._process.stdin is not None
        print(seconds, file=self._process.stdin)
        return float(self._answer(10 * seconds + PATIENCE))

    def _answer(self, patience: float) -> str:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], patience)[0]:
            raise BenchError(f"no answer after {patience:.0f} s")
        said = line(self._process)
        if not said:
            raise BenchError("it ended")
        if said.startswith("failed: "):
            raise BenchError(said.removeprefix("failed: "))
        return said

    def keep_to(self, cores: set[int]) -> None:
        """Pin all of its processes to some cores."""
        for process in _family(self._process.pid):
            for task in Path(f"/proc/{process}/task").glob("*"):
                with suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), cores)

    def close(self) -> None:
        """Stop the subject, which stops its own programs."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            for process in reversed(_family(self._process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(process, 9)
            self._process.wait()


def _family(process: int) -> list[int]:
    """Return a process and all its descendants (Linux)."""
    found = [process]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):  # it has just ended
                found += map(int, children.read_text().split())
    return found


@dataclass
class Rates:
    """Turns per second of a group's subjects, one figure for each round."""

    free: dict[str, list[float]] = field(default_factory=dict)
    pinned: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """Reason why a subject has no rate."""


def measure(
    group: Group,
    there: Mapping[Python, Path | str],
    seconds: float,
    rounds: int,
    until: float,
    tell: Callable[[str], None],
) -> Rates:
    """Start all subjects of a group, and let them play in turn for a number of rounds.

    No round except the first starts after ``until`` (of ``time.monotonic``).
    """
    rates = Rates()
    running: dict[str, Driven] = {}

    @contextmanager
    def trying(name: str) -> Iterator[None]:
        """Take out a subject that fails, since its remaining work would slow the others."""
        try:
            yield
        except (BenchError, OSError, ValueError) as error:
            rates.failed[name] = str(error)
            rates.free.pop(name, None)
            rates.pinned.pop(name, None)
            running.pop(name).close()
            tell(f"{name}: {error}")

    cores = os.sched_getaffinity(0)
    columns = [(rates.free, cores), (rates.pinned, {max(cores)})][: 1 + group.pin]
    with ExitStack() as stack:
        for name, subject in group.subjects.items():
            tree = there[subject.python]
            if isinstance(tree, str):
                rates.failed[name] = tree
                continue
            running[name] = Driven(subject, tree)
            stack.callback(running[name].close)
        for name, driven in list(running.items()):
            with trying(name):
                driven.ready()
        for number in range(rounds):
            if number and time.monotonic() > until:
                tell(f"no time for more than {number} rounds")
                break
            for found, kept in columns:
                for name, driven in list(running.items()):
                    with trying(name):
                        if group.pin:
                            driven.keep_to(kept)
                        found.setdefault(name, []).append(driven.burst(seconds))
            tell(f"round {number + 1} of {rounds}")
    return rates
