"""Play an experiment file from beginning to end: stages, results, states, report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from dovetail.experiments import places, report
from dovetail.experiments.extending import taken_over
from dovetail.experiments.file import ExperimentFile, read
from dovetail.experiments.places import Place
from dovetail.experiments.playing import Playing
from dovetail.experiments.records import read_state
from dovetail.experiments.schedule import Played
from dovetail.experiments.store import Store
from dovetail.peer.link import GIVE_UP
from dovetail.protocol.errors import DovetailError


@dataclass(frozen=True, slots=True)
class Execution:
    """A finished experiment."""

    file: ExperimentFile
    number: int
    """In the store."""
    folder: Path
    """Where its summary and curves are."""
    played: list[Played]
    states: dict[str, bytes]
    """The learners' final states, by name."""


def execute(
    path: Path,
    *,
    store: str | None = None,
    connect: str | None = None,
    token: str | None = None,
    in_process: bool = False,
    out: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    resume: bool = False,
    extend: bool = False,
    give_up: float | None = GIVE_UP,
) -> Execution:
    """Play an experiment file; show progress and a summary, write results, plot and table.

    Args:
        path: the experiment file.
        store: an SQLAlchemy URL; a SQLite file in ``out`` if None.
        connect: a running broker to use instead of starting processes.
        token: that broker's access token.
        in_process: play in this program, without sockets.
        out: the folder for what is written, in a folder of the experiment's name; ``out`` if None.
        overrides: keys of the file to change, such as ``phases.0.episodes``.
        resume: continue the last interrupted execution of the same experiment.
        extend: take over the last finished execution, to which players were added since.
        give_up: seconds of the broker's silence after which this raises; None for never.

    Raises:
        DovetailError: the file or an option is wrong, a program failed, or the store refuses.
    """
    file = read(path, dict(overrides or {}))
    folder = (out or Path("out")) / file.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DovetailError(f"cannot write into {folder}: {error.strerror}") from None
    text = msgspec.json.encode(file).decode()
    results = Store(store or f"sqlite:///{folder / 'results.sqlite'}")
    try:
        execution = results.unfinished(file.name, text) if resume else None
        if resume and execution is None:
            raise DovetailError(
                f"no interrupted run of {file.name} to resume; run it without --resume"
            )
        extended, rows = taken_over(file, results) if extend and not resume else (None, {})
        if execution is None:
            execution = results.begin(file.name, text, file.seed)
        if extended is not None:
            for name, state in results.saved(extended).items():
                results.keep(execution, name, state)
        journal = folder / f"games-{execution}.journal"
        place: AbstractContextManager[Place]
        if connect is not None:
            place = places.at_broker(file, connect, token, give_up)
        elif in_process:
            place = places.in_this_program(file, journal)
        else:
            place = places.own_processes(file, journal, folder / "logs", give_up)
        console = Console(highlight=False)
        with place as there:
            console.print(there.about, soft_wrap=True)
            try:
                states = _states(file) | results.saved(execution)
                played = Playing(file, there, results, execution, states, rows).play()
            except DovetailError:
                there.check()  # a program's failure explains more than its consequences
                raise
        results.finish(execution)
        states = results.saved(execution)
    finally:
        results.close()
    report.write(file, played, folder)
    console.print(f"results    {results.url} (execution {execution})", soft_wrap=True)
    return Execution(file, execution, folder, played, states)


def _states(file: ExperimentFile) -> dict[str, bytes]:
    states = {}
    for name in file.used():
        path = file.agents[name].state
        if path is not None:
            try:
                states[name] = read_state(path)
            except DovetailError as error:
                raise DovetailError(f"[agents.{name}]: {error}") from None
    return states
