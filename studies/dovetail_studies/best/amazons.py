"""Amazons: the study's learner against a player with the study's published weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.client.inprocess import InProcess
from dovetail_agents.games.amazons import AmazonsPlayer
from dovetail_experiments.statistics import Estimate
from dovetail_games.amazons import Amazons
from dovetail_studies import rows
from dovetail_studies.amazons.rows import BOARD, learned, thinking, train, weights_of
from dovetail_studies.best.parts import COLUMNS, counted, percent, points
from dovetail_studies.playing import Score, match

RUNS = ("ZerosVsAbMp", "OnesVsAbMp", "MpVsAbMp", "ZerosVsMcMp", "OnesVsMcMp", "MpVsMcMp")
"""Trainings of the study against a searching opponent."""
PLAIN = "OnesVsAbMp without rollouts"
"""The second of these runs, with a learner that trains without rollouts."""
CHOSEN, SAME = PLAIN, "OnesVsAbMp"
"""Training that won most games in the selection, and the same run as in the study."""
PUBLISHED = "ones-vs-abmp"
"""Weights that won the study's tournament."""
WAYS: dict[str, dict[str, Any]] = {
    "depth 2 with rollouts": {"depth": 2, "rollouts": True},
    "depth 3": {"depth": 3, "rollouts": False},
    "depth 4": {"depth": 4, "rollouts": False},
}
MEETINGS = (
    ("depth 2 with rollouts", "depth 3"),
    ("depth 3", "depth 2 with rollouts"),
    ("depth 3", "depth 3"),
    ("depth 4", "depth 3"),
)
"""Search settings of our player and the published one in each meeting."""
ITSELF = (MEETINGS[0], MEETINGS[3])
"""Meetings of the published player with itself that determine the others."""
CHOICE = 1000
"""Offset of the seeds of selection games, so that their openings differ from the others'."""
MOVES = 100_000
"""Moves of a training, as in the study."""
SLOW = 10
"""Divisor of the number of games at depth 4."""


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return the trainings, the selection games, the timed games and the games of the table."""
    even = {"way": "depth 3", "against": "depth 3"}
    given: list[rows.Unit] = [{"train": SAME, "moves": values["moves"]}] if values["moves"] else []
    given += [{"choice": run, **even, "games": values["few"]} for run in (*RUNS, PLAIN)]
    slow = values["games"] // SLOW
    given += [{"timed": way} for way in WAYS if slow or way != "depth 4"]
    for player, meetings in ((CHOSEN, MEETINGS), (SAME, MEETINGS[2:3]), ("published", ITSELF)):
        for way, against in meetings:
            if games := slow if way == "depth 4" else values["games"]:
                given.append({"player": player, "way": way, "against": against, "games": games})
    return [{**unit, "seed": seed} for unit in given for seed in seeds]


def _work(unit: rows.Unit) -> rows.Result:
    seed = unit["seed"]
    if "train" in unit:
        given = {"run": unit["train"], "rollouts": 0, "moves": unit["moves"]}
        trained = train({**given, "checks": 1, "tests": 2, "seed": seed})
        return {"games": trained["games"], "weights": trained["weights"]}
    if "timed" in unit:
        seconds = thinking({"weights": _weights(CHOSEN, seed), **WAYS[unit["timed"]]}, seed)
        return {"games": 1, "longest": round(max(seconds), 6)}
    if "choice" in unit:
        return counted(_play(_weights(unit["choice"], seed), unit, CHOICE + seed))
    return counted(_play(_weights(unit["player"], seed), unit, seed))


def _weights(player: str, seed: int) -> str | list[float]:
    """Return a player's weights: the published ones, or the final ones of a kept training."""
    if player == "published":
        return PUBLISHED
    if player != PLAIN:
        return learned(player, seed)
    unit = {"train": SAME, "moves": MOVES, "seed": seed}
    return weights_of("best", "amazons.study.jsonl", unit, "dovetail study best amazons --jobs 1")


def _play(weights: str | list[float], unit: rows.Unit, seed: int) -> Score:
    """Play against the published weights, each opening from both seats."""
    given = {"weights": weights, **WAYS[unit["way"]]}
    published = {"weights": PUBLISHED, **WAYS[unit["against"]]}
    with InProcess([Amazons], [AmazonsPlayer]) as experiment:
        pair = [
            experiment.create("amazons-player", parameters=given, seed=seed),
            experiment.create("amazons-player", parameters=published, seed=1000 + seed),
        ]
        return match(experiment, "amazons", pair, unit["games"], seed, BOARD, openings=2)


def _opposite(found: Estimate) -> Estimate:
    return Estimate(1 - found.value, 1 - found.high, 1 - found.low)


def _draw(done: rows.Done) -> rows.Drawn:
    kinds = {
        kind: [each for each in done if kind in each[0]] for kind in ("choice", "player", "timed")
    }
    played = rows.by(kinds["player"], "player", "way", "against")
    lines = []
    for way, against in MEETINGS:
        ours = played.get((CHOSEN, way, against))
        if ours is None:
            continue
        if way == against:
            study = "50, the player against itself"
        elif results := played.get(("published", way, against)):
            study = percent(points(results))
        else:
            study = percent(_opposite(points(played["published", against, way])))
        lines.append([f"{way} against {against}: wins %", percent(points(ours)), study, "-"])
    same = percent(points(played[SAME, "depth 3", "depth 3"]))
    lines.append(["depth 3 against depth 3, trained with rollouts: wins %", same, "-", "-"])
    for (way,), results in rows.by(kinds["timed"], "timed").items():
        longest = rows.interval(
            rows.within(rows.over(results, "longest")), 4 if way != "depth 4" else 2
        )
        lines.append([f"{way}: longest move of a game, seconds of a core", longest, "-", "-"])
    choice = rows.by(kinds["choice"], "choice")
    few = sum(each["games"] for each in choice[CHOSEN,])
    shares = ", ".join(f"{run} {percent(points(each))}" for (run,), each in choice.items())
    note = rows.remark("best", "amazons", few=few, shares=shares)
    tested = [result for kind in ("choice", "player") for _, result in kinds[kind]]
    count, distinct = (sum(each[name] for each in tested) for name in ("games", "distinct"))
    text = f"{distinct:,} of {count:,} after training"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), note)


CODE: rows.Code = (_units, _work, _draw)
