"""Dominion: the study's learner against Big Money with Smithies and the five bots."""

from __future__ import annotations

from functools import partial

from dovetail.experiments.studies.best.parts import COLUMNS, players
from dovetail.experiments.studies.dominion import study as s
from dovetail.experiments.studies.dominion.learning import (
    FALLING,
    FORCED,
    GBC,
    SHUFFLED,
    learner,
    percent,
)
from dovetail.experiments.studies.dominion.transfer import TRANSFER
from dovetail.experiments.studies.rows import (
    Done,
    Drawn,
    Result,
    Row,
    Size,
    Unit,
    by,
    interval,
    total,
)

VERSION = "14.5"
OTHERS = {
    "3 Random": ["random"] * 3,
    "3 Money": ["money"] * 3,
    "3 Greedy": ["greedy"] * 3,
    "3 Blacksmith": ["blacksmith"] * 3,
    "3 Chapel": ["chapel"] * 3,
    "Greedy, Blacksmith, Chapel": GBC,
    "3 Big Money with 1 Smithy": ["big-money-1"] * 3,
    "3 Big Money with 2 Smithies": ["big-money-2"] * 3,
}
"""The first six in the order of the columns of the study's table 4.4.1."""
YARDSTICK = "big-money-2"
TESTS = 5_000
"""Games of a test during training."""


def _work(unit: Unit) -> Result:
    again, seed = unit["again"], unit["seed"]
    games = again * len(OTHERS)
    if unit["player"] == YARDSTICK:
        table = s.table_of(4)
        found = [s.bots(table, [*each, YARDSTICK], again, seed) for each in OTHERS.values()]
        return {"won": [each.share[-1] for each in found], "games": games}
    study = learner(VERSION, OTHERS["3 Money"], 4, FORCED, seed, FALLING)
    tests = min(TESTS, again)
    points = s.run(study, unit["games"], min(50_000, unit["games"] // 2), tests)
    found = [study.test(again, each) for each in OTHERS.values()]
    games += unit["games"] + tests * len(points)
    return {"won": [each.share[study.seat] for each in found], "games": games}


def _draw(done: Done) -> Drawn:
    groups = {name: results for (name,), results in by(done, "player").items()}
    lines = []
    for column, name in enumerate(OTHERS):
        printed = "-"
        if column + 1 < len(TRANSFER[0]):
            printed = f"{max(row[column + 1] for row in TRANSFER):.1f}"
        cells = [
            interval(percent(groups[player], "won", column)) for player in ("learned", YARDSTICK)
        ]
        lines.append([f"against {name}: wins %", *cells, printed, "-"])
    note = (
        f"The learner is version {VERSION} with forced exploration at a falling rate, trained against three Money players. It sits last among three others, where an equal wins 25 %; in the next column "
        "Big Money with two Smithies, the list of purchases that players of the game use as a yardstick, sits in its place. The study's figures are the best of each column of its table 4.4.1, of version 4.13. "
        "The literature names no figure at this table, and Big Money stands for it. Other trainings are in the row [optimal](dominion.md#whether-the-strategy-is-optimal) of the Dominion study."
    )
    columns = [COLUMNS[0], COLUMNS[1], "Big Money with 2 Smithies", *COLUMNS[2:]]
    return Drawn(columns, lines, total(done, "games"), SHUFFLED, (), note)


def _size(games: int, again: int, seeds: int = 5) -> Size:
    text = f"{games:,} games of training, {again:,} games against each, for each of {{seeds}}"
    return Size(text, {"games": games, "again": again}, seeds)


ROW = Row(
    "dominion",
    "Dominion",
    "78.0 % against three Money players and 58.3 % against Greedy, Blacksmith and Chapel, the best of table 4.4.1.",
    {
        "quick": _size(10_000, 1_000, 2),
        "part": _size(500_000, 20_000),
        "study": _size(2_000_000, 50_000),
    },
    partial(players, ["learned", YARDSTICK]),
    _work,
    _draw,
)
