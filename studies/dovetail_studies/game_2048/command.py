"""``dovetail train 2048``: train a network for the agent, and measure it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dovetail.cli import common
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.game_2048 import saved
from dovetail_agents.games.game_2048.networks import Name
from dovetail_experiments.reports.output import write
from dovetail_experiments.statistics import mean, wilson
from dovetail_studies.game_2048.train import LearningRule, measure, train

SHAPE = (4, 4)
app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    help="Train n-tuple networks for 2048, and measure them.",
)


@app.command("train")
def train_command(
    out: Annotated[Path, typer.Argument(help="The file to write; the agent's state.")],
    network: Annotated[Name, typer.Option(help="Set of tuples.")] = "fives",
    exponents: Annotated[
        int | None, typer.Option(min=2, max=18, help="Tiles told apart; with 16 up to 32768.")
    ] = None,
    stages: Annotated[
        int, typer.Option(min=1, max=4, help="Sets of weights by the largest tile, from 8192 on.")
    ] = 1,
    games: Annotated[int, typer.Option(min=1, help="Number of training games.")] = 100_000,
    rate: Annotated[float, typer.Option(min=0, help="Learning rate of the network.")] = 1.0,
    coherent: Annotated[
        bool, typer.Option(help="Temporal coherence: a separate rate for each weight.")
    ] = True,
    first: Annotated[
        float, typer.Option(help="Initial value of every board; a high one is optimistic.")
    ] = 0.0,
    seed: Annotated[int, common.seed("Seed of the games.")] = 1,
    save_every: Annotated[
        int, typer.Option(min=0, help="Games between saves; 0 saves only at the end.")
    ] = 0,
) -> None:
    """Train a network and write it as a state that ntuple-2048 loads."""
    if not out.parent.is_dir():
        raise DovetailError(f"cannot write {out}: there is no folder {out.parent}")
    parameters = saved.NTupleParameters(network=network, exponents=exponents, stages=stages)
    found = parameters.layout(*SHAPE)
    weights = found.zeros()
    weights += np.float32(first / len(found.tables))

    def done(played: int) -> None:
        if played == games or (save_every and played % save_every == 0):
            write(out, saved.dump(parameters, SHAPE, weights, played))

    train(found, weights, SHAPE, games, seed, LearningRule(rate, coherent), done=done)


@app.command("measure")
def measure_command(
    file: Annotated[Path, typer.Argument(help="A state that training or the agent saved.")],
    games: Annotated[int, typer.Option(min=1)] = 1000,
    seed: Annotated[
        int, common.seed("Seed of the games; use another than in training.")
    ] = 1_000_001,
    plies: Annotated[int, typer.Option(min=1, max=4, help="Slides looked ahead.")] = 1,
) -> None:
    """Play games without learning; print scores and rates with 95 % intervals."""
    try:
        _, shape, found, weights, learned = saved.parse(file.read_bytes())
    except OSError as error:
        raise DovetailError(f"cannot read {file}: {error.strerror}") from None
    except DovetailError as error:
        raise DovetailError(f"{file}: {error}") from None
    if shape is None or found is None or weights is None:
        raise DovetailError(f"{file} has learned nothing")
    out = measure(found, weights, shape, games, seed, plies)
    score = mean(out[:, 0].tolist())
    typer.echo(f"learned from {learned} games; {games} games played")
    between = f" ({score.low:.0f}..{score.high:.0f})" if score.known else ""
    typer.echo(f"score {score.value:.0f}{between}")
    for exponent in range(9, int(out[:, 1].max()) + 1):
        rate = wilson(int((out[:, 1] >= exponent).sum()), games)
        typer.echo(f"{1 << exponent} in {rate.value:.1%} ({rate.low:.1%}..{rate.high:.1%})")
