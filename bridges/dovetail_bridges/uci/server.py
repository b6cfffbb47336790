"""Agents as UCI engines, for GUIs and tournament managers."""

from __future__ import annotations

import json
import math
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from dovetail import __version__
from dovetail.peer import options
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import agent_name
from dovetail.peer.registry import one_line
from dovetail.protocol import codec
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Clock
from dovetail_bridges.board import BoardAgent
from dovetail_bridges.uci.chess import ChessBoard, checked, material

NUMBER = re.compile(r"-?[0-9]{1,12}")
NUMBERS = {"wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime"}
MARGIN = 0.05
"""Seconds of the clock held in reserve."""
PATIENCE = 1.0
"""Seconds that a late agent has to finish when its program is closed."""
MOST = 1000
"""Centipawns of a game that an agent considers decided."""
SHARE = 30
"""The divisor of the remaining time that gives a move its share, if nothing else limits it."""


class Front:
    """The engine's side of UCI: lines in, lines out.

    A search runs in its own thread, so that ``isready`` and ``stop`` are answered while it runs.
    Agents cannot be interrupted: on ``stop``, or when time is nearly up, a legal move is drawn from
    the seed and announced by ``info string``, and the agent's late answer is dropped.  The program
    that drives the engine judges the game: as long as there is a legal move, one is played.

    Args:
        say: receives each line of output.
        make: returns an agent with other parameters and seed.
    """

    def __init__(
        self,
        agent: Agent,
        say: Callable[[str], None],
        seed: int = 0,
        make: Callable[[dict[str, Any], int], Agent] | None = None,
    ) -> None:
        self._seated = BoardAgent(agent, seed)
        self._seed = seed
        self._make = make
        self._options = EngineOptions(options.describe(agent.Parameters) if make else {}, seed)
        self._given: dict[str, Any] = {}
        """The values of the options that were set."""
        self._new: dict[str, Any] = {}
        """Those that the agent does not have yet."""
        self._name = agent_name(agent)
        self._say = say
        self._rng = random.Random(seed)
        self._board = ChessBoard()
        self._moves: list[str] = []
        self._fen = ""
        self._search: _Search | None = None
        self._thinking = threading.Lock()
        """A lock held while the agent is at work, which may outlast a search."""

    def handle(self, line: str) -> bool:
        """Handle a line of input; return false to quit."""
        words = line.split()
        verb, rest = (words[0], words[1:]) if words else ("", [])
        match verb:
            case "uci":
                self._say(f"id name Dovetail {self._name} {__version__}")
                self._say("id author the Dovetail authors")
                for option in self._options.lines():
                    self._say(option)
                self._say("uciok")
            case "setoption":
                try:
                    name, value = self._options.read(line.strip().partition(" ")[2])
                    self._new[name] = value
                except DovetailError as error:
                    self._say(f"info string {error}")
            case "isready":
                if self._thinking.acquire(blocking=False):  # else at the next search
                    try:
                        self._renew()
                    finally:
                        self._thinking.release()
                self._say("readyok")
            case "ucinewgame":
                self._stop()
                if self._thinking.acquire(blocking=False):  # else it leaves when it next sits down
                    try:
                        self._seated.leave()
                    finally:
                        self._thinking.release()
                self._board, self._moves, self._fen = ChessBoard(), [], ""
            case "position":
                self._stop()
                try:
                    self._position(rest)
                except DovetailError as error:
                    self._say(f"info string {error}")
            case "go":
                self._stop()
                self._go(rest)
            case "stop" | "ponderhit":
                self._stop()
            case "quit":
                self._stop()
                return False
            case _:
                pass  # an engine ignores what it does not know
        return True

    def close(self, patience: float = PATIENCE) -> None:
        """Release the agent; if it is still at work after ``patience`` seconds, it ends with the
        program."""
        self._stop()
        if self._thinking.acquire(timeout=patience):
            try:
                self._seated.close()
            finally:
                self._thinking.release()

    def _renew(self) -> None:
        """Take another agent if options were set; the caller holds the lock of the agent."""
        new, self._new = self._new, {}
        if not new:
            return
        parameters = {**self._given, **new}
        seed = parameters.pop(SEED, self._seed)
        try:
            agent = self._seated.agent
            if self._make is not None:
                agent = self._make(parameters, seed)
        except Exception as error:
            why = str(error) if isinstance(error, DovetailError) else one_line(error)
            self._say(f"info string {why}; the options stay as they were")
            return
        self._given |= new
        if agent is self._seated.agent:
            self._seated.leave()
        else:
            self._seated.close()
        self._seated = BoardAgent(agent, seed)
        self._rng = random.Random(seed)

    def _position(self, words: Sequence[str]) -> None:
        at = words.index("moves") if "moves" in words else len(words)
        head, played = list(words[:at]), list(words[at + 1 :])
        if head[:1] == ["startpos"]:
            fen = ""
        elif head[:1] == ["fen"] and len(head) >= 5:
            fen = " ".join([*head[1:], *["0", "1"][len(head) - 5 :]])
        else:
            raise DovetailError(f"position {' '.join(head)[:80]!r}; expected startpos or fen FEN")
        # A late agent may still look at the board: then it keeps that one.
        late = self._thinking.locked()
        if late or fen != self._fen or played[: len(self._moves)] != self._moves:
            board = ChessBoard()
            if fen:
                board.begin(checked(fen))
                board.judged()
            self._board, self._fen, self._moves = board, fen, []
        for move in played[len(self._moves) :]:
            self._board.play(move)
            self._moves.append(move)

    def _go(self, words: Sequence[str]) -> None:
        legal = self._board.legal()
        if not legal:
            self._say("bestmove 0000")
            return
        given = _numbers(words)
        endless = "infinite" in words or "ponder" in words
        white = self._board.fen().split()[1] == "w"
        own, other = ("wtime", "btime") if white else ("btime", "wtime")
        # One time alone stands for both, as in fastchess's check.
        left = given.get(own, given.get(other))
        added = given.get("winc" if white else "binc", 0)
        clock, limit = _clock(given.get("movetime"), left, added)
        self._search = _Search(self, legal, clock, None if endless else limit, endless)

    def _stop(self) -> None:
        search, self._search = self._search, None
        if search is not None:
            search.stop()


