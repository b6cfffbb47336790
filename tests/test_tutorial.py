"""docs/tutorial.md as its reader follows it: from the wheel, in an empty folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.experiments.arena.programs import port, until

TOP = Path(__file__).resolve().parents[1]
TEXT = (TOP / "docs/tutorial.md").read_text(encoding="utf-8")
STEP = re.compile(
    r"Save\s+this\s+as\s+`(?P<name>[\w.]+)`[^`]*```\w+\n(?P<file>.*?)^```$"
    r"|^```sh(?P<mark>[ \w-]*)\n(?P<shell>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment that has the wheel, and borrows its libraries.

    `make release` names one that has its own.
    """
    if found := os.environ.get("TRY_INSTALLED"):
        return Path(found)
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, str(TOP)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    programs = folder / "venv/bin"
    place = ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(
        [programs / "python", *place], check=True, capture_output=True, text=True
    ).stdout.strip()
    (Path(packages) / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--ignore-installed", str(wheel)], check=True)
    return programs


class Reader:
    """Types what the page says, in its order."""

    def __init__(self, folder: Path, programs: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.terminals: list[subprocess.Popen[bytes]] = []
        kept = {name: each for name, each in os.environ.items() if not name.startswith("DOVETAIL")}
        self.env = kept | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "DOVETAIL_BROKER": f"tcp://127.0.0.1:{port()}",
            "DOVETAIL_SECRET": "none",
        }
        self.page = f"http://127.0.0.1:{port()}/"

    def run(self, command: str) -> str:
        """Return what a command printed."""
        done = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, command: str) -> None:
        """Start a command in a terminal of its own; return when it says that it is ready."""
        words = command.replace("dovetail web", f"dovetail web --no-open --port {self.page[17:-1]}")
        log = self.folder / f"terminal-{len(self.terminals)}.log"
        with log.open("wb") as said:
            one = subprocess.Popen(
                ["bash", "-ec", words], cwd=self.folder, env=self.env, stdout=said,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self.terminals.append(one)
        self.stack.callback(self._end, one)
        said_so = re.compile(r"ready at|listening|http://")
        until(lambda: one.poll() is not None or said_so.search(log.read_text()), 60)
        assert one.poll() is None, f"{command}{log.read_text()}"

    def stop(self) -> None:
        """Press Ctrl-C in all terminals, the last one first."""
        while self.terminals:
            self._end(self.terminals.pop())

    @staticmethod
    def _end(one: subprocess.Popen[bytes]) -> None:
        if one.poll() is None:
            os.killpg(one.pid, signal.SIGINT)
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(one.pid, signal.SIGKILL)
                one.wait()


@contextmanager
def reader(folder: Path, programs: Path) -> Iterator[Reader]:
    with ExitStack() as stack:
        yield Reader(folder, programs, stack)


@pytest.mark.slow
def test_a_reader_who_follows_the_tutorial_comes_to_its_end(
    tmp_path: Path, installed: Path
) -> None:
    printed = {}
    with reader(tmp_path, installed) as one:
        where = one.run("python -c 'import dovetail; print(dovetail.__file__)'")
        assert str(TOP) not in where
        for step in STEP.finditer(TEXT):
            if step["name"] == "arena.toml":
                with urllib.request.urlopen(f"{one.page}play/connect_four") as answer:
                    assert b"champion" in answer.read()
                one.stop()
                one.env["DOVETAIL_ARENA"] = "arena.toml"
            if step["name"]:
                text = step["file"]
                if step["name"] == "arena.toml":
                    text = f'bind = "tcp://127.0.0.1:{port()}"\n{text}'
                (tmp_path / step["name"]).write_text(text)
            elif step["mark"].strip() == "terminal":
                one.start(step["shell"])
            elif not step["mark"].strip():
                command = step["shell"].strip()
                if command == "dovetail arena standings":
                    until(lambda: "ada/champion" in one.run("dovetail arena standings"), 60)
                printed[command] = one.run(command)
    assert (
        "5 of 5 checks passed"
        in printed["dovetail check agent learner.py:Lines --env connect_four"]
    )
    assert (tmp_path / "out/course/report.html").exists()
    assert "ada/champion" in printed["dovetail arena standings"]
    scores = re.findall(
        r"against random after [\d,]+: .*?lines \(seat 0\) wins ([\d.]+)%",
        printed["dovetail run course.toml"],
    )
    assert float(scores[-1]) > float(scores[0])
