"""Training of Tetris players: searches for weights and genomes, and values learned from games.

Each generator yields its current result after every generation, for the caller to show and save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.tetris.weights import KINDS, Features, Weights, size
from dovetail_agents.general.feature_network.genome import Unit, UnitNetwork, decode, encode, genes
from dovetail_studies.tetris import games, temporal
from dovetail_studies.tetris.searches import Search
from dovetail_studies.tetris.sliding import Sliding

Array = NDArray[Any]
Vary = Literal["weights", "genome"]
NOTHING: Array = np.empty(0)
"""Empty array for the step sizes of least squares and the vector of TD."""
LARGEST = 1e9
"""Absolute value of a weight beyond which learning has diverged."""
TEST = 1 << 20
"""First number of the generations whose games test the learned vector."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Results of one generation."""

    generation: int
    """Number of the generation, from 1."""
    vector: Array
    """Vector learned so far."""
    lines: float
    """Mean rows per game of that vector; in 2048, its mean score."""
    best: float
    """Mean rows per game of the generation's best candidate. For least squares and TD it equals
    ``lines``."""
    average: float
    """Mean over all candidates."""
    pieces: int
    """Number of pieces placed in this generation."""

    def text(self, what: str = "rows") -> str:
        """Return a line of progress.

        >>> Generation(3, np.zeros(2), 12.0, 30.5, 8.25, 4000).text()
        'generation 3: 12.0 rows a game; candidates 8.2 on average, 30.5 the best; 4000 pieces'
        """
        return (
            f"generation {self.generation}: {self.lines:.1f} {what} a game; candidates "
            f"{self.average:.1f} "
            f"on average, {self.best:.1f} the best; {self.pieces} pieces"
        )

    def record(self) -> list[float]:
        """Return a record for a file.

        It has the rows of the vector, the mean of the candidates, and the best candidate.
        """
        return [round(self.lines, 2), round(self.average, 2), round(self.best, 2)]


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials of candidates.

    All candidates of a generation play the same games; each generation plays different ones.
    """

    game: games.TetrisGame
    seed: int
    each: int
    """Number of games of each candidate."""
    final: int
    """Number of games that test the learned vector after each generation."""
    workers: int = 1


def search(
    found: Search,
    player: Callable[[Array], games.Player],
    trials: Trials,
    generations: int,
    first: int = 0,
) -> Iterator[Generation]:
    """Search for the vector whose player clears the most rows.

    Args:
        found: the search.
        player: the function that returns a vector's player.
        trials: the games and their seed.
        generations: the number of generations.
        first: the number of generations done before an interruption, which does not affect the
            others.
    """
    for generation in range(first, generations):
        asked = found.ask()
        seeds = games.seeds(trials.seed, generation, trials.each)
        players = [player(vector) for vector in asked]
        results = games.play(players, trials.game, seeds, trials.workers)
        worth = results[:, :, 0].mean(1)
        found.tell(worth)
        vector = found.mean.copy()
        seeds = games.seeds(trials.seed, TEST + generation, trials.final)
        last = games.play([player(vector)], trials.game, seeds, trials.workers)
        yield Generation(
            generation + 1,
            vector,
            float(last[:, :, 0].mean()),
            float(worth.max()),
            float(worth.mean()),
            int(results[:, :, 1].sum() + last[:, :, 1].sum()),
        )


# -- linear evaluations ----------------------------------------------------------------------------


def linear(features: Features, avoid: bool = True) -> Callable[[Array], games.Player]:
    """Return the player of a weight vector."""

    def player(vector: Array) -> games.Player:
        return games.LinearPlayer(Weights(1, features, vector.tolist()), avoid)

    return player


# -- feature networks ------------------------------------------------------------------------------


def resized(network: UnitNetwork, rows: int) -> UnitNetwork:
    """Return the network for a board of another height.

    Columns of filters gain or lose entries at the top.

    Raises:
        DovetailError: an entry to be lost is not 0.
    """

    def filters(unit: Unit) -> tuple[int, ...]:
        if unit.shape != "column":
            return unit.filter
        more = rows - network.rows
        if any(unit.filter[: max(0, -more)]):
            raise DovetailError(f"a column's filter does not fit on {rows} rows")
        return (0,) * more + unit.filter[max(0, -more) :]

    units = tuple(replace(unit, filter=filters(unit)) for unit in network.units)
    return replace(network, units=units, rows=rows)


def start_of(network: UnitNetwork, vary: Vary) -> Array:
    """Return the vector of a network: its units' weights, or all genes."""
    if vary == "weights":
        return np.array([unit.weight for unit in network.units])
    return encode(network)


def network_of(vector: Array, network: UnitNetwork, vary: Vary) -> UnitNetwork:
    """Return the network of a vector.

    The board is that of ``network``, and so are the units if only weights vary.
    """
    if vary == "weights":
        units = zip(network.units, vector.clip(-20, 20).tolist(), strict=True)
        return replace(network, units=tuple(replace(unit, weight=weight) for unit, weight in units))
    return decode(vector.clip(0, 1), network.planes, network.rows, network.columns)


def networked(network: UnitNetwork, vary: Vary) -> Callable[[Array], games.Player]:
    """Return the player of a vector."""
    return lambda vector: games.Networked(network_of(vector, network, vary))


def sliding(network: UnitNetwork) -> Callable[[Array], games.Player]:
    """Return the player of genes in 2048."""
    return lambda vector: Sliding(network_of(vector, network, "genome"))


