"""Section 5.8 and appendix 2 of the Dominion study: versions 15 to 23, ten kingdom cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from dovetail_studies import rows
from dovetail_studies.dominion import curves
from dovetail_studies.dominion.learning import (
    BOTH,
    EPSILON,
    FORCED,
    LINES,
    METHODS,
    SHUFFLED,
    ahead,
    beside_study,
    both_settings,
    by_setting,
    jump,
    learn,
    learn_units,
    percent,
)

# By method: best %, at games, rounds, explored, and where it is said the games after which tests
# rise suddenly (L1624-1635).
LAST: dict[int, dict[int, tuple[float, ...]]] = {
    4: {
        EPSILON: (71.98, 3_030_000, 16.34, 1_774_188, 1_000_000),
        FORCED: (70.78, 4_880_000, 16.14, 2_677_854),
    },
    2: {
        EPSILON: (67.47, 8_410_000, 28.74, 9_518_678, 1_750_000),
        FORCED: (75.61, 9_850_000, 28.26, 14_111_810),
    },
}
DECKS: dict[str, tuple[float, float, float, float]] = {
    "Copper": (7.45, 7.46, 7.57, 7.58),
    "Silver": (3.75, 3.53, 5.95, 4.62),
    "Gold": (1.53, 1.60, 2.29, 3.13),
    "Smithy": (1.00, 1.04, 1.76, 1.69),
    "Chapel": (0.01, 0.03, 0.02, 0.08),
    "Bazaar": (0.01, 0.00, 0.02, 0.18),
    "Adventurer": (0.00, 0.02, 0.00, 0.03),
    "Conspirator": (0.02, 0.10, 0.14, 0.09),
    "Festival": (0.00, 0.00, 0.00, 0.02),
    "Moneylender": (0.00, 0.03, 0.01, 0.06),
    "Village": (0.07, 0.19, 0.13, 0.16),
    "Woodcutter": (0.00, 0.01, 0.04, 0.06),
    "Workers village": (0.00, 0.02, 0.00, 0.02),
}
NOTE = (
    "With the settings that the study names, a reward of victory points and first values up to "
    "1 the learner stays far below this, the "
    f"study's main result, and with other settings it comes nearer. {LINES}"
)

RISE = (
    "The study says after how many games tests rise suddenly with epsilon-greedy; the *greatest "
    "rise* is that between two points of the curve."
)
DROP = (
    "From version 21 to 22 both methods fall. The bounds are the same and there is one bit more, "
    "the Woodcutter's, so the states do not explain it; the decks change: they have Woodcutters "
    "and fewer Smithies. The Woodcutter costs 3, the Smithy 4, and a turn plays one of them. "
    "Its extra buy does not explain it: without extra buys version 22 wins no more "
    "([what was tried](dominion-23.md))."
)
"""The change on versions 15 to 22, with four players and with two."""


def last_figures(results: Sequence[rows.Result], games: tuple[float, float]) -> list[rows.Figure]:
    """Return our figures of version 23 in the order of ``LAST``.

    ``games`` is the range of training games.
    """
    return [
        rows.Figure("best test %", percent(results, "best"), 2, rows.PERCENT),
        rows.Figure("best test after games", rows.over(results, "best at"), 0, games),
        rows.Figure("rounds", rows.over(results, "rounds"), 2),
        rows.Figure("explored entries", rows.over(results, "explored")),
        rows.Figure("greatest rise of the tests after games", jump(results, games[1]), 0, games),
    ]


def _last_draw(players: int, done: rows.Done) -> rows.Drawn:
    lines, compared = beside_study(done, LAST[players], last_figures)
    picture = curves.methods(done, LAST[players])
    return rows.Drawn(
        rows.HEAD, lines, rows.total(done, "games"), SHUFFLED, compared, f"{NOTE} {RISE}", picture
    )


def _cards_units(players: int, values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    versions = [f"{version}-{players}" for version in range(15, 23)]
    return learn_units(versions, ["money"] * (players - 1), BOTH, values, seeds)


def _last_units(players: int, values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    return both_settings([f"23-{players}"], ["money"] * (players - 1), values, seeds)


def _decks_units(values: Mapping[str, int], seeds: Sequence[int]) -> list[rows.Unit]:
    two = {"games": values["two"], "again": values["again"]}
    return _last_units(4, values, seeds) + _last_units(2, two, seeds)


def _decks_draw(done: rows.Done) -> rows.Drawn:
    columns, compared = ["card"], []
    lines = [[card] for card in DECKS]
    for column, (players, visits) in enumerate(
        ((4, EPSILON), (4, FORCED), (2, EPSILON), (2, FORCED))
    ):
        columns.append(f"{players} players, {METHODS[visits]}: study")
        for line, printed in zip(lines, DECKS.values(), strict=True):
            line.append(f"{printed[column]:.2f}")
        for setting, trained in by_setting(done):
            groups = rows.by(trained, "players", "visits")
            columns.append(f"ours{setting}")
            for line, (card, printed) in zip(lines, DECKS.items(), strict=True):
                results = groups[players, visits]
                found = rows.within(rows.over(results, "cards", card))
                text = rows.interval(found, 2)
                if not setting:  # the study has no other
                    name = f"{card}, {players} players, {METHODS[visits]}"
                    compared.append(rows.Compared(name, printed[column], found, len(results)))
                    text = rows.signed(text, compared[-1])
                line.append(text)
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, compared, NOTE)


def _cards_draw(done: rows.Done) -> rows.Drawn:
    groups = rows.by(done, "version", "visits")
    lines = []
    leads = []
    for version in sorted({version for version, _ in groups}):
        cells = [version]
        for visits in (EPSILON, FORCED):
            results = groups[version, visits]
            cells += [
                rows.interval(percent(results, "best")),
                rows.interval(percent(results, "again")),
            ]
        more = ahead(groups[version, EPSILON], groups[version, FORCED])
        cells.append(rows.interval(more))
        if more.low > 0:
            leads.append(f"{version} epsilon-greedy")
        elif more.high < 0:
            leads.append(f"{version} forced exploration")
        for card in ("Smithy", "Festival", "Woodcutter"):
            decks = (rows.over(groups[version, visits], "cards", card) for visits in BOTH)
            cells.append(" / ".join(rows.interval(rows.within(each), 1) for each in decks))
        lines.append(cells)
    columns = [
        "version",
        "epsilon-greedy: best test %",
        "tested again %",
        "forced: best test %",
        "tested again %",
        "epsilon-greedy minus forced, tested again",
        *("Smithy", "Festival", "Woodcutter"),
    ]
    note = (
        "The study prints curves only, and says that with 4 players epsilon-greedy overtakes "
        "forced exploration from version 19 on. "
        f"Ahead by more than the error when tested again: {', '.join(leads) or 'neither'}. "
        f"Cards are means of the final decks by epsilon-greedy / forced exploration. {DROP}"
    )
    picture = curves.kingdoms(done)
    return rows.Drawn(columns, lines, rows.total(done, "games"), SHUFFLED, (), note, picture)


CODE: Mapping[str, rows.Code] = {
    **{
        f"version-23-{players}": (
            partial(_last_units, players),
            learn,
            partial(_last_draw, players),
        )
        for players in (4, 2)
    },
    "decks": (_decks_units, learn, _decks_draw),
    "cards-4": (partial(_cards_units, 4), learn, _cards_draw),
    "cards-2": (partial(_cards_units, 2), learn, _cards_draw),
}
