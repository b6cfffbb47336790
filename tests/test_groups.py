"""Each test file belongs to one group, and a fast one keeps its word."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
import zmq

from tests.groups import GROUPS, PLACES, TOGETHER, group, places

TESTS = Path(__file__).resolve().parent
FILES = sorted(each.relative_to(TESTS.parent).as_posix() for each in TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("file", FILES)
def test_a_file_belongs_to_one_group(file: str, request: pytest.FixtureRequest) -> None:
    assert group(file) in GROUPS
    assert len(places(file)) <= 2, "more than a file's and a folder's line name it"


def test_every_line_names_a_file_or_folder_that_is_there_and_says_something_new() -> None:
    for place, name in PLACES.items():
        assert name in GROUPS, place
        assert any(file == place or file.startswith(f"{place}/") for file in FILES), place
        over = places(place)[1:]
        assert not over or PLACES[over[0]] != name, f"{place}: its folder says so already"


def test_files_that_one_worker_runs_together_are_there_and_learn() -> None:
    assert set(TOGETHER) <= set(FILES)
    assert {group(file) for file in TOGETHER} == {"learners"}


def test_a_test_has_the_marker_of_its_group_and_no_other(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        marks = {mark.name for mark in item.iter_markers()} & set(GROUPS)
        assert marks == {group(item.path.relative_to(TESTS.parent).as_posix())}, item.nodeid


def test_a_worker_gets_the_tests_of_an_xdist_group_together(request: pytest.FixtureRequest) -> None:
    """pytest-xdist deals tests out by the ends of their ids, and says nothing if they are missing."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("there are no workers; `make test` has them")
    for item in request.session.items:
        names = {mark.args[0] for mark in item.iter_markers("xdist_group")}
        assert not names or item.nodeid.endswith(f"@{'_'.join(sorted(names))}")


def test_a_file_that_is_in_no_group_says_where_to_name_it() -> None:
    with pytest.raises(LookupError, match=r"tests/elsewhere\.py is in no group; name it"):
        group("tests/elsewhere.py")


def test_a_fast_test_opens_no_socket_and_starts_no_program() -> None:
    with pytest.raises(RuntimeError, match="starts a program"):
        subprocess.run([sys.executable, "--version"], check=True)
    with zmq.Context() as context, pytest.raises(RuntimeError, match="opens a socket"):
        context.socket(zmq.PAIR)
    with pytest.raises(RuntimeError, match="opens a socket"):
        socket.socket()
