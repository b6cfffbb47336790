"""What the Dominion study leaves out about version 23, tried in combination.

``python -m dovetail.experiments.studies.dominion.search`` trains every combination of reward, first
values and exploration with four players, on one core, and continues where it was stopped;
``--page`` writes docs/studies/dominion-23.md from the results.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Mapping, Sequence

from dovetail.experiments.studies.dominion.kingdom import DECKS, LAST
from dovetail.experiments.studies.dominion.learning import (
    BOTH,
    EPSILON,
    FORCED,
    METHODS,
    learn,
    learn_units,
)
from dovetail.experiments.studies.pages import DOCS, KEPT, keep, table
from dovetail.experiments.studies.results import Record, Results
from dovetail.experiments.studies.rows import Unit, share
from dovetail.experiments.studies.working import OUT

REWARDS = ("points", "points-and-win", "provinces", "price", "win-or-loss", "margin")
FIRST_VALUES = (1.0, 10.0)
"""Upper ends of the ranges that first values are drawn from."""
FILE = "dominion/search-23.jsonl"
AGAIN = 10_000
TEXT = """# Version 23 of the Dominion study: what it leaves out

The study's main table has 71.98 % (epsilon-greedy) and 70.78 % (forced exploration) for version 23 with four players. With the settings that it names and a reward of victory points the learner here stays far below. The study does not say:

- what the learner is rewarded for, and what the last purchase of a game is worth;
- from what range the random first values are drawn;
- whether a purchase that an extra buy allows is a decision of its own (here it is, undiscounted within the turn);
- how the action cards are played (here: those that give actions first);
- who wins ties, and who begins.

Rewards were tried with both methods of exploration, against three Money players: in version 15, which has one card more than the first versions and learns from few games, and in version 23. *Distance* is the number of cards by which the final deck differs from the study's (table 5.3.2), summed over its 13 kinds; the study's two methods differ by {between:.1f} from each other. *Explored* are entries ever visited; the study's learners explored {epsilon:,.0f} and {forced:,.0f} in {most:,} games of version 23; its games lasted {rounds[0]:.2f} and {rounds[1]:.2f} rounds.
"""

FOUND = """What these trainings say, one seed each and a fiftieth of the study's games, so none of it is settled:

- No setting reproduces the study's level or its deck.
- A reward of victory points teaches to buy Estates and Duchies, which earn at once, and hardly any Gold; games last 18 rounds where the study's last 16. By epsilon-greedy the learner ends with 14 Estates.
- A reward for Provinces alone is the only one whose games last as long as the study's, and wins most in as few games; by epsilon-greedy its deck is the nearest to the study's. It is the first to try at the study's size.
- A reward at the end only (win or loss, margin) teaches little in so few games.
- Not tried: first values from a larger range (`--initial 10`); other rules for extra buys, for playing action cards and for ties; versions 0 and 1; the reversal from version 19 on.
"""


def units(
    version: str, games: int, rewards: Sequence[str], first: Sequence[float], seed: int
) -> list[Unit]:
    """Return the trainings: rewards by first values by method, each of so many games."""
    found = []
    for initial, reward in itertools.product(first, rewards):
        options = {"reward": reward, "initial": initial}
        found += learn_units(
            *([version], ["money"] * 3, BOTH, {"games": games, "again": AGAIN}, [seed]),
            options=options,
            every=games // 2,
            tests=2_000,
        )
    return found


def distance(cards: Mapping[str, float], visits: int) -> float:
    """Return by how many cards a final deck differs from the study's, over the kinds it prints."""
    column = 0 if visits == EPSILON else 1
    return sum(abs(cards[name] - printed[column]) for name, printed in DECKS.items())


def line(record: Record) -> list[str]:
    """Return a training's line of the table."""
    unit, found = record.unit, record.result
    cards, options = found["cards"], unit["options"]
    deck = (f"{cards[name]:.1f}" for name in ("Silver", "Gold", "Smithy", "Estate", "Province"))
    return [
        *(
            unit["version"][:2],
            options["reward"],
            f"0 to {options['initial']:g}",
            METHODS[unit["visits"]],
        ),
        *(f"{unit['games']:,}", str(unit["seed"])),
        share(round(found["again"] * unit["again"]), unit["again"]),
        *(f"{found['rounds']:.1f}", f"{found['explored']:,}"),
        *(f"{distance(cards, unit['visits']):.1f}", *deck),
    ]


def page(records: Sequence[Record], found: str) -> str:
    """Return the page.

    Args:
        records: of the trainings.
        found: what is to be said of them.
    """
    best = sorted(records, key=lambda each: (each.unit["version"], -each.result["again"]))
    columns = ["version", "reward", "first values", "method", "games", "seed", "wins in new games"]
    columns += ["rounds", "explored", "distance", "Silver", "Gold", "Smithy", "Estate", "Province"]
    text = TEXT.format(
        between=distance({name: printed[0] for name, printed in DECKS.items()}, FORCED),
        epsilon=LAST[4][EPSILON][3],
        forced=LAST[4][FORCED][3],
        most=5_000_000,
        rounds=[LAST[4][method][2] for method in (EPSILON, FORCED)],
    )
    dates = sorted({each.date for each in records})
    ran = f"`python -m dovetail.experiments.studies.dominion.search` with `--version`, {dates[-1]}, {records[-1].versions}."
    return "\n".join([text, *table(columns, [line(each) for each in best]), "", ran, "", found])


def main() -> None:
    """Run the trainings, or write the page."""
    parser = argparse.ArgumentParser(description="Try what the Dominion study leaves out.")
    parser.add_argument("--version", default="23-4", help="of the state, for 4 players")
    parser.add_argument("--games", type=int, default=100_000, help="of each training")
    parser.add_argument("--reward", nargs="+", default=REWARDS)
    parser.add_argument("--initial", nargs="+", type=float, default=FIRST_VALUES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="run nothing; write the page")
    given = parser.parse_args()
    results = Results([KEPT / FILE, OUT / FILE])
    if given.page:
        records = list(results.records.values())
        keep(KEPT / FILE, records)
        (DOCS / "dominion-23.md").write_text(page(records, FOUND), "utf-8")
        return
    for unit in results.todo(
        units(given.version, given.games, given.reward, given.initial, given.seed)
    ):
        begun = time.monotonic()
        results.add(unit, learn(unit), time.monotonic() - begun)
        print(" ".join(line(results.of([unit])[0])), flush=True)


if __name__ == "__main__":
    main()
