"""Independent pieces of work, several at a time.  Pure: a pool does the work.

A piece is a call of a function that yields plain data.  This module handles recovery, so pools need
not: a piece whose worker was lost is restarted with its latest arguments.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from dovetail.protocol.errors import DovetailError

LOSSES = 3
"""Number of lost workers after which a piece fails, as it may be what kills them."""


@dataclass(frozen=True, slots=True)
class Yielded:
    """A piece has yielded something."""

    piece: int
    value: Any


@dataclass(frozen=True, slots=True)
class PieceDone:
    """A piece has finished."""

    piece: int


@dataclass(frozen=True, slots=True)
class PieceFailed:
    """A piece has raised an error; it is not retried."""

    piece: int
    error: DovetailError


@dataclass(frozen=True, slots=True)
class PieceLost:
    """A piece's worker was lost, with everything the piece had not yielded."""

    piece: int
    why: str


PieceEvent = Yielded | PieceDone | PieceFailed | PieceLost


class Pool(Protocol):
    """Workers for pieces."""

    def begin(self, piece: int, arguments: tuple[Any, ...]) -> None:
        """Start or restart a piece; arguments are plain data."""

    def next(self) -> PieceEvent:
        """Wait for the next event of a started piece.

        Raises:
            DovetailError: the pool itself failed.
        """


def pieces(
    pool: Pool, count: int, arguments: Callable[[int], tuple[Any, ...]], at_once: int
) -> Iterator[PieceEvent]:
    """Run pieces of work; yield their events.

    Args:
        count: the number of pieces; they are numbered from 0.
        arguments: returns the arguments of a piece; called again after its worker was lost.
        at_once: the maximum number of pieces in progress.
    """
    waiting = deque(range(count))
    losses: Counter[int] = Counter()
    running = 0
    while waiting or running:
        while waiting and running < at_once:
            piece = waiting.popleft()
            pool.begin(piece, arguments(piece))
            running += 1
        event = pool.next()
        if isinstance(event, PieceLost):
            losses[event.piece] += 1
            if losses[event.piece] < LOSSES:
                waiting.appendleft(event.piece)
            else:
                why = f"its place was lost {LOSSES} times; the last time: {event.why}"
                event = PieceFailed(event.piece, DovetailError(why))
        if not isinstance(event, Yielded):
            running -= 1
        yield event
