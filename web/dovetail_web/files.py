"""Tables as files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from dovetail_experiments.quoting import file_name
from dovetail_experiments.records import export

Row = Mapping[str, Any]


def csv(rows: Sequence[Row]) -> str:
    """Return rows of plain values as CSV, with the union of their columns."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_of(columns, ({name: row.get(name) for name in columns} for row in rows))


def csv_of(columns: list[str], rows: Iterable[Row]) -> str:
    """Return rows as CSV with the given columns."""
    out = io.StringIO()
    export.text(out, columns, rows, "csv")
    return out.getvalue()


def csv_file(name: str, rows: Sequence[Row] | str) -> Response:
    """Return a CSV download, from rows or text."""
    headers = {"Content-Disposition": f'attachment; filename="{file_name(name)}.csv"'}
    text = rows if isinstance(rows, str) else csv(rows)
    return Response(text, media_type="text/csv", headers=headers)
