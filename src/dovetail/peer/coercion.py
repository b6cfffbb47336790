"""Converts values as users write them to the contract's types, where the meaning is clear."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.tensors import nested

MAX_VALUES = 1_000_000
"""Maximum values taken from an iterable, since an endless one would fill the memory."""
_LISTED = "give a list of actions, or a mask as bytes or as an array of bools"


def number(value: Any) -> Any:
    """Convert a value that is clearly an integer, such as an array of one; return others unchanged.

    >>> number(np.int64(3)), number(np.array([3])), number(True), number(3.0)
    (3, 3, True, 3.0)
    """
    if isinstance(value, bool | np.bool_):
        return value
    if isinstance(value, np.ndarray):
        return int(value.item()) if value.size == 1 and value.dtype.kind in "iu" else value
    try:
        return operator.index(value)
    except (TypeError, ValueError):
        return value


def action(value: Any, space: spaces.Space, *, listed: bool) -> Any:
    """Return an action with plain integers where the space has numbers.

    Args:
        value: the action as an agent returned it.
        space: the action space.
        listed: whether legal actions were listed, so that the action must be a number.
    """
    if listed or isinstance(space, spaces.Discrete):
        return number(value)
    if isinstance(space, spaces.Tuple) and isinstance(value, tuple | list):
        if len(value) == len(space.spaces):
            pairs = zip(value, space.spaces, strict=True)
            return [action(each, its, listed=False) for each, its in pairs]
    elif isinstance(space, spaces.Dict) and isinstance(value, Mapping):
        return {
            key: action(each, space.spaces[key], listed=False) if key in space.spaces else each
            for key, each in value.items()
        }
    elif isinstance(space, spaces.Sequence) and isinstance(value, tuple | list):
        return [action(each, space.element, listed=False) for each in value]
    return value


def legal(value: Any) -> list[int] | bytes | None:
    """Return legal actions in the contract's form: a list, a mask as bytes, or None.

    Raises:
        DovetailError: the meaning is not clear.

    >>> legal(range(2, 4)), legal(np.array([False, True]))
    ([2, 3], [1])
    """
    if value is None or type(value) in (list, bytes):
        if value and type(value[0]) is np.ndarray:
            return [number(each) for each in value]
        return value  # type: ignore[no-any-return]
    if isinstance(value, np.ndarray):
        kind = f"an array of {value.dtype} with {value.ndim} dimensions"
        if value.ndim == 1 and value.dtype == bool:
            return np.flatnonzero(value).tolist()
        # An array of bytes may be numbers, or a mask of zeros and ones as Gymnasium has it.
        if value.ndim == 1 and value.dtype.kind in "iu" and value.itemsize > 1:
            return value.tolist()  # type: ignore[no-any-return]
        raise DovetailError(f"legal is {kind}; {_LISTED}")
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return listed(value)
    raise DovetailError(f"legal is a {type(value).__name__}; {_LISTED}")


def listed(value: Iterable[Any]) -> list[Any]:
    """Return an iterable as a list.

    Raises:
        DovetailError: it yields more than ``MAX_VALUES`` values.
    """
    found = list(islice(value, MAX_VALUES + 1))
    if len(found) > MAX_VALUES:
        raise DovetailError(
            f"a {type(value).__name__} of more than {MAX_VALUES:,} values; give fewer"
        )
    return found


def unsendable(error: BaseException) -> str:
    """Return the reason why a value cannot be encoded, from an error of ``codec.UNSENDABLE``."""
    if isinstance(error, OverflowError):
        return "a number in it is too large: whole numbers go from -2^63 to 2^64 - 1"
    if isinstance(error, RecursionError):
        return "it is nested too deeply, or in itself"
    if isinstance(error, UnicodeEncodeError):
        return "a text in it has half of a surrogate pair"
    return str(error)


def plain(value: Any) -> Any:
    """Return a value with lists in place of arrays, ranges, iterators and views, at any depth.

    >>> plain({"seeds": range(2), "xs": np.array([[1, 2]])})
    {'seeds': [0, 1], 'xs': [[1, 2]]}
    """
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        # Values too large, or of a kind that cannot travel, are refused where they are read.
        return nested(value) if value.size <= MAX_VALUES and value.dtype.kind in "biufUO" else value
    if isinstance(value, str | bytes | bytearray | memoryview | Mapping | set | frozenset):
        return value
    if isinstance(value, Iterable) and not isinstance(value, type):
        return plain(listed(value))
    return value
