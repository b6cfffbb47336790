"""The seating of a run with ``rotate``; part of the contract (SPEC.md, S7.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def seated(agents: Sequence[T], shift: int) -> list[T]:
    """Return the agent of each seat after a shift: agent k is at seat (k + shift) mod seats.

    >>> seated(["ada", "bob", "eve"], 1)
    ['eve', 'ada', 'bob']
    """
    return [agents[(seat - shift) % len(agents)] for seat in range(len(agents))]
