"""Writes JSON that any reader accepts: RFC 8259 lacks NaN and ∞, which Python would write."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any


def write(
    value: Any, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Return a value as JSON in ASCII, with null for NaN and ∞, as msgspec does.

    Args:
        value: maps with text keys, lists, texts, numbers, booleans and None.
        indent: spaces per level; None for a single line.
        default: returns the replacement of any other value.

    >>> write({"low": float("-inf"), "high": 1.5})
    '{"low": null, "high": 1.5}'
    """
    text = json.JSONEncoder(allow_nan=False, indent=indent, default=default).encode
    try:
        return text(value)
    except ValueError:  # rare, so that usually no copy is made
        return text(_finite(value, default))


def option(value: Any) -> str:
    """Return a value as written for an option of a command: JSON, with ``Infinity`` for ∞.

    >>> option([1, float("inf")])
    '[1, Infinity]'
    """
    return json.JSONEncoder(ensure_ascii=False).encode(value)


def plain(value: Any) -> bool:
    """Return whether a value has a JSON form, apart from ±∞; NaN has none (S4.5)."""
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
