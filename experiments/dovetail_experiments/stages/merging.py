"""Merge executions of an experiment, played in several places, into one record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from rich.console import Console

from dovetail.protocol import journal as journals
from dovetail.protocol.errors import DovetailError, attempting
from dovetail.protocol.journal import AnyRecord, EpisodeRecord
from dovetail_experiments.files import secrets as sealing
from dovetail_experiments.records import database
from dovetail_experiments.records.records import FILE, Records
from dovetail_experiments.records.store import Store
from dovetail_experiments.reports import over_seeds, reporting
from dovetail_experiments.reports.output import alone, write
from dovetail_experiments.reports.reporting import AGAIN
from dovetail_experiments.stages import places, runner, trials

Row = Mapping[str, Any]


def merge(to: Path, parts: Sequence[Path]) -> list[int]:
    """Copy the finished executions of some folders into another one, and report its results.

    Executions already there are skipped, so a merge can be repeated. Each execution is copied
    together with its journal or not at all.

    Args:
        to: the target folder; created if missing.
        parts: folders that ``dovetail run`` wrote.

    Returns:
        The numbers of the executions copied.

    Raises:
        DovetailError: a part was played from another file or by other software, or cannot be read.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    entered: list[int] = []
    with attempting(f"write into {to}"):
        to.mkdir(parents=True, exist_ok=True)
    with alone(to):
        with Store(database.url_of(to / FILE)) as store:
            store.check()
            for part in parts:
                if part.resolve() != to.resolve():
                    entered += _part(to, store, part, console)
        _report(to, console)
    return entered


def _part(to: Path, store: Store, part: Path, console: Console) -> Iterator[int]:
    with Records(part) as records:
        for row in list(records.rows("executions")):
            name = f"{part}: execution {row['id']}"
            trial = "" if row["trial"] is None else f" (trial {row['trial']})"
            if row["finished"] is None:
                console.print(f"{name}{trial} is not finished; skipped")
                continue
            there = store.entered(row["name"], row["file"], row["trial"])
            if there is not None:
                console.print(f"{name}{trial} is already execution {there}")
                continue
            settings = {
                each["key"]: each["value"]
                for each in records.rows("settings", where=[f"execution={row['id']}"])
            }
            _check(to, records, row, settings, name)
            where = _folder(part, row["trial"])
            number = store.enter(records, row, partial(_journal, to, where, row))
            if not (to / AGAIN).is_file() and (part / AGAIN).is_file():
                write(to / AGAIN, (part / AGAIN).read_bytes())
            console.print(f"{name}{trial} is now execution {number}")
            yield number


def _folder(of: Path, trial: int | None) -> Path:
    return of if trial is None else of / "trials" / f"{trial:03}"


def _check(to: Path, records: Records, row: Row, settings: Mapping[str, str], name: str) -> None:
    """Check that an execution is of the same experiment as those in the target.

    Raises:
        DovetailError: it was played from another file or by other software.
    """
    with Records(to) as there:
        others = list(there.rows("executions", where=[f"name={row['name']}"]))
        software = _software(there, [each["id"] for each in others])
        kept = list(there.rows("settings"))
        if not others and (foreign := next(there.rows("executions", limit=1), None)):
            raise DovetailError(
                f"{name} is of the experiment {row['name']!r}, but {to} has {foreign['name']!r}; "
                "merge it into another folder"
            )
    mine = _software(records, [row["id"]])
    if software and mine != software:
        raise DovetailError(
            f"{name} was played by {' and '.join(sorted(mine))}, but {to} by "
            f"{' and '.join(sorted(software))}; play it again with the same, or merge it into "
            "another folder"
        )
    for other in others[:1]:
        keys = {*settings, *(each["key"] for each in kept if each["execution"] == other["id"])}
        changed = runner.changes(_bare(other["file"], keys), _bare(row["file"], keys))
        if changed:
            raise DovetailError(
                f"{name} was played from a file with other values of {', '.join(changed)} than "
                f"those in {to}; merge it into another folder"
            )


def _software(records: Records, executions: Sequence[int]) -> set[str]:
    rows = records.rows("stages", columns=["execution", "software"])
    return {each["software"] for each in rows if each["execution"] in executions}


def _bare(file: str, keys: set[str]) -> Any:
    """Return an experiment without its seed and the keys that a sweep sets."""
    table = msgspec.json.decode(file)
    for key in {"seed", *keys}:
        *path, last = key.split(".")
        at = table
        for each in path:
            at = at[int(each)] if isinstance(at, list) else at.get(each, {})
        if isinstance(at, list):
            at[int(last)] = None
        else:
            at.pop(last, None)
    return table


def _journal(to: Path, source: Path, row: Row, number: int) -> None:
    """Copy an execution's files, relabelling its journal with the new number."""
    target = _folder(to, row["trial"])
    with attempting(f"write into {target}"):
        if source.is_dir() and row["trial"] is not None:
            ignored = shutil.ignore_patterns("*.journal")
            shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        for journal in places.journals(source / f"games-{row['id']}.journal"):
            new = target / journal.name.replace(f"games-{row['id']}.", f"games-{number}.", 1)
            journals.write(new, _labelled(journal, row["id"], number))


def _labelled(journal: Path, old: int, new: int) -> Iterator[AnyRecord]:
    for record in journals.read(journal):
        if isinstance(record, EpisodeRecord) and record.label.startswith(f"{old}/"):
            record = replace(record, label=f"{new}{record.label.removeprefix(str(old))}")
        yield record


def _report(to: Path, console: Console) -> None:
    """Show and write the report of the merged experiment."""
    again = to / AGAIN
    plan = sealing.prepared(again, None) if again.is_file() else None
    url = database.url_of(to / FILE)
    with Records(url) as records:
        rows = [
            row
            for row in records.rows("executions", columns=["id", "trial", "finished"])
            if row["trial"] is not None and row["finished"] is not None
        ]
        rows.sort(key=lambda row: int(row["trial"]))
        executions = [row["id"] for row in rows]
        found = over_seeds.series(records, executions) if executions else []
    if plan is not None and executions:
        if not plan.searched:
            count = len(plan.proposals()) * plan.width
            missing = sorted({*range(1, count + 1)} - {row["trial"] for row in rows})
            if missing:
                listed = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
                console.print(f"{len(rows)} of {count} trials are present; missing: {listed}")
        trials.show(trials.SweepResult(plan, to, url, executions, found), console)
    console.print(f"report     {reporting.make(to)}")
