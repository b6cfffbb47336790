"""``dovetail train tetris``: train Tetris players, and measure them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
import numpy as np
import typer

from dovetail.cli import common
from dovetail.peer.quoting import command
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.tetris.weights import PLAYERS, Features, Weights, size
from dovetail_agents.general.feature_network import handmade
from dovetail_agents.general.feature_network.genome import UnitNetwork, genes
from dovetail_agents.general.feature_network.saved import Genome
from dovetail_experiments.reports.output import write as put
from dovetail_experiments.statistics import mean
from dovetail_experiments.statistics.censored import censored
from dovetail_games.tetris import PIECES
from dovetail_studies.tetris import games, train
from dovetail_studies.tetris.searches import (
    CMAES,
    CrossEntropy,
    Noise,
    RememberedSearch,
    Search,
    noise,
)
from dovetail_studies.tetris.sliding import Sliding

PRESETS: dict[str, handmade.Preset] = {name: name for name in get_args(handmade.Preset)}
app = typer.Typer(
    add_completion=False, rich_markup_mode=None, help="Train Tetris players, and measure them."
)

Out = Annotated[Path, typer.Argument(help="The file to write; the agent's state.")]
Height = Annotated[int, typer.Option(min=4, max=40, help="Rows of the board.")]
Width = Annotated[int, typer.Option(min=4, max=30, help="Columns of the board.")]
Pieces = Annotated[str, typer.Option(help="Pieces that can come.")]
Most = Annotated[
    int, typer.Option(min=0, help="Maximum number of pieces of a game; 0 for no limit.")
]
Seed = Annotated[int, common.seed("Seed of the search and of all games.")]
Generations = Annotated[int, typer.Option(min=1)]
Each = Annotated[int, typer.Option("--games", min=1, help="Games of each candidate.")]
Final = Annotated[int, typer.Option(min=1, help="Games to evaluate each generation's result.")]
Workers = Annotated[int, typer.Option(min=1, help="Number of threads; the results are the same.")]
Set = Annotated[Features, typer.Option(help="Features of a board.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="Save the results that the search received here after each generation; if the file "
        "exists, continue from it. "
        "The other options must be the same, but for --generations."
    ),
]
Method = Literal["cross-entropy", "cma-es"]


def _command() -> str:
    return command("train", "tetris", *sys.argv[1:])


def _run(
    progress: Iterator[train.Generation],
    out: Path,
    bytes_of: Callable[[Any, dict[str, Any]], bytes],
    keep: str = "last",
    what: str = "rows",
    history: list[train.Generation] | None = None,
    checkpoint: Callable[[list[train.Generation]], None] = lambda history: None,
) -> None:
    if not out.parent.is_dir():
        raise DovetailError(f"cannot write {out}: there is no folder {out.parent}")
    begun = time.monotonic()
    history = [] if history is None else history
    for found in progress:
        history.append(found)
        typer.echo(f"{time.monotonic() - begun:7.0f} s  {found.text(what)}", err=True)
        if keep == "last" or train.best_of(history) is found:
            records = [each.record() for each in history]
            made = {"command": _command(), "generation": found.generation, "history": records}
            put(out, bytes_of(found.vector, made))
        checkpoint(history)


class _Generation(msgspec.Struct, forbid_unknown_fields=True):
    """Results of a search's generation, and the fields of its ``Progress``."""

    worth: list[float]
    vector: list[float]
    lines: float
    best: float
    average: float
    pieces: int


class _Checkpoint(
    msgspec.Struct, tag_field="checkpoint", tag="dovetail.search", forbid_unknown_fields=True
):
    version: Literal[1]
    generations: Annotated[list[_Generation], msgspec.Meta(min_length=1)]


def _resumed(found: RememberedSearch, path: Path) -> list[train.Generation]:
    """Restore a search to its state at a checkpoint; return the results until then.

    Raises:
        DovetailError: the file is not a checkpoint, or belongs to another search.
    """
    try:
        kept = msgspec.msgpack.decode(path.read_bytes(), type=_Checkpoint).generations
    except (msgspec.DecodeError, OSError) as error:
        raise DovetailError(f"{path} is not a checkpoint: {error}") from None
    other = f"{path} is a checkpoint of another search"
    same = "give the options with which it began, or another file"
    try:
        found.replay([each.worth for each in kept])
    except DovetailError as error:
        raise DovetailError(f"{other}: {error}; {same}") from None
    if not np.array_equal(found.mean, np.array(kept[-1].vector)):
        raise DovetailError(f"{other}: its vectors differ; {same}")
    return [
        train.Generation(
            number, np.array(each.vector), each.lines, each.best, each.average, each.pieces
        )
        for number, each in enumerate(kept, 1)
    ]


