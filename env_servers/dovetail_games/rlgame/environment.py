"""RLGame as an environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from dovetail.peer.environments.environment import Scene, Spec, Turn, View, sole_action
from dovetail.protocol.messages import Symmetry
from dovetail.protocol.outside import LimitedPositive
from dovetail.protocol.scenes import Cell, Choice, Mark, Piece, Seated
from dovetail.protocol.spaces import Box
from dovetail_games.board_game import BoardGame
from dovetail_games.rlgame import kernels
from dovetail_games.rlgame.kernels import BASE, ENTER, HOME, Array
from dovetail_games.rlgame.rules import RLGameBoard, geometry
from dovetail_games.squares import square_name


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of RLGame."""

    size: Annotated[int, Meta(ge=3, le=30, description="squares along a side of the board")] = 8
    base: Annotated[int, Meta(ge=1, le=14, description="squares along a side of a base")] = 2
    pawns: Annotated[int, Meta(ge=1, le=100, description="pawns of each player")] = 10
    first: Annotated[int, Meta(ge=0, le=1, description="starting seat; 0 is White")] = 0
    loss: Annotated[
        Literal["ordered", "simultaneous"],
        Meta(
            description="removal of pawns that cannot move: one after the other by number, "
            "Black's first, or all together"
        ),
    ] = "ordered"
    base_pawns: Annotated[
        bool, Meta(description="whether pawns in a base without a free exit are lost too")
    ] = True
    max_moves: Annotated[
        LimitedPositive,
        Meta(description="moves of both players after which a game is truncated"),
    ] = 20_000
    win_reward: Annotated[
        float, Meta(gt=0, description="reward of the winner; the loser gets its negative")
    ] = 1.0
    pawn_reward: Annotated[
        float,
        Meta(
            ge=0,
            description="reward after each own move except the last: times (own - enemy pawns) / "
            "pawns at the start",
        ),
    ] = 0.0
    encoding: Annotated[
        Literal["own", "study", "planes"],
        Meta(
            description="own: the study's inputs, own pawns first, seen from the own corner; "
            "study: White first and as the board is, for both; planes: boards of pawns"
        ),
    ] = "own"


