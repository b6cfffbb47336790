"""What the Dominion study leaves out, tried in combination: version 23, and those that learn from fewer games.

``python -m dovetail.experiments.studies.dominion.search`` trains every combination of reward, first
values and exploration at a table, on one core, and continues where it was stopped;
``--page`` writes docs/studies/dominion-23.md from the results.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.experiments.studies.dominion.kingdom import DECKS, LAST
from dovetail.experiments.studies.dominion.learning import (
    BOTH,
    EPSILON,
    FALLING,
    FORCED,
    GBC,
    METHODS,
    SHAPED,
    learn,
    learn_units,
    percent,
)
from dovetail.experiments.studies.pages import DOCS, KEPT, keep, table
from dovetail.experiments.studies.results import Record, Results
from dovetail.experiments.studies.rows import Unit, interval, over, share
from dovetail.experiments.studies.working import OUT

REWARDS = ("points", "points-and-win", "provinces", "price", "win-or-loss", "margin")
FIRST_VALUES = (1.0, 10.0)
"""Upper ends of the ranges that first values are drawn from."""
CONSTANT: Mapping[str, float] = {}
"""The study's learning rate, 0.2 at every visit."""
FILE = "dominion/search-23.jsonl"
ROWS = "dominion/trainings.study.jsonl"
"""The trainings of the study's rows, some of them by settings that were found here."""
AGAIN = 10_000
SHOWN = ("Silver", "Gold", "Smithy", "Estate", "Province")
"""The cards of a final deck that have a column."""
TEXT = """# Version 23 of the Dominion study: what it leaves out

The study's main table has 71.98 % (epsilon-greedy) and 70.78 % (forced exploration) for version 23 with four players. With the settings that it names and a reward of victory points the learner here stays far below. With a learning rate that falls, high first values and a reward set by hand it comes near, and with four players the two methods of exploration change places, as in the study. The study does not say:

- what the learner is rewarded for, and what the last purchase of a game is worth;
- from what range the random first values are drawn;
- whether a purchase that an extra buy allows is a decision of its own (here it is, undiscounted within the turn);
- how the action cards are played (here: those that give actions first);
- who wins ties, and who begins.

It does say that the learning rate is 0.2 at every visit of an entry. In the lines *falls* it is one over the root of the number of visits instead.

Rewards were tried with both methods of exploration: in versions 0 and 1 against Greedy, Blacksmith and Chapel, of which the study prints most; in versions 15 to 22, each of which has one card more than the one before, and in version 23 against Money. Two rewards were set by hand: *no-junk* pays {no_junk}; *shaped* pays {shaped}.

In version 1 the study's best tests are 54.33 % (epsilon-greedy) and 53.18 % (forced exploration) after 13,254 and 16,184 explored entries in 2,000,000 games; its first good tests come after 280,000 and 70,000 games. *Distance* is the number of cards by which the final deck differs from the study's (table 5.3.2), summed over its 13 kinds; the study's two methods differ by {between:.1f} from each other. *Explored* are entries ever visited; the study's learners explored {epsilon:,.0f} and {forced:,.0f} in {most:,} games of version 23; its games lasted {rounds[0]:.2f} and {rounds[1]:.2f} rounds.
"""

