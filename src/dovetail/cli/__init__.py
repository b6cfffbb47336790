"""The command line ``dovetail``: one module per group of commands; entry points add others."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dovetail._version import __version__, compiled
from dovetail.cli.common import FAILED, INTERRUPTED, OK, complain, state
from dovetail.cli.group import CommandGroup, group
from dovetail.cli.standard_streams import forgiving

_SUMMARIES = {
    "broker": "Run the broker that environments, agents and experiments connect to.",
    "env": "Serve environments to a broker; --set gives defaults that experiments can override.",
    "agent": "Serve agents to a broker; experiments create instances of them.",
    "list": "List the environments and agents that are installed, or those connected to a broker.",
    "watch": "Print turns as they are played, one episode at a time; stop with Ctrl-C.",
    "replay": "Replay a recorded episode move by move and check that it ends as recorded.",
    "verify": "Check a journal, replay each of its episodes, and compare every turn with the "
    "record.",
    "conform": "Act as the broker for a program and check its answers against SPEC.md.",
    "journal": "List, check, repair, compact or export a journal.",
    "keys": "Make, list and revoke keys for a broker.",
    "check": "Check an environment or agent.",
}
_MODULES = {
    **dict.fromkeys(("env", "agent"), "peers"),
    **dict.fromkeys(("list", "watch"), "watching"),
    **dict.fromkeys(("journal", "verify"), "journals"),
    "replay": "records",
}
"""The modules that have another name than their command."""
COMMANDS = {
    name: (f"dovetail.cli.{_MODULES.get(name, name)}", summary)
    for name, summary in _SUMMARIES.items()
}
"""The module of each command of the core, and the first sentence of its help."""


def commands() -> dict[str, tuple[str, str]]:
    """Return module and help of each command: the core's, then those of other packages."""
    found = dict(COMMANDS)
    for each in entry_points(group="dovetail.commands"):
        with contextlib.suppress(ImportError):  # leftovers of a removed package
            for module, summaries in each.load().items():
                found |= {name: (module, summary) for name, summary in summaries.items()}
    return found


class _Commands(CommandGroup):
    """Builds a module's commands on use: building all takes longer than running most."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._modules = commands()
        for name, (_, help_) in self._modules.items():
            self.commands[name] = TyperCommand(name, help=help_)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in self._modules:
            part = group()
            importlib.import_module(self._modules[args[0]][0]).add(part)
            self.commands.update(typer.main.get_group(part).commands)
        return super().resolve_command(ctx, args)


app = group(
    _Commands,
    name="dovetail",
    help="Connect reinforcement-learning agents, environments and experiments.\n\n"
    "To start, run each of these in its own terminal: `dovetail broker`, "
    "`dovetail env connect_four`, `dovetail agent random`, "
    "and `dovetail run FILE`.",
    pretty_exceptions_enable=False,
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
    forgiving()
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
