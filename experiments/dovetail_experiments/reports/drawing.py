"""Scenes as SVG: a position of any game drawn from its description."""

from __future__ import annotations

import math
from xml.etree import ElementTree as Xml

from dovetail.protocol.scenes import Card, Cell, Piece, Scene

OWNERS = ("#ffffff", "#222222", "#d55e00", "#0072b2", "#e69f00", "#009e73")
"""Colours of the seats, those of the page (Okabe and Ito)."""
INKS = ("#111111", "#ffffff")
"""The colours of text on light pieces, and on dark ones."""
SIGNS = (
    *("", "M-.45 0a.45 .45 0 1 0 .9 0a.45 .45 0 1 0 -.9 0", "M-.5 0H.5", "M-.5 0H.5M0-.5V.5"),
    *("M0-.55L.5 .35H-.5Z", "M-.4-.4H.4V.4H-.4Z"),
)
"""Marks that tell the discs of the seats apart beside their colours, in a box from -1 to 1; those
of the page."""
MARKS = {"last": "#e69f00", "win": "#009e73", "danger": "#d55e00"}
CELLS = {
    "square": "#eee8d8",
    "dark": "#c9b98f",
    "base": "#b7c9d9",
    "edge": "none",
    "box": "#f4f1ea",
    "hole": "#5d83b3",
    "area": "none",
    "off": "none",
    "point": "none",
    "dot": "#1b1b1b",
}
NONE = "#8a8f98"
MARGIN = 0.1


def svg(scene: Scene, width: float = 220.0) -> Xml.Element:
    """Return a scene as an SVG element of limited width, in pixels."""
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
        _cell(root, cell)
    for x1, y1, x2, y2 in scene.lines:
        ends = {"x1": f"{x1:g}", "y1": f"{y1:g}", "x2": f"{x2:g}", "y2": f"{y2:g}"}
        Xml.SubElement(root, "line", {**ends, "stroke": "#1b1b1b", "stroke-width": "0.03"})
    for piece in scene.pieces:
        if 0 <= piece.cell < len(scene.cells):
            _piece(root, piece, scene.cells[piece.cell], _letter(scene, piece.owner))
    for mark in scene.marks:
        for number in mark.cells:
            if 0 <= number < len(scene.cells):
                colour = MARKS.get(mark.kind, MARKS["last"])
                outline = {"fill": "none", "stroke": colour, "stroke-width": "0.09"}
                _rect(root, scene.cells[number], 0.04, outline)
    for number, (zone, names) in enumerate(cards):
        _text(root, 0.0, board[1] + 0.55 * number + 0.5, 0.36, f"{zone}: {names}", "start")
    return root


def written(text: str) -> Xml.Element:
    """Return a position that is only text as an SVG element."""
    lines = text.splitlines()[:200]
    wide = max((len(line) for line in lines), default=1)
    root = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "width": f"{8.5 * min(wide, 200) + 16:.0f}",
            "height": f"{17 * len(lines) + 16}",
        },
    )
    for number, line in enumerate(lines, 1):
        made = Xml.SubElement(
            root,
            "text",
            {
                "x": "8",
                "y": f"{17 * number}",
                "font-family": "monospace",
                "font-size": "14",
                "xml:space": "preserve",
            },
        )
        made.text = "".join(each for each in line[:200] if each.isprintable())
    return root


def _rect(root: Xml.Element, cell: Cell, inset: float, looks: dict[str, str]) -> None:
    place = {
        "x": f"{cell.x + inset * cell.width:g}",
        "y": f"{cell.y + inset * cell.height:g}",
        "width": f"{(1 - 2 * inset) * cell.width:g}",
        "height": f"{(1 - 2 * inset) * cell.height:g}",
    }
    Xml.SubElement(root, "rect", {**place, **looks})


