"""Positions for the browser: checked scenes as JSON, encoded once for all browsers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree as Xml

import msgspec
import numpy as np

from dovetail.protocol.scenes import Choice, Mark, Scene, choices_of, scene_of
from dovetail.protocol.tensors import nested
from dovetail_experiments.quoting import straight_bytes
from dovetail_experiments.reports.drawing import svg, written

LONGEST_TEXT = 20_000
"""Maximum characters shown of a peer's text."""
PICTURE = 640.0
"""Width of a picture in pixels."""
MOST_PIXELS = 8_000_000
"""Maximum pixels of a PNG, at 4 bytes each while it is drawn; larger ones are scaled down."""


def plain(value: Any) -> Any:
    """Return a value from the wire in a JSON form; parts without one become text."""
    match value:
        case np.ndarray():
            return nested(value)
        case bytes():
            return f"{len(value)} bytes"
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case None | bool() | int() | float():
            return value
    return str(value)[:LONGEST_TEXT]


def encode(value: Any) -> bytes:
    """Return a value as JSON for the browser, which shows its texts among others."""
    return straight_bytes(msgspec.json.encode(value, enc_hook=plain))


def drawn(value: Any, legal: Sequence[Any] | None = None) -> tuple[dict[str, Any] | None, str]:
    """Return a scene for the browser, and the reason in one line if there is none.

    The browser names a choice by its index, so ``choices`` have no actions.

    Args:
        value: a ``Scene``, or a map from the wire; None if there is none.
        legal: the legal actions, if the viewer is to choose one.
    """
    if value is None:
        return None, ""
    try:
        scene = scene_of(value)
        choices = [] if legal is None else choices_of(scene, legal)
        if legal is not None and len(choices) not in (0, len(legal)):
            raise ValueError(f"{len(choices)} choices for {len(legal)} legal actions")
        problem = wrong(scene, choices)
    except (msgspec.ValidationError, ValueError, TypeError, IndexError) as error:
        problem = str(error)
    if problem:
        return None, f"The scene cannot be drawn: {problem[:200]}. The text is shown instead."
    found: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(scene, choices=[], paths=None)
    )
    found.pop("choices", None)
    found.pop("paths", None)
    if choices:
        found["choices"] = [_choice(each) for each in choices]
    return found, ""


def picture(position: dict[str, Any], form: str) -> bytes:
    """Return a picture of a position.

    Args:
        position: a position with a ``scene`` from ``drawn``, or with ``text``.
        form: ``svg`` or ``png``.
    """
    if position.get("scene"):
        found = svg(msgspec.convert(position["scene"], Scene), PICTURE)
    else:
        found = written(str(position.get("text") or ""))
    text = Xml.tostring(found, encoding="unicode")
    if form == "svg":
        return text.encode()
    import resvg_py

    pixels = float(found.attrib["width"]) * float(found.attrib["height"])
    zoom = min(2.0, math.sqrt(MOST_PIXELS / pixels))
    return bytes(resvg_py.svg_to_bytes(svg_string=text, background="white", zoom=zoom))


def _choice(choice: Choice) -> dict[str, Any]:
    shown = {name: getattr(choice, name) for name in ("label", "cells", "cards", "shows", "key")}
    return {name: value for name, value in shown.items() if value}


def wrong(scene: Scene, choices: Sequence[Choice]) -> str:
    """Return what is inconsistent in a scene, or an empty string."""
    cells, cards = len(scene.cells), len(scene.cards)
    if not all(map(math.isfinite, _numbers(scene))):
        return "a number is not finite"
    if not (0 <= scene.width <= 1000 and 0 <= scene.height <= 1000):
        return f"a board of {scene.width:g} by {scene.height:g} squares"
    if any(len(line) != 4 for line in scene.lines):
        return "a line without four numbers"
    if any(len(corner) != 2 for cell in scene.cells for corner in cell.outline):
        return "a corner without two numbers"
    if any(not 0 <= piece.cell < cells for piece in scene.pieces):
        return "a piece lies on a cell that is not there"
    pointing: list[Choice | Mark] = [*choices, *scene.marks]
    for each in pointing:
        if not all(0 <= cell < cells for cell in each.cells):
            return "a choice or mark names a cell that is not there"
        if not all(0 <= card < cards for card in each.cards):
            return "a choice or mark names a card that is not there"
    if any(not 0 <= cell < cells for choice in choices for cell in choice.shows):
        return "a choice shows a cell that is not there"
    return ""


def _numbers(scene: Scene) -> Iterator[float]:
    yield from (scene.width, scene.height)
    for cell in scene.cells:
        yield from (cell.x, cell.y, cell.width, cell.height)
        for corner in cell.outline:
            yield from corner
    for line in scene.lines:
        yield from line
    for seat in scene.seats:
        if seat.score is not None:
            yield seat.score
    for piece in scene.pieces:
        if piece.level is not None:
            yield piece.level
