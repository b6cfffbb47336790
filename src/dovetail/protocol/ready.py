"""Types that are complete before threads read values of them."""

from __future__ import annotations

from typing import Any

import msgspec


def ready(*types: Any) -> None:
    """Complete what msgspec knows of types.

    It would do so when a value is first read, and crashes the program if two threads read their
    first at the same time (seen with 0.22).  Called where a type is defined, this happens once, at
    import.
    """
    for each in types:
        msgspec.msgpack.Decoder(each)
