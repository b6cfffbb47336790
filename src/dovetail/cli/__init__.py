"""The command line ``dovetail``: one module for each group of commands."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dovetail._version import __version__, compiled
from dovetail.cli.common import FAILED, INTERRUPTED, OK, complain, state
from dovetail.cli.group import Group, group
from dovetail.cli.output import forgiving

COMMANDS = {
    "broker": ("broker", "Run the broker that environments, agents and experiments connect to."),
    "env": (
        "peers",
        "Serve environments to a broker; --set gives defaults that experiments can override.",
    ),
    "agent": ("peers", "Serve agents to a broker; experiments create instances of them."),
    "play": (
        "games",
        "Play against an agent in the terminal, within this program or through a running broker.",
    ),
    "run": (
        "experiments",
        "Run an experiment file: start its programs, play, report the results, stop the programs.",
    ),
    "demo": (
        "experiments",
        "Watch two learners, each in its own process, learn Connect Four by playing each other.",
    ),
    "bench": (
        "experiments",
        "Measure turns per second and compare them with bare references; needs a checkout of the project.",
    ),
    "study": ("study", "Reproduce a published study and compare its figures with ours."),
    "list": (
        "watching",
        "List the environments and agents that are installed, or those connected to a broker.",
    ),
    "watch": (
        "watching",
        "Print turns as they are played, one episode at a time; stop with Ctrl-C.",
    ),
    "replay": (
        "records",
        "Replay a recorded episode move by move and check that it ends as recorded.",
    ),
    "verify": (
        "journals",
        "Check a journal, replay each of its episodes, and compare every turn with the record.",
    ),
    "rlglue": (
        "rlglue",
        "Connect unchanged RL-Glue 3 programs over their TCP protocol.",
    ),
    "uci": ("engines", "Run an agent as a UCI chess engine, for GUIs and tournament managers."),
    "gtp": ("engines", "Run an agent as a GTP Go engine, for GUIs and tournament managers."),
    "results": ("results", "Query the results of an experiment."),
    "export": ("results", "Write the results of an experiment, or its games as text, to a file."),
    "dataset": (
        "results",
        "Write an agent's games as a dataset for offline learning, in Minari's format.",
    ),
    "tensorboard": (
        "results",
        "Write learning curves and what agents measured as logs for TensorBoard.",
    ),
    "report": (
        "results",
        "Write OUT/report.html: one page with everything that was played (so far, if it is still running).",
    ),
    "conform": (
        "conform",
        "Act as the broker for a program and check its answers against SPEC.md.",
    ),
    "mcp": ("mcp", "Offer seats in a game to language models and other programs that speak MCP."),
    "web": ("web", "Watch, play and replay games in a browser, and look at results."),
    "train": (
        "train",
        "Train a learner in compiled games; the file it writes is the agent's state.",
    ),
    "journal": ("journals", "List, check, repair, compact or export a journal."),
    "keys": ("keys", "Make, list and revoke keys for a broker."),
    "states": ("results", "List, take out, compare and put back the saved states of learners."),
    "check": ("check", "Check an environment or agent."),
    "ggp": ("ggp", "Play games of the General Game Playing protocol."),
    "arena": ("arena", "Run and operate a standing competition."),
}
"""The module of each command, and the first sentence of its help, in the order of the help."""


class _Commands(Group):
    """Imports and builds the commands of a module when one of them is used: building all takes longer than most run."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, (_, help_) in COMMANDS.items():
            self.commands[name] = TyperCommand(name, help=help_)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in COMMANDS:
            part = group()
            importlib.import_module(f"{__name__}.{COMMANDS[args[0]][0]}").add(part)
            self.commands.update(typer.main.get_group(part).commands)
        return super().resolve_command(ctx, args)


app = group(
    _Commands,
    name="dovetail",
    help="Connect reinforcement-learning agents, environments and experiments.\n\n"
    "To start, run each of these in its own terminal: `dovetail broker`, `dovetail env connect_four`, `dovetail agent random`, "
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
