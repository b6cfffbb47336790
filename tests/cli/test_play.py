"""A person plays: what is typed comes through a pipe."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dovetail import InProcess
from dovetail.cli.common import made
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.general.recorded import Recorded
from dovetail_bridges.table import OpenTable
from dovetail_experiments.commands import seating
from dovetail_games.connect_four import ConnectFour

GAME = Path(__file__).with_name("count_up.py")


def command(*arguments: str, against: str = "First") -> list[str]:
    opponent = f"{GAME}:{against}"
    return [
        *(sys.executable, "-m", "dovetail", "play", f"{GAME}:CountUp"),
        *("--against", opponent, *arguments),
    ]


def typed(text: str, folder: Path, *arguments: str, **more: str) -> tuple[int, str, str]:
    done = subprocess.run(
        command(*arguments, **more),
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_game_in_process(tmp_path: Path) -> None:
    code, out, err = typed("3\n" * 20, tmp_path, "--set", "target=20", "--seed", "1")
    assert code == 0, err
    assert "seed 1" in out
    assert re.search(r"the count is \d", out)
    assert re.search(r"You (won|lost)\.$", out, re.MULTILINE)


def test_the_other_seat_several_games_and_a_parameter(tmp_path: Path) -> None:
    code, out, err = typed(
        *("1\n" * 40, tmp_path, "--seat", "1", "--games", "2", "--seed", "3"),
        *("--set-agent", "bias=2"),
        against="Chance",
    )
    assert code == 0, err
    assert len(re.findall(r"You (?:won|lost)\.$", out, re.MULTILINE)) == 2
    assert re.search(r"^2 games: \d won, 0 drawn, \d lost$", out, re.MULTILINE)


def test_a_file_that_is_named_on_the_command_line_is_its_users(tmp_path: Path) -> None:
    given = {"journal": str(tmp_path / "games")}
    with InProcess([ConnectFour], [Random], journal=Path(given["journal"])) as experiment:
        players = [experiment.create("random", seed=seed) for seed in (1, 2)]
        experiment.run("connect_four", players, episodes=1).wait()
    with seating.here("connect_four", "recorded", {}, given) as (experiment, _, opponent, _):
        experiment.create(opponent, parameters=given)
    assert isinstance(made("recorded", given, 1), Recorded)


def test_the_same_seed_is_the_same_game(tmp_path: Path) -> None:
    first, second = (
        typed("2\n" * 40, tmp_path, "--seed", "11", against="Chance") for _ in range(2)
    )
    assert first == second


def test_what_is_no_legal_move_is_asked_again(tmp_path: Path) -> None:
    code, out, err = typed("9\nx\n\n" + "3\n" * 20, tmp_path, "--seed", "1")
    assert code == 0, err
    assert re.search(r"You (won|lost)\.$", out, re.MULTILINE)


def test_a_game_that_is_left(tmp_path: Path) -> None:
    for text in ("1\n", "1\nq\n"):
        code, _, err = typed(text, tmp_path, "--seed", "1", "--games", "3")
        assert (code, err) == (0, "")


def test_an_opponent_that_fails(tmp_path: Path) -> None:
    code, _, err = typed("1\n" * 9, tmp_path, "--games", "3", against="Failing")
    assert code == 1
    assert err.splitlines()[-1].startswith("dovetail: the game was interrupted: Failing in turn 1")


def test_a_state_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "state").write_bytes(b"what it knew")
    code, _, err = typed("3\n" * 20, tmp_path, "--state", "state", against="Kept")
    assert code == 0, err
    assert (tmp_path / "loaded").read_bytes() == b"what it knew"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--seat", "2"], "seat 2 does not exist"),
        (["--set", "goal=3"], "has no option 'goal'"),
        (["--set", "target=one"], "option 'target'"),
        (["--state", "missing"], "cannot read the state missing"),
    ],
)
def test_wrong_options(dovetail: Any, game: str, arguments: list[str], text: str) -> None:
    answer = dovetail("play", game, *arguments)
    assert answer.code == 2
    assert text in answer.err
    assert answer.err.count("\n") == 1


def test_ctrl_c(terminals: Any, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("--seed", "1", "--set", "target=1000"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        while "the count is" not in (line := process.stdout.readline()):
            assert line
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Traceback" not in err
    finally:
        process.kill()


def test_at_a_broker(terminals: Any, tmp_path: Path) -> None:
    terminals.broker()
    terminals.env().expect("ready")
    agent = terminals.agent("First")
    agent.expect("ready")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "dovetail", "play", "count_up"),
            *("--against", f"{GAME}:First"),
            *("--connect", terminals.address, "--seat", "1"),
        ],
        cwd=tmp_path,
        input="3\n" * 20,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"You (won|lost)\.$", done.stdout, re.MULTILINE)
    agent.expect("^end terminated")


WRONG = """
from dovetail import Environment, Spec, Turn, spaces
class Wrong(Environment):
    def init(self):
        return Spec(seats=1, observation_spaces=[spaces.Discrete(2)], action_spaces=[spaces.Discrete(2)])
    def start(self, seed):
        return Turn.ask(0, 7, [0, 1])
    def step(self, actions):
        return Turn.end([0], [1.0])
"""


def test_a_game_that_contradicts_its_spec_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "dovetail", "play", "wrong.py:Wrong"],
        cwd=tmp_path,
        input="0\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "observation" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_a_table_for_a_foreign_client_checks_its_first_game(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    with OpenTable(f"{tmp_path / 'wrong.py'}:Wrong", [0], seed=1) as table:
        seen = next(each for _ in range(50) if (each := table.observe(0, 1.0))["over"])
        assert seen["reason"] == "environment-failed"
    assert "observation" in caplog.text
