"""Connect Four: n-tuple networks with and without eligibility traces, against perfect play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Agent
from dovetail_agents.games.connect_four import ConnectFourSolver
from dovetail_agents.games.connect_four.ntuple import NTupleConnectFour, NTupleConnectFourParameters
from dovetail_games.connect_four import ConnectFour
from dovetail_studies import rows
from dovetail_studies.best.connect_four import BEATS, HELD_OUT
from dovetail_studies.best.parts import BLOCK, COLUMNS, counted, percent, points, shared
from dovetail_studies.keeping import KeepValue, kept
from dovetail_studies.learned import continued
from dovetail_studies.means import mean
from dovetail_studies.playing import match

RULE: dict[str, Any] = {"learning_rate": 0.004, "epsilon": 0.1}
"""Learning rule of Bagheri, Thill, Koch and Konen (2016)."""
TRACES = (0.0, 0.8)
PARTS = (2, 1)
"""Divisors of a training's length at which it is measured."""


def _long_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return trainings with traces, measured halfway and at the end. Games of the final network
    against perfect play, which take longest, come last."""
    games, tests = values["games"], values["tests"]
    asked = {"least": games // 2, "trace": TRACES[-1], "positions": values["positions"], "tests": 0}
    found = [{"games": games // part, **asked} for part in PARTS]
    if tests:
        found.append({"games": games, "least": games // 2, "trace": TRACES[-1], "tests": tests})
    return [{**unit, "seed": seed} for unit in found for seed in seeds]


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    given = dict(values)
    games, tests = given.pop("games"), given.pop("tests")
    # All trainings' midpoints come before their ends, so that a partial run can be compared.
    return [
        # The perfect player takes up to a minute per opening, so it only tests final networks.
        {
            "games": games // part,
            "trace": trace,
            **given,
            "tests": 0 if part > 1 else tests,
            "seed": seed,
        }
        for part in PARTS
        for seed in seeds
        for trace in TRACES
    ]


def trained(name: str, rule: Mapping[str, Any], games: int, least: int, seed: int) -> bytes:
    """Return a network after ``games`` games, continued from half as many unless that is
    ``least``."""

    def learn() -> bytes:
        player, first = NTupleConnectFour(NTupleConnectFourParameters(**rule), seed), 0
        if games > least:
            first = games // 2
            player.load(trained(name, rule, first, least, seed))
        for begun in range(first, games, BLOCK):
            words = np.random.SeedSequence([seed, begun]).generate_state(1, np.uint64)
            player.play_itself(min(BLOCK, games - begun), int(words[0]))
        return player.save()

    return continued(f"{name}-{games}-{seed}", learn)


def _work(unit: rows.Unit) -> rows.Result:
    trace = unit["trace"]
    rule = {"trace": trace, **RULE}
    state = trained(f"traces-{trace}", rule, unit["games"], unit["least"], unit["seed"])
    agents: list[type[Agent[Any]]] = [NTupleConnectFour, ConnectFourSolver]
    with InProcess([ConnectFour, KeepValue], agents) as experiment:
        player = experiment.create("ntuple-connect-four", seed=unit["seed"])
        experiment.load(player, state)
        found: rows.Result = {"games": 0}
        if "positions" in unit:
            shown = kept(experiment, player, unit["positions"], HELD_OUT + unit["seed"])
            found = {"kept": [shown.kept, shown.positions], "games": unit["games"]}
            if unit["games"] > unit["least"]:
                found["games"] //= 2  # the first half is counted where it is measured
        if tests := unit["tests"]:
            solver = experiment.create("connect-four-solver", seed=unit["seed"])
            pair = [player, solver]
            score = match(experiment, "connect_four", pair, tests, unit["seed"], rotate=False)
            found["first"] = counted(score)
            found["games"] += score.games
        return found


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    for (games, trace), results in rows.by(done, "games", "trace").items():
        name = f"{games:,} games, {f'traces of {trace}' if trace else 'no traces'}"
        keeps = shared([tuple(each["kept"]) for each in results])
        if all("first" in each for each in results):
            won = percent(points(results, "first"))
            lines.append([f"{name}: points as first against perfect play, %", won, "-", BEATS])
        lines.append([f"{name}: moves that keep the value, %", percent(keeps), "-", "-"])
    by_games: dict[int, list[list[float]]] = {}
    for (games, _), results in rows.by(done, "games", "trace").items():
        shares = [100 * right / of for right, of in (each["kept"] for each in results)]
        by_games.setdefault(games, []).append(shares)
    for games, both in by_games.items():
        apart = [traced - plain for plain, traced in zip(*both, strict=False)]
        if len(both) == len(TRACES):
            more = rows.interval(mean(apart))
            lines.append([f"{games:,} games: what traces add, points", more, "-", "-"])
    first = [result["first"] for _, result in done if "first" in result]
    distinct, tested = (sum(each[name] for each in first) for name in ("distinct", "games"))
    text = f"{distinct:,} of {tested:,} after training" if first else "not counted"
    note = f"{NOTE} {PLAYED if first else NOT_PLAYED}"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


def _long_draw(done: rows.Done) -> rows.Drawn:
    lines = []
    for (games,), results in rows.by(done, "games").items():
        keeps = shared([tuple(each["kept"]) for each in results if "kept" in each])
        name = f"{games:,} games: moves that keep the value, %"
        lines.append([name, percent(keeps), "-", "-"])
    first = [result["first"] for _, result in done if "first" in result]
    text = "not counted"
    if first:
        won = percent(points(first))
        name = f"{games:,} games: points as first against perfect play, %"
        lines.append([name, won, "-", BEATS])
        distinct, tested = (sum(each[name] for each in first) for name in ("distinct", "games"))
        text = f"{distinct:,} of {tested:,} after training"
    note = f"{LONG_NOTE} {PLAYED}" if first else LONG_NOTE
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


LONG_NOTE = (
    "Traces and rates are those of the table above. The positions are those of the first table. "
    "Where there is one training, intervals are over positions and games."
)
NOTE = (
    "The networks learn from compiled games with themselves, at the learning rate 0.004 and the "
    "epsilon 0.1 of Bagheri, Thill, Koch and Konen (2016), where the table above has 0.05 and 0.2. "
    "Each training is measured on its way and at its end. What traces add is paired by "
    "seed. The positions are those of the table above."
)
PLAYED = (
    "At its end it also plays the perfect player. A win as first is worth 1 point, a draw a half: "
    "the perfect player, which is second, can only hope for a mistake. It answers as late a loss "
    "as it can, and draws among equal columns."
)
NOT_PLAYED = (
    "Games against the perfect player, which the table above has, are left out here: a new opening "
    "takes it up to a minute of a core, and each of the networks has its own."
)

CODE: rows.Code = (_units, _work, _draw)
LONG: rows.Code = (_long_units, _work, _long_draw)
