"""Scenes as shapes, and shapes as SVG: draws a position of any game from its description.

The page's ``scene.js`` makes the same shapes from the same table (``looks``); a test compares them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree as Xml

from dovetail.protocol.scenes import Card, Cell, Mark, Piece, Scene
from dovetail_experiments.reports import looks

FONT = "Roboto, 'DejaVu Sans', 'Liberation Sans', Arial, sans-serif"
RIM, RIM_SIZE = 0.42, 0.26
"""Margin for coordinates and their font size, in squares."""
NAMED = ("square", "dark", "hole", "well", "slot", "point", "dot")
"""Kinds of cells whose names may be coordinates."""

Box = tuple[float, float, float, float]
Shape = list[Any]
"""An SVG tag, its attributes (colours are roles), and its text."""
Group = list[Any]
"""Its meaning in a word, its part as in ``Drawing.boxes``, a piece's key, and its shapes."""


@dataclass(slots=True)
class Drawing:
    """A scene as shapes."""

    view: Box
    """Left, top, width and height."""
    boxes: dict[str, Box]
    """Position and size of each cell ``c0`` and card ``k0``."""
    groups: list[Group] = field(default_factory=list)

    def add(self, what: str, shapes: list[Shape], part: str = "", key: str = "") -> None:
        """Add shapes on top."""
        if shapes:
            self.groups.append([what, part, key, shapes])


def number(value: float) -> float:
    """Return a length as written in SVG."""
    found = math.floor(value * 10_000 + 0.5) / 10_000
    return int(found) if found == int(found) else found


def shape(tag: str, text: str = "", /, **given: Any) -> Shape:
    """Return a shape; attributes that are None are omitted."""
    attributes = {
        name.replace("_", "-"): number(value) if isinstance(value, int | float) else value
        for name, value in given.items()
        if value is not None
    }
    return [tag, attributes, text]


def written_at(x: float, y: float, size: float, text: str, fill: str, **more: Any) -> Shape:
    """Return a text, vertically centred on ``y``."""
    given = {"text_anchor": "middle", **more}
    return shape("text", text, x=x, y=y + 0.36 * size, font_size=size, fill=fill, **given)


