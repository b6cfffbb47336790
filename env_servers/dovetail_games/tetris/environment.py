"""Tetris as an environment."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import DovetailError, Scene, Spec, Turn, sole_action
from dovetail.protocol.outside import LimitedNatural
from dovetail.protocol.scenes import Cell, Choice, Piece, Seated
from dovetail.protocol.spaces import Box, Dict, Discrete
from dovetail_games.board_game import ArrayGame
from dovetail_games.squares import column_name, square_name
from dovetail_games.tetris import kernels, painting
from dovetail_games.tetris.pieces import PIECES, SHAPES
from dovetail_games.tetris.rules import TetrisBoard

COLOURS = ("#e8692a", "#2fb58c", "#e69f00", "#6f9be0", "#cc79a7", "#f0e442", "#56b4e9")
"""Colours of the pieces, in the order of ``PIECES``."""
PALETTE = {
    "board-frame": ["#3b4148", "#3b4148"],
    "board-hole": ["#1a1e22", "#101316"],
    **{f"tile-{number}": [colour, colour] for number, colour in enumerate(COLOURS, 1)},
}


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of Tetris."""

    height: Annotated[int, Meta(ge=4, le=40, description="rows of the board")] = 20
    width: Annotated[int, Meta(ge=4, le=30, description="columns of the board")] = 10
    pieces: Annotated[
        str,
        Meta(
            pattern="^[ZSLJTOI]+$",
            description="pieces, drawn with equal probability; SZ is SZ-Tetris",
        ),
    ] = PIECES
    max_pieces: Annotated[
        LimitedNatural, Meta(description="pieces after which a game is truncated; 0: never")
    ] = 0
    afterstates: Annotated[
        Literal["after", "boards"],
        Meta(
            description="afterstate of each placement: the board after full rows are "
            "cleared; or three boards: the piece's cells, the board with it, and the board after"
        ),
    ] = "after"


