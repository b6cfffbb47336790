"""Tetris: nine features learned by cross-entropy, compared with published controllers."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dovetail_agents.games.tetris.weights import PLAYERS, Features, Weights, size
from dovetail_studies import rows
from dovetail_studies.best.parts import COLUMNS
from dovetail_studies.learned import learned
from dovetail_studies.means import mean
from dovetail_studies.tetris import games, train
from dovetail_studies.tetris.rows import law, rows_of, uncut, unfitted, whole_games
from dovetail_studies.tetris.searches import CrossEntropy, noise

FEATURES: Features = "dt-diversity"
MEANS = {"bcts": 35_000_000, "dt-20": 51_000_000}
"""Mean rows on 20 x 10, as quoted in the study."""
PUBLISHED = {
    "dellacherie": "660,000 (set by hand, Fahey's rules)",
    "bcts": f"{MEANS['bcts']:,} (cross-entropy)",
    "dt-20": f"{MEANS['dt-20']:,} (CBMPI)",
}
NAMES = {
    "learned": "nine features, learned here",
    "dellacherie": "Dellacherie",
    "bcts": "BCTS",
    "dt-10": "DT-10 (CBMPI on 10 x 10)",
    "dt-20": "DT-20 (CBMPI on 20 x 10)",
}
STUDY = {"learned": "2,378 learned, about 5,200 by hand"}


def _learn(unit: rows.Unit) -> bytes:
    start = np.zeros(size(FEATURES, 10))
    search = CrossEntropy(
        start,
        np.full(len(start), 100.0),
        unit["population"],
        0.1,
        np.random.default_rng(unit["seed"]),
        partial(noise, "decreasing", size=4.0),
    )
    trials = train.Trials(games.TetrisGame(10, 10), unit["seed"], unit["each"], 1)
    last = list(train.search(search, train.linear(FEATURES), trials, unit["generations"]))[-1]
    return Weights(1, FEATURES, last.vector.tolist()).bytes()


def _work(unit: rows.Unit) -> rows.Result:
    found: rows.Result = {"games": unit["low"] + unit["high"]}
    if unit["player"] == "learned":
        weights = learned(f"nine-features-{unit['seed']}", partial(_learn, unit), Weights.read)
        found["weights"] = [round(x, 3) for x in weights.weights]
        found["games"] += unit["generations"] * (unit["population"] * unit["each"] + 1)
    else:
        weights = PLAYERS[unit["player"]]
    player = games.LinearPlayer(weights)
    for key, game in (
        ("low", games.TetrisGame(10, 10)),
        ("high", games.TetrisGame(most=unit["most"])),
    ):
        found[key] = rows_of(player, game, {"seed": unit["seed"], "games": unit[key]})
    return found


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    groups = {name: results for (name,), results in rows.by(done, "player").items()}
    for name, results in groups.items():
        low = mean([float(np.mean(each["low"]["rows"])) for each in results])
        count = sum(len(each["low"]["rows"]) for each in results)
        cut = sum(not ended for each in results for ended in each["low"]["ended"])
        lines.append(
            [f"10 x 10: {NAMES[name]}", rows.interval(low, 0), "-", "-", f"{cut} of {count:,}"]
        )
    others: list[str] = []
    within: list[str] = []
    for name, results in groups.items():
        played = [each["high"] for each in results]
        others += [NAMES[name]] * unfitted(played)
        high, count, cut = uncut(played)
        if high.low <= MEANS.get(name, -math.inf) <= high.high:
            within.append(NAMES[name])
        printed = STUDY.get(name, "-"), PUBLISHED.get(name, "-")
        lines.append(
            [f"20 x 10: {NAMES[name]}", whole_games(high), *printed, f"{cut} of {count:,}"]
        )
    most = done[0][0]["most"]
    limit = (
        (
            "Games on 10 x 10 have no limit and are the main figure; on 20 x 10 they are cut at "
            f"{most:,} pieces, which are {most * 2 // 5:,} rows, and if all games are cut, "
            "there is "
            "only a lower bound."
        )
        if most
        else "Games have no limit; those on 10 x 10 are more and the main figure."
    )
    note = rows.remark(
        "best", "tetris", limit=limit, law=law(others), within=", ".join(within) or "none"
    )
    columns = [*COLUMNS, "games cut short"]
    trained = [unit for unit, _ in done if unit["player"] == "learned"]
    sequences = sum(each["generations"] * each["each"] + each["low"] for each in trained)
    return rows.Drawn(
        columns, lines, rows.total(done, "games"), games.sequences_of(sequences), (), note
    )


CODE: rows.Code = (partial(rows.every, player=NAMES), _work, _draw)
