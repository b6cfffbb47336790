"""Counts of the RLGame study, and its tables beside our figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dovetail_experiments.statistics import Estimate
from dovetail_studies.curves import LearningCurve, Panel, Picture
from dovetail_studies.means import mean
from dovetail_studies.rlgame import kernels as k
from dovetail_studies.rlgame.play import Played
from dovetail_studies.rows import PERCENT, Compared, Result, interval, signed, within

FIGURES = ("moves of the winner", "White alive", "Black alive", "White in base", "Black in base")
"""Mean figures of won games in the study's order."""
PAWNS = (0.0, 10.0)
"""Range of a player's number of pawns."""
_COLUMNS = (k.MOVES, k.ALIVE, k.ALIVE + 1, k.INSIDE, k.INSIDE + 1)
WINNERS = ("White", "Black")


def counted(played: Played, sets: int = 1) -> list[Result]:
    """Return the figures of the study's tables for equal parts of the games.

    ``wins`` has a list for each winner, ``means`` the means of its won games or None.
    """
    found: list[Result] = []
    for part in np.array_split(played.stats, sets):
        by_winner = [part[part[:, k.WINNER] == player] for player in (0, 1)]
        found.append(
            {
                "games": len(part),
                "wins": [len(won) for won in by_winner],
                "drawn": int(((part[:, k.WINNER] < 0) & (part[:, k.CUT] == 0)).sum()),
                "cut": int(part[:, k.CUT].sum()),
                "plies": int(part[:, k.PLIES].sum()),
                "means": [
                    [round(float(won[:, column].mean()), 4) for column in _COLUMNS]
                    if len(won)
                    else None
                    for won in by_winner
                ],
            }
        )
    return found


def distinct(*played: Played) -> int:
    """Return the number of distinct games."""
    return len({int(each) for part in played for each in part.digests})


def won(parts: Sequence[Result], winner: int) -> Estimate:
    """Return a side's wins in percent of all games, including truncated ones, over seeds."""
    return within(mean([100 * part["wins"][winner] / part["games"] for part in parts]), *PERCENT)


def moves(parts: Sequence[Result]) -> Estimate:
    """Return the mean over seeds of the winner's moves."""
    return within(mean(moves_by_seed(parts)))


def moves_by_seed(parts: Sequence[Result]) -> list[float]:
    """Return the mean of the winner's moves over the won games of each seed that has any."""
    return [found for part in parts if not math.isnan(found := figure(part, 0))]


def cut(parts: Sequence[Result]) -> str:
    """Describe the numbers of truncated games and of all games."""
    return f"{sum(part['cut'] for part in parts):,} of {sum(part['games'] for part in parts):,}"


def drawn(parts: Sequence[Result]) -> str:
    """Describe the numbers of drawn games and of all games."""
    return f"{sum(part['drawn'] for part in parts):,} of {sum(part['games'] for part in parts):,}"


def figure(part: Result, number: int) -> float:
    """Return one of ``FIGURES`` over the games that either side won, NaN if there are none."""
    known = [
        (count, each[number])
        for count, each in zip(part["wins"], part["means"], strict=True)
        if each is not None
    ]
    whole = sum(count for count, _ in known)
    return sum(count * each for count, each in known) / whole if known else math.nan


def figures(part: Result) -> list[float]:
    """Return White's wins in percent, and ``FIGURES``."""
    return [white(part), *(figure(part, number) for number in range(len(FIGURES)))]


Study = Sequence[Sequence[float]]
"""``figures`` of the study in some phases."""


def changes(
    name: str,
    number: int,
    study: Study,
    pair: tuple[int, int],
    by_profile: dict[str, list[Result]],
    compared: list[Compared],
) -> list[str]:
    """Return a line with the change of one of ``figures`` between two phases, pair by pair.

    Args:
        name: the name of the change.
        number: the number of the figure.
        study: the study's figures of all phases.
        pair: the two phases.
        by_profile: each seed's counts, with its phases.
        compared: the list to which comparisons with the study are appended.
    """
    before, after = pair
    printed = study[after][number] - study[before][number]
    cells = [name, f"{printed:+.1f}"]
    for profile, results in by_profile.items():
        values = [[figures(part)[number] for part in each["phases"]] for each in results]
        apart = [each[after] - each[before] for each in values]
        text = _changed(apart, f"{profile}: {name}", printed, compared)
        cells.append(text)
    return cells


def _changed(
    apart: Sequence[float], title: str, printed: float | None, compared: list[Compared]
) -> str:
    """Describe changes over pairs, compared with the study's if it has one."""
    known = [each for each in apart if not math.isnan(each)]
    ours = mean(known)
    text = interval(ours)
    if printed is not None:
        compared.append(Compared(title, printed, ours, len(known)))
        text = signed(text, compared[-1])
    return f"{text}; rises in {sum(each > 0 for each in known)} of {len(known)}"


def phase_curves(names: Sequence[str], study: Study, found: dict[str, list[Result]]) -> Picture:
    """Return ``figures`` by phase, a panel each."""
    places = list(range(1, len(names) + 1))
    panels = []
    for number, measure in enumerate(("White wins, %", *FIGURES)):
        curves = [
            LearningCurve(
                profile,
                places,
                [[figures(part)[number] for part in each["phases"]] for each in results],
            )
            for profile, results in found.items()
        ]
        curves.append(LearningCurve("study", places, [[each[number] for each in study]], True))
        limits = (PERCENT, (0.0, math.inf), *[PAWNS] * 4)[number]
        panels.append(Panel("", measure, curves, (), limits))
    listed = ", ".join(f"{place}: {name}" for place, name in zip(places, names, strict=True))
    return Picture(panels, "phase", f"Phases are {listed}. Dashed are the study's.")


