"""``dovetail results``, ``export``, ``states`` and ``report``: commands that read experiments."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli.common import UsageError, show, width
from dovetail.cli.group import group
from dovetail.cli.standard_streams import reserved
from dovetail.protocol.errors import DovetailError

if TYPE_CHECKING:
    from dovetail_experiments.records.records import Records, SavedState
    from dovetail_experiments.reports.games import RecordedGame

Where = Annotated[
    str,
    typer.Argument(
        metavar="OUT", help="The folder of an experiment (out/NAME), its database, or a URL."
    ),
]
TableName = Annotated[
    str,
    typer.Option(
        "--table",
        metavar="NAME",
        help="results (a row for each seat of each episode), executions, settings, stages, "
        "episodes, seats, measures or states.",
    ),
]
Columns = Annotated[
    str, typer.Option("--columns", metavar="A,B", help="Columns to include, in this order.")
]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Condition such as agent=td or trained>=1000; may be repeated.",
    ),
]
By = Annotated[
    str, typer.Option("--by", metavar="A,B", help="Group by these columns; print counts and means.")
]


def add(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(results)
    app.command()(export)
    app.command()(tensorboard)
    app.command()(report)
    states = group(
        name="states", help="List, take out, compare and put back the saved states of learners."
    )
    states.command(name="list")(list_states)
    states.command()(take)
    states.command()(compare)
    states.command()(put)
    app.add_typer(states)


def results(
    out: Where,
    table: TableName = "results",
    columns: Columns = "",
    where: Conditions = None,
    by: By = "",
    limit: Annotated[int | None, typer.Option(min=1)] = None,
    form: Annotated[str | None, typer.Option("--format", metavar="FORM")] = None,
    compare: bool = False,
) -> None:
    """Query the results of an experiment.

    Example: dovetail results out/sweep --by variant,agent --where kind=evaluation

    Args:
        limit: Maximum number of rows; default: 50 in a table.
        form: csv, jsonl or json instead of a table.
        compare: Compare the variants of the last sweep over seeds and tasks.
    """
    from rich.markup import escape

    from dovetail_experiments.records import export as files

    if form not in (None, "csv", "jsonl", "json"):
        raise UsageError(f"--format {form}: use csv, jsonl or json, or `dovetail export`")
    if compare and (columns or where or by or limit is not None or table != "results"):
        raise UsageError("--compare shows all of a sweep; only --format goes with it")
    with open_records(out) as records:
        if compare:
            _compared(records, out, form)
            return
        names, found = _selected(records, table, columns, where, by, limit)
        if form is not None:
            with reserved() as output:
                files.text(output, names, found, form)
            return
        _table(names, found, limit or 50, bool(columns or by))
        if by and table == "results" and (warning := _mixed(records, where)):
            show(escape(warning))


def _mixed(records: Records, where: list[str] | None) -> str:
    """Return a warning if rows that groups put together were played by different software."""
    from dovetail.peer import provenance

    stages = list(records.rows("stages", columns=["execution", "number", "software"]))
    if len({each["software"] for each in stages}) < 2:
        return ""
    found = records.rows(where=where or [], by=["execution", "stage"])
    shown = {(each["execution"], each["stage"]) for each in found}
    made = (each["software"] for each in stages if (each["execution"], each["number"]) in shown)
    return provenance.mixed(made)


def _compared(records: Records, out: str, form: str | None) -> None:
    from dovetail_experiments.records import export as files
    from dovetail_experiments.reports import over_seeds, over_tasks, reporting

    rows = reporting.shown(records, None)
    done = [row["id"] for row in rows if row["finished"] is not None]
    found = over_seeds.series(records, done, [row["id"] for row in rows]) if done else []
    found = over_seeds.distinct(found, list(reporting.file_of(rows[-1]).agents))
    if not found:
        raise DovetailError(f"{out} has no finished evaluations to compare")
    level = reporting.asked(Path(out)).report.level
    groups = over_seeds.rows(found, level)
    over = over_tasks.rows(found, reporting.scales(out))
    if form is None:
        for table in [*over_seeds.tables(groups), *over_tasks.tables(over)]:
            show(table, wide=width() or UNFOLDED)
        return
    flat = [over_seeds.plain(row) for group in groups for row in group]
    flat += [over_tasks.plain(row) for group in over for row in group]
    names = list(dict.fromkeys(name for row in flat for name in row))
    with reserved() as output:
        files.text(output, names, [{name: row.get(name) for name in names} for row in flat], form)


def export(
    out: Where,
    file: Annotated[str, typer.Argument(metavar="FILE")],
    table: TableName = "results",
    columns: Columns = "",
    where: Conditions = None,
    by: By = "",
    all_: Annotated[bool, typer.Option("--all")] = False,
) -> None:
    """Write the results of an experiment, or its games as text, to a file.

    Files already in a folder are kept, so the command can be repeated while an experiment runs.

    Example: dovetail export out/connect_four_two_learners games.txt

    Args:
        file: A file in .csv, .jsonl, .json or .parquet; .txt for the games; or a folder, ending in
            /, for a Parquet file of each finished stage that it lacks.
        all_: For .txt: include interrupted episodes, which do not count.
    """
    from dovetail_experiments.records import export as files

    path = Path(file)
    with open_records(out) as records:
        if path.suffix == ".txt":
            count = _games(records, Path(out), path, all_)
            print(f"{file}: {count:,} games")
            return
        if file.endswith(("/", os.sep)) or path.is_dir():
            if by or table != "results":
                raise UsageError(f"{file} is a folder, which takes --table results without --by")
            count = files.shards(records, path, _words(columns), where or [])
            print(f"{file}: {count:,} new files, one for each finished stage")
            return
        kinds = records.types(table, columns=_words(columns), by=_words(by))
        _, found = _selected(records, table, columns, where, by, None)
        count = files.rows(path, kinds, found)
    print(f"{file}: {count:,} rows of {table}")


def report(
    out: Annotated[Path, typer.Argument(metavar="OUT")],
    store: Annotated[str | None, typer.Option(metavar="URL")] = None,
    exact: Annotated[int, typer.Option(min=0)] = 50,
) -> None:
    """Write OUT/report.html, a page with all results; an experiment may still be running.

    Example: dovetail report out/connect_four_two_learners

    Args:
        out: The folder of an experiment (out/NAME).
        store: The experiment's database, if it is not in the folder.
        exact: Games per tournament and evaluation whose moves are compared with exact values.
    """
    from dovetail_experiments.reports.reporting import make

    if not out.is_dir():
        raise UsageError(f"{out} is not a folder; name the one that `dovetail run` wrote")
    print(f"report     {make(out, store, exact)}")


def open_records(out: str) -> Records:
    """Return the records of an experiment's folder, database or URL."""
    from dovetail_experiments.records.records import Records

    return Records(out)


