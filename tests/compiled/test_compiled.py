"""The compiled core passes the tests of the interpreted one, and continues what that began.

Slow: the first test compiles for minutes.  `make test-compiled` runs them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.chaos.theatre import Theatre, undisturbed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(5400)]

TOP = Path(__file__).resolve().parents[2]
TESTED = (
    *("tests/broker", "tests/protocol", "tests/peer", "tests/chaos"),
    "tests/env_servers/test_loose_types.py",
    "tests/conform/test_kit.py::test_dovetails_own_python_passes",  # others patch what is compiled
)
OF_THE_CHECKOUT = "tests/protocol/test_contract.py::test_generated_files_are_up_to_date"
# Compiled code checks types by itself and cannot be patched: a field of a wrong type is told in
# other words there; docs/compiled.md says so.
OTHERWISE = (
    "not over-as-number and not outcome-text and not goes_through_no_frame "
    "and not by_interrupt and not in_the_middle_of_another_call "
    "and not cost_nothing_until_it_is_free"
)
EPISODES = 40


@pytest.fixture(scope="module")
def python() -> str:
    """Return an interpreter with the compiled core."""
    subprocess.run(["make", "--silent", "compiled"], cwd=TOP, check=True)
    return str(TOP / ".venv-compiled/bin/python")


def test_it_passes_the_tests_of_the_broker(python: str) -> None:
    command = [python, "-m", "pytest", "-q", *TESTED, f"--deselect={OF_THE_CHECKOUT}"]
    command += ["-k", OTHERWISE]
    # The generator of the contract is in no wheel.
    env = {**os.environ, "PYTHONPATH": str(TOP / "protocol")}
    assert subprocess.run(command, cwd=TOP, env=env).returncode == 0


def test_its_state_is_the_same_bytes(python: str) -> None:
    def states(by: str) -> list[str]:
        command = [by, "-m", "tests.compiled.states"]
        return subprocess.check_output(command, cwd=TOP, text=True).splitlines()

    kind, *found = states(python)
    other, *expected = states(sys.executable)
    assert (kind, other) == ("compiled", "interpreted")
    assert found == expected
    assert len(set(found)) > 20


def test_each_continues_what_the_other_began(python: str, tmp_path: Path) -> None:
    """The broker is killed again and again, and started as the other kind."""
    happened: list[str] = []
    theatre = Theatre(
        tmp_path, happened.append, kinds={"kill broker": 1}, pythons=(python, sys.executable)
    )
    try:
        assert theatre.play(5, EPISODES, faults=5) == undisturbed(5, EPISODES)
    finally:
        theatre.close()
    assert happened.count("kill broker") >= 2
