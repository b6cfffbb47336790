"""The commands of the compiled Dominion study: ``dovetail train dominion``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from dovetail.cli import common
from dovetail.peer import options
from dovetail.protocol.errors import DovetailError
from dovetail_agents.games.dominion.q_learning import DominionQ, DominionQParameters
from dovetail_experiments.reports.output import write
from dovetail_experiments.statistics import wilson
from dovetail_games.dominion import Configuration
from dovetail_games.dominion.cards import CARDS, KINGDOM
from dovetail_studies.dominion import study as s

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Train dominion-q in compiled games, as the Dominion study does.",
)

Kingdom = Literal["study", "all"]
SNAPSHOT = 100_000
"""Games between two saved tables (L798-801)."""
Opponents = Annotated[
    str,
    typer.Option(
        help=(
            "Players by seat, with commas: random, money, greedy, blacksmith, chapel; one name "
            "stands for all."
        )
    ),
]
Players = Annotated[
    int, typer.Option(min=2, max=4, help="Number of players, including the learner.")
]
Cards = Annotated[
    Kingdom, typer.Option(help="study: Smithy and Chapel; all: the ten kingdom cards.")
]
Tie = Annotated[Literal["fair", "shared", "highest-seat"], typer.Option(help="Who wins a tie.")]
Games = Annotated[int, typer.Option(min=1, help="Total number of training games.")]
Every = Annotated[int, typer.Option(min=1, help="Training games before each test.")]
Tests = Annotated[int, typer.Option(min=1, help="Games of each test.")]
Again = Annotated[int, typer.Option(min=1, help="Games of a second test of the best table.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Set an option of dominion-q; may be repeated."
    ),
]
Seed = Annotated[int, common.seed("Seed of the table and of all games.")]
Points = Annotated[
    Path | None,
    typer.Option(dir_okay=False, help="Write the tests here, one line of JSON for each."),
]


def _game(players: int, kingdom: Kingdom, tie: str, **options: Any) -> Configuration:
    names = KINGDOM if kingdom == "all" else ("Smithy", "Chapel")
    return s.table_of(players, names, tie=tie, **options)


def _others(text: str, players: int) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    return names * (players - 1) if len(names) == 1 else names


def _parameters(given: list[str] | None, version: str = "12") -> DominionQParameters:
    found = {"version": version} | common.settings(given)
    found["version"] = str(found["version"])  # 12 and 14.5 are numbers too
    return options.read(DominionQParameters, found, "agent dominion-q")


def _percent(share: float, games: int) -> str:
    found = wilson(share * games, games)
    return f"{100 * share:.2f} ±{50 * (found.high - found.low):.2f}"


def _line(point: s.Point) -> None:
    print(
        f"{point.trained:>11,} games: {_percent(point.won, point.test.games)} %, "
        f"{point.test.rounds:.1f} rounds, {point.explored:,} entries, {point.passed:,} of them "
        f"{s.PASSES} times",
        flush=True,
    )


def _summary(study: s.TableTraining, points: list[s.Point], again: int) -> None:
    """Print the figures of the study's table 4.1.2 and the second test of the best table."""
    best = max(points, key=lambda point: point.won)
    good = s.first_good(points)
    print(f"best test: {100 * best.won:.2f} % at {best.trained:,} games")
    if good is not None:
        print(f"first good: {100 * good.won:.2f} % at {good.trained:,} games")
    print(f"mean of all tests: {100 * s.area(points):.2f} %")
    means = s.smoothed([100 * point.won for point in points])
    print("means of five tests each:", ", ".join(f"{each:.1f}" for each in means))
    last = points[-1]
    print(f"explored: {last.explored:,} entries, {last.passed:,} of them {s.PASSES} times")
    for tie in ("fair", "highest-seat"):
        game = msgspec.structs.replace(study.configuration, tie=tie)
        found = study.test(again, configuration=game)
        cards = ", ".join(
            f"{CARDS[kind].name} {mean:.2f}"
            for kind, mean in enumerate(found.cards[study.seat])
            if mean >= 0.005
        )
        print(
            f"tested again, ties {tie}: {_percent(found.share[study.seat], again)} %, "
            f"{found.points[study.seat]:.1f} points, {found.rounds:.2f} rounds; {cards}",
            flush=True,
        )


