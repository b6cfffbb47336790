"""How a user's program ends that has no broker, lacks a package, or makes a mistake of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
