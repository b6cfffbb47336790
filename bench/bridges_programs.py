"""Programs of other projects that join by a protocol of lines or HTTP, beside the same program driven without us.

Cases of ``python -m bench.bridges``: each function yields the turns of one finished game after another.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.measure import BenchError
from dovetail import InProcess
from dovetail.peer import plugins
from dovetail_bridges.engine import command
from dovetail_bridges.gtp.agent import ENGINES as GTP_ENGINES
from dovetail_bridges.language_model import LanguageModel
from dovetail_bridges.uci.agent import ENGINES as UCI_ENGINES

PLIES = 40
"""Turns of a game at most."""
NODES = 200
GO = "go(board_size=9,komi=6.5)"


class Program:
    """A program that reads and writes lines."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def tell(self, line: str) -> None:
        """Send a line."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")

    def until(self, *beginnings: str) -> str:
        """Return the first line that begins so."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(beginnings):
                return line.strip()
        raise BenchError(f"{self._process.args!r} ended")

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()


def _engines(stack: ExitStack, count: int, *words: str) -> list[Program]:
    return [stack.enter_context(closing(Program(*words))) for _ in range(count)]


def bare_uci(*words: str, engines: int = 2, go: str = f"go nodes {NODES}") -> Iterator[int]:
    """Yield the plies of games of UCI engines, driven by lines."""
    with ExitStack() as stack:
        players = _engines(stack, engines, *(words or command("stockfish", UCI_ENGINES, "bench")))
        for each in players:
            each.tell("uci")
            each.until("uciok")
        while True:
            played: list[str] = []
            for each in players:
                each.tell("ucinewgame")
            while len(played) < PLIES:
                mover = players[len(played) % len(players)]
                mover.tell(" ".join(["position startpos moves", *played]))
                mover.tell(go)
                move = mover.until("bestmove").split()[1]
                if move in ("(none)", "0000"):
                    break
                played.append(move)
            yield len(played)


def bare_gtp() -> Iterator[int]:
    """Yield the moves of games of gnugo against itself on 9x9, driven by lines."""
    with ExitStack() as stack:
        players = _engines(
            stack, 2, *command("gnugo", GTP_ENGINES, "bench"), "--level", "1", "--seed", "1"
        )

        def ask(player: Program, line: str) -> str:
            player.tell(line)
            return player.until("=").removeprefix("=").strip()

        while True:
            for each in players:
                for line in ("boardsize 9", "clear_board", "komi 6.5"):
                    ask(each, line)
            moves: list[str] = []
            while len(moves) < PLIES and moves[-2:] != ["PASS", "PASS"]:
                color = "bw"[len(moves) % 2]
                moves.append(ask(players[len(moves) % 2], f"genmove {color}"))
                ask(players[len(moves) % 2], f"play {color} {moves[-1]}")
            yield len(moves)


def engines_here(agent: str, game: str, parameters: dict[str, Any]) -> Iterator[int]:
    """Yield the turns of games of two engines through the broker in process."""
    kinds = [plugins.find("environment", "openspiel")], [plugins.find("agent", agent)]
    with InProcess(*kinds) as experiment:
        players = [experiment.create(agent, parameters=parameters) for _ in range(2)]
        run = experiment.run(
            "openspiel",
            list(players),
            configuration={"game": game},
            episodes=100_000_000,
            seed=1,
            max_turns=PLIES,
        )
        for episode in run:
            if episode.reason not in ("terminated", "truncated"):
                raise BenchError(f"{episode.reason}: {episode.message}")
            yield episode.turns


def our_engine() -> Iterator[int]:
    """Yield the plies of games of ``dovetail uci --agent random`` against itself."""
    words = [sys.executable, "-m", "dovetail", "uci", "--agent", "random"]
    return bare_uci(*words, engines=1, go="go movetime 1000")


class _Model(BaseHTTPRequestHandler):
    """Answers every question with its first legal action, as a model behind an OpenAI-style server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _, _, choices = asked["messages"][-1]["content"].partition("Legal actions:\n")
        answer = {"message": {"content": f"ACTION: {choices.partition(':')[0]}"}}
        data = json.dumps({"choices": [answer], "usage": {"total_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _model(stack: ExitStack) -> str:
    server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), _Model))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def model_here() -> Iterator[int]:
    """Yield the turns of Connect Four between two agents that ask the model."""
    with ExitStack() as stack:
        os.environ["DOVETAIL_MODEL_URL"] = _model(stack)
        os.environ["DOVETAIL_MODEL"] = "first"
        kinds = [plugins.find("environment", "connect_four")], [LanguageModel]
        experiment = stack.enter_context(InProcess(*kinds))
        agents = [experiment.create("language-model") for _ in range(2)]
        run = experiment.run("connect_four", list(agents), episodes=100_000_000, seed=1)
        for episode in run:
            if episode.seats[0].refused or episode.reason != "terminated":
                raise BenchError(f"{episode.reason}: {episode.message}")
            yield episode.turns


def bare_model() -> Iterator[int]:
    """Yield requests of the same server, 20 at a time."""
    import httpx

    content = "Turn 3.\n" + "." * 200 + "\nLegal actions:\n3: column 3"
    body = {"model": "first", "messages": [{"role": "user", "content": content}]}
    with ExitStack() as stack:
        url = f"{_model(stack)}/chat/completions"
        client = stack.enter_context(httpx.Client())
        while True:
            for _ in range(20):
                client.post(url, json=body).raise_for_status()
            yield 20


CASES = [
    (
        f"stockfish by UCI, {NODES} nodes a move",
        lambda: engines_here("uci", "chess", {"nodes": NODES}),
        "stockfish, driven by lines",
        bare_uci,
    ),
    (
        "gnugo by GTP on 9x9, level 1",
        lambda: engines_here("gtp", GO, {"level": 1}),
        "gnugo, driven by lines",
        bare_gtp,
    ),
    (
        "random as a UCI engine",
        our_engine,
        "stockfish, 1 node, driven by the same lines",
        lambda: bare_uci(engines=1, go="go nodes 1"),
    ),
    (
        "connect_four between language models that answer at once",
        model_here,
        "requests to the same server",
        bare_model,
    ),
]
"""As in ``bench.bridges``."""