class _Search:
    """One ``go``, answered by exactly one ``bestmove``."""

    def __init__(
        self, front: Front, legal: dict[str, int], clock: Clock, limit: float | None, endless: bool
    ) -> None:
        self._front = front
        self._clock = clock
        self._legal = legal
        self._board = front._board
        self._score = material(self._board.fen())
        self._why = "the agent has not answered in time"
        self._begun = time.monotonic()
        self._found: str | None = None
        self._endless = endless
        self._lock = threading.Lock()
        self._said = threading.Event()
        self._timer: threading.Timer | None = None
        if limit is not None:
            self._timer = threading.Timer(limit, self._answer)
            self._timer.daemon = True
            self._timer.start()
        threading.Thread(target=self._think, daemon=True).start()

    def _think(self) -> None:
        front = self._front
        with front._thinking:
            if self._said.is_set():
                return
            try:
                front._renew()
                if self._board.state.is_terminal():
                    raise DovetailError("neither side can win, so the agent is not asked")
                action = front._seated.decide(self._board, self._clock)
                by_action = {each: move for move, each in self._legal.items()}
                if action not in by_action:
                    raise DovetailError(f"the agent's action {action} is illegal")
                value = front._seated.value(action)
                if value is not None:
                    self._score = centipawns(value)
                self._found = by_action[action]
            except DovetailError as error:
                self._why = str(error)
        if not self._endless:
            self._answer()

    def stop(self) -> None:
        """Announce the move now."""
        self._answer()

    def _answer(self) -> None:
        with self._lock:
            if self._said.is_set():
                return
            self._said.set()
            move = self._found
            if move is None:
                move = self._front._rng.choice(sorted(self._legal))
                self._front._say(f"info string {self._why}; {move} is drawn at random")
            spent = int(1000 * (time.monotonic() - self._begun))
            self._front._say(f"info depth 1 score cp {self._score} nodes 1 time {spent} pv {move}")
            self._front._say(f"bestmove {move}")
        if self._timer is not None:
            self._timer.cancel()


