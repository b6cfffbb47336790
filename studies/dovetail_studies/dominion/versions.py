"""Sections 2.7, 4.1 to 4.3, 5.5, 5.7 and 5.8 of the Dominion study: versions 0 to 14."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dovetail_agents.games.dominion.q_learning import Coder, features
from dovetail_experiments.statistics import Estimate
from dovetail_studies import rows
from dovetail_studies.curves import Picture
from dovetail_studies.dominion import curves
from dovetail_studies.dominion.learning import (
    BOTH,
    BY_HAND,
    DISCARD,
    EPSILON,
    FORCED,
    GBC,
    LINES,
    METHODS,
    SHUFFLED,
    ahead,
    beside_study,
    both_settings,
    learn,
    learn_units,
    learner,
    percent,
    plateau,
)
from dovetail_studies.dominion.scripted import GOLDS

ENTRIES: dict[str, int] = {
    **{"0": 2_592_000, "1": 34_020, "2": 11_340, "3": 22_680, "4": 15_120, "5": 7_560},
    **{"6": 10_080, "7": 20_160, "8": 11_340, "9": 18_900, "10": 22_680, "12": 7_020},
    **{"14.0": 1_125_000, "14.5": 37_800, "23-4": 7_188_480, "23-2": 38_707_200},
}


def _sizes(unit: rows.Unit) -> rows.Result:
    return {"entries": {name: Coder(name).entries for name in ENTRIES}}  # type: ignore[arg-type]


def _sizes_draw(done: rows.Done) -> rows.Drawn:
    found = done[0][1]["entries"]
    exact = [
        rows.Compared(name, n, Estimate(found[name], found[name], found[name]), 0)
        for name, n in ENTRIES.items()
    ]
    lines = [
        [each.name, f"{each.study:,}", rows.signed(f"{found[each.name]:,}", each)] for each in exact
    ]
    return rows.Drawn(
        ["version", "study: entries", "ours"], lines, 0, "-", exact, "Counted, not measured."
    )


def _cost(unit: rows.Unit) -> rows.Result:
    study = learner("12", GBC, 4, FORCED, unit["seed"], {})
    study.train(1000)  # compiles
    begun = time.perf_counter()
    study.train(unit["games"])
    return {"rate": unit["games"] / (time.perf_counter() - begun)}


def _cost_draw(done: rows.Done) -> rows.Drawn:
    found = rows.over([result for _, result in done], "rate")
    lines = [["training games a second", "1,667 (six cores, 3.3 GHz)", rows.interval(found, 0)]]
    games = sum(unit["games"] for unit, _ in done)
    note = "Compiled, on one core of a shared machine, so the figure says no more than the order."
    return rows.Drawn(rows.HEAD, lines, games, SHUFFLED, (), note)


# By method: best %, at games, first good %, at games, explored, more than ten passes, and where it
# is said the games from which tests stay near 50 % (L1019-1020, L1045-1047).
METHOD_TABLES: dict[str, dict[int, tuple[float, ...]]] = {
    "0": {
        EPSILON: (56.61, 4_660_000, 48.51, 1_150_000, 128_704, 55_592, 2_000_000),
        FORCED: (59.83, 2_710_000, 52.31, 320_000, 200_706, 92_907, 500_000),
    },
    "1": {
        EPSILON: (54.33, 560_000, 49.16, 280_000, 13_254, 9_168),
        FORCED: (53.18, 950_000, 49.26, 70_000, 16_184, 13_608),
    },
}


SLIPS = {
    "0": 'Its table prints "320.00" for the 320,000 games of its text.',
    "1": 'Its table prints "70.00", which is read as 70,000 games.',
}
"""Misprints in these tables."""


def _method_figures(
    results: Sequence[rows.Result], games: tuple[float, float]
) -> list[rows.Figure]:
    return [
        rows.Figure("best test %", percent(results, "best"), 2, rows.PERCENT),
        rows.Figure("best test after games", rows.over(results, "best at"), 0, games),
        rows.Figure("first good test %", percent(results, "good"), 2, rows.PERCENT),
        rows.Figure("first good test after games", rows.over(results, "good at"), 0, games),
        rows.Figure("explored entries", rows.over(results, "explored")),
        rows.Figure("ten visits", rows.over(results, "passed")),
        rows.Figure("level of the end after games", plateau(results, games[1]), 0, games),
    ]


def _method_units(version: str, values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    by_hand = {"options": BY_HAND, "game": DISCARD}
    more = learn_units([version], GBC, BOTH, values, seeds, **by_hand)
    return both_settings([version], GBC, values, seeds) + more


def _methods_draw(version: str, done: rows.Done) -> rows.Drawn:
    lines, compared = beside_study(done, METHOD_TABLES[version], _method_figures)
    note = (
        "The study names neither its reward nor its first values; here a purchase earns its "
        "victory points and first "
        f"values lie between 0 and 1. {SLIPS[version]} {LINES} "
        "Those marked *shaped* have the study's rate with the same first values and reward, and "
        "a played card is discarded at once, as the [tables of the scripted "
        "players](#scripted-players-4-a-table) ask for. The best of many tests is biased "
        "upward, in the study as here; the last "
        "line of each method is free of it. The *level of the end* is the mean of the last fifth "
        "of the tests, less a twentieth; the study says from where on its tests stay near 50 %."
    )
    picture = curves.methods(done, METHOD_TABLES[version])
    return rows.Drawn(
        rows.HEAD, lines, rows.total(done, "games"), SHUFFLED, compared, note, picture
    )


# The tuning of the bounds: versions 2 to 12.
BOUNDS = [*("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12")]


CHANGED: dict[str, str] = {
    **{"2": "1", "3": "1", "4": "3", "5": "3", "6": "4", "7": "4", "8": "4"},
    **{"9": "4", "10": "9", "12": "9"},
}
"""Version from which each takes all bounds but one. The study keeps versions 3 (Copper), 4 (Smithy,
and its Gold), 9 (Silver) and 12 (turns)."""


def change(version: str, other: str) -> str:
    """Describe the bound in which a version differs from another.

    >>> change("12", "9")
    'turn 12 for 34'
    >>> change("5", "3")
    'Smithy not counted for 2'
    """
    new, old = (features(each) for each in (version, other))  # type: ignore[arg-type]
    return ", ".join(
        f"{name} {new.get(name, 'not counted')} for {old.get(name, 'not counted')}"
        for name in old
        if new.get(name) != old[name]
    )


def _order(key: tuple[str, int]) -> tuple[float, int]:
    return float(key[0]), key[1]


def _versions_draw(
    done: rows.Done,
    note: str = "",
    picture: Callable[[rows.Done], Picture] = curves.versions,
    against: Mapping[str, str] | None = None,
    first: str = "",
) -> rows.Drawn:
    """Return a table with a line for each version and method.

    Args:
        done: the trainings.
        note: the text below the table.
        picture: the function that draws the curves.
        against: the reference of each version; ``first`` for all if None.
        first: the common reference; the lowest version if None.
    """
    lines = []
    found = rows.by(done, "version", "visits")
    order = sorted(found, key=_order)
    first = first or order[0][0]
    for version, visits in order:
        results = found[version, visits]
        other, more = first if against is None else against.get(version, ""), "-"
        if other != version and (other, visits) in found:
            more = rows.interval(ahead(results, found[other, visits]))
            more += "" if against is None else f" to {other}"
        lines.append(
            [
                f"{version}, {METHODS[visits]}",
                f"{ENTRIES[version]:,}",
                rows.interval(percent(results, "best")),
                rows.interval(percent(results, "again")),
                more,
                rows.interval(rows.over(results, "explored"), 0),
            ]
        )
    columns = [
        *("version, method", "entries", "best test %", "tested again %"),
        *(f"difference to version{'' if against else f' {first}'}", "explored"),
    ]
    note = note or (
        "The study draws curves and prints no figures. A difference is what the version "
        "wins, tested again, more than the one named, paired by seed."
    )
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, (), note, picture(done))


def _bounds_draw(done: rows.Done) -> rows.Drawn:
    found = rows.by(done, "version", "visits")
    drawn = _versions_draw(
        done,
        rows.remark("dominion", "bounds", five=_smithies(found, "5"), three=_smithies(found, "3")),
        curves.bounds,
        CHANGED,
    )
    lines = []
    for line, (version, visits) in zip(drawn.lines, sorted(found, key=_order), strict=True):
        other = CHANGED.get(version, "")
        changed = change(version, other) if (other, visits) in found else "-"
        lines.append([line[0], changed, *line[1:]])
    columns = [drawn.columns[0], "what changed", *drawn.columns[1:]]
    return replace(drawn, columns=columns, lines=lines)


def _smithies(found: Mapping[tuple[str, int], Sequence[rows.Result]], version: str) -> str:
    one, other = (rows.over(found[version, visits], "cards", "Smithy").value for visits in BOTH)
    return f"{one:.2f} (epsilon-greedy) and {other:.2f} (forced exploration)"


LEFT_OUT = ("turn", "to end", "Smithy", "Silver", "Gold")
"""Counted parts of version 0's state, which the study left out one at a time."""


