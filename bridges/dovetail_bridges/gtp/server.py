"""An agent as a GTP engine, for Go GUIs and tournament managers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from dovetail import __version__
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import agent_name
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock
from dovetail_bridges.board import Board
from dovetail_bridges.board_agent import BoardAgent
from dovetail_bridges.gtp.go import COLORS, Position, action, score, vertex

NUMBER = re.compile(r"[0-9]{1,12}")
SIZES = range(2, 20)


class CommandRefused(DovetailError):
    """A command that gets ``?``."""


class Front:
    """The engine's side of GTP 2: a line in, the answer out.

    Args:
        agent: the agent that plays Go.
        size: the board's size at first.
        komi: the komi at first.
        seed: for the agent's random choices.
    """

    def __init__(self, agent: Agent, size: int = 19, komi: float = 7.5, seed: int = 0) -> None:
        self._seated = BoardAgent(agent, seed)
        self._name = agent_name(agent)
        self.over = False
        """True once the controller has said ``quit``."""
        self._left: dict[int, float] = {}
        self._commands: dict[str, Callable[[Sequence[str]], str]] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: f"Dovetail {self._name}",
            "version": lambda _: __version__,
            "known_command": lambda words: str(bool(words) and words[0] in self._commands).lower(),
            "list_commands": lambda _: "\n".join(sorted(self._commands)),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear,
            "komi": self._set_komi,
            "play": self._play,
            "genmove": self._genmove,
            "undo": self._undo,
            "showboard": lambda _: "\n" + self._board.text().rstrip(),
            "final_score": self._final_score,
            "time_left": self._time_left,
        }
        self._set_up(size, komi)

    def handle(self, line: str) -> str | None:
        """Return the answer to a line, with the empty line that ends it; None if the line says nothing."""
        text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", line).replace("\t", " ").partition("#")[0]
        words = text.split()
        if not words:
            return None
        number = words.pop(0) if words[0].isdigit() else ""
        if not words:
            return f"?{number} no command\n\n"
        command = self._commands.get(words[0])
        if command is None:
            return f"?{number} unknown command\n\n"
        before = list(self._played)
        try:
            return f"={number} {command(words[1:])}".rstrip() + "\n\n"
        except DovetailError as error:
            if self._played != before:  # what is refused changes nothing
                self._set_up(self._size, self._komi, before)
            return f"?{number} {error}\n\n"

    def close(self) -> None:
        """Release the agent."""
        self._seated.close()

    # -- the commands ----------------------------------------------------------------------------

    def _quit(self, _: Sequence[str]) -> str:
        self.over = True
        return ""

    def _set_up(self, size: int, komi: float, played: Sequence[int] = ()) -> None:
        """Set up a position by its moves.

        Raises:
            DovetailError: OpenSpiel refuses size or komi; nothing has changed.
        """
        plain = np.format_float_positional(komi, trim="0")  # OpenSpiel reads 1e-05 as a text
        board = Board(f"go(board_size={size},komi={plain})")
        for each in played:
            board.state.apply_action(each)
        self._seated.leave()
        self._size, self._komi, self._board, self._played = size, komi, board, list(played)

    def _clear(self, _: Sequence[str]) -> str:
        self._set_up(self._size, self._komi)
        self._left = {}
        return ""

    def _boardsize(self, words: Sequence[str]) -> str:
        if len(words) != 1 or not NUMBER.fullmatch(words[0]):
            raise CommandRefused("boardsize not an integer")
        if int(words[0]) not in SIZES:
            raise CommandRefused("unacceptable size")
        self._set_up(int(words[0]), self._komi)
        self._left = {}
        return ""

    def _set_komi(self, words: Sequence[str]) -> str:
        try:
            komi = float(words[0])
        except (IndexError, ValueError):
            raise CommandRefused("komi not a float") from None
        if not abs(komi) < 1000:
            raise CommandRefused("komi not a float")
        if komi != self._komi:
            self._set_up(self._size, komi, self._played)
        return ""

    def _seat(self, word: str) -> int:
        color = word[:1].upper()
        if word.lower() not in ("b", "w", "black", "white"):
            raise CommandRefused("invalid color or coordinate")
        return COLORS.index(color)

    def _turn(self, seat: int) -> None:
        """Give the move to the other side, as in a handicap: the side to move passes."""
        state = self._board.state
        if state.is_terminal() or state.current_player() == seat:
            return
        self._apply(self._size * self._size)
        if self._board.state.is_terminal():
            raise CommandRefused("illegal move: the game is over")

    def _apply(self, chosen: int) -> None:
        self._board.state.apply_action(chosen)
        self._played.append(chosen)

    def _play(self, words: Sequence[str]) -> str:
        if len(words) != 2:
            raise CommandRefused("invalid color or coordinate")
        seat = self._seat(words[0])
        try:
            chosen = action(words[1], self._size)
        except DovetailError:
            raise CommandRefused("invalid color or coordinate") from None
        self._turn(seat)
        if self._board.state.is_terminal() or chosen not in self._board.state.legal_actions():
            raise CommandRefused("illegal move")
        self._apply(chosen)
        return ""

    def _genmove(self, words: Sequence[str]) -> str:
        if len(words) != 1:
            raise CommandRefused("invalid color or coordinate")
        seat = self._seat(words[0])
        if self._board.state.is_terminal():
            return "pass"
        self._turn(seat)
        left = self._left.get(seat)
        clock = None if left is None else Clock(decision=left / 30, left=left)
        chosen = self._seated.decide(self._board, clock)
        if chosen not in self._board.state.legal_actions():
            raise CommandRefused(f"the agent's action {chosen} is illegal")
        self._apply(chosen)
        return vertex(chosen, self._size)

    def _undo(self, _: Sequence[str]) -> str:
        if not self._played:
            raise CommandRefused("cannot undo")
        self._set_up(self._size, self._komi, self._played[:-1])
        return ""

    def _final_score(self, _: Sequence[str]) -> str:
        black = score(Position(self._board.text()), self._komi)
        return "0" if black == 0 else f"{'B' if black > 0 else 'W'}+{abs(black):g}"

    def _time_left(self, words: Sequence[str]) -> str:
        if len(words) != 3 or not NUMBER.fullmatch(words[1]):
            raise CommandRefused("syntax error")
        self._left[self._seat(words[0])] = float(words[1])
        return ""