def _kept(found: RememberedSearch, history: list[train.Generation]) -> bytes:
    generations = [
        _Generation(worth, p.vector.tolist(), p.lines, p.best, p.average, p.pieces)
        for worth, p in zip(found.worths, history, strict=True)
    ]
    return msgspec.msgpack.encode(_Checkpoint(1, generations))


def _run_search(
    found: Search,
    player: Callable[[Any], games.Player],
    trials: train.Trials,
    generations: int,
    out: Path,
    bytes_of: Callable[[Any, dict[str, Any]], bytes],
    checkpoint: Path | None,
    keep: str = "last",
    what: str = "rows",
) -> None:
    history: list[train.Generation] = []
    told = RememberedSearch(found)
    if checkpoint is not None and checkpoint.exists():
        history = _resumed(told, checkpoint)
    progress = train.search(told, player, trials, generations, len(history))

    def save(history: list[train.Generation]) -> None:
        if checkpoint is not None:
            put(checkpoint, _kept(told, history))

    _run(progress, out, bytes_of, keep, what, history, save)


def _search(
    method: Method,
    start: Any,
    sigma: float,
    population: int,
    seed: int,
    elite: float,
    variance: Callable[[int], float],
    **options: Any,
) -> Search:
    if method == "cma-es":
        return CMAES(start, sigma, population, seed, **options)
    rng = np.random.default_rng(seed)
    spread = np.full(len(start), sigma**2)
    return CrossEntropy(start, spread, population, elite, rng, variance)


@app.command()
def weights(
    out: Out,
    method: Annotated[Method, typer.Option()] = "cross-entropy",
    features: Set = "dt-diversity",
    height: Height = 10,
    width: Width = 10,
    pieces: Pieces = PIECES,
    most: Most = 0,
    generations: Generations = 30,
    population: Annotated[int, typer.Option(min=2)] = 100,
    each: Each = 3,
    final: Final = 10,
    sigma: Annotated[float, typer.Option(help="Initial standard deviation.")] = 10.0,
    elite: Annotated[
        float, typer.Option(help="Cross-entropy: fraction of candidates that is selected.")
    ] = 0.1,
    noisy: Annotated[
        Noise, typer.Option("--noise", help="Cross-entropy: how variance is added.")
    ] = "constant",
    size_of_noise: Annotated[float, typer.Option("--noise-size")] = 4.0,
    seed: Seed = 1,
    workers: Workers = 1,
    checkpoint: Checkpoint = None,
) -> None:
    """Search for weights of tetris-player, from scratch."""
    start = np.zeros(size(features, width))
    found = _search(
        method, start, sigma, population, seed, elite, partial(noise, noisy, size=size_of_noise)
    )
    trials = train.Trials(games.TetrisGame(height, width, pieces, most), seed, each, final, workers)
    player = train.linear(features)

    def write(vector: Any, made: dict[str, Any]) -> bytes:
        return Weights(1, features, vector.tolist(), 0.0, width, made).bytes()

    _run_search(found, player, trials, generations, out, write, checkpoint)


@app.command()
def network(
    out: Out,
    method: Annotated[Method, typer.Option()] = "cma-es",
    vary: Annotated[train.Vary, typer.Option(help="The units' weights, or all genes.")] = "weights",
    start: Annotated[
        Literal["study", "exact", "learned", "half"],
        typer.Option(help="Units set by hand, or genes of 0.5 for six units."),
    ] = "study",
    genome: Annotated[Path | None, typer.Option(help="A genome file to begin from.")] = None,
    height: Height = 10,
    width: Width = 10,
    target: Annotated[int, typer.Option(help="Rows of the board that the file is for.")] = 20,
    pieces: Pieces = PIECES,
    most: Most = 0,
    generations: Generations = 30,
    population: Annotated[int, typer.Option(min=2)] = 50,
    each: Each = 10,
    final: Final = 20,
    sigma: Annotated[
        float, typer.Option(help="Initial standard deviation of weights or genes.")
    ] = 0.5,
    scales: Annotated[
        Literal["study", "gentle"],
        typer.Option(help="All genes: alike, or less of biases and weights than of choices."),
    ] = "gentle",
    diagonal: Annotated[bool, typer.Option()] = False,
    elitist: Annotated[bool, typer.Option()] = False,
    elite: Annotated[
        float, typer.Option(help="Cross-entropy: fraction of candidates that is selected.")
    ] = 0.1,
    seed: Seed = 1,
    workers: Workers = 1,
    checkpoint: Checkpoint = None,
) -> None:
    """Search for a feature network: CMA-ES over its genes as in the study, or over its weights."""
    board = handmade.PLANES, height, width
    if genome is not None:
        first = train.resized(_genome(genome).network(), height)
    elif start == "half":
        half = Genome.of_genes(np.full(6 * genes(height, width), 0.5), board)
        first = half.network()
    else:
        first = handmade.network(start, *board)
    options: dict[str, Any] = {"diagonal": diagonal, "elitist": elitist}
    if vary == "genome":
        options["bounds"] = (0.0, 1.0)
        if scales == "gentle":
            options["scales"] = train.gentle(len(first.units), height, width)
    begin = train.start_of(first, vary)
    found = _search(
        method, begin, sigma, population, seed, elite, partial(noise, "none", size=0.0), **options
    )
    trials = train.Trials(games.TetrisGame(height, width, pieces, most), seed, each, final, workers)
    player = train.networked(first, vary)

    def write(vector: Any, made: dict[str, Any]) -> bytes:
        learned = train.network_of(vector, first, vary)
        return Genome.of(train.resized(learned, target), made).bytes()

    _run_search(found, player, trials, generations, out, write, checkpoint)


