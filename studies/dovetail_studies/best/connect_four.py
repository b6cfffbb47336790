"""Connect Four: learners against exact values, and against alpha-beta."""

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
from dovetail_studies.best.parts import (
    COLUMNS,
    added,
    counted,
    percent,
    players,
    points,
    shared,
    train,
)
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
"""Of ``experiments/dovetail_experiments/examples/connect_four_strength.toml``."""
PLAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    "`ntuple-connect-four`": ("ntuple-connect-four", {}),
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
"""The study's minimax looked 3 plies ahead."""
LEARNERS = ("`ntuple-connect-four`", "`td`")
BEATS = "wins consistently (2012)"
LATE = {"openings": 2, "plies": 16, "first": 0}
"""Games against the solver that cost it no time; one from the empty board takes it some 30
seconds."""
HELD_OUT = 1_000_000
"""Added to the seeds of positions, so that no training uses them."""
AGENTS: list[type[Agent[Any]]] = [NTupleConnectFour, TD, Random, AlphaBetaAgent, ConnectFourSolver]


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    common = dict(values)
    games = common.pop("ntuple")
    perfect = {name: common.pop(name) for name in ("openings", "plies", "first")}
    best, *others = PLAYERS
    ours = players([best], {**common, "games": games}, seeds)
    against = players([best], {**perfect, "games": games}, seeds)
    return [*ours, *players(others, common, seeds), *against]


def _player(experiment: Experiment, unit: rows.Unit) -> int:
    """Return a player, which has learned if it is a learner."""
    kind, parameters = PLAYERS[unit["player"]]
    player = experiment.create(kind, parameters=dict(parameters), seed=unit["seed"])
    if unit["player"] in LEARNERS:
        together = 64 if kind == "ntuple-connect-four" else 1
        seats, seed = [player, player], unit["seed"]
        learned.train(
            experiment,
            {f"{kind}-{seed}": player},
            lambda: train(
                experiment, "connect_four", seats, unit["games"], seed, together=together
            ),
        )
    return player


def _against_solver(experiment: Experiment, player: int, unit: rows.Unit) -> rows.Result:
    """Play the solver from openings in both seats, and as first from the empty board."""
    # Training games are counted where the same training is measured.
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
    met = [result for unit, result in done if "openings" in unit]
    others = [each for each in done if "openings" not in each[0]]
    groups = {name: results for (name,), results in rows.by(others, "player").items()}
    for name, results in groups.items():
        keeps = shared([tuple(each["kept"]) for each in results])
        best = "100 (solved in 1988)" if "solver" in name else "-"
        lines.append([f"{name}: moves that keep the value, %", percent(keeps), "-", best])
        lost = rows.interval(rows.over(results, "lost"), 3)
        lines.append([f"{name}: points lost a position", lost, "-", "-"])
    study = {"3": "14.3 (708 wins and 10 draws of 5,000, as second, while it learned)"}
    for player in LEARNERS:
        for name, (opponent, _, _) in OPPONENTS.items():
            won = percent(points(groups[player], "matches", name))
            ours = f"{player} against {opponent}: points %"
            lines.append([ours, won, study.get(name, "-"), "-"])
    for name, where, best in (
        ("openings", "from openings", "-"),
        ("first", "as first from the empty board", BEATS),
    ):
        if met and all(name in each["matches"] for each in met):
            ours = f"{LEARNERS[0]} against `connect-four-solver`, {where}: points %"
            lines.append([ours, percent(points(met, "matches", name)), "-", best])
    measured = [*(each for player in LEARNERS for each in groups[player]), *met]
    note = (
        "A *position* comes from a random game and has 14 to 34 discs, moves that keep its "
        "value (win, draw or loss) and moves that do not; "
        f"a random choice keeps it in {100 * rows.over(groups['`td`'], 'chance').value:.1f} %. "
        "All players answer the same ones, from seeds that no training uses. "
        "A win is worth 1 point, a draw a half. Openings are two plies drawn at random, each "
        "played from both seats, so that two perfect players "
        "take 50 % of the points from each other; from the empty board the first of them wins. "
        "Thill, Koch and Konen (2012) report that n-tuples "
        "learned by TD beat a perfect player where a win is possible; there is no figure on "
        "these positions to set beside ours."
    )
    tested = added(measured, "matches")
    text = f"{tested['distinct']:,} of {tested['games']:,} after training"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


def _size(
    games: int, ntuple: int, positions: int, tests: int, perfect: Mapping[str, int], seeds: int = 5
) -> rows.Size:
    against = f"{perfect['openings']} from openings and {perfect['first']} from the empty board"
    text = (
        f"{ntuple:,} games of training for the n-tuples and {games:,} for `td`, {positions} "
        "positions, "
        f"{tests} games against each depth, {against} against the solver, for each of {{seeds}}"
    )
    values = {"games": games, "ntuple": ntuple, "positions": positions, "tests": tests, **perfect}
    return rows.Size(text, values, seeds)


ROW = rows.Row(
    "connect_four",
    "Connect Four",
    "the RLGame study's learner wins 708 of 5,000 games against minimax of depth 3.",
    {
        "quick": _size(200, 500, 20, 4, LATE, 2),
        "part": _size(20_000, 50_000, 200, 40, {"openings": 4, "plies": 2, "first": 2}),
        "study": _size(300_000, 200_000, 400, 100, {"openings": 20, "plies": 2, "first": 10}),
    },
    _units,
    _work,
    _draw,
)
