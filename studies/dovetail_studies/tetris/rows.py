"""Rows of the Tetris study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from dovetail_agents.games.tetris.weights import PLAYERS
from dovetail_agents.general.feature_network import handmade
from dovetail_agents.general.feature_network.genome import UnitNetwork
from dovetail_experiments.statistics import Estimate, estimates
from dovetail_experiments.statistics.censored import Censored, censored
from dovetail_games.tetris import PIECES
from dovetail_studies.means import mean
from dovetail_studies.rows import (
    Compared,
    Done,
    Drawn,
    Result,
    Unit,
    by,
    by_what,
    declared,
    every,
    interval,
    remark,
    signed,
    within,
)
from dovetail_studies.tetris import games, genome_rows, train

UNITS = (
    "landing height",
    "completed rows",
    "row transitions",
    "column transitions",
    "holes",
    "wells",
)
"""Units of the hand-made solution in order; a weight of 0 switches one off."""
LOOPS = "loops"
"""Entry that switches off the runs counted by units, with all units on."""


def _without(network: UnitNetwork, off: Sequence[str]) -> UnitNetwork:
    from dataclasses import replace

    found = network.units
    if LOOPS in off:
        found = tuple(replace(unit, loop=None) for unit in found)
    found = tuple(
        replace(unit, weight=0.0) if name in off else unit
        for name, unit in zip(UNITS, found, strict=True)
    )
    return replace(network, units=found)


def _handmade(rows: int = 20, columns: int = 10) -> UnitNetwork:
    return handmade.network("study", handmade.PLANES, rows, columns)


# -- H: the hand-made solution ---------------------------------------------------------------------

OFF: tuple[tuple[str, ...], ...] = (
    (),
    *((name,) for name in UNITS),
    ("completed rows", "wells"),
    (LOOPS,),
)


def rows_of(player: games.Player, game: games.TetrisGame, unit: Unit) -> Result:
    """Play a unit's games, none of which is a training game.

    The result is the rows of each game, and true where the game ended.
    """
    found = games.play([player], game, games.seeds(1_000_000 + unit["seed"], 0, unit["games"]))[0]
    return {"rows": found[:, 0].tolist(), "ended": found[:, 2].tolist()}


def _hand(unit: Unit) -> Result:
    game = games.TetrisGame(most=unit["most"])
    return rows_of(games.Networked(_without(_handmade(), unit["off"])), game, unit)


def _fitted(results: Sequence[Result]) -> tuple[list[float], Censored]:
    rows = [float(max(1, each)) for result in results for each in result["rows"]]
    cut = [not each for result in results for each in result["ended"]]
    return rows, censored(rows, cut, max(rows))


def uncut(results: Sequence[Result]) -> tuple[Estimate, int, int]:
    """Return the mean without truncation, and the numbers of games and of truncated games.

    The estimate is the maximum likelihood of an exponential law. Where that does not fit, it is the
    mean of the games, with Student's interval over them if none was truncated and without one
    otherwise.
    """
    rows, found = _fitted(results)
    if found.mean is not None:
        return found.mean, len(rows), found.capped
    plain = estimates.without_interval(found.limited) if found.capped else within(mean(rows))
    return plain, len(rows), found.capped


def whole_games(mean: Estimate) -> str:
    """Describe the mean of games without truncation.

    If all were truncated, only a lower bound is known.
    """
    return f"at least {mean.low:,.0f}" if math.isinf(mean.value) else interval(mean, 0)


def unfitted(results: Sequence[Result]) -> bool:
    """Return true if the exponential law does not fit."""
    return _fitted(results)[1].mean is None


def law(names: Sequence[str]) -> str:
    """Return a note on the estimation of means.

    ``names`` has the lines that the law does not fit.
    """
    text = (
        "A mean is the rows of all games divided by the number that ended, as fits games "
        "that end at a constant rate, whether or not some are cut."
    )
    if not names:
        return text
    return (
        f"{text} Where the games do not fit that ({'; '.join(names)}), it is the mean of the "
        "games, with Student's interval over them if none was cut, "
        "and up to the cut and in italics otherwise."
    )


def _hand_draw(done: Done) -> Drawn:
    groups = by_what(done, lambda unit: tuple(unit["off"]))
    lines, compared, total, count = [], [], 0, 0
    others: list[str] = []
    for off, results in groups.items():
        mean, count, cut = uncut(results)
        total += count
        name = f"without {' and '.join(off)}" if off else "all six units"
        printed, text = "-", whole_games(mean)
        if not off:
            compared.append(Compared("rows, all units", 5200.0, mean, count / 10))
            printed, text = "about 5,200", signed(text, compared[0])
        lines.append([name, printed, text, f"{cut} of {count}"])
        others += [name] * unfitted(results)
    note = remark("tetris", "handmade", law=law(others))
    columns = ["units", "study: rows, 10 games", "ours", "games cut short"]
    return Drawn(columns, lines, total, games.sequences_of(count), compared, note)


# -- the players of the literature -----------------------------------------------------------------

LITERATURE = {
    "dellacherie": "660,000 (Fahey's rules)",
    "bcts": "35,000,000",
    "dt-10": "-",
    "dt-20": "51,000,000",
    "bertsekas": "about 2,800 (on 19 rows)",
}


def _literature(unit: Unit) -> Result:
    game = games.TetrisGame(unit["rows"], 10, PIECES, unit["most"])
    return rows_of(games.LinearPlayer(PLAYERS[unit["player"]]), game, unit)


def _literature_draw(done: Done) -> Drawn:
    lines, total, count = [], 0, 0
    others: list[str] = []
    for (player, rows), results in by(done, "player", "rows").items():
        mean, count, cut = uncut(results)
        total += count
        printed = LITERATURE[player] if rows == 20 else "-"
        others += [f"{player} on {rows} rows"] * unfitted(results)
        lines.append([player, f"{rows} x 10", printed, whole_games(mean), f"{cut} of {count}"])
    note = remark("tetris", "literature", law=law(others))
    columns = ["player", "board", "published: rows", "ours", "games cut short"]
    return Drawn(columns, lines, total, games.sequences_of(count), (), note)


# -- the goal --------------------------------------------------------------------------------------


def _goal(unit: Unit) -> Result:
    from functools import partial as bind

    from dovetail_studies.tetris.searches import CrossEntropy, noise

    first = _handmade(10)
    start = np.zeros(6)
    rng = np.random.default_rng(unit["seed"])
    found = CrossEntropy(
        start, np.full(6, 25.0), unit["population"], 0.1, rng, bind(noise, "constant", size=0.1)
    )
    trials = train.Trials(
        games.TetrisGame(10, 10, PIECES, unit["train most"]), unit["seed"], unit["games"], 1
    )
    last = list(
        train.search(found, train.networked(first, "weights"), trials, unit["generations"])
    )[-1]
    learned = train.resized(train.network_of(last.vector, first, "weights"), 20)
    played = rows_of(
        games.Networked(learned),
        games.TetrisGame(most=unit["most"]),
        {**unit, "games": unit["again"]},
    )
    return {**played, "weights": [round(x, 3) for x in last.vector.tolist()]}


def _goal_draw(done: Done) -> Drawn:
    lines, total, sequences = [], 0, 0
    others: list[str] = []
    for unit, result in done:
        mean, count, cut = uncut([result])
        total += count + unit["population"] * unit["games"] * unit["generations"]
        sequences += count + unit["games"] * unit["generations"]
        others += [f"seed {unit['seed']}"] * unfitted([result])
        lines.append(
            [f"seed {unit['seed']}", "5,200, not reached", whole_games(mean), f"{cut} of {count}"]
        )
    note = (
        "Learned from zeros are the weights of the six units, by cross-entropy on 10 x 10; the "
        "units are set by hand. The study wanted "
        "all 192 genes to be learned, which runs 1 to 5 show. A game ends at "
        f"{unit['most'] * 2 // 5:,} rows. {law(others)}"
    )
    return Drawn(
        ["", "study: rows", "ours on 20 x 10", "games cut short"],
        lines,
        total,
        games.sequences_of(sequences),
        (),
        note,
    )


STUDY = declared(
    "tetris",
    {
        "handmade": (partial(every, off=[list(each) for each in OFF]), _hand, _hand_draw),
        **genome_rows.CODE,
        "goal": (every, _goal, _goal_draw),
        "literature": (
            partial(every, rows=(10, 20), player=LITERATURE),
            _literature,
            _literature_draw,
        ),
    },
)
