"""Give each test the marker of its group, and keep the fast ones to their word.

A file names its group by ``pytestmark``; the others are in that of their folder.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import zmq

from dovetail.peer import provenance
from tests.forking import Forker

TESTS = Path(__file__).resolve().parent
GROUPS = {
    "fast": "no socket and no other program",
    "learners": "plays, trains or tries many inputs for seconds, in one process",
    "processes": "sockets, threads and programs",
    "clients": "builds the clients of the other languages",
}
"""Marker and meaning.  `long` and `slow` are apart: they mark single tests, which `make test`
leaves to `make test-long` and `make test-slow`."""
FOLDERS = {
    "agent_servers": "learners",
    "broker": "fast",
    "env_servers": "learners",
    "experiments": "learners",
    "fuzz": "fast",
    "peer": "fast",
    "playthroughs": "learners",
    "protocol": "fast",
    "studies": "learners",
    "testing": "fast",
}
"""The groups of the files that name none; in other folders they are ``processes``."""
_fast = False
provenance.here()  # asks git once, before fast tests may start no program


def pytest_configure(config: pytest.Config) -> None:
    """Declare the groups as markers, let programs be interrupted, and leave the account's secret
    alone."""
    os.environ["DOVETAIL_SECRET"] = "none"
    # By the clock, an example that a busy machine holds up for 200 ms fails.
    hypothesis.settings.register_profile("undisturbed", deadline=None)
    hypothesis.settings.load_profile("undisturbed")
    # A shell has what it starts in the background ignore SIGINT, and programs inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, meaning in GROUPS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}; run with `make test-{name}`")
    config.addinivalue_line("markers", "rule(*numbers): the rules of SPEC.md that a test tries")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups, too
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its group."""
    for item in items:
        if not any(mark.name in GROUPS for mark in item.iter_markers()):
            item.add_marker(getattr(pytest.mark, group_of(item.path)))
        if item.get_closest_marker("learners") and not item.get_closest_marker("xdist_group"):
            # so that one worker alone compiles what a file needs
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(TESTS).as_posix()))


def group_of(file: Path) -> str:
    """Return the group of a file that names none."""
    return FOLDERS.get(file.relative_to(TESTS).parts[0], "processes")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a fast test open no socket and start no program."""
    global _fast
    _fast = item.get_closest_marker("fast") is not None
    try:
        return (yield)
    finally:
        _fast = False


@pytest.fixture(autouse=True)
def _logs() -> Iterator[None]:
    """Remove the handlers that a command left which ran in this process: their stream ends with its
    test."""
    before = list(logging.root.handlers)
    yield
    for each in [each for each in logging.root.handlers if each not in before]:
        logging.root.removeHandler(each)


@pytest.fixture(scope="session")
def forker() -> Iterator[Forker]:
    """Return what forks the command line for the tests of this worker."""
    forker = Forker("tests.cli.programs")
    yield forker
    forker.close()


def _refused(what: str, original: Any) -> Any:
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _fast:
            raise RuntimeError(f"a fast test {what}; mark it otherwise (docs/own-tests.md)")
        return original(self, *args, **kwargs)

    return checked


socket.socket.__init__ = _refused(  # type: ignore[method-assign]
    "opens a socket", socket.socket.__init__
)
zmq.Context.socket = _refused("opens a socket", zmq.Context.socket)  # type: ignore[method-assign]
subprocess.Popen.__init__ = _refused(  # type: ignore[method-assign]
    "starts a program", subprocess.Popen.__init__
)
