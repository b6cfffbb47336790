"""A seat's choices in words, for language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from dovetail.peer.agents.agent import Decision
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.scenes import choices_of, scene_of
from dovetail.protocol.spaces import Discrete, Space, Text
from dovetail.protocol.tensors import nested

MOST = 300
"""Maximum choices listed, the first."""
LONGEST = 20_000
"""Maximum characters of a position.  The middle of a longer one is cut, since text games begin
with their rules and end with the latest messages."""


class Named(Struct, frozen=True):
    """A legal action and its name."""

    action: Any
    label: str


def choices(decision: Decision) -> list[Named] | None:
    """Return the legal actions with their names in the game's scene; None if they cannot be
    listed."""
    legal = numbers(decision)
    if legal is None:
        return None
    names = labels(decision.scene, decision.legal)
    return [Named(action, names.get(action, "")) for action in legal[:MOST]]


def numbers(decision: Decision) -> Sequence[int] | None:
    """Return the legal actions; None if they are not numbers."""
    if decision.legal is not None:
        return decision.legal
    space = space_of(decision.seat.spec, decision.seat.seat)
    return range(space.start, space.start + space.n) if isinstance(space, Discrete) else None


def total(decision: Decision) -> int:
    """Return the number of legal actions; 0 if they cannot be counted."""
    return len(numbers(decision) or ())


def is_legal(decision: Decision, action: Any) -> bool:
    """Return whether an action is legal."""
    if decision.legal is not None:
        return type(action) is int and action in decision.legal
    space = space_of(decision.seat.spec, decision.seat.seat)
    return (space is None or space.contains(action)) and travels(action)


def travels(action: Any) -> bool:
    """Return whether an action can be encoded; huge numbers and half surrogates cannot."""
    try:
        codec.encode(action)
    except codec.UNSENDABLE:
        return False
    return True


def chosen(decision: Decision, action: Any) -> Any:
    """Return the action given by its number, by digits, or by its name in the game's words."""
    if not isinstance(action, str):
        return action
    named = {name: each for each, name in labels(decision.scene, decision.legal).items() if name}
    digits = action.strip().removeprefix("-").isdecimal() and len(action) < 20
    if digits and isinstance(space_of(decision.seat.spec, decision.seat.seat), Text):
        digits = False
    return named.get(action, int(action) if digits else action)


def labels(scene: Any, legal: Sequence[int] | None = None) -> dict[int, str]:
    """Return the labels of the legal actions in a scene, by number."""
    if scene is None:
        return {}
    return {
        each.action: " ".join(each.label.split())[:80]
        for each in choices_of(scene_of(scene), legal)
        if type(each.action) is int
    }


def space_of(spec: m.Spec, seat: int) -> Space | None:
    """Return a seat's action space; None if the game declares none."""
    return spec.action_space(seat) if spec.action_spaces else None


def position(text: str | None, observation: Any) -> str:
    """Return a position as text: the game's own, or the observation."""
    if not text:
        text = str(nested(observation) if isinstance(observation, np.ndarray) else observation)
    text = text.rstrip("\n")
    if len(text) <= LONGEST:
        return text
    begin, end = text[: LONGEST // 2], text[-LONGEST // 2 :]
    return f"{begin}\n... {len(text) - LONGEST:,} characters are left out ...\n{end}"


def about(spec: m.Spec, seat: int) -> list[str]:
    """Return lines that describe the game."""
    lines = [f"Game: {spec.name}.", f"Players: {spec.seats}; you are player {seat + 1}."]
    if not spec.perfect_information:
        lines.append("The other players know things that you do not see.")
    if spec.chance:
        lines.append("Chance plays a part.")
    if spec.reward_range is not None:
        low, high = spec.reward_range
        lines.append(f"One transition earns from {low:g} to {high:g}; you want the largest total.")
    else:
        lines.append("You want the largest total of rewards.")
    space = space_of(spec, seat)
    if space is not None and not isinstance(space, Discrete):
        lines.append(f"An action is a value of this space: {msgspec.json.encode(space).decode()}.")
    return lines
