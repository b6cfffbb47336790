"""Write the report of an experiment from its record: ``report.html`` in its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from dovetail.peer.quoting import command
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.files import sweep
from dovetail_experiments.files.file import ExperimentFile, stored
from dovetail_experiments.files.sweep import Keys
from dovetail_experiments.records import database, episodes
from dovetail_experiments.records.records import Records, Where
from dovetail_experiments.reports import kept, over_seeds
from dovetail_experiments.reports.output import write
from dovetail_experiments.reports.over_tasks import Scales
from dovetail_experiments.reports.page import PageSource, page
from dovetail_experiments.stages import playing
from dovetail_experiments.stages.schedule import StageResult, more, stages

REPORT = "report.html"
AGAIN = "experiment.json"
"""File with all settings, from which an experiment can be played again."""


def make(
    folder: Path,
    where: Where | None = None,
    exact: int = kept.GAMES,
    name: str | None = None,
    played: Sequence[StageResult] | None = None,
) -> Path:
    """Write the report of the last experiment in a folder; return its path.

    Args:
        folder: the experiment's folder, with its journals; the report is written there.
        where: its record, if that is elsewhere.
        exact: games of each tournament and evaluation to compare with exact values; 0 for none.
        name: the experiment to report, if the record has several; if None and the record is
            elsewhere, the folder's name.
        played: the results of its single execution, which need not be read again.

    Raises:
        DovetailError: there is no record, it is empty, or the report cannot be written.
    """
    with Records(where or folder) as records:
        rows = shown(records, name or (folder.name if where else None))
        sources = [_source(records, row, folder, played) for row in rows]
        series = []
        if len(rows) > 1:
            done = [source for source in sources if source.complete]
            series = over_seeds.series(records, [source.row["id"] for source in done])
        text = page(sources, series, _command(folder, sources[-1]), asked(folder), exact)
    path = folder / REPORT
    write(path, text.encode())
    return path


def shown(records: Records, name: str | None) -> list[Mapping[str, Any]]:
    """Return the executions of the last experiment: a single one, or the last of each trial."""
    rows = [row for row in records.rows("executions") if name in (None, row["name"])]
    if not rows:
        raise DovetailError(f"{database.shown(records.url)} has no executions to report")
    last = rows[-1]
    if last["trial"] is None:
        return [last]
    trials: dict[tuple[str, int], Mapping[str, Any]] = {}
    for row in rows:
        if row["trial"] is not None and row["name"] == last["name"]:
            trials[row["variant"], row["seed"]] = row
    # Of the last sweep, even if its first trial has not begun.
    first = max((row["id"] for row in rows if row["trial"] == 1), default=0)
    return sorted(
        (row for row in trials.values() if row["id"] >= first or row["finished"]),
        key=lambda row: int(row["trial"]),
    )


def _source(
    records: Records,
    row: Mapping[str, Any],
    folder: Path,
    played: Sequence[StageResult] | None = None,
) -> PageSource:
    file = file_of(row)
    trial = folder / "trials" / f"{row['trial'] or 0:03}"
    complete = True
    if played is None:
        played, complete = replayed(records, file, row["id"])
    stages_of = records.rows("stages", columns=["software"], where=[f"execution={row['id']}"])
    software = tuple(dict.fromkeys(each["software"] for each in stages_of))
    return PageSource(row, file, played, complete, trial if trial.is_dir() else folder, software)


def file_of(row: Mapping[str, Any]) -> ExperimentFile:
    """Return the experiment file of a row of ``executions``.

    Raises:
        DovetailError: another version wrote it, and this one cannot read it.
    """
    try:
        return stored(row["file"])
    except codec.UNREADABLE as error:
        raise DovetailError(
            f"execution {row['id']} was played by a Dovetail whose files this one cannot read: "
            f"{error}"
        ) from None


def replayed(
    records: Records, file: ExperimentFile, execution: int
) -> tuple[list[StageResult], bool]:
    """Return an execution's finished stages with their results, and whether all have finished."""
    rows = records.rows("stages", where=[f"execution={execution}"])
    finished = {row["number"]: row["id"] for row in rows if row["finished"] is not None}
    done: list[StageResult] = []
    todo = stages(file)
    while todo or (todo := more(file, done)):
        stage = todo.pop(0)
        if stage.number not in finished:
            return done, False
        read = partial(episodes.read, records.connection, finished[stage.number])
        done.append(playing.played(stage, read))
    return done, True


def _command(folder: Path, source: PageSource) -> str:
    again = folder / AGAIN
    if again.is_file():
        return command("run", again)
    return command("run", "FILE", "--set", f"seed={source.file.seed}")


def scales(where: Where) -> Scales:
    """Return the scales of the tasks of an experiment, given its folder or a file in it."""
    if not isinstance(where, str | Path) or "://" in str(where):
        return {}
    path = Path(where)
    return sweep.scales(asked(path if path.is_dir() else path.parent).sweep)


def asked(folder: Path) -> Keys:
    """Return the seeds, sweep and report settings of the experiment in a folder, if known."""
    try:
        return msgspec.json.decode((folder / AGAIN).read_bytes(), type=Keys)
    except (OSError, *codec.UNREADABLE):
        return Keys()
