"""JSON that any reader accepts: RFC 8259 has neither NaN nor ∞, which Python's writer lets
through."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any


def write(
    value: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Return a value as JSON in ASCII.  A number that JSON lacks is written as null, as msgspec
    does.

    Args:
        value: maps with keys of text, lists, texts, numbers, booleans and None.
        indent: spaces for each level; all in one line if None.
        default: returns what to write for any other value.

    >>> write({"low": float("-inf"), "high": 1.5})
    '{"low": null, "high": 1.5}'
    """
    text = json.JSONEncoder(allow_nan=False, indent=indent, default=default).encode
    try:
        return text(value)
    except ValueError:  # the usual case needs no copy
        return text(_finite(value, default))


def option(value: Any) -> str:
    """Return a value as an option on a command line is written: JSON, and ``Infinity`` for ∞.

    >>> option([1, float("inf")])
    '[1, Infinity]'
    """
    return json.JSONEncoder(ensure_ascii=False).encode(value)


def plain(value: Any) -> bool:
    """Return whether a value has only what JSON has, or ±∞; NaN is not among it (S4.5)."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            if not all(isinstance(key, str) for key in each):
                return False
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
        elif isinstance(each, float):
            if math.isnan(each):
                return False
        elif not (each is None or isinstance(each, str | int)):
            return False
    return True


def _finite(value: Any, default: Callable[[Any], Any] | None) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(each, default) for key, each in value.items()}
        case list() | tuple():
            return [_finite(each, default) for each in value]
        case None | str() | int():
            return value
    return _finite(default(value), default) if default is not None else value
