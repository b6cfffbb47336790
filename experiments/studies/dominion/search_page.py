"""The page of what the Dominion study leaves out of version 23, from the trainings of ``search`` and ``factorial``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.experiments.studies.dominion import factorial
from dovetail.experiments.studies.dominion.kingdom import DECKS, LAST, distance
from dovetail.experiments.studies.dominion.learning import (
    EPSILON,
    FORCED,
    METHODS,
    SHAPED,
    ahead,
    percent,
)
from dovetail.experiments.studies.pages import table
from dovetail.experiments.studies.results import Record
from dovetail.experiments.studies.rows import Result, Unit, interval, over

SHOWN = ("Silver", "Gold", "Smithy", "Estate", "Province")
"""The cards of a final deck that have a column."""
TEXT = """# Version 23 of the Dominion study: what it leaves out

The study's main table has 71.98 % (epsilon-greedy) and 70.78 % (forced exploration) for version 23 with four players, 67.47 and 75.61 % with two. With the settings that it names and a reward of victory points the learner here stays far below. This page shows what was tried in place of what the study does not say:

| not said | varied here |
|---|---|
| what a purchase earns | the victory points of the card, *shaped*, *no-junk*, *provinces* (1 for a Province), *price* |
| what the end of a game earns | nothing; with *points-and-win* 10 for winning; with *win-or-loss* and *margin* that alone |
| first values | at random from 0 to 1, to 10 or to 20 |
| further purchases of a turn | decisions of their own, without a discount between them; or *none*: one purchase a turn |
| who wins ties | at random among those with the fewest turns; in tests of the factorial also the last seat, the learner's |
| who begins | a random seat; in tests of the factorial also the first |
| which action cards are played | not varied: those that give actions first, then one other by a fixed order |
| the rate is said, 0.2 at every visit | 0.2; or *falls*, one over the root of the number of visits of the entry |

Two rewards were set by hand: *no-junk* pays {no_junk}; *shaped* pays {shaped}. *Distance* is the number of cards by which the final deck differs from the study's (table 5.3.2), summed over its 13 kinds; the study's two methods differ by {between:.1f} from each other. Intervals are Student's over the seeds, which are paired where two methods are compared.

## The factorial

Version {version} against three Money players: all combinations of reward, first values, extra buys and method at the rate of 0.2, with {seeds} seeds each: {count} trainings of {games:,} games, {share:.0f} % of the study's. The best of tests after every {every:,} games is kept and plays {again:,} new games a training, and as many with each rule of the second table.
"""
LARGER = """## Larger trainings

In versions 0 and 1 the opponents are Greedy, Blacksmith and Chapel; from version 15 on Money, and each version has one card more than the one before. In version 1 the study's best tests are 54.33 % (epsilon-greedy) and 53.18 % (forced exploration) after 13,254 and 16,184 explored entries in 2,000,000 games; its first good tests come after 280,000 and 70,000 games. *Explored* are entries ever visited; the study's learners explored {epsilon:,.0f} and {forced:,.0f} in 5,000,000 games of version 23; its games lasted {rounds[0]:.2f} and {rounds[1]:.2f} rounds. Where there is one seed only the share has no interval and is no more than a hint.
"""
AHEAD = "Which method is ahead in versions 15 to 23, in new games, where there are several seeds:"

FACTORIAL = """What the factorial says:

- **No setting gives the study's figures or its pattern.** The highest are 29.4 % (19.3..39.5) by forced exploration and 13.5 % (1.6..25.4) by epsilon-greedy, both with *shaped*; the study has 70.78 and 71.98 % after 25 times the games. Forced exploration has the higher mean in all 16 settings and is ahead by more than the error in eight; in none is epsilon-greedy. No final deck is nearer to the study's than 3.7 cards.
- **The reward decides.** *Shaped* wins 16.2 points (13.5..18.9) more than the three others, which are all below 3 %: after so few games they differ by too little for their other factors to show.
- **First values** change nothing on average, but they do with *shaped* and epsilon-greedy: with extra buys it wins 12.7 % with values up to 20, and 1.5 % with values up to 1, where its decks have neither Gold nor Smithy. Forced exploration tries every purchase anyway: 24.5 and 29.4 %.
- **Extra buys, ties and who begins explain little of the gap.** Leaving out extra buys changes wins by -0.2 points (-2.1..1.7). Ties to the learner's seat add 5.4 points at most, and a game that the first seat begins takes 3.2 at most.

