"""README.md is what a newcomer types: its programs run as they stand."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")
EXAMPLE, AGENT = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```\n(dovetail broker\n.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def scores(printed: str) -> list[float]:
    """Return the learner's score in each quarter, which the example prints beside its first
    game."""
    lines = [line.split() for line in printed.splitlines()]
    assert [first for first, _ in lines] == ["0", "500", "1000", "1500"]
    return [float(score) for _, score in lines]


def test_the_page_is_short_and_names_what_one_types() -> None:
    lines = TEXT.splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 100
    assert len([line for line in EXAMPLE.splitlines() if line]) <= 7
    assert {"make demo", "make test"} <= set(re.findall("`(.*?)`", TEXT))


def test_the_first_example_learns() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(EXAMPLE, str(README), "exec"), {})
    first, *_, last = scores(printed.getvalue())
    assert first < last


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the two programs as a reader saves them."""
    (tmp_path / "first.py").write_text(AGENT, encoding="utf-8")
    program = re.sub(r"InProcess\(.*\)", "Experiment.connect()", EXAMPLE)
    program = program.replace("import InProcess", "import Experiment").replace('"td"', '"first"')
    assert "InProcess" not in program
    (tmp_path / "experiment.py").write_text(program, encoding="utf-8")
    return tmp_path


def test_the_four_programs_play(folder: Path) -> None:
    (block,) = COMMANDS
    broker, *peers, experiment = [line.split() for line in block.splitlines()]
    assert experiment == ["python", "experiment.py"]
    scripts = Path(sys.executable).parent

    with ExitStack() as stack:

        def start(command: list[str], **variables: str) -> subprocess.Popen[str]:
            name, *arguments = command
            made = subprocess.Popen(
                [str(scripts / name), *arguments],
                env={**os.environ, **variables},
                cwd=folder,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            stack.callback(made.communicate)
            stack.callback(made.kill)
            return made

        def ready(program: subprocess.Popen[str]) -> str:
            assert program.stdout is not None
            while line := program.stdout.readline():
                if " ready at " in line or "listening" in line:
                    return line
            pytest.fail(f"{program.args!r} ended")

        address = re.search(r"tcp://\S+", ready(start([*broker, "--bind", "tcp://127.0.0.1:*"])))
        assert address
        for peer in peers:
            ready(start(peer, DOVETAIL_BROKER=str(address.group())))
        printed, _ = start(experiment, DOVETAIL_BROKER=str(address.group())).communicate(
            timeout=240
        )
    assert len(scores(printed)) == 4
