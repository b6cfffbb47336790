"""Section 5.9 of the Dominion study: its learned strategy, which it takes for optimal.

It is measured against Big Money with Smithies.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail_studies import rows
from dovetail_studies.dominion import study as s
from dovetail_studies.dominion.learning import FALLING, FORCED, SHUFFLED, learner, percent

OTHERS = {
    "3 Money": ["money"] * 3,
    "3 Big Money with 1 Smithy": ["big-money-1"] * 3,
    "3 Big Money with 2 Smithies": ["big-money-2"] * 3,
    "Greedy, Blacksmith, Chapel": ["greedy", "blacksmith", "chapel"],
}
BOTS = {
    "Money": "money",
    "Big Money": "big-money-0",
    "Big Money with 1 Smithy": "big-money-1",
    "Big Money with 2 Smithies": "big-money-2",
}
LEARNERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "version 14.5, trained against 3 Money": ("14.5", "3 Money", FALLING),
    "version 14.5, trained against 3 Big Money with 1 Smithy": (
        "14.5",
        "3 Big Money with 1 Smithy",
        FALLING,
    ),
    "version 23, trained against 3 Money, reward *shaped*": (
        "23-4",
        "3 Money",
        {"reward": "shaped", "initial": 10.0},
    ),
}
"""Version of the state, training opponent and settings of each learner."""


def _work(unit: rows.Unit) -> rows.Result:
    name, again, seed = unit["player"], unit["again"], unit["seed"]
    if name in BOTS:
        game = s.table_of(4)
        found = [s.bots(game, [*each, BOTS[name]], again, seed) for each in OTHERS.values()]
        return {"won": [each.share[-1] for each in found], "games": again * len(OTHERS)}
    version, others, options = LEARNERS[name]
    study = learner(version, OTHERS[others], 4, FORCED, seed, options)
    every = min(50_000, unit["games"] // 2)
    points = s.run(study, unit["games"], every, 5_000)
    found = [study.test(again, each) for each in OTHERS.values()]
    games = unit["games"] + 5_000 * len(points) + again * len(OTHERS)
    return {"won": [each.share[study.seat] for each in found], "games": games}


def _draw(done: rows.Done) -> rows.Drawn:
    lines = [
        [name, *(rows.interval(percent(results, "won", column)) for column in range(len(OTHERS)))]
        for (name,), results in rows.by(done, "player").items()
    ]
    note = rows.remark("dominion", "optimal")
    return rows.Drawn(
        ["wins %", *(f"against {name}" for name in OTHERS)],
        lines,
        rows.total(done, "games"),
        SHUFFLED,
        (),
        note,
    )


CODE: rows.Code = (partial(rows.every, player=[*BOTS, *LEARNERS]), _work, _draw)
