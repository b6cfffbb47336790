"""vectors/: frames as bytes and as JSON, for codecs to be tested with."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from dovetail.conform.malformed import malformed
from dovetail.conform.reading import reading
from dovetail.conform.values import tensors_of_every_kind
from dovetail.protocol import codec, messages
from dovetail_generate import examples
from dovetail_generate.examples import tag


def _dump(description: str, **lists: list[dict[str, Any]]) -> str:
    parts = [f' "description": {json.dumps(description)},\n "version": {messages.VERSION}']
    for name, entries in lists.items():
        rows = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in entries)
        parts.append(f' "{name}": [\n{rows}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def valid_vectors() -> str:
    """Return vectors/valid.json."""
    said = [
        {
            "name": each.name,
            "direction": f"{each.sender} to {each.receiver}",
            "receiver": each.receiver,
            "type": tag(type(each.message)),
            "hex": (frame := codec.encode(each.message)).hex(),
            "json": reading(codec.decode(frame)),
        }
        for each in examples.valid()
    ]
    bare = [
        {
            "name": name,
            "hex": (frame := codec.encode(value)).hex(),
            "json": reading(codec.decode(frame)),
        }
        for name, value in tensors_of_every_kind()
    ]
    return _dump(
        "Frames that the receiver must read as the JSON says. Another encoder may order keys "
        "otherwise "
        "and write shorter or longer headers.",
        messages=said,
        values=bare,
    )


def member_vectors() -> str:
    """Return vectors/members.json."""

    def both(name: str, value: Any) -> dict[str, Any]:
        frame = codec.encode(value)
        return {f"{name}_hex": frame.hex(), name: reading(codec.decode(frame))}

    entries = [
        {**both("space", space), **both("value", value), "member": member}
        for space, value, member in examples.members()
    ]
    return _dump(
        "Spaces, values, and whether the value is in the space (S8.1); both as the bytes and the "
        "JSON "
        "reading of a frame.",
        members=entries,
    )


def malformed_vectors() -> str:
    """Return vectors/malformed.json."""
    entries = [
        {
            "name": each.name,
            "receiver": each.receiver,
            **({"from": each.role or "unknown"} if each.receiver == "broker" else {}),
            **({"limits": msgspec.to_builtins(each.limits)} if each.limits else {}),
            "hex": each.frame.hex(),
            "code": each.code,
        }
        for each in malformed()
    ]
    return _dump(
        "Frames that the receiver must refuse with an error of this code. `from` is the role of "
        "the peer that sends it to the broker, or `unknown` if it has not said hello.",
        malformed=entries,
    )
