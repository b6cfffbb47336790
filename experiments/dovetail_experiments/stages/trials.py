"""Play an experiment file once, with several seeds, or as a sweep, several executions at once."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from dovetail.protocol.display_text import plain
from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.engines.engine import engine
from dovetail_experiments.engines.local import hear, local
from dovetail_experiments.engines.pieces import (
    PieceDone,
    PieceEvent,
    PieceFailed,
    PieceLost,
    Yielded,
    pieces,
)
from dovetail_experiments.files import file as files
from dovetail_experiments.files import secrets as sealing
from dovetail_experiments.files import sweep
from dovetail_experiments.files.checking import check, first_states
from dovetail_experiments.files.shipping import Shipping
from dovetail_experiments.files.sweep import Objective, Proposals, SweepPlan, Trial, TrialSelection
from dovetail_experiments.records import database
from dovetail_experiments.records.records import FILE, Records
from dovetail_experiments.records.store import Store
from dovetail_experiments.reports import numbers, output, over_seeds, over_tasks
from dovetail_experiments.reports.over_seeds import Series
from dovetail_experiments.stages import remote, runner
from dovetail_experiments.stages.cluster import outfit_of
from dovetail_experiments.stages.progress import duration
from dovetail_experiments.stages.remote import RemoteWriter, order
from dovetail_experiments.stages.runner import (
    Again,
    ExecutionEntry,
    ExecutionResult,
    RunnerOptions,
    Task,
)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The finished executions of a plan."""

    plan: SweepPlan
    folder: Path
    url: database.Url
    executions: list[int]
    """Numbers of the executions in the store, in the order of the trials."""
    series: list[Series]
    """Evaluation results over the seeds."""


def execute(
    path: Path,
    *,
    store: str | None = None,
    out: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    resume: bool = False,
    extend: bool = False,
    jobs: int = 1,
    options: RunnerOptions | None = None,
    only: TrialSelection | None = None,
) -> ExecutionResult | SweepResult:
    """Play an experiment file with all its seeds and values; show progress, write all output.

    Args:
        store: an SQLAlchemy URL; a SQLite file in ``out`` if None.
        out: the folder for all output, in a subfolder with the experiment's name; ``out`` if None.
        overrides: keys of the file to change, such as ``phases.0.episodes``.
        resume: continue an interrupted run; finished executions are not played again.
        extend: build on the last finished execution, to which players were added since.
        jobs: the number of executions at once, each in its own process.
        only: the trials to play, in a separate folder; None for all.

    Raises:
        DovetailError: the file or an option is wrong, a program failed, or the store cannot be
            used.
    """
    plan = sealing.prepared(path, overrides)
    options = options or RunnerOptions()
    if only is not None and (plan.alone or plan.searched):
        why = "it is one trial" if plan.alone else "its trials depend on the results of others"
        raise DovetailError(f"{path} cannot be played in parts: {why}; remove --trial and --trials")
    if plan.alone:
        return runner.execute(
            path,
            store=store,
            out=out,
            overrides=overrides,
            resume=resume,
            extend=extend,
            options=options,
        )
    if extend:
        raise DovetailError(f"{path}: --extend is for one execution; remove seeds and [sweep]")
    if options.on is not None and options.callbacks:
        raise DovetailError(
            f"{path} has several trials, and callbacks are told in this program only; remove "
            f"callbacks or --on {options.on}, or name trackers (track)"
        )
    if (jobs > 1 or options.on is not None) and options.sharded(plan.base) > 1:
        raise DovetailError(f"{path}: --jobs and shards both use the cores; remove one of them")
    if options.connect is None:
        check(plan)
    with runner.prepared(out, plan, "" if only is None else only.folder) as folder:
        url = store or database.url_of(folder / FILE)
        return _All(plan, folder, url, resume, jobs, options, only).play()


