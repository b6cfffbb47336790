"""Standard output: a protocol's alone where one is spoken, and no character stops a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LOUD = """
import atexit, ctypes, os, subprocess, threading
def linger():
    threading.main_thread().join()
    loud("after all else")
threading.Thread(target=linger).start()
atexit.register(lambda: loud("at the exit"))
def loud(where):
    print(f"printed {where}\\n", end="")
    os.write(1, f"written {where}\\n".encode())
    ctypes.CDLL(None).printf(b"in C, held back\\n")
    subprocess.run(["echo", "a child", where])
    try:
        input()
    except EOFError:
        pass
loud("at import")
"""
GAME = (
    LOUD
    + """
from dovetail import Environment, Spec, Turn, View, spaces
class Loud(Environment):
    def init(self):
        loud("in init")
        return Spec(seats=2, observation_spaces=[spaces.Discrete(2)], action_spaces=[spaces.Discrete(2)])
    def start(self, seed):
        loud("at the start")
        self.turn = 0
        return Turn(to_act=[0], seats=[View(0, 0, [0, 1])])
    def step(self, actions):
        loud("in a step")
        return Turn(seats=[View(0, 0), View(1, 0)], terminated=True, outcome=[1.0, 0.0])
"""
)
AGENT = (
    LOUD
    + """
from dovetail import Agent
class Loud(Agent):
    def __init__(self, parameters=None, seed=0):
        super().__init__(parameters, seed)
        loud("at the making")
    def step(self, turn):
        loud("at a decision")
        return turn.legal[0]
"""
)


LAST = ("after all else", "at the exit")


def dovetail(
    *arguments: str, folder: Path, said: str = "", code: int = 0, **variables: str
) -> tuple[bytes, str]:
    """Run a command; return its standard output, and its standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "dovetail", *arguments],
        cwd=folder,
        input=said.encode(),
        capture_output=True,
        env={**os.environ, **variables},
        check=False,
        timeout=120,
    )
    error = done.stderr.decode("utf-8", "replace")
    assert done.returncode == code, error
    return done.stdout, error


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "game.py").write_text(GAME)
    (tmp_path / "player.py").write_text(AGENT)
    return tmp_path


def all_of(error: str, *places: str) -> None:
    """Check that what code of users printed has reached standard error."""
    for where in places:
        assert f"printed {where}" in error
        assert f"written {where}" in error
        assert f"a child {where}" in error
    assert "in C, held back" in error


def test_mcp_says_json_alone(folder: Path) -> None:
    initialize = {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "observe", "arguments": {}},
        },
    ]
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dovetail",
            "mcp",
            "--game",
            "game.py:Loud",
            "--against",
            "player.py:Loud",
        ],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdin.write("".join(json.dumps(each) + "\n" for each in asked))
        program.stdin.flush()
        answers: list[Any] = []
        while not any(each.get("id") == 2 for each in answers):
            answers.append(json.loads(program.stdout.readline()))
        program.stdin.close()
        rest = program.stdout.read()
        error = program.stderr.read()
    for line in rest.splitlines():
        json.loads(line)
    all_of(error, "at import", "in init", "at the start", "at the making", *LAST)


def test_an_engine_says_its_protocol_alone(folder: Path) -> None:
    said, error = dovetail(
        "uci",
        "--agent",
        "player.py:Loud",
        folder=folder,
        said="uci\nisready\nposition startpos\ngo movetime 50\nquit\n",
    )
    lines = said.decode().splitlines()
    assert lines[-1].startswith("bestmove ")
    assert {line.split()[0] for line in lines} <= {
        "id",
        "option",
        "uciok",
        "readyok",
        "info",
        "bestmove",
    }
    all_of(error, "at import", "at the making", "at a decision", *LAST)


def test_a_go_engine_says_its_protocol_alone(folder: Path) -> None:
    said, error = dovetail(
        "gtp", "--agent", "player.py:Loud", folder=folder, said="1 name\n2 genmove b\n3 quit\n"
    )
    blocks = [each for each in said.decode().split("\n\n") if each.strip()]
    assert [each[:2] for each in blocks] == ["=1", "=2", "=3"]
    all_of(error, "at import", "at the making", "at a decision", *LAST)


@pytest.mark.parametrize("name", ["game.py:Loud", "player.py:Loud"])
def test_a_list_is_json_alone(folder: Path, name: str) -> None:
    said, error = dovetail("list", name, "--json", folder=folder)
    assert len(json.loads(said)) == 1
    all_of(error, "at import", *LAST)


FILE = """
name = "stage"
[environment]
name = "{game}"
[agents.a]
type = "{agent}"
[[evaluations]]
name = "{stage}"
seats = ["a", "a"]
episodes = 2
"""


def test_results_are_json_alone(folder: Path) -> None:
    (folder / "e.toml").write_text(
        FILE.format(game="game.py:Loud", agent="player.py:Loud", stage="one")
    )
    said, error = dovetail("run", "e.toml", "--in-process", "--json", folder=folder)
    assert json.loads(said)
    assert "written in a step" in error
    all_of(error, *LAST)


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
def test_what_a_console_cannot_show_is_replaced(tmp_path: Path, encoding: str) -> None:
    game = "connect_four"
    (tmp_path / "e.toml").write_text(
        FILE.format(game=game, agent="random", stage="評価 ok"), encoding="utf-8"
    )
    said, _ = dovetail(
        "run", "e.toml", "--in-process", "--out", "o", folder=tmp_path, PYTHONIOENCODING=encoding
    )
    assert "?? ok" in said.decode(encoding)
    [report] = tmp_path.glob("o/*/report.html")
    assert "評価 ok" in report.read_text(encoding="utf-8")
    said, _ = dovetail("results", str(report.parent), folder=tmp_path, PYTHONIOENCODING=encoding)
    assert "?? ok" in said.decode(encoding)
    said, _ = dovetail(
        "results", str(report.parent), "--format", "csv", folder=tmp_path, PYTHONIOENCODING=encoding
    )
    assert "評価 ok" in said.decode("utf-8")
    _, error = dovetail("run", "評価.toml", folder=tmp_path, code=2, PYTHONIOENCODING=encoding)
    assert error.startswith("dovetail: ")
    assert len(error.splitlines()) == 1
