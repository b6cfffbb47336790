"""Ablation of two ``td-rlgame`` learners of which one side learns little.

One setting changes at a time. The row belongs to ``across``, since no study printed it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from dovetail_agents.general.td import RLGameTD, TDParameters
from dovetail_agents.learning.network import Network
from dovetail_games.rlgame.rules import geometry
from dovetail_studies import rows
from dovetail_studies.means import mean
from dovetail_studies.rlgame import td_kernels as k
from dovetail_studies.rlgame.play import CAP, PAWNS
from dovetail_studies.rlgame.tables import WINNERS

Array = NDArray[Any]
WEAK = 50.0
"""Win rate against random, in percent, below which a side has hardly learned."""
STUDYS = RLGameTD.Parameters()
OURS = TDParameters(discount=0.95, trace_decay=0.5, hidden="half", epsilon=0.1)
"""Learner of ``experiments/dovetail_experiments/examples/rlgame_against_minimax.toml``."""


class Setting(Struct, frozen=True):
    """Settings of two learners."""

    parameters: TDParameters = STUDYS
    win: float = 1.0
    pawn: float = 0.01
    told: bool = True
    """True if the loser learns of its loss."""
    ahead: bool = False
    """True if a move is chosen by its reward plus the value of its position."""
    times: int = 1
    """Number of games as a multiple of the others'."""

    def rule(self, inputs: int) -> k.TDRule:
        """Return the rule for compiled games."""
        given = self.parameters
        scale = (1 / inputs, 1 / given.units(inputs)) if given.rates == "fan-in" else (1.0, 1.0)
        return k.TDRule(
            given.learning_rate * scale[0],
            given.learning_rate * scale[1],
            given.decay_episodes,
            given.discount,
            given.discount * given.trace_decay,
            given.epsilon,
            given.traces == "replacing",
            {"sigmoid": k.SIGMOID, "tanh": k.TANH, "relu": k.RELU}[given.activation],
            given.output == "tanh",
            given.averaging or AVERAGED,
            self.win,
            self.pawn,
            self.told,
            self.ahead,
        )


MOST_TESTED = 1_000
"""Maximum moves of a game against random, since a greedy player may never end one."""
WEIGHTS = ("last", "averaged")
AVERAGED = 500
"""Number of games over which weights are averaged, the default of ``td``. Learners trained without
averaging are also tested with it."""


def _changed(parameters: TDParameters, **changes: Any) -> Setting:
    return Setting(replace(parameters, **changes))


SETTINGS = {
    "td-rlgame": Setting(),
    "hidden units tanh": _changed(STUDYS, activation="tanh"),
    "hidden units relu": _changed(STUDYS, activation="relu"),
    "steps four times as large": _changed(STUDYS, learning_rate=4.0),
    "a step of 0.05 in both layers": _changed(STUDYS, rates="one", learning_rate=0.05),
    "five times as many games": Setting(times=5),
    "accumulating traces": _changed(STUDYS, traces="accumulating"),
    "loser not told": Setting(told=False),
    "rewards added at choice": Setting(ahead=True),
    "linear output": _changed(STUDYS, output="linear"),
    "linear output, rewards times 100": Setting(
        replace(STUDYS, output="linear"), win=100.0, pawn=1.0
    ),
    "exploration 0.3": _changed(STUDYS, epsilon=0.3),
    "falling steps": _changed(STUDYS, decay_episodes=2000.0),
    "steps a fifth as large": _changed(STUDYS, learning_rate=0.2),
    "td": Setting(OURS),
    "td, hidden units sigmoid": _changed(OURS, activation="sigmoid"),
}
"""Settings by name. After ``td`` and a comma, a name states the only difference from ``td``; the
others differ from ``td-rlgame``."""


class Two:
    """White and Black on 8 x 8, two new learners.

    Args:
        setting: the settings of both learners.
        seed: the seed of all choices and of the initial weights (of ``td``, ``2 * seed`` and
            ``2 * seed + 1``).
    """

    def __init__(self, setting: Setting, seed: int) -> None:
        shape = geometry(8, 2)
        given, inputs = setting.parameters, 2 * (shape.outside + 5)
        layers = []
        for player in (0, 1):
            rng = random.Random(2 * seed + player)
            units = given.units(inputs)
            network = Network(inputs, units, given.activation, given.output, rng)
            layers.append(network.layers(network.weights))
        first, second = (np.stack(each) for each in zip(*layers, strict=True))
        self.nets = k.TDNets(
            *(first, second, first.copy(), second.copy()),
            *(np.zeros_like(first), np.zeros_like(second), np.zeros(1, np.int64)),
        )
        self.rule = setting.rule(inputs)
        self.board = k.RLGameShape(shape.steps, shape.exits, shape.slots, ordered=True, bases=True)
        self.state: Array = np.random.default_rng(seed).integers(0, 2**63, 1, np.uint64)
        self.last: Array = np.zeros((CAP, 2), np.int64)
        """Moves of the last game, each with 1 if it was exploration."""

    def play(
        self,
        games: int,
        *,
        against_random: int | None = None,
        averaged: bool = False,
        cap: int = CAP,
    ) -> Array | None:
        """Play games.

        Args:
            games: the number of games.
            against_random: the side that plays a random player, without learning; None to let
            both learn.
            averaged: true to play with averaged weights.
            cap: maximum moves of both sides, after which a game is truncated.

        Returns:
            Each game's winner (-1 if truncated), moves of both sides, and digest: shape (games, 3);
            None if a learner has diverged.
        """
        kinds = np.array([k.LEARNER, k.LEARNER])
        nets = self.nets
        if against_random is not None:
            kinds[1 - against_random] = k.RANDOM
            if averaged:
                nets = nets._replace(first=nets.first_mean, second=nets.second_mean)
        stats: Array = np.zeros((games, 3), np.int64)
        whole = k.rlgame(
            *(games, kinds, against_random is None, PAWNS, cap, self.board),
            *(nets, self.rule, self.state, stats, self.last),
        )
        return stats if whole else None


