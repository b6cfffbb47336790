"""The page of what the Dominion study leaves out of version 23, from the trainings of ``search`` and ``factorial``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_studies.dominion import changes, factorial
from dovetail_studies.dominion.kingdom import DECKS, LAST, distance
from dovetail_studies.dominion.learning import (
    EPSILON,
    FORCED,
    METHODS,
    SHAPED,
    ahead,
    percent,
)
from dovetail_studies.means import mean
from dovetail_studies.pages import table
from dovetail_studies.results import Record
from dovetail_studies.rows import SEEDS, Result, Unit, interval, over, within

SHOWN = ("Copper", "Silver", "Gold", "Smithy", "Estate", "Province")
"""The cards of a final deck that have a column."""
IN_DECKS = ("Copper", "Silver", "Gold", "Smithy")
"""The cards of a final deck that are told with intervals."""
TEXT = """# Version 23 of the Dominion study: what it leaves out

The study's main table has 71.98 % (epsilon-greedy) and 70.78 % (forced exploration) for version 23 with four players, 67.47 and 75.61 % with two. With the settings that it names and a reward of victory points the learner here stays far below. This page shows what was tried in place of what the study does not say. Nothing gives the whole of its pattern. The best tests with four players come out, within what one training may give, at the study's rate with a reward set by hand, first values up to 20 and ties to the learner's seat ([one change at a time](#one-change-at-a-time)); the change of order at version 19 comes out with victory points and a falling rate, at lower levels; the order with two players only far below its levels ([larger trainings](#larger-trainings)).

| not said | varied here |
|---|---|
| what a purchase earns | the victory points of the card, *shaped*, *no-junk*, *provinces* (1 for a Province), *price* |
| what the end of a game earns | nothing; with *points-and-win* 10 for winning; with *win-or-loss* and *margin* that alone |
| first values | at random from 0 to 1, to 10 or to 20 |
| which action cards are played | first those that give actions, then one other by a fixed order; or *the dearest* in hand that does something, until none is left to play; or *one* such card a turn |
| further purchases of a turn | decisions of their own, without a discount between them; or discounted as those of other turns are; or *none*: one purchase a turn |
| who wins ties | of those with the fewest turns one at random; or the last seat, the learner's; or they share the win |
| who begins | a random seat; or the first |
| when a game ends | with the turn that empties the piles; or with the round |
| how many Curses there are | 30; or none |
| how many cards a Chapel trashes, three and four in the text | up to four; or up to three |
| whether a Conspirator, which counts "more than 2 cards", counts itself | it does; or it does not |
| whom version 23 with four players meets in training, "Money" in the text | three Money; or Greedy, Blacksmith and Chapel |
| the rate is said, 0.2 at every visit | 0.2; or *falls*, one over the root of the number of visits of the entry |

Two rewards were set by hand: *no-junk* pays {no_junk}; *shaped* pays {shaped}. *Distance* is the number of cards by which the final deck differs from the study's (table 5.3.2), summed over its 13 kinds; the study's two methods differ by {between:.1f} from each other. Intervals are Student's over the seeds, which are paired where two methods are compared.

## The factorial

Version {version} against three Money players: all combinations of reward, first values, extra buys and method at the rate of 0.2, with {seeds} seeds each: {count} trainings of {games:,} games, {share:.0f} % of the study's. The best of tests after every {every:,} games is kept and plays {again:,} new games a training, and as many with each rule of the second table.
"""
LARGER = """## Larger trainings

In versions 0 and 1 the opponents are Greedy, Blacksmith and Chapel; from version 15 on Money, and each version has one card more than the one before. In version 1 the study's best tests are 54.33 % (epsilon-greedy) and 53.18 % (forced exploration) after 13,254 and 16,184 explored entries in 2,000,000 games; its first good tests come after 280,000 and 70,000 games. *Explored* are entries ever visited; the study's learners explored {epsilon:,.0f} and {forced:,.0f} in 5,000,000 games of version 23; its games lasted {rounds[0]:.2f} and {rounds[1]:.2f} rounds.
"""
AHEAD = "Which method is ahead in versions 15 to 23, in new games:"
OF_DECKS = "Mean final decks of version 23 with four players after 5,000,000 games, in new games; the study's are those of table 5.3.2:"

FACTORIAL = """What the factorial says:

