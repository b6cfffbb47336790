"""The format of saved agents: settings and arrays, validated when read.

A state is MessagePack: the agent's type, a version, its parameters and seed, a struct of settings,
and arrays.  Nothing in it is imported, evaluated or unpickled.  An agent loads a state as follows,
so that a rejected state changes nothing::

    saved = unpack(self.name, state, 1, type(self).Parameters, Counters)
    other = type(self)(saved.parameters, saved.seed)
    other.weights = saved.array("weights", "<f8", (12,))
    become(self, other)
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import nan

Array = NDArray[Any]
Counter = Annotated[int, Meta(ge=0, lt=1 << 62)]
"""A counter in a saved state, with room to count further."""
P = TypeVar("P", bound=Struct)
S = TypeVar("S", bound=Struct)


class Nothing(Struct):
    """Settings of an agent without any."""


class _Array(Struct, forbid_unknown_fields=True):
    dtype: str
    """Type in numpy's notation, little-endian."""
    shape: list[int]
    data: bytes
    packed: bool = False
    """True if ``data`` is compressed with zlib."""


class _State(Struct, forbid_unknown_fields=True):
    agent: str
    version: int
    parameters: dict[str, Any]
    seed: int
    settings: dict[str, Any]
    arrays: dict[str, _Array]


class Saved(Generic[P, S]):
    """A state that was read, of the right agent."""

    def __init__(
        self,
        name: str,
        parameters: P,
        seed: int,
        settings: S,
        arrays: dict[str, _Array],
        compress: bool,
    ) -> None:
        self.name, self.parameters, self.seed = name, parameters, seed
        self.settings, self._arrays, self._compress = settings, arrays, compress

    def array(self, name: str, dtype: str, shape: Sequence[int], most: int | None = None) -> Array:
        """Return an array, in this machine's byte order.

        Args:
            name: the name passed to ``pack``.
            dtype: the required type, such as ``<f4``.
            shape: the required shape; -1 for any length.
            most: the maximum number of elements; required if a length is open and arrays are
                compressed, as a few bytes may expand to many.

        Raises:
            DovetailError: the array is missing, has another type, shape or size, has numbers that
                are not finite, or is compressed although this agent compresses none.
        """
        assert most is not None or -1 not in shape or not self._compress
        found = self._arrays.get(name)
        if found is None:
            raise wrong(self.name, f"it has no {name}")
        if found.packed and not self._compress:
            raise wrong(self.name, f"{name} are compressed")
        fits = len(found.shape) == len(shape) and all(
            have >= 0 and want in (-1, have) for have, want in zip(found.shape, shape, strict=True)
        )
        if found.dtype != dtype or not fits:
            raise wrong(
                self.name,
                f"{name} are {found.dtype} of shape {found.shape}, not {dtype} of {list(shape)}",
            )
        count = math.prod(found.shape)
        if most is not None and count > most:
            raise wrong(self.name, f"{name} have {count} numbers; at most {most}")
        kind = np.dtype(dtype)
        size = count * kind.itemsize
        data = found.data
        if found.packed:
            try:
                data = zlib.decompressobj().decompress(data, size + 1)
            except zlib.error as error:
                raise wrong(self.name, f"{name}: {error}") from None
        if len(data) != size:
            raise wrong(self.name, f"{name} have the wrong size")
        read = np.frombuffer(data, kind).reshape(found.shape).astype(kind.newbyteorder("="))
        if kind.kind == "f" and not np.isfinite(read).all():
            raise wrong(self.name, f"{name} have numbers that are not finite")
        return read


def wrong(name: str, why: str) -> DovetailError:
    """Return the error for bytes that are not a saved agent of this type."""
    return DovetailError(f"these bytes are not a saved {name}: {why:.200}")


def pack(
    name: str,
    version: int,
    parameters: Struct,
    seed: int,
    settings: Struct | None = None,
    arrays: Mapping[str, Array] | None = None,
    *,
    compress: bool = False,
) -> bytes:
    """Return a state for ``unpack``.

    Args:
        name: the agent's type.
        version: the version of settings and arrays.
        parameters: the agent's parameters.
        seed: the agent's seed.
        settings: counters and similar data.
        arrays: numbers, by name.
        compress: whether to compress the arrays.
    """
    packed = {}
    for key, value in (arrays or {}).items():
        little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
        data = zlib.compress(little.data, 1) if compress else little.tobytes()
        packed[key] = _Array(little.dtype.str, list(value.shape), data, compress)
    builtin = msgspec.to_builtins(settings or Nothing(), builtin_types=(bytes,))
    given = msgspec.to_builtins(parameters, builtin_types=(bytes,))
    return msgspec.msgpack.encode(_State(name, version, given, seed, builtin, packed))


def unpack(
    name: str,
    state: bytes,
    version: int,
    parameters: type[P],
    settings: type[S],
    *,
    compress: bool = False,
) -> Saved[P, S]:
    """Return the contents of a state; ``compress`` must be the same as for ``pack``.

    Raises:
        DovetailError: the bytes are not a state, or of another agent or version.
    """
    try:
        found = msgspec.msgpack.decode(state, type=_State)
        if found.agent != name:
            raise wrong(name, f"they are a {found.agent!r:.100}")
        if found.version != version:
            raise wrong(name, f"they have version {found.version}, not {version}")
        if nan([found.parameters, found.settings]):
            raise wrong(name, "their parameters or settings have NaN")
        read = msgspec.convert(found.parameters, parameters)
        return Saved(
            *(name, read, found.seed, msgspec.convert(found.settings, settings)),
            *(found.arrays, compress),
        )
    except codec.UNREADABLE as error:
        raise wrong(name, str(error)) from None


def become(agent: object, other: object) -> None:
    """Copy all attributes of another agent of the same type to an agent."""
    vars(agent).update(vars(other))
