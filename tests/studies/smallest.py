"""Keep the results of ``dovetail study --all --quick``, from which tests draw every row.

``python -m tests.studies.smallest`` reads them from out/studies. A row whose pieces of work at the
size ``quick`` have changed needs it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from dovetail_studies import archive, rows, working
from dovetail_studies.archive import Member
from dovetail_studies.results import KeptResult, KeptResults, key

KEPT = Path(__file__).with_name("smallest.zip")


def kept(name: str, row: rows.Row) -> Member:
    """Return the place of a row's results in the archive."""
    return Member(KEPT, f"{name}/{working.file(Path(), '', row, working.pick(row, 'quick')).name}")


def main() -> None:
    """Put the results in out/studies in place of those of the same pieces of work."""
    found: dict[str, dict[bytes, KeptResult]] = {}
    for name in (name for name in rows.ALL if name != rows.BEST):
        for row in (row for row in rows.study(name).rows if row.runs):
            place, size = kept(name, row), working.pick(row, "quick")
            done = KeptResults([place, working.file(working.OUT, name, row, size)])
            lines = found.setdefault(place.name, {})
            for each in done.of(working.units(row, size)):
                lines[key(each.unit)] = KeptResult(each.unit, each.result, "", "", 0.0)
    archive.write(
        KEPT,
        {
            name: b"".join(msgspec.json.encode(each) + b"\n" for each in lines.values())
            for name, lines in found.items()
        },
    )


if __name__ == "__main__":
    main()