- **No setting gives the study's figures or its pattern.** The highest are 29.4 % (19.3..39.5) by forced exploration and 13.5 % (1.6..25.4) by epsilon-greedy, both with *shaped*; the study has 70.78 and 71.98 % after 25 times the games. Forced exploration has the higher mean in all 16 settings and is ahead by more than the error in eight; in none is epsilon-greedy. No final deck is nearer to the study's than 3.7 cards.
- **The reward decides.** *Shaped* wins 16.2 points (13.5..18.9) more than the three others, which are all below 3 %: after so few games they differ by too little for their other factors to show.
- **First values** change nothing on average, but they do with *shaped* and epsilon-greedy: with extra buys it wins 12.7 % with values up to 20, and 1.5 % with values up to 1, where its decks have neither Gold nor Smithy. Forced exploration tries every purchase anyway: 24.5 and 29.4 %.
- **After 200,000 games, extra buys, ties and who begins explain little of the gap.** Leaving out extra buys changes wins by -0.2 points (-2.1..1.7). Ties to the learner's seat add 5.4 points at most, and a game that the first seat begins takes 3.2 at most. At the study's size ties add more ([below](#one-change-at-a-time)).

The setting whose two methods win most together, *shaped* with first values up to 20 and extra buys, is the one that was run at the study's size, 5,000,000 games: the two methods are then level, 63.3 and 62.2 %, with a difference of 1.1 points (-4.0..6.2), in the study 1.2. With first values changed alone, up to 1, they win 51.1 % (36.5..65.8) and 59.9 % (57.1..62.8), and the difference is -8.8 (-23.0..5.4). With two players and first values up to 20 it was run for 500,000 games: forced exploration has the higher mean, as in the study, but no more than the error allows, and both stay far below the study's levels.
"""
FOUND = """What the larger trainings say:

- **A learning rate that falls, with first values up to 20 and *shaped*, brings out the study's order with four players.** In version 23 at the study's 5,000,000 games epsilon-greedy wins 69.0 % (68.1..69.9) of new games over five seeds, and 69.8 % in its best test; forced exploration 59.9 % (59.1..60.7) and 60.6 %. The study has 71.98 and 70.78 %, the best of 500 tests of one training each: there the two are 1.2 points apart, here 9.1 (8.9..9.4). With a rate of 0.2 they win 63.3 % (59.5..67.1) and 62.2 % (59.8..64.6); with victory points and first values up to 1 as well, 14.6 % (12.4..16.8) and 18.2 % (15.9..20.5) (`version-23-4`).
- **The study's change of order at version 19 comes out with victory points and a falling rate, at lower levels.** After 1,000,000 games forced exploration has the higher mean in versions 15 to 18, by more than the error in 16; epsilon-greedy is ahead in 19, 20 and 21, by 2.6 points (0.3..5.0), 7.6 (1.2..14.1) and 33.7 (30.3..37.1), has the higher mean in 22, and is ahead in 23, by 28.7 (24.4..33.0) after 5,000,000. It wins 55 to 59 % in versions 15 to 21. With *shaped* and a falling rate neither is ahead up to version 19, and epsilon-greedy from 20 on: by 5.8 points (1.3..10.3), 19.8 (17.9..21.6) and 44.1 (39.2..49.0) in 20, 21 and 22. Differences this large are not the study's, whose methods are 1.2 points apart in version 23.
- **At the study's 5,000,000 games such differences shrink.** With *shaped* and a falling rate both methods win 68 to 69 % in versions 18, 19 and 20, and epsilon-greedy is ahead by -0.3 points (-2.4..1.9), 0.2 (-2.2..2.5) and 1.1 (-0.4..2.5): all three are within the error, also in 20, where the lead was 5.8 after 1,000,000. In version 23 it is 9.1 (8.9..9.4). So the change of order is a matter of the number of games, too, and with victory points it was not tried with 5,000,000 in versions 15 to 22, nor with *shaped* in 15, 16, 17, 21 and 22.
- **At the study's rate the order does not change.** With a rate of 0.2 and *shaped* forced exploration has the higher mean in all versions from 15 to 22 but 17 after 1,000,000 games, and is nowhere ahead by more than the error. The study's rate is constant; the falling one was chosen after these results were seen.
- **With *shaped* and a falling rate the best test of forced exploration comes at the very end, as in the study.** In version 23 epsilon-greedy is best after 2,128,000 games (the study: 3,030,000), and forced exploration at the very end, after 4,892,000 (4,880,000): it is still exploring.
- **Final decks** of version 23: those of epsilon-greedy are nearest to the study's with victory points and a falling rate: 7.3 Copper (7.2..7.3), 3.1 Silver (2.9..3.2), 1.4 Gold (1.3..1.4), 1.0 Smithy (1.0..1.0) and 0.1 other kingdom cards (0.0..0.3), in the study 7.45, 3.75, 1.53, 1.00 and 0.11. Such a learner wins less, 58.5 % (55.7..61.3). With *shaped* and a falling rate a deck has 7.0 Copper (6.9..7.1), 5.3 Silver (5.2..5.4), 1.8 Gold (1.8..1.9) and 1.0 Smithy (1.0..1.0). *No-junk* at the rate of 0.2 has 7.0 Copper (6.9..7.2), 4.3 Silver (3.8..4.8), 1.7 Gold (1.6..1.8) and 1.1 Smithy (1.0..1.2), and wins 58.1 % (56.1..60.2). The decks of forced exploration differ from the study's by 2.5 cards and more.
- **With two players** no setting gives the study's order and levels. After 10,000,000 games with *shaped* and a falling rate epsilon-greedy wins 72.2 % (67.4..76.9) of new games and is best late, after 8,710,000 games (the study: 67.47 % after 8,410,000). Forced exploration wins 36.3 % (33.6..39.0), where the study's overtakes (75.61 %); it has seen 9,352,630 entries, the study's 14,111,810. With victory points, a rate of 0.2 and first values up to 1 the two win 2.7 % (1.4..4.0) and 7.4 % (5.9..8.9): the study's order, far below its level (`version-23-2`). With *shaped*, first values up to 20 and a rate of 0.2 it is 1.5 % (0.0..3.4) and 10.2 % (0.0..21.4) after 500,000 games.
- **Version 1** comes out at the study's 2,000,000 games: with *shaped* and a falling rate it wins 52.1 % (51.6..52.6) of new games by epsilon-greedy and 52.4 % (52.0..52.7) by forced exploration, 53.0 % in the best tests of both (the study: 54.33 and 53.18 %), and 12,419 and 14,867 entries are explored (13,254 and 16,184). With victory points and a falling rate it wins 47.6 % by both (47.1..48.1 and 47.0..48.3), with victory points, a rate of 0.2 and first values up to 1 41.3 % (39.9..42.8) and 41.8 % (40.6..42.9).
- A reward for Provinces alone does not avoid Copper, which costs nothing: in version 1 a deck has 8.9 (8.3..9.6) by epsilon-greedy and 8.8 (8.4..9.1) by forced exploration. A reward at the end only (win or loss, margin) wins 1.0 % (0.4..1.6) at most with either rate.
- Rewards and rates set by hand prove only that some setting like these teaches what the study's learner learned; which one it was stays unknown.

Both methods were not always tried: version 23 with *points* and *provinces*, first values up to 1 and 100,000 games only with epsilon-greedy, and version 0 only with *shaped*. Not tried at all: what a Chapel or Moneylender trashes, and other orders of play than three; played cards in the discard pile; other mixes of opponents; opponents that learn; two changes at a time but for the factorial's; rewards of the end that are larger than the first values; other bounds of the states of versions 15 to 22, which the study does not print; and, in the formula for the rounds to the end, all but one (version 0)."""


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
        options = *sorted(unit["options"].items()), *sorted(unit.get("game", {}).items())
        key = (unit["version"], unit["games"], unit["visits"], options)
        found.setdefault(key, []).append(each)

    def order(alike: list[Record]) -> tuple[Any, ...]:
        wins = over([each.result for each in alike], "again").value
        return alike[0].unit["version"], alike[0].unit["games"], -wins

    return sorted(found.values(), key=order)


def complete(records: Sequence[Record]) -> list[Record]:
    """Return the trainings of the settings that have as many seeds as a figure needs."""
    enough = [alike for alike in settings(records) if len(alike) >= SEEDS]
    kept = {id(each) for alike in enough for each in alike}
    return [each for each in records if id(each) in kept]


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


def decks(records: Sequence[Record]) -> list[list[str]]:
    """Return a line for each deck of version 23 with four players at the study's size, the study's own first."""
    others = [name for name in DECKS if name not in IN_DECKS]
    lines = []
    for visits, method in METHODS.items():
        column = int(visits != EPSILON)
        own = [f"{DECKS[name][column]:.2f}" for name in IN_DECKS]
        rest = sum(DECKS[name][column] for name in others)
        lines.append(["the study", "", "", method, "1", *own, f"{rest:.2f}"])
    for alike in settings(records):
        unit, results = alike[0].unit, [each.result for each in alike]
        if (unit["version"], unit["games"]) == ("23-4", changes.LARGEST):
            cards = [interval(within(over(results, "cards", name))) for name in IN_DECKS]
            rest_of = mean([sum(each["cards"][name] for name in others) for each in results])
            named = [*_options(unit)[:3], METHODS[unit["visits"]], str(len(alike))]
            if "game" in unit:
                named[0] += f", {changes.LARGE}"
            lines.append([*named, *cards, interval(within(rest_of))])
    return lines


def page(records: Sequence[Record], crossed: Sequence[Record], changed: Sequence[Record]) -> str:
    """Return the page.

    Args:
        records: of single trainings.
        crossed: of the factorial.
        changed: of one change at a time.
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
    dates = sorted({each.date for each in (*records, *crossed, *changed)})
    command = "`python -m dovetail_studies.dominion.search"
    ran = (
        f"{command}` with `--version`, `--games`, `--reward`, `--initial`, `--seed`, `--extra-buys` and "
        "`--falling` as a line says; with *shaped* and a falling rate versions 0, 1 and 23 are those of `dovetail study dominion`. "
        f"{dates[-1]}, {records[-1].versions}."
    )
    results = factorial.by_setting(crossed)
    in_decks = ["reward", "first values", "rate", "method", "seeds", *IN_DECKS]
    pairs = ["version", "players", *given, "games", "seeds", "epsilon-greedy minus forced"]
    parts = [
        *(text, *factorial.effects(results), "", *factorial.tests(results), ""),
        *(
            *factorial.cells(results),
            "",
            f"{command} --factorial`, {sum(each.seconds for each in crossed):,.0f} s.",
            "",
        ),
        *(FACTORIAL, "", *changes.section([*changed, *records]), ""),
        *(f"{command} --changes`, {sum(each.seconds for each in changed):,.0f} s.", ""),
        *(
            changes.SAYS,
            "",
            larger,
            *table(columns, [line(each) for each in settings(records)]),
            "",
        ),
        *(AHEAD, "", *table(pairs, differences(records)), ""),
        *(
            OF_DECKS,
            "",
            *table([*in_decks, "other kingdom cards"], decks([*records, *changed])),
            "",
        ),
        *(ran, "", FOUND),
    ]
    return "\n".join(parts)
