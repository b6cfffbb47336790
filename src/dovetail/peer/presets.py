"""Options that the program which serves an environment or agent sets, as new defaults.

What only the local user may choose, such as a file, can be set here and nowhere else: an
environment or agent compares its option with the default of its own ``Configuration`` or
``Parameters``.
"""

from __future__ import annotations

import copy
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import msgspec

from dovetail.peer import options
from dovetail.peer.error_origin import FAILURES
from dovetail.peer.registry import one_line
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec

T = TypeVar("T", bound=type)


def local(kind: type[Any], option: str) -> Any:
    """Return the default of an option of an environment or agent; None if it has none.

    What equals it may be something that only the local user may choose.
    """
    for field in msgspec.structs.fields(_struct(kind)):
        if field.name == option:
            if field.default is not msgspec.NODEFAULT:
                return field.default
            if field.default_factory is not msgspec.NODEFAULT:
                return field.default_factory()
    return None


def declared(made: Any) -> Spec:
    """Return what a game says of itself, and release the game: it is made for nothing else.

    Raises:
        DovetailError: ``init`` failed; or whatever else it raises.
    """
    try:
        spec: Spec = made.init()
    except FAILURES:
        with suppress(*FAILURES):  # it may take for granted what ``init`` did not get to
            made.cleanup()
        raise
    made.cleanup()
    return spec


def tried(kind: type[Any], owner: str) -> None:
    """Make an environment with a game, or an agent, of its defaults once, and release it.

    So mistakes are found before it is served.  What needs further options is left alone.

    Args:
        kind: the class, such as ``preset`` returns.
        owner: the environment or agent, as errors name it.

    Raises:
        DovetailError: it cannot be made.
    """
    struct = _struct(kind)
    if _missing(struct):
        return
    try:
        if _attribute(kind) == "Configuration":
            declared(kind())
        else:
            kind(struct()).cleanup()
    except DovetailError:
        raise
    except Exception as error:
        raise DovetailError(f"{owner} cannot be made: {one_line(error)}") from error


def _attribute(kind: type[Any]) -> str:
    return "Configuration" if hasattr(kind, "Configuration") else "Parameters"


def _struct(kind: type[Any]) -> type[msgspec.Struct]:
    """Return the options of an environment or agent."""
    struct: type[msgspec.Struct] = getattr(kind, _attribute(kind))
    return struct


def _missing(struct: type[msgspec.Struct]) -> list[msgspec.structs.FieldInfo]:
    return [field for field in msgspec.structs.fields(struct) if field.required]


def preset(kind: T, given: dict[str, Any], owner: str) -> T:
    """Return a class with other defaults; experiments may still set its options.

    Args:
        kind: the class.
        given: options by name, from the local user, never from a peer.
        owner: the environment or agent, as errors name it.

    Raises:
        DovetailError: an option is unknown, of the wrong type or out of range.
    """
    if not given:
        return kind
    struct = _struct(kind)
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    named = {field.encode_name: field.name for field in fields.values()}
    later: list[tuple[str, type, Any]] = [
        (each.name, each.type, None) for each in _missing(struct) if each.encode_name not in given
    ]
    # Experiments may still give the options that it needs.
    partial_ = msgspec.defstruct(struct.__name__, later, bases=(struct,), kw_only=True)
    made = options.read(partial_ if later else struct, given, owner)
    changed: list[tuple[str, type, Any]] = []
    for name in given:
        value = getattr(made, named[name])
        if isinstance(value, str | int | float | bool | None):  # the options' table shows it
            default = msgspec.field(default=value, name=name)
        else:
            default = msgspec.field(default_factory=partial(copy.copy, value), name=name)
        changed.append((named[name], fields[named[name]].type, default))
    # Later fields of a struct need defaults if earlier ones have them; by keyword they do not.
    new = msgspec.defstruct(
        struct.__name__, changed, bases=(struct,), kw_only=True, module=struct.__module__
    )
    body = {_attribute(kind): new, "__doc__": kind.__doc__, "__module__": kind.__module__}
    return type(kind)(kind.__name__, (kind,), body)
