"""Observations for compiled code, which does not check what it indexes with.

An environment may be another's program, and the broker does not open observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError


def whole(what: str, value: Any, shape: Sequence[int], most: int = 1) -> NDArray[Any]:
    """Return an observation as an array of whole numbers from 0 to ``most``.

    Args:
        what: its name, for errors.
        value: the observation.
        shape: the required shape.
        most: the largest number.

    Raises:
        DovetailError: it is something else.
    """
    try:
        found: NDArray[Any] = np.asarray(value)
    except ValueError:  # ragged lists
        found = np.empty(0, object)
    if found.dtype.kind not in "biu" or found.shape != tuple(shape):
        raise DovetailError(
            f"the {what} of this game are {found.dtype} of shape {list(found.shape)}, not whole "
            f"numbers of shape {list(shape)}"
        )
    if found.size and (found.min() < 0 or found.max() > most):
        raise DovetailError(f"the {what} of this game have numbers beyond 0 to {most}")
    return found
