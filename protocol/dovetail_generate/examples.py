"""Example messages of every type, values in and outside spaces, and a worked exchange.

They are written into ``vectors/`` and SPEC.md, so that an implementation in any language can be
checked against them.  The conformance kit has the frames that must be refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import msgspec
import numpy as np

from dovetail.conform.malformed import SESSION
from dovetail.conform.values import AFTER, BOARD, SPACES
from dovetail.protocol import codec, spaces
from dovetail.protocol import messages as m
from dovetail.protocol.seeds import derive
from dovetail_generate.model import default_of

SEED = derive(1, "episode", 0)
SEAT_SEED = derive(derive(1, "agents"), "seat", 0, 1)
SCENE = {
    "width": 2.0,
    "height": 1.0,
    "cells": [{"x": 0.0, "y": 0.0}, {"x": 1.0, "y": 0.0, "kind": "hole"}],
    "pieces": [{"cell": 0, "kind": "disc", "owner": 1}],
    "choices": [{"action": 3, "label": "drop", "cells": [1]}],
}


def payload(value: Any) -> Any:
    """Return a value in the form in which it passes through the broker."""
    return msgspec.Raw(codec.encode(value))


# -- one example of each message -------------------------------------------------------------------

_OFFER = m.Offer(
    "connect_four",
    "Four in a row.",
    {"rows": {"type": "integer", "default": 6}},
    ["afterstates", "text"],
    8,
    True,
    [2],
)

_SPEC: dict[str, Any] = {
    "match": 5,
    "name": "connect_four",
    "seats": 2,
    "observation_spaces": [spaces.Box([2, 3], 0.0, 2.0, "int8")],
    "action_spaces": [spaces.Discrete(7)],
    "reward_range": (-1.0, 1.0),
    "discount": 0.99,
    "perfect_information": False,
    "chance": True,
    "afterstates": True,
    "forfeit": (-1.0, 1.0),
    "max_turns": 42,
    "symmetries": [m.Symmetry([2, 1, 0, 5, 4, 3], [6, 5, 4, 3, 2, 1, 0])],
}

_FIELDS: dict[str, Any] = {
    "action": 3,
    "actions": [(0, 3), (1, "pass")],
    "afterstates": AFTER,
    "agent": "td",
    "agents": [11, "somebody"],
    "agents_seed": 5,
    "answer_timeout": 5.0,
    "answers": 41,
    "batch": 7,
    "blame": 1,
    "body": {"verbose": True},
    "check": True,
    "clock": m.Clock(2.5, 60.0, 0.125),
    "code": "illegal",
    "concurrency": 4,
    "configuration": {"rows": 6},
    "decisions": 18,
    "derivation": 1,
    "environment": "connect_four",
    "episode": 17,
    "episodes": 3,
    "features": ["stacked"],
    "finished": 2,
    "digest": "0123456789abcdef",
    "first_index": 2,
    "heartbeat": 0.5,
    "id": 9,
    "index": 1,
    "instance": 11,
    "legal": [0, 3],
    "lines": [[[3], [4]], [[0]]],
    "limits": m.Limits(1 << 20, 16, 10_000),
    "match": 5,
    "max_turns": 100,
    "message": "action 9 is not legal",
    "mode": "evaluate",
    "name": "north",
    "names": ["ann", "bob"],
    "number": 3,
    "observation": BOARD,
    "observations": [(0, BOARD), (1, None)],
    "offers": [_OFFER],
    "modes": ["learn", "evaluate"],
    "on_agent_lost": "substitute",
    "on_illegal": "truncate",
    "on_crash": "forfeit",
    "on_timeout": "random",
    "outcome": [1.0, 0.0],
    "parameters": {"hidden": 64},
    "peer": "north",
    "peer_timeout": 5.0,
    "opening": [[3], [4]],
    "openings": [[[3], [4]], [[0]]],
    "opening_turns": 2,
    "reason": "illegal-action",
    "refused": 2,
    "request": 8,
    "resume": SESSION,
    "reward": -0.5,
    "rewards": [0.5, -0.5],
    "role": "agent",
    "run": 4,
    "running": 1,
    "scene": SCENE,
    "seat": 1,
    "seed": SEED,
    "seeds": [1, 2, 3],
    "seen": 40,
    "seq": 41,
    "session": SESSION,
    "settled": 39,
    "software": "example 1.0",
    "spec": m.Spec(**_SPEC),
    "state": b"\x00\x01",
    "state_name": "champion",
    "substitutes": [11, "north"],
    "text": "X to move",
    "timeout": 30.0,
    "to_act": [0, 1],
    "token": "open sesame",
    "total": 1.5,
    "truncated": True,
    "turn": 6,
    "turns": 36,
    "version": m.VERSION,
    "wants": [["afterstates"], ["text"]],
}

_SEAT_RESULT = m.SeatResult("td", 11, 1.0, 18, 0.75, 1, 2, 3, {"loss": 0.25})
_EPISODE = m.Episode(4, 1, 17, SEED, "terminated", [_SEAT_RESULT, _SEAT_RESULT], [1.0, 0.0])
_VIEW = m.View(0, payload(BOARD), b"\x09", 0.5, payload(AFTER), "X to move", payload(SCENE))

_SLOTS, _SEATS = np.array([0, 2], np.int32), np.array([1, 0], np.int32)
_STACK = np.stack([BOARD, BOARD])
_ONE = np.array([1], np.int32)
_BEGUN: dict[str, Any] = {
    "episodes": np.array([18], np.int64),
    "seeds": np.array([SEED], np.uint64),
}
_STACKED: dict[type, dict[str, Any]] = {
    m.Open: {"slots": 4, "afterstates": True},
    m.EnvironmentSteps: {
        "slots": _SLOTS,
        "seats": _SEATS,
        "actions": np.array([3, 0], np.int64),
        "restarts": _ONE,
        **_BEGUN,
    },
    m.Turns: {
        "slots": np.array([0, 1, 2, 3], np.int32),
        "rewards": np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0], [0.0, 0.0]]),
        "over": np.array([0, 0, 1, 3], np.uint8),
        "rows": np.array([0, 1], np.int32),
        "seats": np.array([0, 0], np.int32),
        "observations": payload(_STACK),
        "legal": np.array([[9], [127]], np.uint8),
        "afterstates": payload(AFTER),
        "finals": payload(_STACK[None]),
        "outcomes": np.array([[1.0, 0.0]]),
        "faults": [m.Fault(3, "illegal", "column 9 does not exist", 1)],
    },
    m.AgentSteps: {
        "slots": _SLOTS,
        "seats": _SEATS,
        "turns": np.array([0, 6], np.int32),
        "observations": _STACK,
        "legal": np.array([[127], [9]], np.uint8),
        "afterstates": AFTER,
        "rewards": np.array([0.0, -0.5]),
        "starts": np.array([0], np.int32),
        **_BEGUN,
    },
    m.Ends: {
        "slots": _ONE,
        "seats": np.array([0], np.int32),
        "episodes": np.array([17], np.int64),
        "rewards": np.array([1.0]),
        "totals": np.array([1.0]),
        "decisions": np.array([4], np.int32),
        "reasons": ["illegal-action"],
        "outcomes": np.array([[1.0, 0.0]]),
        "blames": _ONE,
        "observations": BOARD[None],
    },
    m.Actions: {
        "slots": _SLOTS,
        "seats": _SEATS,
        "actions": np.array([3, 0], np.int64),
        "resigns": [1],
        "refused": np.array([2, 0], np.int32),
        "measures": [{"loss": 0.25}, {}],
        "faults": [m.Fault(2, "crashed", "td raised ValueError", 0)],
    },
    m.Episodes: {"results": [_EPISODE]},
}
_COLUMNS = {
    (kind, name): value for kind, fields in _STACKED.items() for name, value in fields.items()
}
_SPECIAL: dict[tuple[type, str], Any] = {
    (m.Action, "measures"): {"loss": 0.25},
    (m.Action, "thoughts"): m.Thoughts([0.5, -0.25], [0.75, 0.25], [3, 1], "ahead"),
    (m.WatchedTurn, "thoughts"): [(0, {"values": [0.5, -0.25]})],
    (m.AgentStart, "seed"): SEAT_SEED,
    (m.Bye, "reason"): "the broker is shutting down",
    (m.Done, "reason"): "failed",
    (m.Done, "message"): "td (north) did not come back",
    (m.Episode, "seats"): [_SEAT_RESULT, m.SeatResult("random", 12)],
    (m.Progress, "total"): 100,
    (m.Run, "clock"): m.ClockRule(2.5, 60.0, 0.5, 0.05),
    (m.Turn, "seats"): [_VIEW, m.View(1)],
    (m.Turn, "info"): payload({"note": "opening"}),
    (m.WatchedTurn, "agents"): ["td", "random"],
    (m.WatchedTurn, "clocks"): [m.Clock(2.5, 60.0, 0.125), m.Clock(2.5, 58.0)],
    (m.WatchedTurn, "running"): [0],
    **_COLUMNS,
    **{(m.Spec, name): value for name, value in _SPEC.items()},
}


def _value(kind: type, name: str) -> Any:
    known = _SPECIAL.get((kind, name), _FIELDS.get(name))
    if known is not None:
        return known
    [field] = [each for each in msgspec.structs.fields(kind) if each.name == name]
    if field.required:
        raise ValueError(f"{kind.__name__}.{name} has no example; add one to {__name__}")
    # An optional field that has none yet: another plain value than its default, else the default.
    match default_of(field):
        case bool(default):
            return not default
        case int(default) | float(default):
            return default + 1
        case str(default):
            return default or name
        case default:
            return default


def minimal(kind: type[m.Message], **fields: Any) -> m.Message:
    """Return a message with only its required fields and the given ones."""
    required = {
        field.name: _value(kind, field.name)
        for field in msgspec.structs.fields(kind)
        if field.required
    }
    return kind(**(required | fields))


def full(kind: type[m.Message], **fields: Any) -> m.Message:
    """Return a message with every field."""
    every = {
        field.name: fields.get(field.name, _value(kind, field.name))
        for field in msgspec.structs.fields(kind)
    }
    return kind(**every)


@dataclass(frozen=True, slots=True)
class Valid:
    """A message that must be read."""

    name: str
    sender: str
    receiver: str
    message: m.Message


def tag(kind: type) -> str:
    """Return the ``type`` of a message type."""
    name = kind.__struct_config__.tag  # type: ignore[attr-defined]
    assert isinstance(name, str)
    return name


def directions() -> Iterator[tuple[str, str, list[type[m.Message]]]]:
    """Yield sender, receiver and the message types that go that way."""
    for role, union in codec.AT_BROKER.items():
        yield role, "broker", list(get_args(union))
    for role, union in codec.AT_PEER.items():
        yield "broker", role, list(get_args(union))


def valid() -> Iterator[Valid]:
    """Yield the examples: of every type in every direction the least and the fullest, and more."""
    for sender, receiver, kinds in directions():
        for kind in kinds:
            fields = {"role": sender} if kind is m.Hello else {}
            for what, make in (("minimal", minimal), ("full", full)):
                name = f"{sender} to {receiver}: {tag(kind)}, {what}"
                yield Valid(name, sender, receiver, make(kind, **fields))
    for name, message in {
        "spec of every space": m.Spec(
            5, "all", len(SPACES), SPACES, SPACES, reward_range=(-math.inf, math.inf)
        ),
        "turn, simultaneous, legal actions as a list": m.Turn(
            17, 6, [0, 1], [m.View(0, payload(3), [0, 3]), m.View(1, payload("x"), [1])]
        ),
        "turn, any action legal, nested observation": m.Turn(
            17, 6, [0], [m.View(0, payload({"a": [BOARD, None, 1.5, b"\xff"], "b": (1, 2)}))]
        ),
        "turn, last, drawn": m.Turn(
            17,
            7,
            [],
            [m.View(0, payload(BOARD)), m.View(1, payload(BOARD))],
            terminated=True,
            outcome=[0.5, 0.5],
        ),
        "error, action refused by the rules": m.Error(
            "illegal", "column 3 is full", answers=41, seat=1
        ),
    }.items():
        yield Valid(f"environment to broker: {name}", "environment", "broker", message)
    for name, value in {
        "tensor": BOARD,
        "list": [1, 0.5],
        "map": {"bid": 3, "suit": "hearts"},
        "text": "e2e4",
        "nil": None,
        "large integers": [2**63 - 1, -(2**63), 2**64 - 1],
    }.items():
        yield Valid(
            f"agent to broker: action, {name}", "agent", "broker", m.Action(17, 6, 1, value)
        )


def example(kind: type) -> Any:
    """Return the example shown below the table of a message or part, taken from the worked
    exchange if it occurs there."""
    said = next((message for _, _, message in exchange() if type(message) is kind), None)
    if said is not None and kind not in _TOLD:
        return said
    if issubclass(kind, m.Message):
        return minimal(kind, **_STACKED.get(kind, {}), **_TOLD.get(kind, {}))
    return _PARTS[kind]


_PARTS: dict[type, Any] = {
    m.Offer: _OFFER,
    m.Limits: m.Limits(1 << 20, 16, 10_000),
    m.View: m.View(0, payload(2), [1, 2], 0.5),
    m.Symmetry: _SPEC["symmetries"][0],
    m.Preview: m.Preview([1], [m.View(1, payload(1), [1])], [0.0, 0.5], applied=1),
    m.Clock: m.Clock(2.5, 60.0, 0.125),
    m.Thoughts: _SPECIAL[m.Action, "thoughts"],
    m.ClockRule: m.ClockRule(2.5, 60.0, 0.5, 0.05),
    m.SeatResult: m.SeatResult("td", 11, 1.0, 18, 0.75, measures={"loss": 0.25}),
    m.Fault: m.Fault(2, "crashed", "td raised ValueError", 0),
}
_TOLD: dict[type, dict[str, Any]] = {
    m.Error: {"answers": 41, "seat": 1},
    m.Ping: {"number": 3, "settled": 39},
    m.Pong: {"number": 3, "seen": 40},
    m.Bye: {"reason": "the broker is shutting down"},
    m.EnvironmentMessage: {"body": {"verbose": True}},
    m.AgentMessage: {"body": {"verbose": True}},
    m.ExperimentMessage: {"instance": 11, "body": {"verbose": True}},
    m.ExperimentCreate: {"parameters": {"hidden": 64}, "seed": 7},
    m.Create: {"parameters": {"hidden": 64}, "seed": 7},
    m.AgentStep: {"observation": 1, "legal": [1], "reward": 0.5},
    m.Cancel: {"run": 4},
    m.Watch: {"run": 4, "scenes": True},
    m.Load: {"state": b"\x00\x01"},
    m.WatchedTurn: {"to_act": [0], "actions": [(1, 3)], "text": "X to move"},
    m.Progress: {"total": 100},
}
"""Optional fields without which an example shows little."""


# -- values of spaces ------------------------------------------------------------------------------


def members() -> Iterator[tuple[spaces.Space, Any, bool]]:
    """Yield spaces, values, and whether the space has the value (S8.1)."""
    nan, infinity, large = math.nan, math.inf, 2**63
    below = np.nextafter(np.float32(0.1), np.float32(0))
    above = np.nextafter(np.float32(0.1), np.float32(1))
    table: list[tuple[spaces.Space, list[Any], list[Any]]] = [
        (
            spaces.Discrete(3),
            [0, 2],
            [-1, 3, 1.0, True, "1", None, [1], b"\x01", np.array(1, np.int64), large],
        ),
        (spaces.Discrete(2, -1), [-1, 0], [1, -2]),
        (spaces.Discrete(large - 1, -large), [-large, -2], [-1, 0, large]),
        (spaces.Discrete(large - 1), [large - 2, 0], [-1, large - 1, large]),
        (
            spaces.Box([2], 0.0, 1.0),
            [[0, 1], [0.5, 0.5], [1, 0.0], np.array([0, 1], np.float32)],
            [
                *([True, False], [True, 1], [0.5, False], [0, 2], [-0.5, 0], [0], [0, 0, 0]),
                *([[0, 0]], [[0], [0]], [nan, 0], [None, 0], ["a", "b"], 0, "ab", None, {}, []),
                *(np.array([0, 1], kind) for kind in (np.float64, np.float16, np.int8, np.bool_)),
                *(np.array([nan, 0], np.float32), np.array([0, 1.5], np.float32)),
                *(np.array([[0, 1]], np.float32), [np.array(0, np.float32)] * 2),
            ],
        ),
        # Bounds and plain numbers are rounded to the dtype.
        (
            spaces.Box([2], 0, 0.1),
            [np.array([0.1, 0], np.float32), [0.1, 0], [float(np.float32(0.1)), 0]],
            [np.array([above, 0], np.float32), [0.11, 0], [float(above), 0]],
        ),
        (
            spaces.Box([1], [0.1], [0.7]),
            [np.array([0.1], np.float32), [0.1], [0.7], np.array([0.7], np.float32)],
            [np.array([below], np.float32), [0.09], [0.71]],
        ),
        (
            spaces.Box([], 0.1, 0.3, "float16"),
            [0.1, 0.3, 0.3000001, np.array(0.3, np.float16), np.array(0.1, np.float16)],
            [0.301, 0.09, np.array(0.1, np.float32)],
        ),
        (spaces.Box([], -0.1, 0.1, "float64"), [0.1, -0.1, 0], [0.10000000000000002, -0.2]),
        (spaces.Box([], 16777217, 16777217), [16777216, 16777217, 16777216.0], [16777218]),
        (spaces.Box([], 0, 3.5e38), [1e30, infinity, 3.5e38], [-1, nan]),
        (spaces.Box([], -1.7e308, 1.7e308, "float64"), [0], [infinity, -infinity]),
        (spaces.Box([], 1.7e308, dtype="float64"), [1.7e308, infinity], [0]),
        (spaces.Box([], infinity, dtype="float64"), [infinity], [1.7e308]),
        (spaces.Box([], high=-infinity, dtype="float16"), [-infinity], [0]),
        (spaces.Box([], -infinity, 1e38), [-infinity, -3.5e38, 1e38], [infinity, 3.5e38, 2e38]),
        (spaces.Box([]), [0, 1.5, -infinity, infinity, large], [nan, [0], [], "0", True]),
        (
            spaces.Box([2], 0, infinity, "int32"),
            [[0, 1], [2**31 - 1, 0], np.array([0, 1], np.int32)],
            [
                *([True, False], [1, True], [0, 2**31], [-1, 0], [0.0, 1.0], [1, 0.5]),
                *(np.array([0, 1], kind) for kind in (np.int64, np.uint32, np.float32, np.bool_)),
            ],
        ),
        (spaces.Box([], -1.5, 1.5, "int8"), [-1, 0, 1], [-2, 2, 0.0, False]),
        (
            spaces.Box([], 0, float(2**53), "int64"),
            [2**53, 0, np.array(2**53, np.int64)],
            [2**53 + 1, -1, np.array(2**53 + 1, np.int64)],
        ),
        (spaces.Box([], -large, large - 1, "int64"), [-large, large - 1], [large]),
        (spaces.Box([], 2**53 + 1, 2**53 + 1, "int64"), [2**53 + 1], [2**53, 2**53 + 2]),
        (spaces.Box([], 2**64 - 1, dtype="uint64"), [2**64 - 1], [2**64 - 2]),
        (spaces.Box([], dtype="uint8"), [0, 255], [-1, 256]),
        (
            spaces.Box([2], [0, large], 2**64 - 1, "uint64"),
            [[0, large], [2**64 - 1, 2**64 - 1], np.array([0, large], np.uint64)],
            [[0, large - 1], [-1, large], [0, True], np.array([0, large - 1], np.uint64)],
        ),
        (
            spaces.Box([2], dtype="bool"),
            [[True, False], np.array([True, False])],
            [[0, 1], [True, 0], [0.0, 1.0], np.array([0, 1], np.int8)],
        ),
        (spaces.Box([1], 1, 1, "bool"), [[True]], [[False], [1]]),
        (
            spaces.Box([2, 2], [[0, 0], [1, 1]], [[1, 1], [2, 2]]),
            [[[0, 1], [1, 2]], np.array([[0, 1], [1, 2]], np.float32)],
            [[[0, 1], [0, 1]], [[0, 1], [1, 3]], [0, 1, 1, 2], [[0, 1], [1]]],
        ),
        (spaces.Box([0], dtype="int8"), [[], np.zeros(0, np.int8)], [[1], 0, None]),
        (spaces.Box([2, 0]), [[[], []], np.zeros((2, 0), np.float32)], [[], [[]], [[0], [0]]]),
        # Bounds that fit no array of the shape.
        (spaces.Box([2], [0.0, 0.0, 0.0], 1.0), [], [[0.5, 0.5], np.zeros(2, np.float32)]),
        (spaces.Box([2], 0.0, [[1.0], [1.0]]), [], [[0.5, 0.5]]),
        (spaces.Box([1], 1, 0), [], [[0.5], [0], [1]]),
        (
            spaces.MultiDiscrete([2, 3]),
            [[1, 2], [0, 0], np.array([1, 2]), np.array([1, 2], np.uint8)],
            [
                *([True, False], [1, True], [2, 0], [0, 3], [0, -1], [0], [0, 0, 0], [0.0, 1.0]),
                *([1, 2.0], 1, None, {}, [[1, 2]]),
                *(np.array([1, 1], kind) for kind in (np.float64, np.bool_)),
                *(np.array([2, 0]), np.array([[1, 2]])),
            ],
        ),
        (spaces.MultiDiscrete([]), [[]], [[0], 0]),
        (
            spaces.MultiBinary([2]),
            [[0, 1], [1.0, 0.0], np.array([0, 1], np.int8), np.array([True, False]), np.ones(2)],
            [[True, False], [1, True], [0, 2], [0.5, 0], [nan, 0], [0], 1, np.array([0, 2])],
        ),
        (spaces.MultiBinary([2, 2]), [[[0, 1], [1, 0]]], [[0, 1], [[0, 2], [0, 0]], [0, 1, 1, 0]]),
        (spaces.MultiBinary([]), [0, 1, np.array(1, np.int8)], [True, 2, [0]]),
        (spaces.Text(3, 1, "abc"), ["a", "cab"], ["", "abca", "d", b"a", 1, None, ["a"]]),
        (spaces.Text(2), ["", "\u00e9\u00e9", "\U0001f600\U0001f600"], ["\u00e9\u00e9\u00e9"]),
        (spaces.Text(2, 1, ""), [], ["", "a"]),
        (
            spaces.Tuple([spaces.Discrete(2), spaces.Text(1)]),
            [[1, "a"], [0, ""]],
            [[1], [1, "a", 0], ["a", 1], {}, "1a", [True, "a"], None],
        ),
        (
            spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Text(1)}),
            [{"a": 1, "b": ""}, {"b": "x", "a": 0}],
            [{"a": 1}, {"a": 1, "b": "", "c": 0}, [], {"a": 2, "b": ""}, {"a": True, "b": ""}],
        ),
        (
            spaces.Sequence(spaces.Discrete(3), 2, 1),
            [[0], [2, 1]],
            [[], [0, 1, 2], [3], [True], [1.0], 0, None, np.array([0, 1])],
        ),
        (
            spaces.Sequence(spaces.Box([1], 0, 0.1), 1),
            [[], [[0.1]], [np.array([0.1], np.float32)]],
            [[[True]], [[0.2]], [0.1]],
        ),
    ]
    for space, inside, outside in table:
        for value in inside:
            yield space, value, True
        for value in outside:
            yield space, value, False


# -- a worked exchange -----------------------------------------------------------------------------

_NIM = m.Spec(
    match=6,
    name="nim",
    seats=2,
    observation_spaces=[spaces.Discrete(3)],
    action_spaces=[spaces.Discrete(2, 1)],
    reward_range=(-1.0, 1.0),
    forfeit=(-1.0, 1.0),
)
"""Two seats take one or two from a heap of two in turn; who takes the last one wins."""

EXCHANGE_SECRET = b"example"
"""The seed of the session tokens in the exchange."""
_TOKENS = (
    "ff5436bb3606d367e96cdff39551ac17",
    "5f9f5b8f8136a29749c8e7126a531219",
    "9bc36a20680038ff625cc93443367e1f",
)


def _welcome(number: int, name: str) -> m.Welcome:
    # A broker describes itself in full.
    return m.Welcome(
        _TOKENS[number], name, heartbeat=float("1"), peer_timeout=float("30"), limits=m.Limits()
    )


def exchange() -> list[tuple[str, str, m.Message]]:
    """Return sender, receiver and message of everything said in one episode of two turns.

    The agent holds both seats.  tests/protocol/test_contract.py has the broker say its part.
    """
    seed = derive(1, "episode", 0)
    seats = [derive(derive(1, "agents"), "seat", 0, seat) for seat in (0, 1)]
    zero = float("0")  # passed on, and so not left out
    env, agent, experiment, broker = "environment", "agent", "experiment", "broker"

    def one(seat: int, observation: int, legal: list[int]) -> m.View:
        return m.View(seat, payload(observation), legal)

    both = [
        m.SeatResult("taker", 3, -1.0, 1, 0.25),
        m.SeatResult("taker", 3, 1.0, 1, 0.25),
    ]
    said = [
        (env, broker, m.Hello(1, "environment", "rules", [m.Offer("nim")])),
        (broker, env, _welcome(0, "rules")),
        (agent, broker, m.Hello(1, "agent", "player", [m.Offer("taker", instance=True)])),
        (broker, agent, _welcome(1, "player")),
        (experiment, broker, m.Hello(1, "experiment", "trial")),
        (broker, experiment, _welcome(2, "trial")),
        (experiment, broker, m.Run(1, "nim", ["taker", "taker"], seed=1)),
        (broker, env, m.Open(6, "nim")),
        (broker, experiment, m.Reply(1, {"run": 5})),
        (env, broker, _NIM),
        (broker, agent, m.Init(6, 0, 3, _NIM, agent="taker")),
        (broker, agent, m.Init(6, 1, 3, _NIM, agent="taker")),
        (broker, env, m.EnvironmentStart(6, 7, seed)),
        (env, broker, m.Turn(7, 0, [0], [one(0, 2, [1, 2])])),
        (broker, agent, m.AgentStart(7, 6, 0, 0, seats[0], "learn", 2, [1, 2], reward=zero)),
        (agent, broker, m.Action(7, 0, 0, 1)),
        (broker, env, m.EnvironmentStep(7, 0, [(0, 1)])),
        (env, broker, m.Turn(7, 1, [1], [one(1, 1, [1])])),
        (broker, agent, m.AgentStart(7, 6, 1, 1, seats[1], "learn", 1, [1], reward=zero)),
        (agent, broker, m.Action(7, 1, 1, 1)),
        (broker, env, m.EnvironmentStep(7, 1, [(1, 1)])),
        (
            env,
            broker,
            m.Turn(
                7,
                2,
                [],
                [m.View(0, payload(0), None, -1.0), m.View(1, payload(0), None, 1.0)],
                terminated=True,
                outcome=[0.0, 1.0],
            ),
        ),
        (broker, agent, m.End(7, 0, 6, -1.0, 0, [0.0, 1.0], "terminated", None, -1.0, 1)),
        (broker, agent, m.End(7, 1, 6, 1.0, 0, [0.0, 1.0], "terminated", None, 1.0, 1)),
        (
            broker,
            experiment,
            m.Episode(
                *(5, 0, 7, seed, "terminated", both, [0.0, 1.0], None, 2),
                digest="51caa8f8f57528bd",
            ),
        ),
        (broker, agent, m.Leave(6)),
        (broker, env, m.Close(6)),
        (broker, experiment, m.Done(5, 1)),
        (experiment, broker, m.Bye()),
    ]
    sent = dict.fromkeys((env, agent, experiment), 0)
    for _, receiver, message in said:
        if receiver != broker and isinstance(message, m.Numbered):
            sent[receiver] = message.seq = sent[receiver] + 1
    return said


def interrupted() -> list[tuple[str, str, m.Message | str]]:
    """Return the same episode with the agent's connection lost while it decides: its first two
    decisions.

    A text stands for what happens between messages.
    """
    said: list[tuple[str, str, m.Message | str]] = list(exchange())
    again = m.Hello(
        *(1, "agent", "player", [m.Offer("taker", instance=True)]),
        resume=_TOKENS[1],
        seen=3,
    )
    inits, (_, _, first), action = said[10:12], said[14], said[15]
    at_once = ("agent", "broker", m.Pong(1, 4))
    return [
        *said[:15],
        ("", "", "the connection is lost while the agent decides: its action does not arrive"),
        ("agent", "broker", again),
        ("broker", "agent", msgspec.structs.replace(_welcome(1, "player"), resumed=True)),
        *inits,
        ("broker", "agent", first),
        action,
        *said[16:19],
        ("broker", "agent", m.Ping(1, settled=1)),
        at_once,
        *said[19:],
    ]
