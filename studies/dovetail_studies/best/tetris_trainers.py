"""Tetris: the package's trainers, each with several seeds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dovetail_agents.games.tetris.weights import PLAYERS, Weights
from dovetail_agents.general.feature_network import handmade
from dovetail_agents.general.feature_network.genome import UnitNetwork
from dovetail_agents.general.feature_network.saved import Genome
from dovetail_studies import rows
from dovetail_studies.learned import learned
from dovetail_studies.means import mean
from dovetail_studies.tetris import games, train
from dovetail_studies.tetris.rows import law, rows_of, uncut, unfitted, whole_games
from dovetail_studies.tetris.searches import CMAES

Board = Callable[[int], games.Player]
"""A function that returns the player for a board of ``rows`` rows and ten columns."""


def _networked(network: UnitNetwork, avoid: bool = False) -> Board:
    return lambda height: games.Networked(train.resized(network, height), avoid)


def _linear(name: str, avoid: bool = True) -> Board:
    return lambda _: games.LinearPlayer(PLAYERS[name], avoid)


def _units(name: handmade.Preset, height: int = 20) -> UnitNetwork:
    return handmade.network(name, handmade.PLANES, height, 10)


@dataclass(frozen=True)
class GenesTrainer:
    """Training of a feature network by CMA-ES."""

    start: handmade.Preset
    """Initial units of the network."""
    vary: train.Vary
    height: int
    """Rows of the training board."""
    generations: int
    population: int
    each: int = 5
    """Number of games per candidate."""
    sigma: float = 0.5

    def games(self, unit: rows.Unit) -> int:
        """Return the number of training games."""
        population = _less(unit, self.population)
        return _less(unit, self.generations) * (population * self.each + 1)

    def learn(self, unit: rows.Unit) -> bytes:
        """Return the search's final mean as a file that the agent loads."""
        first = _units(self.start, self.height)
        options: dict[str, Any] = {}
        if self.vary == "genome":
            scales = train.gentle(len(first.units), self.height, 10)
            options = {"diagonal": True, "elitist": True, "bounds": (0.0, 1.0), "scales": scales}
        generations, population = _less(unit, self.generations), _less(unit, self.population)
        begin = train.start_of(first, self.vary)
        search = CMAES(begin, self.sigma, population, unit["seed"], **options)
        trials = train.Trials(games.TetrisGame(self.height, 10), unit["seed"], self.each, 1)
        player = train.networked(first, self.vary)
        last = list(train.search(search, player, trials, generations))[-1]
        return Genome.of(train.network_of(last.vector, first, self.vary)).bytes()

    def board(self, state: bytes) -> Board:
        """Return the player of a state file."""
        return _networked(Genome.read(state).network())


@dataclass(frozen=True)
class ValueTrainer:
    """Training of a linear value of the 22 features on 20 x 10, with discount 0.95 and lambda 0."""

    squares: bool
    """True for least squares, false for TD."""
    generations: int
    each: int
    """Number of games per generation."""
    most: int
    """Maximum pieces of a game, after which it is truncated."""
    rate: float = 0.0
    """Step size of TD."""

    def games(self, unit: rows.Unit) -> int:
        """Return the number of training games."""
        each = _less(unit, self.each)
        return _less(unit, self.generations) * (each + 10) + (0 if self.squares else each)

    def learn(self, unit: rows.Unit) -> bytes:
        """Return the best generation's value as a file that the agent loads.

        The best generation cleared the most rows in ten held-out games.
        """
        value = train.Value("bertsekas", 0.0, 0.95)
        generations, each = _less(unit, self.generations), _less(unit, self.each)
        trials = train.Trials(games.TetrisGame(20, 10, most=self.most), unit["seed"], each, 10)
        start = train.first_weights("bertsekas", 10)
        if self.squares:
            progress = train.least_squares(value, start, trials, generations, 1e-3)
        else:
            sizes = train.scales("bertsekas", start, trials)
            progress = train.temporal_differences(
                value, start, trials, generations, lambda _: self.rate, sizes
            )
        return value.weights(train.best_of(list(progress)).vector).bytes()

    def board(self, state: bytes) -> Board:
        """Return the player of a state file."""
        weights = Weights.read(state)
        return lambda _: games.LinearPlayer(weights)


