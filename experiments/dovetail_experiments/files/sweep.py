"""Seeds and sweeps: many executions from one experiment file.

This module reads the keys ``seeds`` or ``repeats``, ``[sweep]`` and ``[report]``; the rest of the
file is an experiment (``file``), played once for each seed and set of values.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from dovetail.peer.config_location import ConfigSource, Step
from dovetail.peer.extras import needed
from dovetail.peer.validation_messages import explained, meant
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import Few
from dovetail.protocol.seeds import derive
from dovetail_experiments.files import file as files
from dovetail_experiments.files.file import ExperimentFile, Mistake, Seed, located

Value = bool | int | float | str | list[Any] | dict[str, Any]


class ValueRange(Struct, frozen=True, forbid_unknown_fields=True):
    """A range of numbers, integers if both ends are."""

    low: Seed | float
    """Lowest value."""
    high: Seed | float
    """Highest value."""
    log: bool = False
    """True to sample logarithmically."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low = {self.low} is not below high = {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"low = {self.low} must be above 0 where log = true")

    @property
    def whole(self) -> bool:
        """Return whether the range has integers only."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def draw(self, rng: random.Random) -> int | float:
        """Return a random value."""
        if not self.log:
            if self.whole:
                return rng.randint(int(self.low), int(self.high))
            return rng.uniform(self.low, self.high)
        value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        return min(max(round(value), int(self.low)), int(self.high)) if self.whole else value


class Objective(Struct, frozen=True, forbid_unknown_fields=True):
    """The objective of a search: an agent's mean in an evaluation, over seeds and tasks."""

    evaluation: str
    """Name of an evaluation."""
    agent: str
    """Agent whose mean is maximised."""
    over: Literal["last", "area"] = "last"
    """The evaluation's last result, or the area under its curve, which also rewards learning
    early."""


class TaskPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[sweep.tasks.NAME]``: a game, board or opponent to try each set of values on."""

    set: Annotated[dict[str, Any], Meta(min_length=1)]
    """Values by key of the file, such as ``environment.configuration.columns``."""
    scale: tuple[float, float] | None = None
    """Results that count as 0 and as 1 in comparisons over tasks, such as those of a random and of
    the best known player."""

    def __post_init__(self) -> None:
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise ValueError(f"scale = {list(self.scale)}: the first must be below the second")


class SweepPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[sweep]``."""

    parameters: dict[str, Annotated[list[Any], Meta(min_length=1)] | ValueRange] = {}
    """Values or a range for each key of the file, such as ``agents.first.parameters.hidden``."""
    tasks: dict[str, TaskPart] = {}
    """Tasks by name. Each set of values is tried on each task; sets are compared within tasks and
    over all of them."""
    method: Literal["grid", "random", "optuna"] = "grid"
    """Choice of values: all of them, at random, or by Optuna."""
    trials: Annotated[int, Meta(ge=1, le=10**6)] = 20
    """Number of sets of values to try; a grid tries all."""
    batch: Few = 4
    """For Optuna: number of sets proposed at once, before any of their results are known."""
    objective: Objective | None = None
    """For Optuna: the objective to maximise."""
    prune: Literal["", "median", "asha"] = ""
    """For Optuna: rule that stops a set early if it does worse than others after as many trials,
    either below their median or by successive halving."""
    seed: Seed | None = None
    """Seed of the search; by default derived from the experiment's."""


class ReportPart(Struct, frozen=True, forbid_unknown_fields=True):
    """``[report]``: additions to the report over seeds."""

    level: float | None = None
    """Report the first number of episodes after which a curve reaches this level."""


class Keys(Struct, frozen=True):
    """Seeds, values and report settings of a file."""

    seeds: Annotated[list[Seed], Meta(min_length=1)] | None = None
    """Master seeds, replacing ``seed``."""
    repeats: Few | None = None
    """Number of master seeds to derive from ``seed``."""
    sweep: SweepPart | None = None
    """Values to try."""
    report: ReportPart = ReportPart()
    """Additions to the report."""


KEYS = Keys.__struct_fields__
TASK = "task"
"""Key of the task's name in an execution's settings."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a plan."""

    number: int
    """Number, from 1."""
    variant: str
    """The sweep's values as text; empty without a sweep."""
    settings: dict[str, Any]
    """Values by key of the file, with the name of the task, if any, as ``task``."""
    file: ExperimentFile

    @property
    def title(self) -> str:
        """Name in messages."""
        parts = [f"seed {self.file.seed}"]
        return ", ".join([self.variant, *parts] if self.variant else parts)


