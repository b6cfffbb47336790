"""Agent files of Kaggle's form play here; the bad ones lose their seat and harm nothing else."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer import registry
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol import messages as m
from dovetail_bridges.gdl import GDL
from dovetail_bridges.kaggle import Kaggle, worker
from dovetail_bridges.kaggle.agent import KaggleParameters, Process
from dovetail_games.connect_four import ConnectFour

WINNING = '''
"""Plays the first column that wins at once, or stops the other, by the rules of connectx."""
from helper import lines_through

def wins(board, column, mark, configuration):
    columns, rows = configuration.columns, configuration["rows"]
    row = max(r for r in range(rows) if board[r * columns + column] == 0)
    board = list(board)
    board[row * columns + column] = mark
    return any(
        all(0 <= r < rows and 0 <= c < columns and board[r * columns + c] == mark for r, c in line)
        for line in lines_through(row, column, configuration.inarow)
    )

def my_agent(observation, configuration):
    print("thinking about", observation.step)
    board, me = observation.board, observation["mark"]
    assert len(board) == configuration.rows * configuration.columns
    assert board.count(me) in (board.count(3 - me), board.count(3 - me) - 1)
    free = [c for c in range(configuration.columns) if board[c] == 0]
    for mark in (me, 3 - me):
        for column in free:
            if wins(board, column, mark, configuration):
                return column
    return min(free, key=lambda c: abs(c - configuration.columns // 2))
'''
HELPER = """
def lines_through(row, column, n):
    for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for start in range(n):
            yield [(row + (i - start) * dr, column + (i - start) * dc) for i in range(n)]
"""


@pytest.fixture
def register(tmp_path: Path) -> Iterator[object]:
    def add(source: str, name: str = "mine") -> KaggleParameters:
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        registry.register("policy", name, str(path))
        return KaggleParameters(name, timeout=20)

    yield add
    registry._registered.clear()


def play(source: str, register: object, episodes: int = 6, **options: Any) -> list[m.Episode]:
    register(source)  # type: ignore[operator]
    with InProcess([ConnectFour], [Kaggle, Random]) as experiment:
        theirs = experiment.create("kaggle", parameters={"policy": "mine"})
        other = experiment.create("random", seed=1)
        return experiment.run(
            "connect_four", [theirs, other], episodes=episodes, rotate=True, **options
        ).wait()


def test_a_connectx_file_with_a_helper_beside_it_plays_both_seats(
    register: object, tmp_path: Path
) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    games = play(WINNING, register)
    assert {game.reason for game in games} == {"terminated"}
    mine = [game.outcome[index % 2] for index, game in enumerate(games) if game.outcome]
    assert sum(mine) >= 5


def test_each_episode_runs_the_file_again(register: object) -> None:
    counting = """
calls = []
def agent(observation):
    calls.append(observation.step)
    assert len(calls) == 1 + observation.step // 2, calls
    return observation.legalActions[0]
"""
    assert {game.reason for game in play(counting, register, 3)} == {"terminated"}


def test_files_for_openspiels_games_answer_with_a_submission(register: object) -> None:
    parameters = register(  # type: ignore[operator]
        """
def agent(observation, configuration):
    names = dict(zip(observation["legalActionStrings"], observation["legalActions"]))
    assert observation["playerId"] == observation["currentPlayer"]
    assert "(cell" in observation["observationString"]
    return {"submission": names.get("(mark 2 2)", min(names.values()))}