class Tetris(ArrayGame[Configuration]):
    """Tetris: choose a rotation and a column for each piece; full rows are cleared.

    Observation: a map of ``board``, uint8, shape (height, width), row 0 at the top, and ``piece``,
    its number in ZSLJTOI. Actions: ``rotation * width + column``. Reward: the number of rows
    cleared. Chance: the pieces.
    """

    name = "tetris"
    seat_counts = (1,)
    arrays = "dovetail_games.tetris.vector:TetrisArrays"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        pieces = self.configuration.pieces
        if len(set(pieces)) != len(pieces):
            raise DovetailError(
                f"environment tetris, option 'pieces': {pieces!r} names a piece twice; "
                f"each of {PIECES} may be named once"
            )
        self.board = self._new(0)
        self._cleared: NDArray[np.uint8] = self.board.cells()
        self._moved: tuple[int, int] | None = None
        """Last piece, and the action that placed it."""
        self._kinds: painting.Painted = np.zeros_like(self._cleared)
        """Squares of the last scene."""
        self._shown = 0
        """Number of pieces placed before the last scene."""

    def _new(self, seed: int) -> TetrisBoard:
        options = self.configuration
        return TetrisBoard(options.height, options.width, options.pieces, random.Random(seed))

    def init(self) -> Spec:
        options = self.configuration
        board = Box([options.height, options.width], 0, 1, "uint8")
        return Spec(
            name=self.name,
            seats=1,
            observation_spaces=[Dict({"board": board, "piece": Discrete(len(PIECES))})],
            action_spaces=[Discrete(4 * options.width)],
            reward_range=(0.0, 4.0),
            perfect_information=True,
            chance=True,
            afterstates=True,
            max_turns=options.max_pieces or None,
        )

    def start(self, seed: int) -> Turn:
        self.board = self._new(seed)
        self._cleared = self.board.cells()
        self._moved = None
        self._kinds, self._shown = np.zeros_like(self._cleared), 0
        return self._turn(0.0)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        board = self.board
        action = sole_action(actions, 0, over=board.over or self._cut)
        cleared = board.place(action)
        self._moved = board.piece, action
        self._cleared = board.cells()
        board.piece = board.draw()
        return self._turn(float(cleared))

    @property
    def _cut(self) -> bool:
        most: int = self.configuration.max_pieces
        return 0 < most <= self.board.placed

    def _turn(self, reward: float) -> Turn:
        board = self.board
        if board.over or self._cut:
            return Turn.end([self.observation(0)], [reward], truncated=not board.over)
        return Turn.ask(0, self.observation(0), board.legal(), reward)

    def observation(self, seat: int) -> dict[str, Any]:
        """Return the seat's observation; see the class."""
        return {"board": self._cleared.copy(), "piece": self.board.piece}

    def after(self, seat: int) -> NDArray[np.uint8]:
        """Return the board after the last placement."""
        return self._cleared.copy()

    def afterstates(self, seat: int) -> NDArray[np.uint8]:
        """Return the boards after each placement.

        uint8, shape (placements, height, width), or (placements, 3, height, width): the piece's
        cells, the board with it, and the board after full rows are cleared.
        """
        board, options = self.board, self.configuration
        out: NDArray[np.uint8] = np.empty((4 * board.width, 3, board.height, board.width), np.uint8)
        count = kernels.boards_after_all(board.wall, board.piece, board.height, board.width, out)
        return out[:count] if options.afterstates == "boards" else out[:count, 2].copy()

    def fork(self, seat: int, seed: int) -> Self:
        """Return a copy whose future pieces are drawn from ``seed``."""
        other = super().fork(seat, seed)
        other.board.rng = random.Random(seed)
        return other

    def text(self, seat: int | None = None) -> str:
        """Return as text the board and the piece in each rotation, with its first placement."""
        board = self.board
        lines = ["|" + "".join(".X"[cell] for cell in row) + "|" for row in board.cells()]
        lines.append("+" + "".join(str(c % 10) for c in range(board.width)) + "+")
        name = PIECES[board.piece]
        lines.append(f"{board.lines} lines, {board.placed} pieces; next {name}")
        shapes = SHAPES[name]
        for level in reversed(range(max(shape.height for shape in shapes))):
            line = ""
            for rotation, shape in enumerate(shapes):
                row = shape.rows[level] if level < shape.height else 0
                drawn = "".join(" X"[row >> c & 1] for c in range(shape.width))
                label = f"{rotation * board.width}+" if level == 0 else ""
                line += f"{label:>6}{drawn:<4}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def scene(self, seat: int | None = None) -> Scene:
        """Return the scene: the board, top row first, below a margin row; beside it, each rotation
        of the piece with its columns.

        The first click selects the rotation, the second the column. A choice shows the piece's
        final position.
        """
        board = self.board
        height, width = board.height, board.width
        over = board.over or self._cut
        shapes = SHAPES[PIECES[board.piece]]
        cells = [
            Cell(float(c), float(r), kind="well", name=square_name(c, height - 1 - r))
            for r in range(height)
            for c in range(width)
        ]
        kinds = self._coloured().ravel()
        pieces = [
            Piece(int(n), "block", text=_letter(kinds[n]), colour=_colour(kinds[n]))
            for n in np.flatnonzero(self._cleared)
        ]
        columns = [len(cells) + c for c in range(width)]
        cells += [
            Cell(float(c), 0.0, 1.0, float(height), "area", f"column {column_name(c)}")
            for c in range(width)
        ]
        turned: list[int] = []
        # As many below each other as the board is high, so that every piece has the same picture.
        stacked = (height + 1) // 5
        most = max(len(SHAPES[each]) for each in self.configuration.pieces)
        beside = -(-most // stacked)
        for rotation, shape in enumerate([] if over else shapes):
            top, left = 5.0 * (rotation % stacked), width + 1.0 + 5.0 * (rotation // stacked)
            turned.append(len(cells))
            cells.append(Cell(left, top, 4.0, 4.0, "area", f"rotation {rotation + 1}"))
            for row in range(shape.height):
                for column in range(shape.width):
                    if shape.rows[row] >> column & 1:
                        kind = board.piece + 1
                        pieces.append(
                            Piece(len(cells), "next", text=_letter(kind), colour=_colour(kind))
                        )
                        where = left + column, top + shape.height - 1 - row
                        cells.append(Cell(*where, kind="off"))
        choices = []
        if not over and seat == 0:
            for action in board.legal():
                rotation, column = divmod(action, width)
                label = self._describe(board.piece, action)
                at = [turned[rotation], columns[column]]
                choices.append(Choice(action, label, at, shows=self._landing(rotation, column)))
        lines = f"{board.lines} line{'s' * (board.lines != 1)}"
        return Scene(
            *(width + 5.0 * beside, float(height), cells, pieces, [], choices),
            seats=[Seated("Player", float(board.lines), f"{board.placed} placed")],
            moved="" if self._moved is None else self._describe(*self._moved),
            prompt="" if over else "Choose a rotation, then a column",
            reason=f"{lines}; the wall is too high" if board.over else "",
            palette=PALETTE,
        )

    def _coloured(self) -> painting.Painted:
        """Return the kinds of the filled squares.

        Pieces placed since the last scene are unknown, except the last one.
        """
        placed = self.board.placed
        if self._moved is not None and self._shown == placed - 1:
            piece, action = self._moved
            turned = divmod(action, self.board.width)
            self._kinds = painting.after(self._kinds, piece, *turned)
        elif self._shown != placed:
            self._kinds = self._cleared * np.uint8(painting.UNKNOWN)
        self._shown = placed
        return self._kinds

    def _describe(self, piece: int, action: int) -> str:
        rotation, column = divmod(action, self.board.width)
        return f"{PIECES[piece]}, rotation {rotation + 1}, column {column_name(column)}"

    def _landing(self, rotation: int, column: int) -> list[int]:
        """Return the squares where the piece comes to rest, row by row from the top."""
        board = self.board
        shape = SHAPES[PIECES[board.piece]][rotation]
        rows = [row << column for row in shape.rows[: shape.height]]
        wall = [*board.wall.tolist(), *[0] * 4]
        base = len(wall) - 4
        while base > 0 and not any(wall[base - 1 + n] & row for n, row in enumerate(rows)):
            base -= 1
        return [
            (board.height - 1 - base - n) * board.width + c
            for n, row in enumerate(rows)
            if base + n < board.height
            for c in range(board.width)
            if row >> c & 1
        ]


def _letter(kind: int) -> str:
    return PIECES[kind - 1] if kind <= len(PIECES) else ""


def _colour(kind: int) -> str:
    return f"tile-{kind}" if kind <= len(PIECES) else ""
