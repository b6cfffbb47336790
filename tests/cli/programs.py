"""Programs that ``tests.forking`` starts for the tests of the command line."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable

from tests.cli import experiment

import dovetail.broker.shell.serve

# Modules that the commands import when they are called.
import dovetail.peer.agents.serve
import dovetail.peer.environments.serve  # noqa: F401
from dovetail import cli


def dovetail_(*arguments: str) -> int:
    """Run the command line as ``python -m dovetail`` does."""
    sys.argv = ["dovetail", *arguments]
    return cli.main()


for each in ("broker", "env", "agent"):  # Typer imports and builds a command when it is used first
    with contextlib.redirect_stdout(io.StringIO()):
        dovetail_(each, "--help")

PROGRAMS: dict[str, Callable[..., int]] = {"dovetail": dovetail_, "experiment": experiment.main}