def by_seed(parts: Sequence[Result], of: Callable[[Result], float]) -> str:
    """Return each seed's figure in order."""
    return ", ".join(f"{of(part):.0f}" for part in parts)


def white(part: Result) -> float:
    """Return White's wins in percent of all games."""
    return float(100 * part["wins"][0] / part["games"])


def total_lines(
    study: tuple[float, float, float],
    by_profile: dict[str, list[Result]],
    compared: list[Compared],
    draws: str = "",
    like: Callable[[str], bool] = lambda profile: True,
) -> list[list[str]]:
    """Return wins, moves and truncated games, in a column for each profile.

    Args:
        study: White's and Black's wins in percent, and the winner's moves.
        by_profile: each seed's counts.
        compared: the list to which White's wins and the moves of each profile are appended.
        draws: the study's drawn games, for games with draws; others can be truncated.
        like: the predicate of profiles that match the study, whose figures are compared.
    """
    rows: list[tuple[str, str, Callable[[list[Result]], Any]]] = [
        ("White wins, % of all games", f"{study[0]:.1f}", lambda parts: won(parts, 0)),
        ("Black wins, % of all games", f"{study[1]:.1f}", lambda parts: won(parts, 1)),
        ("moves of the winner", f"{study[2]:.2f}", moves),
    ]
    lines = []
    for number, (name, printed, of) in enumerate(rows):
        cells = [name, printed]
        for profile, parts in by_profile.items():
            found = of(parts)
            text = interval(found, 2 if number == 2 else 1)
            if number != 1 and like(profile):
                limits: dict[str, Any] = (
                    {"seeds": moves_by_seed(parts)} if number else {"range": PERCENT}
                )
                title = f"{name}, {profile}"
                both = Compared(title, study[number], found, len(parts), **limits)
                compared.append(both)
                text = signed(text, both)
            cells.append(text)
        lines.append(cells)
    lines.append(
        [
            "White wins, % by seed",
            "one pair",
            *(by_seed(parts, white) for parts in by_profile.values()),
        ]
    )
    if draws:
        lines.append(["games drawn", draws, *map(drawn, by_profile.values())])
    else:
        texts = [cut(parts) for parts in by_profile.values()]
        lines.append(["games cut at 20,000 moves", "not said", *texts])
    return lines


Shape = tuple[float, float]
"""White's wins in percent and the winner's moves in a set of games."""
SHAPES = ("White wins, %", FIGURES[0])


def shapes(
    study: Sequence[Shape], by_profile: dict[str, list[Result]], compared: list[Compared]
) -> list[list[str]]:
    """Return the change of games from the first fifth of the sets to the rest, pair by pair.

    Levels vary too much by pair to be told from the study's single one, whatever the number of
    pairs; a direction that all pairs share can be.

    Args:
        study: the study's sets; empty if they have another size.
        by_profile: each seed's counts, with its sets.
        compared: the list to which comparisons with the study are appended.
    """
    lines = []
    for measure, name in enumerate(SHAPES):
        printed = _change([each[measure] for each in study]) if study else None
        cells = ["-" if printed is None else f"{printed:+.1f}"]
        for profile, results in by_profile.items():
            apart = [_change([shape(part)[measure] for part in one["sets"]]) for one in results]
            cells.append(_changed(apart, f"{profile}: {name}", printed, compared))
        lines.append([f"{name}: change from the first fifth to the rest", *cells])
    return lines


def shape(part: Result) -> Shape:
    """Return White's share and the winner's moves, NaN if no game was won."""
    return white(part), figure(part, 0)


def _change(values: Sequence[float]) -> float:
    """Return the mean of the rest minus that of the first fifth, over sets with a won game."""
    known = [each for each in values if not math.isnan(each)]
    first = max(1, len(known) // 5)
    if len(known) <= first:
        return 0.0
    return float(np.mean(known[first:]) - np.mean(known[:first]))


def set_curves(study: Sequence[Shape], size: int, by_profile: dict[str, list[Result]]) -> Picture:
    """Return White's wins and the winner's moves by set.

    Args:
        study: the study's sets; empty if they have another size.
        size: the number of games per set.
        by_profile: each seed's counts, with its sets.
    """
    count = min(len(each["sets"]) for results in by_profile.values() for each in results)
    middles = [(number + 0.5) * size for number in range(count)]
    panels = []
    for measure, name in enumerate(SHAPES):
        curves = [
            LearningCurve(
                profile,
                middles,
                [[shape(part)[measure] for part in each["sets"][:count]] for each in results],
            )
            for profile, results in by_profile.items()
        ]
        if study:
            printed = [each[measure] for each in study[:count]]
            curves.append(LearningCurve("study", middles, [printed], study=True))
        limits = (0.0, math.inf) if measure else PERCENT
        panels.append(Panel("", name, curves, (), limits))
    text = f"A point is a set of {size:,} games, in which the players learn."
    text += " Dashed are the study's sets." if study else ""
    return Picture(panels, "games", text)
