"""An agent as a GTP engine, for Go GUIs and tournament managers."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Sequence

import numpy as np

from dovetail import __version__
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import agent_name
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock
from dovetail_bridges.board import Board, BoardAgent
from dovetail_bridges.gtp.go import (
    COLORS,
    Position,
    action,
    free_handicap,
    handicap,
    played,
    score,
    vertex,
)

NUMBER = re.compile(r"[0-9]{1,12}")
SIZES = range(2, 20)
SHARE = 30
"""A move may take the SHARE-th part of the remaining time."""
ANALYSES = (
    "dboard/Values of the agent/dovetail-values",
    "plist/Stones that count/final_status_list alive",
    "string/Score/final_score",
    "varc/What the agent would play/reg_genmove %c",
)
"""GoGui's analyze commands."""


class CommandRefused(DovetailError):
    """A command that is answered with ``?``."""


class Front:
    """The engine's side of GTP 2: a line in, the answer out."""

    def __init__(self, agent: Agent, size: int = 19, komi: float = 7.5, seed: int = 0) -> None:
        self._seated = BoardAgent(agent, seed)
        self._name = agent_name(agent)
        self.over = False
        """True once the controller has said ``quit``."""
        self._clocks = Clocks()
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
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "kgs-time_settings": self._kgs_time_settings,
            "fixed_handicap": lambda words: self._handicap(words, handicap),
            "place_free_handicap": lambda words: self._handicap(words, free_handicap),
            "set_free_handicap": self._set_free_handicap,
            "final_status_list": self._final_status_list,
            "reg_genmove": lambda words: vertex(self._chosen(words), self._size),
            "kgs-genmove_cleanup": self._genmove,
            "gogui-analyze_commands": lambda _: "\n".join(ANALYSES),
            "dovetail-values": self._values,
        }
        self._set_up(size, komi)

    def handle(self, line: str) -> str | None:
        """Return the answer to a line, with its empty last line; None for an empty line."""
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
        board = Board(_game(size, komi))
        for each in played:
            board.state.apply_action(each)
        self._seated.leave()
        self._size, self._komi, self._board, self._played = size, komi, board, list(played)

    def _clear(self, _: Sequence[str]) -> str:
        self._set_up(self._size, self._komi)
        self._clocks.begin()
        return ""

    def _boardsize(self, words: Sequence[str]) -> str:
        if len(words) != 1 or not NUMBER.fullmatch(words[0]):
            raise CommandRefused("boardsize not an integer")
        if int(words[0]) not in SIZES:
            raise CommandRefused("unacceptable size")
        self._set_up(int(words[0]), self._komi)
        self._clocks.begin()
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
        """Pass if need be so that ``seat`` is to move, as after a handicap."""
        state = self._board.state
        if not state.is_terminal() and state.current_player() != seat:
            self._apply(self._size * self._size)
        if state.is_terminal():
            self._begin_again(seat)

    def _apply(self, chosen: int) -> None:
        self._board.state.apply_action(chosen)
        self._played.append(chosen)

    def _begin_again(self, seat: int) -> None:
        """Put the same stones on a fresh board, on which no earlier position forbids a move."""
        black, white = Position(self._board.text()).stones
        nothing = self._size * self._size
        played: list[int] = []
        for one, other in itertools.zip_longest(sorted(black), sorted(white), fillvalue=nothing):
            played += [one, other]  # never two passes one after the other
        if played[-1:] == [nothing]:
            played.pop()
        if len(played) % 2 != seat:
            played.append(nothing)
        self._set_up(self._size, self._komi, played)

    def _play(self, words: Sequence[str]) -> str:
        if len(words) != 2:
            raise CommandRefused("invalid color or coordinate")
        seat = self._seat(words[0])
        try:
            chosen = action(words[1], self._size)
        except DovetailError:
            raise CommandRefused("invalid color or coordinate") from None
        self._turn(seat)
        if chosen not in self._board.state.legal_actions():
            self._allow(seat, chosen)
        self._apply(chosen)
        return ""

    def _allow(self, seat: int, chosen: int) -> None:
        """Accept a move that repeats an earlier position, as many rules do.

        Raises:
            CommandRefused: it takes a stone on the point, commits suicide, or repeats the position
                before the last move.
        """
        stones = Position(self._board.text()).stones
        after = played(stones, seat, chosen, self._size)
        fine = chosen not in stones[0] | stones[1] and chosen in after[seat]
        if fine and self._played:
            board = Board(_game(self._size, self._komi))
            for each in self._played[:-1]:
                board.state.apply_action(each)
            fine = Position(board.text()).stones != after
        if not fine:
            raise CommandRefused("illegal move")
        self._begin_again(seat)

    def _genmove(self, words: Sequence[str]) -> str:
        chosen = self._chosen(words)
        self._apply(chosen)
        return vertex(chosen, self._size)

    def _chosen(self, words: Sequence[str]) -> int:
        """Return the agent's action."""
        if len(words) != 1:
            raise CommandRefused("invalid color or coordinate")
        seat = self._seat(words[0])
        self._turn(seat)
        begun = time.monotonic()
        chosen = self._seated.decide(self._board, self._clocks.of(seat))
        self._clocks.spend(seat, time.monotonic() - begun)
        if chosen not in self._board.state.legal_actions():
            raise CommandRefused(f"the agent's action {chosen} is illegal")
        return chosen

    def _handicap(self, words: Sequence[str], find: Callable[[int, int], list[str]]) -> str:
        if len(words) != 1 or not NUMBER.fullmatch(words[0]):
            raise CommandRefused("syntax error")
        if any(Position(self._board.text()).stones):
            raise CommandRefused("board not empty")
        found = find(int(words[0]), self._size)
        if not found:
            raise CommandRefused("invalid number of stones")
        return self._set_free_handicap(found)

    def _set_free_handicap(self, words: Sequence[str]) -> str:
        if any(Position(self._board.text()).stones):
            raise CommandRefused("board not empty")
        try:
            points = [action(each, self._size) for each in words]
        except DovetailError:
            raise CommandRefused("bad vertex list") from None
        if len(points) < 2 or len(set(points)) < len(points) or self._size**2 in points:
            raise CommandRefused("bad vertex list")
        self._set_up(self._size, self._komi)
        for point in points:
            self._turn(0)
            self._apply(point)
        return " ".join(words)

    def _final_status_list(self, words: Sequence[str]) -> str:
        if len(words) != 1 or words[0] not in ("alive", "dead", "seki"):
            raise CommandRefused("invalid status")
        if words[0] != "alive":  # the score counts every stone as alive
            return ""
        black, white = Position(self._board.text()).stones
        return " ".join(vertex(each, self._size) for each in sorted(black | white))

    def _values(self, _: Sequence[str]) -> str:
        """Return the values of all points in the agent's last thoughts, as rows for GoGui."""
        rows = []
        for row in reversed(range(self._size)):
            found = [self._seated.value(row * self._size + each) for each in range(self._size)]
            rows.append(" ".join('""' if each is None else f"{each:.3g}" for each in found))
        return "\n".join(rows)

    def _undo(self, _: Sequence[str]) -> str:
        if not self._played:
            raise CommandRefused("cannot undo")
        self._set_up(self._size, self._komi, self._played[:-1])
        return ""

    def _final_score(self, _: Sequence[str]) -> str:
        black = score(Position(self._board.text()), self._komi)
        return "0" if black == 0 else f"{'B' if black > 0 else 'W'}+{abs(black):g}"

    def _time_settings(self, words: Sequence[str]) -> str:
        if len(words) != 3 or not all(map(NUMBER.fullmatch, words)):
            raise CommandRefused("syntax error")
        self._clocks = Clocks(*map(int, words))
        return ""

    def _time_left(self, words: Sequence[str]) -> str:
        if len(words) != 3 or not all(map(NUMBER.fullmatch, words[1:])):
            raise CommandRefused("syntax error")
        self._clocks.tell(self._seat(words[0]), float(words[1]), int(words[2]))
        return ""

    def _kgs_time_settings(self, words: Sequence[str]) -> str:
        """Take the time by its system's name; ``time_left`` then counts periods or stones."""
        system, numbers = " ".join(words[:1]).lower(), words[1:]
        count = {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3}.get(system)
        if len(numbers) != count or not all(map(NUMBER.fullmatch, numbers)):
            raise CommandRefused("syntax error")
        main, more, many = [*map(int, numbers), 0, 0, 0][:3]
        if system == "none":
            self._clocks = Clocks(0, 1, 0)
        elif system == "byoyomi":
            self._clocks = Clocks(main, more, 1, periods=max(1, many))
        else:
            self._clocks = Clocks(main, more, many)
        return ""


