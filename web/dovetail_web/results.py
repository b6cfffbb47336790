"""Results for the page: the executions of stores, with the tables and pictures of their reports."""

from __future__ import annotations

import contextlib
import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.records import database
from dovetail_experiments.records.records import Records, Where
from dovetail_experiments.reports import (
    charts,
    numbers,
    over_seeds,
    over_tasks,
    report,
    reporting,
)
from dovetail_experiments.reports.charts import Chart
from dovetail_experiments.reports.page import ratings
from dovetail_experiments.reports.sheets import Sheet, conduct, endings, sheet, stages
from dovetail_experiments.reports.standings import standings
from dovetail_experiments.reports.table import standings_table
from dovetail_experiments.stages.schedule import StageResult
from dovetail_web import headlines
from dovetail_web.files import csv_of

MOST_LISTED = 500
"""Maximum executions listed of a store, the newest."""
MOST_KEPT = 6
"""Maximum executions whose tables are cached."""
SETTING = 200
"""Maximum characters shown of a setting."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """A part of an execution's page."""

    key: str
    """The key in addresses, by which sections of two executions are paired."""
    title: str
    sheet: Sheet | None = None
    charts: Sequence[Chart] = ()
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """The tables as plain numbers for CSV, by name."""


@dataclass(frozen=True)
class Execution:
    """An execution of an experiment, and its results."""

    row: Row
    """Its row of the table ``executions``."""
    file: ExperimentFile
    stages: Sequence[Row]
    """Its rows of the table ``stages``."""
    complete: bool
    sections: Sequence[Section]

    def section(self, key: str) -> Section | None:
        return next((each for each in self.sections if each.key == key), None)

    @property
    def headlines(self) -> list[str]:
        """Its findings, in sentences."""
        found = []
        for number, tournament in enumerate(self.file.tournaments, 1):
            section = self.section(f"tournament-{number}")
            if section is not None:
                rows = section.tables["standings"]
                found.append(headlines.of_tournament(tournament.name, tournament.seats, rows))
        stages = self.section("stages")
        found += headlines.of_evaluations([] if stages is None else stages.tables["stages"])
        return [each for each in found if each][: headlines.MOST]


class ListedExperiment(NamedTuple):
    """An experiment of a store, with its latest sweep or execution."""

    name: str
    description: str
    game: str
    latest: int
    """The number of its latest execution."""
    swept: bool
    progress: str
    running: bool


@dataclass(frozen=True)
class StoreListing:
    """A store and its executions."""

    name: str
    executions: Sequence[Row] = ()
    """Rows of the table ``executions`` without the file, newest first."""
    experiments: Sequence[ListedExperiment] = ()
    problem: str = ""


@dataclass(frozen=True)
class Sweep:
    """The executions of a sweep, and their results."""

    name: str
    rows: Sequence[Row]
    """Rows of the table ``executions``, with ``began`` and the ``finished`` stages."""
    charts: Sequence[Chart]
    """A chart for each evaluation and agent."""
    groups: Sequence[Sequence[over_seeds.VariantRow]]
    """A table for each evaluation and agent, with a row for each variant."""
    over: Sequence[Sequence[over_tasks.TaskRow]] = ()
    """The same tables over tasks, if the sweep has several."""

    @property
    def running(self) -> bool:
        """True while an execution is not finished."""
        return any(row["finished"] is None for row in self.rows)

    @property
    def progress(self) -> str:
        """The progress, in words."""
        done = sum(row["finished"] is not None for row in self.rows)
        return f"Running, {done} of {len(self.rows)}" if self.running else f"{done} runs"

    @property
    def headlines(self) -> list[str]:
        """Its findings, in sentences."""
        found = map(headlines.of_variants, self.groups)
        return [each for each in found if each][: headlines.MOST]

    def plain(self) -> list[dict[str, Any]]:
        """Return the rows as plain numbers."""
        seeds = [over_seeds.plain(each) for group in self.groups for each in group]
        tasks = [over_tasks.plain(each) for group in self.over for each in group]
        names = dict.fromkeys(name for each in [*seeds, *tasks] for name in each)
        return [{name: each.get(name) for name in names} for each in [*seeds, *tasks]]


