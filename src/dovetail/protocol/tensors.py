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
DIMENSIONS = 32
"""The most that a tensor may have."""

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

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[str, list[int], memoryview])


def pack(array: NDArray[Any]) -> msgspec.msgpack.Ext:
    """Return the extension value of ``array``.

    Raises:
        TypeError: the contract has no such dtype, or not so many dimensions.
    """
    if array.ndim > DIMENSIONS:
        text = f"an array of {array.ndim} dimensions cannot travel; {DIMENSIONS} is the most"
        raise TypeError(text)
    name = _NAMES.get(array.dtype)
    if name is None:  # perhaps another byte order
        name = array.dtype.name
        if name not in DTYPES:
            raise TypeError(f"an array of {name} cannot travel; use one of {', '.join(DTYPES)}")
        array = array.astype(DTYPES[name])
    data = array.data if array.flags.c_contiguous else array.tobytes()
    return msgspec.msgpack.Ext(EXTENSION, _encoder.encode((name, array.shape, data)))


def nested(array: NDArray[Any]) -> Any:
    """Return an array as nested lists; an empty list if it has no elements.

    ``tolist`` would make a list per row even then: a peer's [2**40, 0] would fill the memory.
    """
    return array.tolist() if array.size else []


def unpack(data: memoryview | bytes) -> NDArray[Any]:
    """Return the array in the payload of an extension value.

    Raises:
        ValueError: dtype, shape and number of bytes do not match.
    """
    try:
        name, shape, content = _decoder.decode(data)
    except msgspec.DecodeError:
        raise ValueError("a tensor whose payload is not [dtype, shape, bytes] (S8.2)") from None
    dtype = DTYPES.get(name)
    if dtype is None:
        raise ValueError(f"tensor of unknown dtype {name[:20]!r}")
    if len(shape) > DIMENSIONS or min(shape, default=0) < 0:
        raise ValueError(f"tensor with a negative length or more than {DIMENSIONS} dimensions")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"tensor {name}{shape} with {len(content)} bytes of data")
    if name == "bool" and bytes(content).translate(None, b"\x00\x01"):
        raise ValueError("tensor bool with a byte other than 0 and 1")
    return np.ndarray(shape, dtype, content)
