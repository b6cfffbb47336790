"""Seeds: every random choice in the system comes from one of these, and all of them from a master.

The derivation is part of the contract (SPEC.md, Seeds), so that any language can repeat it.
"""

from __future__ import annotations

from hashlib import sha256


def derive(master: int, *path: str | int) -> int:
    """Return the seed at ``path`` below ``master``, in 0 .. 2**63 - 1.

    It is the first eight bytes, big-endian and without the lowest bit, of the SHA-256 of the
    decimal master and the path joined by ``/``.

    >>> derive(1, "episode", 0)
    4384949654484100906
    """
    text = "/".join(str(part) for part in (master, *path))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1
