"""Connect Four: n-tuples with and without eligibility traces, as first against perfect play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dovetail.client.inprocess import InProcess
from dovetail_agents.games.connect_four import ConnectFourSolver
from dovetail_agents.games.connect_four.ntuple import NTupleConnectFour, NTupleConnectFourParameters
from dovetail_games.connect_four import ConnectFour
from dovetail_studies import rows
from dovetail_studies.best.connect_four import BEATS, HELD_OUT
from dovetail_studies.best.parts import BLOCK, COLUMNS, counted, percent, points, shared
from dovetail_studies.keeping import KeepValue, kept
from dovetail_studies.learned import continued
from dovetail_studies.playing import match

RULE = {"learning_rate": 0.004, "epsilon": 0.1}
"""Of Bagheri, Thill, Koch and Konen (2016)."""
TRACES = (0.0, 0.8)
PARTS = (16, 8, 4, 2, 1)
"""A training is measured after a sixteenth of its games, an eighth, a fourth, a half, and all."""


def _units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    given = dict(values)
    games = given.pop("games")
    # The parts of all trainings before their ends: what is done at any time can be compared.
    return [
        {"games": games // part, "trace": trace, **given, "seed": seed}
        for part in PARTS
        for seed in seeds
        for trace in TRACES
    ]


def _trained(trace: float, games: int, least: int, seed: int) -> bytes:
    """Return a network after some games, twice as many as the state before has, or ``least``."""

    def learn() -> bytes:
        player, first = NTupleConnectFour(NTupleConnectFourParameters(trace=trace, **RULE), seed), 0
        if games > least:
            first = games // 2
            player.load(_trained(trace, first, least, seed))
        for begun in range(first, games, BLOCK):
            words = np.random.SeedSequence([seed, begun]).generate_state(1, np.uint64)
            player.play_itself(min(BLOCK, games - begun), int(words[0]))
        return player.save()

    return continued(f"traces-{trace}-{games}-{seed}", learn)


def _work(unit: rows.Unit) -> rows.Result:
    state = _trained(unit["trace"], unit["games"], unit["least"], unit["seed"])
    agents = [NTupleConnectFour, ConnectFourSolver]
    with InProcess([ConnectFour, KeepValue], agents) as experiment:
        player = experiment.create("ntuple-connect-four", seed=unit["seed"])
        experiment.load(player, state)
        shown = kept(experiment, player, unit["positions"], HELD_OUT + unit["seed"])
        solver = experiment.create("connect-four-solver", seed=unit["seed"])
        score = match(
            experiment,
            "connect_four",
            [player, solver],
            unit["tests"],
            unit["seed"],
            rotate=False,
        )
        return {
            "games": unit["games"] // (1 if unit["games"] == unit["least"] else 2) + score.games,
            "kept": [shown.kept, shown.positions],
            "first": counted(score),
        }


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    for (games, trace), results in rows.by(done, "games", "trace").items():
        name = f"{games:,} games, {f'traces of {trace}' if trace else 'no traces'}"
        keeps = shared([tuple(each["kept"]) for each in results])
        won = points(results, "first")
        lines.append([f"{name}: points as first against perfect play, %", percent(won), "-", BEATS])
        lines.append([f"{name}: moves that keep the value, %", percent(keeps), "-", "-"])
    distinct = sum(result["first"]["distinct"] for _, result in done)
    tested = sum(result["first"]["games"] for _, result in done)
    return rows.Drawn(
        COLUMNS,
        lines,
        rows.total(done, "games"),
        f"{distinct:,} of {tested:,} after training",
        (),
        NOTE,
    )


NOTE = (
    "The networks learn from compiled games with themselves, at the learning rate 0.004 and the "
    "epsilon 0.1 of Bagheri, Thill, Koch and Konen (2016), where the table above has 0.05 and 0.2. "
    "Each training is measured several times on its way. The pairs with and without traces have "
    "the same seeds. A win as first is worth 1 point, a draw a half: the perfect player, which is "
    "second, can only hope for a mistake. It answers as late a loss as it can, and draws among "
    "equal columns. The positions are those of the table above."
)

CODE: rows.Code = (_units, _work, _draw)
