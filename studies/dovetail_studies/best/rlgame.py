"""RLGame: two ``td`` learners against minimax at several depths."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail.client.inprocess import InProcess
from dovetail_agents.games.rlgame import RLGameMinimax
from dovetail_agents.general.td import TD
from dovetail_games.rlgame import RLGame
from dovetail_studies import learned, rows
from dovetail_studies.best.parts import COLUMNS, added, counted, percent, points, train
from dovetail_studies.playing import match

LEARNER = {"discount": 0.95, "trace_decay": 0.5, "hidden": "half", "epsilon": 0.1}
"""Learner of ``experiments/dovetail_experiments/examples/rlgame_against_minimax.toml``."""
REWARDS = {"win_reward": 1.0, "pawn_reward": 0.01}
SIZES = (6, 8)
DEPTHS = (2, 3, 4, 5)
SIDES = ("White", "Black")
MOST_TURNS = 20_000
MOST_TESTED = 1_000
"""Maximum moves of a test game, since greedy players may never end one."""
STUDY = {(6, 5, "Black"): "4.4 (110 of 2,500, while it learned)"}
"""The study's results by size, depth and side."""


def _work(unit: rows.Unit) -> rows.Result:
    board: dict[str, Any] = {"size": unit["size"], **REWARDS}
    found: rows.Result = {"games": unit["games"], "matches": {}}
    with InProcess([RLGame], [TD, RLGameMinimax]) as experiment:
        learners = [
            experiment.create("td", parameters=dict(LEARNER), seed=2 * unit["seed"] + seat)
            for seat in (0, 1)
        ]

        def play() -> None:
            found["cut"] = train(
                *(experiment, "rlgame", learners, unit["games"], unit["seed"], board, MOST_TURNS)
            )

        names = [f"{unit['size']}x{unit['size']}-{side.lower()}-{unit['seed']}" for side in SIDES]
        learned.train(experiment, dict(zip(names, learners, strict=True)), play)
        for depth in DEPTHS:
            given = {"depth": depth, "configuration": board}
            other = experiment.create("rlgame-minimax", parameters=given, seed=unit["seed"])
            for seat, side in enumerate(SIDES):
                score = match(
                    experiment,
                    "rlgame",
                    [learners[0], other] if seat == 0 else [other, learners[1]],
                    unit["tests"],
                    unit["seed"],
                    board,
                    openings=2,
                    most=MOST_TESTED,
                    rotate=False,
                )
                if seat == 1:
                    score.wins, score.losses = score.losses, score.wins
                found["matches"][f"{side}, depth {depth}"] = counted(score)
                found["games"] += score.games
    return found


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    for (size,), results in rows.by(done, "size").items():
        for side in SIDES:
            for depth in DEPTHS:
                won = percent(points(results, "matches", f"{side}, depth {depth}"))
                name = f"{size} x {size}, {side} against minimax of depth {depth}: wins %"
                lines.append([name, won, STUDY.get((size, depth, side), "-"), "-"])
    results = [result for _, result in done]
    tested = added(results, "matches")
    trained = [(unit["games"], result["cut"]) for unit, result in done if "cut" in result]
    games, cut = (sum(each) for each in zip(*trained, strict=True)) if trained else (0, 0)
    note = rows.remark(
        "best",
        "rlgame",
        cut=cut,
        games=games,
        turns=MOST_TURNS,
        tested_cut=tested["cut"],
        tested=tested["games"],
        tested_turns=MOST_TESTED,
    )
    text = f"{tested['distinct']:,} of {tested['games']:,} after training"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


CODE: rows.Code = (partial(rows.every, size=SIZES), _work, _draw)
