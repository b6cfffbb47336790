"""2048 in stages, with separate weights from the tiles 8192 and 16384 on, and longer training."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail_agents.games.game_2048.networks import layout
from dovetail_experiments.statistics import mean, wilson
from dovetail_studies import rows
from dovetail_studies.best.game_2048 import BEYOND, COHERENT, MEASURED, SHAPE, WIDE
from dovetail_studies.best.parts import COLUMNS, percent, shared
from dovetail_studies.game_2048.train import chunks, measure
from dovetail_studies.learned import continued

Array = NDArray[Any]
NETWORK = layout("fives", *SHAPE, WIDE, stages=3)
TILES = (2048, 8192, 16384, BEYOND)


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    short, most = values["short"], values["games"]
    parts = [(most, plies, values[name]) for plies, name in enumerate(("one", "two", "three"), 1)]
    if short < most:
        parts.insert(0, (short, 1, values["one"]))
    return [
        {"games": games, "short": short, "plies": plies, "tests": tests, "seed": seed}
        for games, plies, tests in parts
        for seed in seeds
        if tests
    ]


def _trained(games: int, short: int, seed: int) -> tuple[Array, Array]:
    """Return the weights and their sums of errors after a number of games. Training continues from
    half as many games, unless that is ``short``."""

    def learn() -> bytes:
        first, weights = 0, NETWORK.zeros()
        errors: Array = np.zeros((2, weights.size), np.float32)
        if games > short:
            first = games // 2
            weights, errors = _trained(first, short, seed)
        for _ in chunks(NETWORK, weights, *SHAPE, games, seed, COHERENT, 1, first, errors):
            pass
        at, state = np.flatnonzero(errors[1]), io.BytesIO()
        np.savez(state, at=at.astype(np.uint32), weights=weights.ravel()[at], errors=errors[:, at])
        return state.getvalue()

    kept = np.load(io.BytesIO(continued(f"stages-{games}-{seed}", learn)))
    weights = NETWORK.zeros()
    errors = np.zeros((2, weights.size), np.float32)
    weights.ravel()[kept["at"]] = kept["weights"]
    errors[:, kept["at"]] = kept["errors"]
    return weights, errors


def _work(unit: rows.Unit) -> rows.Result:
    games, seed = unit["games"], unit["seed"]
    weights, _ = _trained(games, unit["short"], seed)
    out = measure(NETWORK, weights, SHAPE, unit["tests"], MEASURED + seed, unit["plies"])
    found = {
        "scores": out[:, 0].tolist(),
        "tiles": {str(tile): int((1 << out[:, 1] >= tile).sum()) for tile in TILES},
        "games": unit["tests"],
    }
    if unit["plies"] == 1:  # count a training once, and its beginning where it is measured
        found["games"] += games - (unit["short"] if games > unit["short"] else 0)
    return found


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    for (games, plies), results in rows.by(done, "games", "plies").items():
        name = f"{games:,} games, {plies} {'ply' if plies == 1 else 'plies'}"
        scores = [each["scores"] for each in results]
        means = [float(np.mean(each)) for each in scores]
        score = mean(means if len(means) > 1 else scores[0])
        lines.append([f"{name}: mean score", rows.interval(score, 0), "-", "-"])
        for tile in TILES:
            counts = [(each["tiles"][str(tile)], len(each["scores"])) for each in results]
            reached = shared(counts) if len(counts) > 1 else wilson(*counts[0])
            lines.append([f"{name}: reaches {tile}, %", percent(reached), "-", "-"])
    text = "all, as each has its own sequence of tiles"
    return rows.Drawn(COLUMNS, lines, rows.total(done, "games"), text, (), NOTE)


NOTE = (
    "The network is that of the searching player above, `fives` with tiles up to 32768, with "
    "weights of their own for boards with a tile of 8192 and for those with one of 16384 "
    "(`stages = 3`); each begins with the value of the stage before. The games and seeds are those "
    "of that player. Where there is one training, intervals are over its games. "
    "`dovetail train 2048 train FILE --exponents 16 --stages 3` trains the same network."
)

CODE: rows.Code = (_units, _work, _draw)
