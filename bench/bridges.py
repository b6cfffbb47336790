"""``python -m bench.bridges``: turns per second of games across the bridges, compared with the bare loop of the library
or program.  ``bench.bridges_gdl`` measures game descriptions, agent files and MCP, ``bench.rlglue`` RL-Glue."""

from __future__ import annotations

import random
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from bench import bridges_programs
from bench.measure import BenchError, Measurement, alternate, isolated, steady
from bench.table import Figure, Row, as_markdown, for_terminal, machine
from dovetail import InProcess
from dovetail.peer import plugins

RESULTS = Path(__file__).resolve().parent / "bridges.md"
Episodes = Callable[[], Iterator[int]]


def _bare_gymnasium(name: str) -> Iterator[int]:
    import gymnasium

    env = gymnasium.make(name)
    env.action_space.seed(1)
    seed = 0
    while True:
        env.reset(seed=seed)
        seed, turns, done = seed + 1, 0, False
        while not done:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            done, turns = terminated or truncated, turns + 1
        yield turns


def _bare_pettingzoo(name: str) -> Iterator[int]:
    import pettingzoo

    env, rng, seed = pettingzoo.make("aec", name), random.Random(1), 0
    while True:
        env.reset(seed=seed)
        seed, turns = seed + 1, 0
        for agent in env.agent_iter():
            seen, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            masked = isinstance(seen, dict) and "action_mask" in seen
            actions = (
                np.flatnonzero(seen["action_mask"]) if masked else range(env.action_space(agent).n)
            )
            env.step(int(rng.choice(actions)))
            turns += 1
        yield turns


def _bare_openspiel(name: str) -> Iterator[int]:
    import pyspiel

    game, rng = pyspiel.load_game(name), random.Random(1)
    while True:
        state, turns = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
                continue
            state.observation_tensor(state.current_player())  # a player looks before it acts
            state.apply_action(rng.choice(state.legal_actions()))
            turns += 1
        yield turns


def _here(environment: str, configuration: dict[str, Any], seats: int) -> Iterator[int]:
    """Play a foreign environment through the broker in process, with our random player."""
    kinds = [plugins.find("environment", environment)], [plugins.find("agent", "random")]
    with InProcess(*kinds) as experiment:
        player = experiment.create("random")
        run = experiment.run(
            environment,
            [player] * seats,
            configuration=configuration,
            episodes=100_000_000,
            seed=1,
        )
        for episode in run:
            if episode.reason not in ("terminated", "truncated"):
                raise BenchError(f"{episode.reason}: {episode.message}")
            yield episode.turns


def _seat() -> Iterator[int]:
    """Our Connect Four as a Gymnasium environment, with a random opponent; turns of both seats."""
    import gymnasium

    import dovetail_bridges.gymnasium

    assert dovetail_bridges.gymnasium.ids()
    env, rng = gymnasium.make("dovetail/ConnectFour-v1", disable_env_checker=True), random.Random(1)
    seed: int | None = 1
    while True:
        _, info = env.reset(seed=seed)
        seed, done = None, False
        while not done:
            legal = np.flatnonzero(info["action_mask"])
            _, _, done, _, info = env.step(int(rng.choice(legal)))
        result = env.unwrapped._sitting.result
        yield result.turns


CASES: list[tuple[str, Episodes, str, Episodes]] = [
    (
        "Gymnasium's CartPole-v1 here",
        lambda: _here("gymnasium", {"id": "CartPole-v1"}, 1),
        "Gymnasium, bare loop",
        lambda: _bare_gymnasium("CartPole-v1"),
    ),
    (
        "Gymnasium's FrozenLake-v1 here",
        lambda: _here("gymnasium", {"id": "FrozenLake-v1"}, 1),
        "Gymnasium, bare loop",
        lambda: _bare_gymnasium("FrozenLake-v1"),
    ),
    (
        "PettingZoo's tictactoe-v3 here",
        lambda: _here("pettingzoo", {"id": "classic/tictactoe-v3"}, 2),
        "PettingZoo, bare loop",
        lambda: _bare_pettingzoo("classic/tictactoe-v3"),
    ),
    (
        "OpenSpiel's tic_tac_toe here",
        lambda: _here("openspiel", {"game": "tic_tac_toe"}, 2),
        "pyspiel, bare loop",
        lambda: _bare_openspiel("tic_tac_toe"),
    ),
    (
        "OpenSpiel's kuhn_poker here",
        lambda: _here("openspiel", {"game": "kuhn_poker"}, 2),
        "pyspiel, bare loop",
        lambda: _bare_openspiel("kuhn_poker"),
    ),
    (
        "OpenSpiel's go(board_size=9) here",
        lambda: _here("openspiel", {"game": "go(board_size=9)"}, 2),
        "pyspiel, bare loop",
        lambda: _bare_openspiel("go(board_size=9)"),
    ),
    (
        "our connect_four as a Gymnasium seat",
        _seat,
        "broker in process, both seats agents",
        lambda: _here("connect_four", {}, 2),
    ),
    (
        "our connect_four in PettingZoo (AEC)",
        lambda: _ours_in_pettingzoo(),
        "PettingZoo's connect_four-v3",
        lambda: _bare_pettingzoo("classic/connect_four-v3"),
    ),
    *bridges_programs.CASES,
]


def _ours_in_pettingzoo() -> Iterator[int]:
    import dovetail_bridges.pettingzoo

    assert dovetail_bridges.pettingzoo.ids()
    yield from _bare_pettingzoo("dovetail/ConnectFour-v1")


def _measure(case: int, which: int, seconds: float) -> float:
    episodes = CASES[case][1 + 2 * which]
    assert callable(episodes)
    return steady(episodes(), seconds)


def _isolated(case: int, which: int) -> Measurement:
    import functools

    return isolated(functools.partial(_measure, case, which))


def main(
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds for each measurement.")] = 1.5,
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements of each.")] = 3,
) -> None:
    """Measure turns per second across the bridges, beside the bare loops."""
    console = Console(stderr=True)
    notes = [f"each measured {repeats} times for {seconds:g} s, alternating within each row"]
    rows: list[Row] = []
    failed = False
    for number, (name, _, reference, _) in enumerate(CASES):
        subjects = {name: _isolated(number, 0), reference: _isolated(number, 1)}
        figures, why = alternate(subjects, seconds, repeats, console.print)
        for each, text in why.items():
            notes.append(f"{each}: failed: {text}")
            failed = True
        mine = Figure.of(figures[name]) if name in figures else None
        theirs = Figure.of(figures[reference]) if reference in figures else None
        rows.append(Row(name, mine, reference, theirs))
    shown = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    shown.print(for_terminal(rows))
    for line in (*machine(), *notes):
        shown.print(line, markup=False)
    command = shlex.join(["python", "-m", "bench.bridges", *sys.argv[1:]])
    RESULTS.write_text(as_markdown(rows, notes, command), encoding="utf-8")
    shown.print(f"written to {RESULTS}", markup=False)
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
