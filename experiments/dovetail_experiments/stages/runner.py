"""Play an experiment file from start to end: stages, results, states, report."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from dovetail.peer import provenance
from dovetail.peer.broker_watchdog import GIVE_UP
from dovetail.peer.config_location import ConfigSource
from dovetail.peer.gc_tuning import patient
from dovetail.protocol import codec
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.engines.hosts import HostLost
from dovetail_experiments.engines.pieces import LOSSES
from dovetail_experiments.files import file as files
from dovetail_experiments.files import secrets as sealing
from dovetail_experiments.files.checking import check, first_states
from dovetail_experiments.files.file import ExperimentFile, located
from dovetail_experiments.files.sweep import SweepPlan
from dovetail_experiments.records import database
from dovetail_experiments.records.records import FILE
from dovetail_experiments.records.store import Store, TakenOver
from dovetail_experiments.reports import report, reporting
from dovetail_experiments.reports.numbers import encoded, numbers
from dovetail_experiments.reports.output import alone, write
from dovetail_experiments.reports.reporting import AGAIN
from dovetail_experiments.stages import places
from dovetail_experiments.stages.callbacks import (
    Callback,
    ExecutionStart,
    KeptStates,
    PlayedStage,
    telling,
    tracker,
    values,
)
from dovetail_experiments.stages.cluster import on_cluster
from dovetail_experiments.stages.extending import Key, taken_over
from dovetail_experiments.stages.places import Deployment
from dovetail_experiments.stages.playing import Playing
from dovetail_experiments.stages.schedule import StageResult
from dovetail_experiments.stages.shards import refusal

log = logging.getLogger("dovetail_experiments")


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """A finished experiment."""

    file: ExperimentFile
    number: int
    """Number in the store."""
    folder: Path
    """Folder of its summary and plots."""
    played: list[StageResult]
    states: dict[str, bytes]
    """The learners' final states, by name."""


@dataclass(frozen=True, slots=True)
class RunnerOptions:
    """Options for playing an experiment."""

    connect: str | None = None
    """A running broker to use instead of starting processes."""
    token: str | None = None
    """That broker's access token."""
    in_process: bool = False
    """Play in this program, without sockets."""
    give_up: float | None = GIVE_UP
    """Seconds without an answer from the broker before play fails; None for no limit."""
    shards: int | None = None
    """Number of brokers that share the episodes; None for the file's value."""
    on: str | None = None
    """Engine of the cluster to play on, ``ray`` or ``ray:HOST:PORT``."""
    track: tuple[str, ...] = ()
    """Names of the trackers to use."""
    callbacks: tuple[Callback, ...] = ()
    """Additional callbacks."""

    def __post_init__(self) -> None:
        """Check that the options are compatible.

        Raises:
            DovetailError: two options conflict.
        """
        if self.on is not None and (self.connect is not None or self.in_process):
            other = "--connect" if self.connect is not None else "--in-process"
            raise DovetailError(
                f"--on {self.on} starts its own brokers and programs on the cluster; remove {other}"
            )
        for name in self.track:
            tracker(name)

    def sharded(self, file: ExperimentFile) -> int:
        """Return the number of shards in which to play an experiment.

        Raises:
            DovetailError: it cannot be played in this number.
        """
        count = file.processes.shards if self.shards is None else self.shards
        if count == 1 or (self.on is not None and self.shards is None and file.learners()):
            return 1
        if self.on is not None and count == 0:
            count = 1 if file.learners() else 2  # the cluster decides the number later
        if self.connect is not None:
            why = "they need their own brokers; remove --connect"
        elif self.in_process:
            why = "they are processes; remove --in-process"
        else:
            why = refusal(file, count)
        if why:
            raise DovetailError(f"{file.name} cannot be played in {count} shards: {why}")
        return count


def execute(
    path: Path,
    *,
    store: str | None = None,
    out: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    resume: bool = False,
    extend: bool = False,
    options: RunnerOptions | None = None,
) -> ExecutionResult:
    """Play an experiment file without seeds and sweep; show a summary, write results and plots.

    Arguments and errors are those of ``trials.execute``, which plays all files.
    """
    plan = sealing.prepared(path, overrides)
    if not plan.alone:
        raise DovetailError(
            f"{path} has seeds or a sweep; dovetail_experiments.stages.trials.execute plays it"
        )
    options = options or RunnerOptions()
    options.sharded(plan.base)
    if options.connect is None:
        check(plan)
    with prepared(out, plan) as folder:
        url = store or database.url_of(folder / FILE)
        rows: dict[Key, list[int]] = {}
        extended = None
        with Store(url) as results:
            if extend or resume:
                results.check()
            if extend:
                extended, rows = taken_over(plan.base, results)
            where = str(folder) if store is None else database.shown(store)
            number = to_resume(results, plan.base, where) if resume else None
            entry = ExecutionEntry(
                results.reserve(1)[0] if number is None else number,
                files.text(plan.base),
                begun=number is not None,
                again=Again.of(folder, plan),
                extends=extended,
            )
        done = _kept_up(Task(plan.base, plan.source, entry, folder, url, options, rows=rows))
        told(folder, url, plan.base.name, done.played)
        return done


