"""Searches for vectors that do well in noisy trials: cross-entropy and CMA-ES. Pure: ask, try,
tell.

A search is determined by its settings and the results it received, so a checkpoint stores only
these (``RememberedSearch``).

The cross-entropy method with noise is that of Szita and Lorincz (2006), as Thiery and Scherrer
(2009) use it; CMA-ES (Hansen 2016) is the package ``cma``'s, which the extra ``dovetail[cma]``
installs.
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

    Szita and Lorincz' constant noise is 4 and their decreasing one max(5 - t / 10, 0); here
    ``size`` takes the place of 4 or 5, and the decreasing one also ends after 50 generations.

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
    """The means, float64, shape (dimensions,)."""
    variance: Array
    """The variances, float64, shape (dimensions,)."""
    population: int
    elite: float
    """The share of the population to which the distribution moves."""
    rng: np.random.Generator
    noise: Callable[[int], float] | None = None
    """The variance added after each generation."""
    generation: int = 0

    def ask(self) -> Array:
        """Return vectors to try."""
        shape = self.population, len(self.mean)
        self._asked = self.mean + np.sqrt(self.variance) * self.rng.standard_normal(shape)
        return self._asked

    def tell(self, worth: Array) -> None:
        """Move to the mean and variance of the best; among equals, those asked first."""
        count = max(1, round(self.elite * self.population))
        best = self._asked[np.argsort(-worth, kind="stable")[:count]]
        self.mean = best.mean(0)
        added = self.noise(self.generation) if self.noise else 0.0
        self.variance = best.var(0) + added
        self.generation += 1


class RememberedSearch:
    """A search that remembers its results, so that an equal search can be restored to the same
    state."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.worths: list[list[float]] = []
        """The worths of each generation's vectors in the order of ``ask``."""

    @property
    def mean(self) -> Array:
        """The search's mean."""
        return self.search.mean

    def ask(self) -> Array:
        """Return vectors to try."""
        return self.search.ask()

    def tell(self, worth: Array) -> None:
        """Pass on the vectors' worths and remember them."""
        self.search.tell(worth)
        self.worths.append(np.asarray(worth, np.float64).tolist())

    def replay(self, worths: Sequence[Sequence[float]]) -> None:
        """Replay recorded generations without trying any vector.

        Raises:
            DovetailError: a generation has another number of vectors than this search asks for.
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
    """CMA-ES; a vector is ``start + sigma * scales * z``, where the distribution of z is
    learned."""

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
        """Start a search.

        Args:
            start: float64, shape (dimensions,).
            sigma: the first standard deviation of each coordinate, times its scale.
            population: vectors a generation.
            seed: the seed of the draws.
            scales: float64, shape (dimensions,); all 1 if None.
            bounds: the bounds of every coordinate.
            diagonal: coordinates are drawn independently, which is faster with many.
            elitist: the best vector so far stays among the parents.

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
            # A generator of the search's own: cma draws from numpy's global one otherwise.
            "seed": np.nan,
            "randn": _Normal(seed),
            "verbose": -9,
            "CMA_diagonal": diagonal,
            "CMA_elitist": elitist,
            "CMA_stds": None if scales is None else np.asarray(scales),
            "bounds": [None, None] if bounds is None else list(bounds),
            # Trials are noisy and often equal: only the number of generations ends a search.
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
            # An elite that the mean has left is far away in sigmas; cma bounds what that does.
            warnings.filterwarnings("ignore", "elements of z2", UserWarning)
            self._search.tell(self._asked, (-np.asarray(worth, np.float64)).tolist())
