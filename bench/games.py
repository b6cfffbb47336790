"""``python -m bench.games``: random-play moves per second of each game's bare rules, of its environment, and
through the broker in process, compared with OpenSpiel and PettingZoo where they have the game.

``--stacked`` measures many episodes at once instead, as arrays beside one by one.
"""

from __future__ import annotations

import functools
import importlib.util
import random
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from bench import pettingzoo_reference
from bench.measure import BenchError, Measurement, alternate, isolated, steady
from bench.table import Figure, Row, as_markdown, for_terminal, machine
from dovetail import InProcess
from dovetail.peer import options, plugins
from dovetail.peer.environments.vector import Copies
from dovetail.peer.vector_random import Twisters
from dovetail.protocol import legal as masks
from dovetail_games.amazons import AmazonsBoard as Amazons
from dovetail_games.amazons import start_position
from dovetail_games.connect_four import ConnectFourBoard as ConnectFour
from dovetail_games.dominion import Configuration
from dovetail_games.dominion import DominionGame as Dominion
from dovetail_games.dots import DotsBoard as Dots
from dovetail_games.game_2048 import Board2048 as Game2048
from dovetail_games.rlgame import RLGameBoard as RLGame
from dovetail_games.tetris import TetrisBoard as Tetris
from dovetail_games.tetris import features

RESULTS = Path(__file__).resolve().parent / "games.md"
Episodes = Callable[[random.Random], Iterator[int]]


def _pick(legal: Any, rng: random.Random) -> Any:
    return legal[int(rng.random() * len(legal))]


def connect_four(rng: random.Random) -> Iterator[int]:
    """Yield the moves of each random game, as all of these do."""
    while True:
        board = ConnectFour()
        while not board.over:
            board.drop(_pick(board.legal(), rng))
        yield board.moves


def dots(rng: random.Random) -> Iterator[int]:
    while True:
        board, moves = Dots(), 0
        while not board.over:
            board.draw(_pick(board.free, rng))
            moves += 1
        yield moves


def rlgame(rng: random.Random) -> Iterator[int]:
    while True:
        board = RLGame()
        while not board.over:
            board.play(_pick(board.legal(), rng))
        yield board.moves


def amazons(rng: random.Random) -> Iterator[int]:
    """Whole moves, on 6 x 6 as OpenSpiel's."""
    start = start_position(6, 6)
    while True:
        board, moves = Amazons(start), 0
        while not board.over:
            board.play(int(_pick(board.moves(), rng)))
            moves += 1
        yield moves


def amazons_steps(rng: random.Random) -> Iterator[int]:
    """Whole moves, each chosen in two steps, as OpenSpiel's are in three."""
    start = start_position(6, 6)
    while True:
        board, actions = Amazons(start, steps=True), 0
        while not board.over:
            board.play(int(_pick(board.moves(), rng)))
            actions += 1
        yield actions // 2


def dominion(rng: random.Random) -> Iterator[int]:
    while True:
        game, moves = Dominion(Configuration(), rng), 0
        while not game.over:
            game.act(_pick(game.legal(), rng))
            moves += 1
        yield moves


def tetris(rng: random.Random) -> Iterator[int]:
    while True:
        board = Tetris(rng=rng)
        while not board.over:
            board.place(_pick(board.legal(), rng))
            board.piece = board.draw()
        yield board.placed


def game_2048(rng: random.Random) -> Iterator[int]:
    while True:
        board, moves = Game2048(rng=rng), 0
        while not board.over:
            board.play(_pick(board.legal(), rng))
            board.appear()
            moves += 1
        yield moves


def open_spiel(game: str, actions_a_move: int, rng: random.Random) -> Iterator[int]:
    """Drive OpenSpiel's C++ rules from Python; chance is drawn evenly from its outcomes."""
    import pyspiel

    loaded = pyspiel.load_game(game)
    while True:
        state, actions = loaded.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
                continue
            state.apply_action(_pick(state.legal_actions(), rng))
            actions += 1
        yield actions // actions_a_move


@dataclass(frozen=True)
class Subject:
    """One of our games, and the game it is compared with."""

    name: str
    rules: Episodes
    configuration: dict[str, Any]
    reference: str | None = None
    """OpenSpiel's name of it."""
    actions_a_move: int = 1


SUBJECTS = [
    Subject("connect_four", connect_four, {}, "connect_four"),
    Subject("amazons", amazons, {"rows": 6, "columns": 6}, "amazons", 3),
    Subject("dots", dots, {}, "dots_and_boxes(num_rows=3,num_cols=3)"),
    Subject("2048", game_2048, {}, "2048"),
    Subject("rlgame", rlgame, {}),
    Subject("dominion", dominion, {}),
    Subject("tetris", tetris, {}),
]