def _kept_up(task: Task) -> ExecutionResult:
    """Play an execution; if its host on a cluster is lost, continue after the last finished stage.

    The record counts the attempts at each stage.
    """
    for loss in range(1, LOSSES + 1):
        try:
            return play(task)
        except HostLost as error:
            if loss == LOSSES:
                raise
            log.warning(
                "%s; all programs restart on other nodes, from the last finished stage", error
            )
            entry = task.entry
            with Store(task.url) as results:
                begun = results.unfinished(task.file.name, entry.file) == entry.number
            task = replace(task, entry=replace(entry, begun=begun))
    raise AssertionError


def told(
    folder: Path, url: database.Url, name: str, played: Sequence[StageResult] | None = None
) -> None:
    """Write the report of an experiment, and print its path; arguments as for ``make``."""
    path = reporting.make(folder, url, name=name, played=played)
    Console(highlight=False, markup=False).print(f"report     {path}", soft_wrap=True)


@contextmanager
def prepared(out: Path | None, plan: SweepPlan, part: str = "") -> Iterator[Path]:
    """Lock the folder of an experiment, or of a part of it, for this process.

    Raises:
        DovetailError: another process plays there, or the folder cannot be written.
    """
    folder = (out or Path("out")) / plan.base.name / part
    with attempting(f"write into {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        yield folder


def to_resume(results: Store, file: ExperimentFile, where: str) -> int:
    """Return the number of the interrupted execution to resume.

    Args:
        where: the store's name in files, for initial states that come from it.

    Raises:
        DovetailError: there is nothing to resume, or another experiment was interrupted.
    """
    text = files.text(file)
    execution = results.unfinished(file.name, text)
    if execution is None:
        other = results.interrupted(file.name)
        if other is None:
            raise DovetailError(
                f"no interrupted run of {file.name} to resume; run it without --resume"
            )
        number, began = other
        try:
            old = msgspec.json.decode(began)
        except codec.UNREADABLE:
            raise DovetailError(
                f"the store {where} is damaged: the file of execution {number} is not JSON"
            ) from None
        changed = ", ".join(changes(old, msgspec.json.decode(text)))
        learned = [name for name in results.saved(number) if name in file.agents]
        keep = [
            f"`agents.{name}.state = {jsontext.option(f'{where}:{name}@{number}')}`"
            for name in learned
        ]
        raise DovetailError(
            f"the interrupted run of {file.name} began with other values of {changed}; "
            "resume it with those, or run without --resume"
            + (f"; to keep what was learned, add {' and '.join(keep)}" if keep else "")
        )
    if changed := ", ".join(touched(file, results.started(execution))):
        log.warning(
            "%s changed after this run of %s began; games may differ from now on; to play all of "
            "them again, run without --resume",
            *(changed, file.name),
        )
    return execution


def touched(file: ExperimentFile, since: float) -> list[str]:
    """Return the files of the user's environments and agents that were modified after a time."""
    names = [file.environment.name, *(each.type for each in file.agents.values())]
    paths = dict.fromkeys(name.rpartition(":")[0] for name in names)
    return [
        each
        for each in paths
        if each.endswith(".py") and Path(each).is_file() and Path(each).stat().st_mtime > since
    ]


def changes(old: Any, new: Any, path: str = "") -> list[str]:
    """Return the keys at which two files differ, in the order of the old one.

    >>> changes({"seed": 1, "a": {"type": "td"}}, {"seed": 2, "a": {"type": "random"}})
    ['seed', 'a.type']
    """
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return [] if old == new else [path]
    return [
        each
        for key in {**old, **new}
        for each in changes(old.get(key), new.get(key), f"{path}.{key}".lstrip("."))
    ]


@dataclass(frozen=True, slots=True)
class Again:
    """The file in an experiment's folder with which to play it again."""

    path: Path
    data: bytes

    @classmethod
    def of(cls, folder: Path, plan: SweepPlan) -> Again:
        """Return the file for a plan."""
        given = msgspec.json.format(msgspec.json.encode(plan.given), indent=2)
        return cls(folder / AGAIN, given + b"\n")

    def write(self) -> None:
        write(self.path, self.data)


@dataclass(frozen=True, slots=True)
class ExecutionEntry:
    """An execution to be added to the store once all its programs are ready.

    A failed start leaves no entry, which a report would show and ``--resume`` would play.
    """

    number: int
    file: str
    """The experiment as JSON, as it is stored; a worker's copy may be formatted differently."""
    begun: bool
    """True if the execution is in the store and is being resumed."""
    again: Again
    trial: int | None = None
    variant: str = ""
    settings: Mapping[str, str] | None = None
    extends: int | None = None
    """The execution that it extends."""

    def enter(self, results: Store, file: ExperimentFile) -> None:
        """Start the execution, or take it over from the interrupted attempt."""
        if self.begun:
            results.take(self.number)
        else:
            results.begin(
                file.name,
                self.file,
                file.seed,
                number=self.number,
                trial=self.trial,
                variant=self.variant,
                settings=self.settings,
            )
        self.again.write()


@dataclass(frozen=True, slots=True)
class Task:
    """An execution to play."""

    file: ExperimentFile
    source: ConfigSource
    """The file's source, for errors."""
    entry: ExecutionEntry
    folder: Path
    """The folder for journal, logs, summary and plots."""
    url: database.Url
    options: RunnerOptions
    title: str = ""
    """The title of its trial."""
    rows: dict[Key, list[int]] | None = None
    """Row numbers of an earlier execution's stages to reuse."""


def play(task: Task) -> ExecutionResult:
    """Play an execution from its last finished stage."""
    going = steps(task)
    while True:
        try:
            next(going)
        except StopIteration as over:
            done: ExecutionResult = over.value
            return done


def steps(task: Task) -> Generator[StageResult, None, ExecutionResult]:
    """Play an execution from its last finished stage; yield each stage once it is in the store."""
    file, entry, folder, options = task.file, task.entry, task.folder, task.options
    execution = entry.number
    with Store(task.url) as results:
        journal = folder / f"games-{execution}.journal"
        shards = options.sharded(file)
        place: AbstractContextManager[Deployment]
        if options.connect is not None:
            place = places.at_broker(file, options.connect, options.token, options.give_up)
        elif options.in_process:
            place = places.in_this_program(file, journal)
        elif options.on is not None:
            count = file.processes.shards if options.shards is None else options.shards
            at = task.source.path.parent, options.on, count
            place = on_cluster(file, *at, journal, folder / "logs", options.give_up)
        elif shards > 1:
            logs = folder / "logs"
            place = places.in_shards(file, shards, journal, logs, options.give_up)
        else:
            place = places.own_processes(file, journal, folder / "logs", options.give_up)
        console = Console(highlight=False, markup=False)
        with located(task.source), _entered(entry, results, journal), place as there:
            console.print(there.about, soft_wrap=True)
            try:
                if entry.begun:
                    entry.enter(results, file)
                before = {} if entry.extends is None else results.saved(entry.extends)
                kept = results.saved(execution)
                states = first_states(file) | before | kept
                playing = Playing(file, there, results, execution, states, task.rows or {})
            except DovetailError:
                there.check()  # a program's failure explains more than its consequences
                raise
            if not entry.begun:
                entry.enter(results, file)
            for name, state in before.items():
                if name not in kept:
                    results.keep(execution, name, state)
            played = []
            known = results.finished_stages(execution)
            told = [KeptStates(), *map(tracker, options.track), *options.callbacks]
            start = ExecutionStart(
                file, execution, folder, entry.variant, dict(entry.settings or {})
            )
            with telling(told, start), patient():  # the collector would search all results
                for each in playing.play():
                    played.append(each)
                    if len(told) > 1 or any(p.save_every or p.keep_best for p in file.phases):
                        again = each.stage.number in known
                        now = results.saved(execution)
                        about = PlayedStage(each, values(each), now, again)
                        for one in told:
                            one.stage(about)
                    yield each
        places.merge_journals(journal)
        states = results.saved(execution)
        report.write(file, played, folder)
        software = results.software(execution)
        if warning := provenance.mixed(software, "stages"):
            log.warning("%s: %s", file.name, warning)
        write(folder / "results.json", encoded(numbers(file, played, software)))
        results.finish(execution)  # last, so that an interruption before it can be resumed
    console.print(f"results    {database.shown(task.url)} (execution {execution})", soft_wrap=True)
    return ExecutionResult(file, execution, folder, played, states)


@contextmanager
def _entered(entry: ExecutionEntry, results: Store, journal: Path) -> Iterator[None]:
    """Remove an execution and its journals from the store if it fails before its first episode."""
    known = {*places.journals(journal)}
    try:
        yield
    except TakenOver:
        raise
    except DovetailError:
        withdrawn = False
        with suppress(DovetailError):  # it would hide the cause
            withdrawn = not entry.begun and results.withdraw(entry.number)
        if withdrawn:
            for each in {*places.journals(journal)} - known:
                each.unlink(missing_ok=True)
        raise
