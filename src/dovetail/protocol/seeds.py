"""Seeds, from which every random choice in the system is drawn.

Their derivation is part of the contract (SPEC.md, Seeds), so that any language can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray


def derive(master: int, *path: str | int) -> int:
    """Return the seed at ``path`` below ``master``, in 0 .. 2**63 - 1.

    It is the first eight bytes, big-endian and without the lowest bit, of the SHA-256 of the
    decimal master and the path joined by ``/``.

    >>> derive(1, "episode", 0)
    4384949654484100906
    """
    text = "/".join([str(part) for part in (master, *path)])
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


def derived(masters: Iterable[int], kind: str, numbers: Iterable[int]) -> NDArray[np.uint64]:
    """Return ``derive(master, kind, number)`` for pairs of master and number: uint64 [pairs]."""
    pairs = zip(masters, numbers, strict=True)
    return _numbers([sha256(f"{master}/{kind}/{n}".encode()).digest() for master, n in pairs])


@dataclass(frozen=True, slots=True)
class SeatSeeds:
    """The seeds of the seats in a run's episodes.

    They depend on the agent's place in the run's list, not on its seat: in a round that shares an
    environment's seed, no agent repeats another's luck.
    """

    derivation: int
    """1 derives them from the environment's seed, 2 from a master of their own."""
    master: int
    """The master seed of derivation 2."""

    def one(self, environment: int, index: int, place: int) -> int:
        """Return the seed of a place in an episode; ``environment`` is the environment's seed."""
        if self.derivation == 1:
            return derive(environment, "seat", place)
        return derive(self.master, "seat", index, place)

    def column(
        self, environments: Sequence[int], indices: Sequence[int], seats: Sequence[Sequence[int]]
    ) -> NDArray[np.uint64]:
        """Return ``one`` for the seats of several episodes: uint64 [episodes, seats]."""
        if self.derivation == 1:
            heads = [f"{environment}/seat" for environment in environments]
        else:
            heads = [f"{self.master}/seat/{index}" for index in indices]
        found = [
            sha256(f"{head}/{place}".encode()).digest()
            for head, places in zip(heads, seats, strict=True)
            for place in places
        ]
        return _numbers(found).reshape(len(heads), len(seats[0]) if seats else 0)


def _numbers(digests: list[bytes]) -> NDArray[np.uint64]:
    return np.frombuffer(b"".join(digests), ">u8")[::4] >> np.uint64(1)
