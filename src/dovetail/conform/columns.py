"""Columns for the cases about groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def i4(*values: int) -> Any:
    """Return a column of slots, seats, turns or rows."""
    return np.array(values, np.int32)


def i8(*values: int) -> Any:
    """Return a column of actions or episodes."""
    return np.array(values, np.int64)


def u8(*values: int) -> Any:
    """Return a column of seeds."""
    return np.array(values, np.uint64)


def bits(*masks: int) -> Any:
    """Return a column of bit masks of one byte."""
    return np.array(masks, np.uint8).reshape(-1, 1)


def f8(values: Sequence[Any]) -> Any:
    """Return a column of rewards or scores."""
    return np.array(values, np.float64)
