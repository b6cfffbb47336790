"""Encodes graphs of objects of listed classes as bytes, and decodes them without running code.

A snapshot of the broker's state is written with it.  Decoding creates objects of the listed classes
and sets their fields; it imports, calls and evaluates nothing.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import msgspec
import numpy as np
from msgspec.msgpack import Ext

from dovetail.protocol import codec
from dovetail.protocol.outside import LEAST, MOST

_REFERENCE, _RAW, _VALUE, _FIXED, _LARGE, _STRUCT, _WHOLE = range(1, 8)
_PLAIN = (type(None), bool, int, float, str, bytes)
_CONTAINERS: dict[type, str] = {list: "list", dict: "dict", set: "set", deque: "deque"}


class ObjectCodec:
    """A codec for the objects of some classes.

    Args:
        classes: the classes, by the name that is written for them.
        fixed: objects that exist on both sides, by the name that is written for them.
        absent: makes a stand-in for a fixed object that this side lacks.
        whole: structs of numbers and text only, which msgspec encodes much faster.
    """

    def __init__(
        self,
        classes: Mapping[str, type],
        fixed: Mapping[str, Any],
        absent: Callable[[str], Any] | None = None,
        whole: Collection[type] = (),
    ) -> None:
        self._whole = whole
        self._absent = absent
        self._classes: dict[str, Any] = dict(classes)
        self._names = {kind: name for name, kind in classes.items()}
        self._kinds = self._classes | {name: kind for kind, name in _CONTAINERS.items()}
        self._fields = {name: _fields(kind) for name, kind in classes.items()}
        self._fixed = dict(fixed)
        self._fixed_names = {id(each): name for name, each in fixed.items()}

    def encode(self, root: Any) -> bytes:
        """Encode an object and all that it reaches.

        Raises:
            TypeError: a class is not listed.
        """
        nodes: list[Any] = []
        numbers: dict[int, int] = {}
        reached: list[Any] = []
        """The numbered objects, kept alive so that their ``id`` is not reused."""

        def value(each: Any, within: bool = False) -> Any:
            """Encode a value; ``within`` a message by value, since nothing else refers to it."""
            kind = type(each)
            if kind in _PLAIN:
                if kind is int and not LEAST <= each <= MOST:
                    return Ext(_LARGE, str(each).encode())
                return each
            if kind is tuple:
                return [value(part, within) for part in each]
            if within and kind is list:
                return {"list": [value(part, within) for part in each]}
            if within and kind is dict:
                return {"dict": [value(pair, within) for pair in each.items()]}
            fixed = self._fixed_names.get(id(each))
            if fixed is not None:
                return Ext(_FIXED, fixed.encode())
            if kind is msgspec.Raw:
                return Ext(_RAW, bytes(each))
            if kind in self._whole:
                return Ext(_WHOLE, codec.encode((self._names[kind], each)))
            if kind in self._names and issubclass(kind, msgspec.Struct):
                fields = [value(getattr(each, part), True) for part in kind.__struct_fields__]
                return Ext(_STRUCT, codec.encode([self._names[kind], *fields]))
            if kind not in _CONTAINERS and kind not in self._names:
                if dataclasses.is_dataclass(kind):  # it would come back as a dict
                    raise TypeError(f"{kind.__name__} is not in the list of classes")
                return Ext(_VALUE, codec.encode(each))
            number = numbers.get(id(each))
            if number is None:
                number = numbers[id(each)] = len(reached)
                reached.append(each)
            return Ext(_REFERENCE, number.to_bytes(4, "big"))

        top = value(root)
        while len(nodes) < len(reached):
            each = reached[len(nodes)]
            kind = type(each)
            name = _CONTAINERS.get(kind) or self._names[kind]
            if kind is set:  # of numbers or names; equal states are equal bytes
                parts: Any = sorted(each)
            elif kind in _CONTAINERS:
                parts = each.items() if kind is dict else each
            elif (names := self._fields[name]) is None:
                parts = vars(each).items()
            else:
                parts = [getattr(each, part) for part in names]
            nodes.append([name, *map(value, parts)])
        return codec.encode([top, nodes])

    def decode(self, data: bytes) -> Any:
        """Return the object that was encoded.

        Raises:
            ValueError: there is none.
        """
        try:
            return self._decode(data)
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            text = f"these are not the bytes of such objects: {type(error).__name__}: {error}"
            raise ValueError(text) from error

    def _decode(self, data: bytes) -> Any:
        top, nodes = msgspec.msgpack.decode(data)
        made = [self._make(node[0]) for node in nodes]

        def value(each: Any) -> Any:
            if type(each) is list:
                return tuple(value(part) for part in each)
            if type(each) is dict:
                if "list" in each:
                    return [value(part) for part in each["list"]]
                return {value(key): value(part) for key, part in each["dict"]}
            if type(each) is not Ext:
                return each
            if each.code == _REFERENCE:
                return made[int.from_bytes(each.data, "big")]
            if each.code == _STRUCT:
                name, *fields = msgspec.msgpack.decode(each.data)
                struct = self._classes[name]
                names = struct.__struct_fields__
                return struct(**dict(zip(names, map(value, fields), strict=True)))
            if each.code == _WHOLE:
                name, data = msgspec.msgpack.decode(each.data, type=tuple[str, msgspec.Raw])
                return msgspec.msgpack.decode(data, type=self._classes[name])
            if each.code == _LARGE:
                return int(each.data)
            if each.code == _RAW:
                return msgspec.Raw(bytes(each.data))
            if each.code == _FIXED:
                name = bytes(each.data).decode()
                if name not in self._fixed and self._absent is not None:
                    return self._absent(name)
                return self._fixed[name]
            found = msgspec.msgpack.decode(each.data, ext_hook=codec.extension)
            return found.copy() if isinstance(found, np.ndarray) else found  # to be written to

        for each, (name, *parts) in zip(made, nodes, strict=True):
            if name in ("list", "deque"):
                each.extend(map(value, parts))
            elif name in ("dict", "set"):
                each.update(map(value, parts))
            else:
                names = self._fields[name]
                pairs = parts if names is None else zip(names, parts, strict=True)
                for field, part in pairs:
                    object.__setattr__(each, field, value(part))
        return value(top)

    def _make(self, name: str) -> Any:
        if name not in self._kinds:
            raise ValueError(f"a {name!r} is not in the list of classes")
        kind = self._kinds[name]
        return kind.__new__(kind)


@cache
def _fields(kind: type) -> list[str] | None:
    """Return a class's field names; None if its objects have a ``__dict__``."""
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    # A compiled class has neither slots nor a ``__dict__``; its attributes are in another order.
    slots = getattr(kind, "__mypyc_attrs__", None) or [
        slot for each in kind.__mro__ for slot in getattr(each, "__slots__", ())
    ]
    return sorted(slot for slot in slots if slot[:2] != "__") or None
