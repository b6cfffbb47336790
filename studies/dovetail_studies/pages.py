"""Pages of the studies and their summary, written from results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.reports import output
from dovetail_studies import alike, curves
from dovetail_studies.archive import Member, Place, members
from dovetail_studies.archive import write as archive
from dovetail_studies.code import digest
from dovetail_studies.findings import BESIDE, FINDINGS, TERMS, TEXTS, UNCOMPARED, filled
from dovetail_studies.learned import KEPT as STATES
from dovetail_studies.learned import keep as keep_states
from dovetail_studies.results import KeptResult, KeptResults, key
from dovetail_studies.rows import (
    ACROSS,
    BEST,
    SIZES,
    STUDIES,
    Done,
    Drawn,
    Row,
    SizeName,
    Study,
    Verdict,
    study,
)
from dovetail_studies.working import (
    FIRST_SEED,
    KEPT_RESULTS,
    OUT,
    file,
    kept_file,
    kept_states,
    states,
    units,
)

DOCS = Path("studies/pages")
COLUMNS = ("row", "result", "run at", "figures beside the study's", "its conclusions hold", "why")
"""Columns of the summary."""
MARKS = {
    r"\(every seed\)": "*Every seed*: all seeds gave the same figure.",
    "[≈≠]": (
        "≈: the study's figure agrees with ours; ≠: it differs; the [summary](README.md) "
        "says when. Other figures of ours are too uncertain to say, or are not compared."
    ),
    r"\| \*[-\d]": "Figures in italics are means without an interval, for orientation.",
}
"""Explanations of marks in table cells, shown on pages with such cells."""
CURVES = "curves"
"""Folder of the pictures, beside the pages."""


@dataclass(frozen=True)
class RowState:
    """A row's results at the largest size that has any."""

    row: Row
    size: SizeName | None
    records: Sequence[KeptResult]
    drawn: Drawn | None
    whole: bool
    """True if all pieces of work at this size are done."""


def find(whole: Study, row: Row, out: Path = OUT, kept: Path = KEPT_RESULTS) -> RowState:
    """Return a row's results at the largest complete size, or else the largest that was started.

    Raises:
        DovetailError: complete results do not form the row's table.
    """
    begun: RowState | None = None
    for size in reversed(SIZES):
        if not row.runs or size not in row.sizes:
            continue
        files: list[Place] = [
            kept_file(kept, whole.name, row, size),
            file(out, whole.name, row, size),
        ]
        results = KeptResults(files)
        wanted = units(row, size)
        more = units(row, size, max(results.seeds(), row.sizes[size].seeds))
        if not results.todo(more):  # run with --seeds
            wanted = more
        done = results.done(wanted)
        if not done:
            continue
        complete = len(done) == len(wanted)
        if not complete and begun is not None:
            continue
        try:
            drawn = _drawn(row, done, " or ".join(map(str, files)))
        except DovetailError:
            if complete:
                raise
            continue  # too few pieces for a table
        found = RowState(row, size, results.of(wanted), drawn, complete)
        if complete:
            return found
        begun = found
    return begun or RowState(row, None, (), None, False)


def at(
    whole: Study,
    row: Row,
    size: SizeName,
    count: int | None = None,
    out: Path = OUT,
    first: int = FIRST_SEED,
) -> RowState:
    """Return a row's results at one size, for the requested number of seeds.

    Raises:
        DovetailError: they do not form its table.
    """
    wanted = units(row, size, count, first)
    path = file(out, whole.name, row, size)
    results = KeptResults([path])
    done = results.done(wanted)
    drawn = _drawn(row, done, str(path)) if done else None
    return RowState(row, size, results.of(wanted), drawn, len(done) == len(wanted))


def _drawn(row: Row, done: Done, where: str) -> Drawn:
    assert row.draw is not None
    try:
        return row.draw(done)
    except (LookupError, TypeError, ValueError, ZeroDivisionError) as error:
        raise DovetailError(
            f"{where}: these results of row {row.key} do not make its table "
            f"({type(error).__name__}: {error}): another "
            "version wrote them, or they were changed; remove the file, and the row is run again"
        ) from error


