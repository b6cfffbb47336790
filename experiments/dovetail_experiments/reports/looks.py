"""The appearance of a scene's parts: one table for both Python and the page.

`make generate` writes it to the page's ``looks.js``, and the colours to ``tokens.css``. Lengths are
in squares, those of cards in pixels. A shape is a ``rect`` (inset from its cell), a ``disc`` (by
radius), a ``path`` in a box from -1 to 1, or the ``sign`` of a seat; its colours are roles.
``piece`` is the colour of a piece, ``seat`` that of its seat, and ``-ink`` the colour of text on
either.
"""

from __future__ import annotations

from typing import Any

ROLES: dict[str, tuple[str, str]] = {
    "board-frame": ("#9a855c", "#4d432e"),
    "board-light": ("#f1e8d4", "#b5a98b"),
    "board-dark": ("#d3bf95", "#94866a"),
    "board-hole": ("#123a63", "#0b2138"),
    "board-ink": ("#2a2418", "#14110a"),
    "piece-1": ("#fdfcf8", "#f3f0e8"),
    "piece-2": ("#23272b", "#16191c"),
    "piece-3": ("#b84a00", "#f08a4b"),
    "piece-4": ("#0068a3", "#56b4e9"),
    "piece-5": ("#8f3f74", "#e39cc8"),
    "piece-6": ("#00735a", "#3cc39a"),
    "piece-none": ("#7c8086", "#8a9097"),
    "seat-1": ("#0068a3", "#56b4e9"),
    "seat-2": ("#b84a00", "#f08a4b"),
    "seat-3": ("#00735a", "#3cc39a"),
    "seat-4": ("#8f3f74", "#e39cc8"),
    "seat-5": ("#6b5b00", "#e6c94a"),
    "seat-6": ("#4a4f57", "#b9c0c7"),
    "tile-1": ("#f5eee1", "#f5eee1"),
    "tile-2": ("#eedfc0", "#eedfc0"),
    "tile-3": ("#f1c68c", "#f1c68c"),
    "tile-4": ("#eeaa62", "#eeaa62"),
    "tile-5": ("#e58a45", "#e58a45"),
    "tile-6": ("#b5481d", "#b5481d"),
    "tile-7": ("#943414", "#943414"),
    "tile-8": ("#762810", "#762810"),
    "tile-9": ("#5a1f0e", "#5a1f0e"),
    "tile-10": ("#44180b", "#44180b"),
    "tile-11": ("#17684a", "#17684a"),
    "card-1": ("#d9b44a", "#b98f22"),
    "card-2": ("#5d9c74", "#4c8a63"),
    "card-3": ("#8f6a9e", "#8d689c"),
    "card-4": ("#8aa3b8", "#6f8ba3"),
    "card": ("#fdfbf5", "#2a2f34"),
    "card-edge": ("#7f858a", "#7d878f"),
    "card-back": ("#c4d8ea", "#1d3347"),
    "coin": ("#e9c35c", "#e9c35c"),
    "paper": ("#ffffff", "#1c2125"),
    "paper-ink": ("#1b2024", "#eceff1"),
    "rim": ("#555d64", "#a8b1b8"),
    "shot": ("#b3261e", "#7d130d"),
    "last": ("#c77700", "#8a4b00"),
    "last-line": ("#c77700", "#f6c453"),
    "legal": ("#00588b", "#063a5e"),
    "selected": ("#a02a6d", "#6b0e45"),
    "win": ("#ffffff", "#ffffff"),
    "win-edge": ("#0f4d37", "#0c3d2c"),
    "peril": ("#a32c16", "#7d130d"),
}
"""Colours for light and dark themes."""
OWN = (
    *("board-frame", "board-light", "board-dark", "board-hole", "board-ink"),
    *(f"piece-{number}" for number in range(1, 7)),
    *(f"tile-{number}" for number in range(1, 12)),
    *(f"card-{number}" for number in range(1, 5)),
)
"""Roles that a scene's palette may set."""
INKS = ("#1b1508", "#ffffff")
"""Text colours; the more readable one is used."""
SEATS = 6
"""Number of seats with distinct pieces."""
TILES = 11
KINDS = 4
"""Number of distinct kinds of cards."""

CROWN = "M-.9 .72V.44H.9V.72ZM-.82 .3L-.98 -.5L-.45 -.05L0 -.85L.45 -.05L.98 -.5L.82 .3Z"
SIGNS = (
    "M-.5 0a.5 .5 0 1 0 1 0a.5 .5 0 1 0 -1 0",
    "M0 -.55L.55 0L0 .55L-.55 0Z",
    "M-.5 0H.5",
    "M-.5 0H.5M0 -.5V.5",
    "M0 -.55L.52 .36H-.52Z",
    "M-.42 -.42H.42V.42H-.42Z",
)
"""Symbol that distinguishes each seat's pieces besides their colour."""

