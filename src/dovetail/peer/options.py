"""Options: the typed structs in which agents and environments declare their parameters.

One struct gives the check (``read``) and the description for people and other languages
(``describe``).
"""

from __future__ import annotations

import difflib
import json
import re
import threading
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from dovetail.protocol.errors import DovetailError

S = TypeVar("S", bound=msgspec.Struct)

_first = threading.Lock()
"""As of ``dovetail.protocol.ready``, for types that are not known before."""


def read(struct: type[S], options: dict[str, Any], owner: str) -> S:
    """Return ``options`` as ``struct``.

    Raises:
        DovetailError: an option is unknown, of the wrong type or out of range; one line says which.
    """
    known = {field.encode_name for field in msgspec.structs.fields(struct)}
    for name in options:
        if name not in known:
            allowed = f"it has {', '.join(sorted(known))}" if known else "it has none"
            close = difflib.get_close_matches(name, known, 1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise DovetailError(f"{owner} has no option {name!r}; {meant}{allowed}")
    try:
        with _first:
            return msgspec.convert(options, struct)
    except msgspec.ValidationError as error:
        raise DovetailError(f"{owner}{_problem(str(error), struct, options)}") from None


def _problem(text: str, struct: type[msgspec.Struct], options: dict[str, Any]) -> str:
    """Turn msgspec's error into one line, with the permitted values where they are known."""
    missing = re.match(r"Object missing required field `(.*?)`$", text)
    if missing is not None:
        return f" needs its option {missing.group(1)!r}"
    where = re.search(r" - at `\$\.?(.*)`$", text)
    if where is None:
        return f": {text}"
    what, path = text[: where.start()], where.group(1)
    option = re.split(r"[.\[]", path)[0]
    if "enum value" in what:
        schema = describe(struct).get(option, {})
        forms = schema.get("anyOf", [schema])
        values = [repr(each) for form in forms for each in form.get("enum", ())]
        types = [f"of type {form['type']}" for form in forms if "type" in form]
        what += f"; it can be {', '.join(values + types)}"
    elif path in options and ("<" in what or ">" in what):
        what += f", not {options[path]!r}"
    return f", option {path!r}: {what}"


def describe(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of each option by its name, with its default."""
    schema = msgspec.json.schema(struct)
    if "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    properties: dict[str, Any] = schema.get("properties", {})
    return properties


def settings(given: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts as a mapping; values are JSON if they parse as JSON, otherwise text.

    Raises:
        DovetailError: an entry has no ``=``, or a key is given twice.
    """
    found: dict[str, Any] = {}
    for each in given or ():
        key, equals, text = each.partition("=")
        key = key.strip()
        if not equals or not key:
            raise DovetailError(f"{option} {each!r} is not of the form KEY=VALUE")
        if key in found:
            raise DovetailError(f"{option} {key} is given twice")
        try:
            found[key] = json.loads(text)
        except ValueError:
            found[key] = text
    return found
