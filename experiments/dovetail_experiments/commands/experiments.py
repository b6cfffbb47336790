"""``dovetail run``, ``merge``, ``demo`` and ``bench``: commands that play or merge and report."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from dovetail.cli import common
from dovetail.cli.group import group
from dovetail.cli.standard_streams import reserved
from dovetail.peer.broker_watchdog import GIVE_UP
from dovetail.peer.validation_messages import among

RESULTS = "results.json"
"""File in an experiment's folder with its results as JSON."""


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(run)
    app.command()(merge)
    app.command()(demo)
    bench = group(name="bench", help="Compare a learner of yours with others.")
    bench.command()(learner)
    app.add_typer(bench)


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", autocompletion=complete_file)],
    store: Annotated[str | None, typer.Option(metavar="URL")] = None,
    connect: common.MaybeConnect = None,
    in_process: bool = False,
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    resume: bool = False,
    extend: bool = False,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=0, show_default="1; with --on, 0")
    ] = None,
    trial: Annotated[str | None, typer.Option(metavar="K/N")] = None,
    trials: Annotated[str | None, typer.Option(metavar="FIRST-LAST")] = None,
    shards: Annotated[
        int | None, typer.Option(metavar="N", min=0, show_default="1, or as the file says")
    ] = None,
    on: Annotated[str | None, typer.Option(metavar="ENGINE")] = None,
    track: Annotated[list[str] | None, typer.Option(metavar="NAME")] = None,
    give_up: common.GiveUp = GIVE_UP,
    token: common.Token = None,
    key: common.KeyFile = None,
    set_: common.Set = None,
    json_: Annotated[bool, typer.Option("--json")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v")] = False,
) -> None:
    """Run an experiment file: start its programs, play, report the results, stop the programs.

    --set changes keys of the file, such as phases.0.episodes=100 or seed=7.

    Example: dovetail run experiments/dovetail_experiments/examples/connect_four_two_learners.toml

    Args:
        file: An experiment file (TOML), or the name of one that comes with Dovetail.
        store: Database for results, as an SQLAlchemy URL; default: a SQLite file in the folder.
        in_process: Run everything in this program, without sockets.
        out: Results go to DIR/NAME, with NAME from the file; default: out.
        resume: Resume the experiment where it was interrupted.
        extend: Play the meetings of players added to a finished tournament.
        jobs: Seeds and trials played at once; 0 for one on each core.
        trial: Play every N-th trial from the K-th on, in a separate folder (part-K-of-N); `dovetail
            merge` joins the parts.
        trials: Like --trial, for trials by number.
        shards: Divide the episodes among N brokers, each with its own core and programs; 0 for one
            on each core. For files without learning.
        on: Play on a cluster: `ray` for this machine's, or ray:HOST:PORT. --jobs and --shards then
            apply to the cluster; 0 for one on each of its CPUs.
        track: Log results of each stage as soon as it is over: tensorboard, wandb, mlflow or
            trackio; may be repeated.
        json_: Print the results as JSON, and nothing else.
        quiet: Print only warnings and errors.
        verbose: Log programs, agents, runs and every episode on stderr.
    """
    if connect is not None and in_process:
        raise common.UsageError("--connect and --in-process cannot be used together")
    if trial is not None and trials is not None:
        raise common.UsageError("--trial and --trials cannot be used together")
    path = located(file)
    from dovetail_experiments.files.sweep import TrialSelection

    only = None if trials is None else TrialSelection.range(trials)
    only = only if trial is None else TrialSelection.part(trial)
    from dovetail.peer.cores import available
    from dovetail_experiments.stages.runner import RunnerOptions
    from dovetail_experiments.stages.trials import execute

    cores = available()

    common.log_to_stderr()
    logging.getLogger("dovetail").setLevel(logging.INFO if verbose else logging.NOTSET)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as gracefully as on Ctrl-C
    try:
        with reserved() if json_ else contextlib.nullcontext() as results:
            with _silent(json_ or quiet):
                done = execute(
                    path,
                    store=store,
                    out=out,
                    overrides=common.settings(set_),
                    resume=resume,
                    extend=extend,
                    jobs=(cores if jobs == 0 else jobs or 1) if on is None else jobs or 0,
                    options=RunnerOptions(
                        *(connect, token, in_process, give_up),
                        shards=cores if shards == 0 and on is None else shards,
                        on=on,
                        track=tuple(track or ()),
                    ),
                    only=only,
                )
            if results is not None:
                results.write((done.folder / RESULTS).read_text(encoding="utf-8"))
    except KeyboardInterrupt:
        common.warn(
            "interrupted; run the same command with --resume to continue after the last finished "
            "stage"
        )
        raise


def merge(
    to: Annotated[Path, typer.Argument(metavar="TO")],
    parts: Annotated[list[Path], typer.Argument(metavar="OUT...")],
) -> None:
    """Merge executions of an experiment, played in several places, and report on all of them.

    Executions already in TO are skipped; those of another file or other software are refused.

    Example: dovetail merge out/sweep out/sweep/part-*

    Args:
        to: The target folder, such as out/NAME.
        parts: The folders to merge, such as out/NAME/part-*.
    """
    from dovetail_experiments.stages.merging import merge as merged

    common.log_to_stderr()
    merged(to, parts)


def packaged() -> dict[str, Path]:
    """Return the experiment files that come with Dovetail, by name."""
    found = Path(__file__).parents[1].glob("examples/*.toml")
    return {path.stem: path for path in sorted(found)}


def complete_file(incomplete: str) -> list[str]:
    """Complete the name of an experiment file in a shell."""
    return [name for name in packaged() if name.startswith(incomplete)]


def located(file: Path) -> Path:
    """Return the path of an experiment file, or of the packaged one with that name.

    Raises:
        UsageError: neither exists.
    """
    if file.is_file():
        return file
    if file.is_dir():
        raise common.UsageError(
            f"{file} is a folder; name an experiment file in it, or a packaged one"
        )
    found = packaged()
    if str(file) in found:
        return found[str(file)]
    there = f"these come with Dovetail: {', '.join(found)}"
    raise common.UsageError(
        f"experiment file {file} does not exist{among(file.stem, found, there)}"
    )


@contextlib.contextmanager
def _silent(asked: bool) -> Iterator[None]:
    """Suppress output on stdout if ``asked``."""
    if not asked:
        yield
        return
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def demo() -> None:
    """Watch two learners, each in its own process, learn Connect Four by playing each other.

    Example: dovetail demo
    """
    from dovetail_experiments.demo import main

    code = main()
    if code:
        raise typer.Exit(code)


def learner(
    kind: Annotated[str, typer.Argument(metavar="TYPE")],
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1)] = 1,
    resume: bool = False,
    set_: common.Set = None,
) -> None:
    """Train a learner on three small boards with five seeds, and compare it with others.

    Example: dovetail bench learner mine.py:Learner

    Args:
        kind: A learner: a built-in one, or FILE.py:CLASS.
        out: Results go to DIR/bench-learner; default: out.
        jobs: Trainings at once.
        resume: Continue an interrupted run.
    """
    from dovetail_experiments.stages import benched

    benched.bench(kind, common.settings(set_), out, jobs, resume=resume)
