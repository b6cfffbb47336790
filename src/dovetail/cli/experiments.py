"""``dovetail run``, ``demo`` and ``bench``: commands that play without a person and report."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli.common import (
    FAILED,
    GiveUp,
    MaybeConnect,
    Set,
    Token,
    UsageError,
    log_to_stderr,
    settings,
    warn,
)
from dovetail.peer.link import GIVE_UP
from dovetail.protocol.errors import DovetailError


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(run)
    app.command()(demo)
    app.command(
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "help_option_names": [],
        }
    )(bench)


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (TOML).")],
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database for results, as an SQLAlchemy URL; default: a SQLite file.",
        ),
    ] = None,
    connect: MaybeConnect = None,
    in_process: Annotated[
        bool, typer.Option("--in-process", help="Run everything in this program, without sockets.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for plots and tables.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume this experiment where it was interrupted.")
    ] = False,
    extend: Annotated[
        bool,
        typer.Option("--extend", help="Play what players added to a finished tournament have to."),
    ] = False,
    give_up: GiveUp = GIVE_UP,
    token: Token = None,
    set_: Set = None,
) -> None:
    """Run an experiment file: start the programs it names, play, report, stop them all.

    --set changes keys of the file, such as phases.0.episodes=100 or seed=7.

    Example: dovetail run experiments/files/connect_four_two_learners.toml
    """
    if connect is not None and in_process:
        raise UsageError("--connect and --in-process cannot be used together")
    if not file.is_file():
        raise UsageError(f"experiment file {file} does not exist")
    from dovetail.experiments.runner import execute

    log_to_stderr()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops as gracefully as Ctrl-C
    try:
        execute(
            file,
            store=store,
            connect=connect,
            token=token,
            in_process=in_process,
            out=out,
            overrides=settings(set_),
            resume=resume,
            extend=extend,
            give_up=give_up,
        )
    except KeyboardInterrupt:
        warn(
            "interrupted; run the same command with --resume to continue after the last finished stage"
        )
        raise


def demo() -> None:
    """Watch two learners, each in its own process, learn a game against each other.

    Example: dovetail demo
    """
    from dovetail.experiments.demo import main

    code = main()
    if code:
        raise typer.Exit(code)


def bench(context: typer.Context) -> None:
    """Measure turns per second and compare them with bare references; needs a checkout of the project.

    Example: dovetail bench
    """
    if not Path("bench", "__main__.py").is_file():
        raise DovetailError("there is no bench folder here; run this in a checkout of the project")
    code = subprocess.run([sys.executable, "-m", "bench", *context.args], check=False).returncode
    if code:
        raise typer.Exit(code if 0 < code < 256 else FAILED)
