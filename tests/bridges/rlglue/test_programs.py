"""``dovetail rlglue`` as a person starts it; and two learners in C, each believing that it is
alone, play each other; real programs and sockets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.bridges.rlglue import legacy
from tests.bridges.rlglue.legacy import AGENT, ENVIRONMENT, Program, chain, echo

from dovetail import Experiment
from dovetail.cli import app

COMMAND = [sys.executable, "-m", "dovetail", "rlglue"]


def test_a_core_ends_after_one_experiment_if_told_to() -> None:
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", "--once"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.fullmatch(r"core: RLGLUE_PORT=(\d+)\n", process.stdout.readline())
        assert found is not None
        port: Any = SimpleNamespace(number=int(found[1]))
        agent, environment = Program(port, AGENT, echo()), Program(port, ENVIRONMENT, chain(3))
        e = legacy.Experiment(port)
        e.ask(20)
        assert e.episode() == 1
        assert e.total() == 6.0
        e.leave()
        assert agent.ended.wait(10)
        assert environment.ended.wait(10)
        _, errors = process.communicate(timeout=20)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.communicate()


WRONG = [
    (["--observe", "sideways"], "cannot observe 'sideways'"),
    (["--agent", "one", "--agent", "one"], "the same name"),
    (["--save", "save it"], "has no {file}"),
    (["--seed-message", "set-seed"], "has no {seed}"),
    (["--game", "connect_four"], "need --experiment"),
    (["--experiment", "--agent", "mine"], "--environment NAME or --game NAME"),
    (["--experiment", "--game", "nim"], "--agent NAME or --player AGENT"),
    (["--experiment", "--agent", "a", "--agent", "b", "--game", "nim"], "drives one agent"),
]


@pytest.mark.parametrize(("words", "why"), WRONG)
def test_what_makes_no_sense_is_refused_in_one_line(words: list[str], why: str) -> None:
    from dovetail.cli.common import UsageError

    with pytest.raises(UsageError) as caught:
        app(["rlglue", *words], standalone_mode=False)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


SOURCE = Path(__file__).with_name("learner.c")
GAME = Path(__file__).with_name("legacy.py")
DOVETAIL = [sys.executable, "-m", "dovetail"]


class Programs:
    """The programs of a test; each is ended by its own number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *command: str, until: str = "", **extra: str) -> list[str]:
        """Start a program; return what the line that it waits for says."""
        log = (self.folder / f"{len(self.started)}.log").open("w")
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **extra}
        )
        self.started.append(process)
        assert process.stdout is not None
        while until:
            line = process.stdout.readline()
            assert line, f"{command} ended: {Path(log.name).read_text()}"
            if found := re.search(until, line):
                return list(found.groups())
        return []

    def follow(self, number: int, until: str) -> list[str]:
        """Read on until a line of a program that was started."""
        stdout = self.started[number].stdout
        assert stdout is not None
        while line := stdout.readline():
            if found := re.search(until, line):
                return list(found.groups())
        raise AssertionError(f"program {number} ended")

    def end(self) -> None:
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            assert process.wait(20) is not None
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    made = Programs(tmp_path)
    yield made
    made.end()


@pytest.fixture(scope="session")
def learner(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "these tests need a C compiler"
    program = tmp_path_factory.mktemp("rlglue") / "learner"
    command = [compiler, "-std=gnu11", "-O2", "-Wall", "-Werror", "-o", str(program), str(SOURCE)]
    subprocess.run(command, check=True)
    return str(program)


def won(experiment: Experiment, agents: list[int | str], seat: int, games: int = 100) -> float:
    run = experiment.run(
        "nim", agents, episodes=games, seed=5, mode="evaluate", configuration={"heap": 7}
    )
    return sum(each.outcome[seat] for each in run.wait() if each.outcome) / games


def test_two_learners_in_c_learn_in_both_seats_of_one_game(
    programs: Programs, learner: str
) -> None:
    (address,) = programs.start(
        *DOVETAIL, "broker", "--bind", "tcp://127.0.0.1:*", until=r"(tcp://\S+)"
    )
    broker = {"DOVETAIL_BROKER": address}
    programs.start(*DOVETAIL, "env", f"{GAME}:Nim", until="ready", **broker)
    programs.start(*DOVETAIL, "agent", "random", until="ready", **broker)
    bridge = len(programs.started)
    options = ["--save", "save_policy {file}", "--load", "load_policy {file}"]
    (white,) = programs.start(
        *(*DOVETAIL, "rlglue", "--agent", "white", "--agent", "black", "--port", "0", *options),
        until=r"agent white: RLGLUE_PORT=(\d+)",
        **broker,
    )
    (black,) = programs.follow(bridge, r"agent black: RLGLUE_PORT=(\d+)")
    programs.start(learner, RLGLUE_PORT=white)
    programs.start(learner, RLGLUE_PORT=black)
    with Experiment.connect(address) as experiment:
        experiment.expect(["nim"], ["white", "black", "random"], timeout=30)
        random = experiment.create("random", seed=3)
        before = [won(experiment, ["white", random], 0), won(experiment, [random, "black"], 1)]
        learning = experiment.run(
            "nim", ["white", "black"], episodes=900, seed=1, configuration={"heap": 7}
        )
        results = learning.wait()
        assert all(each.reason == "terminated" for each in results)
        after = [won(experiment, ["white", random], 0), won(experiment, [random, "black"], 1)]
        # Heap 7 is won by the seat that begins: take 3, then leave multiples of 4.
        assert before[0] < 0.8
        assert after[0] > 0.95
        assert after[1] > before[1] + 0.1

        numbers = {each["agent"]: each["instance"] for each in experiment.catalogue()["instances"]}
        state = experiment.save(numbers["white"])
        experiment.load(numbers["black"], state)
        assert won(experiment, ["black", random], 0) > 0.95
