"""Learning curves of the Dominion study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from dovetail_studies.curves import LearningCurve, Panel, Picture, PrintedMark, means
from dovetail_studies.dominion.learning import BOTH, METHODS, by_setting
from dovetail_studies.rows import PERCENT, Done, Result, Unit, by, by_what

ACROSS = "training games"
MEASURE = "wins in tests, %"
BOUNDS: dict[str, dict[str, str]] = {
    "Copper": {"1": "up to 9", "2": "not counted", "3": "up to 8"},
    "Smithy": {"3": "up to 2", "4": "up to 1", "5": "not counted"},
    "Gold": {"6": "up to 1", "4": "up to 2", "7": "up to 3"},
    "Silver": {"8": "up to 2", "4": "up to 3", "9": "up to 4", "10": "up to 5"},
    "turn": {"9": "up to 34", "12": "up to 12"},
}
"""Families of figures 4.5 to 4.9 and A1.1 to A1.5 (section 4.2). Each family maps its versions to
the values of the count that they vary."""


MEANS = 5
"""Number of tests averaged into a point, in the study's plots and in kept trainings."""
POINTS = 25
"""Maximum points of a curve in a picture with many panels."""


def _curve(name: str, unit: Unit, results: Sequence[Result], of: int = 1) -> LearningCurve:
    """Return the curve of trainings, with several kept points averaged into one."""
    across = list(means(-(-unit["games"] // unit["every"]), unit["every"], MEANS))
    runs = [[100 * each for each in result["curve"]] for result in results]
    return LearningCurve(name, _together(across, of), [_together(run, of) for run in runs])


def _together(values: Sequence[float], of: int) -> list[float]:
    return [fmean(values[first : first + of]) for first in range(0, len(values), of)]


def _of(done: Done) -> int:
    """Return the number of kept points per point in a picture with many panels."""
    most = max(len(result["curve"]) for _, result in done)
    return -(-most // POINTS)


def _text(done: Done, of: int = 1) -> str:
    games = " or ".join(dict.fromkeys(f"{unit['tests']:,}" for unit, _ in done))
    alike = ", as in the study's plots" * (of == 1)
    return f"A point is the mean of {MEANS * of} tests of {games} games each{alike}."


def _curves(done: Done, of: int = 1) -> dict[tuple[str, int], LearningCurve]:
    units = {(unit["version"], unit["visits"]): unit for unit, _ in done}
    return {
        (version, visits): _curve(version, units[version, visits], results, of)
        for (version, visits), results in by(done, "version", "visits").items()
    }


def methods(done: Done, best: Mapping[int, Sequence[float]]) -> Picture:
    """Draw both methods by setting, beside the percentage and games of the study's best tests."""
    found = [
        _curve(f"{METHODS[visits]}{setting}".replace("*", ""), trained[0][0], results)
        for setting, trained in by_setting(done)
        for (visits,), results in by(trained, "visits").items()
    ]
    whole = max(each.across[-1] for each in found)
    marks = [
        PrintedMark(
            f"study, {METHODS[visits]}: best test",
            share,
            at if at <= whole else None,
            METHODS[visits],
        )
        for visits, (share, at, *_) in best.items()
    ]
    text = (
        f"{_text(done)} Dotted lines and crosses are the study's best tests, of one training "
        "each; its curves are images."
    )
    return Picture([Panel("", MEASURE, found, marks, PERCENT)], ACROSS, text)


def versions(done: Done) -> Picture:
    """Draw versions of the state, with a panel for each method."""
    found = _curves(done)
    panels = [
        Panel(
            METHODS[visits],
            MEASURE,
            [
                replace(each, name=f"version {each.name}")
                for (_, which), each in found.items()
                if which == visits
            ],
            limits=PERCENT,
        )
        for visits in BOTH
        if any(which == visits for _, which in found)
    ]
    return Picture(panels, ACROSS, f"{_text(done)} The study's curves are images.")


def bounds(done: Done) -> Picture:
    """Draw the versions that differ in one bound, with a row of panels for each bound."""
    of = _of(done)
    found = _curves(done, of)
    panels = [
        Panel(
            f"{part}, {METHODS[visits]}",
            MEASURE,
            [
                replace(found[name, visits], name=f"version {name}: {what}")
                for name, what in names.items()
            ],
            limits=PERCENT,
        )
        for part, names in BOUNDS.items()
        for visits in BOTH
    ]
    text = (
        f"{_text(done, of)} Each row of panels has the versions of one of the study's "
        "figures 4.5 to 4.9, which are images."
    )
    return Picture(panels, ACROSS, text)


def kingdoms(done: Done) -> Picture:
    """Draw both methods, with a panel for each version."""
    of = _of(done)
    found = _curves(done, of)
    panels = [
        Panel(
            f"version {version}",
            MEASURE,
            [replace(found[version, visits], name=METHODS[visits]) for visits in BOTH],
            limits=PERCENT,
        )
        for version in sorted({unit["version"] for unit, _ in done})
    ]
    return Picture(panels, ACROSS, f"{_text(done, of)} The study's curves are images.")


def first_values(done: Done) -> Picture:
    """Draw a curve for each range of initial values."""
    groups = by_what(done, lambda unit: float(unit["options"]["initial"]))
    found = [_curve(f"from 0 to {each:g}", done[0][0], results) for each, results in groups.items()]
    return Picture([Panel("first values", MEASURE, found, (), PERCENT)], ACROSS, _text(done))