@dataclass(frozen=True, slots=True)
class TrialSelection:
    """Some of the trials of a plan; other programs play the rest."""

    text: str
    """The user's text: ``K/N``, a number or ``FIRST-LAST``."""
    first: int
    last: int | None = None
    """Last trial; None for every ``step``-th trial from the first on."""
    step: int = 1

    @classmethod
    def part(cls, text: str) -> TrialSelection:
        """Return every N-th trial, from the K-th on.

        >>> TrialSelection.part("2/3").of(7)
        [2, 5]

        Raises:
            DovetailError: the text is not ``K/N``.
        """
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise DovetailError(f"--trial {text}: expected K/N, with K from 1 to N")
        return cls(text, int(found[1]), None, int(found[2]))

    @classmethod
    def range(cls, text: str) -> TrialSelection:
        """Return the trials in a range of numbers.

        >>> TrialSelection.range("3-5").of(4)
        [3, 4]

        Raises:
            DovetailError: the text is neither a number nor ``FIRST-LAST``.
        """
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
        first, last = (0, 0) if found is None else (int(found[1]), int(found[2] or found[1]))
        if not 1 <= first <= last:
            raise DovetailError(f"--trials {text}: expected a number from 1 on, or FIRST-LAST")
        return cls(text, first, last)

    def of(self, count: int) -> list[int]:
        """Return the selected numbers among ``count`` trials."""
        last = count if self.last is None else min(self.last, count)
        return [*range(self.first, last + 1, self.step)]

    @property
    def folder(self) -> str:
        """Name of the subfolder for their results."""
        return f"part-{self.text.replace('/', '-of-')}"


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The executions that a file describes."""

    source: ConfigSource
    table: dict[str, Any]
    """Contents of the file without the keys that this module reads."""
    seeds: list[int]
    sweep: SweepPart | None
    report: ReportPart
    given: dict[str, Any]
    """Complete contents of the file, with overrides."""
    base: ExperimentFile
    """The experiment with the first seed and without the sweep's values."""

    @property
    def alone(self) -> bool:
        """Return whether there is only one execution."""
        return self.sweep is None and len(self.seeds) == 1

    @property
    def searched(self) -> bool:
        """Return whether later trials depend on the results of earlier ones."""
        return self.sweep is not None and self.sweep.method == "optuna"

    @property
    def objective(self) -> Objective | None:
        """The objective, for a search by Optuna."""
        return None if self.sweep is None else self.sweep.objective

    def trials(self, settings: Mapping[str, Any], first: int) -> list[Trial]:
        """Return the executions of one set of values, one for each task and seed.

        Args:
            first: the number of the first execution.

        Raises:
            DovetailError: the file is not a valid experiment with these values.
        """
        made: list[Trial] = []
        for name, given in self.tasks.items():
            task = {TASK: name} if name else {}
            for seed in self.seeds:
                with self.trying({**task, **settings}):
                    file = files.made(self.source, self.table, {**given, **settings, "seed": seed})
                variant = label({**task, **settings})
                made.append(Trial(first + len(made), variant, {**task, **given, **settings}, file))
        return made

    @property
    def tasks(self) -> dict[str, dict[str, Any]]:
        """Values that each task sets, by its name; without tasks, a single entry with an empty
        name."""
        parts = {} if self.sweep is None else self.sweep.tasks
        return {name: part.set for name, part in parts.items()} or {"": {}}

    @property
    def width(self) -> int:
        """Number of trials for each set of values."""
        return len(self.tasks) * len(self.seeds)

    @contextmanager
    def trying(self, settings: Mapping[str, Any]) -> Iterator[None]:
        """Add the sweep's values to errors raised in the block."""
        try:
            yield
        except DovetailError as error:
            if not settings:
                raise
            raise DovetailError(f"{error} (with {label(settings)})") from None

    @property
    def scales(self) -> dict[str, tuple[float, float]]:
        """Results of tasks that count as 0 and 1, where given."""
        return scales(self.sweep)

    def proposals(self) -> list[dict[str, Any]]:
        """Return the sets of values of a grid or a random search; one empty set without a sweep."""
        sweep = self.sweep
        if sweep is None:
            return [{}]
        if sweep.method == "grid":
            values = [each for each in sweep.parameters.values() if isinstance(each, list)]
            return [
                dict(zip(sweep.parameters, each, strict=True))
                for each in itertools.product(*values)
            ]
        rng = random.Random(self.search_seed)
        return [
            {
                key: rng.choice(each) if isinstance(each, list) else each.draw(rng)
                for key, each in sweep.parameters.items()
            }
            for _ in range(sweep.trials)
        ]

    def corners(self) -> list[dict[str, Any]]:
        """Return sets that include every value and every end of a range, for checks before play."""
        if self.sweep is None:
            return [{}]
        parameters = self.sweep.parameters
        if not parameters:
            return [{}]
        ends = [v if isinstance(v, list) else [v.low, v.high] for v in parameters.values()]
        return [
            {
                key: each[min(number, len(each) - 1)]
                for key, each in zip(parameters, ends, strict=True)
            }
            for number in range(max(len(each) for each in ends))
        ]

    @property
    def search_seed(self) -> int:
        """Seed of a random search."""
        assert self.sweep is not None
        return derive(self.base.seed, "sweep") if self.sweep.seed is None else self.sweep.seed


