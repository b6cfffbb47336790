"""An agent's parameters as options of UCI."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError

SEED = "Seed"
LARGEST = 2**31 - 1
SET = re.compile(r"name\s+(?P<name>.+?)(?:\s+value(?:\s+(?P<value>.*))?)?")


class EngineOptions:
    """The parameters that a GUI can set: numbers, switches and choices.

    Strings are omitted, since some are file names; so are lists.

    Args:
        schema: the JSON Schema of each parameter, with its default.
        seed: the default of the option ``Seed``.
    """

    def __init__(self, schema: Mapping[str, Any], seed: int) -> None:
        seeds = {"type": "integer", "minimum": 0, "default": seed}
        self._schema = {name: each for name, each in schema.items() if _form(each)}
        self._schema.setdefault(SEED, seeds)

    def lines(self) -> list[str]:
        """Return the lines that announce the options."""
        return [f"option name {name} {_form(each)}" for name, each in self._schema.items()]

    def read(self, words: str) -> tuple[str, Any]:
        """Return an option's name and value from the arguments of ``setoption``.

        Raises:
            DovetailError: the option is unknown, or its value is of another type.
        """
        found = SET.fullmatch(words.strip())
        names = {name.lower(): name for name in self._schema}
        asked = found["name"] if found else ""
        name = names.get(asked.lower(), "")
        if found is None or not name:
            raise DovetailError(f"no option {asked[:80]!r}; there are {', '.join(self._schema)}")
        text, schema = (found["value"] or "").strip(), self._schema[name]
        if "enum" in schema:
            texts = {str(each): each for each in schema["enum"]}
            if text in texts:
                return name, texts[text]
            raise DovetailError(f"option {name}: {text[:80]!r} is not one of {', '.join(texts)}")
        try:
            value = json.loads(text)
        except codec.UNREADABLE:
            value = text
        kinds: dict[str, tuple[type, ...]] = {
            "boolean": (bool,),
            "integer": (int,),
            "number": (int, float),
        }
        if type(value) not in kinds[schema["type"]]:
            raise DovetailError(f"option {name}: {text[:80]!r} must be of type {schema['type']}")
        if name == SEED and not 0 <= value <= LARGEST:
            raise DovetailError(f"option {SEED}: {value} is not from 0 to {LARGEST}")
        return name, value


def _form(schema: Mapping[str, Any]) -> str:
    """Return an option's type, default and bounds; empty if UCI cannot set it."""
    default = schema.get("default")
    if "enum" in schema:
        choices = "".join(f" var {each}" for each in schema["enum"])
        return f"type combo default {default}{choices}"
    match schema.get("type"):
        case "boolean":
            return f"type check default {str(bool(default)).lower()}"
        case "integer":
            low = max(_bound(schema, "inimum", 1, -LARGEST), -LARGEST)
            high = min(_bound(schema, "aximum", -1, LARGEST), LARGEST)
            return f"type spin default {default or 0} min {low} max {high}"
        case "number":
            return f"type string default {default}"
    return ""


def _bound(schema: Mapping[str, Any], name: str, inside: int, otherwise: int) -> int:
    beyond = schema.get(f"exclusiveM{name}")
    return int(schema.get(f"m{name}", otherwise)) if beyond is None else int(beyond) + inside
