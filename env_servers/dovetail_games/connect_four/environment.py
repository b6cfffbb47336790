"""Connect Four as an environment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import DovetailError, Scene, Spec, Turn, sole_action
from dovetail.protocol.messages import Symmetry
from dovetail.protocol.scenes import Cell, Choice, Mark, Piece, Seated
from dovetail.protocol.spaces import Box
from dovetail_games.board_game import BoardGame
from dovetail_games.connect_four.rules import ConnectFourBoard
from dovetail_games.squares import column_name, square_name

PALETTE = {
    "board-frame": ["#1e5ba6", "#234f86"],
    "board-hole": ["#123a63", "#0d1e33"],
    "piece-1": ["#d63a2b", "#d23f2c"],
    "piece-2": ["#f7cf45", "#f4cd4c"],
}
NUMBERS = {2: "Two", 3: "Three", 4: "Four", 5: "Five", 6: "Six"}


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of Connect Four."""

    rows: Annotated[int, Meta(ge=1, le=20, description="height of the board in squares")] = 6
    columns: Annotated[int, Meta(ge=1, le=20, description="width of the board in squares")] = 7
    connect: Annotated[int, Meta(ge=2, le=20, description="discs in a row that win")] = 4


class ConnectFour(BoardGame[Configuration, ConnectFourBoard]):
    """Connect Four: drop discs in turn; four in a row win.

    Observation: uint8, shape (2, rows, columns), row 0 at the bottom; plane 0 has the seat's own
    discs, plane 1 the opponent's.  Actions: column numbers.  Rewards: 1 for the winner and -1 for
    the loser at the end, 0 otherwise and for a draw.  The game has no chance.
    """

    name = "connect_four"
    arrays = "dovetail_games.connect_four.vector:ConnectFourArrays"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._planes: NDArray[np.uint8] = self._empty()

    def first_position(self) -> ConnectFourBoard:
        options = self.configuration
        if options.connect > max(options.rows, options.columns):
            raise DovetailError(
                f"environment connect_four, option 'connect': {options.connect} in a row do not "
                f"fit on {options.rows} rows and {options.columns} columns; "
                f"at most {max(options.rows, options.columns)} do"
            )
        return ConnectFourBoard(options.rows, options.columns, options.connect)

    def _empty(self) -> NDArray[np.uint8]:
        return np.zeros((2, self.board.rows, self.board.columns), np.uint8)

    def init(self) -> Spec:
        rows, columns = self.board.rows, self.board.columns
        seen = Box([2, rows, columns], 0, 1, "uint8")
        return self.spec(seen, columns, rows * columns, [self._mirrored()])

    def _mirrored(self) -> Symmetry:
        rows, columns = self.board.rows, self.board.columns
        across = list(reversed(range(columns)))
        return Symmetry([row * columns + c for row in range(2 * rows) for c in across], across)

    def start(self, seed: int) -> Turn:
        self.board = self.first_position()
        self._planes = self._empty()
        return self.ask()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        board = self.board
        mover = board.mover
        column = sole_action(actions, mover, over=board.over)
        board.drop(column)
        self._planes[mover, board.heights[column] - 1, column] = 1
        return self.end(board.winner) if board.over else self.ask()

    def observation(self, seat: int) -> NDArray[np.uint8]:
        """Return a seat's observation: uint8, shape (2, rows, columns), own discs first."""
        return self._planes.copy() if seat == 0 else self._planes[::-1].copy()

    def afterstates(self, seat: int) -> NDArray[np.uint8]:
        """Return the mover's observation after each legal move.

        uint8, shape (legal moves, 2, rows, columns), own discs first.
        """
        board = self.board
        legal = board.legal()
        states = np.repeat(self.observation(seat)[None], len(legal), axis=0)
        for index, column in enumerate(legal):
            states[index, 0, board.heights[column], column] = 1
        return states

    def place(self, seat: int, observation: Any) -> None:
        """Set up a position; see ``Environment``."""
        self._planes = np.array(observation if seat == 0 else observation[::-1], np.uint8)
        self.board = ConnectFourBoard.of(self._planes, self.board.connect)

    def text(self, seat: int | None = None) -> str:
        """Return the board as text: X began, O is second, the last disc is in lower case."""
        board = self.board
        grid = [
            [
                "X" if began else "O" if answered else "."
                for began, answered in zip(*row, strict=True)
            ]
            for row in zip(*self._planes.tolist(), strict=True)
        ]
        if board.last is not None:
            row = board.heights[board.last] - 1
            grid[row][board.last] = grid[row][board.last].lower()
        width = len(str(board.columns - 1))
        lines = [" ".join(mark.rjust(width) for mark in line) for line in reversed(grid)]
        lines.append(" ".join(str(column).rjust(width) for column in range(board.columns)))
        return "\n".join(lines)

    def scene(self, seat: int | None = None) -> Scene:
        """Return the squares row by row from the top, then the columns; any square selects its
        column."""
        board = self.board
        rows, columns = board.rows, board.columns
        cells, names = _board(rows, columns)

        def number(row: int, column: int) -> int:
            return (rows - 1 - row) * columns + column

        pieces = [
            Piece(number(row, column), "disc", player)
            for player, plane in enumerate(self._planes.tolist())
            for row, line in enumerate(plane)
            for column, disc in enumerate(line)
            if disc
        ]
        choices = []
        if not board.over and seat == board.mover:
            choices = [
                Choice(
                    *(column, names[column], [rows * columns + column]),
                    shows=[number(board.heights[column], column)],
                    key=column_name(column),
                )
                for column in board.legal()
            ]
        marks, reason = [], "The board is full" if board.over else ""
        if board.last is not None:
            marks.append(Mark("last", [number(board.heights[board.last] - 1, board.last)]))
        if board.winner is not None:
            won = self._won()
            ends = [square_name(column, row) for row, column in (won[0], won[board.connect - 1])]
            count = NUMBERS.get(board.connect, str(board.connect))
            reason = f"{count} in a row, {' to '.join(ends)}"
            marks.append(Mark("win", [number(*square) for square in won]))
        return Scene(
            *(float(columns), float(rows), [*cells], pieces),
            choices=choices,
            seats=[Seated("Red"), Seated("Yellow")],
            marks=marks,
            moved="" if board.last is None else names[board.last],
            prompt="" if board.over else "Choose a column",
            reason=reason,
            palette=PALETTE,
        )

    def _won(self) -> list[tuple[int, int]]:
        """Return the squares, as (row from the bottom, column), of every winning row."""
        board = self.board
        own = {(int(r), int(c)) for r, c in np.argwhere(self._planes[board.winner])}
        found: dict[tuple[int, int], None] = {}
        for row, column in sorted(own):
            for up, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + up * step, column + right * step) for step in range(board.connect)]
                if own.issuperset(line):
                    found.update(dict.fromkeys(line))
        return list(found)


@lru_cache(16)
def _board(rows: int, columns: int) -> tuple[list[Cell], list[str]]:
    """Return the cells shared by all scenes of a board size, and the columns' names."""
    names = [f"column {column_name(column)}" for column in range(columns)]
    cells = [
        Cell(float(column), float(row), kind="hole", name=square_name(column, rows - 1 - row))
        for row in range(rows)
        for column in range(columns)
    ]
    areas = [
        Cell(float(column), 0.0, 1.0, float(rows), "area", name)
        for column, name in enumerate(names)
    ]
    return cells + areas, names
