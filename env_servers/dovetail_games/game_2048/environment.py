"""2048 as an environment."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import DovetailError, Scene, Spec, Turn, sole_action
from dovetail.protocol.messages import Symmetry
from dovetail.protocol.scenes import Cell, Choice, Mark, Piece, Seated
from dovetail.protocol.spaces import Box, Discrete
from dovetail_games.board_game import ArrayGame
from dovetail_games.game_2048.rules import MOVES, Board2048, Rows, origins

TILES = (
    *("#f5eee1", "#eedfc0", "#f1c68c", "#eeaa62", "#e58a45", "#b5481d", "#943414", "#762810"),
    *("#5a1f0e", "#44180b", "#17684a"),
)
PALETTE = {
    "board-frame": ["#d9d0c0", "#2b2722"],
    "board-light": ["#c9bfad", "#3a352e"],
    **{f"tile-{number}": [colour, colour] for number, colour in enumerate(TILES, 1)},
}


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of 2048."""

    rows: Annotated[int, Meta(ge=1, le=10, description="squares from top to bottom")] = 4
    columns: Annotated[int, Meta(ge=1, le=10, description="squares from left to right")] = 4
    four: Annotated[
        float, Meta(ge=0, le=1, description="probability that a new tile is a 4, not a 2")
    ] = 0.1
    tiles: Annotated[int, Meta(ge=1, le=100, description="tiles at the start")] = 2
    encoding: Annotated[
        Literal["exponents", "planes"],
        Meta(description="exponents of the tiles, or a plane of flags for each exponent"),
    ] = "exponents"