The setting that is best with both methods, *shaped* with first values up to 20 and extra buys, is the one that was run at the study's size, 5,000,000 games: the two methods are then level, 63.3 and 62.2 %, with a difference of 1.1 points (-4.0..6.2), in the study 1.2. With first values changed alone, up to 1, they win 51.1 % (36.5..65.8) and 59.9 % (57.1..62.8), and the difference is -8.8 (-23.0..5.4). With two players and first values up to 20 it was run for 500,000 games: forced exploration has the higher mean, as in the study, but no more than the error allows, and both stay far below the study's levels.
"""
FOUND = """What the larger trainings say; a level from one seed is rough:

- **A learning rate that falls, with first values up to 20 and *shaped*, brings out the study's order with four players.** In version 23 at the study's 5,000,000 games epsilon-greedy wins 69.0 % (68.1..69.9) of new games over five seeds, and 69.8 % in its best test; forced exploration 59.9 % (59.1..60.7) and 60.6 %. The study has 71.98 and 70.78 %, the best of 500 tests of one training each: there the two are 1.2 points apart, here 9.1 (8.9..9.4). With a rate of 0.2 epsilon-greedy wins 63.3 % and forced exploration 62.2 %; with victory points and first values up to 1 as well, 14.6 and 18.2 % (`version-23-4`).
- **Epsilon-greedy overtakes later than in the study, if at all.** The study has it ahead from version 19 on after 5,000,000 games; these trainings have 1,000,000 and three seeds, and forced exploration, which must visit each entry ten times, gains with more. With a falling rate epsilon-greedy is ahead by more than the error in versions 20 and 21 with victory points, and in 21 and 22 with *shaped*; in 19 neither is. With a rate of 0.2 and *shaped* forced exploration is ahead by more than the error in 16 and 22. The study's rate is constant; the falling one was chosen after these results were seen.
- **The best test of forced exploration comes at the very end, as in the study.** In version 23 epsilon-greedy is best after 2,128,000 games (the study: 3,030,000), and forced exploration at the very end, after 4,892,000 (4,880,000): it is still exploring.
- **Final decks.** With *shaped* and a falling rate a deck has 1.0 Smithy, 1.8 Gold and 5.3 Silver (the study: 1.00, 1.53, 3.75). With victory points it has 1.0, 1.4 and 3.0, which is nearer, and wins less: 58.8 %. By *no-junk* and a rate of 0.2 a deck has 4.2 Silver, 1.7 Gold and 1.1 Smithy.
- **With two players** no setting gives the study's order and levels. After 10,000,000 games with *shaped* and a falling rate epsilon-greedy wins 72.2 % (67.4..76.9) of new games and is best late, after 8,710,000 games (the study: 67.47 % after 8,410,000). Forced exploration wins 36.3 % (33.6..39.0), where the study's overtakes (75.61 %); it has seen 9,352,630 entries, the study's 14,111,810. With victory points, a rate of 0.2 and first values up to 1 the two win 2.7 and 7.4 %: the study's order, far below its level (`version-23-2`). With *shaped*, first values up to 20 and a rate of 0.2 it is 1.5 % and 10.2 % (0.0..21.4) after 500,000 games.
- **Version 1** comes out at the study's 2,000,000 games: with *shaped* and a falling rate it wins 52.1 % of new games by epsilon-greedy and 52.4 % by forced exploration, 53.0 % in the best tests of both (the study: 54.33 and 53.18 %), and 12,419 and 14,867 entries are explored (13,254 and 16,184). With victory points and a falling rate it wins 47.6 %, with victory points, a rate of 0.2 and first values up to 1 41.3 and 41.8 %.
- A reward for Provinces alone buys too few Duchies and much Copper, which costs nothing. A reward at the end only (win or loss, margin) teaches little with either rate.
- Rewards and rates set by hand prove only that some setting like these teaches what the study's learner learned; which one it was stays unknown.