def _left_out_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    """Return the trainings of version 0, whole and without each part. A bound of 0 leaves one
    value."""
    bounds = ({}, *({part: 0} for part in LEFT_OUT))
    return [
        unit
        for each in bounds
        for unit in learn_units(["0"], GBC, (FORCED,), values, seeds, options={"bounds": each})
    ]


def _left_out_draw(done: rows.Done) -> rows.Drawn:
    groups = rows.by_what(done, lambda unit: "".join(unit["options"]["bounds"]) or "none")
    lines = [
        [
            part,
            f"{Coder('0', {} if part == 'none' else {part: 0}).entries:,}",
            rows.interval(percent(results, "best")),
            rows.interval(percent(results, "again")),
            "-" if part == "none" else rows.interval(ahead(results, groups["none"])),
        ]
        for part, results in groups.items()
    ]
    note = (
        "The study says in prose that leaving out a variable disappoints, but for the rounds to "
        "the end, which version 1 drops. A variable that is left out has one value in the "
        "state. Forced exploration; a difference is paired by seed. The number of games is ours."
    )
    columns = ["left out", "entries", "best test %", "tested again %", "difference to none"]
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, (), note)


def _first_values_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    return [
        unit
        for initial in (0.0, 1.0, 10.0, 40.0)
        for unit in learn_units(["12"], GBC, (FORCED,), values, seeds, options={"initial": initial})
    ]


