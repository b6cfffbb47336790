"""Searches for vectors that do well in noisy trials: cross-entropy and CMA-ES.

Searches do no I/O: the caller asks for vectors, tries them and tells their worth. A search is
determined by its settings and these results, so a checkpoint stores nothing else
(``RememberedSearch``).

The cross-entropy method with noise is that of Szita and Lorincz (2006), as used by Thiery and
Scherrer (2009). CMA-ES (Hansen 2016) comes from the package ``cma``, which the extra
``dovetail[cma]`` installs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError

Array = NDArray[Any]
Noise = Literal["none", "constant", "decreasing"]


class Search(Protocol):
    """A search that improves vectors by the results of its previous ones."""

    @property
    def mean(self) -> Array:
        """The centre of the next vectors: float64, shape (dimensions,)."""

    def ask(self) -> Array:
        """Return vectors to try: float64, shape (candidates, dimensions)."""

    def tell(self, worth: Array) -> None:
        """Report the worth of each vector of the last ``ask``; more is better."""


def noise(kind: Noise, generation: int, size: float) -> float:
    """Return the variance added after a generation, counted from 0.

    The constant noise of Szita and Lorincz is 4, their decreasing noise max(5 - t / 10, 0). Here
    ``size`` replaces the 4 or 5, and the decreasing noise also ends after 50 generations.

    >>> noise("decreasing", 0, 5.0), noise("decreasing", 30, 5.0), noise("decreasing", 70, 5.0)
    (5.0, 2.0, 0.0)
    """
    if kind == "none":
        return 0.0
    return size if kind == "constant" else max(size * (1 - generation / 50), 0.0)


@dataclass
class CrossEntropy:
    """Cross-entropy: independent normal distributions that move to the best of their samples."""

    mean: Array
    """Means, float64, shape (dimensions,)."""
    variance: Array
    """Variances, float64, shape (dimensions,)."""
    population: int
    elite: float
    """Share of the population to which the distribution moves."""
    rng: np.random.Generator
    noise: Callable[[int], float] | None = None
    """Variance added after each generation."""
    generation: int = 0

    def ask(self) -> Array:
        """Return vectors to try."""
        shape = self.population, len(self.mean)
        self._asked = self.mean + np.sqrt(self.variance) * self.rng.standard_normal(shape)
        return self._asked

    def tell(self, worth: Array) -> None:
        """Move to the mean and variance of the best; of equal vectors, the first asked wins."""
        count = max(1, round(self.elite * self.population))
        best = self._asked[np.argsort(-worth, kind="stable")[:count]]
        self.mean = best.mean(0)
        added = self.noise(self.generation) if self.noise else 0.0
        self.variance = best.var(0) + added
        self.generation += 1


class RememberedSearch:
    """A search that records its results, so that an equal search can be restored to its state."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.worths: list[list[float]] = []
        """Worths of each generation's vectors in the order of ``ask``."""

    @property
    def mean(self) -> Array:
        """The search's mean."""
        return self.search.mean

    def ask(self) -> Array:
        """Return vectors to try."""
        return self.search.ask()

    def tell(self, worth: Array) -> None:
        """Pass on the vectors' worths and record them."""
        self.search.tell(worth)
        self.worths.append(np.asarray(worth, np.float64).tolist())

    def replay(self, worths: Sequence[Sequence[float]]) -> None:
        """Replay recorded generations without trying any vector.

        Raises:
            DovetailError: a generation does not have as many vectors as this search asks for.
        """
        for worth in worths:
            asked = len(self.ask())
            if asked != len(worth):
                raise DovetailError(f"it has generations of {len(worth)} vectors, not of {asked}")
            self.tell(np.array(worth))


class _Normal:
    """Normal samples of a shape from a search's own generator."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        return self._rng.standard_normal(shape)


class CMAES:
    """CMA-ES over z, whose distribution is learned; a vector is ``start + sigma * scales * z``."""

    def __init__(
        self,
        start: Array,
        sigma: float,
        population: int,
        seed: int,
        *,
        scales: Array | None = None,
        bounds: tuple[float, float] | None = None,
        diagonal: bool = False,
        elitist: bool = False,
    ) -> None:
        """Create a search.

        Args:
            start: the initial mean; float64, shape (dimensions,).
            sigma: the initial standard deviation of each coordinate, divided by its scale.
            population: the number of vectors per generation.
            seed: the seed of the draws.
            scales: float64, shape (dimensions,); all 1 if None.
            bounds: the bounds of every coordinate.
            diagonal: true to draw coordinates independently, which is faster with many.
            elitist: true to keep the best vector so far among the parents.

        Raises:
            DovetailError: the package ``cma`` is missing.
        """
        try:
            import cma
        except ImportError:
            raise DovetailError(
                "CMA-ES needs the package cma: pip install 'dovetail[cma]'"
            ) from None
        options: dict[str, Any] = {
            "popsize": population,
            # a private generator, since cma's default is numpy's global one
            "seed": np.nan,
            "randn": _Normal(seed),
            "verbose": -9,
            "CMA_diagonal": diagonal,
            "CMA_elitist": elitist,
            "CMA_stds": None if scales is None else np.asarray(scales),
            "bounds": [None, None] if bounds is None else list(bounds),
            # Trials are noisy and often equal, so only the number of generations ends a search.
            "tolfun": 0,
            "tolfunhist": 0,
            "tolflatfitness": 1_000_000,
            "tolx": 0,
            "tolstagnation": 1_000_000,
        }
        self._search = cma.CMAEvolutionStrategy(np.asarray(start, np.float64), sigma, options)

    @property
    def mean(self) -> Array:
        """The mean of the distribution, within the bounds."""
        return np.asarray(self._search.result.xfavorite, np.float64)

    def ask(self) -> Array:
        """Return vectors to try."""
        self._asked = self._search.ask()
        return np.array(self._asked, np.float64)

    def tell(self, worth: Array) -> None:
        """Adapt the distribution."""
        with warnings.catch_warnings():
            # An elite that the mean has left is many sigmas away; cma bounds the effect.
            warnings.filterwarnings("ignore", "elements of z2", UserWarning)
            self._search.tell(self._asked, (-np.asarray(worth, np.float64)).tolist())
