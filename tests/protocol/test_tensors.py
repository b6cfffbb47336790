"""Tensors: every dtype and shape there and back, and nothing that contradicts itself."""

from __future__ import annotations

import struct
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol import codec, tensors
from dovetail.protocol.errors import ProtocolError

SHAPES = st.lists(st.integers(0, 4), max_size=4)


def read(frame: bytes) -> Any:
    """Return the array of a frame; None if it is malformed, the only error there may be."""
    try:
        return codec.decode(frame)
    except ProtocolError as error:
        if error.code != "malformed":
            raise
        return None


@pytest.mark.parametrize("name", tensors.DTYPES)
@given(shape=SHAPES, data=st.data())
def test_every_dtype_goes_there_and_back(name: str, shape: list[int], data: st.DataObject) -> None:
    dtype = np.dtype(name)
    size = int(np.prod(shape)) * dtype.itemsize
    raw = data.draw(st.binary(min_size=size, max_size=size))
    array = np.frombuffer(raw, np.uint8)
    array = (array % 2 if name == "bool" else array).view(dtype).reshape(shape)
    back = codec.decode(codec.encode(array))
    assert back.dtype == dtype
    assert back.shape == tuple(shape)
    assert back.tobytes() == array.tobytes()


def test_the_bytes_are_little_endian_and_in_c_order() -> None:
    array = np.array([[1, 2], [3, 4]], ">i2").T  # big-endian, columns first
    extension = msgpack.unpackb(codec.encode(array))
    assert extension.code == 1
    assert msgpack.unpackb(extension.data) == ["int16", [2, 2], struct.pack("<4h", 1, 3, 2, 4)]


def test_a_part_of_an_array_travels_alone() -> None:
    array = np.arange(12, dtype=np.int32).reshape(3, 4)[::2, 1::2]
    assert codec.decode(codec.encode(array)).tolist() == [[1, 3], [9, 11]]


def test_a_decoded_array_is_read_only() -> None:
    array = codec.decode(codec.encode(np.zeros(3)))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0


def test_the_example_of_the_spec() -> None:
    frame = bytes.fromhex("c70c 01 93 a4696e7438 9102 c4020102")
    assert codec.encode(np.array([1, 2], np.int8)) == frame
    assert codec.decode(frame).tolist() == [1, 2]


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]),
        np.array([object()]),
        np.array([1j]),
        np.array(["2026-01-01"], "datetime64[D]"),
        np.zeros(2, [("x", "i4")]),
        np.zeros((1,) * 33),
        np.ma.array([1, 2], mask=[False, True]),
    ],
)
def test_other_arrays_cannot_travel(array: Any) -> None:
    with pytest.raises(TypeError, match="cannot travel"):
        codec.encode(array)


@given(st.binary(max_size=60))
def test_random_payloads_are_arrays_or_value_errors(payload: bytes) -> None:
    frame = msgpack.packb(msgpack.ExtType(1, payload))
    array = read(frame)
    assert array is None or isinstance(array, np.ndarray)


@given(
    st.sampled_from([*tensors.DTYPES, "complex64", "object", "O", "<i4", ""]),
    st.lists(st.integers(-2, 2**64 - 1) | st.integers(0, 3), max_size=40),
    st.binary(max_size=16),
)
def test_a_tensor_that_contradicts_itself_is_malformed(
    name: str, shape: list[int], data: bytes
) -> None:
    frame = msgpack.packb(msgpack.ExtType(1, msgpack.packb([name, shape, data])))
    dtype = tensors.DTYPES.get(name)
    array = read(frame)
    if array is not None:
        assert dtype is not None
        assert list(array.shape) == shape
        assert array.nbytes == len(data)
