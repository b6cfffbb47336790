"""Options: the typed structs in which agents and environments declare what can be set.

One struct gives the check (``read``) and the description for people and other languages
(``describe``).
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from dovetail.protocol.errors import DovetailError

S = TypeVar("S", bound=msgspec.Struct)


def read(struct: type[S], options: dict[str, Any], owner: str) -> S:
    """Return ``options`` as ``struct``.

    Raises:
        DovetailError: an option is unknown, of the wrong type or out of range; one line says which.
    """
    known = {field.encode_name for field in msgspec.structs.fields(struct)}
    for name in options:
        if name not in known:
            allowed = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise DovetailError(f"{owner} has no option {name!r}; {allowed}")
    try:
        return msgspec.convert(options, struct)
    except msgspec.ValidationError as error:
        text = str(error)
        where = re.search(r" - at `\$\.?(.*)`$", text)
        if where is None:
            raise DovetailError(f"{owner}: {text}") from None
        what = text[: where.start()]
        raise DovetailError(f"{owner}, option {where.group(1)!r}: {what}") from None


def describe(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of each option by its name, with its default."""
    schema = msgspec.json.schema(struct)
    if "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    properties: dict[str, Any] = schema.get("properties", {})
    return properties
