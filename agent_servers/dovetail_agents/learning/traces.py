"""Eligibility traces, which combine gradients of earlier positions into a change of weights."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dovetail_agents.learning.network import Array

Name = Literal["accumulating", "replacing", "dutch", "true-online"]


class Trace:
    """Accumulating traces: a gradient is added to the decayed earlier ones."""

    def join(self, trace: Array, gradient: Array, rate: float, scale: Array | None) -> None:
        """Add a gradient to a trace that has already decayed.

        Args:
            trace: one number for each weight; changed in place.
            gradient: the gradient of the value to be learned.
            rate: the step size.
            scale: the weights' step sizes relative to ``rate``; None if all are 1.
        """
        np.add(trace, gradient, out=trace)

    def change(
        self, trace: Array, gradient: Array, error: float, moved: float
    ) -> tuple[Array, float]:
        """Return a direction of the weights, and the distance to move for a step size of 1.

        Args:
            trace: the trace, with the gradient added.
            gradient: the gradient of the value to be learned.
            error: the target minus the value.
            moved: the amount by which earlier updates have moved that value since it was predicted.
        """
        return trace, error


class Replacing(Trace):
    """Replacing traces: a gradient replaces the earlier ones wherever it is not zero."""

    def join(self, trace: Array, gradient: Array, rate: float, scale: Array | None) -> None:
        np.copyto(trace, gradient, where=gradient != 0)


class Dutch(Trace):
    """Dutch traces: the part of a gradient that the trace already holds is subtracted (van Seijen
    et al. 2016)."""

    def join(self, trace: Array, gradient: Array, rate: float, scale: Array | None) -> None:
        scaled = gradient if scale is None else gradient * scale
        held = rate * float(np.dot(trace, scaled))
        trace += (1 - held) * gradient


class TrueOnline(Dutch):
    """Dutch traces with the update of true online TD(lambda) (van Seijen et al. 2016)."""

    def change(
        self, trace: Array, gradient: Array, error: float, moved: float
    ) -> tuple[Array, float]:
        return trace * (error + moved) - gradient * moved, 1.0


TRACES: dict[Name, Trace] = {
    "accumulating": Trace(),
    "replacing": Replacing(),
    "dutch": Dutch(),
    "true-online": TrueOnline(),
}
