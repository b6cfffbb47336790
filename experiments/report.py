"""What an experiment leaves: a summary on the terminal, the same as a file, and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from dovetail.experiments.file import ExperimentFile
from dovetail.experiments.plot import Point, learning_curves
from dovetail.experiments.progress import title
from dovetail.experiments.schedule import Played
from dovetail.experiments.statistics import Tally, tally
from dovetail.experiments.table import summary

Curves = dict[str, list[Point]]


def write(
    file: ExperimentFile, played: Sequence[Played], folder: Path, store: str, execution: int
) -> None:
    """Print the summary; write ``summary.txt`` and, if anything was evaluated twice, ``curves.png``."""
    rows = [(each, title(each.stage), tallies(each)) for each in played]
    with open(folder / "summary.txt", "w", encoding="utf-8") as text:
        Console(file=text, width=120).print(
            summary(file.name, [(name, t) for _, name, found in rows for t in found])
        )
    first, last = played[0].stage.trained, played[-1].stage.trained
    shown = [
        (name, t)
        for each, name, found in rows
        if each.stage.kind == "phase" or each.stage.trained in (first, last)
        for t in found
    ]
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(width=120, highlight=False)
    if len(shown) <= 40:
        console.print(summary(file.name, shown))
    wins, found = curves(file, played)
    lines = [f"results    {store} (execution {execution})", f"summary    {folder / 'summary.txt'}"]
    if any(len(points) > 1 for points in found.values()):
        measure = "win rate" if wins else "mean return"
        learning_curves(folder / "curves.png", file.name, measure, found)
        lines.append(f"curves     {folder / 'curves.png'}")
    console.print("\n".join(lines), soft_wrap=True)


def tallies(played: Played) -> list[Tally]:
    """Return what each agent did in each seat of a stage."""
    part = played.stage.part
    return tally(played.episodes, part.seats, rotate=part.rotate)


def curves(file: ExperimentFile, played: Sequence[Played]) -> tuple[bool, Curves]:
    """Return how the evaluated agents fared over time, by label: win rates, or else mean returns.

    Learners are shown; or, in an evaluation without one, everybody.
    """
    learners = file.learners()
    entries: list[tuple[str, int, Tally]] = []
    for each in played:
        if each.stage.kind != "evaluation":
            continue
        found = tallies(each)
        chosen = [t for t in found if t.agent in learners] or found
        entries += [
            (f"{t.agent}, seat {t.seat}: {each.stage.part.name}", each.stage.trained, t)
            for t in chosen
        ]
    wins = bool(entries) and all(t.decided for _, _, t in entries)
    result: Curves = {}
    for label, trained, t in entries:
        result.setdefault(label, []).append(Point(trained, t.win_rate if wins else t.mean_return))
    return wins, result