def read(path: Path, overrides: Mapping[str, Any] | None = None) -> SweepPlan:
    """Read an experiment file, with some of its keys overridden.

    Raises:
        DovetailError: the file cannot be read or contradicts itself; the message says where.
    """
    table = files.table(path, overrides or {})
    own = {key: table.pop(key) for key in KEYS if key in table}
    source = ConfigSource(path, tuple(overrides or ()))
    try:
        keys = msgspec.convert(own, Keys)
    except msgspec.ValidationError as error:
        raise DovetailError(explained(error, Keys, own, source)) from None
    base = files.made(source, table, {})
    with located(source):
        seeds = _seeds(keys, base)
        if keys.sweep is not None:
            _check(keys.sweep, base)
            parameters, tasks = keys.sweep.parameters, keys.sweep.tasks
            swept: dict[str, tuple[Step, ...]] = {
                key: ("sweep", "tasks", name, "set", key)
                for name, task in reversed(tasks.items())
                for key in task.set
            }
            swept |= {key: ("sweep", "parameters", key) for key in parameters}
            source = replace(source, swept=swept)
    plan = SweepPlan(source, table, seeds, keys.sweep, keys.report, {**table, **own}, base)
    for values in plan.corners():
        plan.trials(values, 1)
    return plan


def _seeds(keys: Keys, base: ExperimentFile) -> list[int]:
    if keys.seeds is not None and keys.repeats is not None:
        raise Mistake("seeds and repeats cannot be used together; remove one", "repeats")
    if keys.repeats is not None:
        return [base.seed, *(derive(base.seed, "repeat", n) for n in range(1, keys.repeats))]
    seeds = keys.seeds or [base.seed]
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise Mistake(f"seeds has {seed} twice; equal seeds give equal runs", "seeds")
    return seeds


def scales(sweep: SweepPart | None) -> dict[str, tuple[float, float]]:
    """Return the results of tasks that count as 0 and 1, where given."""
    tasks = {} if sweep is None else sweep.tasks
    return {name: task.scale for name, task in tasks.items() if task.scale is not None}


class Proposals(list[dict[str, Any]]):
    """Sets of values that a search proposes at once.

    Args:
        asked: Optuna's trial for each set.
    """

    def __init__(self, asked: Sequence[Any], sweep: SweepPart) -> None:
        self.asked = asked
        super().__init__(
            {key: _suggest(trial, key, each) for key, each in sweep.parameters.items()}
            for trial in asked
        )

    def hopeless(self, number: int, played: int, value: float) -> bool:
        """Return whether a set should be stopped early.

        Args:
            played: the number of its finished trials.
            value: the objective over those trials.
        """
        self.asked[number].report(value, played)
        return bool(self.asked[number].should_prune())


def optuna_search(plan: SweepPlan) -> Generator[Proposals, Sequence[float | None], None]:
    """Yield batches of sets of values; expect the mean objective of each set, None if it was
    stopped early.

    Results are reported to Optuna in the order of the batch, so the search depends only on its
    seed, however many trials run at once.

    Raises:
        DovetailError: Optuna is not installed.
    """
    optuna = needed("optuna")
    sweep = plan.sweep
    assert sweep is not None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruners = optuna.pruners
    pruner = {
        "": pruners.NopPruner,
        "median": partial(pruners.MedianPruner, n_startup_trials=sweep.batch),
        "asha": partial(pruners.SuccessiveHalvingPruner, min_resource=1, reduction_factor=2),
    }[sweep.prune]()
    sampler = optuna.samplers.TPESampler(seed=plan.search_seed % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)
    left = sweep.trials
    while left:
        asked = [study.ask() for _ in range(min(left, sweep.batch))]
        left -= len(asked)
        results = yield Proposals(asked, sweep)
        for trial, value in zip(asked, results, strict=True):
            if value is None:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            else:
                study.tell(trial, value)


