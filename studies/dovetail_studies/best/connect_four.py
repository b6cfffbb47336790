"""Connect Four: learners measured by exact values and against alpha-beta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.client.client import Experiment
from dovetail.client.inprocess import InProcess
from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.random_agent import Random
from dovetail_agents.games.connect_four import ConnectFourSolver
from dovetail_agents.games.connect_four.ntuple import NTupleConnectFour
from dovetail_agents.general.search.agents import AlphaBetaAgent
from dovetail_agents.general.td import TD
from dovetail_games.connect_four import ConnectFour
from dovetail_studies import learned, rows
from dovetail_studies.best.parts import COLUMNS, added, counted, percent, points, shared, train
from dovetail_studies.keeping import KeepValue, kept
from dovetail_studies.playing import match

LEARNER = {
    "symmetric": True,
    "epsilon": 0.3,
    "decay_episodes": 60_000,
    "hidden": 128,
    "learning_rate": 0.03,
    "averaging": 3_000,
}
"""Learner of ``experiments/dovetail_experiments/examples/connect_four_strength.toml``."""
PLAIN, TRACES = "`ntuple-connect-four`", "`ntuple-connect-four`, traces"
TUPLES = (PLAIN, TRACES)
PLAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    PLAIN: ("ntuple-connect-four", {}),
    TRACES: ("ntuple-connect-four", {"trace": 0.8}),
    "`td`": ("td", LEARNER),
    "`random`": ("random", {}),
    "`alpha-beta`, depth 2": ("alpha-beta", {"depth": 2}),
    "`alpha-beta`, depth 4": ("alpha-beta", {"depth": 4}),
    "`connect-four-solver`": ("connect-four-solver", {}),
}
OPPONENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "3": ("`alpha-beta`, depth 3", "alpha-beta", {"depth": 3}),
    "4": ("`alpha-beta`, depth 4", "alpha-beta", {"depth": 4}),
}
"""Opponents; the study's minimax searched 3 plies."""
LEARNERS = (*TUPLES, "`td`")
BEATS = "wins consistently (2012)"
TRACED = 3
"""Maximum number of trainings with traces, which take twice as long."""
HELD_OUT = 1_000_000
"""Offset of the seeds of test positions, which keeps them apart from training."""
AGENTS: list[type[Agent[Any]]] = [NTupleConnectFour, TD, Random, AlphaBetaAgent, ConnectFourSolver]


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    common = dict(values)
    games = common.pop("ntuple")
    perfect = {name: common.pop(name) for name in ("openings", "plies", "first")}
    measured, others = {**common, "games": games}, [each for each in PLAYERS if each not in TUPLES]
    return [
        *rows.every(measured, seeds, player=[PLAIN]),
        *rows.every(common, seeds, player=others),
        *rows.every({**perfect, "games": games}, seeds, player=[PLAIN]),
        *rows.every(measured, seeds[:TRACED], player=[TRACES]),
    ]


def _player(experiment: Experiment, unit: rows.Unit) -> int:
    """Create a player, and train it if it is a learner."""
    kind, parameters = PLAYERS[unit["player"]]
    player = experiment.create(kind, parameters=dict(parameters), seed=unit["seed"])
    if unit["player"] in LEARNERS:
        together = 64 if kind == "ntuple-connect-four" else 1
        seats, seed = [player, player], unit["seed"]
        state = f"{kind}{'-traces' if unit['player'] == TRACES else ''}-{seed}"
        learned.train(
            experiment,
            {state: player},
            lambda: train(
                experiment, "connect_four", seats, unit["games"], seed, together=together
            ),
        )
    return player


def _against_solver(experiment: Experiment, player: int, unit: rows.Unit) -> rows.Result:
    """Play the solver: openings from both seats, and games from the empty board as first player."""
    # The row that measures this training counts its games.
    found: rows.Result = {"games": 0, "matches": {}}
    solver = experiment.create("connect-four-solver", seed=unit["seed"])
    for name, openings in (("openings", unit["plies"]), ("first", 0)):
        if games := unit[name]:
            score = match(
                experiment,
                "connect_four",
                [player, solver],
                games,
                unit["seed"],
                openings=openings,
                rotate=name == "openings",
            )
            found["matches"][name] = counted(score)
            found["games"] += score.games
    return found


def _work(unit: rows.Unit) -> rows.Result:
    with InProcess([ConnectFour, KeepValue], AGENTS) as experiment:
        player = _player(experiment, unit)
        if "openings" in unit:
            return _against_solver(experiment, player, unit)
        learns = unit["player"] in LEARNERS
        found: rows.Result = {"games": unit["games"] if learns else 0, "matches": {}}
        shown = kept(experiment, player, unit["positions"], HELD_OUT + unit["seed"])
        found["kept"] = [shown.kept, shown.positions]
        found["lost"], found["chance"] = round(shown.lost, 5), round(shown.chance, 5)
        for name, (_, opponent, given) in OPPONENTS.items() if learns else ():
            other = experiment.create(opponent, parameters=dict(given), seed=unit["seed"])
            pair = [player, other]
            score = match(experiment, "connect_four", pair, unit["tests"], unit["seed"], openings=2)
            found["matches"][name] = counted(score)
            found["games"] += score.games
    return found


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    groups = {name: results for (name,), results in rows.by(done, "player").items()}
    for name, results in groups.items():
        asked = [each for each in results if "kept" in each]
        keeps = shared([tuple(each["kept"]) for each in asked])
        best = "100 (solved in 1988)" if "solver" in name else "-"
        lines.append([f"{name}: moves that keep the value, %", percent(keeps), "-", best])
        lost = rows.interval(rows.over(asked, "lost"), 3)
        lines.append([f"{name}: points lost a position", lost, "-", "-"])
    study = {"3": "14.3 (708 wins and 10 draws of 5,000, as second, while it learned)"}
    met = {name: f"against {opponent}" for name, (opponent, _, _) in OPPONENTS.items()}
    met["openings"] = "against `connect-four-solver`, from openings"
    met["first"] = "against `connect-four-solver`, as first from the empty board"
    for player, results in groups.items():
        for key, against in met.items():
            if played := [each for each in results if key in each["matches"]]:
                won = percent(points(played, "matches", key))
                best = BEATS if key == "first" else "-"
                lines.append([f"{player} {against}: points %", won, study.get(key, "-"), best])
    measured = [each for name in LEARNERS for each in groups[name]]
    chance = 100 * rows.over(groups["`td`"], "chance").value
    note = rows.remark(
        "best", "connect_four", chance=chance, trace=PLAYERS[TRACES][1]["trace"], traced=TRACED
    )
    tested = added(measured, "matches")
    text = f"{tested['distinct']:,} of {tested['games']:,} after training"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


CODE: rows.Code = (_units, _work, _draw)
