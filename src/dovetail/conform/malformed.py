"""Frames that must be refused; ``vectors/malformed.json`` has them, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from dovetail.protocol import codec, tensors
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code

SESSION = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame and the code of the error that it must get."""

    name: str
    receiver: str
    """``broker`` or the role of the peer that receives it."""
    role: str | None
    """At the broker: the role of the sender, None if it has not said hello."""
    frame: bytes
    code: Code
    limits: m.Limits | None = None


def _tensor(name: Any, shape: Any, data: Any) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(tensors.EXTENSION, codec.encode((name, shape, data)))


def _with_action(value: bytes) -> bytes:
    """Return an ``action`` whose action is the given bytes."""
    head = codec.encode({"type": "action", "episode": 17, "turn": 6, "seat": 1})
    return bytes([head[0] + 1]) + head[1:] + codec.encode("action") + value


def malformed() -> Iterator[Malformed]:
    """Yield frames that must be refused."""
    encode = codec.encode
    action = encode(m.Action(17, 6, 1, 3))
    ping = encode(m.Ping(3))
    deep = b"\x91" * 33 + b"\xc0"
    huge = b"\xff\xff\xff\xff"

    everywhere: list[tuple[str, bytes, Code]] = [
        ("no bytes", b"", "malformed"),
        ("a byte that is not MessagePack", b"\xc1", "malformed"),
        ("truncated", ping[:-1], "malformed"),
        ("a byte too many", ping + b"\xc0", "malformed"),
        ("two messages in a frame", ping + ping, "malformed"),
        ("nested 33 deep", deep, "limit"),
        ("nested 10,000 deep", b"\x91" * 10_000, "limit"),
        ("an array that is cut short", b"\x93\x01\x02", "malformed"),
        ("an array and a byte too many", b"\x91\x01\x02", "malformed"),
        ("a message that is wrong and cut short", b"\x82\xa4type\x05\xa1a", "malformed"),
        ("a map of 4,294,967,295 announced", b"\xdf" + huge, "malformed"),
        ("text of 4,294,967,295 bytes as a key", b"\x81\xdb" + huge, "malformed"),
    ]
    typed: list[tuple[str, bytes, Code]] = [
        ("text that is not a message", encode("GET / HTTP/1.1"), "invalid"),
        ("a number", b"\x2a", "invalid"),
        ("an array", b"\x90", "invalid"),
        ("nil", b"\xc0", "invalid"),
        ("a key that is not text", encode({1: 2}), "invalid"),
        ("an empty map", b"\x80", "unknown-type"),
        ("no type", encode({"number": 3}), "unknown-type"),
        ("a type that is not text", encode({"type": 5}), "unknown-type"),
        ("an unknown type", encode({"type": "dance"}), "unknown-type"),
        ("a type in another case", encode({"type": "Ping"}), "unknown-type"),
        ("a wrong field type", encode({"type": "ping", "number": "3"}), "invalid"),
        ("a number with a fraction", encode({"type": "ping", "number": 3.5}), "invalid"),
        ("a float for an integer", encode({"type": "ping", "number": 3.0}), "invalid"),
        ("a number out of range", encode({"type": "ping", "number": -1}), "invalid"),
        ("nil for a field that is not nil", encode({"type": "bye", "reason": None}), "invalid"),
        ("a required field missing", encode({"type": "error", "code": "illegal"}), "invalid"),
        ("invalid UTF-8 in a text", b"\x82\xa4type\xa3bye\xa6reason\xa1\xff", "malformed"),
    ]
    for receiver, role in (("broker", "environment"), ("environment", None)):
        for name, frame, code in everywhere + typed:
            yield Malformed(f"{name}, at the {receiver}", receiver, role, frame, code)
    named = encode({"type": "message", "id": 1, "match": 5})[1:]
    deepest = b"\x84" + named + encode("body") + b"\x91" * 600 + b"\xc0"
    generous = m.Limits(frame=1 << 25, depth=1 << 40, elements=1 << 20)
    name = "nested 600 deep, whatever the limits, at the environment"
    yield Malformed(name, "environment", None, deepest, "limit", generous)
    for name, heartbeat in (("negative", -1.0), ("not a number", float("nan"))):
        frame = encode({"type": "welcome", "session": SESSION, "name": "x", "heartbeat": heartbeat})
        name = f"a heartbeat that is {name}, at the environment"
        yield Malformed(name, "environment", None, frame, "invalid")
    for name, frame, code in everywhere:
        yield Malformed(f"{name}, before hello", "broker", None, frame, code)
    before: list[tuple[str, m.Message | dict[str, Any], Code]] = [
        ("a ping before hello", m.Ping(1), "hello-first"),
        ("a message of a role before hello", m.Action(17, 6, 1, 3), "hello-first"),
        ("no type before hello", {"version": 1, "role": "agent"}, "hello-first"),
        ("hello without a version", {"type": "hello", "role": "agent"}, "invalid"),
        ("hello of a version to come", m.Hello(2, "agent"), "version"),
        ("hello of a version that never was", m.Hello(0, "agent"), "version"),
        ("hello of an unknown role", {"type": "hello", "version": 1, "role": "king"}, "invalid"),
    ]
    for name, message, code in before:
        yield Malformed(name, "broker", None, encode(message), code)
    again = encode(m.Hello(1, "agent", "another"))
    yield Malformed("hello a second time, as another", "broker", "agent", again, "wrong-state")
    roles: list[tuple[str, str, m.Message]] = [
        ("a turn from an agent", "agent", m.Turn(17, 6)),
        ("an action from an environment", "environment", m.Action(17, 6, 1, 3)),
        ("a run from an observer", "observer", m.Run(1, "connect_four", [11])),
        ("a welcome from an experiment", "experiment", m.Welcome(SESSION, "north")),
    ]
    for name, role, message in roles:
        yield Malformed(name, "broker", role, encode(message), "unknown-type")
    yield Malformed("a turn to an agent", "agent", None, encode(m.Turn(17, 6)), "unknown-type")
    broken: list[tuple[str, Any]] = [
        ("of an unknown dtype", _tensor("complex64", [1], b"\x00" * 8)),
        ("of too few bytes", _tensor("int16", [2, 2], b"\x00" * 7)),
        ("of too many bytes", _tensor("int8", [2], b"\x00" * 3)),
        ("of a bool that is neither 0 nor 1", _tensor("bool", [2], b"\x01\x02")),
        ("of a negative length", _tensor("int8", [-1], b"")),
        ("of an enormous shape", _tensor("int8", [2**62, 2**62], b"")),
        ("of an enormous shape without elements", _tensor("int8", [0, 2**63], b"")),
        ("of 33 dimensions", _tensor("int8", [1] * 33, b"\x00")),
        ("whose shape is text", _tensor("int8", "2", b"\x00\x00")),
        ("whose data is text", _tensor("int8", [2], "ab")),
        ("without a shape", msgspec.msgpack.Ext(1, encode(("int8", b"\x00")))),
        ("that is a map", msgspec.msgpack.Ext(1, b"\x80")),
        ("without content", msgspec.msgpack.Ext(1, b"")),
        ("with a byte too many", msgspec.msgpack.Ext(1, encode(("int8", [0], b"")) + b"\xc0")),
    ]
    for name, value in broken:
        frame = _with_action(encode(value))
        yield Malformed(f"a tensor {name}", "broker", "agent", frame, "malformed")
    for name, head in (("bytes", 0xC6), ("text", 0xDB), ("an array", 0xDD), ("a map", 0xDF)):
        frame = _with_action(bytes([head]) + huge)
        name = f"{name} of 4,294,967,295 announced in an action"
        yield Malformed(name, "broker", "agent", frame, "malformed")
    frame = _with_action(b"\xc9" + huge + b"\x01")
    name = "an extension of 4,294,967,295 bytes announced in an action"
    yield Malformed(name, "broker", "agent", frame, "malformed")
    small = m.Limits(frame=64, depth=4, elements=16)
    for name, value in (
        ("a byte over the limit of a frame", encode("x" * (64 - len(action))) + b"x"),
        ("one level too deep", b"\x91" * 4 + b"\xc0"),
        ("a value too many", encode([0] * 6)),
    ):
        yield Malformed(name, "broker", "agent", _with_action(value), "limit", small)