def _rules(episodes: Episodes, seconds: float) -> float:
    return steady(episodes(random.Random(1)), seconds, warm_up=2.0)


def _environment(subject: Subject, seconds: float) -> float:
    return steady(_served(subject, random.Random(1)), seconds, warm_up=2.0)


def _served(subject: Subject, rng: random.Random) -> Iterator[int]:
    kind = plugins.find("environment", subject.name)
    game = kind(options.read(kind.Configuration, subject.configuration, subject.name))
    seed = 0
    while True:
        turn, moves = game.start(seed), 0
        seed += 1
        while turn.to_act:
            seat = turn.to_act[0]
            view = next(view for view in turn.seats if view.seat == seat)
            legal = masks.unmask(view.legal) if isinstance(view.legal, bytes) else view.legal
            turn = game.step({seat: _pick(legal, rng)})
            moves += 1
        yield moves


SLOTS = 256
"""Episodes at once in the rows of ``--stacked``."""


def many(subject: Subject, *, arrays: bool) -> Iterator[int]:
    """Yield the turns of each batch of ``SLOTS`` episodes: as arrays, or a copy for each slot."""
    kind = plugins.find("environment", subject.name)
    configuration = options.read(kind.Configuration, subject.configuration, subject.name)
    made = kind.vector(configuration, SLOTS) if arrays else None
    game = made or Copies(kind, configuration, SLOTS)
    space: Any = game.init().action_spaces[0]
    players = Twisters(SLOTS)
    slots = np.arange(SLOTS, dtype=np.int32)
    game.start(slots, slots.astype(np.uint64))
    found, batch = game.transitions(slots, afterstates=False), 0
    while True:
        ended = slots[found.over != 0] if found.over is not None else slots[:0]
        if len(ended):
            game.start(ended, ended.astype(np.uint64) + SLOTS * (1 + batch))
        if len(found.rows):
            if found.legal is None:
                actions = players.number(found.rows, space.start, space.n)
            else:
                actions = players.choose(found.rows, found.legal)
            game.step(found.rows, found.seats, actions)
        yield len(found.rows)
        found, batch = game.transitions(slots, afterstates=False), batch + 1


def _many(subject: Subject, seconds: float, *, arrays: bool) -> float:
    """Turns a second of processor time."""
    turns = many(subject, arrays=arrays)
    return steady(turns, seconds, warm_up=1.0, clock=time.process_time)


