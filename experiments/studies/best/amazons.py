"""Amazons: the study's learner against alpha-beta of depth 3 with the published weights."""

from __future__ import annotations

from functools import partial
from typing import Any

from dovetail.agent_servers.games.amazons import AmazonsPlayer
from dovetail.env_servers.amazons import Amazons
from dovetail.experiments.inprocess import InProcess
from dovetail.experiments.studies.amazons.rows import BOARD, train
from dovetail.experiments.studies.best.parts import (
    COLUMNS,
    added,
    counted,
    percent,
    players,
    points,
)
from dovetail.experiments.studies.playing import match
from dovetail.experiments.studies.rows import (
    Done,
    Drawn,
    Result,
    Row,
    Size,
    Unit,
    by,
    total,
)

RUN = "OnesVsAbMp"
"""The study's training that ended first in its tournament."""
PUBLISHED = "ones-vs-abmp"
WAYS: dict[str, dict[str, Any]] = {
    "depth 2 with rollouts": {"depth": 2, "rollouts": True},
    "depth 3": {"depth": 3, "rollouts": False},
}


def _work(unit: Unit) -> Result:
    found: Result = {"games": 0, "matches": {}}
    weights: Any = PUBLISHED
    if unit["player"] == "learned":
        given = {"run": RUN, "rollouts": 0, "moves": unit["moves"], "checks": 1, "tests": 2}
        trained = train({**given, "seed": unit["seed"]})
        weights = found["weights"] = trained["weights"]
        found["games"] += trained["games"]
    with InProcess([Amazons], [AmazonsPlayer]) as experiment:
        yardstick = experiment.create(
            "amazons-player",
            parameters={"weights": PUBLISHED, **WAYS["depth 3"]},
            seed=1000 + unit["seed"],
        )
        for name, way in WAYS.items():
            if weights == PUBLISHED and name == "depth 3":
                continue  # it would meet itself
            player = experiment.create(
                "amazons-player", parameters={"weights": weights, **way}, seed=unit["seed"]
            )
            pair = [player, yardstick]
            score = match(
                experiment, "amazons", pair, unit["tests"], unit["seed"], BOARD, openings=2
            )
            found["matches"][name] = counted(score)
            found["games"] += score.games
    return found


def _draw(done: Done) -> Drawn:
    groups = {name: results for (name,), results in by(done, "player").items()}
    learned, published = groups["learned"], groups["published"]
    first, second = WAYS
    lines = [
        [
            f"{first}: wins %",
            percent(points(learned, "matches", first)),
            f"{percent(points(published, 'matches', first))}, its published weights, measured here",
            "-",
        ],
        [
            f"{second}: wins %",
            percent(points(learned, "matches", second)),
            "50, the player against itself",
            "-",
        ],
    ]
    note = (
        f"The opponent is alpha-beta of depth 3 with the weights that the study published for {RUN}, its strongest. Ours are learned from ones against alpha-beta of depth 2 with "
        "the weights set by hand, without rollouts. Games begin with two moves drawn at random, each opening played from both seats; the board is 8 x 8. "
        "The literature's programs play 10 x 10 with evaluations of territory, or UCT; none is measured here, and they are expected to win nearly every game against these twelve features."
    )
    tested = added([result for _, result in done], "matches")
    text = f"{tested['distinct']:,} of {tested['games']:,} after training"
    return Drawn(COLUMNS, lines, total(done, "games"), text, (), note)


def _size(moves: int, tests: int, seeds: int = 5) -> Size:
    text = f"{moves:,} of the learner's moves (the study: 100,000), {tests} games a line, for each of {{seeds}}"
    return Size(text, {"moves": moves, "tests": tests}, seeds)


ROW = Row(
    "amazons",
    "Amazons",
    "317 of 400 games won by OnesVsAbMp in its tournament of five players; nothing against depth 3 but *comparable*.",
    {"quick": _size(40, 2, 2), "part": _size(10_000, 10), "study": _size(100_000, 100)},
    partial(players, ["learned", "published"]),
    _work,
    _draw,
)