FOUND = """What these trainings say; a level from one seed is rough:

- **A learning rate that falls, with first values up to 20, brings out the study's order with four players.** In version 23 at the study's 5,000,000 games and with *shaped*, epsilon-greedy wins 69.0 % (68.1..69.9) of new games over five seeds, and 69.8 % in its best test; forced exploration 59.9 % (59.1..60.7) and 60.6 %. The study has 71.98 and 70.78 %, the best of 500 tests of one training each. With a rate of 0.2 epsilon-greedy wins 63.3 % and forced exploration 62.2 %; with victory points and first values up to 1 as well, 14.6 and 18.2 %.
- **The two change places between versions 19 and 21 with a falling rate, after fewer games than the study's.** The study has epsilon-greedy ahead from version 19 on after 5,000,000 games; these are 1,000,000, and forced exploration, which must visit each entry ten times, gains with more: with *shaped* it wins 23 % in version 22 here, and 60 % in the larger version 23 after 5,000,000. With victory points alone, 1,000,000 games and three seeds, forced exploration is ahead by 0.2, 2.1, 2.2 and 0.2 points in versions 15 to 18, and epsilon-greedy by 3.4, 4.6, 33 and 17 in versions 19 to 22. With *shaped* forced exploration is ahead by 2.7 points in version 15, the two are level from 16 to 19, and epsilon-greedy is ahead by 4.8, 20 and 45 in versions 20 to 22. The intervals overlap up to version 20, and with victory points in 22, so three seeds do not fix the version. With a rate of 0.2 and *shaped* forced exploration is ahead in all versions from 15 to 22 but 17, and in version 23 the two are level. The study's rate is constant; the falling one was chosen after these results were seen.
- **The best test of forced exploration comes at the very end, as in the study.** In version 23 epsilon-greedy is best after 2,128,000 games (the study: 3,030,000), and forced exploration at the very end, after 4,892,000 (4,880,000): it is still exploring.
- **Final decks.** With *shaped* and a falling rate a deck has 1.0 Smithy, 1.8 Gold and 5.3 Silver (the study: 1.00, 1.53, 3.75). With victory points it has 1.0, 1.4 and 3.0, which is nearer, and wins less: 58.8 %. By *no-junk* and a rate of 0.2 a deck has 4.2 Silver, 1.7 Gold and 1.1 Smithy.
- **With two players**, 10,000,000 games and *shaped*, epsilon-greedy wins 72.2 % (67.4..76.9) of new games over five seeds and is best late, after 8,710,000 games (the study: 67.47 % after 8,410,000). Forced exploration wins 36.3 % (33.6..39.0), and does not overtake as in the study (75.61 %); after 10,000,000 games it has seen 9,352,630 entries, where the study's has 14,111,810. With victory points, a rate of 0.2 and first values up to 1 the two win 2.7 and 7.4 %.
- **Version 1** comes out at the study's 2,000,000 games: with *shaped* and a falling rate it wins 52.1 % of new games by epsilon-greedy and 52.4 % by forced exploration, 53.0 % in the best tests of both (the study: 54.33 and 53.18 %), and 12,419 and 14,867 entries are explored (13,254 and 16,184). With victory points and a falling rate it wins 47.6 %, with victory points, a rate of 0.2 and first values up to 1 41.3 and 41.8 %.
- Victory points alone teach to buy Estates and Duchies, which earn at once, where first values are low. First values were never changed alone here but in one pair of trainings of version 1, which shows nothing: they were raised together with the reward or the rate. A reward for Provinces alone buys too few Duchies and much Copper, which costs nothing. A reward at the end only (win or loss, margin) teaches little with either rate.
- Rewards and rates set by hand prove only that some setting like these teaches what the study's learner learned; which one it was stays unknown.
- Not tried: other rules for extra buys and for playing action cards.
"""


def against(version: str) -> list[str]:
    """Return whom a version meets: Money from chapter 5 on, and before, as far as its levels tell, one of each."""
    if version.endswith("-2"):
        return ["money"]
    return ["money"] * 3 if "-" in version or version.startswith("14") else GBC


