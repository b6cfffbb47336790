"""Amazons: territory in place of the study's features, an opening book, and a league."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any

from dovetail.client.inprocess import InProcess
from dovetail_agents.games.amazons import AmazonsPlayer, AmazonsTerritory
from dovetail_experiments.stages.runner import RunnerOptions, execute
from dovetail_games.amazons import Amazons
from dovetail_studies import rows
from dovetail_studies.best.parts import COLUMNS, counted, percent, points
from dovetail_studies.learned import learned
from dovetail_studies.playing import match

PUBLISHED = {"weights": "ones-vs-abmp"}
"""Weights that won the study's tournament."""
LEAGUE = "trained in a league, depth 3"
PLAYERS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "territory, depth 1": ("amazons-territory", {"depth": 1}),
    "territory, depth 2": ("amazons-territory", {"depth": 2}),
    "territory with the book": ("amazons-territory", {"depth": 2, "book": True}),
    "the study's, depth 2 with rollouts": ("amazons-player", PUBLISHED),
    "the study's, depth 3": ("amazons-player", {**PUBLISHED, "depth": 3, "rollouts": False}),
    "the study's, depth 4": ("amazons-player", {**PUBLISHED, "depth": 4, "rollouts": False}),
    LEAGUE: ("amazons-player", {"weights": "ones", "depth": 3, "rollouts": False}),
}
FIRST, SECOND, BOOK, ROLLOUTS, THIRD, FOURTH, _ = PLAYERS
MEETINGS = (
    (FIRST, THIRD, 8),
    (SECOND, ROLLOUTS, 8),
    (SECOND, THIRD, 8),
    (SECOND, FOURTH, 8),
    (SECOND, THIRD, 10),
    (SECOND, FIRST, 8),
    (LEAGUE, THIRD, 8),
)
"""Player, opponent and board size of each meeting; games start with two random moves."""
OPENINGS = ((SECOND, ROLLOUTS, 8), (BOOK, ROLLOUTS, 8), (BOOK, SECOND, 8))
"""Games from the initial position, for which the book has moves."""
SLOW = 20
"""Divisor of the number of games against depth 4."""


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    found: list[rows.Unit] = []
    for meetings, openings in ((MEETINGS, 2), (OPENINGS, 0)):
        for player, other, side in meetings:
            games = values["games"] // (SLOW if other == FOURTH else 1 if openings else 2)
            if games:
                given = {"player": player, "other": other, "side": side, "openings": openings}
                given |= {"league": values["league"]} if player == LEAGUE else {}
                found += rows.every({**given, "games": games}, seeds)
    return found


def _league(games: int, seed: int) -> bytes:
    """Return the learner's state in the example ``amazons_league``."""
    file = resources.files("dovetail_experiments.examples").joinpath("amazons_league.toml")
    with (
        resources.as_file(file) as path,
        tempfile.TemporaryDirectory() as folder,
        redirect_stdout(StringIO()),  # the example prints its tables
    ):
        return execute(
            path,
            out=Path(folder),
            options=RunnerOptions(in_process=True),
            overrides={
                "seed": seed,
                "leagues.0.episodes": games,
                "leagues.0.snapshot_every": max(20, games // 10),
            },
        ).states["learner"]


def _work(unit: rows.Unit) -> rows.Result:
    seed, games = unit["seed"], unit.get("league", 0)
    with InProcess([Amazons], [AmazonsPlayer, AmazonsTerritory]) as experiment:
        pair = [
            experiment.create(kind, parameters=dict(given), seed=1000 * place + seed)
            for place, (kind, given) in enumerate((PLAYERS[unit["player"]], PLAYERS[unit["other"]]))
        ]
        if games:
            weights = learned(f"league-{games}-{seed}", lambda: _league(games, seed), bytes)
            trained = experiment.create("amazons-player", state=weights, seed=seed)
            given = {**PLAYERS[LEAGUE][1], "weights": experiment.message(trained, "weights")}
            pair[0] = experiment.create("amazons-player", parameters=given, seed=seed)
        board = {"rows": unit["side"], "columns": unit["side"]}
        at = (experiment, "amazons", pair, unit["games"], seed, board)
        return {"trained": games, **counted(match(*at, openings=unit["openings"]))}


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    for (player, other, side, openings), results in rows.by(
        done, "player", "other", "side", "openings"
    ).items():
        where = f", {side} x {side}" if side != 8 else ""
        where += "" if openings else ", from the first position"
        lines.append(
            [f"{player} against {other}{where}: wins %", percent(points(results)), "-", "-"]
        )
    trained = max(result["trained"] for _, result in done)
    note = rows.remark("best", "territory", trained=trained)
    tested = [result for _, result in done]
    count, distinct = (sum(each[name] for each in tested) for name in ("games", "distinct"))
    text = f"{distinct:,} of {count:,}; those of the league are not among them"
    return rows.Drawn(COLUMNS, lines, count, text, (), note)


CODE: rows.Code = (_units, _work, _draw)
