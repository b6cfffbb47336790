"""Seeds: every random choice in the system comes from one of these, and all of them from a master.

The derivation is part of the contract (SPEC.md, Seeds), so that any language can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    """Return ``derive(master, kind, number)`` for each of some pairs: uint64 [pairs]."""
    pairs = zip(masters, numbers, strict=True)
    found = [sha256(f"{master}/{kind}/{number}".encode()).digest() for master, number in pairs]
    return np.frombuffer(b"".join(found), ">u8")[::4] >> np.uint64(1)
