"""Agents as engines: what a GUI or tournament manager says to them, and real games under their
protocols."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Literal

import pyspiel
import pytest
from msgspec import Meta, Struct

from dovetail import Agent, InProcess, __version__
from dovetail.peer import options, registry
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.plugins import register
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Thoughts
from dovetail_bridges.gtp import Gtp, go
from dovetail_bridges.gtp import server as gtp
from dovetail_bridges.openspiel.environment import OpenSpiel
from dovetail_bridges.uci import Uci, chess
from dovetail_bridges.uci import server as uci

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

CHESS = {"game": "chess"}
SMALL_GO = {"game": "go(board_size=5,komi=0.5)"}


@pytest.fixture(autouse=True)
def _clean_registry() -> Iterator[None]:
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


class Noted(Agent):
    """Plays the first legal action and remembers what it was asked."""

    name = "noted"

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.heard: list[Any] = []

    def step(self, decision: Any) -> int:
        self.heard.append((decision.seat.seat, decision.turn, decision.clock))
        return int(decision.legal[0])

    def end(self, end: Any) -> None:
        self.heard.append(end.reason)


class Engine:
    """A UCI front in this program."""

    def __init__(self, agent: Agent, make: Any = None, seed: int = 0) -> None:
        self.lines: list[str] = []
        self.more = threading.Condition()
        self.front = uci.Front(agent, self.say, seed, make)

    def say(self, line: str) -> None:
        with self.more:
            self.lines.append(line)
            self.more.notify_all()

    def tell(self, *lines: str) -> None:
        for line in lines:
            assert self.front.handle(line)

    def until(self, pattern: str, timeout: float = 10.0) -> str:
        """Return the first new line that matches, and drop all up to it."""
        end = time.monotonic() + timeout
        with self.more:
            while True:
                for at, line in enumerate(self.lines):
                    if re.match(pattern, line):
                        del self.lines[: at + 1]
                        return line
                assert self.more.wait(max(0.0, end - time.monotonic())), self.lines


def is_legal(position: str, move: str) -> bool:
    return move in chess.moves(pyspiel.load_game("chess").new_initial_state(position))


def test_the_handshake() -> None:
    engine = Engine(Random())
    engine.tell("uci", "isready", "debug on", "setoption name Hash value 16", "nonsense", "")
    assert engine.until("id name") == f"id name Dovetail random {__version__}"
    assert engine.until("id author")
    assert engine.until("uciok")
    assert engine.until("readyok")
    assert engine.lines == ["info string no option 'Hash'; there are Seed"]
    assert not engine.front.handle("quit")
    engine.front.close()


class Tuned(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of each kind."""

    depth: Annotated[int, Meta(ge=1, lt=9)] = 2
    bold: bool = False
    style: Literal["calm", "wild"] = "calm"
    weight: float = 0.5
    path: str = ""
    shape: tuple[int, ...] = ()


class Tunable(Noted):
    """It notes what it was made with."""

    name = "tunable"
    Parameters = Tuned
    made: ClassVar[list[tuple[Tuned, int]]] = []
    closed: ClassVar[list[Any]] = []

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        if self.parameters.depth == 7:
            raise ValueError("seven is\ntoo deep")
        self.made.append((self.parameters, seed))

    def cleanup(self) -> None:
        self.closed.append(self.parameters.depth)


