"""Random draws: members of action spaces, and ties between the best."""

from __future__ import annotations

import math
import random
import string
from collections import abc
from typing import Any, TypeVar

import numpy as np

from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError

T = TypeVar("T")
MOST = 1 << 20
"""Maximum elements of a member that is drawn: more do not fit into a message."""
SPREAD = 99
"""How much longer than necessary a text or sequence is at most."""
_CHARACTERS = string.ascii_letters + string.digits


def sample(space: spaces.Space, rng: random.Random) -> Any:
    """Return a random member of ``space``.

    Finite sets and bounded intervals are drawn uniformly.  As in Gymnasium a real number
    without bounds is drawn from the normal distribution, and one with a single bound lies an
    exponentially distributed distance from it.

    Raises:
        DovetailError: the members are too large. An environment, which may be anyone's, says how
            large they are.
    """
    if _size(space) > MOST:
        raise DovetailError(
            f"an action space whose members have over {MOST:,} elements cannot be drawn from; "
            "make it smaller, or send legal actions"
        )
    return _draw(space, rng)


def _size(space: spaces.Space) -> int:
    """Return how many elements a member that is drawn has at most, or any number over ``MOST``."""
    size = 1
    match space:
        case spaces.Box() | spaces.MultiBinary():
            for length in space.shape:
                size *= max(length, 1)
                if size > MOST:
                    break
        case spaces.MultiDiscrete():
            size = len(space.nvec)
        case spaces.Text():
            size += _longest(space)
        case spaces.Tuple():
            size += sum(map(_size, space.spaces))
        case spaces.Dict():
            size += sum(map(_size, space.spaces.values()))
        case spaces.Sequence():
            size += _longest(space) * _size(space.element)
    return size


def _longest(space: spaces.Text | spaces.Sequence) -> int:
    return min(space.max_length, space.min_length + SPREAD)


def _draw(space: spaces.Space, rng: random.Random) -> Any:
    match space:
        case spaces.Discrete():
            return space.start + rng.randrange(space.n)
        case spaces.Box():
            return _box(space, rng)
        case spaces.MultiDiscrete():
            return np.array([rng.randrange(n) for n in space.nvec], np.int64)
        case spaces.MultiBinary():
            size = math.prod(space.shape)
            return np.array([rng.getrandbits(1) for _ in range(size)], np.int8).reshape(space.shape)
        case spaces.Text():
            characters = _CHARACTERS if space.charset is None else space.charset
            length = rng.randint(space.min_length, _longest(space)) if characters else 0
            return "".join(rng.choice(characters) for _ in range(length))
        case spaces.Tuple():
            return [_draw(part, rng) for part in space.spaces]
        case spaces.Dict():
            return {key: _draw(part, rng) for key, part in space.spaces.items()}
        case spaces.Sequence():
            length = rng.randint(space.min_length, _longest(space))
            return [_draw(space.element, rng) for _ in range(length)]


def _box(space: spaces.Box, rng: random.Random) -> Any:
    dtype = np.dtype(space.dtype)
    low, high = (
        np.broadcast_to(np.asarray(each, object), space.shape).reshape(-1).tolist()
        for each in (space.low, space.high)
    )
    draw = _real if dtype.kind == "f" else _whole
    values = [draw(a, b, dtype, rng) for a, b in zip(low, high, strict=True)]
    with np.errstate(over="ignore"):  # a bound can round to infinity, which is then a member
        return np.array(values, dtype).reshape(space.shape)


def _real(low: float, high: float, dtype: np.dtype[Any], rng: random.Random) -> float:
    if math.isinf(low):
        if math.isinf(high):
            return rng.gauss(0, 1) if low < high else low
        return high - rng.expovariate(1)
    if math.isinf(high):
        return low + rng.expovariate(1)
    return rng.uniform(low, high) if high - low < math.inf else 2 * rng.uniform(low / 2, high / 2)


def _whole(low: float, high: float, dtype: np.dtype[Any], rng: random.Random) -> int:
    bottom, top = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    first = bottom if low == -math.inf else max(bottom, math.ceil(low))
    last = top if high == math.inf else min(top, math.floor(high))
    return rng.randint(int(first), int(last))


def best(values: list[float], rng: random.Random) -> int:
    """Return the index of the largest value, with ties broken at random."""
    most = max(values)
    if values.count(most) < 2:
        return values.index(most)
    return rng.choice([place for place, value in enumerate(values) if value == most])


def pick(members: abc.Sequence[T], values: abc.Sequence[float], rng: random.Random) -> T:
    """Return the member with the largest value, with ties broken at random.

    Unlike ``best`` it draws from ``rng`` even without a tie.
    """
    most = max(values)
    return rng.choice([each for each, value in zip(members, values, strict=True) if value == most])
