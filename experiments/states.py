"""Saved states of learners: compared, checked, and put back into a record.

A state is in its agent's own format.  What reads as MessagePack or JSON is compared value by value;
nothing in it is ever executed.
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

from dovetail.experiments import database
from dovetail.experiments import schema as s
from dovetail.experiments.records import Saved, url_of
from dovetail.peer import options, plugins
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError

SHOWN = 40
"""Differences that are listed."""
MOST = 2**30
"""Bytes of an array up to which its numbers are compared; of longer ones, the bytes as they were saved."""


def differences(one: bytes, other: bytes) -> list[str]:
    """Return how two states differ, a line each; empty if they are equal."""
    if one == other:
        return []
    try:
        found = list(_differ("", _opened(one), _opened(other)))
    except ValueError:
        found = []
    if not found:
        at = next(
            (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
            min(len(one), len(other)),
        )
        return [f"{len(one):,} and {len(other):,} bytes, which differ first at byte {at:,}"]
    more = len(found) - SHOWN
    return found[:SHOWN] + ([f"... and {more:,} more differences"] if more > 0 else [])


def check(saved: Saved, state: bytes, name: str) -> None:
    """Check that an agent of the type of ``saved`` loads ``state``, if the type is installed.

    Raises:
        DovetailError: it does not: the state is of another agent, or damaged.
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


def replace(where: str | Path, saved: Saved, state: bytes) -> None:
    """Put a state into a record in place of ``saved``."""
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
    if isinstance(one, dict) and isinstance(other, dict) and first is None:
        for key in sorted({*one, *other}, key=str):
            inner = f"{path}.{key}" if path else str(key)
            if key not in one or key not in other:
                yield f"{inner}: only in the {'first' if key in one else 'second'}"
            else:
                yield from _differ(inner, one[key], other[key])
        return
    if first is not None and second is not None:
        if first.shape != second.shape:
            yield f"{here}: shapes {list(first.shape)} and {list(second.shape)}"
        elif not np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
            apart = np.abs(first.astype(float) - second.astype(float))
            share = float(np.mean(first != second))
            yield (
                f"{here}: {share:.1%} of {first.size:,} numbers differ, by {np.nanmax(apart):g} at most"
            )
        return
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"{here}: {len(one):,} and {len(other):,} elements"
            return
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from _differ(f"{path}[{number}]", *pair)
        return
    if type(one) is not type(other) or one != other:
        yield f"{here}: {_short(one)} and {_short(other)}"


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
    """Return an array as ``agent_servers.saving`` packs it; None if it is something else."""
    try:
        kind = np.dtype(str(dtype))
        size = math.prod(shape) * kind.itemsize
        # A negative size would not limit what few compressed bytes become.
        if kind.kind not in "biuf" or min(shape, default=0) < 0 or size > MOST:
            return None
        raw = zlib.decompressobj().decompress(data, size + 1) if packed else data
        return np.frombuffer(raw, kind).reshape(shape)
    except (ValueError, TypeError, SyntaxError, zlib.error):  # numpy parses what a dtype says
        return None


def _short(value: Any) -> str:
    text = f"{len(value):,} bytes" if isinstance(value, bytes) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
