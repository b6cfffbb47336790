"""A user's program: it starts where the broker cannot yet welcome it, and ends without a broker or
a package, or by a mistake of its own, in one line."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail import transport
from dovetail.peer.link import Link
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

pytestmark = pytest.mark.processes

PROGRAMS = {
    "agent": (
        "from dovetail import Agent\n"
        "from dovetail.peer.agents.serve import serve\n"
        "class First(Agent):\n"
        "    def step(self, decision): return 0\n"
        "serve(First, 'tcp://127.0.0.1:9', wait=0.1)\n",
        r"dovetail: no broker answers at tcp://127.0.0.1:9 .*\(mine.py:5\)",
    ),
    "environment": (
        "from dovetail import Environment\n"
        "from dovetail.peer.environments.serve import serve\n"
        "class Half(Environment):\n"
        "    def init(self): pass\n"
        "serve(Half)\n",
        r"dovetail: 'Half' cannot be served: the class must define start, step \(mine.py:5\)",
    ),
    "experiment": (
        "from dovetail import Experiment\n"
        "def main():\n"
        "    Experiment.connect('tcp://127.0.0.1:9', wait=0.1)\n"
        "main()\n",
        r"dovetail: no broker answers at .*\(mine.py:3\)",
    ),
    "in process": (
        "from dovetail import InProcess\n"
        "with InProcess() as experiment:\n"
        "    experiment.run('chess', ['x'])\n",
        r"dovetail: .*'x'.*\(mine.py:3\)",
    ),
    "package": (
        "from dovetail import Agent\n"
        "from dovetail.peer.agents.serve import serve\n"
        "class First(Agent):\n"
        "    packages = ('stable_baselines3',)\n"
        "    def step(self, decision): return 0\n"
        "import sys; sys.modules['stable_baselines3'] = None\n"
        "serve(First)\n",
        r"dovetail: First: stable_baselines3 is not installed; .*dovetail\[sb3\].*\(mine.py:7\)",
    ),
}


def run(folder: Path, program: str, **variables: str) -> str:
    """Run a program that fails; return what it writes to standard error."""
    (folder / "mine.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "mine.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_error_of_ours_is_one_line_with_the_users_place(tmp_path: Path, name: str) -> None:
    import re

    program, line = PROGRAMS[name]
    said = run(tmp_path, program).splitlines()
    assert len(said) == 1
    assert re.fullmatch(line, said[0])


def test_other_errors_and_other_hooks_stay_as_they_are(tmp_path: Path) -> None:
    begin = "from dovetail import InProcess\nwith InProcess() as e:\n    "
    assert run(tmp_path, begin + "1 / 0\n").startswith("Traceback")
    assert run(tmp_path, begin + "e.run('chess', ['x'])\n", DOVETAIL_DEBUG="1").startswith(
        "Traceback"
    )
    hook = "import sys; sys.excepthook = lambda *_: print('mine', file=sys.stderr)\n"
    assert run(tmp_path, f"{hook}{begin}e.run('chess', ['x'])\n") == "mine\n"


FULL = "cannot write the journal games: No space left on device; make room"


class Full(threading.Thread):
    """A broker whose disk is full until it has ``room``."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.router = transport.listen("tcp://127.0.0.1:*", 1 << 20)
        self.room, self.ended = threading.Event(), threading.Event()

    def run(self) -> None:
        greeted: dict[bytes, bool] = {}
        while not self.ended.is_set():
            for connection, _ in self.router.receive(0.02):
                if connection not in greeted:
                    greeted[connection] = False
                    answer = m.Error("journal", FULL + "\n\x1b[31mred")
                    self.router.send(connection, [codec.encode(answer)])
            for connection, welcomed in greeted.items():
                if self.room.is_set() and not welcomed:
                    greeted[connection] = True
                    welcome = m.Welcome("token", "late")
                    self.router.send(connection, [codec.encode(welcome)])


@pytest.fixture
def full() -> Iterator[Full]:
    broker = Full()
    broker.start()
    yield broker
    broker.ended.set()
    broker.join()
    broker.router.close()


def test_a_full_disk_is_said_and_waited_for(full: Full) -> None:
    said: list[str] = []

    def warn(line: str) -> None:
        said.append(line)
        full.room.set()

    link = Link(full.router.address, m.Hello(m.VERSION, "observer"), wait=30.0, warn=warn)
    assert link.session.welcome is not None
    assert len(said) == 1
    assert f"answers: {FULL}" in said[0]
    assert "\n" not in said[0]
    assert "\x1b" not in said[0]
    link.close()


def test_who_waits_no_longer_hears_that_the_disk_is_full(full: Full) -> None:
    with pytest.raises(DovetailError, match="answers: cannot write the journal games: No space"):
        Link(full.router.address, m.Hello(m.VERSION, "observer"), wait=0.5, warn=lambda _: None)
