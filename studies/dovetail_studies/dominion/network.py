"""A proposal of the Dominion study: a neural network in place of the table.

The network is that of ``td``, which is not specific to a game; it learns from afterstates, a seat's
observations after each of its actions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Agent
from dovetail_agents.games.dominion import bots
from dovetail_agents.general.td import TD
from dovetail_games.dominion import Dominion
from dovetail_studies import rows
from dovetail_studies.best.parts import counted, percent, points, train
from dovetail_studies.curves import LearningCurve, Panel, Picture
from dovetail_studies.dominion.learning import SHUFFLED
from dovetail_studies.playing import match

TABLE = {
    **{"players": 2, "kingdom": ["Smithy", "Chapel"], "kingdom_size": 2},
    **{"max_rounds": 150, "rewards": "win"},
}
SHORT = {**TABLE, "max_rounds": 60}
"""Table of the trainings against Random."""
LEARNER: dict[str, Any] = {
    **{"hidden": 64, "learning_rate": 0.01, "epsilon": 0.1, "standardise": True},
    **{"discount": 1.0, "trace_decay": 0.9, "averaging": 0},
}
"""Parameters of the learner, selected with seeds 11 to 14; those trials are not kept."""
OPPONENTS = ("random", "money", "greedy", "big-money")
SCRIPTED = (bots.DominionRandom, bots.DominionMoney, bots.DominionGreedy, bots.DominionBigMoney)
FEW = 3
"""Maximum number of trainings against Random."""
TESTED = 1_000_000
"""Offset of the seeds of tests, so that they share no shuffles with a training."""
AGENTS: list[type[Agent[Any]]] = [TD, *SCRIPTED]


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    common = dict(values)
    few = common.pop("few")
    found = rows.every({"learns from": "itself", **common}, seeds)
    return found + rows.every({**common, "games": few}, seeds[:FEW])


def _work(unit: rows.Unit) -> rows.Result:
    seed, steps = unit["seed"], unit["steps"]
    itself = "learns from" in unit
    table, opponents = (TABLE, OPPONENTS) if itself else (SHORT, OPPONENTS[:-1])
    found: rows.Result = {"tests": [], "games": unit["games"]}
    with InProcess([Dominion], AGENTS) as experiment:
        learner = experiment.create("td", parameters=LEARNER, seed=seed)
        others = {name: experiment.create(f"dominion-{name}", seed=seed) for name in opponents}
        for step in range(steps + 1):
            if step:
                pair, games = [learner, learner if itself else others["random"]], unit["games"]
                train(experiment, "dominion", pair, games // steps, seed * 101 + step, table)
            at = (unit["tests"], TESTED + seed, table)
            tests = {
                name: counted(match(experiment, "dominion", [learner, other], *at))
                for name, other in others.items()
            }
            found["tests"].append(tests)
            found["games"] += unit["tests"] * len(tests)
    return found


def _draw(done: rows.Done) -> rows.Drawn:
    units = {"learns from" in unit: unit for unit, _ in done}
    lines, curves = [], []
    for (itself, name), results in rows.by_what(
        done, lambda unit: ("learns from" in unit, unit.get("learns from", "Random"))
    ).items():
        unit = units[itself]
        at = [unit["games"] * step // unit["steps"] for step in range(unit["steps"] + 1)]
        tests = list(zip(*(result["tests"] for result in results), strict=True))
        for games, each in zip(at, tests, strict=True):
            shares = [
                percent(points(each, other)) if other in each[0] else "-" for other in OPPONENTS
            ]
            lines.append([f"from {name}, {games:,} games", *shares])
        if itself:
            curves = [
                LearningCurve(
                    f"against {other}",
                    at,
                    [
                        [100 * points([test], other).value for test in run["tests"]]
                        for run in results
                    ],
                )
                for other in OPPONENTS
            ]
    note = rows.remark(
        "dominion",
        "network",
        hidden=LEARNER["hidden"],
        rounds=TABLE["max_rounds"],
        lost=_lost(done),
    )
    columns = ["learns", *(f"against {name}: points %" for name in OPPONENTS)]
    panel = Panel("", "points, %", curves, (), rows.PERCENT)
    tested = units[max(units)]["tests"]
    picture = Picture(
        [panel], "training games", f"It learns from itself; a point is a test of {tested} games."
    )
    games = rows.total(done, "games")
    return rows.Drawn(columns, lines, games, SHUFFLED, (), note, picture if curves else None)


def _lost(done: rows.Done) -> str:
    last = [result["tests"][-1]["random"] for unit, result in done if "learns from" not in unit]
    ends = "; ".join(f"{each['wins']}, {each['losses']} and {each['cut']}" for each in last)
    return (
        "The opponent decides whether it learns: against Random a beginner loses nearly every "
        "game, so that all its targets are the same, or it learns to put the end off, since a game "
        f"that is cut after {SHORT['max_rounds']} rounds costs nothing. By seed it won, lost and "
        f"did not end {ends} of its last games against Random. Of two equal learners one wins. "
    )


CODE: rows.Code = (_units, _work, _draw)
