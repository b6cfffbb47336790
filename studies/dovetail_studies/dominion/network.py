"""A proposal of the Dominion study: a neural network in place of the table.

The network is that of ``td``, which knows no game; it learns from afterstates, what a seat knows
after each of its actions.
"""

from __future__ import annotations

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
    **{"max_rounds": 60, "rewards": "win"},
}
LEARNER: dict[str, Any] = {
    **{"hidden": 64, "learning_rate": 0.01, "epsilon": 0.1, "standardise": True},
    **{"discount": 1.0, "trace_decay": 0.9, "averaging": 0},
}
"""The learner's parameters, chosen by trials with seeds 11 and 12, which are not kept."""
OPPONENTS = ("random", "money", "greedy")
TRAINED = "random"
"""The opponent in training."""
TESTED = 1_000_000
"""The offset of the seeds of tests, so that they share no shuffles with a training."""
AGENTS: list[type[Agent[Any]]] = [TD, bots.DominionRandom, bots.DominionMoney, bots.DominionGreedy]


def _work(unit: rows.Unit) -> rows.Result:
    seed, steps = unit["seed"], unit["steps"]
    found: rows.Result = {"tests": [], "games": unit["games"]}
    with InProcess([Dominion], AGENTS) as experiment:
        learner = experiment.create("td", parameters=LEARNER, seed=seed)
        others = {name: experiment.create(f"dominion-{name}", seed=seed) for name in OPPONENTS}
        for step in range(steps + 1):
            if step:
                pair, games = [learner, others[TRAINED]], unit["games"] // steps
                train(experiment, "dominion", pair, games, seed * 101 + step, TABLE)
            at = (unit["tests"], TESTED + seed, TABLE)
            tests = {
                name: counted(match(experiment, "dominion", [learner, other], *at))
                for name, other in others.items()
            }
            found["tests"].append(tests)
            found["games"] += unit["tests"] * len(tests)
    return found


def _draw(done: rows.Done) -> rows.Drawn:
    unit = done[0][0]
    at = [unit["games"] * step // unit["steps"] for step in range(unit["steps"] + 1)]
    tests = list(zip(*(result["tests"] for _, result in done), strict=True))
    lines = [
        [f"after {games:,} games", *(percent(points(each, name)) for name in OPPONENTS)]
        for games, each in zip(at, tests, strict=True)
    ]
    curves = [
        LearningCurve(
            f"against {name}",
            at,
            [[100 * points([test], name).value for test in result["tests"]] for _, result in done],
        )
        for name in OPPONENTS
    ]
    panel = Panel("", "points, %", curves, (), rows.PERCENT)
    picture = Picture([panel], "training games", f"A point is a test of {unit['tests']} games.")
    note = (
        f"Two players. The learner is `td` with a network of {LEARNER['hidden']} hidden units over "
        "the counts that a seat knows, each less its mean and over its deviation (`standardise`); "
        f"it learns one game after the other against {TRAINED.capitalize()}, and earns 1 for a win "
        "and -1 for a loss. Who begins is drawn. "
        "A win is worth 1 point, a draw a half, a game of more than "
        f"{TABLE['max_rounds']} rounds nothing. "
        "Three things keep a network from learning here, each tried alone in short runs: counts as "
        "they are (it then loses to Random after 200 games); a reward for each purchase, which an "
        "afterstate does not show; and Money as the only opponent, which beats a beginner in every "
        "game. "
        "The table of [two players](#two-players-versions-12-140-and-145) learns from millions of "
        "games, which take it as long as thousands take the network."
    )
    columns = ["", *(f"against {name}: points %" for name in OPPONENTS)]
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, (), note, picture)


CODE: rows.Code = (rows.every, _work, _draw)
