"""Saved states of learners: compare, check and replace them.

A state has its agent's own format.  MessagePack and JSON are compared value by value; nothing in a
state is ever executed.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import sqlalchemy as sa

from dovetail.peer import options, plugins
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.records import database
from dovetail_experiments.records import schema as s
from dovetail_experiments.records.records import SavedState, url_of

SHOWN = 40
"""Maximum differences listed."""
FEW = 20
"""Maximum entries of a table, or elements of a list, whose differences are listed; more are summed
up."""
STRANGE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    SyntaxError,
    RecursionError,
    zlib.error,
)
"""Errors of values that only look like an array or a table; numpy parses the text of a dtype."""
MOST = 2**30
"""Maximum bytes of an array whose numbers are compared; longer ones are compared as saved bytes."""


def differences(one: bytes, other: bytes) -> list[str]:
    """Return the differences of two states, one per line; empty if they are equal."""
    if one == other:
        return []
    try:
        found = list(_differ("", _opened(one), _opened(other)))
    except STRANGE:
        found = []
    if not found:
        at = next(
            (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
            min(len(one), len(other)),
        )
        return [f"{len(one):,} and {len(other):,} bytes, which differ first at byte {at:,}"]
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"... and {more:,} more differences"] if more > 0 else [])


def check(saved: SavedState, state: bytes, name: str) -> None:
    """Check that an agent of the type of ``saved`` loads ``state``, if the type is installed.

    Raises:
        DovetailError: the state is of another agent, or damaged.
    """
    try:
        kind = plugins.find("agent", saved.type)
    except DovetailError:
        return
    agent = kind(options.read(kind.Parameters, saved.parameters, f"agent {saved.type}"), 0)
    try:
        agent.load(state)
    except Exception as error:
        raise DovetailError(
            f"{name} is not a state of {saved.agent!r}, a {saved.type} agent with its parameters: "
            f"{' '.join(str(error).split())}"
        ) from None
    finally:
        agent.cleanup()


def replace(where: str | Path, saved: SavedState, state: bytes) -> None:
    """Replace ``saved`` in a record by another state."""
    engine = database.writing(url_of(where))
    mine = (s.states.c.execution == saved.execution) & (s.states.c.agent == saved.agent)
    try:
        with engine.begin() as connection:
            connection.execute(
                sa.update(s.states).where(mine).values(state=state, saved=time.time())
            )
    except sa.exc.SQLAlchemyError as error:
        raise DovetailError(
            f"cannot write {database.shown(where)}: {database.line(error)}"
        ) from None
    finally:
        engine.dispose()


def _opened(data: bytes) -> Any:
    try:
        return codec.decode(data)
    except DovetailError:
        try:
            return msgspec.json.decode(data)
        except codec.UNREADABLE as error:
            raise ValueError("another format") from error


def _differ(path: str, one: Any, other: Any) -> Iterator[str]:
    here = path or "the state"
    first, second = _array(one), _array(other)
    if first is not None and second is not None:
        if first.shape != second.shape:
            yield f"{here}: shapes {list(first.shape)} and {list(second.shape)}"
        elif not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
            apart, share = _apart(one, other), float(np.mean(first != second))
            yield f"{here}: {share:.1%} of {first.size:,} numbers differ, by {apart:g} at most"
        return
    if first is None and isinstance(one, dict) and isinstance(other, dict):
        tables = _table(one), _table(other)
        if None in tables or any(one[each] != other[each] for each in ("actions", "states")):
            yield from _entries(path, one, other)
        elif one != other:
            found = list(_entries(path, *tables))  # type: ignore[arg-type]
            yield from found or [f"{here}: the same entries in another order"]
        return
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"{here}: {len(one):,} and {len(other):,} elements"
            return
        yield from _entries(path, dict(enumerate(one)), dict(enumerate(other)))
        return
    if type(one) is not type(other) or not (one == other or (one != one and other != other)):
        yield f"{here}: {_short(one)} and {_short(other)}"


def _entries(path: str, one: dict[Any, Any], other: dict[Any, Any]) -> Iterator[str]:
    """Yield a line for each entry that differs, or a single summary if there are many."""
    lines: list[str] = []
    only, apart, known = [0, 0], 0.0, 0
    both = one.keys() & other.keys()
    changed = 0
    for key in sorted({*one, *other}, key=_order):
        inner = f"[{key}]" if isinstance(key, int) else f".{key}" if path else str(key)
        if key not in both:
            only[key in other] += 1
            found = [f"{path}{inner}: only in the {'first' if key in one else 'second'}"]
        else:
            found = list(_differ(f"{path}{inner}", one[key], other[key]))
            changed += bool(found)
            if found and (by := _apart(one[key], other[key])) is not None:
                apart, known = max(apart, by), known + 1
        lines += found
    if changed + sum(only) <= FEW:
        yield from lines
        return
    most = f", by {apart:g} at most" if known else ""
    yield (
        f"{path or 'the state'}: {only[0]:,} entries only in the first, {only[1]:,} only in the "
        f"second; {changed:,} of {len(both):,} in both differ{most}"
    )


def _order(key: Any) -> tuple[int, Any]:
    return (0, key) if isinstance(key, int) else (1, str(key))


def _apart(one: Any, other: Any) -> float | None:
    """Return the largest difference between numbers in two values; None if there are none to
    compare."""
    first, second = _array(one), _array(other)
    if first is not None and second is not None:
        if first.shape != second.shape or not first.size:
            return None
        return float(np.nanmax(np.abs(first.astype(float) - second.astype(float))))
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(one[key], other[key]) for key in one.keys() & other.keys()]
    elif isinstance(one, list) and isinstance(other, list):
        pairs = list(zip(one, other, strict=False))
    elif isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return float(abs(one - other))
        except OverflowError:  # integers of any size
            return math.inf
    else:
        return None
    return max((by for pair in pairs if (by := _apart(*pair)) is not None), default=None)


def _array(value: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "biuf" else None
    if isinstance(value, dict) and value.keys() == {"dtype", "shape", "data", "packed"}:
        return _saved_array(**value)
    if isinstance(value, list) and len(value) > 8:
        try:
            array = np.asarray(value)
        except ValueError:
            return None
        return array if array.dtype.kind in "iuf" else None
    return None


def _saved_array(dtype: Any, shape: Any, data: Any, packed: Any) -> np.ndarray[Any, Any] | None:
    """Return an array in the format of ``learning.saving``; None for anything else."""
    try:
        kind = np.dtype(str(dtype))
        size = math.prod(shape) * kind.itemsize
        # A negative size would not limit decompression.
        if kind.kind not in "biuf" or min(shape, default=0) < 0 or size > MOST:
            return None
        raw = zlib.decompressobj().decompress(data, size + 1) if packed else data
        return np.frombuffer(raw, kind).reshape(shape)
    except STRANGE:
        return None


def _table(saved: dict[str, Any]) -> dict[str, Any] | None:
    """Return a table by state and action in the format of ``general.q_learning.table``; None for
    anything else."""
    if saved.keys() != {"actions", "states", "keys", "places", "values", "visits"}:
        return None
    keys, actions = saved["keys"], saved["actions"]
    try:
        places = np.frombuffer(saved["places"], "<u8")
        visits = np.frombuffer(saved["visits"], "<u4").tolist()
        width = len(saved["values"]) // max(1, len(places))
        values = np.frombuffer(saved["values"], f"<f{width}" if len(places) else "<f8").tolist()
        if len(visits) != len(places) or len(values) != len(places):
            return None
        rows, columns = (each.tolist() for each in np.divmod(places, np.uint64(actions)))
        if saved["states"] is None:
            found = [keys[row] for row in rows]
            rows = [each.hex() if isinstance(each, bytes) else str(each) for each in found]
        entries = [f"{name}, action {column}" for name, column in zip(rows, columns, strict=True)]
        return {
            "values": dict(zip(entries, values, strict=True)),
            "visits": dict(zip(entries, visits, strict=True)),
            "states": len(keys),
        }
    except STRANGE:
        return None


def _short(value: Any) -> str:
    text = f"{len(value):,} bytes" if isinstance(value, bytes) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