class Results:
    """The stores of a page.

    Args:
        stores: folders of experiments, SQLite files, or URLs of databases.
    """

    def __init__(self, stores: Sequence[str]) -> None:
        self.stores = tuple(stores)
        self._made: OrderedDict[tuple[int, int], tuple[object, Execution]] = OrderedDict()
        self._swept: OrderedDict[tuple[int, int], tuple[object, Sweep]] = OrderedDict()
        self._sound: dict[Where, tuple[int, int]] = {}
        """Time and size of each file in which no damage was found."""
        self._lock = threading.Lock()
        """Guards reading, one execution at a time."""

    def listed(self) -> Iterator[StoreListing]:
        """Yield each store with its executions, newest first, or its error."""
        for where in self.stores:
            try:
                with self._opened(where) as records:
                    names = [each for each in records.columns("executions") if each != "file"]
                    rows = list(records.rows("executions", columns=names))
                    done: dict[int, list[int]] = {}
                    began: dict[int, float] = {}
                    for each in records.rows(
                        "stages", columns=["execution", "started", "finished"]
                    ):
                        number = each["execution"]
                        count = done.setdefault(number, [0, 0])
                        count[0] += each["finished"] is not None
                        count[1] += 1
                        if each["started"] is not None:
                            began[number] = min(each["started"], began.get(number, math.inf))
                    about = _about(records, rows)
            except DovetailError as error:
                yield StoreListing(database.shown(where), problem=str(error))
                continue
            # A sweep enters all its trials at once; each begins with its first stage.
            found: list[Row] = [
                {
                    **row,
                    "stages": done.get(row["id"], [0, 0]),
                    "started": began.get(row["id"], None if row["trial"] else row["started"]),
                }
                for row in rows
            ]
            newest = found[-MOST_LISTED:][::-1]
            yield StoreListing(database.shown(where), newest, _experiments(newest, about))

    def execution(self, store: int, number: int) -> Execution:
        """Return an execution with its tables and pictures.

        Raises:
            DovetailError: there is no such store or execution, or it cannot be read.
        """
        with self._lock, self._records(store) as records:
            row = next(records.rows("executions", where=[f"id={number}"]), None)
            if row is None:
                raise DovetailError(
                    f"{database.shown(self.stores[store])} has no execution {number}"
                )
            stages = list(records.rows("stages", where=[f"execution={number}"]))
            state = row["finished"], [each["finished"] for each in stages]
            kept = self._made.get((store, number))
            if kept is None or kept[0] != state:
                file = reporting.file_of(row)
                played, complete = reporting.replayed(records, file, number)
                sections = list(_sections(file, played)) if played else []
                kept = state, Execution(row, file, stages, complete, sections)
                self._made[store, number] = kept
                while len(self._made) > MOST_KEPT:
                    self._made.popitem(last=False)
            return kept[1]

    def sweep(self, store: int, number: int) -> Sweep:
        """Return the latest sweep of an execution's experiment; raise as above, or if there is
        none."""
        with self._lock, self._records(store) as records:
            row = next(records.rows("executions", where=[f"id={number}"]), None)
            if row is None or row["trial"] is None:
                where = database.shown(self.stores[store])
                raise DovetailError(f"{where} has no sweep with an execution {number}")
            rows = reporting.shown(records, row["name"])
            ids = {each["id"] for each in rows}
            state: dict[int, list[Row]] = {each: [] for each in ids}
            names = ["execution", "started", "finished"]
            for stage in records.rows("stages", columns=names):
                if stage["execution"] in ids:
                    state[stage["execution"]].append(stage)
            finished = [sum(s["finished"] is not None for s in each) for each in state.values()]
            key = [each["finished"] for each in rows], finished
            kept = self._swept.get((store, number))
            if kept is None or kept[0] != key:
                kept = key, _sweep(records, rows, state, reporting.scales(self.stores[store]))
                self._swept[store, number] = kept
                while len(self._swept) > MOST_KEPT:
                    self._swept.popitem(last=False)
            return kept[1]

    def episodes(self, store: int, number: int) -> str:
        """Return a row per seat and episode of an execution as CSV; raise as above."""
        with self._records(store) as records:
            columns = records.columns()
            return csv_of(columns, records.rows(where=[f"execution={number}"]))

    def _records(self, store: int) -> Records:
        if not 0 <= store < len(self.stores):
            raise DovetailError(f"there is no store {store}; Results lists them")
        return self._opened(self.stores[store])

    def _opened(self, where: Where) -> Records:
        """Open a record; one that has changed, and is not being written, is searched for damage."""
        records = Records(where, check=False)
        try:
            path = Path(str(sa.make_url(records.url).database))
            if path.is_file() and not path.with_name(f"{path.name}-wal").exists():
                status = path.stat()
                state = status.st_mtime_ns, status.st_size
                if self._sound.get(where) != state:
                    records.check()
                    self._sound[where] = state
        except BaseException:
            records.close()
            raise
        return records