def centipawns(value: float) -> int:
    """Return the advantage that corresponds to an expected reward on Elo's curve.

    Args:
        value: the expected reward, from -1 (lost) to 1 (won).

    >>> centipawns(0.0), centipawns(0.5), centipawns(-1.0)
    (0, 191, -1000)
    """
    share = min(max((value + 1) / 2, 1e-9), 1 - 1e-9)
    return round(min(max(400 * math.log10(share / (1 - share)), -MOST), MOST))


def _numbers(words: Sequence[str]) -> dict[str, int]:
    found = {}
    for name, value in pairwise(words):
        if name in NUMBERS and NUMBER.fullmatch(value):
            found[name] = int(value)
    return found


def _clock(movetime: int | None, left: int | None, added: int) -> tuple[Clock, float | None]:
    """Return the agent's clock and the seconds after which a move must be announced.

    Args are in milliseconds.
    """
    if movetime is not None:
        limit = max(0.01, movetime / 1000 - MARGIN)
        return Clock(decision=limit), limit
    if left is not None:
        seconds = max(0.01, left / 1000 - MARGIN)
        share = min(seconds, seconds / SHARE + added / 1000)
        return Clock(decision=share, left=seconds), seconds
    return Clock(), None


SEED = "Seed"
LARGEST = 2**31 - 1
SET = re.compile(r"name\s+(?P<name>.+?)(?:\s+value(?:\s+(?P<value>.*))?)?")


class EngineOptions:
    """The parameters that a GUI can set: numbers, switches and choices.

    Strings are omitted, since some are file names; so are lists.

    Args:
        schema: the JSON Schema of each parameter, with its default.
        seed: the default of the option ``Seed``.
    """

    def __init__(self, schema: Mapping[str, Any], seed: int) -> None:
        seeds = {"type": "integer", "minimum": 0, "default": seed}
        self._schema = {name: each for name, each in schema.items() if _form(each)}
        self._schema.setdefault(SEED, seeds)

    def lines(self) -> list[str]:
        """Return the lines that announce the options."""
        return [f"option name {name} {_form(each)}" for name, each in self._schema.items()]

    def read(self, words: str) -> tuple[str, Any]:
        """Return an option's name and value from the arguments of ``setoption``.

        Raises:
            DovetailError: the option is unknown, or its value is of another type.
        """
        found = SET.fullmatch(words.strip())
        names = {name.lower(): name for name in self._schema}
        asked = found["name"] if found else ""
        name = names.get(asked.lower(), "")
        if found is None or not name:
            raise DovetailError(f"no option {asked[:80]!r}; there are {', '.join(self._schema)}")
        text, schema = (found["value"] or "").strip(), self._schema[name]
        if "enum" in schema:
            texts = {str(each): each for each in schema["enum"]}
            if text in texts:
                return name, texts[text]
            raise DovetailError(f"option {name}: {text[:80]!r} is not one of {', '.join(texts)}")
        try:
            value = json.loads(text)
        except codec.UNREADABLE:
            value = text
        kinds: dict[str, tuple[type, ...]] = {
            "boolean": (bool,),
            "integer": (int,),
            "number": (int, float),
        }
        if type(value) not in kinds[schema["type"]]:
            raise DovetailError(f"option {name}: {text[:80]!r} must be of type {schema['type']}")
        if name == SEED and not 0 <= value <= LARGEST:
            raise DovetailError(f"option {SEED}: {value} is not from 0 to {LARGEST}")
        return name, value


def _form(schema: Mapping[str, Any]) -> str:
    """Return an option's type, default and bounds; empty if UCI cannot set it."""
    default = schema.get("default")
    if "enum" in schema:
        choices = "".join(f" var {each}" for each in schema["enum"])
        return f"type combo default {default}{choices}"
    match schema.get("type"):
        case "boolean":
            return f"type check default {str(bool(default)).lower()}"
        case "integer":
            low = max(_bound(schema, "inimum", 1, -LARGEST), -LARGEST)
            high = min(_bound(schema, "aximum", -1, LARGEST), LARGEST)
            return f"type spin default {default or 0} min {low} max {high}"
        case "number":
            return f"type string default {default}"
    return ""


def _bound(schema: Mapping[str, Any], name: str, inside: int, otherwise: int) -> int:
    beyond = schema.get(f"exclusiveM{name}")
    return int(schema.get(f"m{name}", otherwise)) if beyond is None else int(beyond) + inside
