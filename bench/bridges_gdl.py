"""Descriptions, agent files and MCP seats, each beside the same thing without the bridge.

``python -m bench.bridges_gdl [SECONDS [ROUNDS]]``; medians of rounds that alternate between the cases.

- gdl GAME: a random game by the rules engine alone, through the broker in process with two random agents, and (reference) in OpenSpiel.
- kaggle: an agent file that takes the first free column, called in its own process, and called directly.
- mcp: ``act`` and ``observe`` of one seat in process by the official client, and by calls of the table itself.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

GAMES = ("tic_tac_toe", "connect_four", "othello")
FILE = """
def agent(observation, configuration):
    return [c for c in range(configuration.columns) if observation.board[c] == 0][0]
"""


def engine(game: str, seconds: float) -> float:
    """Return joint moves per second of the rules engine."""
    from dovetail_bridges.gdl.environment import rules_of
    from dovetail_bridges.gdl.game import Game

    rules, rng = Game(rules_of(game)), random.Random(1)

    def play() -> int:
        state, turns = rules.start(), 0
        while not state.terminal:
            state, _ = state.after({role: rng.choice(moves) for role, moves in state.legal.items()})
            turns += 1
        return turns

    return _rate(play, seconds)


def broker(game: str, seconds: float) -> float:
    """Return turns per second through the broker in process."""
    from dovetail import InProcess
    from dovetail.peer.agents.random_agent import Random
    from dovetail_bridges.gdl import GDL

    with InProcess([GDL], [Random]) as experiment:
        agents = [experiment.create("random", seed=seed) for seed in (1, 2)]

        def play() -> int:
            run = experiment.run("gdl", agents, configuration={"game": game}, episodes=10)
            return sum(episode.turns for episode in run)

        return _rate(play, seconds)


def openspiel(game: str, seconds: float) -> float:
    """Return turns per second of OpenSpiel's game in a bare loop."""
    import pyspiel

    rules, rng = pyspiel.load_game(game), random.Random(1)

    def play() -> int:
        state, turns = rules.new_initial_state(), 0
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
            turns += 1
        return turns

    return _rate(play, seconds)


def kaggle(bridged: bool, seconds: float) -> float:
    """Return decisions per second of an agent file."""
    from dovetail.peer import registry
    from dovetail.peer.agents.agent import Decision, Seat
    from dovetail_bridges.kaggle import Kaggle, views, worker
    from dovetail_bridges.kaggle.agent import KaggleParameters
    from dovetail_games.connect_four import ConnectFour

    environment = ConnectFour()
    spec = environment.init()
    seen = environment.start(0).seats[0]
    legal = seen.legal if isinstance(seen.legal, list) else None
    decision = Decision(
        Seat(1, 0, spec), 1, 0, seen.observation, legal, 0.0, "evaluate", random.Random(1)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.py"
        path.write_text(FILE)
        if not bridged:
            function = worker.load(str(path))

            def direct() -> int:
                function(*map(worker.structure, views.view(decision, 4)))
                return 1

            return _rate(direct, seconds)
        registry.register("policy", "bench", str(path))
        agent = Kaggle(KaggleParameters("bench"))

        def ask() -> int:
            agent.step(decision)
            return 1

        try:
            return _rate(ask, seconds)
        finally:
            agent.cleanup()


def mcp(bridged: bool, seconds: float) -> float:
    """Return the decisions per second of one open seat."""
    from dovetail_bridges.table import Table

    with Table("connect_four", [0], ["random"], seed=1, games=1_000_000) as table:
        if not bridged:

            def call() -> int:
                seen = table.observe(0, 10)
                if seen["over"]:
                    table.again(0)
                    return 0
                table.act(0, seen["legal_actions"][0]["action"], seen["turn"])
                return 1

            return _rate(call, seconds)
        return asyncio.run(_client(table, seconds))


async def _client(table: Any, seconds: float) -> float:
    from mcp import Client

    from dovetail_bridges.mcp.server import server

    async with Client(server(table, 0)) as client:

        async def call(tool: str, **arguments: Any) -> Any:
            return (await client.call_tool(tool, arguments)).structured_content

        begun, turns = time.perf_counter(), 0
        while (now := time.perf_counter()) - begun < seconds:
            seen = await call("observe", wait_seconds=10)
            if seen["over"]:
                await call("new_game")
                continue
            await call("act", action=seen["legal_actions"][0]["action"], turn=seen["turn"])
            turns += 1
        return turns / (now - begun)


def _rate(play: Callable[[], int], seconds: float) -> float:
    play()
    begun, turns = time.perf_counter(), 0
    while (now := time.perf_counter()) - begun < seconds:
        turns += play()
    return turns / (now - begun)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    cases: dict[str, Callable[[float], float]] = {}
    for game in GAMES:
        cases[f"gdl {game}, rules engine"] = partial(engine, game)
        cases[f"gdl {game}, through the broker"] = partial(broker, game)
        cases[f"gdl {game}, OpenSpiel bare"] = partial(openspiel, game)
    cases["kaggle, in its process"] = partial(kaggle, True)
    cases["kaggle, called directly"] = partial(kaggle, False)
    cases["mcp, by the client"] = partial(mcp, True)
    cases["mcp, calls of the table"] = partial(mcp, False)
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, measure in cases.items():
            found[name].append(measure(seconds))
    for name, rates in found.items():
        low, high = min(rates), max(rates)
        print(f"{name:36} {statistics.median(rates):9,.0f}/s  ({low:,.0f} to {high:,.0f})")


if __name__ == "__main__":
    main()
