"""Options that the program which serves an environment sets, as new defaults.

What only the local user may choose, such as a file, can be set here and nowhere else: an environment
compares its option with the default of its own ``Configuration``.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, TypeVar

import msgspec

from dovetail.peer import options

T = TypeVar("T", bound=type)


def local(kind: type[Any], option: str) -> Any:
    """Return the default of an environment's option; None if it has none.

    What equals it may be something that only the local user may choose.
    """
    for field in msgspec.structs.fields(kind.Configuration):
        if field.name == option:
            if field.default is not msgspec.NODEFAULT:
                return field.default
            if field.default_factory is not msgspec.NODEFAULT:
                return field.default_factory()
    return None


def preset(kind: T, given: dict[str, Any], owner: str) -> T:
    """Return an environment's class with other defaults; experiments may still set its options.

    Args:
        kind: the class.
        given: options by name, from the local user, never from a peer.
        owner: the environment, as errors name it.

    Raises:
        DovetailError: an option is unknown, of the wrong type or out of range.
    """
    if not given:
        return kind
    struct: type[msgspec.Struct] = kind.Configuration  # type: ignore[attr-defined]
    made = options.read(struct, given, owner)
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    named = {field.encode_name: field.name for field in fields.values()}
    changed: list[tuple[str, type, Any]] = []
    for name in given:
        value = getattr(made, named[name])
        if isinstance(value, str | int | float | bool | None):  # the options' table shows it
            default = msgspec.field(default=value, name=name)
        else:
            default = msgspec.field(default_factory=partial(copy.copy, value), name=name)
        changed.append((named[name], fields[named[name]].type, default))
    # Later fields of a struct need defaults if earlier ones have them; by keyword they do not.
    configuration = msgspec.defstruct(
        struct.__name__, changed, bases=(struct,), kw_only=True, module=struct.__module__
    )
    body = {"Configuration": configuration, "__doc__": kind.__doc__, "__module__": kind.__module__}
    return type(kind)(kind.__name__, (kind,), body)
