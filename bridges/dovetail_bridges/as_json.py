"""Foreign observations as canonical JSON."""

from __future__ import annotations

from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.json_text import write


def as_json(value: Any) -> str:
    """Return a value as JSON with sorted keys, arrays as lists, and other values as text.

    Raises:
        DovetailError: it is nested too deeply.

    >>> as_json({"b": (1, 2), "a": None})
    '{"a": null, "b": [1, 2]}'
    """
    try:
        return write(_ordered(value))
    except RecursionError:
        raise DovetailError("an observation is nested too deeply to be written") from None


def _ordered(value: Any) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case dict():
            return {str(key): _ordered(value[key]) for key in sorted(value, key=str)}
        case list() | tuple():
            return [_ordered(each) for each in value]
    return _ordered(value.tolist()) if hasattr(value, "tolist") else str(value)
