"""Who sits where in a run with ``rotate``; part of the contract (SPEC.md, S7.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def seated(agents: Sequence[T], shift: int) -> list[T]:
    """Return by seat who has it, once all have moved on by so many seats: agent k is at seat (k + shift) mod seats.

    >>> seated(["ada", "bob", "eve"], 1)
    ['eve', 'ada', 'bob']
    """
    return [agents[(seat - shift) % len(agents)] for seat in range(len(agents))]
