"""Play an experiment file from beginning to end: stages, results, states, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from dovetail.experiments import places, report
from dovetail.experiments.file import ExperimentFile, read
from dovetail.experiments.places import Place
from dovetail.experiments.progress import Display
from dovetail.experiments.schedule import Played, Stage, stages
from dovetail.experiments.store import Store
from dovetail.peer.link import GIVE_UP
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode


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
        if execution is None:
            execution = results.begin(file.name, text, file.seed)
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
                played = _play(file, there, results, execution)
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


def _play(file: ExperimentFile, place: Place, store: Store, execution: int) -> list[Played]:
    finished = store.finished_stages(execution)
    states = _states(file) | store.saved(execution)
    seats = place.seat(file, states)
    learners = file.learners()
    played = []
    todo = stages(file)
    with Display(file.name, todo) as display:
        for stage in todo:
            if stage.number in finished:
                played.append(Played(stage, store.results(finished[stage.number])))
                display.skip(stage)
                continue
            display.begin(stage)
            names = stage.part.seats
            row = store.begin_stage(
                execution,
                stage.number,
                stage.kind,
                stage.part.name,
                stage.trained,
                names,
                stage.part.rotate,
            )

            def take(episode: Episode, row: int = row) -> None:
                store.add(row, episode)
                display.advance(episode)

            episodes = _run(
                file, place, stage, [seats[name] for name in names], take, store.label(row)
            )
            saved = {}
            if stage.mode == "learn":
                for name in learners:
                    number = seats[name]
                    if name in names and isinstance(number, int):
                        saved[name] = place.experiment.save(number)
            store.finish_stage(execution, stage.number, row, saved)
            played.append(Played(stage, episodes))
            display.finish(stage, episodes)
    return played


def _states(file: ExperimentFile) -> dict[str, bytes]:
    states = {}
    for name in file.used():
        path = file.agents[name].state
        if path is not None:
            try:
                states[name] = Path(path).read_bytes()
            except OSError as error:
                raise DovetailError(
                    f"[agents.{name}]: cannot read the state {path}: {error.strerror}"
                ) from None
    return states


def _run(
    file: ExperimentFile,
    place: Place,
    stage: Stage,
    agents: list[int | str],
    take: Callable[[Episode], None],
    label: str = "",
) -> list[Episode]:
    part = stage.part
    place.check()
    more = ""
    try:
        run = place.experiment.run(
            place.environment,
            agents,
            configuration=file.environment.configuration,
            episodes=stage.episodes,
            first_index=stage.first,
            seed=file.play_seed(part),
            mode=stage.mode,
            concurrency=part.concurrency,
            rotate=part.rotate,
            clock=part.clock,
            max_turns=part.max_turns,
            on_timeout=part.on_timeout,
            on_illegal=part.on_illegal,
            lookahead=part.lookahead,
            label=label,
        )
        more = place.hint()
        episodes = []
        looked = time.monotonic()
        while (results := run.poll(0.5)) is not None:
            for episode in results:
                take(episode)
                episodes.append(episode)
            if not results or time.monotonic() - looked > 0.5:
                looked = time.monotonic()
                place.check()
    except DovetailError as error:
        place.check()  # a program's failure explains more than its consequences
        raise DovetailError(f"{part.name}: {error}{more}") from None
    lost = [each for each in episodes if not each.scored and not each.will_retry]
    if lost:
        place.check()
        raise DovetailError(
            f"{part.name}: {len(lost)} of {stage.episodes} episodes could not be played, "
            f"such as number {lost[0].index}: {lost[0].message or lost[0].reason}{place.hint()}"
        )
    return [each for each in episodes if each.scored]
