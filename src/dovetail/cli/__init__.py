"""The command line ``dovetail``: one module for each group of commands."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dovetail._version import __version__, compiled
from dovetail.cli.common import FAILED, INTERRUPTED, OK, complain, state

COMMANDS = {
    "broker": "broker",
    **dict.fromkeys(("env", "agent"), "peers"),
    "play": "games",
    **dict.fromkeys(("run", "demo", "bench"), "experiments"),
    "study": "study",
    **dict.fromkeys(("list", "watch"), "watching"),
    "replay": "records",
    "verify": "journals",
    "rlglue": "rlglue",
    **dict.fromkeys(("uci", "gtp"), "engines"),
    **dict.fromkeys(("results", "export", "dataset", "tensorboard", "report"), "results"),
    "conform": "conform",
    "mcp": "mcp",
    "web": "web",
    "train": "train",
    "journal": "journals",
    "keys": "keys",
    "states": "results",
    "check": "check",
    "ggp": "ggp",
    "arena": "arena",
}
"""The module of each command, in the order of the help."""


class _Commands(TyperGroup):
    """Imports and builds the commands of a module when one of them is used: building all takes longer than most run."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # A word that is not a command is compared with all of them.
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                part = typer.Typer()
                importlib.import_module(f"{__name__}.{COMMANDS[name]}").add(part)
                self.commands.update(typer.main.get_group(part).commands)
        return self.commands.get(cmd_name)


app = typer.Typer(
    name="dovetail",
    cls=_Commands,
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
