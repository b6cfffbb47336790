"""The command line ``dovetail``: one module for each group of commands."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from dovetail._version import __version__, compiled
from dovetail.cli import (
    arena,
    broker,
    check,
    conform,
    engines,
    experiments,
    games,
    ggp,
    journals,
    keys,
    mcp,
    peers,
    records,
    results,
    rlglue,
    study,
    train,
    watching,
    web,
)
from dovetail.cli.common import FAILED, INTERRUPTED, OK, complain, state

app = typer.Typer(
    name="dovetail",
    help="Connect reinforcement-learning agents, environments and experiments.\n\n"
    "Four terminals: `dovetail broker`, `dovetail env connect_four`, `dovetail agent random`, "
    "and `dovetail run FILE`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"dovetail {__version__} ({'compiled' if compiled() else 'interpreted'} core)")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version, and whether the core is compiled.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", envvar="DOVETAIL_DEBUG", help="Show the traceback of an error."),
    ] = False,
) -> None:
    """Accept the options that apply to every command."""
    state.debug = debug


for module in (
    *(
        broker,
        peers,
        games,
        experiments,
        train,
        study,
        watching,
        records,
        journals,
        keys,
        rlglue,
        engines,
        results,
        conform,
        check,
        ggp,
        mcp,
        web,
        arena,
    ),
):
    module.add(app)


def main() -> int:
    """Run the command line; return its exit code.

    0: success; 1: the command failed; 2: incorrect usage; 130: interrupted.
    """
    state.debug = os.environ.get("DOVETAIL_DEBUG", "") not in ("", "0")
    try:
        code = app(prog_name="dovetail", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output is gone, so an error could not be reported either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        print(file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return complain(error)
    return code if isinstance(code, int) else OK