@dataclass
class _All:
    _plan: SweepPlan
    _folder: Path
    _url: database.Url
    _resume: bool
    _jobs: int
    _options: RunnerOptions
    _only: TrialSelection | None = None

    def __post_init__(self) -> None:
        # Values of a sweep such as [true, false] are not markup.
        self._console = Console(highlight=False, soft_wrap=True, markup=False)
        self._again = Again.of(self._folder, self._plan)
        self._executions: list[int] = []
        self._first: dict[str, tuple[int, int]] = {}
        """By experiment as JSON: the first trial that plays it, and its index in the executions."""
        self._played = 0
        self._numbered = 0
        """Number of trials numbered so far."""

    def play(self) -> SweepResult:
        if self._plan.searched:
            self._search()
        else:
            trials = self._of(self._plan.proposals())
            if self._only is not None:
                numbers = self._only.of(len(trials))
                if not numbers:
                    raise DovetailError(
                        f"there is no trial {self._only.text}: {self._plan.base.name} has "
                        f"{len(trials)}"
                    )
                trials = [trials[number - 1] for number in numbers]
            self._begun(trials)
        if self._resume and not self._played:
            self._console.print("every trial was played before")
            self._again.write()  # its report may have new settings
        with Records(self._url) as records:
            series = over_seeds.series(records, self._executions)
        done = SweepResult(self._plan, self._folder, self._url, self._executions, series)
        show(done, self._console)
        runner.told(self._folder, self._url, self._plan.base.name)
        return done

    def _search(self) -> None:
        search = sweep.optuna_search(self._plan)
        assert self._plan.sweep is not None
        aim = self._plan.sweep.objective
        assert aim is not None
        proposals = next(search)
        while True:
            values = self._raced(proposals, aim)
            try:
                proposals = search.send(values)
            except StopIteration:
                return

    def _raced(self, proposals: Proposals, aim: Objective) -> list[float | None]:
        """Play sets of values; return the objective of each, None for those stopped early."""
        assert self._plan.sweep is not None
        width = self._plan.width
        trials = self._of(proposals)
        sets = [trials[at : at + width] for at in range(0, len(trials), width)]
        values: list[float | None] = [0.0] * len(sets)
        places: list[list[int]] = [[] for _ in sets]
        """Indices of each set's executions."""
        # Without pruning, all trials may run at once.
        step = 1 if self._plan.sweep.prune else width
        for played in range(step, width + 1, step):
            alive = [number for number, value in enumerate(values) if value is not None]
            round_ = [trial for n in alive for trial in sets[n][played - step : played]]
            before = len(self._executions)
            self._begun(round_)
            with Records(self._url, check=False) as records:
                for count, number in enumerate(alive):
                    at = before + count * step
                    places[number] += self._executions[at : at + step]
                    found = over_seeds.series(records, places[number], self._executions)
                    value = over_tasks.worth(found, aim, self._plan.scales)
                    values[number] = value
                    if played < width and proposals.hopeless(number, played, value):
                        values[number] = None
                        title = sets[number][0].variant
                        self._console.print(f"{title}: stopped after {played} of {width} trials")
        return values

    def _of(self, proposals: Sequence[Mapping[str, Any]]) -> list[Trial]:
        trials: list[Trial] = []
        for settings in proposals:
            trials += self._plan.trials(settings, self._numbered + len(trials) + 1)
        self._numbered += len(trials)
        return trials

    def _begun(self, trials: Sequence[Trial]) -> None:
        """Play the trials that are not finished; each enters the store as it starts."""
        for trial in trials:
            self._options.sharded(trial.file)
        todo: list[tuple[Trial, str, int | None]] = []
        """Trials with their file as JSON, and the execution to resume."""
        places: list[int] = []
        """Their indices in the executions."""
        same: list[tuple[int, int]] = []
        with Store(self._url) as store:
            if self._resume and not self._executions:
                store.check()
            for trial in trials:
                file = files.text(trial.file)
                if file in self._first:  # a search may propose the same values again
                    number, at = self._first[file]
                    same.append((len(self._executions), at))
                    self._executions.append(0)
                    self._console.print(
                        f"trial {trial.number} ({trial.title}): the same as trial {number}"
                    )
                    continue
                last = store.last(trial.file.name, file) if self._resume else None
                self._first[file] = trial.number, len(self._executions)
                if last is not None and last[1]:
                    self._console.print(f"trial {trial.number} ({trial.title}): played before")
                else:
                    places.append(len(self._executions))
                    todo.append((trial, file, None if last is None else last[0]))
                self._executions.append(0 if last is None else last[0])
            new = iter(store.reserve(sum(number is None for *_, number in todo)))
        self._played += len(todo)
        tasks = []
        for at, (trial, file, before) in zip(places, todo, strict=True):
            number = self._executions[at] = next(new) if before is None else before
            entry = ExecutionEntry(
                number,
                file,
                begun=before is not None,
                again=self._again,
                trial=trial.number,
                variant=trial.variant,
                settings={key: sweep.exact(value) for key, value in trial.settings.items()},
            )
            more = self._folder_of(trial), self._url, self._options, trial.title
            tasks.append(Task(trial.file, self._plan.source, entry, *more))
        for here, at in same:
            self._executions[here] = self._executions[at]
        if not tasks:
            return
        if self._options.on is not None:
            self._elsewhere(tasks)
            return
        if self._jobs == 1:
            for task in tasks:
                self._console.print(f"trial {task.entry.trial}: {task.title}")
                runner.play(task)
            return
        self._at_once(tasks)

    def _folder_of(self, trial: Trial) -> Path:
        folder = self._folder / "trials" / f"{trial.number:03}"
        with attempting(f"write into {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _at_once(self, tasks: Sequence[Task]) -> None:
        level = logging.getLogger("dovetail").level
        count = min(self._jobs, len(tasks))
        shown = _Shown(self._console, tasks)
        with local(count, _quietly, _work, (level,)) as pool:
            for event in pieces(pool, len(tasks), lambda piece: (tasks[piece],), count):
                if isinstance(event, Yielded):
                    shown.seconds[event.piece] = event.value
                else:
                    shown.show(event)
        shown.end()

    def _elsewhere(self, tasks: Sequence[Task]) -> None:
        """Play on a cluster; this program writes the store."""
        assert self._options.on is not None
        shipping = Shipping(self._plan.source.path.parent)
        shipped = [shipping.add(task.file) for task in tasks]
        outfit = outfit_of(shipped[:1], shipping)
        resources = self._plan.base.processes.resources
        shown = _Shown(self._console, tasks)
        with Store(self._url) as store:
            writers = [RemoteWriter(store, t.file, t.entry, t.folder) for t in tasks]

            def arguments(piece: int) -> tuple[bytes]:
                task, writer = tasks[piece], writers[piece]
                states = first_states(task.file)
                more = (task.title, writer.parts(), states, self._options)
                return (order(shipped[piece], task.entry, *more),)

            with (
                engine(self._options.on, outfit) as cluster,
                cluster.pool(remote.played, resources) as pool,
            ):
                self._console.print(cluster.about)
                count = self._jobs or max(1, int(cluster.slots / max(resources.cpus, 0.01)))
                for event in pieces(pool, len(tasks), arguments, min(count, len(tasks))):
                    if isinstance(event, Yielded):
                        if writers[event.piece].take(event.value):
                            store.flush()
                        continue
                    if isinstance(event, PieceDone):
                        writers[event.piece].finish()
                        shown.seconds[event.piece] = writers[event.piece].seconds
                    shown.show(event)
        shown.end()


class _Shown:
    """Shows the results of concurrent trials."""

    def __init__(self, console: Console, tasks: Sequence[Task]) -> None:
        self._console = console
        self._tasks = tasks
        self._began = time.monotonic()
        self._failures: list[str] = []
        self._over = 0
        self.seconds = [0.0] * len(tasks)
        """Duration of each trial."""

    def show(self, event: PieceEvent) -> None:
        task, count = self._tasks[event.piece], len(self._tasks)
        name = f"trial {task.entry.trial} ({task.title})"
        if isinstance(event, PieceLost):
            text = f"{name} restarts from its last stage: {plain(event.why)}"
            self._console.print(text)
            return
        self._over += 1
        if isinstance(event, PieceFailed):
            self._failures.append(f"{name}: {event.error}")
            self._console.print(f"{name} failed: {plain(str(event.error))}")
            return
        left = (time.monotonic() - self._began) / self._over * (count - self._over)
        self._console.print(
            f"{name}: {self.seconds[event.piece]:.1f} s; {self._over} of {count}, "
            f"about {duration(left)} left"
        )

    def end(self) -> None:
        """Report the failed trials.

        Raises:
            DovetailError: a trial failed.
        """
        if self._failures:
            raise DovetailError(
                f"{len(self._failures)} of {len(self._tasks)} trials failed; the first: "
                f"{self._failures[0]}; --resume plays them again"
            )


def _quietly(task: Task) -> Iterator[float]:
    """Play in a worker, with its output in a file; yield the seconds it took."""
    began = time.monotonic()
    logging.basicConfig(
        stream=sys.stderr, format=f"dovetail: trial {task.entry.trial}: %(message)s", force=True
    )
    with (
        open(task.folder / "progress.txt", "a", encoding="utf-8", buffering=1) as out,
        contextlib.redirect_stdout(out),
    ):
        try:
            _Worker.busy = True
            runner.play(task)
        except KeyboardInterrupt:
            os._exit(1)  # so as not to take the next task, which may already be there
        finally:
            _Worker.busy = False
    yield time.monotonic() - began


class _Worker:
    """State of a worker process."""

    busy = False


def _work(level: int) -> None:
    """Prepare a worker to stop its programs before it ends.

    Args:
        level: the parent's logging level.
    """
    logging.getLogger("dovetail").setLevel(level)

    def stop(number: int, frame: object) -> None:
        if not _Worker.busy:
            os._exit(0)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    hear()


def show(done: SweepResult, console: Console) -> None:
    """Show the results over seeds; write ``summary.txt``, ``curves`` and ``results.json``."""
    level = done.plan.report.level
    groups = over_seeds.rows(done.series, level)
    shown = over_seeds.distinct(done.series, list(done.plan.base.agents))
    over = over_tasks.rows(shown, done.plan.scales)
    tables = [*over_seeds.tables(over_seeds.rows(shown, level)), *over_tasks.tables(over)]
    wide = console if console.is_terminal else Console(width=140, highlight=False, markup=False)
    for table in tables:
        wide.print(table)
    if not tables:
        console.print("no evaluations: nothing to compare over seeds")
    best = over_tasks.best(done.series, done.plan.objective, done.plan.scales)
    if best:
        wide.print(best)
    output.tables(done.folder / "summary.txt", *tables, *([best] if best else []))
    output.write(done.folder / "results.json", encoded(groups, over))
    where = done.folder, done.plan.base.name, ("png", "svg", "pdf")
    files = over_seeds.pictures(shown, *where) + over_tasks.pictures(over, *where)
    console.print(f"summary    {done.folder / 'summary.txt'}")
    for each in files:
        if each.suffix == ".png":
            console.print(f"{each.stem.partition('-')[0]:10} {each}")
    all_ = done.executions
    span = f"{min(all_)}..{max(all_)}" if all_ else "none"
    console.print(f"results    {database.shown(done.url)} (executions {span})")


def encoded(
    groups: Sequence[Sequence[over_seeds.VariantRow]],
    over: Sequence[Sequence[over_tasks.TaskRow]] = (),
) -> bytes:
    """Return results over seeds and tasks as JSON; rows over tasks have no ``task``."""
    found: list[dict[str, Any]] = [
        {
            **({"task": row.series.task} if row.series.task else {}),
            "evaluation": row.series.evaluation,
            "agent": row.series.agent,
            "variant": row.series.variant,
            "measure": row.series.measure,
            "runs": {
                str(seed): {str(t): v for t, v in run.items()}
                for seed, run in row.series.runs.items()
            },
            "final": row.band,
            "games_left_out": row.series.left_out,
            "software": row.series.software,
            "note": row.band.note,
            "level": row.level,
            "against_first": row.comparison,
            "p_adjusted": row.adjusted,
        }
        for group in groups
        for row in group
    ]
    found += [over_tasks.plain(row) for group in over for row in group]
    return numbers.encoded(found)