@app.command("network-2048")
def network_2048(
    out: Out,
    units: Annotated[int, typer.Option(min=1)] = 6,
    most: Annotated[
        int, typer.Option(min=0, help="Maximum number of moves of a game; 0 for no limit.")
    ] = 0,
    generations: Generations = 100,
    population: Annotated[int, typer.Option(min=2)] = 50,
    each: Each = 10,
    final: Final = 50,
    sigma: Annotated[float, typer.Option(help="Initial standard deviation of genes.")] = 0.2,
    diagonal: Annotated[bool, typer.Option()] = True,
    elitist: Annotated[bool, typer.Option()] = False,
    seed: Seed = 1,
    workers: Workers = 1,
    checkpoint: Checkpoint = None,
) -> None:
    """Search for a feature network that plays 2048, by CMA-ES from genes of 0.5."""
    half = np.full(units * genes(4, 4), 0.5)
    first = Genome.of_genes(half, (handmade.PLANES, 4, 4)).network()
    options: dict[str, Any] = {"diagonal": diagonal, "elitist": elitist, "bounds": (0.0, 1.0)}
    found = CMAES(half, sigma, population, seed, **options)
    trials = train.Trials(games.TetrisGame(4, 4, most=most), seed, each, final, workers)
    player = train.sliding(first)

    def write(vector: Any, made: dict[str, Any]) -> bytes:
        return Genome.of_genes(vector, (handmade.PLANES, 4, 4), made).bytes()

    _run_search(found, player, trials, generations, out, write, checkpoint, "best", "points")


@app.command()
def lstd(
    out: Out,
    features: Set = "bertsekas",
    height: Height = 20,
    width: Width = 10,
    pieces: Pieces = PIECES,
    most: Most = 0,
    generations: Generations = 15,
    each: Each = 100,
    final: Final = 50,
    trace: Annotated[float, typer.Option("--lambda", min=0, max=1)] = 0.6,
    discount: Annotated[float, typer.Option(min=0.01, max=1)] = 1.0,
    ridge: Annotated[float, typer.Option(min=0)] = 1e-3,
    part: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Fraction of the way to the fitted weights at each update."
        ),
    ] = 1.0,
    keep: Annotated[
        Literal["best", "last"], typer.Option(help="Which generation to save.")
    ] = "best",
    seed: Seed = 1,
) -> None:
    """Learn a value by least squares, repeatedly from its own games: policy iteration."""
    value = train.Value(features, trace, discount)
    trials = train.Trials(games.TetrisGame(height, width, pieces, most), seed, each, final)
    start = train.first_weights(features, width)
    progress = train.least_squares(value, start, trials, generations, ridge, part)
    _run(progress, out, lambda vector, made: value.weights(vector, width, made).bytes(), keep)


