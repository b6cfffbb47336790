"""Wald's sequential probability ratio test (1945) between two ratings, on games or pairs.  Pure.

Likelihoods are those of a multinomial with a constrained mean (Van den Bergh, "The generalized
likelihood ratio test for expectations", 2020), as in fastchess and fishtest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dovetail_experiments.statistics.scores import C, expected

Model = Literal["normalised", "logistic"]
Verdict = Literal["continues", "H0", "H1"]
Floats = NDArray[np.float64]
MOST = {"normalised": 200, "logistic": 1000}
"""Maximum Elo by model; beyond it the likelihood cannot be computed, as the iteration does not
start or the expected score is too close to 0 or 1."""
EMPTY = 0.001
"""Count of a cell without games, so that no likelihood is zero."""


class Sprt(Struct, frozen=True, forbid_unknown_fields=True):
    """``sprt``: a test of ``elo0`` (H0) against ``elo1`` (H1) that ends a pairing early."""

    elo0: float = 0.0
    """Elo difference under the hypothesis that the first player is not better."""
    elo1: float = 20.0
    """Elo difference under the hypothesis that the first player is better."""
    alpha: float = 0.05
    """Probability of accepting ``elo1`` by mistake."""
    beta: float = 0.05
    """Probability of accepting ``elo0`` by mistake."""
    model: Model = "normalised"
    """Unit of Elo: normalised (within ±200) or logistic (within ±1000)."""

    def __post_init__(self) -> None:
        """Raise ValueError if the bounds or the error rates are invalid."""
        if not self.elo0 < self.elo1:
            raise ValueError(f"elo0 must be below elo1, not {self.elo0:g} and {self.elo1:g}")
        if not (self.alpha > 0 and self.beta > 0 and self.alpha + self.beta < 1):
            raise ValueError("alpha and beta must be above 0, and their sum below 1")
        most = MOST[self.model]
        if max(abs(self.elo0), abs(self.elo1)) > most:
            raise ValueError(f"elo0 and elo1 must be within ±{most} in the {self.model} model")

    @property
    def lower(self) -> float:
        """Log-likelihood ratio at which H0 is accepted."""
        return math.log(self.beta / (1 - self.alpha))

    @property
    def upper(self) -> float:
        """Log-likelihood ratio at which H1 is accepted."""
        return math.log((1 - self.beta) / self.alpha)

    def llr(self, counts: Sequence[float]) -> float:
        """Return the log-likelihood ratio of counts: 3 (losses, draws, wins) or 5 (LL .. WW)."""
        cells = np.asarray(counts, float)
        if cells.sum() == 0:
            return 0.0
        cells = np.where(cells == 0, EMPTY, cells)
        p = cells / cells.sum()
        a = np.linspace(0, 1, len(cells))
        if self.model == "logistic":
            one, two = (_with_mean(p, a, expected(each)) for each in (self.elo0, self.elo1))
        else:
            scale = (1 if len(cells) == 3 else math.sqrt(2)) / C
            one, two = (_with_t(p, a, scale * each) for each in (self.elo0, self.elo1))
        return float(cells.sum() * (p * np.log(two / one)).sum())

    def verdict(self, llr: float) -> Verdict:
        """Return the decision for a log-likelihood ratio."""
        if llr >= self.upper:
            return "H1"
        return "H0" if llr <= self.lower else "continues"


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root between two poles, excluding both."""
    from scipy.optimize import brentq

    width = high - low
    return float(brentq(function, low + 1e-12 * width, high - 1e-12 * width, xtol=1e-14))


def _with_mean(p: Floats, a: Floats, s: float) -> Floats:
    """Return the most likely distribution with mean ``s``."""
    theta = _root(
        lambda t: float((p * (a - s) / (1 + t * (a - s))).sum()), -1 / (1 - s), -1 / (0 - s)
    )
    return p / (1 + theta * (a - s))


def _with_t(p: Floats, a: Floats, t: float) -> Floats:
    """Return the most likely distribution whose mean is ``t`` standard deviations above 1/2."""
    q = np.full_like(p, 1 / len(p))
    for _ in range(100):
        mu = float((q * a).sum())
        sigma = math.sqrt(float((q * (a - mu) ** 2).sum()))
        phi = a - 0.5 - 0.5 * t * sigma * (1 + ((a - mu) / sigma) ** 2)

        def slope(theta: float, phi: Floats = phi) -> float:
            return float((p * phi / (1 + theta * phi)).sum())

        theta = _root(slope, -1 / float(phi.max()), -1 / float(phi.min()))
        last, q = q, p / (1 + theta * phi)
        if np.abs(q - last).max() < 1e-9:
            break
    return q
