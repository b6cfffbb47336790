"""Pieces of work at places that are lost at random: each is done once."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.engines.pieces import (
    LOSSES,
    PieceDone,
    PieceEvent,
    PieceFailed,
    PieceLost,
    Yielded,
    pieces,
)


class Unreliable:
    """A pool that loses places, and says so after what they have yielded."""

    def __init__(self, seed: int, lost: float, failed: float) -> None:
        self.draw = random.Random(seed)
        self.lost, self.failed = lost, failed
        self.running: dict[int, list[PieceEvent]] = {}
        self.most = 0
        self.begun: Counter[int] = Counter()

    def begin(self, piece: int, arguments: tuple[Any, ...]) -> None:
        [have] = arguments
        events: list[PieceEvent] = [Yielded(piece, each) for each in range(have, 3)]
        events.append(PieceDone(piece))
        chance = self.draw.random()
        if chance < self.lost:
            events[self.draw.randrange(len(events)) :] = [PieceLost(piece, "gone")]
        elif chance < self.lost + self.failed:
            events[-1] = PieceFailed(piece, DovetailError("wrong"))
        assert piece not in self.running
        self.running[piece] = events
        self.begun[piece] += 1
        self.most = max(self.most, len(self.running))

    def next(self) -> PieceEvent:
        piece = self.draw.choice(sorted(self.running))
        event = self.running[piece].pop(0)
        if not self.running[piece]:
            del self.running[piece]
        return event


@given(
    st.integers(0, 2**32),
    st.integers(0, 12),
    st.integers(1, 5),
    st.floats(0, 0.9),
    st.floats(0, 0.1),
)
def test_each_piece_ends_once_and_nothing_is_yielded_twice(
    seed: int, count: int, at_once: int, lost: float, failed: float
) -> None:
    pool = Unreliable(seed, lost, failed)
    have: dict[int, list[int]] = {piece: [] for piece in range(count)}
    ended: Counter[int] = Counter()
    losses: Counter[int] = Counter()
    for event in pieces(pool, count, lambda piece: (len(have[piece]),), at_once):
        match event:
            case Yielded(piece, value):
                have[piece].append(value)
            case PieceLost(piece):
                losses[piece] += 1
            case PieceDone(piece):
                assert have[piece] == [0, 1, 2]
                ended[piece] += 1
            case PieceFailed(piece, error):
                assert str(error) == "wrong" or pool.begun[piece] == LOSSES
                ended[piece] += 1
    assert ended == Counter(range(count))
    assert pool.most <= at_once
    assert not losses or max(losses.values()) < LOSSES
    assert max(pool.begun.values(), default=0) <= LOSSES
