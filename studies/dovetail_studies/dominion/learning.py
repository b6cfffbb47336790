"""Parts shared by the Dominion study's rows with a learning player."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import structs

from dovetail.peer.registry import register
from dovetail_agents.games.dominion.q_learning import DominionQ, DominionQParameters, Reward
from dovetail_experiments.statistics import Estimate
from dovetail_games.dominion.cards import CARDS, KINGDOM
from dovetail_studies import rows
from dovetail_studies.dominion import study as s
from dovetail_studies.means import mean

SHUFFLED = "all, as every game is shuffled from its own seed"
GBC = ["greedy", "blacksmith", "chapel"]
EPSILON, FORCED = 0, 10
BOTH = (EPSILON, FORCED)
METHODS = {EPSILON: "epsilon-greedy", FORCED: "forced exploration"}
SHAPED: dict[str, dict[str, float]] = {
    "no-junk": {"Copper": -1, "Curse": -1, "Estate": -1, "Duchy": 2, "Province": 6},
    "shaped": {
        **{"Copper": -1, "Curse": -1, "Estate": -1, "Silver": 1, "Gold": 2},
        **{"Duchy": 3, "Province": 8},
    },
}
"""Hand-set shaped rewards of purchases: a guess at those with which the study's learner learned
early."""
for _name, _worth in SHAPED.items():
    register("reward", _name, Reward(tuple(float(_worth.get(card.name, 0)) for card in CARDS)))
FALLING: dict[str, Any] = {"learning_rate": 1.0, "rate_power": 0.5}
"""Learning rate of one over the square root of an entry's visits."""
BY_HAND: dict[str, Any] = {"reward": "shaped", "initial": 20.0}
"""Hand-set values of settings that the study does not state."""
FOUND: dict[str, Any] = {**BY_HAND, **FALLING}
"""The same with the rate found by ``search``, which reproduces the study's pattern."""
DISCARD = {"played": "discard"}
"""Rule of the game implied by the tables of the study's scripted players; see ``scripted``."""
LINES = (
    "The lines marked *falling rate* use a learning rate that falls with visits, first values "
    "up to 20 and the reward *shaped*, set by hand; they are not compared with the study: "
    "[what was tried](dominion-23.md) in place of what the study does not say."
)
"""Names of the lines in tables with both settings."""


def learner(
    version: str,
    opponents: Sequence[str],
    players: int,
    visits: int,
    seed: int,
    options: Mapping[str, Any],
    game: Mapping[str, Any] | None = None,
) -> s.TableTraining:
    """Return a learner of a version and its table; ``game`` has options of the environment."""
    cards = (
        KINGDOM
        if version.startswith(("15", "16", "17", "18", "19", "2")) and "-" in version
        else ("Smithy", "Chapel")
    )
    # Looking states up takes longer than allocating rows for states that never occur, except for
    # the largest table.
    given: dict[str, Any] = {
        "version": version,
        "min_visits": visits,
        "table": "sparse" if version == "23-2" else "dense",
        "table_mib": 4096,
    }
    parameters = DominionQParameters(**{**given, **options})
    table = s.table_of(players, cards, **(game or {}))
    return s.TableTraining(DominionQ(parameters, seed), table, opponents, seed)


def learn(unit: rows.Unit) -> rows.Result:
    """Train and test in turn; return the figures of the study's tables.

    If given, ``game`` has the environment's options in training and in tests, and ``tables`` names
    further final tests, each by the options that it changes.
    """
    study = learner(
        unit["version"],
        unit["opponents"],
        unit["players"],
        unit["visits"],
        unit["seed"],
        unit.get("options", {}),
        unit.get("game"),
    )
    points = s.run(study, unit["games"], unit["every"], unit["tests"])
    best, good = max(points, key=lambda point: point.won), s.first_good(points)
    again = study.test(unit["again"])
    seat = study.seat
    others = {
        name: study.test(unit["again"], configuration=structs.replace(study.configuration, **more))
        for name, more in unit.get("tables", {}).items()
    }
    return {
        "best": best.won,
        "best at": best.trained,
        "good": None if good is None else good.won,
        "good at": None if good is None else good.trained,
        "last": points[-1].won,
        "explored": points[-1].explored,
        "passed": points[-1].passed,
        "again": again.share[seat],
        "rounds": again.rounds,
        "cards": {card.name: again.cards[seat][kind] for kind, card in enumerate(CARDS)},
        "curve": [round(x, 4) for x in s.smoothed([point.won for point in points])],
        **{name: each.share[seat] for name, each in others.items()},
        "games": unit["games"] + len(points) * unit["tests"] + unit["again"] * (1 + len(others)),
    }


