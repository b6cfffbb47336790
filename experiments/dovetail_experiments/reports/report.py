"""An experiment's report: a summary on the terminal and in a file, and learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from dovetail.protocol.seats import player
from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.reports import output
from dovetail_experiments.reports.plot import CurvePoint, learning_curves
from dovetail_experiments.reports.standings import standings
from dovetail_experiments.reports.table import curve_table, standings_table, summary
from dovetail_experiments.stages.schedule import Stage, StageResult
from dovetail_experiments.statistics import Tally

Curves = dict[str, list[CurvePoint]]


def write(file: ExperimentFile, played: Sequence[StageResult], folder: Path) -> None:
    """Show curves and a summary; write ``summary.txt`` and, after two evaluations, plots."""
    rows = [(each.stage, t) for each in played for t in each.tallies]
    tournaments = [standings(file, each, played) for each in file.tournaments]
    tables = [standings_table(each, full=True) for each in tournaments]
    output.tables(folder / "summary.txt", summary(file.name, rows, full=True), *tables)
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(width=120, highlight=False, markup=False)
    measure, found = curves(file, played)
    if any(len(points) > 1 for points in found.values()):
        console.print(curve_table(f"Learning curves: {measure}", found))
        paths = [folder / f"curves.{form}" for form in ("png", "svg", "pdf")]
        learning_curves(paths, file.name, measure, found)
    if file.phases or file.evaluations or file.leagues:
        console.print(summary("Before and after" if found else file.name, _ends(file, played)))
    for each in tournaments:
        console.print(standings_table(each))
    console.print(f"summary    {folder / 'summary.txt'}", soft_wrap=True)
    if (folder / "curves.png").is_file():
        console.print(f"curves     {folder / 'curves.png'}", soft_wrap=True)


def _ends(file: ExperimentFile, played: Sequence[StageResult]) -> list[tuple[Stage, Tally]]:
    """Return results that fit on a screen: the first and last evaluations, or else the phases."""
    evaluations = [each for each in played if each.stage.kind == "evaluation"]
    if not evaluations:
        phases = [each for each in played if each.stage.kind in ("phase", "league")]
        return [(each.stage, t) for each in phases for t in each.tallies]
    ends = (evaluations[0].stage.trained, evaluations[-1].stage.trained)
    return [
        (each.stage, t)
        for each in evaluations
        if each.stage.trained in ends
        for t in _of_interest(file, each)
    ]


def curves(file: ExperimentFile, played: Sequence[StageResult]) -> tuple[str, Curves]:
    """Return the measure, ``win rate`` or ``mean return``, and its points by label."""
    entries = [
        (f"{t.agent}, {player(t.seat)}: {each.stage.part.name}", each.stage.trained, t)
        for each in played
        if each.stage.kind == "evaluation"
        for t in _of_interest(file, each)
    ]
    wins = bool(entries) and all(t.decided for _, _, t in entries)
    found: Curves = {}
    for label, trained, t in entries:
        found.setdefault(label, []).append(
            CurvePoint(trained, t.win_rate if wins else t.mean_return)
        )
    return "win rate" if wins else "mean return", found


def _of_interest(file: ExperimentFile, played: StageResult) -> list[Tally]:
    """Return the learners' tallies or, without learners, all tallies."""
    learners = file.learners()
    found = played.tallies
    return [t for t in found if t.agent in learners] or found
