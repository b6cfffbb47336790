"""Table 4.4.1 of the Dominion study: training against each of six sets, tests against all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dovetail_studies import rows
from dovetail_studies.dominion import study as s
from dovetail_studies.dominion.learning import (
    BY_HAND,
    DISCARD,
    FORCED,
    FOUND,
    GBC,
    SHUFFLED,
    learner,
    percent,
)
from dovetail_studies.dominion.scripted import GOLDS

SETS = [
    ["random"] * 3,
    [f"money-{GOLDS}"] * 3,
    ["greedy"] * 3,
    ["blacksmith"] * 3,
    ["chapel"] * 3,
    GBC,
]
NAMES = ["3 Random", "3 Money", "3 Greedy", "3 Blacksmith", "3 Chapel", "G + B + C"]
BEST, LAST = "best", "last"
"""Tested table: the one with the best test, or the last."""
SETTINGS: dict[str, tuple[Mapping[str, Any], Mapping[str, str]]] = {
    "told": ({}, {BEST: "", LAST: ", last table"}),
    "shaped": (BY_HAND, {BEST: ", *shaped*", LAST: ", *shaped*, last table"}),
    "falling": (FOUND, {BEST: ", falling rate", LAST: ", falling rate, last table"}),
}
"""Options of the learner in each setting, and the names of the results shown."""
EVERY_GAMES = 10_000
"""Number of training games before each test, and of games per test."""
ALL = 99.9
"""Win rate in percent above which a figure is not judged, since all sets beat Random."""

TRANSFER = [
    (26.1835, 100, 68.36, 29.99, 35.10, 78.24, 48.81),
    (15.1399, 100, 77.86, 38.64, 43.84, 85.38, 57.89),
    (17.3816, 100, 77.99, 39.27, 43.40, 84.58, 57.97),
    (13.785, 99.99, 77.46, 37.70, 44.76, 85.63, 58.28),
    (13.54538, 100, 75.18, 33.31, 42.66, 85.10, 55.17),
    (15.2097, 99.99, 76.41, 35.42, 43.61, 85.75, 56.51),
]


def _transfer(unit: rows.Unit) -> rows.Result:
    options, _ = SETTINGS[unit["setting"]]
    study = learner("12", SETS[unit["set"]], 4, FORCED, unit["seed"], options, DISCARD)
    games, again = unit["games"], unit["again"]
    found: rows.Result = {"games": games * 2 + 2 * len(SETS) * again}

    def test(which: str) -> None:
        tests = [study.test(again, others) for others in SETS]
        shares = [each.share[study.seat] for each in tests]
        found[which] = {"won": shares, "rounds": tests[unit["set"]].rounds - 1}

    def told(point: s.Point) -> None:
        if point.trained == games:
            test(LAST)

    s.run(study, games, EVERY_GAMES, EVERY_GAMES, told)
    test(BEST)
    return found


def _transfer_draw(done: rows.Done) -> rows.Drawn:
    lines, compared = [], []
    trained = rows.by(done, "setting", "set")
    for row, (name, study) in enumerate(zip(NAMES, TRANSFER, strict=True)):
        lines.append([f"{name}, study", *(f"{each:.2f}" for each in study)])
        for setting, (_, shown) in SETTINGS.items():
            for which, more in shown.items():
                figures = _figures(row, trained[setting, row], which)
                cells = [
                    rows.interval(figures[0].ours, 2),
                    *(rows.interval(f.ours) for f in figures[1:]),
                ]
                if (setting, which) == ("told", BEST):  # the study has no other
                    judged = [each for each in figures if each.study < ALL]
                    compared += judged
                    cells = [
                        rows.signed(cell, each) if each in judged else cell
                        for cell, each in zip(cells, figures, strict=True)
                    ]
                lines.append([f"{name}, ours{more}", *cells])
    note = rows.remark(
        "dominion", "transfer", tests=done[0][0]["games"] // EVERY_GAMES, golds=GOLDS
    )
    columns = ["trained against", "rounds", *NAMES]
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, compared, note)


def _figures(row: int, results: Sequence[rows.Result], which: str) -> list[rows.Compared]:
    """Return the figures of a line: rounds, and the share of wins against each set."""
    name, (printed, *shares), seeds = NAMES[row], TRANSFER[row], len(results)
    found = [rows.Compared(f"{name}: rounds", printed, rows.over(results, which, "rounds"), seeds)]
    for column, (other, share) in enumerate(zip(NAMES, shares, strict=True)):
        won = percent(results, which, "won", column)
        found.append(rows.Compared(f"{name} v {other}", share, won, seeds, rows.PERCENT))
    return found


UNITS = partial(rows.every, setting=SETTINGS, set=range(len(SETS)))
CODE: rows.Code = (UNITS, _transfer, _transfer_draw)
