"""Version 23 in a factorial over what the Dominion study leaves out, at a small size; ``search`` runs it and shows it on its page."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_experiments.statistics import Estimate
from dovetail_studies.dominion.kingdom import DECKS, distance
from dovetail_studies.dominion.learning import (
    EPSILON,
    FORCED,
    METHODS,
    ahead,
    learn_units,
    percent,
)
from dovetail_studies.means import mean
from dovetail_studies.pages import table
from dovetail_studies.results import Record
from dovetail_studies.rows import Result, Unit, interval, over

VERSION = "23-4"
GAMES = 200_000
TESTS = 2_000
AGAIN = 10_000
SEEDS = (1, 2, 3, 4, 5)
FACTORS: Mapping[str, Sequence[Any]] = {
    "reward": ("points", "points-and-win", "no-junk", "shaped"),
    "first values": (1.0, 20.0),
    "extra buys": ("undiscounted", "none"),
    "method": (EPSILON, FORCED),
}
"""What a training varies, by column: all combinations are trained, at the study's rate of 0.2."""
TABLES: Mapping[str, Mapping[str, str]] = {
    "ties to the last seat": {"tie": "highest-seat"},
    "the first seat begins": {"first": "seat-0"},
}
"""What the last test varies: each is played by the same learners."""

SHOWN = ("Copper", "Silver", "Gold", "Smithy", "Woodcutter", "Estate")
"""The cards of a final deck that have a column."""

Setting = tuple[Any, ...]
"""A level of each factor, in their order."""


def units(games: int = GAMES, seeds: Sequence[int] = SEEDS) -> list[Unit]:
    """Return the trainings: all combinations of all levels, with each seed."""
    found = []
    for reward, initial, extra, visits in itertools.product(*FACTORS.values()):
        found += learn_units(
            *([VERSION], ["money"] * 3, (visits,), {"games": games, "again": AGAIN}, seeds),
            every=min(50_000, games // 2),
            tests=TESTS,
            options={"reward": reward, "initial": initial, "extra_buys": extra},
            tables=TABLES,
        )
    return found


def setting(unit: Unit) -> Setting:
    """Return the levels of a training."""
    options = unit["options"]
    return options["reward"], options["initial"], options["extra_buys"], unit["visits"]


def name(factor: str, level: Any) -> str:
    """Return a level as the tables have it."""
    if factor == "method":
        return METHODS[level]
    return f"0 to {level:g}" if factor == "first values" else str(level)


def by_setting(records: Sequence[Record]) -> dict[Setting, list[Result]]:
    """Return results by setting, each in the order of its seeds."""
    found: dict[Setting, list[Result]] = {}
    for each in sorted(records, key=lambda each: int(each.unit["seed"])):
        found.setdefault(setting(each.unit), []).append(each.result)
    return found


def wins(trained: Sequence[Sequence[Result]], test: str = "again") -> list[float]:
    """Return the mean share of some settings for each seed, in percent."""
    return [
        100 * sum(each[test] for each in seed) / len(seed) for seed in zip(*trained, strict=True)
    ]


def effect(results: Mapping[Setting, Sequence[Result]], at: int, level: Any) -> Estimate:
    """Return by how many points the trainings of a level win more than those of the factor's others.

    The interval is Student's over the seeds: each gives one mean over all other factors.

    Args:
        results: by setting, in the order of the seeds.
        at: the number of the factor.
        level: of it.
    """
    alike = wins([each for key, each in results.items() if key[at] == level])
    rest = wins([each for key, each in results.items() if key[at] != level])
    return mean([one - other for one, other in zip(alike, rest, strict=True)])


def effects(results: Mapping[Setting, Sequence[Result]]) -> list[str]:
    """Return the table of main effects."""
    lines = []
    for at, (factor, levels) in enumerate(FACTORS.items()):
        for level in levels:
            alike = [each for key, each in results.items() if key[at] == level]
            more = interval(effect(results, at, level))
            won = interval(mean(wins(alike)))
            lines.append([factor, name(factor, level), str(len(alike)), won, more])
    return table(["factor", "level", "settings", "wins %", "more than the others by"], lines)


def tests(results: Mapping[Setting, Sequence[Result]]) -> list[str]:
    """Return the table of what ``TABLES`` changes."""
    lines = []
    for key in TABLES:

        def more(trained: Sequence[Sequence[Result]], key: str = key) -> Estimate:
            pairs = zip(wins(trained, key), wins(trained), strict=True)
            return mean([one - other for one, other in pairs])

        largest = max((more([each]).value for each in results.values()), key=abs)
        lines.append([key, interval(more(list(results.values()))), f"{largest:.1f}"])
    return table(["in the last test", "changes wins by", "in one setting by at most"], lines)


def cells(results: Mapping[Setting, Sequence[Result]]) -> list[str]:
    """Return the table of all settings, both methods side by side, the best first."""

    def worst(pair: Setting) -> float:
        return -sum(over(results[(*pair, visits)], "again").value for visits in METHODS)

    lines = []
    for pair in sorted({key[:-1] for key in results}, key=worst):
        one, other = (results[(*pair, visits)] for visits in (EPSILON, FORCED))
        decks = [
            distance({card: over(each, "cards", card).value for card in DECKS}, visits)
            for visits, each in ((EPSILON, one), (FORCED, other))
        ]
        lines.append(
            [
                *(name(factor, level) for factor, level in zip(FACTORS, pair, strict=False)),
                *(str(len(one)), f"{len(one) * AGAIN:,}"),
                interval(percent(one, "again")),
                interval(percent(other, "again")),
                interval(ahead(one, other)),
                *(f"{each:.1f}" for each in decks),
                *(f"{over(one, 'cards', card).value:.1f}" for card in SHOWN),
            ]
        )
    columns = [
        *(*list(FACTORS)[:-1], "seeds", "test games of each method", "epsilon-greedy wins %"),
        *("forced wins %", "epsilon-greedy minus forced"),
        *("epsilon-greedy: distance", "forced: distance"),
        *(f"epsilon-greedy: {card}" for card in SHOWN),
    ]
    return table(columns, lines)
