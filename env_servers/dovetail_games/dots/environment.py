"""Dots and boxes as an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import Scene, Spec, Turn, View, sole_action
from dovetail.protocol.messages import Symmetry
from dovetail.protocol.scenes import Cell, Choice, Mark, Piece, Seated
from dovetail.protocol.spaces import Box
from dovetail_games.board_game import BoardGame
from dovetail_games.dots.rules import DotsBoard, Grid
from dovetail_games.squares import square_name


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of dots and boxes."""

    rows: Annotated[int, Meta(ge=2, le=20, description="rows of dots")] = 4
    columns: Annotated[int, Meta(ge=2, le=20, description="columns of dots")] = 4
    rewards: Annotated[
        Literal["win", "difference", "boxes"],
        Meta(
            description="win: 1, -1 or 0 at the end; difference: own boxes minus the opponent's, "
            "at the end; boxes: 1 for each box when it is completed, -1 for each of the "
            "opponent's"
        ),
    ] = "win"


class Dots(BoardGame[Configuration, DotsBoard]):
    """Dots and boxes: draw lines in turn; the fourth side of a box takes it and draws again; most
    boxes win.

    Observation: uint8, shape (lines + 2 boxes + 1,): flags for lines drawn, own boxes and the
    opponent's boxes, and whether the seat is to draw.  Actions: line numbers, see ``rules``.  The
    game has no chance.
    """

    name = "dots"
    arrays = "dovetail_games.dots.vector:DotsArrays"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._seen = self._blank()

    def first_position(self) -> DotsBoard:
        return DotsBoard(self.configuration.rows, self.configuration.columns)

    def _blank(self) -> NDArray[np.uint8]:
        size = self.board.grid.lines + 2 * self.board.grid.boxes + 1
        return np.zeros((2, size), np.uint8)

    def init(self) -> Spec:
        lines, boxes = self.board.grid.lines, self.board.grid.boxes
        kind = self.configuration.rewards
        most = {"win": 1.0, "difference": float(boxes), "boxes": min(2.0, float(boxes))}[kind]
        return self.spec(
            *(Box([lines + 2 * boxes + 1], 0, 1, "uint8"), lines, lines),
            symmetries(self.board.grid),
            most=most,
            # As if all boxes were lost, so that no lost position is worth giving up.
            forfeit=1.0 if kind == "win" else float(boxes),
        )

    def start(self, seed: int) -> Turn:
        self.board = self.first_position()
        self._seen = self._blank()
        return self._turn([0, 0])

    def step(self, actions: Mapping[int, Any]) -> Turn:
        board = self.board
        mover = board.mover
        line = sole_action(actions, mover, over=board.over)
        before = board.scores.copy()
        board.draw(line)
        self._note(self._seen, line, mover)
        return self._turn([now - then for now, then in zip(board.scores, before, strict=True)])

    def _note(self, seen: NDArray[np.uint8], line: int, mover: int) -> None:
        lines, boxes = self.board.grid.lines, self.board.grid.boxes
        seen[:, line] = 1
        for box, _ in self.board.grid.beside[line]:
            if self.board.owners[box] == mover:
                seen[mover, lines + box] = 1
                seen[1 - mover, lines + boxes + box] = 1

    def _turn(self, gained: list[int]) -> Turn:
        board = self.board
        rewards = [0.0, 0.0]
        kind = self.configuration.rewards
        if kind == "boxes":
            rewards = [float(gained[0] - gained[1]), float(gained[1] - gained[0])]
        if not board.over:
            mover = board.mover
            other = View(1 - mover, self.observation(1 - mover), None, rewards[1 - mover])
            return Turn.ask(
                mover,
                self.observation(mover),
                board.legal(),
                rewards[mover],
                others=[other] if other.reward else (),
            )
        lead = board.scores[0] - board.scores[1]
        sign = (lead > 0) - (lead < 0)
        if kind != "boxes":
            rewards[0] = float(sign if kind == "win" else lead)
            rewards[1] = -rewards[0] or 0.0
        winners = {1: [0], 0: [0, 1], -1: [1]}[sign]
        return Turn.end(map(self.observation, (0, 1)), rewards, winners=winners)

    def observation(self, seat: int) -> NDArray[np.uint8]:
        """Return a seat's observation: uint8, shape (lines + 2 boxes + 1,)."""
        seen: NDArray[np.uint8] = self._seen[seat].copy()
        seen[-1] = not self.board.over and self.board.mover == seat
        return seen

    def afterstates(self, seat: int) -> NDArray[np.uint8]:
        """Return the mover's observation after each legal line.

        uint8, shape (legal lines, lines + 2 boxes + 1).
        """
        board = self.board
        lines, drawn = board.grid.lines, board.drawn
        states = np.repeat(self._seen[seat][None], len(board.free), axis=0)
        for index, line in enumerate(board.free):
            row = states[index]
            row[line] = 1
            after = drawn | 1 << line
            for box, mask in board.grid.beside[line]:
                if after & mask == mask:
                    row[lines + box] = 1
                    row[-1] = len(board.free) > 1
        return states

    def place(self, seat: int, observation: Any) -> None:
        """Set up a position; see ``Environment``."""
        board = self.board = self.first_position()
        lines, boxes = board.grid.lines, board.grid.boxes
        seen = np.array(observation, np.uint8)
        seen[-1] = 0
        mine, theirs = seen[lines : lines + boxes], seen[lines + boxes : -1]
        other = np.concatenate([seen[:lines], theirs, mine, seen[-1:]])
        self._seen = np.stack([seen, other] if seat == 0 else [other, seen])
        board.drawn = sum(1 << line for line in np.flatnonzero(seen[:lines]).tolist())
        board.free = np.flatnonzero(seen[:lines] == 0).tolist()
        for owner, owned in ((seat, mine), (1 - seat, theirs)):
            for box in np.flatnonzero(owned).tolist():
                board.owners[box] = owner
            board.scores[owner] = int(owned.sum())
        board.mover = seat

    def text(self, seat: int | None = None) -> str:
        """Return the grid as text: boxes are marked A or B, and each free line has its number."""
        board = self.board
        rows, columns = board.grid.rows, board.grid.columns
        width = len(str(board.grid.lines - 1))
        number = [str(line).center(width) for line in range(board.grid.lines)]
        across = rows * (columns - 1)

        def horizontal(line: int) -> str:
            return "-" * (width + 2) if board.drawn >> line & 1 else f" {number[line]} "

        out = []
        for row in range(rows):
            first = row * (columns - 1)
            out.append("+" + "+".join(horizontal(first + c) for c in range(columns - 1)) + "+")
            if row == rows - 1:
                break
            below = across + row * columns
            line = ""
            for column in range(columns):
                edge = below + column
                line += "|" if board.drawn >> edge & 1 else ":"
                if column < columns - 1:
                    owner = board.owners[row * (columns - 1) + column]
                    line += ("" if owner < 0 else "AB"[owner]).center(width + 2)
            numbers = " ".join(
                number[below + c].strip()
                for c in range(columns)
                if not board.drawn >> (below + c) & 1
            )
            out.append(f"{line}   {numbers}".rstrip())
        out.append(f"A {board.scores[0]}, B {board.scores[1]}")
        return "\n".join(out)

    def describe(self, line: int) -> str:
        """Return a line by the dots that it joins: ``a1-b1``, ``b2-b3``."""
        (top, left), (bottom, right) = self.board.grid.ends(line)
        return f"{self._dot(bottom, left)}-{self._dot(top, right)}"

    def _dot(self, row: int, column: int) -> str:
        return square_name(column, self.board.grid.rows - 1 - row)

    def scene(self, seat: int | None = None) -> Scene:
        """Return boxes and lines as cells: boxes first, then lines by number."""
        board = self.board
        shape = board.grid
        cells = [
            Cell(float(box % (shape.columns - 1)), float(box // (shape.columns - 1)), kind="box")
            for box in range(shape.boxes)
        ]
        for line in range(shape.lines):
            (top, left), (bottom, right) = shape.ends(line)
            cells.append(
                Cell(
                    *(left - 0.05, top - 0.05, right - left + 0.1, bottom - top + 0.1, "edge"),
                    name=self.describe(line),
                )
            )
        cells += [
            Cell(*(column - 0.08, row - 0.08, 0.16, 0.16, "dot"), name=self._dot(row, column))
            for row in range(shape.rows)
            for column in range(shape.columns)
        ]
        pieces = [Piece(box, "box", owner) for box, owner in enumerate(board.owners) if owner >= 0]
        pieces += [
            Piece(shape.boxes + line, "line", None)
            for line in range(shape.lines)
            if board.drawn >> line & 1
        ]
        choices = []
        if not board.over and seat == board.mover:
            choices = [
                Choice(line, self.describe(line), [shape.boxes + line]) for line in board.free
            ]
        return Scene(
            float(shape.columns - 1),
            float(shape.rows - 1),
            cells,
            pieces,
            choices=choices,
            seats=[Seated("A", float(board.scores[0])), Seated("B", float(board.scores[1]))],
            marks=[] if board.last is None else [Mark("last", [shape.boxes + board.last])],
            moved="" if board.last is None else self.describe(board.last),
            prompt="" if board.over else "Draw a line; the fourth side takes the box",
            reason=f"{max(board.scores)} boxes to {min(board.scores)}" if board.over else "",
        )


def symmetries(shape: Grid) -> list[Symmetry]:
    """Return the rotations and reflections of a grid: seven if it is square, otherwise three."""
    rows, columns = shape.rows, shape.columns
    number = {frozenset(shape.ends(line)): line for line in range(shape.lines)}
    moves: list[Callable[[int, int], tuple[int, int]]] = [
        (lambda r, c: (r, columns - 1 - c)),
        (lambda r, c: (rows - 1 - r, c)),
        (lambda r, c: (rows - 1 - r, columns - 1 - c)),
    ]
    if rows == columns:
        moves += [
            (lambda r, c: (c, r)),
            (lambda r, c: (c, rows - 1 - r)),
            (lambda r, c: (rows - 1 - c, r)),
            (lambda r, c: (rows - 1 - c, rows - 1 - r)),
        ]
    of_box = {frozenset(sides): box for box, sides in enumerate(shape.sides)}
    found = []
    for move in moves:
        lines = [
            number[frozenset(move(*dot) for dot in shape.ends(line))] for line in range(shape.lines)
        ]
        boxes = [of_box[frozenset(lines[line] for line in sides)] for sides in shape.sides]
        # Element i of the symmetric observation is what moves there.
        observation = [0] * (shape.lines + 2 * shape.boxes + 1)
        for line, there in enumerate(lines):
            observation[there] = line
        for box, there in enumerate(boxes):
            observation[shape.lines + there] = shape.lines + box
            observation[shape.lines + shape.boxes + there] = shape.lines + shape.boxes + box
        observation[-1] = len(observation) - 1
        found.append(Symmetry(observation, lines))
    return found
