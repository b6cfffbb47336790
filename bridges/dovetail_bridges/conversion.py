"""Converts spaces and values between Dovetail and Gymnasium, whose types PettingZoo and others use.

``to_*`` converts to Gymnasium, ``from_*`` to Dovetail.  Gymnasium is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.json_text import write
from dovetail.protocol.legal import unmask
from dovetail.protocol.messages import Legal
from dovetail.protocol.tensors import DTYPES, nested

if TYPE_CHECKING:
    import gymnasium

LONGEST = 4096
"""The maximum length of a sequence whose foreign space has no limit."""
LONGEST_TEXT = 1 << 20
"""The most characters of a text whose foreign space names no limit."""
CHARACTERS = "\t\n" + "".join(map(chr, range(0x20, 0x7F))) + "".join(map(chr, range(0xA0, 0x3000)))
"""The characters of a Gymnasium text where Dovetail allows any."""


# -- spaces ------------------------------------------------------------------------------------


def to_space(space: spaces.Space) -> gymnasium.Space[Any]:
    """Return the Gymnasium space for a space of Dovetail."""
    from gymnasium import spaces as theirs

    match space:
        case spaces.Discrete():
            return theirs.Discrete(space.n, start=space.start)
        case spaces.Box():
            return _to_box(space)
        case spaces.MultiDiscrete():
            return theirs.MultiDiscrete(space.nvec)
        case spaces.MultiBinary():
            return theirs.MultiBinary(space.shape)
        case spaces.Text():
            charset = CHARACTERS if space.charset is None else space.charset
            return theirs.Text(space.max_length, min_length=space.min_length, charset=charset)
        case spaces.Tuple():
            return theirs.Tuple([to_space(each) for each in space.spaces])
        case spaces.Dict():
            return theirs.Dict({key: to_space(each) for key, each in space.spaces.items()})
        case spaces.Sequence():
            return theirs.Sequence(to_space(space.element))


def _to_box(space: spaces.Box) -> gymnasium.Space[Any]:
    from gymnasium.spaces import Box

    low, high = _bounds(space)
    return Box(low, high, shape=low.shape, dtype=low.dtype.type)


def _bounds(space: spaces.Box) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the bounds as arrays of the space's shape and dtype."""
    dtype = np.dtype(space.dtype)
    if dtype.kind in "iu":  # a bound of 64 bits as a float may be beyond the integers' own
        least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        low, high = (_whole(each, least, most, dtype) for each in (space.low, space.high))
    else:
        low, high = (np.asarray(each, np.float64).astype(dtype) for each in (space.low, space.high))
    shape = tuple(space.shape)
    return np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy()


