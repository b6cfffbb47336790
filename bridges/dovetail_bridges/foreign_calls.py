"""Isolates a library that uses global random generators and prints."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class ForeignCalls:
    """Calls with a match's own state of the global generators, and without output.

    The matches of a program share Python's and NumPy's global generators.  Each call restores the
    state that the match's last call left, so that matches do not affect each other.
    """

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Seed the generators for an episode; ``seed`` has 32 bits."""
        self._plain = random.Random(seed).getstate()
        self._numpy = np.random.RandomState(seed).get_state()

    def __call__(self, method: Callable[[], T]) -> T:
        """Call a method of the library."""
        with self._generators(), contextlib.redirect_stdout(io.StringIO()):
            return method()

    @contextlib.contextmanager
    def _generators(self) -> Iterator[None]:
        plain, other = random.getstate(), np.random.get_state()
        random.setstate(self._plain)
        np.random.set_state(self._numpy)
        try:
            yield
        finally:
            self._plain, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(plain)
            np.random.set_state(other)