"""
    )
    with InProcess([GDL], [Kaggle, Random]) as experiment:
        theirs = experiment.create("kaggle", parameters={"policy": parameters.policy})
        other = experiment.create("random", seed=1)
        games = experiment.run("gdl", [theirs, other], episodes=4).wait()
    assert {game.reason for game in games} == {"terminated"}


@pytest.mark.parametrize(
    ("source", "reason", "text"),
    [
        ("def agent(o, c): raise KeyError('oh')", "stalled", "raised KeyError: 'oh'"),
        ("def agent(o, c):\n import os\n os._exit(3)", "stalled", "has ended with code 3"),
        ("def agent(o, c): return 99", "illegal-action", ""),
        ("def agent(o, c): return None", "illegal-action", ""),
        ("def agent(o, c): return 'x' * 10**6", "stalled", "sent a line of more than 65536 bytes"),
    ],
)
def test_a_bad_file_loses_its_seat(register: object, source: str, reason: str, text: str) -> None:
    (game,) = play(source, register, 1, retries=0)
    assert game.reason == reason
    assert game.blame == 0
    assert text in game.message


def test_a_file_that_is_too_long_is_refused(
    register: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small = tmp_path / "worker.py"
    source = Path(worker.__file__).read_text("utf-8")
    small.write_text(source.replace("LARGEST = 64 << 20", "LARGEST = 100"), "utf-8")
    monkeypatch.setattr(worker, "__file__", str(small))
    with pytest.raises(DovetailError, match="the file has more than 100 characters"):
        play("def agent(o, c): return 0" + " " * 100, register, 1, retries=0)


def test_a_file_that_hangs_is_ended_in_time_with_all_that_it_started(
    register: object, tmp_path: Path
) -> None:
    note = tmp_path / "pids"
    source = f"""
import os, subprocess, time
def agent(o, c):
    child = subprocess.Popen(["sleep", "600"])
    open({str(note)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
    time.sleep(600)
"""
    before = time.monotonic()
    (game,) = play(source, register, 1, retries=0, clock={"decision": 2.0})
    assert time.monotonic() - before < 20
    assert game.blame == 0
    assert game.reason in ("crashed", "timeout")
    for pid in map(int, note.read_text().split()):
        end = time.monotonic() + 10
        while alive(pid):
            assert time.monotonic() < end, "the process still runs"
            time.sleep(0.01)


def test_a_file_that_does_not_read_is_ended_in_time(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import time\ndef agent(o): time.sleep(600)")
    process = Process(path)
    assert process.ask({"reset": True}, 60.0) is None
    process.say(json.dumps({"observation": {}, "configuration": {}}))
    before = time.monotonic()
    with pytest.raises(DovetailError, match=r"^mine.py did not answer within 0.5 s$"):
        process.ask({"observation": "x" * 200_000}, 0.5)  # more than the pipe takes
    assert time.monotonic() - before < 20
    assert not process.alive
    with pytest.raises(DovetailError, match=r"^mine.py has ended$"):
        process.ask({"reset": True}, 0.5)
    process.close()


def test_an_answer_nested_without_end_is_not_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "worker.py"
    path.write_text("input()\nprint('[' * 20000 + ']' * 20000)\ninput()")
    monkeypatch.setattr(worker, "__file__", str(path))
    process = Process(tmp_path / "mine.py")
    with pytest.raises(DovetailError, match=r"mine.py answered '\[+', which is not an answer"):
        process.ask({"reset": True}, 60.0)
    assert not process.alive


def test_a_long_message_arrives_whole(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def agent(o): return len(o)")
    process = Process(path)
    message = {"observation": "x" * 1_000_000, "configuration": {}}
    assert [process.ask(message, 60.0) for _ in range(2)] == [1_000_000] * 2
    process.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return status != "Z"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def agent(:", "SyntaxError"),
        ("x = 1", "defines no function"),
        ("import nowhere", "nowhere"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused_at_once(
    register: object, source: str, text: str
) -> None:
    parameters = register(source)  # type: ignore[operator]
    with pytest.raises(DovetailError, match=text):
        Kaggle(parameters)


def test_a_peer_cannot_name_a_file(tmp_path: Path) -> None:
    path = tmp_path / "evil.py"
    path.write_text("def agent(o): return 0")
    with (
        InProcess([ConnectFour], [Kaggle]) as experiment,
        pytest.raises(DovetailError, match="no policy"),
    ):
        experiment.create("kaggle", parameters={"policy": str(path)})