@app.command()
def td(
    out: Out,
    features: Set = "bertsekas",
    height: Height = 20,
    width: Width = 10,
    pieces: Pieces = PIECES,
    most: Most = 0,
    generations: Generations = 30,
    each: Each = 50,
    final: Final = 50,
    trace: Annotated[float, typer.Option("--lambda", min=0, max=1)] = 0.6,
    discount: Annotated[float, typer.Option(min=0.01, max=1)] = 1.0,
    rate: Annotated[float, typer.Option(min=0, help="Initial step size.")] = 0.01,
    falling: Annotated[
        float, typer.Option(min=0, help="The step size is rate / (1 + falling * generation).")
    ] = 0.0,
    keep: Annotated[
        Literal["best", "last"], typer.Option(help="Which generation to save.")
    ] = "best",
    seed: Seed = 1,
) -> None:
    """Learn a value by TD(lambda)."""
    value = train.Value(features, trace, discount)
    trials = train.Trials(games.TetrisGame(height, width, pieces, most), seed, each, final)
    start = train.first_weights(features, width)
    sizes = train.scales(features, start, trials)
    progress = train.temporal_differences(
        value, start, trials, generations, lambda n: rate / (1 + falling * n), sizes
    )
    _run(progress, out, lambda vector, made: value.weights(vector, width, made).bytes(), keep)


def _genome(path: Path) -> Genome:
    try:
        return Genome.read(path.read_bytes())
    except OSError as error:
        raise DovetailError(f"cannot read {path}: {error.strerror}") from None


def _player(who: str, height: int, width: int, avoid: bool | None) -> games.Player:
    """Return a published player, the hand-made units, or the player of a file."""
    if who in PLAYERS:
        return games.LinearPlayer(PLAYERS[who], avoid is not False)
    board = handmade.PLANES, height, width
    made: UnitNetwork
    if who in PRESETS:
        made = handmade.network(PRESETS[who], *board)
        return games.Networked(made, bool(avoid))
    path = Path(who)
    try:
        data = path.read_bytes()
    except OSError as error:
        names = ", ".join([*PLAYERS, *PRESETS])
        raise DovetailError(
            f"{who} is neither one of {names} nor a file: {error.strerror}"
        ) from None
    try:
        kind = msgspec.json.decode(data).get("agent")
    except (msgspec.DecodeError, AttributeError):
        raise DovetailError(f"{who} was not written by a trainer") from None
    if kind == "dovetail.feature-network":
        found = Genome.read(data)
        made = train.resized(found.network(), height) if found.rows != height else found.network()
        return games.Networked(made, bool(avoid))
    read = Weights.read(data)
    read.check(width)
    return games.LinearPlayer(read, avoid is not False)


@app.command()
def measure(
    who: Annotated[
        str, typer.Argument(help="A published player; units: study, exact or learned; or a file.")
    ],
    count: Annotated[int, typer.Option("--games", min=1)] = 100,
    height: Height = 20,
    width: Width = 10,
    pieces: Pieces = PIECES,
    most: Most = 0,
    avoid: Annotated[
        bool | None,
        typer.Option(help="Avoid placements that end the game; weights do and networks do not."),
    ] = None,
    seed: Annotated[
        int, common.seed("Seed of the games; use another than in training.")
    ] = 1_000_001,
    workers: Workers = 1,
    game_2048: Annotated[bool, typer.Option("--2048", help="Play 2048 by a genome file.")] = False,
) -> None:
    """Play games; print the mean of the rows cleared, or of the score, with a 95 % interval."""
    player: games.Player
    if game_2048:
        player = Sliding(_genome(Path(who)).network())
        what, game = "2048", games.TetrisGame(most=most)
    else:
        player = _player(who, height, width, avoid)
        what, game = f"{height} x {width}", games.TetrisGame(height, width, pieces, most)
    results = games.play([player], game, games.seeds(seed, 0, count), workers)[0]
    unit = "points" if game_2048 else "rows"
    found = mean(results[:, 0].tolist())
    cut = count - int(results[:, 2].sum())
    low, middle, high = np.percentile(results[:, 0], [0, 50, 100])
    # The mean of truncated games is a lower bound; its interval does not apply to whole games.
    between = "" if cut or not found.known else f" ({found.low:.1f}..{found.high:.1f})"
    typer.echo(
        f"{who}, {what}, {count} games: {'at least ' if cut else ''}{found.value:.1f} {unit} a game"
        f"{between}; least {low:.0f}, median {middle:.0f}, most {high:.0f}"
    )
    if cut:
        typer.echo(
            f"{cut} of {count} games were cut short at {most} pieces; {_whole(results, unit)}"
        )


def _whole(results: games.Array, unit: str) -> str:
    """Describe the estimated means of whole games where some were truncated."""
    values = [float(max(1, each)) for each in results[:, 0]]
    found = censored(values, [not each for each in results[:, 2]], max(values)).mean
    if found is None:
        return "lengths do not fit an exponential law, so there is no estimate for whole games"
    if math.isinf(found.value):
        return f"whole games, by an exponential law: at least {found.low:.1f} {unit}"
    return (
        f"whole games, by an exponential law: {found.value:.1f} {unit} "
        f"({found.low:.1f}..{found.high:.1f})"
    )
