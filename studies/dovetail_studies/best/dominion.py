"""Dominion: the study's learner against Big Money with Smithies and five scripted players."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail.peer.registry import register
from dovetail_agents.games.dominion.q_learning import REWARDS, Reward
from dovetail_studies import rows
from dovetail_studies.best.parts import COLUMNS
from dovetail_studies.dominion import study as s
from dovetail_studies.dominion.learning import FALLING, FORCED, GBC, SHUFFLED, learner, percent
from dovetail_studies.dominion.transfer import TRANSFER

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
"""Opponents; the first six in the order of the columns of the study's table 4.4.1."""
RANDOM, MONEY = "3 Random", "3 Money"
"""The opponent that every learner beats, and the one whose learners also meet all others."""
YARDSTICK = "big-money-2"
WINS = {
    **dict.fromkeys((MONEY, "3 Chapel"), 5),
    **dict.fromkeys(("3 Greedy", "3 Blacksmith", "Greedy, Blacksmith, Chapel"), 10),
    **dict.fromkeys(("3 Big Money with 1 Smithy", "3 Big Money with 2 Smithies"), 20),
}
"""Reward of a win, in addition to victory points per purchase, by training opponent."""
for _win in set(WINS.values()):
    register("reward", f"points-and-win-{_win}", Reward(REWARDS["points"].card, win=float(_win)))
SETTING: dict[str, Any] = {"discount": 1.0, **FALLING}
EVERY = 50_000
TESTS = 5_000
"""Number of games of a test during training."""


def _work(unit: rows.Unit) -> rows.Result:
    again, seed, player = unit["again"], unit["seed"], unit["player"]
    if player == YARDSTICK:
        table = s.table_of(4)
        found = {
            name: s.bots(table, [*each, YARDSTICK], again, seed) for name, each in OTHERS.items()
        }
        won = {name: each.share[-1] for name, each in found.items()}
        return {"won": won, "games": again * len(OTHERS)}
    options = {**SETTING, "reward": f"points-and-win-{WINS[player]}"}
    study = learner(VERSION, OTHERS[player], 4, FORCED, seed, options)
    tests = min(TESTS, again)
    points = s.run(study, unit["games"], min(EVERY, unit["games"] // 2), tests)
    met = OTHERS if player == MONEY else [player]
    won = {name: study.test(again, OTHERS[name]).share[study.seat] for name in met}
    return {"won": won, "games": unit["games"] + tests * len(points) + again * len(won)}


def _draw(done: rows.Done) -> rows.Drawn:
    groups = {name: results for (name,), results in rows.by(done, "player").items()}
    lines = []
    for column, name in enumerate(OTHERS):
        printed = "-"
        if column + 1 < len(TRANSFER[0]):
            printed = f"{max(row[column + 1] for row in TRANSFER):.1f}"
        trained = MONEY if name == RANDOM else name
        cells = [
            rows.interval(percent(groups[player], "won", name))
            for player in (trained, MONEY, YARDSTICK)
        ]
        lines.append([f"against {name}: wins %", *cells, printed, "-"])
    unit = done[0][0]
    note = rows.remark("best", "dominion", version=VERSION, tests=min(TESTS, unit["again"]))
    columns = [*COLUMNS[:2], "trained against Money", "Big Money with 2 Smithies", *COLUMNS[2:]]
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, (), note)


CODE: rows.Code = (partial(rows.every, player=[*WINS, YARDSTICK]), _work, _draw)