def _less(unit: rows.Unit, count: int) -> int:
    """Scale a number to the size of a run."""
    return max(4, count * int(unit["percent"]) // 100)


TRAINERS: dict[str, GenesTrainer | ValueTrainer] = {
    "22 features, TD(0)": ValueTrainer(False, 10, 50, 20_000, 0.3),
    "22 features, least squares": ValueTrainer(True, 5, 100, 50_000),
    "six units, weights by CMA-ES on 10 rows": GenesTrainer("study", "weights", 10, 10, 20),
    "six units, weights by CMA-ES on 14 rows": GenesTrainer("study", "weights", 14, 12, 16),
    "seven units, weights by CMA-ES on 10 rows": GenesTrainer("exact", "weights", 10, 10, 20),
    "six units, all genes by CMA-ES on 10 rows": GenesTrainer(
        "study", "genome", 10, 20, 50, sigma=0.05
    ),
}
FIXED: dict[str, Board] = {
    "`study`: six units by hand": _networked(_units("study")),
    "`study`, told": _networked(_units("study"), avoid=True),
    "`exact`: seven units by hand": _networked(_units("exact")),
    "`learned`: six units, the package's weights": _networked(_units("learned")),
    "`learned`, told": _networked(_units("learned"), avoid=True),
    "`bertsekas`: 22 features, the package's weights": _linear("bertsekas"),
    "`bertsekas`, not told": _linear("bertsekas", avoid=False),
    "`dellacherie`, not told": _linear("dellacherie", avoid=False),
}
"""Fixed players of the package, learned or not."""


def _work(unit: rows.Unit) -> rows.Result:
    found: rows.Result = {"games": unit["low"] + unit["high"]}
    if trainer := TRAINERS.get(unit["player"]):
        name = re.sub(r"\W+", "-", unit["player"])
        player = learned(f"{name}-{unit['seed']}", partial(trainer.learn, unit), trainer.board)
        found["games"] += trainer.games(unit)
    else:
        player = FIXED[unit["player"]]
    for key, game in (
        ("low", games.TetrisGame(10, 10)),
        ("high", games.TetrisGame(20, 10, most=unit["most"])),
    ):
        board = player(game.height)
        found[key] = rows_of(board, game, {"seed": unit["seed"], "games": unit[key]})
    return found


def _high(results: Sequence[rows.Result]) -> str:
    """Return the mean of untruncated games on 20 x 10."""
    return whole_games(uncut([each["high"] for each in results])[0])


def _seeds(results: Sequence[rows.Result]) -> str:
    """Return each training's mean in ascending order. A plus marks a training of which all games
    were truncated."""
    found = [uncut([each["high"]])[0] for each in results]
    values = sorted(
        (each.low, "+") if math.isinf(each.value) else (each.value, "") for each in found
    )
    return "; ".join(f"{value:,.0f}{more}" for value, more in values)


def _draw(done: rows.Done) -> rows.Drawn:
    lines, others = [], list[str]()
    for (name,), results in rows.by(done, "player").items():
        parts = (
            [[each["high"]] for each in results]
            if name in TRAINERS
            else [[each["high"] for each in results]]
        )
        others += [name] * any(map(unfitted, parts))
        low = rows.within(mean([float(np.mean(each["low"]["rows"])) for each in results]))
        high = _seeds(results) if name in TRAINERS else _high(results)
        ended = [each for result in results for each in result["high"]["ended"]]
        lines.append([name, rows.interval(low, 0), high, f"{ended.count(0)} of {len(ended)}"])
    unit = done[0][0]
    text = law(others)
    least = (
        " (*+*: at least, as all games were cut)" if any("+" in line[2] for line in lines) else ""
    )
    note = rows.remark(
        "best",
        "trainers",
        most=unit["most"],
        rows=unit["most"] * 2 // 5,
        law=text[0].lower() + text[1:],
        least=least,
    )
    columns = ["", "10 x 10", "20 x 10 (trained: by seed)", "games cut short"]
    shared = len({each["seed"] for each, _ in done}) * (unit["low"] + unit["high"])
    distinct = (
        f"not counted; after training, {shared:,} sequences of pieces, which the players share"
    )
    return rows.Drawn(columns, lines, rows.total(done, "games"), distinct, (), note)


CODE: rows.Code = (partial(rows.every, player=[*TRAINERS, *FIXED]), _work, _draw)