@app.command()
def train(
    opponents: Opponents = "greedy,blacksmith,chapel",
    players: Players = 4,
    kingdom: Cards = "study",
    tie: Tie = "fair",
    games: Games = 1_000_000,
    every: Every = 10_000,
    tests: Tests = 10_000,
    again: Again = 100_000,
    given: Set = None,
    seed: Seed = 1,
    resume: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Continue from a state that --last wrote.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write the best table here, as a state of dominion-q."),
    ] = None,
    last: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Write the table here at each test, to resume from."),
    ] = None,
    points: Points = None,
    snapshots: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder to write the table to every 100,000 games."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the summary only.")] = False,
) -> None:
    """Train and test in turn; --out writes a state that dominion-q loads.

    To play against it: dovetail play dominion --against dominion-q --state FILE
    """
    learner = DominionQ(_parameters(given), seed)
    if resume is not None:
        learner.load(_read(resume))
    study = s.TableTraining(
        learner, _game(players, kingdom, tie), _others(opponents, players), seed
    )
    if learner.episodes >= games:
        raise DovetailError(
            f"{resume} has learned from {learner.episodes:,} games already; --games is not more"
        )
    found: list[s.Point] = []
    encode = msgspec.json.encode

    def told(point: s.Point) -> None:
        if not quiet:
            _line(point)
        found.append(point)
        if last is not None:
            write(last, study.save())
        if snapshots is not None and point.trained % SNAPSHOT == 0:
            write(snapshots / f"{point.trained}.state", study.save())

    s.run(study, games, every, tests, told)
    if points is not None:
        write(points, b"".join(encode(point) + b"\n" for point in found))
    if out is not None:
        write(out, study.save())
    _summary(study, found, again)


@app.command("test")
def measure(
    states: Annotated[list[Path], typer.Argument(help="Files that train wrote.")],
    opponents: Opponents = "greedy,blacksmith,chapel",
    players: Players = 4,
    kingdom: Cards = "study",
    tie: Tie = "fair",
    again: Again = 100_000,
    seed: Seed = 1,
) -> None:
    """Test a saved table, or all tables of a folder."""
    game, others = _game(players, kingdom, tie), _others(opponents, players)
    for path in states:
        learner = DominionQ()
        learner.load(_read(path))
        study = s.TableTraining(learner, game, others, seed)
        found = study.test(again)
        print(
            f"{path.name}: {learner.episodes:,} games, "
            f"{_percent(found.share[study.seat], again)} %, "
            f"{found.rounds:.2f} rounds",
            flush=True,
        )


@app.command()
def tune(
    opponents: Opponents = "money",
    players: Players = 2,
    kingdom: Cards = "study",
    tie: Tie = "fair",
    games: Games = 500_000,
    every: Every = 10_000,
    tests: Tests = 10_000,
    given: Set = None,
    seed: Seed = 1,
) -> None:
    """Shrink the bounds of version 14.0 (or of another, with --set version) one after another."""
    parameters = _parameters(given, "14.0")

    def told(step: s.Step) -> None:
        bounds = ", ".join(f"{name} {bound}" for name, bound in step.bounds.items())
        means = ", ".join(f"{name} {mean:.2f}" for name, mean in step.means.items())
        print(
            (
                f"{_percent(step.won, tests)} %, {step.states:,} states; bounds {bounds}; means "
                f"{means}"
            ),
            flush=True,
        )

    s.tune(
        parameters,
        _game(players, kingdom, tie),
        _others(opponents, players),
        seed,
        games,
        every,
        tests,
        told,
    )


@app.command()
def bots(
    players: Annotated[str, typer.Argument(help="Players by seat, with commas.")],
    games: Annotated[int, typer.Option(min=1, help="Number of games.")] = 100_000,
    kingdom: Cards = "study",
    tie: Tie = "fair",
    played: Annotated[
        Literal["aside", "discard"],
        typer.Option(help="Where played cards lie until the end of the turn."),
    ] = "aside",
    seed: Seed = 1,
) -> None:
    """Play scripted players against each other (tables 3.3.1 and 3.3.2)."""
    names = [name.strip() for name in players.split(",")]
    if not 2 <= len(names) <= 4:
        raise DovetailError(f"{len(names)} players are named; 2 to 4 can play")
    game = _game(len(names), kingdom, tie, played=played)
    found = s.bots(game, names, games, seed)
    for name, share, points in zip(names, found.share, found.points, strict=True):
        print(f"{name}: {_percent(share, games)} %, {points:.2f} points")
    print(f"{found.rounds:.2f} rounds")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DovetailError(f"cannot read {path}: {error.strerror}") from None
