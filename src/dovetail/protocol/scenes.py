"""Scenes: a position described so that one program can draw every game and let a person play it.

Lengths are in squares; x grows to the right and y downwards from the upper left corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from dovetail.protocol.codec import ready

MOST_CHOICES = 1000
"""Legal actions above which ``paths`` should replace ``choices``, since frames are limited."""


class Seated(Struct, omit_defaults=True):
    """A seat's name in this game, and its state."""

    name: str
    """Such as ``White``."""
    score: float | None = None
    """Its score so far, if the game counts one."""
    note: str = ""
    """Further text about it."""


class Cell(Struct, omit_defaults=True):
    """A place on the board, numbered by its position in ``Scene.cells``."""

    x: float
    """Of its left edge."""
    y: float
    """Of its upper edge."""
    width: float = 1.0
    """In squares."""
    height: float = 1.0
    """In squares."""
    kind: str = "square"
    """Its look: ``square``, ``dark``, ``base``, ``edge``, ``box``, ``hole``, ``slot`` (of a tile),
    ``well`` (empty, of dark squares), ``dot``, ``arrow``, ``point`` (where lines cross), ``off``
    (beside the board), ``area`` (not seen, only pointed at), …"""
    name: str = ""
    """Its coordinates, as the labels of choices use them."""
    owner: int | None = None
    """The seat that it belongs to, if any."""
    text: str = ""
    """The text on it."""
    outline: list[list[float]] = []
    """Its corners ``[x, y]``, if it is not a rectangle."""


class Piece(Struct, omit_defaults=True):
    """Something that lies on a cell."""

    cell: int
    """Where it lies."""
    kind: str
    """Its kind: ``disc``, ``pawn``, ``tile``, …"""
    owner: int | None = None
    """The seat that owns it, if any."""
    text: str = ""
    """The text on it."""
    symbol: str = ""
    """A character that shows it, such as a chess piece's."""
    count: int = 1
    """How many lie in the stack."""
    level: float | None = None
    """From 0 to 1: how strong its colour is."""
    colour: str = ""
    """The role of its colour, such as ``tile-3``; without one it has its owner's."""
    key: str = ""
    """The same piece has the same key at the next turn."""


class Card(Struct, omit_defaults=True):
    """A pile of equal cards, numbered by its position in ``Scene.cards``."""

    zone: str
    """Where it lies: ``supply``, ``hand``, ``discard``, …"""
    name: str
    """Empty if it lies face down."""
    count: int = 1
    """How many there are."""
    owner: int | None = None
    """The seat that owns it, if any."""
    text: str = ""
    """The text on it."""
    note: str = ""
    """Its rules."""
    corner: str = ""
    """The text in its corner, such as its cost."""
    kind: str = ""
    """Its kind, such as ``Treasure``. The kinds have the colours ``card-1``, ``card-2``, … in the
    order in which they first appear."""


class Zone(Struct, omit_defaults=True):
    """A place for cards; ``Scene.zones`` lists them in the order in which they are drawn."""

    name: str
    """As in ``Card.zone``."""
    title: str = ""
    """For a person."""
    owner: int | None = None
    """The seat that it belongs to, as in ``Card.owner``; nil if all share it."""
    show: str = "row"
    """How its cards lie: ``row``, ``grid`` (larger, with their rules), ``fan`` (a hand) or ``pile``
    (only counted, unless a card of it is marked or can be chosen)."""


class Mark(Struct, omit_defaults=True):
    """Cells and cards that stand out."""

    kind: str
    """``last`` (the last move), ``win`` (what won), ``danger``, …"""
    cells: list[int] = []
    """Numbers of cells."""
    cards: list[int] = []
    """Numbers of cards."""


