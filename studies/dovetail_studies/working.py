"""Execution of pieces of work, in one process or several; each result is stored at once."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dovetail.peer.cores import available
from dovetail.peer.quoting import command
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.engines.engine import engine
from dovetail_experiments.engines.local import local
from dovetail_experiments.engines.nodes import Outfit, versions
from dovetail_experiments.engines.pieces import PieceFailed, PieceLost, Yielded, pieces
from dovetail_experiments.files.file import Resources
from dovetail_studies.archive import Member
from dovetail_studies.code import digest
from dovetail_studies.learned import KEPT, States, using
from dovetail_studies.results import KeptResults, key
from dovetail_studies.rows import SIZES, Result, Row, SizeName, Study, Unit, study

OUT = Path("out/studies")
KEPT_RESULTS = Path("studies/pages/results")
"""Results in the repository, on which pages rest, an archive per study."""
FIRST_SEED = 1
_Piece = tuple[str, Row, SizeName, KeptResults, Unit]


def units(
    row: Row, size: SizeName, count: int | None = None, first: int = FIRST_SEED
) -> list[Unit]:
    """Return the pieces of work of a row.

    ``count`` is the number of seeds; None for the row's default.
    """
    assert row.units is not None
    number = row.sizes[size].seeds if count is None else count
    return row.units(row.sizes[size].values, list(range(first, first + number)))


def file(folder: Path, name: str, row: Row, size: SizeName) -> Path:
    """Return the file of a row's results."""
    return folder / name / f"{row.shares or row.key}.{size}.jsonl"


def kept_file(folder: Path, name: str, row: Row, size: SizeName) -> Member:
    """Return the place of a row's results in the repository."""
    return Member(folder / f"{name}.zip", file(Path(), "", row, size).name)


def kept_states(folder: Path, name: str, row: Row, size: SizeName) -> Member:
    """Return the place of a row's learned states in the repository."""
    return Member(folder / f"{name}.zip", f"{row.shares or row.key}.{size}")


def unmet(row: Row, out: Path = OUT, kept: Path = KEPT_RESULTS) -> str:
    """Return the command that makes the results that a row reads; empty if they are here."""
    if row.rests_on is None:
        return ""
    name, key = row.rests_on
    other = study(name).row(key)
    places = kept_file(kept, name, other, "study"), file(out, name, other, "study")
    return "" if any(each.is_file() for each in places) else command("study", name, key)


def pick(row: Row, wanted: SizeName) -> SizeName:
    """Return a row's largest size up to the requested one, or its smallest."""
    fits = [
        each for each in SIZES if each in row.sizes and SIZES.index(each) <= SIZES.index(wanted)
    ]
    return fits[-1] if fits else next(each for each in SIZES if each in row.sizes)


def states(out: Path, name: str, row: Row, size: SizeName) -> Path:
    """Return the folder to which a row's learned states are written."""
    return out / "states" / name / f"{row.shares or row.key}.{size}"


def work(name: str, row_key: str, unit: Unit, states: States | None = None) -> tuple[Result, float]:
    """Do one piece of work; return its result and the seconds taken.

    Raises:
        DovetailError: the work failed.
    """
    row = study(name).row(row_key)
    assert row.work is not None
    begun = time.monotonic()
    try:
        with using(states):
            return row.work(unit), time.monotonic() - begun
    except DovetailError as error:
        kept = [] if states is None else [str(each) for each in states.kept if each.is_dir()]
        used = f"; it used the states in {' and '.join(kept)}" if kept else ""
        raise DovetailError(f"{name} {row_key} ({_short(unit)}): {error}{used}") from error


