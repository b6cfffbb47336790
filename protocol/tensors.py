"""Tensors on the wire: MessagePack extension 1 around ``[dtype, shape, bytes]``.

Bytes are in C order, little-endian.  A decoded array is a read-only view of the frame.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

EXTENSION = 1

DTYPES = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
    )
}

_encoder = msgspec.msgpack.Encoder()
_header = msgspec.msgpack.Decoder(tuple[str, list[int], msgspec.Raw])
_data = msgspec.msgpack.Decoder(memoryview)


def pack(array: NDArray[Any]) -> msgspec.msgpack.Ext:
    """Return the extension value of ``array``.

    Raises:
        TypeError: its dtype cannot travel.
    """
    name = array.dtype.name
    dtype = DTYPES.get(name)
    if dtype is None:
        raise TypeError(f"an array of {name} cannot travel; use one of {', '.join(DTYPES)}")
    data = np.ascontiguousarray(array, dtype)
    return msgspec.msgpack.Ext(EXTENSION, _encoder.encode((name, array.shape, data.data)))


def unpack(data: memoryview | bytes) -> NDArray[Any]:
    """Return the array in the payload of an extension value.

    Raises:
        ValueError: dtype, shape and number of bytes do not fit one another.
    """
    try:
        name, shape, raw = _header.decode(data)
        content = _data.decode(raw)
    except msgspec.ValidationError as error:
        raise ValueError(f"tensor that is not [dtype, shape, bytes]: {error}") from None
    dtype = DTYPES.get(name)
    if dtype is None:
        raise ValueError(f"tensor of unknown dtype {name[:20]!r}")
    if len(shape) > 32 or any(length < 0 for length in shape):
        raise ValueError("tensor with a negative length or more than 32 dimensions")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"tensor {name}{shape} with {len(content)} bytes of data")
    return np.frombuffer(content, dtype).reshape(shape)