def drawing(scene: Scene, width: float = looks.PICTURE) -> Drawing:
    """Return a scene as shapes.

    Args:
        width: the width for cards if there is no board, in pixels.
    """
    board = _Board(scene, width)
    made, cells = board.made, range(len(scene.cells))
    board.frame()
    for place, cell in enumerate(scene.cells):
        made.add("cell", board.cell(cell, made.boxes[f"c{place}"]), f"c{place}")
    for cell in scene.cells:
        made.add("label", board.base(cell))
    ends = [
        shape("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke="board-ink", stroke_width=0.03)
        for x1, y1, x2, y2 in scene.lines
    ]
    made.add("lines", ends)
    won = {cell for mark in scene.marks if mark.kind == "win" for cell in mark.cells}
    for mark in scene.marks:
        made.add("bars", board.joined(mark))
    for piece in scene.pieces:
        if piece.cell not in cells:
            continue
        shapes = board.piece(piece, made.boxes[f"c{piece.cell}"])
        if won and piece.cell not in won:
            for each in shapes:
                each[1]["opacity"] = looks.DIMMED
        made.add("piece", shapes, f"c{piece.cell}", piece.key)
    board.cards()
    for mark in scene.marks:
        made.add(f"mark {mark.kind}", board.marked(mark.kind, mark.cells, mark.cards))
    return made


class _Board:
    """Draws one scene."""

    def __init__(self, scene: Scene, width: float) -> None:
        self.scene = scene
        kinds = {cell.kind for cell in scene.cells}
        self.framed = next((each for each in looks.FRAMES if each in kinds), "")
        margin = max([looks.MARGINS.get(kind, 0.0) for kind in kinds], default=0.0)
        self.scale = 1 / looks.SQUARE if scene.width else 1.0
        self.width = max(scene.width, 10.0 if scene.cards else 0.0) if scene.width else width
        pixels = self.width / self.scale
        size = "narrow" if pixels < looks.NARROW else "wide"
        self.sizes: dict[str, Any] = looks.CARDS[size]
        self.kinds = list(dict.fromkeys(card.kind for card in scene.cards if card.kind))
        self.titles: list[tuple[float, float, str]] = []
        self.chips: list[tuple[float, float, str]] = []
        boxes: dict[str, Box] = {
            f"c{place}": (cell.x, cell.y, cell.width, cell.height)
            for place, cell in enumerate(scene.cells)
        }
        tall = self._lay(boxes) if scene.cards else scene.height
        view = (-margin, -margin, max(self.width, 1.0) + 2 * margin, max(tall, 1.0) + 2 * margin)
        self.made = Drawing(view, boxes)

    def _lay(self, boxes: dict[str, Box]) -> float:
        """Place the cards; return their total height."""
        scene, scale, sizes = self.scene, self.scale, self.sizes
        gap, head = sizes["gap"] * scale, sizes["title"] * scale
        zones = [
            (zone.name, zone.owner, zone.title or zone.name, zone.show) for zone in scene.zones
        ]
        for card in scene.cards:
            if not any(zone[:2] == (card.zone, card.owner) for zone in zones):
                zones.append((card.zone, card.owner, card.zone, "row"))
        named = {card for mark in scene.marks for card in mark.cards}
        named |= {card for choice in scene.choices for card in choice.cards}
        x, y, low = 0.0, scene.height + (gap if scene.height else 0.0), 0.0
        counted = []
        for name, owner, title, show in zones:
            own = [
                place
                for place, card in enumerate(scene.cards)
                if card.zone == name and card.owner == owner
            ]
            if not own:
                continue
            hidden = all(not scene.cards[place].name for place in own)
            if (show == "pile" or hidden) and not named & set(own):
                total = sum(scene.cards[place].count for place in own)
                counted.append((own, f"{title} {total}"))
                continue
            kind = "fan" if owner is not None and show != "grid" else show
            most, height = sizes.get(kind, sizes["row"])
            wide = (self.width - (most - 1) * gap) / most
            needs = max(
                min(len(own), most) * (wide + gap) - gap,
                0.62 * sizes["title_size"] * scale * len(title),
            )
            if x > 0 and (owner is None or x + needs > self.width + 0.001):
                x, y = 0.0, low + gap
            self.titles.append((x, y + 0.4 * head, title))
            for order, place in enumerate(own):
                across, down = order % most, order // most
                at = x + across * (wide + gap), y + head + down * (height * scale + gap)
                boxes[f"k{place}"] = (*at, wide, height * scale)
            low = max(low, y + head + math.ceil(len(own) / most) * (height * scale + gap) - gap)
            if owner is None:
                x, y = 0.0, low + gap
            else:
                x += needs + 2 * gap
        return self._count(counted, boxes, max(low, y if x == 0 else low))

    def _count(
        self, counted: list[tuple[list[int], str]], boxes: dict[str, Box], y: float
    ) -> float:
        """Place the piles that are shown as counts, in lines; return their total height."""
        size = self.sizes["line"] * self.scale
        x, y = 0.0, y + (0.4 * size if counted else 0.0)
        for own, text in counted:
            wide = 0.6 * size * len(text)
            if x > 0 and x + wide > self.width:
                x, y = 0.0, y + 1.5 * size
            self.chips.append((x, y + 0.75 * size, text))
            for place in own:
                boxes[f"k{place}"] = (x, y, wide, 1.5 * size)
            x += wide + 1.5 * size
        return y + (1.5 * size if counted else 0.0)

    def frame(self) -> None:
        """Draw the background of the board."""
        if self.framed:
            x, y, width, _ = self.made.view
            tall = self.scene.height - 2 * y
            role = looks.FRAMES[self.framed]
            given = {"x": x, "y": y, "width": width, "height": tall, "rx": 0.16}
            self.made.add("ground", [shape("rect", **given, fill=role)])

    def cell(self, cell: Cell, box: Box) -> list[Shape]:
        found = looks.CELLS.get(cell.kind, looks.CELLS["square"])
        if cell.outline:
            points = " ".join(f"{number(x)},{number(y)}" for x, y in cell.outline)
            fill = found[0]["fill"] if found else "none"
            edge = {"stroke": "board-ink", "stroke_width": 0.02}
            shapes = [shape("polygon", points=points, fill=fill, **edge)]
        else:
            shapes = [self._shaped(look, box) for look in found]
        if cell.text:
            under = looks.FRAMES.get(self.framed, found[0]["fill"] if found else "paper")
            size = (0.9 if cell.kind == "arrow" else 0.62) * min(box[2], box[3], 1.0)
            shapes.append(self._label(box, cell.text, size, _ink(under)))
        return shapes

    def base(self, cell: Cell) -> list[Shape]:
        """Return the label of a place that belongs to a seat."""
        text = cell.name or self._letter(cell.owner)
        if cell.kind != "base" or cell.owner is None or not text:
            return []
        size = min(0.3, 1.6 * cell.width / len(text))
        box = (cell.x, cell.y + 0.06, cell.width, 2 * size)
        return [self._label(box, text, size, "board-frame-ink")]

    def piece(self, piece: Piece, box: Box) -> list[Shape]:
        text = piece.text or piece.symbol or (str(piece.count) if piece.count > 1 else "")
        fill = self._colour(piece)
        shapes = []
        for look in looks.PIECES.get(piece.kind, looks.DISC):
            if "sign" in look and (text or piece.owner is None):
                continue
            shapes.append(self._shaped(look, box, fill, piece.owner))
        if text and piece.kind not in ("queen", "arrow", "line"):
            size = min(0.46, 1.1 / max(1, len(text))) * min(box[2], box[3], 1.0)
            ink = _ink(self._seat(piece.owner) if piece.kind == "box" else fill)
            shapes.append(self._label(box, text, size, ink))
        return shapes

    def _colour(self, piece: Piece) -> str:
        if piece.colour in looks.OWN:
            return piece.colour
        if piece.level is not None:
            strong = max(0.0, min(1.0, piece.level))
            return f"tile-{1 + math.floor(strong * (looks.TILES - 1) + 0.5)}"
        return "piece-none" if piece.owner is None else f"piece-{piece.owner % looks.SEATS + 1}"

    def _seat(self, owner: int | None) -> str:
        return "piece-none" if owner is None else f"seat-{owner % looks.SEATS + 1}"

    def _letter(self, owner: int | None) -> str:
        """Return a seat's name if it is a single letter, which then marks its pieces."""
        known = owner is not None and 0 <= owner < len(self.scene.seats)
        name = self.scene.seats[owner].name if known and owner is not None else ""
        return name if len(name) == 1 else ""

    def _shaped(
        self, look: dict[str, Any], box: Box, piece: str = "", owner: int | None = None
    ) -> Shape:
        """Return a shape of the table, moved to its place."""
        x, y, wide, tall = box
        size = min(wide, tall, 1.0)

        def role(name: str | None) -> str:
            if name in ("piece", "piece-ink"):
                return piece if name == "piece" else _ink(piece)
            if name in ("seat", "seat-ink"):
                return self._seat(owner) if name == "seat" else _ink(self._seat(owner))
            return name or "none"

        given: dict[str, Any] = {"fill": role(look.get("fill"))}
        if "stroke" in look:
            given |= {"stroke": role(look["stroke"]), "stroke_width": look["width"]}
        if "rect" in look:
            inset = look["rect"] if min(wide, tall) > 0.3 else 0
            room = {"width": wide - 2 * inset, "height": tall - 2 * inset}
            radius = look.get("round")
            return shape("rect", x=x + inset, y=y + inset, **room, rx=radius, **given)
        middle = {"cx": x + wide / 2, "cy": y + tall / 2}
        if "disc" in look:
            return shape("circle", **middle, r=look["disc"] * size, **given)
        scale = (look["sign"] if "sign" in look else look["scale"]) * size
        if "sign" in look and self._letter(owner):
            return self._label(box, self._letter(owner), 1.1 * scale, role(look["stroke"]))
        path = looks.SIGNS[(owner or 0) % looks.SEATS] if "sign" in look else look["path"]
        given["stroke_width"] = given["stroke_width"] / scale
        place = f"translate({number(middle['cx'])} {number(middle['cy'])}) scale({number(scale)})"
        joins = {"stroke_linejoin": "round", "stroke_linecap": "round"}
        return shape("path", d=path, transform=place, **given, **joins)

    def _label(self, box: Box, text: str, size: float, fill: str) -> Shape:
        x, y, wide, tall = box
        fit = min(size, 1.6 * wide / max(len(text), 1))
        return written_at(x + wide / 2, y + tall / 2, fit, _clean(text), fill, font_weight=600)

    def cards(self) -> None:
        """Draw the cards, with the titles of their zones."""
        size, line = (self.sizes[name] * self.scale for name in ("title_size", "line"))
        start = {"text_anchor": "start"}
        for x, y, text in self.titles:
            shapes = [written_at(x, y, size, _clean(text), "rim", **start, font_weight=600)]
            self.made.add("title", shapes)
        for x, y, text in self.chips:
            self.made.add("title", [written_at(x, y, line, _clean(text), "rim", **start)])
        counted = {place for place, box in self.made.boxes.items() if self._is_chip(place, box)}
        for place, card in enumerate(self.scene.cards):
            if f"k{place}" not in counted:
                self.made.add("card", self._card(card, self.made.boxes[f"k{place}"]), f"k{place}")

    def _is_chip(self, part: str, box: Box) -> bool:
        return part[0] == "k" and box[3] <= 1.5 * self.sizes["line"] * self.scale + 0.001

    def _card(self, card: Card, box: Box) -> list[Shape]:
        x, y, wide, tall = box
        s, sizes = self.scale, self.sizes
        narrow = sizes["kind"] == 0
        pad = (8 if narrow else 10) * s
        given = {"x": x, "y": y, "width": wide, "height": tall, "rx": 8 * s}
        edge = {"stroke": "card-edge", "stroke_width": 1.5 * s}
        shapes = [shape("rect", **given, fill="card" if card.name else "card-back", **edge)]
        times = f"×{card.count}" if card.count != 1 or not card.name else ""
        low = y + tall - (12 if narrow else 15) * s
        ink = "card-ink" if card.name else "card-back-ink"
        if times:
            shapes.append(
                written_at(*(x + wide - pad, low, sizes["line"] * s, times, ink), text_anchor="end")
            )
        if not card.name:
            return shapes
        shapes += self._strip(card, x, y, wide)
        room = wide - 2 * pad
        size = sizes["name"] * s
        lines = [card.name]
        if narrow and 0.6 * size * len(card.name) > room and " " in card.name:
            lines = card.name.split(" ", 1)
        at = y + (17 if narrow else 21) * s
        start = {"text_anchor": "start"}
        for text in lines:
            fit = min(size, room / (0.6 * max(1, len(text))))
            shapes.append(
                written_at(x + pad, at, fit, _clean(text), "card-ink", **start, font_weight=600)
            )
            at += 1.15 * size
        if card.kind and sizes["kind"]:
            shapes.append(written_at(x + pad, at, sizes["kind"] * s, card.kind, "rim", **start))
            at += 17 * s
        most = sizes["rules"] if tall > 90 * s else 0
        room_below = low - (14 * s if card.corner or times else -8 * s)
        small = sizes["line"] * s
        for text in wrapped(card.note, room / (0.56 * small), most) if most else []:
            if at < room_below:
                shapes.append(written_at(x + pad, at, small, text, "card-ink", **start))
            at += 15 * s
        if card.corner:
            shapes += self._coin(card.corner, x + pad + sizes["coin"] * s, low)
        elif card.text:
            shapes.append(written_at(x + pad, low, small, _clean(card.text), "card-ink", **start))
        return shapes

    def _coin(self, text: str, x: float, y: float) -> list[Shape]:
        radius = self.sizes["coin"] * self.scale
        edge = {"stroke": "coin-ink", "stroke_width": 0.8 * self.scale}
        return [
            shape("circle", cx=x, cy=y, r=radius, fill="coin", **edge),
            written_at(x, y, 1.2 * radius, _clean(text), "coin-ink", font_weight=600),
        ]

    def _strip(self, card: Card, x: float, y: float, wide: float) -> list[Shape]:
        """Return the strip for a card's kind; kinds differ in pattern as well as colour."""
        if not card.kind:
            return []
        s, kind = self.scale, self.kinds.index(card.kind) % looks.KINDS
        left, right, top = x + 6 * s, x + wide - 6 * s, y + 2 * s
        length = right - left
        dashes = {1: f"{number(14 * s)} {number(4 * s)}", 2: f"{number(4 * s)} {number(3 * s)}"}
        lines = ((1.0, 1.5), (4.5, 1.5)) if kind == 3 else ((2.5, 5.0),)
        return [
            shape(
                "line",
                **{"x1": left, "y1": top + at * s, "x2": left + length, "y2": top + at * s},
                **{"stroke": f"card-{kind + 1}", "stroke_width": thick * s},
                stroke_dasharray=dashes.get(kind),
            )
            for at, thick in lines
        ]

    def joined(self, mark: Mark) -> list[Shape]:
        """Return the bar that joins round places of a winning line."""
        rounded = []
        for cell in mark.cells if mark.kind == "win" else ():
            x, y, w, h = self.made.boxes[f"c{cell}"]
            if self.scene.cells[cell].kind in looks.ROUND:
                rounded.append((x + w / 2, y + h / 2))
        if len(rounded) < 2 or not _straight(rounded):
            return []
        (x1, y1), (x2, y2) = min(rounded), max(rounded)
        ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
        return [shape("line", **ends, stroke="win", stroke_width=0.14)]

    def marked(self, kind: str, cells: list[int], cards: list[int]) -> list[Shape]:
        look = looks.MARKS.get(kind, looks.MARKS["last"])
        places = [(cell, self.made.boxes[f"c{cell}"]) for cell in cells]
        found: list[Shape] = []
        for cell, (x, y, w, h) in places:
            line = {"stroke": look["stroke"], "stroke_width": look["width"]}
            if self.scene.cells[cell].kind in looks.ROUND:
                role = looks.LAST_ON_ROUND if kind == "last" else look["stroke"]
                line["stroke"] = role
                place = {"cx": x + w / 2, "cy": y + h / 2, "r": 0.43 * min(w, h)}
                found.append(shape("circle", **place, fill="none", **line))
            elif min(w, h) < 0.3:
                place = {"x": x, "y": y, "width": w, "height": h, "rx": 0.04}
                role = looks.LAST_LINE if kind == "last" else look["stroke"]
                found.append(shape("rect", **place, fill=role))
            else:
                found.append(_ring((x, y, w, h), 0.05, 0.1, line))
        for card in cards:
            line = {"stroke": look["stroke"], "stroke_width": 3 * self.scale}
            found.append(_ring(self.made.boxes[f"k{card}"], 0.0, 8 * self.scale, line))
        return found


def _ring(box: Box, inset: float, radius: float, line: dict[str, Any]) -> Shape:
    x, y, w, h = box
    place = {"x": x + inset, "y": y + inset, "width": w - 2 * inset, "height": h - 2 * inset}
    return shape("rect", **place, rx=radius, fill="none", **line)


def _straight(points: list[tuple[float, float]]) -> bool:
    """Return whether points lie on a line."""
    (x1, y1), (x2, y2) = min(points), max(points)
    return all(abs((x - x1) * (y2 - y1) - (y - y1) * (x2 - x1)) < 1e-6 for x, y in points)


def _ink(role: str) -> str:
    return f"{role}-ink"


def _clean(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


def wrapped(text: str, room: float, most: int) -> list[str]:
    """Return a text in lines of about ``room`` characters, one more to avoid an ellipsis; the last
    line is truncated.

    >>> wrapped("+1 card; +2 purchases", 9, 2)
    ['+1 card;', '+2 purch…']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    most_letters = max(2, math.floor(room))
    return [
        line if len(line) <= room + 1 else f"{line[: most_letters - 1]}…"
        for line in map(_clean, lines)
    ]


def coordinates(scene: Scene) -> tuple[list[tuple[float, str]], list[tuple[float, str]]]:
    """Return the labels of columns and rows, each with its centre; empty if the names of cells are
    not coordinates."""
    found = []
    for cell in scene.cells:
        if cell.kind not in NAMED:
            continue
        match = re.fullmatch(r"([A-Za-z]+|[0-9]+),?([0-9]+)", cell.name)
        if match is None:
            return [], []
        found.append((cell, match[1], match[2]))
    if len(found) < 2:
        return [], []
    for turned in (False, True):
        columns: dict[float, str] = {}
        rows: dict[float, str] = {}
        fits = True
        for cell, one, other in found:
            column, row = (other, one) if turned else (one, other)
            x, y = number(cell.x + cell.width / 2), number(cell.y + cell.height / 2)
            fits = fits and columns.setdefault(x, column) == column
            fits = fits and rows.setdefault(y, row) == row
        if (
            fits
            and len(set(columns.values())) == len(columns)
            and len(set(rows.values())) == len(rows)
        ):
            return sorted(columns.items()), sorted(rows.items())
    return [], []


def svg(scene: Scene, width: float = 220.0, theme: int = 0) -> Xml.Element:
    """Return a scene as an SVG element.

    Args:
        width: the maximum width, in pixels.
        theme: 0 for light colours, 1 for dark ones.
    """
    made = drawing(scene)
    x, y, wide, tall = made.view
    files, ranks = coordinates(scene)
    left, under = (RIM if ranks else 0.0), (RIM if files else 0.0)
    margin = 0.1 if scene.width else 8.0
    view = (x - left - margin, y - margin, wide + left + 2 * margin, tall + under + 2 * margin)
    zoom = min(width / view[2], 60.0)
    palette = looks.inked({**looks.ROLES, **scene.palette})
    root = Xml.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": " ".join(str(number(each)) for each in view),
            "width": f"{view[2] * zoom:.0f}",
            "height": f"{view[3] * zoom:.0f}",
            "font-family": FONT,
        },
    )
    for what, _, _, shapes in made.groups:
        parent = Xml.SubElement(root, "g", {"class": what})
        for each in shapes:
            _append(parent, each, palette, theme)
    low = y + scene.height - 2 * y
    names = [written_at(at, low + 0.22, RIM_SIZE, text, "rim") for at, text in files]
    names += [written_at(x - 0.24, at, RIM_SIZE, text, "rim") for at, text in ranks]
    for each in names:
        _append(root, each, palette, theme)
    return root


def _append(
    parent: Xml.Element, each: Shape, palette: dict[str, tuple[str, str]], theme: int
) -> None:
    tag, attributes, text = each
    given = {name: str(value) for name, value in attributes.items()}
    for name in ("fill", "stroke"):
        if given.get(name, "none") != "none":
            given[name] = palette[given[name]][theme]
    Xml.SubElement(parent, tag, given).text = text or None


def written(text: str) -> Xml.Element:
    """Return a text-only position as an SVG element."""
    lines = text.splitlines()[:200]
    wide = max((len(line) for line in lines), default=1)
    size = {"width": f"{8.5 * min(wide, 200) + 16:.0f}", "height": f"{17 * len(lines) + 16}"}
    root = Xml.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size})
    looks_of = {"font-family": "monospace", "font-size": "14", "xml:space": "preserve"}
    for place, line in enumerate(lines, 1):
        made = Xml.SubElement(root, "text", {"x": "8", "y": f"{17 * place}", **looks_of})
        made.text = _clean(line[:200])
    return root
