"""Options: the typed structs in which agents and environments declare their parameters.

One struct gives the check (``read``) and the description for people and other languages
(``describe``).
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from dovetail.peer import coercion as given
from dovetail.peer.validation_messages import among, problem
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.outside import nan

S = TypeVar("S", bound=msgspec.Struct)


def named_struct(cls: type, base: type) -> type[msgspec.Struct] | None:
    """Return the struct that a class gives its base, as in ``class Nim(Environment[Options])``.

    It is the first argument of the base, or what bounds it; None if the class names none.
    """
    found = None
    for each in vars(cls).get("__orig_bases__", ()):
        kind = get_origin(each)
        if isinstance(kind, type) and issubclass(kind, base):
            given = get_args(each)[0]
            given = given.__bound__ if isinstance(given, TypeVar) else given
            found = given if isinstance(given, type) else found
    return found


_first = threading.Lock()
"""Guards msgspec's first use of a type; see ``dovetail.protocol.codec.ready``."""


class WrongOption(DovetailError):
    """An option is unknown, missing or wrong; ``option`` is its name, if it is a single one."""

    def __init__(self, message: str, option: str = "") -> None:
        super().__init__(message)
        self.option = option


def read(struct: type[S], options: dict[str, Any], owner: str) -> S:
    """Convert ``options`` to a struct.

    Raises:
        WrongOption: an option is unknown, of the wrong type or out of range.
    """
    fields = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    for name in options:
        if name not in fields:
            allowed = f"it has {', '.join(sorted(fields))}" if fields else "it has none"
            raise WrongOption(f"{owner} has no option {name!r}{among(name, fields, allowed)}", name)
    for name, field in fields.items():
        if field.required and name not in options:
            raise WrongOption(f"{owner} needs its option {name!r}")
    for name, value in options.items():  # a field of type Any takes any value
        if fields[name].type is not Any and nan([value]):
            raise WrongOption(f"{owner}, option {name!r}: it must be a number, not NaN", name)
    try:
        with _first:
            try:
                return msgspec.convert(options, struct)  # a tensor stays one where any value may be
            except msgspec.ValidationError:
                return msgspec.convert(given.plain(options), struct)
    except msgspec.ValidationError as error:
        with _first:
            found = problem(error, struct, options)
        if not found.steps:
            raise WrongOption(f"{owner}{found.text}{found.hint}") from None
        name = str(found.steps[0])
        rest = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in found.subject[1:])
        it = "" if found.text.startswith(":") else ": it"
        raise WrongOption(
            f"{owner}, option {name + ''.join(rest)!r}{it}{found.text}{found.hint}", name
        ) from None


def describe(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of each option by its name, with its default."""
    schema = msgspec.json.schema(struct)
    if "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    properties: dict[str, Any] = schema.get("properties", {})
    for field in msgspec.structs.fields(struct):
        if field.default_factory is not msgspec.NODEFAULT:  # the schema has it if it is empty only
            default = msgspec.to_builtins(field.default_factory())
            properties[field.encode_name].setdefault("default", default)
    return properties
