"""What the Dominion study leaves out, tried in combination: version 23, and those that learn from fewer games.

``python -m dovetail_studies.dominion.search`` trains every combination of reward, first
values and exploration at a table, on one core, and continues where it was stopped; ``--factorial``
trains the combinations of ``factorial``, ``--changes`` what ``changes`` has; ``--page`` writes
studies/pages/dominion-23.md from the results.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

from dovetail_studies.dominion import changes, factorial
from dovetail_studies.dominion.learning import BOTH, FALLING, GBC, learn, learn_units
from dovetail_studies.dominion.search_page import complete, line, page
from dovetail_studies.pages import DOCS, KEPT, keep
from dovetail_studies.results import Results
from dovetail_studies.rows import Unit
from dovetail_studies.working import OUT

REWARDS = ("points", "points-and-win", "provinces", "price", "win-or-loss", "margin")
FIRST_VALUES = (1.0, 10.0)
"""Upper ends of the ranges that first values are drawn from."""
CONSTANT: Mapping[str, float] = {}
"""The study's learning rate, 0.2 at every visit."""
FILE = "dominion/search-23.jsonl"
FACTORIAL = "dominion/factorial-23.jsonl"
CHANGES = "dominion/changes-23.jsonl"
ROWS = "dominion/trainings.study.jsonl"
"""The trainings of the study's rows, some of them by settings that were found here."""
AGAIN = 10_000


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
    rate: Mapping[str, Any] = CONSTANT,
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


def main() -> None:
    """Run the trainings, or write the page."""
    parser = argparse.ArgumentParser(description="Try what the Dominion study leaves out.")
    parser.add_argument("--version", default="23-4", help="of the state")
    parser.add_argument("--games", type=int, default=100_000, help="of each training")
    parser.add_argument("--reward", nargs="+", default=REWARDS)
    parser.add_argument("--initial", nargs="+", type=float, default=FIRST_VALUES)
    parser.add_argument("--falling", action="store_true", help="the learning rate, with visits")
    parser.add_argument("--seed", nargs="+", type=int, default=[1])
    parser.add_argument("--extra-buys", default="undiscounted", help="how they are learned")
    parser.add_argument("--factorial", action="store_true", help="run the factorial")
    parser.add_argument("--changes", action="store_true", help="run one change at a time")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page")
    given = parser.parse_args()
    results = Results([KEPT / FILE, OUT / FILE])
    crossed = Results([KEPT / FACTORIAL, OUT / FACTORIAL])
    changed = Results([KEPT / CHANGES, OUT / CHANGES])
    if given.page:
        records = complete(list(results.records.values()))
        keep(KEPT / FILE, records)
        settings = crossed.of(factorial.units())
        keep(KEPT / FACTORIAL, settings)
        single = changed.of(changes.units() + changes.large())
        keep(KEPT / CHANGES, single)
        rows = Results([KEPT / ROWS, OUT / ROWS]).records.values()
        # By the rules of the text, as all on this page.
        records += [
            each
            for each in rows
            if "reward" in each.unit.get("options", {}) and "game" not in each.unit
        ]
        (DOCS / "dominion-23.md").write_text(page(records, settings, single), "utf-8")
        return
    if given.factorial:
        results, wanted = crossed, factorial.units()
    elif given.changes:
        results, wanted = changed, changes.units() + changes.large()
    else:
        options = dict(FALLING if given.falling else CONSTANT)
        if given.extra_buys != "undiscounted":
            options["extra_buys"] = given.extra_buys
        asked = given.version, given.games, given.reward, given.initial, given.seed
        wanted = units(*asked, options)
    for unit in results.todo(wanted):
        begun = time.monotonic()
        results.add(unit, learn(unit), time.monotonic() - begun)
        print(" ".join(line(results.of([unit]))), flush=True)


if __name__ == "__main__":
    main()
