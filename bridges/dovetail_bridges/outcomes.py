"""Outcomes for games whose foreign rules know rewards only."""

from __future__ import annotations

from collections.abc import Sequence


def from_returns(returns: Sequence[float]) -> list[float] | None:
    """Return a score per seat: 1 for the best return, 0 for the worst, linear in between.

    Equal returns share the win, so two seats get one half each.  A game with one seat has no
    outcome.

    >>> from_returns([1.0, -1.0]), from_returns([0.0, 0.0]), from_returns([5.0])
    ([1.0, 0.0], [0.5, 0.5], None)
    >>> from_returns([4.0, 1.0, 0.0])
    [1.0, 0.25, 0.0]
    """
    if len(returns) < 2:
        return None
    low, high = min(returns), max(returns)
    if high == low:
        return [1 / len(returns)] * len(returns)
    return [(each - low) / (high - low) for each in returns]
