"""Foreign observations as canonical JSON."""

from __future__ import annotations

from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.json_text import write

DEPTH = 100
"""Maximum levels of a value; the interpreter's own limit differs between programs."""


def as_json(value: Any) -> str:
    """Return a value as JSON with sorted keys, arrays as lists, and other values as text.

    Raises:
        DovetailError: it is nested too deeply.

    >>> as_json({"b": (1, 2), "a": None})
    '{"a": null, "b": [1, 2]}'
    """
    return write(_ordered(value, DEPTH))


def _ordered(value: Any, levels: int) -> Any:
    if levels < 0:
        raise DovetailError(
            f"an observation is nested too deeply to be written; at most {DEPTH} levels are"
        )
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(key): _ordered(value[key], levels - 1) for key in sorted(value, key=str)}
        case list() | tuple():
            return [_ordered(each, levels - 1) for each in value]
    return _ordered(value.tolist(), levels - 1) if hasattr(value, "tolist") else str(value)