def _first_values_draw(done: rows.Done) -> rows.Drawn:
    groups = rows.by_what(done, lambda unit: float(unit["options"]["initial"]))
    lines = [
        [
            f"0 to {initial:g}",
            rows.interval(percent(results, "again")),
            *(
                rows.interval(rows.over(results, "cards", card), 2)
                for card in ("Silver", "Gold", "Smithy")
            ),
        ]
        for initial, results in groups.items()
    ]
    note = (
        "The study says in prose that other random first values lead to the same strategy: "
        "the decks are what to compare."
    )
    columns = ["first values", "tested again %", "Silver", "Gold", "Smithy"]
    picture = curves.first_values(done)
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, (), note, picture)


CHOSEN = ("0", "1", "3", "4", "9", "12")
"""Versions that the study keeps, each with the version whose bounds it shares but for one."""
TWO_PLAYER_VERSIONS = ("12", "14.0", "14.5")


def _by_tables_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    given = {"options": BY_HAND, "game": DISCARD}
    four = learn_units(CHOSEN, GBC, (FORCED,), values, seeds, **given)
    money = [f"money-{GOLDS}"]
    return four + learn_units(TWO_PLAYER_VERSIONS, money, (FORCED,), values, seeds, **given)


def _by_tables_draw(done: rows.Done) -> rows.Drawn:
    four, two = ([each for each in done if each[0]["players"] == count] for count in (4, 2))
    drawn = _versions_draw(four, against={**CHANGED, "1": "0"})
    pairs = _versions_draw(two, first="14.0")
    found = rows.by(four, "version")
    longest = rows.interval(ahead(found["12",], found["0",]))
    note = (
        "The rows above rest on the rules of the study's text. Here a played card is discarded at "
        f"once and Money waits for {GOLDS} Golds, as the [tables of the scripted "
        "players](#scripted-players-4-a-table) ask for, with the reward *shaped* and first values "
        "up to 20. A difference is what the version wins, tested again, more than the one named, "
        "with two players more than version 14.0, "
        f"paired by seed; version 12 differs from version 0 by {longest}. Version 23 cannot have "
        "these rules: its Bazaar, discarded at once, could be drawn and played for ever."
    )
    lines = [*drawn.lines, *([f"two players: {name}", *rest] for name, *rest in pairs.lines)]
    return replace(drawn, lines=lines, games=rows.total(done, "games"), note=note)


def _version(version: str) -> rows.Code:
    return partial(_method_units, version), learn, partial(_methods_draw, version)


CODE: Mapping[str, rows.Code] = {
    "sizes": (lambda values, seeds: [{"seed": seeds[0]}], _sizes, _sizes_draw),
    "cost": (rows.every, _cost, _cost_draw),
    "version-0": _version("0"),
    "version-1": _version("1"),
    "left-out": (_left_out_units, learn, _left_out_draw),
    "bounds": (partial(learn_units, BOUNDS, GBC, BOTH), learn, _bounds_draw),
    "longest": (partial(learn_units, ["0", "1", "12"], GBC, BOTH), learn, _versions_draw),
    "two-players": (
        partial(learn_units, TWO_PLAYER_VERSIONS, ["money"], BOTH),
        learn,
        partial(_versions_draw, first="14.0"),
    ),
    "by-tables": (_by_tables_units, learn, _by_tables_draw),
    "first-values": (_first_values_units, learn, _first_values_draw),
}
