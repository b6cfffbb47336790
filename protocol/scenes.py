"""Scenes: a position described so that one program can draw every game and let a person play it.

Lengths are in squares; x grows to the right and y downwards from the upper left corner.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct


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
    """What it looks like: ``square``, ``dark``, ``base``, ``edge``, ``box``, ``hole``, …"""


class Piece(Struct, omit_defaults=True):
    """Something that lies on a cell."""

    cell: int
    """Where it lies."""
    kind: str
    """What it is: ``disc``, ``pawn``, ``tile``, …"""
    owner: int | None = None
    """The seat that owns it, if any."""
    text: str = ""
    """What is written on it."""


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
    """What is written on it."""


class Choice(Struct, omit_defaults=True):
    """A legal action, and what a person points at, in that order, to choose it."""

    action: Any
    """The action."""
    label: str
    """What it is called."""
    cells: list[int] = []
    """To be pointed at, in this order."""
    cards: list[int] = []
    """To be pointed at, in this order, after the cells."""


class Scene(Struct, omit_defaults=True):
    """A position, as one seat or everybody may know it."""

    width: float = 0.0
    """Of the board, in squares."""
    height: float = 0.0
    """Of the board, in squares."""
    cells: list[Cell] = []
    """The board; later ones are drawn over earlier ones."""
    pieces: list[Piece] = []
    """What lies on it."""
    cards: list[Card] = []
    """What lies beside it."""
    choices: list[Choice] = []
    """One for each legal action of the seat to act, in their order; none for who may not act."""
    caption: str = ""
    """What cannot be drawn: score, round, whose turn."""