class Game2048(ArrayGame[Configuration]):
    """2048: slide tiles until none moves; two equal tiles merge into one of twice the value.

    Observation: uint8, shape (rows, columns), the tiles' exponents (0 is free); or, as an option,
    uint8 planes, shape (exponents, rows, columns), plane 0 for free squares.  Actions: 0 up, 1
    right, 2 down, 3 left.  Reward: the sum of the tiles made by the move.  Chance: the square and
    value of new tiles.
    """

    name = "2048"
    seat_counts = (1,)
    arrays = "dovetail_games.game_2048.vector:Arrays2048"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        options = self.configuration
        squares = options.rows * options.columns
        if squares < 2 or options.tiles > squares:
            raise DovetailError(
                f"environment 2048, option 'tiles': {options.tiles} tiles need a board of at least "
                f"as many squares, and of 2; it has {squares}"
            )
        self.exponents = squares + 2
        """Upper bound of exponents: a full chain of squares below it, started by a 4."""
        self._begin(0)

    def _begin(self, seed: int) -> None:
        self.board = self._new(seed)
        self._moved: int | None = None
        """Last action."""
        self._slid: Rows = self.board.rows
        self._before: Rows = self.board.rows
        """Board before the last action."""
        self._shown: tuple[Rows, dict[int, int]] = (), {}
        """Board of the last scene, and the number of the tile on each square."""
        self._numbered = 0

    def _new(self, seed: int) -> Board2048:
        options = self.configuration
        rng = random.Random(seed)
        return Board2048(options.rows, options.columns, rng, options.four, options.tiles)

    def init(self) -> Spec:
        options = self.configuration
        shape = [options.rows, options.columns]
        space = Box(shape, 0, self.exponents - 1, "uint8")
        if options.encoding == "planes":
            space = Box([self.exponents, *shape], 0, 1, "uint8")
        return Spec(
            name=self.name,
            seats=1,
            observation_spaces=[space],
            action_spaces=[Discrete(4)],
            reward_range=(0.0, float(options.rows * options.columns * 2**self.exponents)),
            perfect_information=True,
            chance=True,
            afterstates=True,
            symmetries=self._symmetries(),
        )

    def _symmetries(self) -> list[Symmetry]:
        options = self.configuration
        planes = self.exponents if options.encoding == "planes" else 1
        size = options.rows * options.columns
        numbers = np.arange(planes * size).reshape(planes, options.rows, options.columns)
        square = options.rows == options.columns
        found = []
        for turns in range(4) if square else (0, 2):
            for mirror in (False, True):
                image = np.rot90(numbers, turns, (1, 2))
                # A quarter turn to the left maps up to left, right to up, …
                actions = [(move - turns) % 4 for move in range(4)]
                if mirror:
                    image = image[:, :, ::-1]
                    actions = [(-move) % 4 for move in actions]
                if turns or mirror:
                    found.append(Symmetry(image.ravel().tolist(), actions))
        return found

    def start(self, seed: int) -> Turn:
        self._begin(seed)
        return self._turn(0.0)

    def step(self, actions: Mapping[int, Any]) -> Turn:
        action = sole_action(actions, 0, over=self.board.over)
        before = self.board.rows
        gain = self.board.play(action)
        self._before = before
        self._moved = action
        self._slid = self.board.rows
        self.board.appear()
        return self._turn(float(gain))

    def _turn(self, reward: float) -> Turn:
        legal = self.board.legal()
        if legal:
            return Turn.ask(0, self.observation(0), legal, reward)
        return Turn.end([self.observation(0)], [reward])

    def _encode(self, rows: Rows) -> NDArray[np.uint8]:
        exponents = np.array(rows, np.uint8)
        if self.configuration.encoding == "exponents":
            return exponents
        planes = exponents[None] == np.arange(self.exponents, dtype=np.uint8)[:, None, None]
        flags: NDArray[np.uint8] = planes.astype(np.uint8)
        return flags

    def observation(self, seat: int) -> NDArray[np.uint8]:
        """Return the seat's observation; see the class."""
        return self._encode(self.board.rows)

    def after(self, seat: int) -> NDArray[np.uint8]:
        """Return the result of the last move, before a tile appears."""
        return self._encode(self._slid)

    def afterstates(self, seat: int) -> NDArray[np.uint8]:
        """Return the boards after each legal move, before a tile appears, as rows."""
        boards = [self._encode(rows) for rows, _ in self.board.after().values()]
        found: NDArray[np.uint8] = np.stack(boards)
        return found

    def fork(self, seat: int, seed: int) -> Self:
        """Return a copy whose future tiles are drawn from ``seed``."""
        other = super().fork(seat, seed)
        other.board.rng = random.Random(seed)
        return other

    def text(self, seat: int | None = None) -> str:
        """Return the board with the tiles' values and the score as text."""
        values = [[str(1 << tile) if tile else "." for tile in row] for row in self.board.rows]
        width = max(4, max(len(value) for row in values for value in row))
        lines = [" ".join(value.rjust(width) for value in row) for row in values]
        names = ", ".join(f"{move}: {MOVES[move]}" for move in self.board.legal())
        return "\n".join([*lines, f"score {self.board.score}; {names or 'over'}"])

    def _tiles(self) -> dict[int, int]:
        """Return the number of the tile on each square, the same as in the previous turn's scene.

        Without that scene, all tiles get new numbers.
        """
        rows, columns = self.configuration.rows, self.configuration.columns
        shown, before = self._shown
        if shown is self.board.rows:
            return before
        found: dict[int, int] = {}
        if shown is self._before and self._moved is not None:
            squares = np.arange(rows * columns).reshape(rows, columns)
            # Line by line, from the side towards which the tiles slide.
            lines = (squares.T, squares[:, ::-1], squares[::-1].T, squares)[self._moved]
            exponents = list(itertools.chain.from_iterable(shown))
            for line in lines.tolist():
                sources = origins(tuple(exponents[square] for square in line))
                found |= {line[to]: before[line[at]] for to, at in enumerate(sources)}
        for square, tile in enumerate(itertools.chain.from_iterable(self.board.rows)):
            if tile and square not in found:
                found[square] = self._numbered
                self._numbered += 1
        self._shown = self.board.rows, found
        return found

    def scene(self, seat: int | None = None) -> Scene:
        """Return the squares with a margin, whose sides select the move."""
        options = self.configuration
        rows, columns = options.rows, options.columns
        rim = 0.4
        cells = [Cell(c + rim, r + rim, kind="slot") for r in range(rows) for c in range(columns)]
        sides = [
            Cell(rim, 0.0, float(columns), rim, "arrow", "up", text="↑"),
            Cell(columns + rim, rim, rim, float(rows), "arrow", "right", text="→"),
            Cell(rim, rows + rim, float(columns), rim, "arrow", "down", text="↓"),
            Cell(0.0, rim, rim, float(rows), "arrow", "left", text="←"),
        ]
        arrows = ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft")
        tiles = [tile for row in self.board.rows for tile in row]
        keys = self._tiles()
        pieces = [
            Piece(
                *(n, "tile", None, str(1 << tile)),
                key=str(keys[n]),
                colour=f"tile-{min(tile, 11)}",
            )
            for n, tile in enumerate(tiles)
            if tile
        ]
        slid = [tile for row in self._slid for tile in row]
        new = [n for n, tile in enumerate(tiles) if tile != slid[n]]
        choices = []
        if seat == 0:
            choices = [
                Choice(m, MOVES[m], [len(cells) + m], key=arrows[m]) for m in self.board.legal()
            ]
        return Scene(
            columns + 2 * rim,
            rows + 2 * rim,
            cells + sides,
            pieces,
            choices=choices,
            seats=[Seated("Player", float(self.board.score))],
            marks=[Mark("last", new)] if new else [],
            moved="" if self._moved is None else MOVES[self._moved],
            prompt="" if self.board.over else "Slide the tiles",
            reason=f"No tile can move; the best is {1 << max(tiles)}" if self.board.over else "",
            palette=PALETTE,
        )
