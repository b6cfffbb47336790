"""Options set by the program that serves an environment or agent, as new defaults.

Options that only the local user may choose, such as a file, can be set only here: an environment or
agent compares the option with the default of its own ``Configuration`` or ``Parameters``.
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
    """Return the default of an environment's or agent's option; None if it has none.

    A value equal to it was chosen by the local user.
    """
    for field in msgspec.structs.fields(_struct(kind)):
        if field.name == option:
            if field.default is not msgspec.NODEFAULT:
                return field.default
            if field.default_factory is not msgspec.NODEFAULT:
                return field.default_factory()
    return None


def declared(made: Any) -> Spec:
    """Return the spec of a game that was made only for that, and release the game.

    Raises:
        DovetailError: ``init`` failed; it can also raise any other exception.
    """
    try:
        spec: Spec = made.init()
    except FAILURES:
        with suppress(*FAILURES):  # it may rely on what ``init`` did not get to
            made.cleanup()
        raise
    made.cleanup()
    return spec


def tried(kind: type[Any], owner: str) -> None:
    """Create an environment and its game, or an agent, with the defaults, and release it.

    It finds mistakes before the class is served.  Classes with required options are skipped.

    Args:
        kind: the class, such as from ``preset``.
        owner: the name of the environment or agent, for errors.

    Raises:
        DovetailError: it cannot be created.
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
    struct: type[msgspec.Struct] = getattr(kind, _attribute(kind))
    return struct


def _missing(struct: type[msgspec.Struct]) -> list[msgspec.structs.FieldInfo]:
    return [field for field in msgspec.structs.fields(struct) if field.required]


def preset(kind: T, given: dict[str, Any], owner: str) -> T:
    """Return a subclass with other defaults; experiments can still set its options.

    Args:
        kind: the class.
        given: options by name, from the local user, never from a peer.
        owner: the name of the environment or agent, for errors.

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