def compared(whole: Study, found: RowState, kept: Path = KEPT_RESULTS) -> str:
    """Report whether results equal the kept ones.

    Values that only training gives are not compared.
    """
    assert found.size is not None
    records = KeptResults([kept_file(kept, whole.name, found.row, found.size)]).records
    of = [(each, records[key(each.unit)]) for each in found.records if key(each.unit) in records]
    wrong = [
        each.unit
        for each, other in of
        if any(other.result.get(name) != value for name, value in each.result.items())
    ]
    if not of:
        return (
            f"{found.row.key}: nothing to compare, as {kept} has none of these "
            f"{len(found.records)} pieces"
        )
    text = f"{found.row.key}: {len(of) - len(wrong)} of {len(of)} pieces give the results in {kept}"
    if new := len(found.records) - len(of):
        text += f", which has none of {new} more"
    assert found.row.work is not None
    code = digest(found.row.work)
    for unit in wrong:
        other = records[key(unit)].code not in ("", code)
        text += f"\ndiffers{' (kept from other code)' if other else ''}: {unit}"
    return text


def fresh(whole: Study, found: RowState, kept: Path = KEPT_RESULTS) -> str:
    """Report how many figures from new seeds lie in the page's prediction intervals.

    An interval predicts the mean over as many seeds, given the kept ones; about 95 of 100 figures
    lie in theirs.
    """
    assert found.size is not None
    known = _kept(whole, found, kept)
    row = found.row.key
    if known is None or found.drawn is None:
        return f"{row}: nothing to compare, as {kept} has no results of this size"
    seeds = _seeds(found)
    pairs = [
        (replace(old, more=old.more / seeds).again, new.ours.value, new.name)
        for old, new in zip(known.compared, found.drawn.compared, strict=True)
        if old.verdict is not None
    ]
    out = [name for again, value, name in pairs if not again.low <= value <= again.high]
    inside = f"{len(pairs) - len(out)} of {len(pairs)} figures beside the study's"
    text = f"{row}: {inside} lie in the page's prediction intervals"
    return text + "".join(f"\noutside: {name}" for name in out)


def _kept(whole: Study, found: RowState, kept: Path) -> Drawn | None:
    assert found.size is not None
    place = kept_file(kept, whole.name, found.row, found.size)
    done = KeptResults([place]).done(units(found.row, found.size))
    return _drawn(found.row, done, str(place)) if done else None


def table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    found = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return found + ["| " + " | ".join(line) + " |" for line in lines]


def _seeds(found: RowState) -> int:
    return len({each.unit["seed"] for each in found.records})


def ran(found: RowState) -> str:
    """Describe the size at which a row was run."""
    if found.size is None:
        return "not run"
    text = found.row.sizes[found.size].label(_seeds(found))
    return text if found.whole else f"{text}; {len(found.records)} pieces so far"


def verdict(found: RowState) -> str:
    """Describe the agreement of the figures with the study's."""
    if found.drawn is None:
        return "not run"
    counts = _counts(found.drawn)
    agree, differ, wide = (counts[each] for each in ("agrees", "differs", "wide"))
    figures = agree + differ + wide
    if not figures:
        return "no figure to compare"
    if figures == 1:
        [name] = (each.name for each in found.drawn.compared if each.verdict)
        return f"{name}: {'agrees' if agree else 'differs' if differ else 'too uncertain to say'}"
    if figures == agree:
        return f"all {figures} figures agree"
    rest = f", {wide} too uncertain to say" if wide else ""
    return (
        f"{agree} figure{'s' * (agree != 1)} agree{'s' * (agree == 1)}, {differ} "
        f"differ{'s' * (differ == 1)}{rest}"
    )


def _counts(drawn: Drawn) -> Counter[Verdict | None]:
    return Counter(each.verdict for each in drawn.compared)


def section(whole: Study, found: RowState, picture: str = "") -> list[str]:
    """Return a page's section on one row; ``picture`` is the address of its curves."""
    row = found.row
    lines = [f"## {row.title}", "", f"The study: {row.printed}", ""]
    if found.drawn is None or found.size is None:
        reason = row.missing or "it has code, and no results are kept"
        return [*lines, f"**Not run**: {reason}.", ""]
    drawn = found.drawn
    empty = [""] * (len(drawn.columns) - 2)
    lines += table(drawn.columns, [*drawn.lines, ["*run at*", ran(found), *empty]])
    option = "" if found.size == "study" else f" --{found.size}"
    if _seeds(found) != row.sizes[found.size].seeds:
        option += f" --seeds {_seeds(found)}"
    dates = sorted({each.date for each in found.records})
    seconds = sum(each.seconds for each in found.records)
    facts = [
        f"{drawn.games:,} games, distinct: {drawn.distinct}." if drawn.games else "",
        f"Compared with the study: {verdict(found)}." if drawn.compared else "",
        f"`dovetail study {whole.name} {row.key}{option}`, "
        f"{' and '.join(dates[:1] + dates[1:][-1:])}, "
        f"{max(1, round(seconds)):,} s.",
    ]
    lines.append("")
    if picture and drawn.curves is not None:
        lines += [f"![{curves.alt(row.title, drawn.curves)}]({picture})", ""]
        lines += [curves.caption(drawn.curves), ""]
    kept = kept_states(STATES, whole.name, row, found.size)
    if count := len(kept.files()):
        facts.append(f"`--again` measures the {count} states of learners in {kept}.")
    lines += [" ".join(each for each in facts if each), ""]
    return lines + ([drawn.note, ""] if drawn.note else [])