def _work(unit: rows.Unit) -> rows.Result:
    """Train two learners against each other, then test each side. The tests use the final and the
    averaged weights."""
    setting = SETTINGS[unit["setting"]]
    two, games = Two(setting, unit["seed"]), setting.times * unit["games"]
    found: rows.Result = {"games": games, "diverged": False, "tests": {}}
    trained = two.play(games)
    if trained is None:
        return {**found, "diverged": True}
    winners, moves, digests = trained.T
    found["white"], found["cut"] = int((winners == 0).sum()), int((winners < 0).sum())
    found["moves"], found["distinct"] = int(moves.sum()), len(set(digests.tolist()))
    for name in WEIGHTS:
        found["tests"][name] = []
        for side in (0, 1):
            averaged = name == "averaged"
            tested = two.play(
                unit["tests"], against_random=side, averaged=averaged, cap=MOST_TESTED
            )
            assert tested is not None
            won, cut = (tested[:, 0] == side).sum(), (tested[:, 0] < 0).sum()
            counts = {"games": len(tested), "wins": int(won), "cut": int(cut)}
            found["tests"][name].append(counts)
            found["games"] += len(tested)
    return found


def _shares(results: Sequence[rows.Result], weights: str, side: int) -> list[float]:
    """Return a side's wins against random by seed, in percent. All games count, including truncated
    ones."""
    tested = [each["tests"][weights][side] for each in results]
    return [100 * each["wins"] / each["games"] for each in tested]


def _weaker(results: Sequence[rows.Result], weights: str) -> list[float]:
    """Return the wins of the weaker side by seed, omitting pairs that diverged."""
    whole = [each for each in results if not each["diverged"]]
    sides = (_shares(whole, weights, side) for side in (0, 1))
    return [min(pair) for pair in zip(*sides, strict=True)]


def _weak(results: Sequence[rows.Result], weights: str) -> int:
    """Return the number of pairs in which a side hardly learned or diverged."""
    return len(results) - sum(each >= WEAK for each in _weaker(results, weights))


def _line(name: str, results: Sequence[rows.Result], weights: str) -> list[str]:
    whole = [each for each in results if not each["diverged"]]
    shares = [_shares(whole, weights, side) for side in (0, 1)]
    tested = [test for each in whole for test in each["tests"][weights]]
    cut = f"{sum(test['cut'] for test in tested):,} of {sum(test['games'] for test in tested):,}"
    return [
        name,
        *(
            rows.interval(rows.within(mean(each), *rows.PERCENT)) if each else "diverged"
            for each in shares
        ),
        ", ".join(f"{each:.0f}" for each in sorted(_weaker(results, weights))) or "-",
        f"{_weak(results, weights)} of {len(results)}",
        cut,
    ]


def _named(name: str) -> str:
    kind, comma, rest = name.partition(",")
    return f"`{kind}`{comma}{rest}" if kind in ("td-rlgame", "td") else name


def _draw(done: rows.Done) -> rows.Drawn:
    lines = []
    weak: dict[str, tuple[int, int]] = {}
    for (name,), results in rows.by(done, "setting").items():
        usual = "averaged" if SETTINGS[name].parameters.averaging else "last"
        weak[_named(name)] = _weak(results, usual), len(results)
        lines.append(_line(_named(name), results, usual))
        if name == "td-rlgame":
            lines.append(_line("averaged weights", results, "averaged"))
            weak["averaged weights"] = _weak(results, "averaged"), len(results)
    columns = [
        "learner",
        *(f"{side}: wins against random, %" for side in WINNERS),
        "the weaker side's, by seed",
        f"seeds with a side below {WEAK:.0f} %",
        "tests truncated",
    ]
    whole = [result for _, result in done if not result["diverged"]]
    trained = sum(SETTINGS[unit["setting"]].times * unit["games"] for unit, _ in done)
    cut = sum(each["cut"] for each in whole)
    distinct = f"{sum(each['distinct'] for each in whole):,} of the {trained:,} of training"
    never = [name for name, (count, _) in weak.items() if not count]
    always = [name for name, (count, of) in weak.items() if count == of]
    note = rows.remark(
        "across",
        "one_sided",
        cut=cut,
        cap=CAP,
        tested=MOST_TESTED,
        weak=WEAK,
        never="; ".join(never) or "none of these",
        always="; ".join(always) or "none of these",
    )
    return rows.Drawn(columns, lines, rows.total(done, "games"), distinct, (), note)


CODE: rows.Code = (partial(rows.every, setting=SETTINGS), _work, _draw)