def test_parameters_are_options_of_the_engine() -> None:
    Tunable.made.clear()
    Tunable.closed.clear()
    engine = Engine(
        Tunable(seed=4),
        lambda given, seed: Tunable(options.read(Tuned, given, "agent tunable"), seed),
        seed=4,
    )
    engine.tell("uci")
    announced = [line for line in engine.lines if line.startswith("option")]
    assert announced == [
        "option name depth type spin default 2 min 1 max 8",
        "option name bold type check default false",
        "option name style type combo default calm var calm var wild",
        "option name weight type string default 0.5",
        "option name Seed type spin default 4 min 0 max 2147483647",
    ]
    for line in ("Depth value 5", "bold value true", "style value wild", "weight value 0.25"):
        engine.tell(f"setoption name {line}")
    engine.tell("setoption name Seed value 6", "isready")
    tuned = Tuned(5, True, "wild", 0.25)
    assert Tunable.made[1:] == [(tuned, 6)], "an agent for each option"
    assert Tunable.closed == [2]
    engine.tell("isready", "position startpos", "go depth 1")
    assert engine.until("bestmove")
    assert len(Tunable.made) == 2, "nothing has changed"
    engine.tell("setoption name depth value 3", "go depth 1")  # no isready in between
    assert engine.until("bestmove")
    assert Tunable.made[2:] == [(Tuned(3, True, "wild", 0.25), 6)]
    engine.front.close()
    assert Tunable.closed == [2, 5, 3]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("name path value /etc/passwd", "no option 'path'; there are depth, bold, style, weight"),
        ("name depth value two", "option depth: 'two' must be of type integer"),
        ("name depth value true", "option depth: 'true' must be of type integer"),
        ("name depth", "option depth: '' must be of type integer"),
        ("name style value loud", "option style: 'loud' is not one of calm, wild"),
        ("name bold value 1", "option bold: '1' must be of type boolean"),
        ("value 3", "no option ''"),
        ("name depth value 10", "option 'depth'"),
        ("name depth value 7", "ValueError: seven is too deep"),
        ("name Seed value -1", "option Seed: -1 is not from 0 to"),
    ],
)
def test_a_wrong_option_is_one_line_and_changes_nothing(given: str, line: str) -> None:
    Tunable.made.clear()
    engine = Engine(
        Tunable(), lambda given, seed: Tunable(options.read(Tuned, given, "agent tunable"), seed)
    )
    engine.tell(f"setoption {given}", "isready")
    [said] = [each for each in engine.lines if each != "readyok"]
    assert said.startswith("info string ")
    assert line in said
    assert "\n" not in said
    engine.tell("position startpos", "go depth 1")
    assert engine.until("bestmove")
    assert len(Tunable.made) == 1
    engine.front.close()