def _whole(bound: Any, least: int, most: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    def one(value: Any) -> int:
        if isinstance(value, float) and math.isinf(value):
            return least if value < 0 else most
        return min(max(int(value), least), most)

    values = np.asarray(bound, object)
    return np.array([one(each) for each in values.ravel()], dtype).reshape(values.shape)


def from_space(space: gymnasium.Space[Any], what: str = "the space") -> spaces.Space:
    """Return the Dovetail space for a Gymnasium space.

    Args:
        space: a space of Gymnasium, or of a library that subclasses its spaces.
        what: the name of the space in errors.

    Raises:
        DovetailError: Dovetail has no such space.
    """
    from gymnasium import spaces as theirs

    match space:
        case theirs.Discrete():
            return spaces.Discrete(int(space.n), int(space.start))
        case theirs.Box():
            return _from_box(space, what)
        case theirs.MultiDiscrete():
            counts, first = np.asarray(space.nvec).ravel(), np.asarray(space.start).ravel()
            if not first.any():
                return spaces.MultiDiscrete(counts.tolist())
            last = (first + counts - 1).tolist()
            return spaces.Box([len(counts)], first.tolist(), last, "int64")
        case theirs.MultiBinary():
            return spaces.MultiBinary(list(space.shape))
        case theirs.Text():
            return spaces.Text(
                space.max_length, space.min_length, "".join(sorted(space.characters))
            )
        case theirs.Tuple():
            return spaces.Tuple([from_space(each, what) for each in space.spaces])
        case theirs.Dict():
            named = {
                str(key): from_space(each, f"{key!r} of {what}")
                for key, each in space.spaces.items()
            }
            if len(named) != len(space.spaces):
                raise DovetailError(f"{what} is a Dict with two keys of the same text: {space}")
            return spaces.Dict(named)
        case theirs.Sequence():
            return spaces.Sequence(from_space(space.feature_space, what), LONGEST)
    if _has_texts(space):  # such as MiniGrid's missions
        return spaces.Text(LONGEST_TEXT)
    raise DovetailError(
        f"{what} is a {type(space).__name__}, which Dovetail cannot describe; leave it out "
        "(`ignore`, if it is a key of a Dict), or wrap the environment (`wrappers`) so that it "
        "uses Discrete, Box, MultiDiscrete, MultiBinary, Text, Tuple, Dict or Sequence"
    )


def _has_texts(space: gymnasium.Space[Any]) -> bool:
    """Return whether the samples of a space of an unknown kind are texts."""
    if space.dtype is not None and space.dtype.kind == "U":
        return True
    with suppress(Exception):  # some cannot be sampled
        return isinstance(space.sample(), str)
    return False


def _from_box(space: Any, what: str) -> spaces.Box:
    name = np.dtype(space.dtype).name
    if name not in DTYPES:
        raise DovetailError(f"{what} is a Box of {name}; Dovetail has {', '.join(DTYPES)}")
    return spaces.Box(list(space.shape), _bound(space.low), _bound(space.high), name)


def _bound(bound: NDArray[Any]) -> Any:
    """Return a bound as one number if it is the same for all elements, else as nested lists."""
    plain = bound.astype(np.float64) if bound.dtype.kind == "f" else bound.astype(object)
    if bound.size and (bound == bound.flat[0]).all():
        return plain.flat[0] + 0
    return plain.tolist()


# -- values ------------------------------------------------------------------------------------


def to_value(space: spaces.Space, value: Any) -> Any:
    """Convert a value of a Dovetail space to Gymnasium.

    Arrays have exactly the declared dtype, and are copies that the user may change.
    """
    match space:
        case spaces.Discrete():
            return np.int64(value)
        case spaces.Box():
            return np.array(value, np.dtype(space.dtype)).reshape(space.shape)
        case spaces.MultiDiscrete():
            return np.array(value, np.int64)
        case spaces.MultiBinary():
            return np.array(value, np.int8).reshape(space.shape)
        case spaces.Text():
            return str(value)
        case spaces.Tuple():
            parts = zip(space.spaces, value, strict=True)
            return tuple(to_value(each, part) for each, part in parts)
        case spaces.Dict():
            return {key: to_value(each, value[key]) for key, each in space.spaces.items()}
        case spaces.Sequence():
            return tuple(to_value(space.element, part) for part in value)


def from_value(space: spaces.Space, value: Any, foreign: gymnasium.Space[Any] | None = None) -> Any:
    """Convert a value of a Gymnasium space to Dovetail.

    Arrays are copied, since environments reuse theirs, and NumPy numbers become plain ones.

    Args:
        foreign: the Gymnasium space; needed only for a ``Sequence`` that stacks its elements.
    """
    match space:
        case spaces.Discrete():
            return int(value)
        case spaces.Box():
            return np.array(value, DTYPES[space.dtype]).reshape(space.shape)
        case spaces.MultiDiscrete():
            return np.array(value, np.int64).ravel()
        case spaces.MultiBinary():
            return np.array(value, np.int8).reshape(space.shape)
        case spaces.Text():
            return str(value)
        case spaces.Tuple():
            their: Any = [None] * len(space.spaces) if foreign is None else foreign
            parts = zip(space.spaces, value, their, strict=True)
            return [from_value(*each) for each in parts]
        case spaces.Dict():
            named = {str(key): key for key in value}
            of: Any = {} if foreign is None else foreign.spaces
            return {
                key: from_value(each, value[named[key]], of.get(named[key]))
                for key, each in space.spaces.items()
            }
        case spaces.Sequence():
            element = getattr(foreign, "feature_space", None)
            if getattr(foreign, "stack", False):
                from gymnasium.vector.utils import iterate

                value = iterate(foreign.stacked_feature_space, value)  # type: ignore[union-attr]
            return [from_value(space.element, part, element) for part in value]


def to_action(foreign: gymnasium.Space[Any], space: spaces.Space, action: Any) -> Any:
    """Convert a seat's action for a foreign environment.

    Args:
        space: the space that ``from_space`` returned for it.
    """
    from gymnasium import spaces as theirs

    match foreign:
        case theirs.Discrete():
            return foreign.dtype.type(action) if foreign.dtype is not None else int(action)
        case theirs.MultiDiscrete() | theirs.MultiBinary() | theirs.Box():
            return np.array(action, foreign.dtype).reshape(foreign.shape)
        case theirs.Tuple():
            assert isinstance(space, spaces.Tuple)
            parts = zip(foreign.spaces, space.spaces, action, strict=True)
            return tuple(to_action(*each) for each in parts)
        case theirs.Dict():
            assert isinstance(space, spaces.Dict)
            return {
                key: to_action(each, space.spaces[str(key)], action[str(key)])
                for key, each in foreign.spaces.items()
            }
        case theirs.Sequence():
            assert isinstance(space, spaces.Sequence)
            row = tuple(to_action(foreign.feature_space, space.element, each) for each in action)
            if not foreign.stack:
                return row
            from gymnasium.vector.utils import concatenate, create_empty_array

            out = create_empty_array(foreign.feature_space, len(row))
            return concatenate(foreign.feature_space, row, out)
    return to_value(space, action)


def zeros(space: spaces.Space) -> Any:
    """Return a default value of a space for Gymnasium: zeros, or the values nearest to them."""
    match space:
        case spaces.Discrete():
            return np.int64(space.start)
        case spaces.Box():
            low, high = _bounds(space)
            return np.asarray(np.clip(np.zeros(low.shape), low, high), low.dtype)
        case spaces.MultiDiscrete():
            return np.zeros(len(space.nvec), np.int64)
        case spaces.MultiBinary():
            return np.zeros(space.shape, np.int8)
        case spaces.Text():
            return (space.charset or " ")[:1] * space.min_length
        case spaces.Tuple():
            return tuple(zeros(each) for each in space.spaces)
        case spaces.Dict():
            return {key: zeros(each) for key, each in space.spaces.items()}
        case spaces.Sequence():
            return tuple(zeros(space.element) for _ in range(space.min_length))


# -- legal actions, spaces of a seat, seeds ------------------------------------------------------


def numbers(legal: Legal, space: spaces.Space) -> list[int] | None:
    """Return the legal actions as ascending numbers; None if they cannot be listed."""
    if isinstance(legal, bytes):
        return unmask(legal)
    if legal is None and isinstance(space, spaces.Discrete):
        return list(range(space.start, space.start + space.n))
    return legal


def to_mask(legal: Legal, space: spaces.Space) -> NDArray[np.int8] | None:
    """Return a mask in Gymnasium's and PettingZoo's form; None if the actions are not numbers.

    int8, shape (n,), counted from 0 even if the space starts elsewhere, as ``space.sample(mask)``
    and MaskablePPO expect.
    """
    if not isinstance(space, spaces.Discrete):
        return None
    if legal is None:
        return np.ones(space.n, np.int8)
    out = np.zeros(space.n, np.int8)
    out[np.asarray(numbers(legal, space), np.int64) - space.start] = 1
    return out


def from_mask(mask: Any, space: spaces.Space) -> list[int] | None:
    """Return the legal actions of a foreign mask in ascending order; None without a mask.

    A mask that allows no action counts as none.
    """
    if mask is None or not isinstance(space, spaces.Discrete):
        return None
    found = np.flatnonzero(np.asarray(mask).ravel()[: space.n])
    return [int(each) + space.start for each in found] or None


def narrow(seed: int, bits: int = 31) -> int:
    """Return a seed reduced to fewer bits, modulo 2**bits.

    >>> narrow(2**40 + 5)
    5
    """
    return seed % (1 << bits)


def from_returns(returns: Sequence[float]) -> list[float] | None:
    """Return each seat's score, proportional to its distance from the worst return.

    The scores sum to 1.  Equal returns share the win.  A game with one seat has no outcome.

    >>> from_returns([1.0, -1.0]), from_returns([0.0, 0.0]), from_returns([5.0])
    ([1.0, 0.0], [0.5, 0.5], None)
    >>> from_returns([4.0, 1.0, 0.0])
    [0.8, 0.2, 0.0]
    """
    if len(returns) < 2:
        return None
    low, high = min(returns), max(returns)
    if math.isinf(high - low) and math.isfinite(high) and math.isfinite(low):  # for floats
        return from_returns([each / 4 for each in returns])
    if high == low:
        return [1 / len(returns)] * len(returns)
    scores = [(each - low) / (high - low) for each in returns]
    return [each / math.fsum(scores) for each in scores]


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


def plain(value: Any) -> Any:
    """Return an observation in a JSON form, with arrays as nested lists."""
    if isinstance(value, np.ndarray):
        return nested(value)
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    return value.hex() if isinstance(value, bytes) else value