def _through_the_broker(
    subject: Subject,
    seconds: float,
    concurrency: int = 1,
    *,
    stacked: bool = False,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    environment = plugins.find("environment", subject.name)
    agent = plugins.find("agent", "random")

    def turns() -> Iterator[int]:
        with InProcess([environment], [agent]) as experiment:
            seats = (
                environment(options.read(environment.Configuration, subject.configuration, ""))
                .init()
                .seats
            )
            player = experiment.create("random")
            run = experiment.run(
                subject.name,
                [player] * seats,
                configuration=subject.configuration,
                episodes=10_000_000,
                seed=1,
                concurrency=concurrency,
                stacked=stacked,
            )
            for episode in run:
                if episode.reason not in ("terminated", "truncated"):
                    raise BenchError(f"{episode.reason}: {episode.message}")
                yield episode.turns

    return steady(turns(), seconds, concurrency, 2.0, clock)


def _spiel(game: str, actions_a_move: int, seconds: float) -> float:
    return steady(open_spiel(game, actions_a_move, random.Random(1)), seconds)


def _features(seconds: float) -> float:
    """Afterstates a second with the eight features, greedy play by Dellacherie's weights."""

    def counts() -> Iterator[int]:
        weights = np.array(features.DELLACHERIE)
        seed = 0
        while True:
            board = Tetris(rng=random.Random(seed))
            seed += 1
            for _ in range(500):
                found, over = features.after_all(board)
                values = np.where(over, -np.inf, found @ weights)
                board.place(board.legal()[int(values.argmax())])
                yield len(found)
                if board.over:
                    break
                board.piece = board.draw()

    return steady(counts(), seconds, warm_up=2.0)


def _features_alone(seconds: float) -> float:
    """Afterstates a second, the features alone, of walls from such play."""
    walls = []
    board = Tetris(rng=random.Random(1))
    for _ in range(200):
        found, over = features.after_all(board)
        values = np.where(over, -np.inf, found @ np.array(features.DELLACHERIE))
        board.place(board.legal()[int(values.argmax())])
        board.piece = board.draw()
        walls.append((board.wall.copy(), board.piece))

    def counts() -> Iterator[int]:
        while True:
            total = 0
            for wall, piece in walls:
                board.wall, board.piece = wall, piece
                total += len(features.after_all(board)[0])
            yield total

    return steady(counts(), seconds, warm_up=2.0)


def _stacked(
    game: list[str] | None, seconds: float, repeats: int, notes: list[str], console: Console
) -> None:
    """Print the games as arrays beside copies, and random players in groups beside single matches."""
    rows = []
    for subject in SUBJECTS:
        if game and subject.name not in game:
            continue
        clocked = functools.partial(_through_the_broker, subject, clock=time.process_time)
        pairs: list[tuple[str, Measurement, str, Measurement]] = [
            (
                f"{subject.name}, {SLOTS} slots as arrays",
                functools.partial(_many, subject, arrays=True),
                "a copy in each slot",
                functools.partial(_many, subject, arrays=False),
            ),
            (
                f"{subject.name}, groups of {SLOTS}, broker in process",
                functools.partial(clocked, concurrency=SLOTS, stacked=True),
                f"{SLOTS} single matches",
                functools.partial(clocked, concurrency=SLOTS),
            ),
        ]
        for case, ours, reference, theirs in pairs:
            subjects = {case: isolated(ours), reference: isolated(theirs)}
            figures, why = alternate(subjects, seconds, repeats, console.print)
            notes += [f"{case}, {name}: failed: {text}" for name, text in why.items()]
            found = {name: Figure.of(values) for name, values in figures.items()}
            rows.append(Row(case, found.get(case), reference, found.get(reference)))
    notes.append("turns per second of processor time; random players")
    shown = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    shown.print(for_terminal(rows))
    for line in (*machine(), *notes):
        shown.print(line, markup=False)


def main(
    game: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated.")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Seconds for each measurement.")] = 1.5,
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements of each.")] = 3,
    stacked: Annotated[
        bool, typer.Option("--stacked", help="Measure many episodes at once, by processor time.")
    ] = False,
) -> None:
    """Measure random-play moves per second of every game beside other libraries' versions."""
    console = Console(stderr=True)
    notes = [f"each measured {repeats} times for {seconds:g} s, alternating between the subjects"]
    if stacked:
        _stacked(game, seconds, repeats, notes, console)
        return
    spiel = importlib.util.find_spec("pyspiel") is not None
    zoo = pettingzoo_reference.missing()
    if not spiel:
        notes.append("OpenSpiel skipped: not installed (the extra `bench` has it)")
    if zoo:
        notes.append(zoo)
    rows: list[Row] = []
    failed = False
    for subject in SUBJECTS:
        if game and subject.name not in game:
            continue
        ours: dict[str, Measurement] = {
            f"{subject.name}, bare rules": isolated(functools.partial(_rules, subject.rules)),
            f"{subject.name}, environment": isolated(functools.partial(_environment, subject)),
            f"{subject.name}, broker in process": isolated(
                functools.partial(_through_the_broker, subject)
            ),
        }
        if subject.name == "amazons":
            ours["amazons, bare rules in steps"] = isolated(
                functools.partial(_rules, amazons_steps)
            )
        if subject.name == "tetris":
            ours["tetris, afterstates with 8 features"] = isolated(_features_alone)
            ours["tetris, afterstates in greedy play"] = isolated(_features)
        theirs: dict[str, Measurement] = {}
        if subject.reference and spiel:
            theirs[f"OpenSpiel {subject.reference}"] = isolated(
                functools.partial(_spiel, subject.reference, subject.actions_a_move)
            )
        if subject.name == "connect_four" and not zoo:
            theirs[pettingzoo_reference.NAME] = isolated(pettingzoo_reference.moves_per_second)
        figures, why = alternate(ours | theirs, seconds, repeats, console.print)
        for name, text in why.items():
            notes.append(f"{name}: failed: {text}")
            failed = True
        for case in ours:
            mine = Figure.of(figures[case]) if case in figures else None
            for reference in theirs or [""]:
                other = Figure.of(figures[reference]) if reference in figures else None
                rows.append(Row(case, mine, reference, other))
    shown = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    shown.print(for_terminal(rows))
    for line in (*machine(), *notes):
        shown.print(line, markup=False)
    if not game:
        command = shlex.join(["python", "-m", "bench.games", *sys.argv[1:]])
        RESULTS.write_text(as_markdown(rows, notes, command))
        shown.print(f"written to {RESULTS}", markup=False)
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
