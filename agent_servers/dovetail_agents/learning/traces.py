"""Eligibility traces: how the gradients of earlier positions add up to a change of the weights."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dovetail_agents.learning.network import Array

Name = Literal["accumulating", "replacing", "dutch", "true-online"]


class Trace:
    """Accumulating traces: a gradient is added to what is left of the earlier ones."""

    def join(self, trace: Array, gradient: Array, rate: float, scale: Array | None) -> None:
        """Put a gradient into a trace that has decayed already.

        Args:
            trace: changed in place; one number for each weight.
            gradient: of the value that is learned.
            rate: the step size.
            scale: the step sizes of the weights relative to ``rate``; None if all are 1.
        """
        np.add(trace, gradient, out=trace)

    def change(
        self, trace: Array, gradient: Array, error: float, moved: float
    ) -> tuple[Array, float]:
        """Return a direction of the weights, and how far to go for a step size of 1.

        Args:
            trace: with the gradient in it.
            gradient: of the value that is learned.
            error: target minus value.
            moved: how far earlier updates have moved that value since it was predicted.
        """
        return trace, error


class Replacing(Trace):
    """A gradient takes the place of the earlier ones wherever it is not zero."""

    def join(self, trace: Array, gradient: Array, rate: float, scale: Array | None) -> None:
        np.copyto(trace, gradient, where=gradient != 0)


class Dutch(Trace):
    """Subtracts from a gradient what the trace holds of it (van Seijen et al. 2016)."""

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