class RLGame(BoardGame[Configuration, RLGameBoard]):
    """RLGame: race pawns to the other base; the first to enter wins, and pawns that cannot move are
    lost.

    Observation: uint8, shape (2 (n² - 2a² + 5),), the study's binary inputs: flags of either
    player's pawns on each square outside the bases, four flags each for the share of pawns in base,
    and one each for a win by entering; or, as an option, float32 planes. Actions: move numbers, see
    ``rules``. The game has no chance.
    """

    name = "rlgame"
    arrays = "dovetail_games.rlgame.vector:RLGameArrays"

    def __init__(self, configuration: Configuration | None = None) -> None:
        super().__init__(configuration)
        self._moved: tuple[int, int] | None = None
        """Last mover and its move."""

    def first_position(self) -> RLGameBoard:
        options = self.configuration
        return RLGameBoard(
            options.size,
            options.base,
            options.pawns,
            options.first,
            options.loss,
            options.base_pawns,
        )

    def init(self) -> Spec:
        options = self.configuration
        size = options.size
        if options.encoding == "planes":
            space = Box([4, size, size], 0, 1, "float32")
        else:
            space = Box([2 * (geometry(size, options.base).outside + 5)], 0, 1, "uint8")
        most = max(options.win_reward, options.pawn_reward)
        return self.spec(
            *(space, 4 * size * size + 2 * options.base, options.max_moves),
            [self._transposed()],
            most=most,
            forfeit=options.win_reward,
            discount=0.95,
        )

    def _transposed(self) -> Symmetry:
        """Return the reflection of the board in the line between the bases."""
        size, base = self.configuration.size, self.configuration.base
        shape = self.board.geometry
        square = [size * (s % size) + s // size for s in range(size * size)]
        if self.configuration.encoding == "planes":
            seen = [plane * size * size + s for plane in range(4) for s in square]
        else:
            seen = list(range(2 * (shape.outside + 5)))
            for s, other in enumerate(square):
                if shape.slots[0, s] >= 0:
                    for owner in (0, 1):
                        seen[2 * shape.slots[0, s] + owner] = 2 * int(shape.slots[0, other]) + owner
        actions = [4 * square[a // 4] + (a % 4 + 2) % 4 for a in range(4 * size * size)]
        actions += [4 * size * size + (e + base) % (2 * base) for e in range(2 * base)]
        return Symmetry(seen, actions)

    def start(self, seed: int) -> Turn:
        self.board = self.first_position()
        self._moved = None
        return self.ask()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        board, options = self.board, self.configuration
        mover = board.mover
        action = sole_action(actions, mover, over=board.over or self._cut)
        board.play(action)
        self._moved = mover, action
        rewards = [0.0, 0.0]
        if options.pawn_reward and board.winner is None:
            lead = board.alive(mover) - board.alive(1 - mover)
            rewards[mover] = options.pawn_reward * lead / options.pawns
        if board.winner is None and not self._cut:
            paid = rewards[mover]
            others = [View(mover, self.observation(mover), None, paid)] if paid else ()
            seen = self.observation(1 - mover)
            return Turn.ask(1 - mover, seen, board.legal(), others=others)
        if board.winner is not None:
            return self.end(board.winner, options.win_reward)
        return Turn.end(map(self.observation, (0, 1)), rewards, truncated=True)

    @property
    def _cut(self) -> bool:
        return self.board.moves >= int(self.configuration.max_moves)

    def _encode(self, pawns: Array, cells: Array, seat: int) -> Array:
        """Return stacked positions as observations of a seat."""
        options = self.configuration
        shape = self.board.geometry
        if options.encoding == "planes":
            found: Array = np.empty((len(pawns), 4, options.size * options.size), np.float32)
            kernels.planes_all(pawns, cells, seat == 1, seat, found)
            return found.reshape(-1, 4, options.size, options.size)
        first = seat if options.encoding == "own" else 0
        rows: Array = np.empty((len(pawns), 2 * (shape.outside + 5)), np.uint8)
        kernels.encode_all(pawns, cells, shape.slots[first], first, rows)
        return rows

    def observation(self, seat: int) -> NDArray[Any]:
        """Return a seat's observation; see the class for shape and meaning."""
        board = self.board
        seen: NDArray[Any] = self._encode(board.pawns[None], board.cells[None], seat)[0]
        return seen

    def afterstates(self, seat: int) -> NDArray[Any]:
        """Return the mover's observation after each legal move, as rows."""
        board = self.board
        shape = board.geometry
        moves = board.moves_of(board.mover)
        pawns: Array = np.empty((len(moves), *board.pawns.shape), np.int64)
        cells: Array = np.empty((len(moves), *board.cells.shape), np.int8)
        kernels.after_each(
            *(moves, board.mover, board.pawns, board.cells, shape.steps, shape.exits),
            *(board.ordered, board.bases, pawns, cells),
        )
        return self._encode(pawns, cells, seat)

    def text(self, seat: int | None = None) -> str:
        """Return the board as text, with Black's base top right: W and B are pawns, numbers those
        in a base."""
        board, size = self.board, self.configuration.size
        shape = board.geometry
        lines = []
        for y in reversed(range(size)):
            line = []
            for x in range(size):
                owner = shape.owner(x, y)
                if owner is None:
                    line.append(".WB"[board.cells[x * size + y]].rjust(2))
                elif (x, y) == (0, 0) or (x, y) == (size - 1, size - 1):
                    guest = "BW"[owner] if board.home(1 - owner) else ""
                    line.append((guest or str(board.inside(owner))).rjust(2))
                else:
                    line.append(" #" if owner == 0 else " +")
            lines.append(f"{y + 1:2} {' '.join(line)}")
        lines.append("   " + " ".join(square_name(x, 0)[:-1].rjust(2) for x in range(size)))
        lines.append(f"White (W) has {board.alive(0)} pawns, Black (B) {board.alive(1)}")
        if not board.over and not self._cut:
            moves = ", ".join(f"{action}: {self.describe(action)}" for action in board.legal())
            mover = ("White", "Black")[board.mover]
            lines.append(f"{mover} to move; {moves}")
        return "\n".join(lines)

    def describe(self, action: int, mover: int | None = None) -> str:
        """Return a move by its squares: ``b2-b3``, ``base-c1``.

        Args:
            action: the move.
            mover: the player that makes or made it; by default the player to move.
        """
        size = self.configuration.size
        source, target = self._ends(action, self.board.mover if mover is None else mover)
        start = "base" if source == BASE else square_name(source // size, source % size)
        end = "base" if target == ENTER else square_name(target // size, target % size)
        return f"{start}-{end}"

    def _ends(self, action: int, mover: int) -> tuple[int, int]:
        board = self.board
        squares = self.configuration.size**2
        if action >= 4 * squares:
            return BASE, int(board.geometry.exits[mover, action - 4 * squares])
        square, direction = divmod(action, 4)
        return square, int(board.geometry.steps[mover, square, direction])

    def scene(self, seat: int | None = None) -> Scene:
        """Return the two bases as cells 0 and 1, then the squares between them."""
        board, size = self.board, self.configuration.size
        shape = board.geometry
        base = float(shape.base)
        far = size - base
        cells = [
            Cell(0.0, far, base, base, "base", "White's base", 0),
            Cell(far, 0.0, base, base, "base", "Black's base", 1),
        ]
        number = {}
        for square in range(size * size):
            x, y = divmod(square, size)
            if shape.owner(x, y) is None:
                number[square] = len(cells)
                kind = "square" if (x + y) % 2 else "dark"
                cells.append(Cell(float(x), float(size - 1 - y), kind=kind, name=square_name(x, y)))
        pieces = [
            Piece(number[square], "pawn", player, key=f"{player}.{pawn}")
            for player in (0, 1)
            for pawn, square in enumerate(board.pawns[player].tolist())
            if square >= 0
        ]
        for player in (0, 1):
            inside = board.inside(player)
            # A pawn that has entered must be visible: it is drawn last, and alone.
            entered = np.flatnonzero(board.pawns[1 - player] == HOME).tolist()
            if entered:
                key = f"{1 - player}.{entered[0]}"
                pieces.append(Piece(player, "pawn", 1 - player, key=key))
            else:
                pieces.append(Piece(player, "pawns", player, str(inside), count=inside))

        def ends(action: int, mover: int) -> list[int]:
            source, target = self._ends(action, mover)
            return [
                mover if source == BASE else number[source],
                1 - mover if target == ENTER else number[target],
            ]

        choices = []
        if not board.over and not self._cut and seat == board.mover:
            choices = [
                Choice(action, self.describe(action), ends(action, board.mover))
                for action in board.legal()
            ]
        marks, moved = [], ""
        if self._moved is not None:
            mover, action = self._moved
            marks, moved = [Mark("last", ends(action, mover))], self.describe(action, mover)
        return Scene(
            *(float(size), float(size), cells, pieces),
            choices=choices,
            seats=[
                Seated(
                    name,
                    float(board.alive(player)),
                    f"{board.inside(player)} of {board.alive(player)} pawns in the base",
                )
                for player, name in enumerate(("White", "Black"))
            ],
            marks=marks,
            moved=moved,
            prompt="" if board.over or self._cut else "Choose a pawn; then choose where it moves",
            reason=self._reason(),
        )

    def _reason(self) -> str:
        winner, names = self.board.winner, ("White", "Black")
        if winner is None:
            return f"{self.board.moves} moves without a winner" if self._cut else ""
        if self.board.home(winner):
            return f"A pawn of {names[winner]} has entered {names[1 - winner]}'s base"
        return f"{names[1 - winner]} has no pawn left that can move"
