"""Outcomes for foreign games that have only rewards."""

from __future__ import annotations

import math
from collections.abc import Sequence


def from_returns(returns: Sequence[float]) -> list[float] | None:
    """Return each seat's score, proportional to its distance from the worst return.

    The scores sum to 1.  Equal returns share the win.  A game with one seat has no outcome.

    >>> from_returns([1.0, -1.0]), from_returns([0.0, 0.0]), from_returns([5.0])
    ([1.0, 0.0], [0.5, 0.5], None)
    >>> from_returns([4.0, 1.0, 0.0])
    [0.8, 0.2, 0.0]
    """
    if len(returns) < 2:
        return None
    low, high = min(returns), max(returns)
    if math.isinf(high - low) and math.isfinite(high) and math.isfinite(low):  # for floats
        return from_returns([each / 4 for each in returns])
    if high == low:
        return [1 / len(returns)] * len(returns)
    scores = [(each - low) / (high - low) for each in returns]
    return [each / math.fsum(scores) for each in scores]
