"""Thoughts of agents, as the browser shows them: their best choices first, with what a person would
point at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from dovetail.protocol import messages as m
from dovetail.protocol.scenes import Choice, choices_of, scene_of
from dovetail_web.positions import LONGEST_TEXT, plain, wrong

MOST = 100
"""Choices of one decision that are shown, the best."""
LONGEST_LINE = 20
"""Actions that an agent expects that are shown, the first."""


def choices(scene: Any) -> list[Choice]:
    """Return the choices that a scene for watchers has; none if it makes no sense.

    Args:
        scene: the map that came over the wire; None if there is none.
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
    """Return what an agent thought for the browser.

    Args:
        value: its ``Thoughts``, or the map that came over the wire.
        named: the choices of the scene in which it thought it, if there are any.

    Returns:
        ``text``, ``line``, how many choices there were as ``count``, and the best as ``choices``:
        by probability, then by value.
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
