"""Amazons as an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import DovetailError, Scene, Spec, Turn, sole_action
from dovetail.protocol.messages import Symmetry
from dovetail.protocol.scenes import MOST_CHOICES, Cell, Choice, Mark, Piece, Seated
from dovetail.protocol.spaces import Box
from dovetail_games.amazons import kernels
from dovetail_games.amazons.rules import AmazonsBoard, start_position
from dovetail_games.board_game import BoardGame
from dovetail_games.squares import square_name

LONGEST = 20
"""Maximum rows and columns of a position, the same as for the options."""
ACTIONS_TOLD = 10_000
"""Maximum actions for which symmetries are declared; larger tables would dwarf the game."""


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of Amazons."""

    rows: Annotated[int, Meta(ge=4, le=20, description="height of the board in squares")] = 10
    columns: Annotated[int, Meta(ge=4, le=20, description="width of the board in squares")] = 10
    first: Annotated[int, Meta(ge=0, le=1, description="the seat that begins")] = 0
    action: Annotated[
        Literal["move", "steps"],
        Meta(description="move: queen move and arrow are one action; steps: two decisions"),
    ] = "move"
    position: Annotated[
        str,
        Meta(
            description="initial position: rows from the top divided by '/', of 'a' and 'b' "
            "(amazons), 'x' (arrows) and '.'; its size is the board's"
        ),
    ] = ""