def _about(records: Records, rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """Return the description and game of each experiment, by name, from its latest execution."""
    latest = {each["name"]: each["id"] for each in rows}
    found = {}
    for name, number in latest.items():
        row = next(records.rows("executions", where=[f"id={number}"]))
        with contextlib.suppress(DovetailError):  # a file of an older version
            file = reporting.file_of(row)
            found[name] = file.description, file.environment.name
    return found


def _experiments(
    newest: Sequence[Row], about: Mapping[str, tuple[str, str]]
) -> list[ListedExperiment]:
    """Return the experiments of executions, the newest first."""
    named: dict[str, list[Row]] = {}
    for each in newest:
        named.setdefault(each["name"], []).append(each)
    found = []
    for name, rows in named.items():
        swept = rows[0]["trial"] is not None
        mine = [each for each in rows if each["trial"] is not None] if swept else rows[:1]
        done = sum(each["finished"] is not None for each in mine)
        running = done < len(mine)
        count = f"{done} of {len(mine)} runs" if running else f"{done} run{'s' * (done != 1)}"
        found.append(
            ListedExperiment(
                *(name, *about.get(name, ("", "")), rows[0]["id"], swept),
                *(f"Running, {count}" if running else count, running),
            )
        )
    return found


def differences(one: ExperimentFile, other: ExperimentFile) -> list[tuple[str, str, str]]:
    """Return the settings in which two experiment files differ: the key and both values."""
    first, second = (dict(_flat("", msgspec.to_builtins(each))) for each in (one, other))
    keys = list(dict.fromkeys([*first, *second]))
    return [
        (key, first.get(key, "-")[:SETTING], second.get(key, "-")[:SETTING])
        for key in keys
        if first.get(key) != second.get(key)
    ]


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list) and value:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in parts:
            yield from _flat(f"{key}.{name}" if key else str(name), each)
    else:
        yield key, msgspec.json.encode(value).decode()


# -- sections --------------------------------------------------------------------------------------


def _sections(file: ExperimentFile, played: Sequence[StageResult]) -> Iterator[Section]:
    found = numbers.numbers(file, played)
    for number, tournament in enumerate(file.tournaments):
        shown = standings(file, tournament, played)
        drawn = []
        curves = ratings(file, played, tournament)
        if curves:
            drawn.append(charts.plain("Ratings", "share of the games", "Elo", curves))
        plain = found["tournaments"][number]
        yield Section(
            f"tournament-{number + 1}",
            f"Tournament {tournament.name}",
            sheet(standings_table(shown, full=True)),
            drawn,
            {"standings": _spread(plain["players"]), "cross-table": plain["cross_table"]},
        )
    measure, points = report.curves(file, played)
    if any(len(each) > 1 for each in points.values()):
        rows = [
            {
                "curve": label,
                "episodes": point.trained,
                **_spread([{measure: asdict(point.estimate)}])[0],
            }
            for label, each in points.items()
            for point in each
        ]
        drawn = [charts.learning(measure, points)]
        yield Section("curves", "Learning curves", None, drawn, {"curves": rows})
    drawn = charts.measured(played)
    if drawn:
        means = [
            {"measure": line.name, "episodes": x, "mean": y}
            for each in drawn
            for line in each.lines
            for x, y in zip(line.x, line.y, strict=True)
        ]
        yield Section("measures", "What agents measured", None, drawn, {"measures": means})
    yield Section(
        "stages", "All stages", stages(played), tables={"stages": _spread(found["stages"])}
    )
    times, ends = numbers.conduct(played), numbers.endings(played)
    for key, title, each, rows in (
        ("conduct", "Thinking times and faults", conduct(times), times),
        ("endings", "Endings", endings(ends, played), ends),
    ):
        yield Section(key, title, each, tables={key: rows})


def _sweep(
    records: Records,
    rows: Sequence[Row],
    stages: Mapping[int, Sequence[Row]],
    scales: over_tasks.Scales,
) -> Sweep:
    """Read a sweep's series: means over finished runs, and a line for each other run."""
    ids = [each["id"] for each in rows]
    done = [each["id"] for each in rows if each["finished"] is not None]
    begun = [each for each in ids if each not in done and stages[each]]
    agents = list(reporting.file_of(rows[-1]).agents)
    series = over_seeds.series(records, done, among=ids) if done else []
    series = over_seeds.distinct(series, agents)
    partial = over_seeds.series(records, begun, among=ids) if begun else []
    partial = partial if series else over_seeds.distinct(partial, agents)
    groups = {(each[0].where, each[0].agent): each for each in over_seeds.grouped(series)}
    others = {(each[0].where, each[0].agent): each for each in over_seeds.grouped(partial)}
    if groups:
        others = {key: each for key, each in others.items() if key in groups}
    shown = []
    for row in rows:
        of = stages[row["id"]]
        times = [each["started"] for each in of if each["started"] is not None]
        count = sum(each["finished"] is not None for each in of)
        shown.append({**row, "began": min(times, default=None), "stages": [count, len(of)]})
    over = over_tasks.rows(series, scales)
    return Sweep(
        rows[-1]["name"],
        shown,
        [
            *(charts.profile(each) for each in over),
            *(
                charts.over_seeds(groups.get(key, []), others.get(key, []))
                for key in dict.fromkeys([*groups, *others])
            ),
        ],
        over_seeds.rows(series),
        over,
    )


def _spread(rows: Sequence[Row]) -> list[Row]:
    """Return rows with three columns per estimate, such as ``won``, ``won_low`` and
    ``won_high``."""
    return [dict(_cells(row)) for row in rows]


def _cells(row: Row) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping) and "value" in value:
            yield name, value["value"]
            yield from ((f"{name}_{end}", value[end]) for end in ("low", "high"))
        elif name == "capped":
            yield from ((f"{name}_{inner}", each) for inner, each in _cells(value or {}))
        else:
            yield name, value
