"""Scenes: a position described so that one program can draw every game and let a person play it.

Lengths are in squares; x grows to the right and y downwards from the upper left corner.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Cell(Struct, omit_defaults=True):
    """A place on the board, numbered by its position in ``Scene.cells``."""

    x: float
    y: float
    width: float = 1.0
    height: float = 1.0
    kind: str = "square"
    """What it looks like: ``square``, ``dark``, ``base``, ``edge``, ``box``, ``hole``, …"""


class Piece(Struct, omit_defaults=True):
    """Something that lies on a cell."""

    cell: int
    kind: str
    owner: int | None = None
    """A seat, or nobody."""
    text: str = ""


class Card(Struct, omit_defaults=True):
    """A pile of equal cards, numbered by its position in ``Scene.cards``."""

    zone: str
    """Where it lies: ``supply``, ``hand``, ``discard``, …"""
    name: str
    """Empty if it lies face down."""
    count: int = 1
    owner: int | None = None
    text: str = ""


class Choice(Struct, omit_defaults=True):
    """A legal action, and what a person points at, in that order, to choose it."""

    action: Any
    label: str
    cells: list[int] = []
    cards: list[int] = []


class Scene(Struct, omit_defaults=True):
    """A position, as one seat or everybody may know it."""

    width: float = 0.0
    height: float = 0.0
    cells: list[Cell] = []
    pieces: list[Piece] = []
    cards: list[Card] = []
    choices: list[Choice] = []
    """One for each legal action of the seat to act, in their order; none for who may not act."""
    caption: str = ""
    """What cannot be drawn: score, round, whose turn."""
