"""Parses OpenEnv's requests and writes its answers.  Pure.

Each request has one answer, in order; nothing is numbered.  A client of version 0.3 reads
``metadata`` only inside the observation, a later one beside it, so the end of an episode has it in
both places.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from msgspec import Struct

from dovetail.peer.agents.agent import Decision, End
from dovetail.protocol.json_text import write
from dovetail.protocol.spaces import Discrete, Text
from dovetail_bridges import conversion
from dovetail_bridges.choices import MOST, labels, numbers, position

Observe = Literal["text", "values", "both"]
Kind = Literal["reset", "step", "state", "close", "mcp"]
KINDS: tuple[Kind, ...] = ("reset", "step", "state", "close", "mcp")
ACTION = ("action", "action_id", "message")
"""Names of an action's field in published environments."""
LARGEST = 1 << 20
"""Maximum bytes of a request."""


class WireError(Exception):
    """A refused request.

    Args:
        text: one line: what was wrong, and what was expected.
        final: whether it ends the session.
    """

    def __init__(self, code: str, text: str, *, final: bool = False) -> None:
        super().__init__(text)
        self.code, self.final = code, final


class Request(Struct, frozen=True):
    """A request of a client."""

    kind: Kind
    """The type of the request."""
    data: dict[str, Any]
    """The fields of the request."""


def read(text: str | bytes) -> Request:
    """Return the request in a message.

    Raises:
        WireError: it is not a request.
    """
    if isinstance(text, bytes):
        raise WireError("SESSION_ERROR", "a binary message; send JSON as text", final=True)
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise WireError("INVALID_JSON", "the message is not JSON") from None
    if not isinstance(said, dict):
        text = 'the message is not a JSON object such as {"type": "reset", "data": {}}'
        raise WireError("SESSION_ERROR", text, final=True)
    kind, data = said.get("type"), said.get("data") or {}
    if kind not in KINDS:
        expected = ", ".join(KINDS)
        raise WireError("UNKNOWN_TYPE", f"type {str(kind)[:40]!r} is unknown; expected {expected}")
    strange = [str(each)[:40] for each in said if each not in ("type", "data")]
    if strange or not isinstance(data, dict):
        wrong = f"unknown fields: {', '.join(strange)}" if strange else "data is not an object"
        raise WireError("VALIDATION_ERROR", f"{kind}: {wrong}; expected type and data")
    return Request(kind, data)


def reset_options(data: dict[str, Any]) -> tuple[int | None, str | None]:
    """Return the seed and the episode's id of a ``reset``.

    Raises:
        WireError: it has other fields, which would be lost, or values of wrong types.
    """
    strange = [str(each)[:40] for each in data if each not in ("seed", "episode_id")]
    if strange:
        text = f"reset takes seed and episode_id, not {', '.join(strange)}"
        raise WireError("VALIDATION_ERROR", text)
    seed, episode = data.get("seed"), data.get("episode_id")
    if seed is not None and not (type(seed) is int and 0 <= seed < 1 << 63):
        raise WireError("VALIDATION_ERROR", f"seed {str(seed)[:40]!r} is not a number from 0")
    if episode is not None and not isinstance(episode, str):
        raise WireError("VALIDATION_ERROR", "episode_id is not text")
    return seed, episode


def action(data: dict[str, Any]) -> Any:
    """Return the action of a ``step``; None to keep waiting.

    Raises:
        WireError: there is none, or there are other fields.
    """
    strange = [str(each)[:40] for each in data if each not in (*ACTION, "metadata")]
    named = [each for each in ACTION if each in data]
    if strange or len(named) != 1:
        wrong = f"unknown fields: {', '.join(strange)}" if strange else "no action"
        raise WireError("VALIDATION_ERROR", f'step: {wrong}; expected {{"action": NUMBER or NAME}}')
    value = data[named[0]]
    if isinstance(value, bool):
        raise WireError(
            "VALIDATION_ERROR", "step: action is a boolean; expected a number or a name"
        )
    return value