def test_positions_and_moves() -> None:
    engine = Engine(Random())
    for position, fen in (
        ("startpos", START),
        ("startpos moves e2e4", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"),
        ("fen 8/P6k/8/8/8/8/8/K7 w - - 0 1", "8/P6k/8/8/8/8/8/K7 w - - 0 1"),
        ("fen 8/P6k/8/8/8/8/8/K7 w - - 0 1 moves a7a8q", "Q7/7k/8/8/8/8/8/K7 b - - 0 1"),
    ):
        engine.tell("ucinewgame", f"position {position}", "go depth 1")
        info = engine.until("info depth")
        assert "score cp" in info
        move = engine.until("bestmove").split()[1]
        assert is_legal(fen, move)
        assert f" pv {move}" in info
    engine.front.close()


def test_a_game_is_one_episode_and_its_clock_is_the_agents() -> None:
    agent = Noted()
    engine = Engine(agent)
    engine.tell("ucinewgame", "position startpos", "go wtime 60000 btime 1000 winc 1000 binc 0")
    first = engine.until("bestmove").split()[1]
    engine.tell(f"position startpos moves {first} e7e5", "go movetime 500")
    engine.until("bestmove")
    engine.tell("ucinewgame", "position startpos moves e2e4", "go wtime 9 btime 3050")
    engine.until("bestmove")
    engine.front.close()
    (white, one, clock), (_, two, short), ended, (black, _, other), _ = agent.heard
    to_move = pyspiel.load_game("chess").new_initial_state().current_player()
    assert (white, black, ended) == (to_move, 1 - to_move, "cancelled")
    assert one < two
    assert clock.left == pytest.approx(59.95)
    assert clock.decision == pytest.approx(59.95 / 30 + 1)
    assert short.decision == pytest.approx(0.45)
    assert other.left == pytest.approx(3.0)


def test_what_is_wrong_is_said_and_changes_nothing() -> None:
    engine = Engine(Random())
    for wrong in (
        "position",
        "position fen rubbish",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position fen 9/8/8/8/8/8/8/K6k w - - 0 1",
        "position fen ²/8/8/8/8/8/8/K6k w - - 0 1",
        "position startpos moves e2e5",
    ):
        engine.tell(wrong)
        assert engine.until("info string")
    for number in ("1", "--5", "-", "²", "9" * 5000):
        engine.tell("position startpos", f"go wtime {number} nodes 1")
        assert is_legal(START, engine.until("bestmove").split()[1])
    engine.tell("position fen 8/8/8/8/8/4k3/4p3/4K3 w - - 0 1", "go depth 1")
    assert engine.until("bestmove") == "bestmove 0000"
    engine.front.close()


class Slow(Agent):
    """Thinks until it is released."""

    name = "slow"
    gate = threading.Event()

    def step(self, decision: Any) -> int:
        self.gate.wait(60)
        return int(decision.legal[0])


@pytest.mark.parametrize("go_", ["go infinite", "go movetime 300", "go wtime 400 btime 400"])
def test_a_slow_agent_loses_no_game_on_time(go_: str) -> None:
    Slow.gate.clear()
    engine = Engine(Slow())
    engine.tell("position startpos", go_, "isready")
    engine.until("readyok")
    if "infinite" in go_:
        assert not engine.lines
        engine.tell("stop")
    assert is_legal(START, engine.until("bestmove").split()[1])
    Slow.gate.set()
    engine.tell("position startpos moves e2e4", "go depth 1")
    engine.until("bestmove")
    engine.front.close()
    assert sum("bestmove" in line for line in engine.lines) == 0


class Late(Agent):
    """Answers when it is let, and remembers the boards it was asked about."""

    name = "late"

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.asked = threading.Semaphore(0)
        self.let = threading.Semaphore(0)
        self.cleaned = False

    def cleanup(self) -> None:
        self.cleaned = True

    def step(self, decision: Any) -> int:
        self.asked.release()
        assert self.let.acquire(timeout=60)
        return int(decision.legal[0])


def test_a_late_agent_keeps_no_one_waiting() -> None:
    agent = Late()
    engine = Engine(agent)
    # Without a clock, which on a busy machine could run out before the agent is asked.
    engine.tell("position startpos", "go infinite")
    assert agent.asked.acquire(timeout=60)
    engine.tell("stop")
    first = engine.until("bestmove").split()[1]
    # It is still at work on that position; none of this waits for it.
    engine.tell(f"position startpos moves {first}", "isready")
    engine.until("readyok")
    engine.tell("go movetime 60")
    assert is_legal(str(engine.front._board.state), engine.until("bestmove").split()[1])
    engine.tell("ucinewgame", "position startpos moves e2e4", "isready", "go infinite")
    engine.until("readyok")
    agent.let.release()
    assert agent.asked.acquire(timeout=60), "it is asked again once it has answered"
    agent.let.release()
    engine.tell("stop")
    assert is_legal(str(engine.front._board.state), engine.until("bestmove").split()[1])
    engine.tell("go infinite")
    assert agent.asked.acquire(timeout=60)
    engine.tell("stop")
    engine.until("bestmove")
    assert not engine.front.handle("quit")
    engine.front.close(patience=0.01)  # returns although the agent has not
    assert not agent.cleaned, "an agent at work is not cleaned up"
    agent.let.release()


def test_an_endless_search_says_its_move_when_it_is_stopped() -> None:
    engine = Engine(Noted())
    engine.tell("position startpos", "go infinite", "isready", "stop")
    engine.until("readyok")
    assert is_legal(START, engine.until("bestmove").split()[1])
    engine.front.close()


@pytest.mark.parametrize(
    "position",
    [
        "fen B7/3k4/B7/8/8/8/3K4/1b6 b - - 0 148",  # no side can win
        "fen 8/8/8/3k4/8/3K4/8/8 w - - 0 1 moves d3c3 d5e5",
        "startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8",  # the third time
        "fen 8/8/4k3/8/8/3K4/7R/8 w - - 99 80 moves d3d4",  # 50 moves
        "fen 8/8/4k3/8/8/3K4/7R/8 w - - 120 99 moves d3d4 e6d6",
    ],
)
def test_a_move_is_played_as_long_as_the_referee_asks_for_one(position: str) -> None:
    engine = Engine(Random())
    engine.tell(f"position {position}", "go nodes 1")
    move = engine.until("bestmove").split()[1]
    assert move in engine.front._board.legal()
    engine.tell(
        f"position {position}{' ' if 'moves' in position else ' moves '}{move}", "go nodes 1"
    )
    assert engine.until("bestmove") != "bestmove 0000"
    engine.front.close()


def test_a_king_is_not_left_to_be_taken_where_no_side_can_win() -> None:
    board = chess.ChessBoard()
    board.begin("8/8/8/8/8/2k5/8/K7 w - - 0 1")
    board.judged()
    assert board.state.is_terminal()
    assert set(board.legal()) == {"a1a2", "a1b1"}
    board.play("a1b1")
    assert board.fen() == "8/8/8/8/8/2k5/8/1K6 b - - 1 1"
    with pytest.raises(DovetailError, match="the move 'c3b2' is illegal"):
        board.play("c3b2")


def test_weak_agents_play_under_a_referee_whose_games_end_later() -> None:
    """The referee plays 40 plies, or until mate or stalemate; OpenSpiel's chess ends before."""
    games = 0
    for seed in range(4):
        players = [Engine(Random(seed=seed)), Engine(Random(seed=9 - seed))]
        start = "8/3k4/8/2b5/5N2/8/3K4/8 w - - 90 60"
        board = chess.ChessBoard()
        board.begin(start)
        played: list[str] = []
        theirs = pyspiel.load_game("chess").new_initial_state(start)
        while len(played) < 40 and board.legal():
            engine = players[len(played) % 2]
            moves = f" moves {' '.join(played)}" if played else ""
            engine.tell(f"position fen {start}{moves}", "go nodes 1")
            move = engine.until("bestmove").split()[1]
            assert move in board.legal()
            board.play(move)
            played.append(move)
            if not theirs.is_terminal():
                theirs.apply_action(chess.moves(theirs)[move])
        games += theirs.is_terminal() and len(played) == 40
        for engine in players:
            engine.front.close()
    assert games, "no game went on beyond OpenSpiel's end"


class Sure(Noted):
    """Says what it thinks of each action."""

    name = "sure"

    def step(self, decision: Any) -> int:
        assert decision.think
        decision.thoughts = Thoughts([0.5, *[float("nan")] * (len(decision.legal) - 1)])
        return super().step(decision)


def test_a_score_is_the_agents_own_or_the_material() -> None:
    ahead = "fen k7/8/8/8/8/8/8/KQ6"
    for agent, position, score in (
        (Sure(), f"{ahead} w - - 0 1", 191),
        (Noted(), f"{ahead} w - - 0 1", 900),
        (Noted(), f"{ahead} b - - 0 1", -900),
        (Noted(), "startpos", 0),
    ):
        engine = Engine(agent)
        engine.tell(f"position {position}", "go nodes 1")
        assert f" score cp {score} " in engine.until("info depth")
        engine.until("bestmove")
        engine.front.close()


def test_a_move_that_is_drawn_at_random_is_told() -> None:
    Slow.gate.clear()
    engine = Engine(Slow())
    engine.tell("position startpos", "go movetime 60")
    told = engine.until("info string")
    move = engine.until("bestmove").split()[1]
    assert told == f"info string the agent has not answered in time; {move} is drawn at random"
    Slow.gate.set()
    engine.front.close()


CHECKED = "3r2k1/p5n1/1pq1p2p/2p3p1/2P1P1n1/1P1P2pP/PN1Q2K1/5R2 w - - 0 27"


class Patient(threading.Timer):
    """Leaves a busy machine time to ask the agent before its clock runs out."""

    def __init__(self, interval: float, function: Callable[[], Any]) -> None:
        super().__init__(interval + 60.0, function)


def test_what_fastchess_checks_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of commands of fastchess's ``--compliance``, and what it wants to hear of each."""
    monkeypatch.setattr(threading, "Timer", Patient)
    agent = Noted()
    engine = Engine(agent)

    def searched(go_: str, position: str) -> None:
        engine.tell(go_)
        info = engine.until("info depth")
        assert re.search(r" score (cp|mate) -?\d+", info)
        assert is_legal(position, engine.until("bestmove").split()[1])

    engine.tell("uci")
    for expected in (r"id name \S", r"id author \S", "uciok$"):
        engine.until(expected)
    for command in ("isready", "ucinewgame", "position startpos", f"position fen {CHECKED}"):
        engine.tell(command, "isready")
        engine.until("readyok$")
    for go_ in (
        *("go wtime 100", "go btime 100"),
        "go wtime 100 winc 100 btime 100 binc 100",
        "go btime 100 binc 100 wtime 100 winc 100",
    ):
        searched(go_, CHECKED)
    engine.tell("ucinewgame", "position startpos")
    searched("go wtime 100 btime 100", START)
    engine.tell("position startpos moves e2e4 e7e5")
    searched(
        "go wtime 100 btime 100", "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    )
    assert not engine.front.handle("quit")
    engine.front.close()
    clocks = [each[2] for each in agent.heard if isinstance(each, tuple)]
    # A time of one side alone, be it the other's, is the agent's clock.
    assert [clock.left for clock in clocks] == pytest.approx([0.05] * 6)


class Fails(Agent):
    """Fails."""

    name = "fails"

    def step(self, decision: Any) -> int:
        raise RuntimeError("no idea")


def test_an_agent_that_fails_still_moves() -> None:
    engine = Engine(Fails())
    engine.tell("position startpos", "go depth 1")
    assert "no idea" in engine.until("info string")
    assert is_legal(START, engine.until("bestmove").split()[1])
    engine.front.close()


# -- GTP
# ------------------------------------------------------------------------------------------------


def test_gtp_commands() -> None:
    front = gtp.Front(Random(), 5, 0.5)
    says = front.handle
    assert says("protocol_version") == "= 2\n\n"
    assert says("7 name") == "=7 Dovetail random\n\n"
    assert says("known_command genmove") == "= true\n\n"
    assert says("known_command fly") == "= false\n\n"
    assert says("fly") == "? unknown command\n\n"
    assert says("12 fly # to the moon") == "?12 unknown command\n\n"
    assert says("# a comment") is None
    assert says("  \t ") is None
    assert says("12") == "?12 no command\n\n"
    assert says("boardsize 25") == "? unacceptable size\n\n"
    assert says("boardsize nine") == "? boardsize not an integer\n\n"
    for number in ("²", "9" * 5000):
        assert says(f"boardsize {number}") == "? boardsize not an integer\n\n"
        assert says(f"time_left b {number} 0") == "? syntax error\n\n"
    assert says("komi x") == "? komi not a float\n\n"
    assert says("play b I3") == "? invalid color or coordinate\n\n"
    assert says("play green c3") == "? invalid color or coordinate\n\n"
    assert says("play b c3") == "=\n\n"
    assert says("play w c3") == "? illegal move\n\n"
    assert says("final_score") == "= B+24.5\n\n"
    assert says("undo") == "=\n\n"
    assert says("undo") == "? cannot undo\n\n"
    assert says("final_score") == "= W+0.5\n\n"
    assert says("komi 0") == "=\n\n"
    assert says("final_score") == "= 0\n\n"
    listed = says("list_commands")
    assert listed is not None
    assert {"genmove", "play", "quit"} <= set(listed.split()[1:])
    assert says("known_command quit") == "= true\n\n"
    assert not front.over
    assert says("8 quit # for today") == "=8\n\n"
    assert front.over
    front.close()


@pytest.mark.parametrize("komi", ["0.00001", "-0.00002", "1e-7", "999.123456789", "-7"])
def test_gtp_takes_any_komi(komi: str) -> None:
    front = gtp.Front(Random(), 5, 0.5)
    for line in ("play b c3", f"komi {komi}", "undo", "clear_board", "boardsize 4"):
        assert front.handle(line) == "=\n\n"
    lead = -float(komi)
    assert front.handle("final_score") == f"= {'B' if lead > 0 else 'W'}+{abs(lead):g}\n\n"
    assert go.Position(front.handle("showboard") or "").komi == pytest.approx(float(komi))
    front.close()


def stones(front: gtp.Front) -> tuple[set[int], set[int]]:
    black, white = go.Position(front.handle("showboard") or "").stones
    return set(black), set(white)


def test_gtp_plays_on_after_two_passes() -> None:
    front = gtp.Front(Random(), 5, 0.5)
    for line in ("play b a1", "play b b2", "play w c3", "play w pass", "play b pass"):
        assert front.handle(line) == "=\n\n"
    assert front._board.state.is_terminal()
    assert front.handle("play w d4") == "=\n\n"
    assert stones(front) == ({0, 6}, {12, 18})
    assert (front.handle("genmove b") or "").startswith("= ")
    assert front.handle("undo") == "=\n\n"
    assert stones(front) == ({0, 6}, {12, 18})
    front.close()


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "put", [(), ("b a1",), ("w a1",), ("b a1", "b c3", "w e5"), ("w a1", "w c3")]
)
def test_gtp_either_side_plays_on_after_two_passes(put: tuple[str, ...], seat: int) -> None:
    front = gtp.Front(Random(), 5, 0.5)
    for line in (*put, "b pass", "w pass", "b pass", "w pass"):
        assert front.handle(f"play {line}") == "=\n\n"
    before = stones(front)
    answer = front.handle(f"genmove {'bw'[seat]}") or ""
    assert answer.startswith("= ")
    after = stones(front)
    assert before[0] <= after[0]
    assert before[1] <= after[1]
    assert len(after[seat]) == len(before[seat]) + ("pass" not in answer)
    front.close()


def test_gtp_commands_that_are_refused_leave_no_pass() -> None:
    front = gtp.Front(Fails(), 5, 0.5)
    answer = front.handle("genmove w") or ""
    assert answer.startswith("? Fails in turn 1 raised RuntimeError: no idea (test_fronts.py:")
    assert front.handle("undo") == "? cannot undo\n\n"
    front.close()


def test_gtp_allows_what_superko_forbids_but_no_ko_and_no_suicide() -> None:
    front = gtp.Front(Random(), 5, 0.5)
    ko = ("b b1", "w c1", "b a2", "w d2", "b b3", "w c3", "b c2", "w b2")  # white takes c2
    for line in ko:
        assert front.handle(f"play {line}") == "=\n\n"
    assert 7 not in stones(front)[0]
    assert front.handle("play b c2") == "? illegal move\n\n", "a ko is not taken back at once"
    assert front.handle("play b d3") == front.handle("play b e2") == "=\n\n"
    assert front.handle("play w b2") == "? illegal move\n\n", "occupied"
    for line in ("b c2", "w pass", "b pass", "w b2"):  # an earlier position again
        assert front.handle(f"play {line}") == "=\n\n"
    assert 7 not in stones(front)[0]
    assert front.handle("clear_board") == front.handle("play b a2") == front.handle("play b b1")
    assert front.handle("play w a1") == "? illegal move\n\n", "suicide"
    front.close()


def test_gtp_handicaps() -> None:
    front = gtp.Front(Random(), 9, 0.5)
    says = front.handle
    assert says("fixed_handicap 2") == "= C3 G7\n\n"
    assert says("fixed_handicap 2") == "? board not empty\n\n"
    assert front._board.state.current_player() == 1
    assert says("clear_board") == says("boardsize 8") == "=\n\n"
    assert says("fixed_handicap 5") == "? invalid number of stones\n\n"
    for size, stones, placed in (
        (8, 4, 4),
        (8, 30, 4),
        (19, 12, 9),
        (13, 6, 6),
        (5, 3, 3),
        (3, 2, 2),
    ):
        assert says(f"boardsize {size}") == "=\n\n"
        found = (says(f"place_free_handicap {stones}") or "").split()
        assert (found[0], len(set(found[1:]))) == ("=", placed)
        assert front._board.state.current_player() == 1
    for wrong in ("0", "1", "9"):
        assert says("clear_board") == "=\n\n"
        assert says(f"place_free_handicap {wrong}") == "? invalid number of stones\n\n"
    assert says("boardsize 8") == "=\n\n"
    for wrong in ("a1", "a1 a1", "a1 pass", "a1 z9"):
        assert says(f"set_free_handicap {wrong}") == "? bad vertex list\n\n"
    assert says("set_free_handicap a1 c2 d4") == "= a1 c2 d4\n\n"
    assert says("final_status_list alive") == "= A1 C2 D4\n\n"
    assert says("final_status_list dead") == says("final_status_list seki") == "=\n\n"
    assert says("final_status_list well") == "? invalid status\n\n"
    assert (says("genmove w") or "").startswith("= ")
    front.close()


def test_gtp_time_is_the_agents() -> None:
    agent = Noted()
    front = gtp.Front(agent, 5, 0.5)
    lines = [
        *("time_settings 60 30 5", "genmove b", "time_left w 20 4", "genmove w"),
        *("time_settings 0 30 5", "genmove b", "time_settings 0 10 0", "genmove w"),
    ]
    for line in lines:
        assert (front.handle(line) or "").startswith("=")
    front.close()
    clocks = [each[2] for each in agent.heard if isinstance(each, tuple)]
    assert [(each.decision, each.left) for each in clocks[:3]] == [
        (2.0, 60.0),
        (5.0, 20.0),
        (6.0, 30.0),
    ]
    assert clocks[3] is None


def test_gtp_time_by_the_name_of_its_system() -> None:
    agent = Noted()
    front = gtp.Front(agent, 5, 0.5)
    says = front.handle
    for line in (
        *("kgs-time_settings byoyomi 0 20 5", "genmove b", "time_left w 12 3", "genmove w"),
        *("kgs-time_settings canadian 0 60 6", "genmove b", "time_left w 30 2", "genmove w"),
        *("kgs-time_settings absolute 90", "genmove b", "kgs-time_settings none", "genmove w"),
        *("kgs-time_settings byoyomi 600 20 5", "genmove b"),
    ):
        assert (says(line) or "").startswith("="), line
    for wrong in ("", " byoyomi", " absolute 1 2", " fischer 10 1", " canadian 1 x 2", " none 1"):
        assert says(f"kgs-time_settings{wrong}") == "? syntax error\n\n"
    front.close()
    clocks = [each[2] for each in agent.heard if isinstance(each, tuple)]
    assert [clock and (clock.decision, clock.left) for clock in clocks] == [
        *((20.0, 20.0), (12.0, 12.0), (10.0, 60.0), (15.0, 30.0)),
        *((3.0, 90.0), None, (20.0, 600.0)),
    ]


def test_gtp_periods_count_their_stones() -> None:
    one = gtp.Clocks(2, 10, 3)
    for spent, left in ((1.5, (0.5, 0)), (1, (10, 3)), (4, (6, 2)), (1, (5, 1)), (1, (10, 3))):
        one.spend(0, spent)
        assert one.left[0] == left


def test_gtp_shows_what_the_agent_thinks() -> None:
    front = gtp.Front(Sure(), 3, 0.5)
    assert "dboard/Values of the agent/dovetail-values" in (
        front.handle("gogui-analyze_commands") or ""
    )
    assert front.handle("reg_genmove b") == "= A1\n\n"
    assert stones(front) == (set(), set())
    assert front.handle("dovetail-values") == '= "" "" ""\n"" "" ""\n0.5 "" ""\n\n'
    front.close()


def test_gtp_stones_may_be_put_in_any_order() -> None:
    front = gtp.Front(Random(), 5, 0.5)
    for line in ("play b a1", "play b e5", "play w c3", "play w b2"):
        assert front.handle(line) == "=\n\n"
    shown = front.handle("showboard")
    assert shown is not None
    position = go.Position(shown)
    assert position.stones == (frozenset({0, 24}), frozenset({6, 12}))
    front.close()


def test_gtp_generates_a_game_to_its_end() -> None:
    front = gtp.Front(Random(), 5, 0.5)
    for turn in range(200):
        answer = front.handle(f"genmove {'bw'[turn % 2]}")
        assert answer is not None
        assert answer.startswith("= ")
        if front._board.state.is_terminal():
            break
    named = front.handle("final_score")
    winner = "BW"[front._board.state.returns().index(1.0)]
    assert named is not None
    assert named.startswith(f"= {winner}+")
    assert (front.handle("genmove b") or "").startswith("= ")
    assert front.handle("clear_board") == "=\n\n"
    front.close()


@pytest.mark.parametrize("seed", range(4))
def test_the_score_is_the_referees(seed: int) -> None:
    import random

    rng = random.Random(seed)
    state = pyspiel.load_game("go(board_size=5,komi=2.5)").new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    lead = go.score(go.Position(str(state)), 2.5)
    assert (lead > 0) == (state.returns()[0] > 0)


# -- whole programs
# -----------------------------------------------------------------------------------------


def test_the_command_announces_the_parameters_of_its_agent() -> None:
    line = [sys.executable, "-m", "dovetail", "uci", "--agent", "mcts", "--set", "simulations=7"]
    told = "uci\nsetoption name simulations value 0\nisready\nquit\n"
    said = subprocess.run(line, input=told, capture_output=True, text=True, check=True).stdout
    assert "option name simulations type spin default 7 min 1 max 1000000\n" in said
    assert re.search(
        "^info string agent mcts, option 'simulations'.*stay as they were$", said, re.M
    )
    assert said.endswith("readyok\n")


def test_our_engines_play_under_their_protocols() -> None:
    """Each program is driven by our own end of its protocol; illegal moves and lost games on time
    would be crashes."""
    for kind in ("uci", "gtp"):
        register(f"engine:mine={sys.executable} -m dovetail {kind} --agent random --seed 5")
        with InProcess([OpenSpiel], [Uci, Gtp, Random]) as experiment:
            engine = experiment.create(kind, parameters={"engine": "mine"})
            other = experiment.create("random", seed=1)
            game = CHESS if kind == "uci" else SMALL_GO
            run = experiment.run(
                "openspiel", [engine, other], configuration=game, episodes=2, rotate=True, seed=2
            )
            for episode in run:
                assert episode.reason == "terminated"
            experiment.cleanup(engine)
