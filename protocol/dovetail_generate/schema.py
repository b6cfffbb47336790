"""schema.json: JSON Schema of every message, by direction."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import msgspec

from dovetail.conform.reading import reading
from dovetail.protocol import messages
from dovetail_generate import examples
from dovetail_generate.model import contract

_BYTES = {
    "title": "bytes",
    "description": "MessagePack bin, in hexadecimal.",
    "type": "object",
    "properties": {"$bytes": {"type": "string", "pattern": "^([0-9a-f]{2})*$"}},
    "required": ["$bytes"],
    "additionalProperties": False,
}
_NUMBER = {
    "title": "number",
    "description": 'An integer or float; one that JSON cannot hold is {"$float": "inf"}.',
    "anyOf": [
        {"type": "number"},
        {
            "type": "object",
            "properties": {"$float": {"enum": ["inf", "-inf", "nan"]}},
            "required": ["$float"],
            "additionalProperties": False,
        },
    ],
}

_UNIONS = (
    *("FromEnvironment", "FromAgent", "FromExperiment", "FromObserver"),
    *("ToEnvironment", "ToAgent", "ToExperiment", "ToExperiment"),
)
"""The codec's union of each direction of ``examples.directions``."""


def _for_json() -> types.ModuleType:
    """Return the messages once more, with payloads that the schema generator can describe."""
    assert messages.__file__ is not None
    source = Path(messages.__file__).read_text(encoding="utf-8")
    source = source.replace("if TYPE_CHECKING:", "if True:", 1)
    source = source.replace('NIL = Raw(b"\\xc0")', "NIL = None", 1)
    module = types.ModuleType("dovetail.protocol._messages_for_json")
    sys.modules[module.__name__] = module
    exec(compile(source, messages.__file__, "exec"), module.__dict__)
    return module


def _mend(value: Any) -> Any:
    """Replace what bytes and numbers are in JSON by what they are in a reading."""
    if isinstance(value, list):
        return [_mend(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("contentEncoding") == "base64":
        rest = {k: v for k, v in value.items() if k not in ("type", "contentEncoding", "default")}
        if "default" in value:
            rest["default"] = {"$bytes": ""}
        return {"$ref": "#/$defs/bytes", **rest}
    if value == {"type": "number"}:
        return {"$ref": "#/$defs/number"}
    return {key: reading(each) if key == "default" else _mend(each) for key, each in value.items()}


def schema() -> str:
    """Return schema.json."""
    module = _for_json()
    names = [f"{sender} to {receiver}" for sender, receiver, _ in examples.directions()]
    unions = [getattr(module, name) for name in _UNIONS]
    references, components = msgspec.json.schema_components(unions)
    described = {each.name: each for each in contract().records}
    for name, component in components.items():
        record = described.get(name)
        component["description"] = record.summary if record else ""
        for field in record.fields if record else ():
            component["properties"][field.name].setdefault("description", field.meaning)
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Dovetail, protocol version {messages.VERSION}",
        "description": (
            'The JSON reading of a frame: binary is {"$bytes": hex}, a tensor {"$tensor": '
            '{dtype, shape, data}}, a float that JSON cannot hold {"$float": text}.'
        ),
        "directions": dict(zip(names, _mend(list(references)), strict=True)),
        "$defs": {**_mend(components), "bytes": _BYTES, "number": _NUMBER},
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