Looks = list[dict[str, Any]]
CELLS: dict[str, Looks] = {
    "square": [{"rect": 0, "fill": "board-light"}],
    "dark": [{"rect": 0, "fill": "board-dark"}],
    "hole": [{"disc": 0.42, "fill": "board-hole"}],
    "slot": [{"rect": 0.04, "round": 0.08, "fill": "board-light"}],
    "well": [{"rect": 0, "fill": "board-hole", "stroke": "board-frame", "width": 0.03}],
    "base": [{"rect": 0, "fill": "board-frame"}],
    "box": [],
    "dot": [{"disc": 0.5, "fill": "paper-ink"}],
    "arrow": [],
    "edge": [],
    "area": [],
    "off": [],
    "point": [],
}
"""Appearance by kind; an unknown kind looks like ``square``."""
FRAMES = {"hole": "board-frame", "slot": "board-frame", "box": "paper"}
"""Background of the whole board, by kind of cell."""
MARGINS = {"dot": 0.3, "point": 0.3}
"""Margin around the board, by kind of cell."""
ROUND = ("hole", "point")
"""Kinds of cells whose marks are round."""

DISC: Looks = [
    {"disc": 0.4, "fill": "piece", "stroke": "piece-ink", "width": 0.03},
    {"sign": 0.4, "stroke": "piece-ink", "width": 0.055},
]
BLOCK: Looks = [
    {"rect": 0.04, "round": 0.08, "fill": "piece"},
    {"sign": 0.42, "stroke": "piece-ink", "width": 0.06},
]
PIECES: dict[str, Looks] = {
    "queen": [
        {"path": CROWN, "scale": 0.38, "fill": "piece", "stroke": "piece-ink", "width": 0.04}
    ],
    "arrow": [{"path": "M-1 -1L1 1M1 -1L-1 1", "scale": 0.24, "stroke": "shot", "width": 0.13}],
    "line": [{"rect": 0, "round": 0.04, "fill": "paper-ink"}],
    "box": [
        {"rect": 0.1, "round": 0.08, "fill": "seat"},
        {"sign": 0.42, "stroke": "seat-ink", "width": 0.08},
    ],
    "tile": BLOCK,
    "block": BLOCK,
    "next": BLOCK,
}
"""Appearance by kind; an unknown kind is a disc."""
MARKS = {
    "last": {"stroke": "last", "width": 0.07},
    "win": {"stroke": "win", "width": 0.08},
    "danger": {"stroke": "peril", "width": 0.1},
}
"""Appearance by kind; an unknown kind looks like ``last``."""
LAST_ON_ROUND, LAST_LINE = "win", "last-line"
"""Roles of the last move on boards with round marks, which are dark, and on a line."""
DIMMED = 0.62
"""Opacity of pieces outside a marked winning line."""

CARDS = {
    "wide": {
        **{"gap": 8, "title": 22, "title_size": 14, "line": 12, "name": 14, "kind": 12, "coin": 10},
        **{"row": [7, 74], "grid": [5, 104], "fan": [7, 104], "rules": 3},
    },
    "narrow": {
        **{"gap": 6, "title": 18, "title_size": 12, "line": 12, "name": 12, "kind": 0, "coin": 8},
        **{"row": [4, 58], "grid": [4, 58], "fan": [5, 62], "rules": 0},
    },
}
"""Sizes in pixels; ``row``, ``grid`` and ``fan`` give cards per line and their height."""
NARROW = 600
"""Width in pixels below which cards are narrow."""
PICTURE = 868
"""Width of cards in a picture, in pixels; the same as on the page."""
SQUARE = 60
"""Size in pixels of a square with cards beside the board."""


def table() -> dict[str, Any]:
    """Return the table for the page's renderer."""
    return {
        "roles": {role: list(pair) for role, pair in ROLES.items()},
        "own": list(OWN),
        "inks": list(INKS),
        "seats": SEATS,
        "tiles": TILES,
        "kinds": KINDS,
        "signs": list(SIGNS),
        "cells": CELLS,
        "frames": FRAMES,
        "margins": MARGINS,
        "round": list(ROUND),
        "disc": DISC,
        "pieces": PIECES,
        "marks": MARKS,
        "lastOnRound": LAST_ON_ROUND,
        "lastLine": LAST_LINE,
        "dimmed": DIMMED,
        "cards": CARDS,
        "narrow": NARROW,
        "picture": PICTURE,
        "square": SQUARE,
    }


def ink(colour: str) -> str:
    """Return the colour for text on a background.

    >>> ink("#ffffff"), ink("#102030")
    ('#1b1508', '#ffffff')
    """
    return max(INKS, key=lambda each: contrast(each, colour))


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours, by WCAG 2.

    >>> round(contrast("#000000", "#ffffff"))
    21
    """
    dim, bright = sorted((_luminance(one), _luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def inked(palette: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return a palette with the text colour of each entry added as ROLE-ink."""
    found: dict[str, tuple[str, str]] = {}
    for role, (light, dark) in palette.items():
        found[role] = (light, dark)
        found[f"{role}-ink"] = (ink(light), ink(dark))
    return found
