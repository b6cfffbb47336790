"""Agents' thoughts for the browser: the best choices first, with the cells to point at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from dovetail.protocol import messages as m
from dovetail.protocol.scenes import Choice, choices_of, scene_of
from dovetail_web.positions import LONGEST_TEXT, plain, wrong

MOST = 100
"""Maximum choices shown of a decision, the best."""
LONGEST_LINE = 20
"""Maximum actions shown of an expected line, the first."""


def choices(scene: Any) -> list[Choice]:
    """Return the choices of a watcher's scene; none if the scene is invalid.

    Args:
        scene: a map from the wire; None if there is none.
    """
    if scene is None:
        return []
    try:
        found = scene_of(scene)
        if found.paths is not None:
            named = choices_of(found, range(len(found.paths)))
        else:
            named = found.choices
        return [] if wrong(found, named) else named
    except (msgspec.ValidationError, ValueError, TypeError, IndexError):
        return []


def thought(value: Any, named: Sequence[Choice]) -> dict[str, Any]:
    """Return an agent's thoughts for the browser.

    Args:
        value: its ``Thoughts``, or a map from the wire.
        named: the choices of the scene that they are about, if there are any.

    Returns:
        ``text``, ``line``, the number of choices as ``count``, and the best as ``choices``, by
        probability, then by value.
    """
    try:
        found = msgspec.convert(value, m.Thoughts, from_attributes=True)
    except msgspec.ValidationError as error:
        found = m.Thoughts(text=f"cannot be shown: {error}")
    count = max(len(found.values), len(found.probabilities))
    values = [each if math.isfinite(each) else None for each in found.values]
    chances = [each if math.isfinite(each) else None for each in found.probabilities]
    values += [None] * (count - len(values))
    chances += [None] * (count - len(chances))

    def rank(number: int) -> tuple[float, float]:
        chance, worth = chances[number], values[number]
        return (
            math.inf if chance is None else -chance,
            math.inf if worth is None else -worth,
        )

    best = sorted(range(count), key=rank)[:MOST]
    known = named if len(named) == count else []
    return {
        "text": found.text[:LONGEST_TEXT],
        "line": [plain(each) for each in found.line[:LONGEST_LINE]],
        "count": count,
        "choices": [
            {
                "label": known[each].label if known else f"choice {each + 1}",
                "value": values[each],
                "chance": chances[each],
                **({"cells": known[each].cells, "cards": known[each].cards} if known else {}),
                **({"shows": known[each].shows} if known else {}),
            }
            for each in best
        ],
    }