def picture(whole: Study, row: Row) -> str:
    """Return the file name of a row's curves."""
    return f"{whole.name}-{row.key}.svg"


def draw(whole: Study, all_found: Sequence[RowState], folder: Path) -> None:
    """Write a study's pictures, and remove those of rows without curves.

    Raises:
        ImportError: Matplotlib is not installed; the pictures are unchanged.
    """
    drawn = {
        folder / picture(whole, found.row): found.drawn.curves
        for found in all_found
        if found.drawn is not None and found.drawn.curves is not None
    }
    for path, each in drawn.items():
        curves.draw(each, path)
    for path in folder.glob(f"{whole.name}-*.svg"):
        if path not in drawn:
            path.unlink()


def page(whole: Study, all_found: Sequence[RowState]) -> str:
    """Return the page of a study."""
    used = sorted({each.versions for found in all_found for each in found.records})
    sections = []
    for found in all_found:
        sections += section(whole, found, f"{CURVES}/{picture(whole, found.row)}")
    cells = "\n".join(line for line in sections if line.startswith("| "))
    said = ["", *(text for mark, text in MARKS.items() if re.search(mark, cells))]
    text = TEXTS["page"].format(title=whole.title, name=whole.name, marks=" ".join(said))
    lines = [text, ""]
    if whole.text:
        lines += [whole.text, ""]
    if whole.name == BEST:
        lines += _beside(all_found)
    if used:
        lines += [f"Versions: {'; '.join(used)}.", ""]
    return "\n".join(lines + sections).rstrip() + "\n"


def _beside(all_found: Sequence[RowState]) -> list[str]:
    """Compare the strongest player of each measured game with the literature."""
    ran = {found.row.key: found for found in all_found if found.drawn is not None}
    tables = {key: found.drawn.lines for key, found in ran.items() if found.drawn is not None}
    lines = []
    for each in BESIDE:
        if each.row in ran:
            hours = sum(record.seconds for record in ran[each.row].records) / 3600
            figure = filled(each.figure, tables)
            player = [each.player, figure, f"{hours:.1f}"]
            missing = filled(each.missing, tables)
            lines.append([each.game, *player, each.literature, missing])
    columns = ("game", "strongest player", "its figure", "core-hours", "literature", "missing here")
    return ["## Beside the literature", "", *table(columns, lines), "", TEXTS["beside"], ""]


def _judged(found: RowState) -> str:
    counts = _counts(found.drawn) if found.drawn else Counter()
    if counts["agrees"]:
        return "some" if counts["differs"] else "all"
    return "none" if counts["differs"] else "wide" if counts["wide"] else "unprinted"


def why(name: str, found: RowState) -> str:
    """Explain why a row was not run, or why its figures differ or are not compared."""
    if found.drawn is None:
        return found.row.missing or "there is code; it was not run"
    if _judged(found) == "unprinted":
        return UNCOMPARED.get(name, {}).get(found.row.key, "The study says it in words")
    if _judged(found) in ("all", "wide"):
        return ""
    size = "" if _full(found) else "Run at less than the study's size. "
    return size + found.drawn.note.partition(". ")[0].rstrip(".")