def error(code: str, text: str) -> str:
    """Return an error's message."""
    return write({"type": "error", "data": {"message": text, "code": code}})


def no_tools(data: dict[str, Any]) -> str:
    """Return the answer to an MCP request: seats offer no tools."""
    problem = {"code": -32601, "message": "no tools are offered here; use reset and step"}
    return write(
        {"type": "mcp", "data": {"jsonrpc": "2.0", "id": data.get("id"), "error": problem}}
    )


def state(episode: str | None, steps: int) -> str:
    """Return the answer to ``state``."""
    return write({"type": "state", "data": {"episode_id": episode, "step_count": steps}})


def observation(
    seat: int,
    decision: Decision | None,
    end: End | None,
    observe: Observe,
    *,
    reward: float | None,
    wrong: str | None = None,
) -> str:
    """Return a client's observation of its seat.

    Args:
        decision: the open decision; None while others are to act, and after the end.
        reward: the reward since the last decision; None after ``reset``.
        wrong: the reason why the last action was refused.
    """
    seen = end if end is not None else decision
    fields: dict[str, Any] = {"text": None, "values": None, "legal_actions": [], "legal_names": []}
    if seen is not None:
        if observe != "values":
            fields["text"] = position(seen.text, seen.observation)
        if observe != "text":
            fields["values"] = conversion.plain(seen.observation)
    if decision is not None:
        legal = legal_actions(decision)
        names = labels(decision.scene, decision.legal)
        fields["legal_actions"] = legal
        fields["legal_names"] = [names.get(each, str(each)) for each in legal[:MOST]]
    fields |= {"seat": seat, "your_turn": decision is not None, "error": wrong}
    fields["turn"] = decision.turn if decision is not None else None
    metadata: dict[str, Any] = {}
    if end is not None:
        metadata = {
            "outcome": None if end.outcome is None else list(end.outcome),
            "reason": end.reason,
            "truncated": end.reason == "truncated",
            "return": end.total,
        }
        fields["metadata"] = metadata
    data = {
        "observation": fields,
        "reward": end.reward if end is not None and reward is not None else reward,
        "done": end is not None,
        "metadata": metadata,
    }
    return write({"type": "observation", "data": data})


def legal_actions(decision: Decision) -> list[int]:
    """Return the legal actions' numbers; none if actions are not numbered."""
    return list(map(int, numbers(decision) or ()))


def schemas(space: Any) -> dict[str, Any]:
    """Return the JSON Schemas of actions, observations and the state.

    Args:
        space: the seat's action space; None if the game declares none.
    """
    kinds: list[dict[str, Any]] = [{"type": "integer"}, {"type": "string"}]
    if isinstance(space, Discrete):
        low, high = space.start, space.start + space.n - 1
        kinds[0] |= {"minimum": low, "maximum": high}
    elif isinstance(space, Text):
        kinds = [{"type": "string", "maxLength": space.max_length}]
    elif space is not None:
        kinds += [{"type": "array"}, {"type": "object"}, {"type": "number"}]
    text = {"type": ["string", "null"]}
    fields = {
        "text": text,
        "values": {},
        "legal_actions": {"type": "array", "items": {"type": "integer"}},
        "legal_names": {"type": "array", "items": {"type": "string"}},
        "seat": {"type": "integer"},
        "turn": {"type": ["integer", "null"]},
        "your_turn": {"type": "boolean"},
        "error": text,
        "metadata": {"type": "object"},
    }
    return {
        "action": {
            "title": "Action",
            "type": "object",
            "properties": {"action": {"anyOf": [*kinds, {"type": "null"}]}},
            "required": ["action"],
            "additionalProperties": False,
        },
        "observation": {"title": "Observation", "type": "object", "properties": fields},
        "state": {
            "title": "State",
            "type": "object",
            "properties": {"episode_id": text, "step_count": {"type": "integer"}},
        },
    }
