"""Independent pieces of work, done at several places at once.  Pure: a pool does the work.

A piece is a call of a function that yields plain data.  Recovery is here, not in the pool: a piece
whose place was lost is begun again with what the caller then knows of it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from dovetail.protocol.errors import DovetailError

LOSSES = 3
"""The loss of its place with which a piece counts as failed: it may be what ends them."""


@dataclass(frozen=True, slots=True)
class Yielded:
    """A piece has yielded something."""

    piece: int
    value: Any


@dataclass(frozen=True, slots=True)
class PieceDone:
    """A piece is done."""

    piece: int


@dataclass(frozen=True, slots=True)
class PieceFailed:
    """A piece has raised an error, and is not done again."""

    piece: int
    error: DovetailError


@dataclass(frozen=True, slots=True)
class PieceLost:
    """The place of a piece is gone, whatever of it was not yielded with it."""

    piece: int
    why: str


PieceEvent = Yielded | PieceDone | PieceFailed | PieceLost


class Pool(Protocol):
    """Places for pieces of work."""

    def begin(self, piece: int, arguments: tuple[Any, ...]) -> None:
        """Begin a piece, or begin it again; arguments are plain data."""

    def next(self) -> PieceEvent:
        """Wait for the next event of those that were begun.

        Raises:
            DovetailError: the pool itself is gone.
        """


def pieces(
    pool: Pool, count: int, arguments: Callable[[int], tuple[Any, ...]], at_once: int
) -> Iterator[PieceEvent]:
    """Do pieces of work; yield what happens to them.

    Args:
        pool: where.
        count: of pieces, numbered from 0.
        arguments: returns those of a piece; asked again after its place was lost.
        at_once: how many may be in progress.
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
