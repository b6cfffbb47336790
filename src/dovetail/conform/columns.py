"""Columns for the cases about groups, and whether a program plays in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dovetail.conform.program import Program


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


def groups(p: Program) -> bool:
    """Return whether the program offers to play in groups; if not, it is never asked to."""
    return any(each.get("stacked") for each in p.greeted.get("offers", []))