def _cell(root: Xml.Element, cell: Cell) -> None:
    looks = {"fill": CELLS.get(cell.kind, CELLS["square"])}
    if looks["fill"] != "none":
        looks |= {"stroke": "#a9a393", "stroke-width": "0.03"}
    if cell.outline:
        points = " ".join(f"{x:g},{y:g}" for x, y in cell.outline)
        Xml.SubElement(root, "polygon", {"points": points, **looks})
        return
    _rect(root, cell, 0, looks)
    if cell.kind == "hole":
        _disc(root, cell, {"fill": "#10233a"})
    if cell.text:
        middle = cell.x + cell.width / 2, cell.y + cell.height / 2 + 0.2
        _text(root, *middle, 0.6, cell.text, "middle")


def _disc(root: Xml.Element, cell: Cell, looks: dict[str, str]) -> None:
    x, y = cell.x + cell.width / 2, cell.y + cell.height / 2
    radius = 0.4 * min(cell.width, cell.height)
    Xml.SubElement(root, "circle", {"cx": f"{x:g}", "cy": f"{y:g}", "r": f"{radius:g}", **looks})


def _letter(scene: Scene, owner: int | None) -> str:
    """Return the name of a seat if it is one letter, which then is its sign; otherwise nothing."""
    known = owner is not None and 0 <= owner < len(scene.seats)
    name = scene.seats[owner].name if known and owner is not None else ""
    return name if len(name) == 1 else ""


def _piece(root: Xml.Element, piece: Piece, cell: Cell, letter: str) -> None:
    x, y = cell.x + cell.width / 2, cell.y + cell.height / 2
    colour = NONE if piece.owner is None else OWNERS[piece.owner % len(OWNERS)]
    ink = INKS[piece.owner is not None and piece.owner % len(OWNERS) in (1, 3, 5)]
    looks = {"fill": colour, "stroke": "#111111", "stroke-width": "0.04"}
    thin = min(cell.width, cell.height) < 0.35 * max(cell.width, cell.height)
    text = piece.text or piece.symbol or (str(piece.count) if piece.count > 1 else "")
    if piece.kind == "arrow":
        d = 0.28 * min(cell.width, cell.height)
        cross = f"M{x - d:g} {y - d:g}L{x + d:g} {y + d:g}M{x + d:g} {y - d:g}L{x - d:g} {y + d:g}"
        Xml.SubElement(root, "path", {"d": cross, "stroke": "#b3261e", "stroke-width": "0.14"})
        return
    if thin or piece.kind in ("tile", "line", "block", "box", "next"):
        if piece.level is not None:
            strong = max(0.0, min(1.0, piece.level))
            shade = f"hsl({45 - 40 * strong:.0f}, {40 + 50 * strong:.0f}%, {90 - 45 * strong:.0f}%)"
            looks["fill"], ink = shade, INKS[strong > 0.75]
        _rect(root, cell, 0.05, {"rx": "0.06", **looks})
    else:
        _disc(root, cell, looks)
        text = text or letter
        sign = "" if text or piece.owner is None else SIGNS[piece.owner % len(SIGNS)]
        if sign:
            place = f"translate({x:g} {y:g}) scale({0.4 * min(cell.width, cell.height):g})"
            lines = {"fill": "none", "stroke": ink, "stroke-width": "0.14"}
            Xml.SubElement(root, "path", {"d": sign, "transform": place, **lines})
    if text:
        size = min(0.5, 0.9 / max(1, len(text)) + 0.15) * min(cell.width, cell.height)
        _text(root, x, y + size / 3, size, text, "middle", ink)


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


def _text(
    root: Xml.Element,
    x: float,
    y: float,
    size: float,
    text: str,
    anchor: str,
    ink: str = "#222222",
) -> None:
    found = Xml.SubElement(
        root,
        "text",
        {
            "x": f"{x:g}",
            "y": f"{y:g}",
            "font-size": f"{size:g}",
            "text-anchor": anchor,
            "font-family": "sans-serif",
            "fill": ink,
        },
    )
    found.text = "".join(each for each in text if each.isprintable())
