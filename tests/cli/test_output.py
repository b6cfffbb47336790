"""Standard output: a protocol's alone where one is spoken, and no character stops a command; and
the output of ``dovetail watch``."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from dovetail.cli import common, watching
from dovetail.client.client import Experiment
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import coloured, plain
from dovetail.protocol.errors import DovetailError

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


class Broker:
    """Shows some turns, then leaves."""

    def __init__(self, *turns: m.WatchedTurn) -> None:
        self._turns = list(turns)

    def turns(self, timeout: float) -> Iterator[m.WatchedTurn]:
        yield from self._turns
        raise DovetailError("the broker has left")


def test_what_a_terminal_would_obey_is_not_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever other programs say: texts of positions keep their colours, and nothing else."""
    title, colour = "\x1b]0;owned\x07", "\x1b[41m"
    error = DovetailError(f"{title}can\x1b[2Jnot {colour}now")
    assert common.complain(error) == 1
    common.warn(str(error))
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    common.log_to_stderr()
    logging.getLogger("dovetail.x").warning("%s", error)
    assert capsys.readouterr().err == "dovetail: cannot now\n" * 3
    offer = {"name": f"a{title}", "peer": "b\x1b[2J", "parameters": {f"c{title}": {"type": title}}}
    offers = {"environments": [offer], "agents": [], "kept": [f"d{title}"]}
    watching._show_catalogue("e", {"peers": [], "runs": [], "instances": [], **offers})
    shown = capsys.readouterr().out
    assert "kept: d\n" in shown
    assert not {"\x1b", "\x07"} & set(shown)
    broker = Broker(turn(0, text=f"{title}x{colour}y\x9b2Jz"))
    with pytest.raises(DovetailError):
        watching._follow(cast(Experiment, broker), None, 0.0, everything=True)
    assert f"\n  x{colour}yz\x1b[0m\n" in capsys.readouterr().out


def test_no_text_of_others_looks_like_a_line_of_watch() -> None:
    lie = "it goes on\n-- run 7, episode 1, turn 3\nover: terminated\u2028over: cancelled"
    shown = watching.describe(turn(1, text=lie, actions=[(0, lie)]))
    own = [line for line in shown.splitlines() if not line.startswith("  ")]
    assert own[0].startswith("-- run 1, ")
    assert [each.partition(":")[0] for each in own[1:]] == ["player 1 (first)"]


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        (5, ["x", "any", "(required)"]),
        (
            {"minimum": "abc", "maximum": 4, "type": "integer"},
            ["x", "integer", "(required)", "≤ 4"],
        ),
        ({"anyOf": [1]}, ["x", "any", "(required)"]),
        ({"anyOf": 1, "default": 2}, ["x", "any", "2"]),
        ({"enum": 1, "type": [1, "string"]}, ["x", "1 or string", "(required)"]),
        ({"anyOf": [{"enum": ["a"]}, None]}, ["x", "choice", "(required)", '"a"']),
    ],
)
def test_malformed_options_of_an_offer_do_not_hide_the_others(
    schema: Any, row: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    offers = [
        {"name": "odd", "peer": "p", "parameters": {"x": schema}},
        {"name": "even", "peer": "p", "parameters": {}},
    ]
    body = {"environments": offers, "agents": [], "kept": []}
    watching._show_catalogue("e", {"peers": [], "runs": [], "instances": [], **body})
    shown = capsys.readouterr().out
    [line] = [each for each in shown.splitlines() if each.startswith("│ x ")]
    assert [cell.strip() for cell in line.split("│") if cell.strip()] == row
    assert "environment even (at p): no options" in shown


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\r\nb\tc", "a\nb\tc"),
        ("\x1b]0;never ended\nb", "\nb"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9d0;title\x9cb\x90q\x07c\x1bc", "bcc"),
        ("é\x85\x00\x7f", "é"),
    ],
)
def test_what_is_left_of_a_text(text: str, left: str) -> None:
    assert plain(text) == coloured(text) == left


def turn(number: int, **fields: Any) -> m.WatchedTurn:
    plain = {"run": 1, "match": 2, "index": 0, "episode": 3, "turn": number, "to_act": [0]}
    rest = {"actions": [], "rewards": [0.0], "observations": [], "agents": ["first"]}
    return msgspec.convert({**plain, **rest, **fields}, m.WatchedTurn)


def test_a_turn_that_comes_again_with_its_clocks_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    over = turn(1, to_act=[], reason="truncated")
    broker = Broker(turn(0), turn(0, running=[0]), turn(1), turn(1), over, turn(0))
    with pytest.raises(DovetailError):
        watching._follow(cast(Experiment, broker), None, 0.0, everything=True)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("-- ")]
    assert [line.split(", ")[2][:6] for line in printed] == ["turn 0", "turn 1", "turn 1", "turn 0"]