def run(
    chosen: Sequence[tuple[Study, Sequence[Row]]],
    wanted: SizeName,
    count: int | None = None,
    jobs: int | None = 1,
    out: Path = OUT,
    told: Callable[[str], None] = print,
    again: Path | None = None,
    first: int = FIRST_SEED,
    on: str | None = None,
) -> None:
    """Do the unfinished work of rows.

    Args:
        chosen: studies, each with those of its rows to run, which have code.
        wanted: the size; a row without it runs at the next smaller one.
        count: the number of seeds; the row's default if None.
        jobs: the number of processes, or of simultaneous pieces on a cluster; None for one per
            core.
        out: the folder of results and of learners' states.
        told: called with a line for each piece.
        again: an empty folder for the results of repeating all work, in which states that are
            kept or in ``out`` are loaded.
        first: the lowest seed.
        on: the engine of a cluster that does the work.

    Raises:
        DovetailError: a row has no code, or results cannot be written.
    """
    todo: list[_Piece] = []
    taken: set[tuple[str, str, bytes]] = set()
    together = [(whole.name, row.key) for whole, rows in chosen for row in rows]
    for whole, row in ((whole, row) for whole, rows in chosen for row in rows):
        if row.work is None:
            raise DovetailError(f"row {row.key} of study {whole.name} cannot be run: {row.missing}")
        made_here = wanted == "study" and row.rests_on in together
        if not made_here and (needed := unmet(row, out)):
            why = (
                f"{whole.name} {row.key} reads results that a checkout has; run it there, or run "
                f"`{needed}` first"
            )
            if len(together) == 1:
                raise DovetailError(why)
            told(f"left out: {why}")
            continue
        size = pick(row, wanted)
        results = KeptResults([file(again or out, whole.name, row, size)])
        wanted_units = units(row, size, count, first)
        missing = results.todo(wanted_units)
        older = sum(each.code != digest(row.work) for each in results.of(wanted_units))
        if older:
            told(
                f"{whole.name} {row.key} ({size}): {older} of {len(wanted_units)} results in "
                f"{results.path} are of other code; remove the file to make them again"
            )
        if missing:
            results.ready()
        for unit in missing:
            piece = (whole.name, row.shares or row.key, key(unit))
            if piece not in taken:
                taken.add(piece)
                todo.append((whole.name, row, size, results, unit))

    def keep(number: int, found: tuple[Result, float]) -> None:
        name, row, size, results, unit = todo[number]
        assert row.work is not None
        results.add(unit, *found, digest(row.work))
        told(f"{name} {row.key} ({size}) {_short(unit)}: {found[1]:.1f} s")

    def place(name: str, row: Row, size: SizeName) -> States:
        own = states(out, name, row, size)
        if again is None:
            return States(own)
        kept = kept_states(KEPT, name, row, size)
        return States(states(again, name, row, size), (kept, own))

    if on is not None:
        pieces_there = [(name, row.key, unit) for name, row, _, _, unit in todo]
        folders = [states(out, name, row, size) for name, row, size, _, _ in todo]
        if todo:
            _elsewhere(on, jobs, pieces_there, folders, keep, told)
        return
    jobs = jobs or available()
    if jobs > 1:
        todo = _apart(todo)
    arguments = [(name, row.key, unit, place(name, row, size)) for name, row, size, _, unit in todo]
    if jobs == 1:
        for number, each in enumerate(arguments):
            keep(number, work(*each))
        return
    with local(jobs, _worked) as pool:
        for event in pieces(pool, len(todo), arguments.__getitem__, jobs):
            if isinstance(event, PieceFailed):
                raise event.error
            if isinstance(event, Yielded):
                keep(event.piece, event.value)


def _apart(todo: Sequence[_Piece]) -> list[_Piece]:
    """Return pieces of work in alternating studies, so that processes rarely compile the same
    kernels. Pieces that read the results of other rows come last."""
    turns: dict[str, itertools.count[int]] = defaultdict(itertools.count)
    place = [(piece[1].rests_on is not None, next(turns[piece[0]])) for piece in todo]
    return [piece for _, piece in sorted(zip(place, todo, strict=True), key=lambda each: each[0])]


def _elsewhere(
    on: str,
    jobs: int | None,
    units: Sequence[tuple[str, str, Unit]],
    folders: Sequence[Path],
    keep: Callable[[int, tuple[Result, float]], None],
    told: Callable[[str], None],
) -> None:
    """Do pieces of work on a cluster, which returns learned states as bytes.

    Args:
        on: the engine of the cluster.
        jobs: the number of simultaneous pieces; None for one per CPU.
        units: study, row and unit of each piece.
        folders: the local folder for the states of each piece.
        keep: called with the number of each piece and its result.
        told: called with a line for each piece that is placed again.
    """
    with (
        engine(on, Outfit(versions(), identity="studies")) as cluster,
        cluster.pool(_placed, Resources()) as pool,
    ):
        told(cluster.about)
        at_once = jobs or max(1, cluster.slots)
        for event in pieces(pool, len(units), units.__getitem__, at_once):
            if isinstance(event, PieceFailed):
                raise event.error
            if isinstance(event, PieceLost):
                told(
                    f"{units[event.piece][0]} {units[event.piece][1]} is placed again: {event.why}"
                )
            if isinstance(event, Yielded):
                state, value = event.value
                if state:
                    States(folders[event.piece]).write(state, value)
                else:
                    keep(event.piece, value)


def _placed(name: str, row: str, unit: Unit) -> Iterator[tuple[str, Any]]:
    """Do a piece of work on a node; yield the learned states by name, then the result."""
    with tempfile.TemporaryDirectory(prefix="dovetail-study-") as folder:
        found = work(name, row, unit, States(Path(folder)))
        for path in sorted(Path(folder).glob("*.state")):
            yield path.stem, path.read_bytes()
    yield "", found


def _worked(*arguments: Any) -> Iterator[tuple[Result, float]]:
    yield work(*arguments)


def _short(unit: Unit) -> str:
    return " ".join(f"{name}={value}" for name, value in unit.items())
