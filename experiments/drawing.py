"""Scenes as SVG: a position of any game drawn from its description."""

from __future__ import annotations

import math
from xml.etree import ElementTree as Xml

from dovetail.protocol.scenes import Card, Scene

OWNERS = ("#e6a817", "#c0392b", "#2e6f9e", "#3c8d5a", "#7d5ba6", "#5d6d7e")
"""Colours of the seats."""
CELLS = {
    "square": "#eee8d8",
    "dark": "#c9b98f",
    "base": "#b7c9d9",
    "edge": "none",
    "box": "#f4f1ea",
    "hole": "#dfe7ee",
}
NONE = "#8a8f98"
MARGIN = 0.1


def svg(scene: Scene, width: float = 220.0) -> Xml.Element:
    """Return a scene as an SVG element, so many pixels wide at most."""
    cards = _rows(scene.cards)
    board = (scene.width, scene.height)
    wide = max(board[0], 10.0 if cards else 0.0, 1.0)
    tall = board[1] + 0.55 * len(cards) + (0.3 if cards else 0.0)
    scale = min(width / wide, 40.0)
    root = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"{-MARGIN} {-MARGIN} {wide + 2 * MARGIN:g} {tall + 2 * MARGIN:g}",
            "width": f"{wide * scale:.0f}",
            "height": f"{max(tall, 0.2) * scale:.0f}",
        },
    )
    for cell in scene.cells:
        attributes = {
            "x": f"{cell.x:g}",
            "y": f"{cell.y:g}",
            "width": f"{cell.width:g}",
            "height": f"{cell.height:g}",
            "fill": CELLS.get(cell.kind, CELLS["square"]),
            "stroke": "#a9a393",
            "stroke-width": "0.03",
        }
        Xml.SubElement(root, "rect", attributes)
    for piece in scene.pieces:
        if not 0 <= piece.cell < len(scene.cells):
            continue
        cell = scene.cells[piece.cell]
        x, y = cell.x + cell.width / 2, cell.y + cell.height / 2
        colour = NONE if piece.owner is None else OWNERS[piece.owner % len(OWNERS)]
        thin = min(cell.width, cell.height) < 0.35 * max(cell.width, cell.height)
        if thin or piece.kind in ("tile", "line", "block"):
            Xml.SubElement(
                root,
                "rect",
                {
                    "x": f"{cell.x + 0.05 * cell.width:g}",
                    "y": f"{cell.y + 0.05 * cell.height:g}",
                    "width": f"{0.9 * cell.width:g}",
                    "height": f"{0.9 * cell.height:g}",
                    "rx": "0.06",
                    "fill": colour if piece.owner is not None or not piece.text else "#f2d8a0",
                },
            )
        else:
            radius = 0.4 * min(cell.width, cell.height)
            Xml.SubElement(
                root, "circle", {"cx": f"{x:g}", "cy": f"{y:g}", "r": f"{radius:g}", "fill": colour}
            )
        if piece.text:
            size = min(0.5, 0.9 / max(1, len(piece.text)) + 0.15) * min(cell.width, cell.height)
            _text(root, x, y + size / 3, size, piece.text, "middle")
    for number, (zone, names) in enumerate(cards):
        _text(root, 0.0, board[1] + 0.55 * number + 0.5, 0.36, f"{zone}: {names}", "start")
    return root


def _rows(cards: list[Card]) -> list[tuple[str, str]]:
    zones: dict[str, list[str]] = {}
    for card in cards:
        owner = "" if card.owner is None else f" of seat {card.owner}"
        count = "" if card.count == 1 else f" x{card.count}"
        zones.setdefault(f"{card.zone}{owner}", []).append(f"{card.name or 'face down'}{count}")
    rows = []
    for zone, names in zones.items():
        line = math.ceil(len(", ".join(names)) / 60)
        size = math.ceil(len(names) / max(1, line))
        rows += [
            (zone if first == 0 else "", ", ".join(names[first : first + size]))
            for first in range(0, len(names), size)
        ]
    return rows


def _text(root: Xml.Element, x: float, y: float, size: float, text: str, anchor: str) -> None:
    found = Xml.SubElement(
        root,
        "text",
        {
            "x": f"{x:g}",
            "y": f"{y:g}",
            "font-size": f"{size:g}",
            "text-anchor": anchor,
            "font-family": "sans-serif",
            "fill": "#222",
        },
    )
    found.text = text