def learn_units(
    versions: Sequence[str],
    opponents: Sequence[str],
    methods: Sequence[int],
    values: Mapping[str, int],
    seeds: Sequence[int],
    **more: Any,
) -> list[rows.Unit]:
    """Return the pieces of work in which versions learn against the same opponents.

    Args:
        versions: the versions of the state.
        opponents: the opponents at all seats but the learner's.
        methods: keys of ``METHODS``.
        values: the numbers of training games and of games of the last test.
        seeds: the seeds of the trainings.
        more: parameters for all of them.
    """
    every = min(10_000, values["games"] // 2)  # the study tests after every 10,000
    common = {"games": values["games"], "every": every, "tests": every, "again": values["again"]}
    given = {"opponents": list(opponents), "players": len(opponents) + 1, **common, **more}
    return [
        {"version": version, "visits": visits, **given, "seed": seed}
        for version in versions
        for seed in seeds
        for visits in methods
    ]


def both_settings(
    versions: Sequence[str],
    opponents: Sequence[str],
    values: Mapping[str, int],
    seeds: Sequence[int],
) -> list[rows.Unit]:
    """Return trainings with the study's settings, and with ``FOUND`` for those it does not
    state."""
    told = learn_units(versions, opponents, BOTH, values, seeds)
    return told + learn_units(versions, opponents, BOTH, values, seeds, options=FOUND)


def by_setting(done: rows.Done) -> list[tuple[str, rows.Done]]:
    """Return trainings by setting, each with the suffix of its lines' names."""
    found: dict[str, list[tuple[rows.Unit, rows.Result]]] = {
        "": [],
        ", falling rate": [],
        ", *shaped*": [],
    }
    for unit, result in done:
        options = unit.get("options", {})
        name = ", falling rate" if "rate_power" in options else ", *shaped*" if options else ""
        found[name].append((unit, result))
    return [(name, each) for name, each in found.items() if each]


def beside_study(
    done: rows.Done,
    printed: Mapping[int, Sequence[float]],
    figures: Callable[[Sequence[rows.Result], tuple[float, float]], Sequence[rows.Figure]],
) -> tuple[list[list[str]], list[rows.Compared]]:
    """Compare trainings, by setting and method, with the study's figures.

    Args:
        done: the trainings.
        printed: the study's figures by method.
        figures: the function that returns ours in the same order, from results and their number
            of training games.
    """
    lines: list[list[str]] = []
    compared: list[rows.Compared] = []
    for setting, trained in by_setting(done):
        games = (0.0, float(trained[0][0]["games"]))
        for (visits,), results in rows.by(trained, "visits").items():
            name = f"{METHODS[visits]}{setting}"
            ours = figures(results, games)[: len(printed[visits])]
            more, judged = rows.beside(name, ours, printed[visits], len(results))
            if not setting:  # the study has no other
                more = [
                    [*line, rows.signed(text, each)]
                    for (*line, text), each in zip(more, judged, strict=True)
                ]
                compared += judged
            again = rows.interval(percent(results, "again"))
            lines += [*more, [f"{name}: best table tested again %", "-", again]]
    return lines, compared


def plateau(results: Sequence[rows.Result], games: float) -> Estimate:
    """Return the number of games after which tests come within 5 % of the final level.

    The final level is the mean of the last fifth of training.
    """

    def at(curve: Any) -> int:
        level = curve[-max(1, len(curve) // 5) :].mean()
        return int(np.argmax(curve >= 0.95 * level))

    return _after(results, games, at)


def jump(results: Sequence[rows.Result], games: float) -> Estimate:
    """Return the number of games at which tests rise most between two points of the curve.

    For a curve without a rise, such as that of a single test, it is that of the first test.
    """
    return _after(results, games, lambda curve: int(np.argmax(np.diff(curve, prepend=curve[:1]))))


def _after(results: Sequence[rows.Result], games: float, point: Callable[[Any], int]) -> Estimate:
    curves = [np.array(each["curve"]) for each in results]
    found = mean([games * (point(curve) + 1) / len(curve) for curve in curves])
    return rows.within(found, 0, games)


def percent(results: Sequence[rows.Result], *keys: str | int) -> Estimate:
    """Return the mean over results of the share at ``keys``, in percent.

    A known interval is clipped to 0..100.
    """
    found = rows.within(rows.over(results, *keys), 0.0, 1.0)
    return Estimate(100 * found.value, 100 * found.low, 100 * found.high)


def ahead(one: Sequence[rows.Result], other: Sequence[rows.Result]) -> Estimate:
    """Return the lead in percentage points of trainings over others.

    They are paired by seed and tested again.
    """
    return mean([100 * (a["again"] - b["again"]) for a, b in zip(one, other, strict=False)])