def _suggest(trial: Any, key: str, values: list[Any] | ValueRange) -> Any:
    if isinstance(values, list):  # by index: Optuna accepts only plain values
        return values[trial.suggest_int(key, 0, len(values) - 1)]
    if values.whole:
        return trial.suggest_int(key, values.low, values.high, log=values.log)
    return trial.suggest_float(key, values.low, values.high, log=values.log)


def label(settings: Mapping[str, Any]) -> str:
    """Return values as a short text, with only the last part of each key if that is unique.

    >>> label({"agents.a.parameters.hidden": 16, "agents.a.parameters.rate": 0.5})
    'hidden=16 rate=0.5'
    """
    keys = list(settings)
    short = {key: key.rpartition(".")[2] for key in keys}
    for key in keys:
        if list(short.values()).count(key.rpartition(".")[2]) > 1:
            short[key] = key
    return " ".join(f"{short[key]}={text(value)}" for key, value in settings.items())


def text(value: Any) -> str:
    """Return a setting's value as text; different values give different texts.

    >>> text("16"), text(16), text(1e6), text(1000001.0)
    ('"16"', '16', '1e+06', '1000001.0')
    """
    if isinstance(value, float):
        short = f"{value:.6g}"
        return short if float(short) == value else repr(value)
    if not isinstance(value, str):
        return jsontext.option(value)
    try:
        json.loads(value)
    except ValueError:
        # Spaces and equals signs separate settings.
        return jsontext.option(value) if not value or set(value) & set(" =") else value
    return jsontext.option(value)  # without quotes it would read as another type


def exact(value: Any) -> str:
    """Return a setting's value as text from which it can be restored."""
    return value if isinstance(value, str) else jsontext.option(value)


def _check(sweep: SweepPart, base: ExperimentFile) -> None:
    if not sweep.parameters and (not sweep.tasks or sweep.method != "grid"):
        raise Mistake(
            "[sweep.parameters] is empty; name a key and its values", "sweep", "parameters"
        )
    for name, task in sweep.tasks.items():
        where = "sweep", "tasks", name, "set"
        for key in task.set:
            if key.partition(".")[0] in (*KEYS, "seed", "name"):
                raise Mistake(f"[sweep.tasks.{name}] cannot change {key!r}", *where, key)
            if key in sweep.parameters:
                text = f"[sweep.tasks.{name}] and [sweep.parameters] both set {key!r}; remove one"
                raise Mistake(text, *where, key)
    for key, values in sweep.parameters.items():
        if key.partition(".")[0] in (*KEYS, "seed", "name"):
            raise Mistake(f"[sweep.parameters] cannot change {key!r}", "sweep", "parameters", key)
        if sweep.method == "grid" and isinstance(values, ValueRange):
            text = f"a grid needs the values of {key!r} as a list; a range needs method"
            raise Mistake(f'{text} = "random" or "optuna"', "sweep", "parameters", key)
    if sweep.method != "optuna":
        if sweep.objective is not None:
            raise Mistake('[sweep] objective needs method = "optuna"', "sweep", "objective")
        if sweep.prune:
            raise Mistake('[sweep] prune needs method = "optuna"', "sweep", "prune")
        return
    if sweep.objective is None:
        needs = 'objective = { evaluation = "NAME", agent = "NAME" }'
        raise Mistake(f'[sweep] method = "optuna" needs {needs}', "sweep", "method")
    found = {each.name: each for each in base.evaluations}
    aim, place = sweep.objective, ("sweep", "objective")
    if aim.evaluation not in found:
        hint = meant(aim.evaluation, found) or f"; there are {', '.join(map(repr, found))}"
        text = f"there is no evaluation {aim.evaluation!r}{hint}"
        raise Mistake(f"[sweep] objective: {text}", *place, "evaluation")
    seats = found[aim.evaluation].seats
    if aim.agent not in seats:
        hint = meant(aim.agent, seats) or f"; it seats {', '.join(seats)}"
        text = f"the evaluation {aim.evaluation!r} does not seat {aim.agent!r}{hint}"
        raise Mistake(f"[sweep] objective: {text}", *place, "agent")
    learners = base.learners()
    if learners and aim.agent not in learners:
        text = f"{aim.agent!r} does not learn; name an agent that does: {', '.join(learners)}"
        raise Mistake(f"[sweep] objective: {text}", *place, "agent")
