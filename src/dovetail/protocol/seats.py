"""The seats of a game: how ``rotate`` fills them (SPEC.md, S7.9), and their names for people."""

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


def player(seat: int) -> str:
    """Return a seat's name in texts and tables for people, who count from 1.

    >>> player(0)
    'player 1'
    """
    return f"player {seat + 1}"