class Choice(Struct, omit_defaults=True):
    """A legal action, and what a person points at, in that order, to choose it.

    One that points at nothing is a button.
    """

    action: Any
    """The action."""
    label: str
    """Its name."""
    cells: list[int] = []
    """To be pointed at, in this order."""
    cards: list[int] = []
    """To be pointed at, in this order, after the cells."""
    shows: list[int] = []
    """Cells that preview the result, such as where a piece will lie."""
    key: str = ""
    """A key of the keyboard for it, such as ``ArrowLeft``."""


class Scene(Struct, omit_defaults=True):
    """A position, as one seat or everybody may know it."""

    width: float = 0.0
    """Of the board, in squares."""
    height: float = 0.0
    """Of the board, in squares."""
    cells: list[Cell] = []
    """The board; later ones are drawn over earlier ones."""
    pieces: list[Piece] = []
    """The pieces and cards on it."""
    cards: list[Card] = []
    """The pieces and cards beside it."""
    choices: list[Choice] = []
    """One for each legal action of the seat to act, in their order; none for another seat. Watchers
    may get them in games of perfect information."""
    caption: str = ""
    """Facts that cannot be drawn: round, phase, supplies."""
    seats: list[Seated] = []
    """The seats, in order."""
    marks: list[Mark] = []
    """Highlighted cells and cards."""
    lines: list[list[float]] = []
    """Lines of the board: ``[x1, y1, x2, y2]`` each."""
    zones: list[Zone] = []
    """Where cards lie, in the order in which they are drawn; a zone that is missing comes last."""
    moved: str = ""
    """The last actions that led here, named as the choices were."""
    paths: Any = None
    """In place of ``choices``: an integer tensor [legal actions, parts] of the cells to be pointed
    at."""
    prompt: str = ""
    """A task in few words for the seat to act: ``Choose a column``."""
    reason: str = ""
    """Why the game ended as it did, in its own words: ``Four in a row, d1 to g1``. Empty before the
    end."""
    palette: dict[str, list[str]] = {}
    """Colours of the game by role: for each ``#rrggbb`` in the light and in the dark. Roles are
    ``board-frame``, ``board-light``, ``board-dark``, ``board-hole``, ``board-ink``, ``piece-1``
    (of seat 0) to ``piece-6``, ``tile-1`` to ``tile-11``, ``card-1`` to ``card-4``; other colours
    are the page's."""


ready(Scene)


def scene_of(value: Any) -> Scene:
    """Return a scene that came over the wire, or the scene itself in the same process.

    Raises:
        msgspec.ValidationError: it is not a scene.
    """
    return value if isinstance(value, Scene) else msgspec.convert(value, Scene)


def choices_of(scene: Scene, legal: Sequence[Any] | None) -> list[Choice]:
    """Return a scene's choices, built from ``paths`` if it has them.

    Args:
        scene: the scene.
        legal: the legal actions, in order; needed with ``paths``.

    Raises:
        ValueError: ``paths`` does not have one row of cells for each legal action.

    The label of a choice built from a path joins the names of its cells, as in ``a1-a4/c4``.

    >>> cells = [Cell(0, 0, name="a"), Cell(1, 0, name="b")]
    >>> board = Scene(2, 1, cells, paths=np.array([[1, 0, 1]]))
    >>> choices_of(board, [7])
    [Choice(action=7, label='b-a/b', cells=[1, 0, 1], cards=[], shows=[], key='')]
    """
    if scene.paths is None or legal is None:
        return scene.choices
    paths = np.asarray(scene.paths)
    if paths.ndim != 2 or len(paths) != len(legal) or (len(paths) and not paths.size):
        shape = list(paths.shape)
        raise ValueError(f"paths of shape {shape} for {len(legal)} legal actions")
    names = [cell.name or str(number) for number, cell in enumerate(scene.cells)]
    found = []
    for action, path in zip(legal, paths.tolist(), strict=True):
        label = "-".join(names[cell] for cell in path[:2])
        found.append(Choice(action, "/".join([label, *(names[cell] for cell in path[2:])]), path))
    return found