class Amazons(BoardGame[Configuration, AmazonsBoard]):
    """Amazons: move queens that shoot arrows; the side that cannot move loses.

    Observation: uint8, shape (3, rows, columns): the seat's own amazons, the opponent's, arrows;
    with ``action = "steps"`` a fourth plane has the amazon that must shoot. Actions: see ``rules``.
    Rewards: 1 for the winner and -1 for the loser at the end. The game has no chance.
    """

    name = "amazons"
    arrays = "dovetail_games.amazons.vector:AmazonsArrays"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._number()
        rows, columns = self.board.rows, self.board.columns
        if max(rows, columns) > LONGEST:
            raise DovetailError(
                f"environment amazons, option 'position': {rows} rows and {columns} columns; "
                f"at most {LONGEST} of each"
            )
        if self.board.over:
            raise DovetailError(
                "environment amazons, option 'position': the seat that begins cannot move"
            )

    def _number(self) -> None:
        """Number the queens, so that scenes can identify them."""
        queens = np.flatnonzero(np.isin(self.board.squares, (1, 2))).tolist()
        self._queens = {square: number for number, square in enumerate(queens)}

    def first_position(self) -> AmazonsBoard:
        options = self.configuration
        position = options.position or start_position(options.rows, options.columns)
        return AmazonsBoard(position, options.first, options.action == "steps")

    def init(self) -> Spec:
        board = self.board
        rows, columns = board.rows, board.columns
        size = rows * columns
        free = int((self.first_position().squares == 0).sum())
        seen = Box([3 + board.steps, rows, columns], 0, 1, "uint8")
        actions, turns = (size * size + size, 2 * free) if board.steps else (size**3, free)
        return self.spec(seen, actions, turns, [self._mirrored()])

    def _mirrored(self) -> Symmetry:
        board = self.board
        size = board.rows * board.columns
        across = np.arange(size).reshape(board.rows, board.columns)[:, ::-1].ravel()
        planes = 3 + board.steps
        seen = (np.arange(planes)[:, None] * size + across).ravel()
        actions: NDArray[Any] = np.empty(0, np.int64)
        moves = across[:, None] * size + across
        if board.steps:
            actions = np.concatenate([moves.ravel(), size * size + across])
        elif size**3 <= ACTIONS_TOLD:
            actions = (moves[:, :, None] * size + across).ravel()
        told = actions.tolist() if actions.size <= ACTIONS_TOLD else []
        return Symmetry(seen.tolist(), told)

    def start(self, seed: int) -> Turn:
        self.board = self.first_position()
        self._number()
        return self.ask()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        board = self.board
        mover = board.mover
        action = sole_action(actions, mover, over=board.over)
        board.play(action)
        if not board.steps or board.shooter is not None:
            source, target = board.last[:2]
            self._queens[target] = self._queens.pop(source)
        return self.end(board.winner) if board.over else self.ask()

    def observation(self, seat: int) -> NDArray[np.uint8]:
        """Return a seat's observation: uint8, shape (3 or 4, rows, columns)."""
        board = self.board
        found: NDArray[np.uint8] = np.empty((3 + board.steps, len(board.squares)), np.uint8)
        shooter = -1 if board.shooter is None else board.shooter
        kernels.look(board.squares, seat, shooter, found)
        return found.reshape(-1, board.rows, board.columns)

    def afterstates(self, seat: int) -> NDArray[np.uint8]:
        """Return the mover's observation after each legal action.

        uint8, shape (actions, 3 or 4, rows, columns).
        """
        board = self.board
        found = board.moves()
        shape = len(found), 3 + board.steps, len(board.squares)
        out: NDArray[np.uint8] = np.empty(shape, np.uint8)
        kernels.after_actions(board.squares, found, seat, board.steps, out)
        return out.reshape(len(found), -1, board.rows, board.columns)

    def place(self, seat: int, observation: Any) -> None:
        """Set up a position; see ``Environment``."""
        board = self.board = self.first_position()
        planes = np.asarray(observation).reshape(3 + board.steps, -1)
        board.squares[:] = 0
        for plane, mark in ((0, seat + 1), (1, 2 - seat), (2, kernels.ARROW)):
            board.squares[planes[plane] != 0] = mark
        self._number()
        board.mover, board.winner = seat, None
        shooters = np.flatnonzero(planes[3]).tolist() if board.steps else []
        board.shooter = shooters[0] if shooters else None

    def text(self, seat: int | None = None) -> str:
        """Return the board as text: A and B are amazons, x arrows; the last arrow is X."""
        board = self.board
        columns = board.columns
        marks = [".ABx"[square] for square in board.squares]
        if len(board.last) == 3:
            marks[board.last[2]] = "X"
        lines = [
            f"{row + 1:2} " + " ".join(mark.rjust(2) for mark in marks[row * columns :][:columns])
            for row in range(board.rows)
        ]
        lines.append("   " + " ".join(square_name(c, 0)[:-1].rjust(2) for c in range(columns)))
        if board.over:
            lines.append(f"{'AB'[board.winner or 0]} has won")
        else:
            what = "move"
            if board.shooter is not None:
                what = f"shoot from {self._square(board.shooter)}"
            lines.append(f"{'AB'[board.mover]} to {what}")
        return "\n".join(lines)

    def _square(self, square: int) -> str:
        return square_name(square % self.board.columns, square // self.board.columns)

    def describe(self, action: int) -> str:
        """Return an action in the usual notation: ``a1-a4/c4``."""
        board = self.board
        size = len(board.squares)
        if board.shooter is not None:
            return f"/{self._square(action - size * size)}"
        move, arrow = (action, None) if board.steps else divmod(action, size)
        return self._line((move // size, move % size, *([] if arrow is None else [arrow])))

    def _line(self, squares: Sequence[int]) -> str:
        """Return a queen's move, and her shot if there is one, in the usual notation."""
        names = [self._square(square) for square in squares]
        return "/".join(["-".join(names[:2]), *names[2:]])

    def scene(self, seat: int | None = None) -> Scene:
        """Return the squares row by row from row 1, which is drawn lowest.

        If there are many choices, only their paths are included.
        """
        board = self.board
        size = len(board.squares)
        cells = [
            Cell(
                *(float(c), float(board.rows - 1 - r)),
                kind="square" if (r + c) % 2 else "dark",
                name=square_name(c, r),
            )
            for r in range(board.rows)
            for c in range(board.columns)
        ]
        pieces = [
            Piece(number, "arrow")
            if mark == kernels.ARROW
            else Piece(number, "queen", mark - 1, key=str(self._queens[number]))
            for number, mark in enumerate(board.squares.tolist())
            if mark
        ]
        choices: list[Choice] = []
        paths = None
        legal = board.legal() if not board.over and seat == board.mover else []
        if len(legal) > MOST_CHOICES and not board.steps:
            numbers = np.array(legal)
            ends_of = (numbers // (size * size), numbers // size % size, numbers % size)
            paths = np.stack(ends_of, axis=1).astype(np.int16)
        else:
            for action in legal:
                if board.shooter is not None:
                    ends = [action - size * size]
                else:
                    move, arrow = (action, -1) if board.steps else divmod(action, size)
                    ends = [move // size, move % size, *([arrow] if arrow >= 0 else [])]
                choices.append(Choice(action, self.describe(action), ends))
        last = [*board.last]
        if board.shooter is not None and board.shooter not in last:
            last.append(board.shooter)
        return Scene(
            *(float(board.columns), float(board.rows), cells, pieces),
            choices=choices,
            seats=[Seated("White"), Seated("Black")],
            marks=[Mark("last", last)] if last else [],
            paths=paths,
            moved=self._line(board.last),
            prompt=""
            if board.over
            else "Shoot an arrow"
            if board.shooter is not None
            else "Choose a queen; then choose where it moves"
            if board.steps
            else "Choose a queen; then choose where it moves; then shoot its arrow",
            reason=""
            if board.winner is None
            else f"{('Black', 'White')[board.winner]} has no move left",
        )
