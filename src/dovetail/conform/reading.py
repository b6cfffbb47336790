"""The JSON reading of a frame, which ``vectors/``, SPEC.md and the kit's messages show."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np


def reading(value: Any) -> Any:
    """Return a decoded value as JSON can hold it.

    >>> reading({"state": b"\\x01"})
    {'state': {'$bytes': '01'}}
    """
    match value:
        case dict():
            return {key: reading(each) for key, each in value.items()}
        case list() | tuple():
            return [reading(each) for each in value]
        case bytes():
            return {"$bytes": value.hex()}
        case np.ndarray():
            data = [reading(each) for each in value.reshape(-1).tolist()]
            return {
                "$tensor": {"dtype": value.dtype.name, "shape": list(value.shape), "data": data}
            }
        case msgspec.msgpack.Ext():
            return {"$extension": {"code": value.code, "data": bytes(value.data).hex()}}
        case float() if not math.isfinite(value):
            return {"$float": str(value)}
    return value
