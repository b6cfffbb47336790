"""Results for the page: the executions of stores, with the tables and pictures of their reports."""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.records import database
from dovetail_experiments.records.records import Records
from dovetail_experiments.reports import numbers, over_seeds, plot, report, reporting
from dovetail_experiments.reports.page import ratings
from dovetail_experiments.reports.sheets import Sheet, conduct, endings, sheet
from dovetail_experiments.reports.standings import standings
from dovetail_experiments.reports.table import standings_table, summary
from dovetail_experiments.stages.schedule import StageResult, tallies
from dovetail_web.files import csv_of

MOST_LISTED = 500
"""Executions of a store that are listed, the newest."""
MOST_KEPT = 6
"""Executions whose tables are kept in memory."""
SETTING = 200
"""Characters of a setting that are shown."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """A part of an execution's page."""

    key: str
    """In addresses; sections of two executions with the same key stand side by side."""
    title: str
    sheet: Sheet | None = None
    pictures: Mapping[str, str] = field(default_factory=dict)
    """SVG by name."""
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """By name, what the tables show as plain numbers, for CSV."""


@dataclass(frozen=True)
class Execution:
    """An execution of an experiment, as far as it was played."""

    row: Row
    """Of the table ``executions``."""
    file: ExperimentFile
    stages: Sequence[Row]
    """Of the table ``stages``."""
    complete: bool
    sections: Sequence[Section]

    def section(self, key: str) -> Section | None:
        """Return a section by its key."""
        return next((each for each in self.sections if each.key == key), None)


class Results:
    """The stores of a page.

    Args:
        stores: folders of experiments, SQLite files, or URLs of databases.
    """

    def __init__(self, stores: Sequence[str]) -> None:
        self.stores = tuple(stores)
        self._made: OrderedDict[tuple[int, int], tuple[object, Execution]] = OrderedDict()
        self._lock = threading.Lock()
        """Executions are read one at a time; pictures are drawn under settings of the whole process."""

    def listed(self) -> Iterator[tuple[str, list[Row], str]]:
        """Yield each store with its executions, the newest first, and what is wrong with it."""
        for where in self.stores:
            try:
                with Records(where) as records:
                    names = [each for each in records.columns("executions") if each != "file"]
                    rows = list(records.rows("executions", columns=names))
                    done: dict[int, list[int]] = {}
                    for each in records.rows("stages", columns=["execution", "finished"]):
                        count = done.setdefault(each["execution"], [0, 0])
                        count[0] += each["finished"] is not None
                        count[1] += 1
            except DovetailError as error:
                yield database.shown(where), [], str(error)
                continue
            found: list[Row] = [{**row, "stages": done.get(row["id"], [0, 0])} for row in rows]
            yield database.shown(where), found[-MOST_LISTED:][::-1], ""

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
                sections = list(_seeds(records, row))
                sections += _sections(file, played) if played else ()
                kept = state, Execution(row, file, stages, complete, sections)
                self._made[store, number] = kept
                while len(self._made) > MOST_KEPT:
                    self._made.popitem(last=False)
            return kept[1]

    def episodes(self, store: int, number: int) -> str:
        """Return a row for each seat of each episode of an execution, as CSV; errors as above."""
        with self._records(store) as records:
            columns = records.columns()
            return csv_of(columns, records.rows(where=[f"execution={number}"]))

    def _records(self, store: int) -> Records:
        if not 0 <= store < len(self.stores):
            raise DovetailError(f"there is no store {store}; see Results for those that there are")
        return Records(self.stores[store])


def differences(one: ExperimentFile, other: ExperimentFile) -> list[tuple[str, str, str]]:
    """Return the settings that two experiment files do not share: key, and the values of both."""
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
        drawn = {}
        curves = ratings(file, played, tournament)
        if curves:
            title = f"{tournament.name}: ratings as games were played"
            drawn["ratings"] = _svg(plot.lines, title, "share of the games", "Elo", curves)
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
        drawn = {"curves": _svg(plot.learning_curves, file.name, measure, points)}
        yield Section("curves", "Learning curves", None, drawn, {"curves": rows})
    lines = [(each.stage, tally) for each in played for tally in tallies(each)]
    yield Section(
        "stages",
        "All stages",
        sheet(summary("", lines, full=True)),
        tables={"stages": _spread(found["stages"])},
    )
    times, ends = numbers.conduct(played), numbers.endings(played)
    for key, title, each, rows in (
        ("conduct", "Thinking times and faults", conduct(times), times),
        ("endings", "Endings", endings(ends, played), ends),
    ):
        yield Section(key, title, each, tables={key: rows})


def _seeds(records: Records, row: Row) -> Iterator[Section]:
    """Yield what the trials of a sweep say together, if the execution is one of them."""
    if row["trial"] is None:
        return
    rows = [each for each in reporting.shown(records, row["name"]) if each["finished"]]
    if len(rows) < 2:
        return
    series = over_seeds.series(records, [each["id"] for each in rows])
    for number, group in enumerate(over_seeds.rows(series), 1):
        (table,) = over_seeds.tables([group])
        with tempfile.TemporaryDirectory() as folder:
            mine = [each.series for each in group]
            paths = over_seeds.pictures(mine, Path(folder), row["name"], ("svg",))
            drawn = {path.stem: path.read_text(encoding="utf-8") for path in paths}
        found = sheet(table)
        title = f"Over seeds: {found.title}"
        yield Section(
            f"seeds-{number}",
            title,
            found,
            drawn,
            {"seeds": [over_seeds.plain(each) for each in group]},
        )


def _svg(draw: Any, *given: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "picture.svg")
        draw([path], *given)
        return path.read_text(encoding="utf-8")


def _spread(rows: Sequence[Row]) -> list[Row]:
    """Return rows in which an estimate takes three columns: ``won``, ``won_low`` and ``won_high``."""
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
