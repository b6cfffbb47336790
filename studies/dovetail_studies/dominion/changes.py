"""Version 23 with one change at a time of what the Dominion study leaves out; ``search`` runs it and shows it on its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail_studies.dominion.factorial import AGAIN, GAMES, SEEDS, TESTS, VERSION
from dovetail_studies.dominion.kingdom import DECKS, LAST, distance, last_figures
from dovetail_studies.dominion.learning import (
    BOTH,
    EPSILON,
    FALLING,
    FORCED,
    GBC,
    METHODS,
    ahead,
    learn_units,
    percent,
)
from dovetail_studies.dominion.scripted import GOLDS
from dovetail_studies.pages import table
from dovetail_studies.results import Record, key
from dovetail_studies.rows import Result, Unit, beside, interval, over

MONEY = ("money",) * 3
BASE: Mapping[str, Any] = {"reward": "shaped", "initial": 20.0}
"""The learner's options that each change is one from."""
SAID = "0.2"
"""The study's rate."""
RATES: Mapping[str, Mapping[str, Any]] = {SAID: {}, "falls": FALLING}


TEXT = """## One change at a time

Version {version} with *shaped*, first values up to {initial:g}, undiscounted extra buys, three Money players and the other rules that the table at the top names first is the *base*. Each line changes one thing, in training and in tests; a change of the game or of the opponents also changes what the wins are counted in. {count} trainings of {games:,} games, with {seeds} seeds each, tested as in the factorial: {again:,} new games a training. Differences from the base are paired by seed; of {intervals} such intervals at 95 % about {chance:.0f} leave zero out by chance alone."""
SAYS = """What the changes say:

- **After 200,000 games no change gives the study's figures.** At the rate of 0.2 the highest are 29.4 % (19.3..39.5) by forced exploration, with first values up to 1, and 17.8 % (7.1..28.5) by epsilon-greedy, without Curses; with a falling rate 63.3 % (56.2..70.3) by epsilon-greedy, with ties to the last seat, and 41.0 % (11.8..70.2) by forced exploration, with first values up to 1.
- **No rule for playing action cards clearly explains the gap.** The dearest card first changes wins by -1.7 (-12.4..9.0) and -3.8 points (-17.7..10.0) at the rate of 0.2, and by -1.4 (-4.9..2.2) and -0.1 (-3.6..3.4) with a falling rate. One card a turn is worse by 11.3 points (-2.9..25.5) for epsilon-greedy with a falling rate, which is within the error, and better by 3.2 (0.3..6.0) for forced exploration.
- **Nor do the other rules of the game.** Who begins, when a game ends, Curses, Chapel, Conspirator, extra buys and the rule for action cards make 36 differences; six of them are beyond the error, where chance alone gives about two, and these are losses of 2.8 to 11.1 points or gains of 3.2 and 3.8. The intervals reach 5 to 18 points to either side at the rate of 0.2, and 3 to 30 for epsilon-greedy with a falling rate, so that effects of that size may be missed.
- **Ties change only the count.** *Shaped* does not pay for winning, so that the training is the same. After 200,000 games ties to the learner's seat add 2.5 to 6.8 points, shared ones take 0.4 to 2.1.
- **With ties to the learner's seat the study's best tests of four players lie where one more training could, at the study's size and rate.** The two methods win 67.6 % (65.2..70.1) and 67.0 % (65.7..68.4) of new games and are level, 0.6 points apart (-3.0..4.2), in the study 1.2. Their best tests, of 100, are 67.7 % (64.9..70.6) and 66.9 % (65.1..68.7); the study's 71.98 and 70.78 %, the best of 500, lie where one more training could. The rest does not fit: half as many entries are explored as in the study, the decks have 5.0 Silver (4.5..5.5) and 4.9 (4.0..5.7) for 3.75 and 3.53, and forced exploration is not best at the end. The reward was set by hand, and the rule for ties chosen from those tried here.
- **With a falling rate epsilon-greedy's lead depends on the first values.** With values up to 20 epsilon-greedy is ahead by 44.4 points (36.0..52.8); with values up to 10 neither is, and with values up to 1 forced exploration has the higher mean by 26.1 (-1.8..54.0). Lower first values cost epsilon-greedy 29.1 (2.8..55.3) and 41.5 points (27.8..55.3), and forced exploration gains 22.3 (14.0..30.7) and 28.9 (0.3..57.6).
- **The reward decides how much is learned.** At the rate of 0.2 every other reward wins less than 1 %. With a falling rate *points* and *points-and-win* win 2.6 and 4.0 % by epsilon-greedy, and *no-junk* 9.2 and 11.2 %, by forced exploration about as much as *shaped*. *Provinces*, *price*, *margin* and *win-or-loss* win 0.2 % at most after so few games, with first values that are above all that they pay.
- **Other opponents** than Money win more: against Greedy, Blacksmith and Chapel epsilon-greedy wins 26.1 % (16.4..35.9) with a falling rate, forced exploration 7.5 % (5.2..9.8). A Money that waits for 3 Golds, as the [tables of the scripted players](dominion.md#scripted-players-4-a-table) ask for, makes no clear difference: -4.6 to 6.4 points, all within the error.

Played cards that go to the discard pile at once, as the text of the study has it and its tables of scripted players ask for, were not tried: with these cards a turn could draw and play a Bazaar forever, which the compiled games refuse.
"""

LARGEST = 5_000_000
"""Training games of the study's version 23 with four players."""


@dataclass(frozen=True)
class Change:
    """What differs from the base, in training and in tests."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """The learner's."""
    game: Mapping[str, Any] = field(default_factory=dict)
    """The environment's."""
    opponents: Sequence[str] = MONEY


