"""``dovetail rlglue`` as a person starts it."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tests.bridges.rlglue.legacy import AGENT, ENVIRONMENT, Experiment, Program, chain, echo

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
        e = Experiment(port)
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