def _selected(
    records: Records, table: str, columns: str, where: list[str] | None, by: str, limit: int | None
) -> tuple[list[str], Any]:
    wanted, keys = _words(columns), _words(by)
    if wanted and keys:
        raise UsageError("--columns and --by cannot be used together")
    found = records.rows(table, columns=wanted, where=where or [], by=keys, limit=limit)
    first = next(found, None)
    if first is None:
        return wanted or keys or records.columns(table), iter(())
    return list(first), itertools.chain([first], found)


def _words(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


FIRST = ("agent", "score", "return", "played", "trained", "episode", "seat", "reason", "turns")
"""Columns of the results that have priority when not all fit."""
UNFOLDED = 10_000
"""Width of a table written to a file or to another program."""


def fitting(names: Sequence[str], rows: Sequence[Sequence[str]], wide: int) -> list[int]:
    """Return the columns of a table that fit side by side: those in ``FIRST`` first, empty ones
    last.

    >>> fitting(["execution", "agent", "score"], [["1", "td", "0.5"]], 20)
    [1, 2]
    """
    from rich.cells import cell_len

    sizes = [
        3 + max(cell_len(text) for text in (name, *(row[number] for row in rows)))
        for number, name in enumerate(names)
    ]

    def rank(number: int) -> tuple[bool, int, int]:
        name, empty = names[number], not any(row[number] for row in rows)
        return empty, FIRST.index(name) if name in FIRST else len(FIRST), number

    left, found = wide - 1, []
    for number in sorted(range(len(names)), key=rank):
        if sizes[number] <= left:
            left -= sizes[number]
            found.append(number)
    return sorted(found) or [min(range(len(names)), key=rank)]


def _table(names: list[str], rows: Any, limit: int, chosen: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    cells = [
        [_cell(name, row[name]) for name in names] for row in itertools.islice(rows, limit + 1)
    ]
    more = len(cells) > limit
    del cells[limit:]
    if not cells:
        show("no rows")
        return
    wide = width()
    fit = list(range(len(names)))
    if wide is not None and not chosen:
        fit = fitting(names, cells, wide)
    shown = Table()
    for number in fit:
        shown.add_column(names[number], overflow="fold")
    for row in cells:
        shown.add_row(*(escape(row[number]) for number in fit))
    show(shown, wide=wide or UNFOLDED)
    if more:
        show(f"only the first {limit} rows; see --limit, --where and --by")
    if len(fit) < len(names):
        hidden = ", ".join(name for number, name in enumerate(names) if number not in fit)
        show(f"without {hidden}: choose with --columns, or see all with --format csv")


def _cell(name: str, value: Any) -> str:
    if name in ("started", "finished") and value is not None:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def tensorboard(out: Where, logdir: Annotated[Path, typer.Argument(metavar="LOGDIR")]) -> None:
    """Write learning curves and the agents' measures as logs for TensorBoard.

    Example: dovetail tensorboard out/sweep runs && tensorboard --logdir runs

    Args:
        logdir: Target folder, with one per execution.
    """
    from dovetail_experiments.records.tensorboard import write

    with open_records(out) as records:
        for folder, count in write(records, logdir):
            print(f"{folder}: {count:,} values")


def journals(folder: Path) -> list[Path]:
    """Return the journals in an experiment's folder, in order.

    Raises:
        DovetailError: there are none.
    """
    files = itertools.chain.from_iterable(
        folder.glob(f"{each}games-*.journal") for each in ("", "trials/*/")
    )
    found = sorted(files, key=lambda p: (len(p.name), p.name))
    if not found:
        raise DovetailError(f"{folder} has no games-N.journal; name the folder of an experiment")
    return found


def _games(records: Records, folder: Path, file: Path, all_: bool) -> int:
    from dovetail_experiments.records import export as files
    from dovetail_experiments.reports import games

    kept = journals(folder)
    known = labels(records)
    count = 0

    def write(to: Any) -> None:
        nonlocal count
        for journal in kept:
            for text in games.texts(journal, known, all_=all_):
                to.write(f"{text}\n")
                count += 1

    files.written(file, write)
    return count


def labels(records: Records) -> Mapping[str, RecordedGame]:
    """Return the record's data for each label in its journals."""
    from dovetail_experiments.reports.games import RecordedGame

    executions = {row["id"]: row["name"] for row in records.rows("executions")}
    seatings: dict[int, list[str]] = {}
    for row in records.rows("seatings"):
        seatings.setdefault(row["stage"], []).append(row["agent"])
    return {
        f"{row['execution']}/{row['number']}/{row['attempt']}": RecordedGame(
            executions[row["execution"]],
            row["name"],
            seatings.get(row["id"], []),
            bool(row["rotate"]),
        )
        for row in records.rows("stages")
    }


# -- states --------------------------------------------------------------------------------------


def list_states(out: Where) -> None:
    """List the saved states of an experiment's learners.

    Example: dovetail states list out/connect_four_two_learners
    """
    from hashlib import sha256

    from rich.markup import escape
    from rich.table import Table

    table = Table()
    for column in ("state", "type", "variant", "seed", "after stage", "bytes", "sha256"):
        table.add_column(column, overflow="fold")
    with open_records(out) as records:
        for each in records.states():
            name = f"{out}:{each.agent}@{each.execution}"
            digest = sha256(each.state).hexdigest()[:12]
            numbers = (str(each.seed), str(each.stage), f"{len(each.state):,}")
            table.add_row(*map(escape, (name, each.type, each.variant, *numbers, digest)))
    show(table if table.row_count else f"{out} has no states: nothing in it learned")


State = Annotated[
    str,
    typer.Argument(
        metavar="STATE", help="OUT:AGENT or OUT:AGENT@EXECUTION, such as out/NAME:first."
    ),
]


def take(state: State, file: Annotated[Path, typer.Argument(metavar="FILE")]) -> None:
    """Take a learner's state out into a file.

    Example: dovetail states take out/connect_four_two_learners:first first.state

    Args:
        file: The file to write.
    """
    from dovetail.protocol.display_text import line
    from dovetail_experiments.reports.output import write

    found = _state(state)
    write(file, found.state)
    whose = line(f"{found.agent} ({found.type or 'unknown type'})")
    print(f"{file}: {len(found.state):,} bytes of {whose}")


def compare(
    one: Annotated[str, typer.Argument(metavar="ONE")],
    other: Annotated[str, typer.Argument(metavar="OTHER")],
) -> None:
    """Compare two states; list their differences.

    Example: dovetail states compare out/a:first out/b:first

    Args:
        one: OUT:AGENT or a file.
        other: OUT:AGENT or a file.
    """
    from dovetail_experiments.records.records import read_state
    from dovetail_experiments.records.states import differences

    lines = differences(read_state(one), read_state(other))
    for line in lines or ["the states are equal"]:
        print(line)
    if lines:
        raise typer.Exit(1)


def put(state: State, file: Annotated[str, typer.Argument(metavar="FILE")]) -> None:
    """Put a state back into a record; the one that it replaces is kept in a file.

    `dovetail run --resume` continues from the new state.

    Example: dovetail states put out/connect_four_two_learners:first first.state

    Args:
        file: A saved state: a file, or OUT:AGENT.
    """
    from dovetail_experiments.records.records import read_state
    from dovetail_experiments.records.states import check, replace
    from dovetail_experiments.reports.output import write

    found = _state(state)
    data = read_state(file)
    check(found, data, file)
    where = state.rpartition(":")[0]
    folder = Path(where) if Path(where).is_dir() else Path(where).parent
    stamp = time.strftime("%Y%m%dT%H%M%S")
    kept = (folder if folder.is_dir() else Path()) / (
        f"{found.agent}@{found.execution}-{stamp}.state"
    )
    write(kept, found.state)
    replace(where, found, data)
    print(f"{state}: {len(data):,} bytes; the replaced state is in {kept}")


def _state(text: str) -> SavedState:
    from dovetail_experiments.records.records import saved

    where, colon, agent = text.rpartition(":")
    if not colon or not where or not agent:
        raise UsageError(f"{text!r} does not name a state; write OUT:AGENT, such as out/NAME:first")
    return saved(where, agent)