def units(
    version: str,
    games: int,
    rewards: Sequence[str],
    first: Sequence[float],
    seeds: Sequence[int],
    rate: Mapping[str, float] = CONSTANT,
) -> list[Unit]:
    """Return the trainings: rewards by first values by method, each of so many games."""
    found = []
    for initial, reward in itertools.product(first, rewards):
        options = {"reward": reward, "initial": initial, **rate}
        found += learn_units(
            *([version], against(version), BOTH, {"games": games, "again": AGAIN}, seeds),
            options=options,
            every=min(50_000, games // 2),
            tests=2_000,
        )
    return found


def distance(cards: Mapping[str, float], visits: int, players: int = 4) -> float:
    """Return by how many cards a final deck differs from the study's, over the kinds it prints."""
    column = (players == 2) * 2 + (visits != EPSILON)
    return sum(abs(cards[name] - printed[column]) for name, printed in DECKS.items())


def line(records: Sequence[Record]) -> list[str]:
    """Return the table's line of a setting: the mean over its seeds, with Student's interval if there are several."""
    unit, results = records[0].unit, [each.result for each in records]
    options, again = unit["options"], unit["again"]
    cards = {name: over(results, "cards", name).value for name in DECKS}
    wins = interval(percent(results, "again"), 1, 1, " %")
    if len(records) == 1:
        wins = share(round(results[0]["again"] * again), again)
    return [
        *(
            unit["version"].partition("-")[0],
            str(unit["players"]),
            options["reward"],
            f"0 to {options['initial']:g}",
            "falls" if "rate_power" in options else "0.2",
            METHODS[unit["visits"]],
        ),
        *(f"{unit['games']:,}", str(len(records)), wins),
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


def page(records: Sequence[Record], found: str) -> str:
    """Return the page.

    Args:
        records: of the trainings.
        found: what is to be said of them.
    """
    columns = ["version", "players", "reward", "first values", "rate", "method", "games", "seeds"]
    columns += ["wins in new games", "best test", "rounds", "explored", "distance", *SHOWN]
    pays = {
        name: ", ".join(
            f"{worth:g} for {'an' if card[0] in 'AE' else 'a'} {card}"
            for card, worth in reward.items()
        )
        for name, reward in SHAPED.items()
    }
    text = TEXT.format(
        no_junk=pays["no-junk"],
        shaped=pays["shaped"],
        between=distance({name: printed[0] for name, printed in DECKS.items()}, FORCED),
        epsilon=LAST[4][EPSILON][3],
        forced=LAST[4][FORCED][3],
        most=5_000_000,
        rounds=[LAST[4][method][2] for method in (EPSILON, FORCED)],
    )
    dates = sorted({each.date for each in records})
    ran = (
        "`python -m dovetail.experiments.studies.dominion.search` with `--version`, `--games`, `--reward`, `--initial`, `--seed` and "
        "`--falling` as a line says; with *shaped* and a falling rate versions 0, 1 and 23 are those of `dovetail study dominion`. "
        f"{dates[-1]}, {records[-1].versions}."
    )
    return "\n".join(
        [text, *table(columns, [line(each) for each in settings(records)]), "", ran, "", found]
    )


def main() -> None:
    """Run the trainings, or write the page."""
    parser = argparse.ArgumentParser(description="Try what the Dominion study leaves out.")
    parser.add_argument("--version", default="23-4", help="of the state")
    parser.add_argument("--games", type=int, default=100_000, help="of each training")
    parser.add_argument("--reward", nargs="+", default=REWARDS)
    parser.add_argument("--initial", nargs="+", type=float, default=FIRST_VALUES)
    parser.add_argument("--falling", action="store_true", help="the learning rate, with visits")
    parser.add_argument("--seed", nargs="+", type=int, default=[1])
    parser.add_argument("--page", action="store_true", help="run nothing; write the page")
    given = parser.parse_args()
    results = Results([KEPT / FILE, OUT / FILE])
    if given.page:
        records = list(results.records.values())
        keep(KEPT / FILE, records)
        rows = Results([KEPT / ROWS, OUT / ROWS]).records.values()
        records += [each for each in rows if "reward" in each.unit.get("options", {})]
        (DOCS / "dominion-23.md").write_text(page(records, FOUND), "utf-8")
        return
    for unit in results.todo(
        units(
            *(given.version, given.games, given.reward, given.initial, given.seed),
            FALLING if given.falling else CONSTANT,
        )
    ):
        begun = time.monotonic()
        results.add(unit, learn(unit), time.monotonic() - begun)
        print(" ".join(line(results.of([unit]))), flush=True)


if __name__ == "__main__":
    main()