NOTHING = "nothing"
"""The base itself."""
REWARDS = (
    *("points", "points-and-win", "no-junk", "provinces", "price", "margin"),
    "win-or-loss",
)
CHANGES: Mapping[str, Change] = {
    NOTHING: Change(),
    "plays the dearest action card first": Change({"plays": "dearest"}),
    "plays one action card a turn": Change({"plays": "one"}),
    "ties to the last seat": Change(game={"tie": "highest-seat"}),
    "ties shared": Change(game={"tie": "shared"}),
    "the first seat begins": Change(game={"first": "seat-0"}),
    "ends with the round": Change(game={"end": "round"}),
    "no Curses": Change(game={"curses": 0}),
    "Chapel trashes up to three": Change(game={"chapel": 3}),
    "Conspirator does not count itself": Change(game={"conspirator": 4}),
    "extra buys discounted": Change({"extra_buys": "discounted"}),
    "no extra buys": Change({"extra_buys": "none"}),
    "first values 0 to 10": Change({"initial": 10.0}),
    "first values 0 to 1": Change({"initial": 1.0}),
    **{f"reward *{name}*": Change({"reward": name}) for name in REWARDS},
    "against Greedy, Blacksmith and Chapel": Change(opponents=GBC),
    f"Money waits for {GOLDS} Golds": Change(opponents=(f"money-{GOLDS}",) * 3),
}
"""By the name that the table has."""
LARGE = "ties to the last seat"
"""The change that is also trained for as many games as the study's, at the study's rate."""


def units(games: int = GAMES, seeds: Sequence[int] = SEEDS) -> list[Unit]:
    """Return the trainings: each change at each rate, by both methods, with each seed."""
    return [
        unit
        for change in CHANGES.values()
        for rate in RATES.values()
        for unit in of(change, rate, games, seeds)
    ]


def large(seeds: Sequence[int] = SEEDS) -> list[Unit]:
    """Return the trainings of the study's size."""
    return of(CHANGES[LARGE], RATES[SAID], LARGEST, seeds)


def of(
    change: Change, rate: Mapping[str, Any], games: int = GAMES, seeds: Sequence[int] = SEEDS
) -> list[Unit]:
    """Return the trainings of a change at a rate."""
    more: dict[str, Any] = {"game": dict(change.game)} if change.game else {}
    return learn_units(
        *([VERSION], change.opponents, BOTH, {"games": games, "again": AGAIN}, seeds),
        every=min(50_000, games // 2),
        tests=TESTS,
        options={**BASE, **change.options, **rate},
        **more,
    )


def section(records: Sequence[Record]) -> list[str]:
    """Return the section of the page, without what it says; the base at the study's size is one of ``search``."""
    compared = (len(CHANGES) - 1) * len(RATES) * len(BOTH)
    text = TEXT.format(
        version=VERSION.partition("-")[0],
        initial=BASE["initial"],
        count=len(units()),
        games=GAMES,
        seeds=len(SEEDS),
        again=AGAIN,
        intervals=compared,
        chance=compared / 20,
    )
    parts = [text]
    for rate in RATES:
        parts += ["", f"With a rate that {rate}:" if rate == "falls" else f"At the rate of {rate}:"]
        parts += ["", *lines(records, rate)]
    title = f"At the rate of {SAID} for {LARGEST:,} games, as many as the study's:"
    parts += ["", title, "", *lines(records, SAID, (NOTHING, LARGE), LARGEST)]
    title = f"The study's figures (table 5.3.1) beside those with {LARGE}, and where one more training would be in 95 of 100 cases:"
    return [*parts, "", title, "", *beside_study(records)]


def beside_study(records: Sequence[Record]) -> list[str]:
    """Return the table of the trainings of the study's size beside the study's."""
    found = {key(each.unit): each.result for each in records}
    cells = []
    for visits, method in METHODS.items():
        wanted = (key(unit) for unit in large() if unit["visits"] == visits)
        results = [found[each] for each in wanted if each in found]
        figures = last_figures(results, (0.0, float(LARGEST)))
        ours, compared = beside(method, figures, LAST[4][visits], len(results))
        for line, figure, each in zip(ours, figures, compared, strict=True):
            again = interval(each.again, min(figure.digits, 1))
            cells.append([*line, again.partition(" ")[2].strip("()")])
    return table(["", "study", "ours", "one more training"], cells)


def lines(
    records: Sequence[Record],
    rate: str,
    names: Sequence[str] = tuple(CHANGES),
    games: int = GAMES,
) -> list[str]:
    """Return a table: a line for each change, with its difference from the base paired by seed."""
    found = {key(each.unit): each.result for each in records}

    def trained(name: str, visits: int) -> list[Result]:
        made = of(CHANGES[name], RATES[rate], games)
        wanted = (key(unit) for unit in made if unit["visits"] == visits)
        return [found[each] for each in wanted if each in found]

    def cells(name: str, visits: int) -> list[str]:
        results = trained(name, visits)
        more = "" if name == NOTHING else interval(ahead(results, trained(NOTHING, visits)))
        cards = {card: over(results, "cards", card).value for card in DECKS}
        best = f"{100 * over(results, 'best').value:.1f}"
        away = f"{distance(cards, visits):.1f}"
        return [interval(percent(results, "again")), more, best, away]

    def line(name: str) -> list[str]:
        one, other = (trained(name, visits) for visits in BOTH)
        methods = [*cells(name, EPSILON), *cells(name, FORCED)]
        return [name, str(len(one)), *methods, interval(ahead(one, other))]

    columns = [
        *("changed", "seeds"),
        *("epsilon-greedy wins %", "more than the base", "best test %", "distance"),
        *("forced wins %", "more than the base", "best test %", "distance"),
        "epsilon-greedy minus forced",
    ]
    return table(columns, [line(name) for name in names])
