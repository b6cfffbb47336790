"""Go positions: OpenSpiel's action numbers and text, and GTP's vertices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dovetail.protocol.errors import DovetailError

COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""The letters of columns, without I."""
COLORS = ("B", "W")
"""The colours by seat."""
ROW = re.compile(r"^\s*\d+ ([+XO]+)\s*$", re.MULTILINE)
KOMI = re.compile(r"komi=(-?[\d.]+(?:e-?\d+)?)")


class Position:
    """A position from OpenSpiel's text.

    Raises:
        DovetailError: the text has no board.
    """

    def __init__(self, text: str) -> None:
        rows = ROW.findall(text)
        self.size = len(rows)
        if not rows or any(len(row) != self.size for row in rows):
            raise DovetailError(f"the game's text has no board of Go: {text[:80]!r}")
        komi = KOMI.search(text)
        self.komi = float(komi.group(1)) if komi else 7.5
        self.stones: tuple[frozenset[int], frozenset[int]] = (
            frozenset(self._points(rows, "X")),
            frozenset(self._points(rows, "O")),
        )
        """The points with stones, by seat."""

    def _points(self, rows: Sequence[str], stone: str) -> list[int]:
        """Return the points with a stone, numbered from the lowest row like actions."""
        return [
            row * self.size + column
            for row, line in enumerate(reversed(rows))
            for column, each in enumerate(line)
            if each == stone
        ]


def vertex(action: int, size: int) -> str:
    """Return the vertex of an action, such as ``D4`` or ``pass``."""
    if action == size * size:
        return "pass"
    row, column = divmod(action, size)
    return f"{COLUMNS[column]}{row + 1}"


def action(vertex: str, size: int) -> int:
    """Return the action of a vertex.

    Raises:
        DovetailError: it is not on the board.
    """
    text = vertex.strip().upper()
    if text == "PASS":
        return size * size
    found = re.fullmatch(r"([A-HJ-Z])(\d{1,2})", text)
    if found is not None:
        column, row = COLUMNS.index(found[1]), int(found[2]) - 1
        if column < size and 0 <= row < size:
            return row * size + column
    raise DovetailError(f"{vertex!r} is not a vertex of a board of {size}x{size}")


def handicap(stones: int, size: int) -> list[str]:
    """Return the vertices of a fixed handicap (GTP 2, section 4.1.1); empty if there is none.

    >>> handicap(2, 9), handicap(5, 8), handicap(9, 7)
    (['C3', 'G7'], [], [])
    """
    most = 0 if size < 7 else 4 if size == 7 or size % 2 == 0 else 9
    if not 2 <= stones <= most:
        return []
    low = 3 if size > 12 else 2
    middle, high = size // 2, size - 1 - low
    corners = [(low, low), (high, high), (low, high), (high, low)]
    sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
    points = (corners + sides)[: stones - stones % 2 if stones > 4 else stones]
    if stones > 4 and stones % 2:
        points.append((middle, middle))
    return [vertex(row * size + column, size) for column, row in points]


def free_handicap(stones: int, size: int) -> list[str]:
    """Return the vertices of the largest fixed handicap of at most ``stones``, or corners of a
    board that has none; empty where these do not fit.

    >>> len(free_handicap(30, 19)), len(free_handicap(7, 10)), free_handicap(3, 5)
    (9, 4, ['B2', 'D4', 'B4'])
    """
    if not 2 <= stones < size * size:
        return []
    if size >= 7:
        return next(filter(None, (handicap(each, size) for each in range(min(stones, 9), 1, -1))))
    low = 0 if size < 4 else 1
    high = size - 1 - low
    corners = [(low, low), (high, high), (low, high), (high, low)]
    return [vertex(row * size + column, size) for column, row in corners[:stones]]


def neighbours(point: int, size: int) -> list[int]:
    """Return the adjacent points."""
    row, column = divmod(point, size)
    found = []
    for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        if 0 <= row + down < size and 0 <= column + right < size:
            found.append((row + down) * size + column + right)
    return found


def played(
    stones: tuple[frozenset[int], frozenset[int]], seat: int, action: int, size: int
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the stones after a move of ``seat``, without captured ones."""
    if action == size * size:
        return stones
    mine, theirs = set(stones[seat]) | {action}, set(stones[1 - seat])
    for each in neighbours(action, size):
        if each in theirs:
            group, free = _group(each, theirs, mine, size)
            if not free:
                theirs -= group
    group, free = _group(action, mine, theirs, size)
    if not free:
        mine -= group
    return (
        (frozenset(mine), frozenset(theirs)) if seat == 0 else (frozenset(theirs), frozenset(mine))
    )


def _group(point: int, own: set[int], others: set[int], size: int) -> tuple[set[int], bool]:
    """Return the chain of a stone, and whether it has a liberty."""
    group, open_, free = {point}, [point], False
    while open_:
        for each in neighbours(open_.pop(), size):
            if each in own:
                if each not in group:
                    group.add(each)
                    open_.append(each)
            elif each not in others:
                free = True
    return group, free


def score(position: Position, komi: float) -> float:
    """Return Black's lead in area scoring, with every stone alive: stones, and empty points next to
    only one colour."""
    size = position.size
    black, white = position.stones
    lead = float(len(black) - len(white))
    open_ = set(range(size * size)) - black - white
    while open_:
        region, edge, border = set(), [open_.pop()], [False, False]
        while edge:
            point = edge.pop()
            region.add(point)
            for each in neighbours(point, size):
                if each in black:
                    border[0] = True
                elif each in white:
                    border[1] = True
                elif each in open_:
                    open_.discard(each)
                    edge.append(each)
        if border[0] != border[1]:
            lead += len(region) if border[0] else -len(region)
    return lead - komi
