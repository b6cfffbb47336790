"""Prepares msgspec for types that several threads decode."""

from __future__ import annotations

from typing import Any

import msgspec


def ready(*types: Any) -> None:
    """Have msgspec analyse types now, at import.

    Otherwise it does so when it first decodes a value, and crashes the program if two threads do
    that at the same time (seen with 0.22).
    """
    for each in types:
        msgspec.msgpack.Decoder(each)
