"""Each test file belongs to one group, and a fast one keeps its word."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zmq

pytestmark = pytest.mark.fast

TESTS = Path(__file__).resolve().parent


@pytest.fixture
def conftest(request: pytest.FixtureRequest) -> Any:
    """Return tests/conftest.py."""
    return request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))


def test_a_test_has_the_marker_of_one_group(conftest: Any, request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        names = {mark.name for mark in item.iter_markers()}
        assert len(names & set(conftest.GROUPS)) == 1, item.nodeid


def test_a_file_that_names_no_group_is_in_that_of_its_folder(conftest: Any) -> None:
    expected = {
        "broker/a.py": "fast",
        "experiments/arena/a.py": "learners",
        "web/a.py": "processes",
        "a.py": "processes",
    }
    assert {each: conftest.group_of(TESTS / each) for each in expected} == expected
    folders = {each.name for each in TESTS.iterdir() if each.is_dir()}
    assert set(conftest.FOLDERS) <= folders


def test_every_file_can_be_imported_without_extras() -> None:
    """A file that skips itself while it is imported fails those that import from it."""
    skips = re.compile(r"^(\w+ = )?pytest\.(importorskip|skip)\(", re.MULTILINE)
    assert [each for each in TESTS.rglob("*.py") if skips.search(each.read_text("utf-8"))] == []


def test_a_worker_gets_the_tests_of_an_xdist_group_together(request: pytest.FixtureRequest) -> None:
    """pytest-xdist deals tests out by the ends of their ids, and says nothing if they are
    missing."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("there are no workers; `make test` has them")
    for item in request.session.items:
        names = {mark.args[0] for mark in item.iter_markers("xdist_group")}
        assert not names or item.nodeid.endswith(f"@{'_'.join(sorted(names))}")


def test_a_fast_test_opens_no_socket_and_starts_no_program() -> None:
    with pytest.raises(RuntimeError, match="starts a program"):
        subprocess.run([sys.executable, "--version"], check=True)
    with zmq.Context() as context, pytest.raises(RuntimeError, match="opens a socket"):
        context.socket(zmq.PAIR)
    with pytest.raises(RuntimeError, match="opens a socket"):
        socket.socket()