class Clocks:
    """The time of both sides: main time, then periods for a number of stones (Canadian byo-yomi).

    Args:
        main: main time in seconds.
        more: seconds of each later period.
        stones: moves in a period; with 0 and a positive ``more`` there is no limit.
        periods: periods that may be used up (Japanese byo-yomi, with one stone each); 0 for
            Canadian.
    """

    def __init__(self, main: int = 0, more: int = 0, stones: int = 0, *, periods: int = 0) -> None:
        self._main, self._more, self._stones, self._periods = main, more, stones, periods
        self.left: dict[int, tuple[float, int]] = {}
        """The seconds left, and the stones they are for (0 in main time), by seat."""
        self.begin()

    def begin(self) -> None:
        """Start a game."""
        self.left = {}
        if self._stones or (self._main and not self._more):
            whole = (float(self._main), 0) if self._main else (float(self._more), self._stones)
            self.left = {0: whole, 1: whole}

    def tell(self, seat: int, seconds: float, stones: int) -> None:
        """Take what the controller says is left; in Japanese byo-yomi ``stones`` are periods."""
        self.left[seat] = (seconds, min(stones, 1) if self._periods else stones)

    def of(self, seat: int) -> Clock | None:
        """Return a seat's clock for a move; None without a limit."""
        if seat not in self.left:
            return None
        seconds, stones = self.left[seat]
        return Clock(decision=seconds / (stones or SHARE), left=seconds)

    def spend(self, seat: int, seconds: float) -> None:
        """Subtract the time of a move, until the controller sets another."""
        if seat not in self.left:
            return
        left, stones = self.left[seat]
        left, stones = left - seconds, max(0, stones - 1) if stones else -1
        if stones == 0 or (left <= 0 and self._stones):
            left, stones = float(self._more), self._stones
        self.left[seat] = (max(0.0, left), max(0, stones))


def _game(size: int, komi: float) -> str:
    plain = np.format_float_positional(komi, trim="0")  # OpenSpiel reads 1e-05 as a text
    return f"go(board_size={size},komi={plain})"