def gentle(units: int, rows: int, columns: int) -> Array:
    """Return scales for genes under which a network survives its first generation (the study, 7.1).

    Biases and weights, which the genes stretch forty times, get a tenth of the standard deviation;
    the genes of choices get one half.
    """
    each = genes(rows, columns)
    out = np.full((units, each), 0.5)
    out[:, each - 10] = 0.1  # the bias
    out[:, each - 1] = 0.1  # the weight
    return out.ravel()


# -- values ----------------------------------------------------------------------------------------


def first_weights(features: Features, width: int) -> Array:
    """Return an initial value that keeps the wall low and without holes.

    It is -1 per row of height and -10 per hole. With weights of 0 a game ends before a row is
    cleared, so nothing is learned.
    """
    out = np.zeros(size(features, width))
    if features == "bertsekas":
        out[2 * width - 1], out[2 * width] = -1.0, -10.0
    elif features == "all":
        out[9 + 2 * width - 1], out[9 + 2 * width] = -1.0, -10.0
    else:
        out[0], out[4] = -1.0, -10.0
    return out


@dataclass(frozen=True, slots=True)
class Value:
    """Settings of a learned value; see ``temporal``."""

    features: Features
    trace: float
    discount: float
    avoid: bool = True

    def player(self, vector: Array) -> games.Player:
        """Return the player that evaluates positions with these weights."""
        return games.LinearPlayer(self.weights(vector), self.avoid)

    def weights(
        self, vector: Array, width: int = 10, made: dict[str, Any] | None = None
    ) -> Weights:
        """Return a value as a file that the agent loads."""
        reward = 1 / self.discount
        return Weights(1, self.features, vector.tolist(), reward, width, made or {})


def least_squares(
    value: Value, start: Array, trials: Trials, generations: int, ridge: float, part: float = 1.0
) -> Iterator[Generation]:
    """Learn by least squares.

    Each generation plays games by its value and fits the next value to them.

    Args:
        value: the settings of the value.
        start: the initial weights.
        trials: the games of a generation, ``each`` in number.
        generations: the number of generations.
        ridge: the number added to the diagonal.
        part: the step from the old towards the fitted weights, from 0 to 1.
    """
    weights = start.astype(np.float64)
    for generation in range(generations):
        matrix: Array = np.zeros((len(weights), len(weights)))
        vector: Array = np.zeros(len(weights))
        played = _played(value, trials, generation, weights, NOTHING, matrix, vector)
        fitted = temporal.solve(matrix, vector, ridge)
        weights = weights + part * (fitted - weights)
        yield _tried(value, weights, trials, generation, *played)


def scales(features: Features, start: Array, trials: Trials) -> Array:
    """Return the root mean square of each feature in games of a value, at least 1: float64.

    TD divides its step by the square, as if each feature were divided by it.
    """
    game = trials.game
    matrix: Array = np.zeros((len(start), len(start)))
    vector: Array = np.zeros(len(start))
    pieces = 0
    # With a discount that removes the next board, A is the sum of phi phi'.
    for seed in games.seeds(trials.seed, 2 * TEST, trials.each):
        played = (game.height, game.width, game.numbers(), game.most, seed, KINDS[features])
        given = (start, True, 0.0, 1e-12, NOTHING)
        pieces += temporal.game(*played, *given, matrix, vector)[1]
    return np.sqrt(np.maximum(matrix.diagonal() / max(pieces, 1), 1.0))


def temporal_differences(
    value: Value,
    start: Array,
    trials: Trials,
    generations: int,
    rate: Callable[[int], float],
    sizes: Array,
) -> Iterator[Generation]:
    """Learn by TD(lambda) while playing.

    Args:
        value: the settings of the value.
        start: the initial weights.
        trials: the games of a generation, ``each`` in number.
        generations: the number of generations.
        rate: the step size of a generation, counted from 0.
        sizes: the sizes of the features, from ``scales``.

    Raises:
        DovetailError: the weights diverge.
    """
    weights = start.astype(np.float64)
    for generation in range(generations):
        rates = rate(generation) / (len(weights) * sizes**2)
        none: Array = np.empty((0, 0))
        played = _played(value, trials, generation, weights, rates, none, NOTHING)
        if not np.isfinite(weights).all() or np.abs(weights).max() > LARGEST:
            raise DovetailError(
                f"TD has diverged in generation {generation + 1}; use a smaller rate"
            )
        yield _tried(value, weights, trials, generation, *played)


def _played(
    value: Value,
    trials: Trials,
    generation: int,
    weights: Array,
    rates: Array,
    matrix: Array,
    vector: Array,
) -> tuple[float, int]:
    game, numbers = trials.game, trials.game.numbers()
    lines, pieces = [], 0
    for seed in games.seeds(trials.seed, generation, trials.each):
        board = (game.height, game.width, numbers, game.most, seed, KINDS[value.features])
        how = (weights, value.avoid, value.trace, value.discount)
        cleared, placed, _ = temporal.game(*board, *how, rates, matrix, vector)
        lines.append(cleared)
        pieces += placed
    return float(np.mean(lines)), pieces


def _tried(
    value: Value, weights: Array, trials: Trials, generation: int, played: float, pieces: int
) -> Generation:
    seeds = games.seeds(trials.seed, TEST + generation, trials.final)
    last = games.play([value.player(weights)], trials.game, seeds, trials.workers)
    lines = float(last[:, :, 0].mean())
    placed = pieces + int(last[:, :, 1].sum())
    return Generation(generation + 1, weights.copy(), lines, lines, played, placed)


def best_of(found: Sequence[Generation]) -> Generation:
    """Return the generation whose vector cleared the most rows."""
    return max(found, key=lambda progress: progress.lines)