Both methods were not always tried: version 23 with *points* and *provinces*, first values up to 1 and 100,000 games only with epsilon-greedy, and version 0 only with *shaped*. Not tried at all: other rules for playing action cards; further purchases discounted as those of other turns are; another rule for ties, or another seat that begins, in training; *provinces*, *price* and the rewards of the end in the factorial; a falling rate in the factorial."""


def _options(unit: Unit) -> list[str]:
    """Return what a line says of the settings of a training, but not its method."""
    options = unit["options"]
    return [
        options["reward"],
        f"0 to {options['initial']:g}",
        "falls" if "rate_power" in options else "0.2",
        options.get("extra_buys", "undiscounted"),
    ]


def line(records: Sequence[Record]) -> list[str]:
    """Return the table's line of a setting: the mean over its seeds, with Student's interval if there are several."""
    unit, results = records[0].unit, [each.result for each in records]
    cards = {name: over(results, "cards", name).value for name in DECKS}
    return [
        *(unit["version"].partition("-")[0], str(unit["players"])),
        *(*_options(unit), METHODS[unit["visits"]]),
        *(f"{unit['games']:,}", str(len(records)), f"{len(records) * unit['again']:,}"),
        interval(percent(results, "again"), 1, 1, " %"),
        f"{100 * over(results, 'best').value:.1f} %",
        f"{over(results, 'rounds').value:.1f}",
        f"{over(results, 'explored').value:,.0f}",
        f"{distance(cards, unit['visits'], unit['players']):.1f}",
        *(f"{over(results, 'cards', name).value:.1f}" for name in SHOWN),
    ]


def settings(records: Sequence[Record]) -> list[list[Record]]:
    """Return the trainings of each setting, by version, games and share of wins."""
    found: dict[tuple[Any, ...], list[Record]] = {}
    for each in records:
        unit = each.unit
        options = tuple(sorted(unit["options"].items()))
        key = (unit["version"], unit["games"], unit["visits"], options)
        found.setdefault(key, []).append(each)

    def order(alike: list[Record]) -> tuple[Any, ...]:
        wins = over([each.result for each in alike], "again").value
        return alike[0].unit["version"], alike[0].unit["games"], -wins

    return sorted(found.values(), key=order)


def differences(records: Sequence[Record]) -> list[list[str]]:
    """Return a line for each setting of versions 15 to 23 that both methods were trained with, of several seeds."""
    found: dict[tuple[str, ...], dict[int, dict[int, Result]]] = {}
    for each in records:
        unit = each.unit
        if "-" in unit["version"]:
            version, _, players = unit["version"].partition("-")
            key = (version, players, *_options(unit), f"{unit['games']:,}")
            methods = found.setdefault(key, {})
            methods.setdefault(unit["visits"], {})[unit["seed"]] = each.result
    lines = []
    for key in sorted(found):
        one, other = (found[key].get(visits, {}) for visits in (EPSILON, FORCED))
        if len(seeds := sorted(one.keys() & other.keys())) > 1:
            more = ahead([one[seed] for seed in seeds], [other[seed] for seed in seeds])
            lines.append([*key, str(len(seeds)), interval(more)])
    return lines


def page(records: Sequence[Record], crossed: Sequence[Record]) -> str:
    """Return the page.

    Args:
        records: of single trainings.
        crossed: of the factorial.
    """
    pays = {
        name: ", ".join(
            f"{worth:g} for {'an' if card[0] in 'AE' else 'a'} {card}"
            for card, worth in reward.items()
        )
        for name, reward in SHAPED.items()
    }
    unit = crossed[0].unit
    text = TEXT.format(
        no_junk=pays["no-junk"],
        shaped=pays["shaped"],
        between=distance({name: printed[0] for name, printed in DECKS.items()}, FORCED),
        version=unit["version"].partition("-")[0],
        seeds=len({each.unit["seed"] for each in crossed}),
        count=len(crossed),
        games=unit["games"],
        share=unit["games"] / 50_000,
        every=unit["every"],
        again=unit["again"],
    )
    larger = LARGER.format(
        epsilon=LAST[4][EPSILON][3],
        forced=LAST[4][FORCED][3],
        rounds=[LAST[4][method][2] for method in (EPSILON, FORCED)],
    )
    given = ["reward", "first values", "rate", "extra buys"]
    columns = ["version", "players", *given, "method", "games", "seeds", "test games"]
    columns += ["wins in new games", "best test", "rounds", "explored", "distance", *SHOWN]
    dates = sorted({each.date for each in (*records, *crossed)})
    command = "`python -m dovetail.experiments.studies.dominion.search"
    ran = (
        f"{command}` with `--version`, `--games`, `--reward`, `--initial`, `--seed`, `--extra-buys` and "
        "`--falling` as a line says; with *shaped* and a falling rate versions 0, 1 and 23 are those of `dovetail study dominion`. "
        f"{dates[-1]}, {records[-1].versions}."
    )
    results = factorial.by_setting(crossed)
    pairs = ["version", "players", *given, "games", "seeds", "epsilon-greedy minus forced"]
    parts = [
        *(text, *factorial.effects(results), "", *factorial.tests(results), ""),
        *(
            *factorial.cells(results),
            "",
            f"{command} --factorial`, {sum(each.seconds for each in crossed):,.0f} s.",
            "",
        ),
        *(FACTORIAL, "", larger, *table(columns, [line(each) for each in settings(records)]), ""),
        *(AHEAD, "", *table(pairs, differences(records)), "", ran, "", FOUND),
    ]
    return "\n".join(parts)
