"""Parts shared by the rows of all games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dovetail.client.client import Experiment
from dovetail_experiments.statistics import Estimate, wilson
from dovetail_studies.playing import DERIVATION, Score
from dovetail_studies.rows import Result, interval, over

COLUMNS = ("", "ours", "the study's best", "the literature's best")
BLOCK = 5_000
"""Number of training games in one run."""


def train(
    experiment: Experiment,
    game: str,
    seats: Sequence[int],
    games: int,
    seed: int,
    configuration: Mapping[str, Any] | None = None,
    most: int | None = None,
    *,
    together: int = 1,
) -> int:
    """Train agents against each other; return the number of truncated games.

    Args:
        experiment: the experiment that created the agents.
        game: an environment.
        seats: instance numbers from ``create``, by seat.
        games: the number of games.
        seed: the seed of the games.
        configuration: the game's configuration.
        most: maximum turns of a game; None for no limit.
        together: the number of games per message.
    """
    cut = 0
    for block, first in enumerate(range(0, games, BLOCK)):
        run = experiment.run(
            game,
            list(seats),
            episodes=min(BLOCK, games - first),
            seed=seed * 10_007 + block,
            configuration=dict(configuration or {}),
            max_turns=most,
            derivation=DERIVATION,
            concurrency=together,
            stacked=together > 1,
        )
        cut += sum(episode.reason != "terminated" for episode in run)
    return cut


def counted(score: Score) -> Result:
    """Return a score in the form that results keep."""
    return {
        "games": score.games,
        "wins": score.wins,
        "losses": score.losses,
        "cut": score.cut,
        "distinct": len(score.digests),
    }


def points(results: Sequence[Result], *keys: str) -> Estimate:
    """Return the share of points over the results of ``counted`` at ``keys``, one per training.

    A win is worth 1, a draw one half, and a truncated game nothing. The interval is Student's over
    the trainings, or Wilson's over the games if all trainings have the same share.
    """
    found = []
    for result in results:
        at: Any = result
        for key in keys:
            at = at[key]
        drawn = at["games"] - at["wins"] - at["losses"] - at["cut"]
        found.append((at["wins"] + drawn / 2, at["games"]))
    return shared(found)


def shared(parts: Sequence[tuple[float, int]]) -> Estimate:
    """Return a success rate over trainings, each with successes and trials; see ``points``.

    >>> shared([(10, 10), (10, 10)]).low > 0.8
    True
    >>> shared([(9, 10), (10, 10)]).high
    1.0
    """
    shares = [{"share": won / of} for won, of in parts]
    if len({each["share"] for each in shares}) == 1:
        return wilson(sum(won for won, _ in parts), sum(of for _, of in parts))
    found = over(shares, "share")
    return Estimate(found.value, max(0.0, found.low), min(1.0, found.high))


def percent(found: Estimate) -> str:
    """Return a share in percent, with its interval."""
    return interval(found, 1, 100)


def added(results: Sequence[Result], key: str) -> dict[str, int]:
    """Return the sums of the results of ``counted`` in the maps at ``key``."""
    parts = [each for result in results for each in result[key].values()]
    return {name: sum(each[name] for each in parts) for name in ("games", "cut", "distinct")}