def summary(out: Path = OUT, kept: Path = KEPT_RESULTS) -> str:
    """Return the summary page of all rows."""
    parts: list[str] = []
    count = dict.fromkeys(("study", "ours", "less", "code", "not"), 0)
    judged = dict.fromkeys(("all", "some", "none", "wide", "unprinted"), 0)
    single = 0
    for name in STUDIES:
        whole = study(name)
        rows = []
        all_found = [find(whole, row, out, kept) for row in whole.rows]
        tables = {each.row.key: each.drawn.lines for each in all_found if each.drawn}
        for found in all_found:
            row = found.row
            if found.size is None:
                count["code" if row.runs else "not"] += 1
            else:
                whole_size = "study" if row.sized else "ours"
                count[whole_size if _full(found) else "less"] += 1
                judged[_judged(found)] += 1
                single += _judged(found) == "all" and verdict(found).endswith(": agrees")
            rest = [each.holds for each in FINDINGS.get(name, ()) if each.rests_on(row.key)]
            holds = ", ".join(each for each in dict.fromkeys(rest) if each != "-") or "-"
            cells = [f"`{row.key}`", row.title, ran(found), verdict(found), holds, why(name, found)]
            rows.append(cells)
        parts += [f"## [{whole.title}]({name}.md)", ""]
        if name in TERMS:
            parts += [TERMS[name], ""]
            parts += [
                *table(
                    ("the study says", "holds", "here"),
                    [each.filled(tables) for each in FINDINGS[name]],
                ),
                "",
            ]
        parts += [*table(COLUMNS, rows), ""]
    held = Counter(
        each.holds for name in STUDIES for each in FINDINGS.get(name, ()) if each.holds != "-"
    )
    run, conclusions = sum(judged.values()), sum(held.values())
    figures = {"count": count, "judged": judged, "single": single, "held": held, "run": run}
    head = TEXTS["summary"].format(rows=sum(count.values()), conclusions=conclusions, **figures)
    others = TEXTS["rest"].format(across=study(ACROSS).title, best=study(BEST).title)
    return "\n".join([head, "", *parts, others]) + "\n"


def _full(found: RowState) -> bool:
    return found.whole and found.size == "study"


def write(
    name: str, out: Path = OUT, docs: Path = DOCS, told: Callable[[str], None] = print
) -> Path:
    """Write a study's page and pictures, and keep their results; return the page's path.

    Without Matplotlib, pictures are unchanged, and ``told`` is called with a line that says so.

    Raises:
        DovetailError: the folder is missing; the command runs at the top of a checkout.
    """
    if not docs.is_dir():
        raise DovetailError(
            f"cannot write pages: there is no folder {docs} here; run this at the top of a checkout"
        )
    whole, kept = study(name), docs / "results"
    all_found = [find(whole, row, out, kept) for row in whole.rows]
    records: dict[Member, dict[bytes, KeptResult]] = {}
    files: dict[Member, tuple[Row, SizeName]] = {}
    for found in all_found:
        if found.size is not None:
            place = kept_file(kept, name, found.row, found.size)
            if place not in files:
                files[place] = found.row, found.size
                records[place] = _named(whole, found.size, place)
            records[place].update((key(record.unit), record) for record in found.records)
    for place, (row, size) in files.items():
        here = KeptResults([file(out, name, row, size)])
        whole_here = not here.todo([record.unit for record in records[place].values()])
        learned = states(out, name, row, size)
        keep_states(learned, kept_states(docs / "states", name, row, size), whole_here)
    keep(kept / f"{name}.zip", records)
    alike.write(whole, out, kept)
    path = docs / f"{name}.md"
    output.write(path, page(whole, all_found).encode())
    try:
        draw(whole, all_found, docs / CURVES)
    except ModuleNotFoundError as error:
        told(f"the pictures in {docs / CURVES} are left as they are: there is no {error.name} here")
    output.write(docs / "README.md", summary(out, kept).encode())
    return path


def _named(whole: Study, size: SizeName, place: Member) -> dict[bytes, KeptResult]:
    """Return a file's results that a row names, including those that no table shows. Rows that
    share the file may be shown at different sizes."""
    results = KeptResults([place])
    wanted = [
        unit
        for row in whole.rows
        if size in row.sizes and kept_file(place.archive.parent, whole.name, row, size) == place
        for unit in units(row, size, max(results.seeds(), row.sizes[size].seeds))
    ]
    return {key(each.unit): each for each in results.of(wanted)}


def keep(path: Path, records: Mapping[Member, Mapping[bytes, KeptResult]]) -> None:
    """Write results to a study's archive, replacing those of the same rows."""
    written = {
        place.name: b"".join(msgspec.json.encode(each) + b"\n" for each in found.values())
        for place, found in records.items()
    }
    archive(path, {**members(path), **written})
