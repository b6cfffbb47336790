"""Calls of a library that draws from Python's global generators and prints."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class ForeignCalls:
    """The global random numbers of one match, and silence.

    Matches of one program share Python's and numpy's global generators.  Each call finds them as
    the last call of the same match left them, so matches do not disturb one another.
    """

    def __init__(self) -> None:
        self.seed(0)

    def seed(self, seed: int) -> None:
        """Begin the numbers of an episode; ``seed`` has 32 bits."""
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
