"""Share of moves that kept a position's exact value, from recorded games."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import EpisodeRecord
from dovetail_experiments.files.file import Pairing
from dovetail_experiments.records.replay import replay
from dovetail_experiments.reports import games
from dovetail_experiments.reports.exact import EXACT, uneven
from dovetail_experiments.reports.sheets import Sheet
from dovetail_experiments.stages.schedule import StageResult
from dovetail_experiments.statistics.estimates import rate

GAMES = 50
"""Maximum games per evaluation and tournament; a position takes about ten milliseconds."""

NOTE = (
    "From at most {count} games of each tournament and of each evaluation's last round, drawn at "
    "random. A position counts if some of its actions keep its value (win, draw or loss, if both "
    "sides play perfectly from there) and some do not; Connect Four counts from its last 28 "
    "squares on, Amazons from the last 10, dots from the last 12 "
    "lines. 95 % intervals over games."
)


def decisions(record: EpisodeRecord) -> Iterator[tuple[int, bool]]:
    """Yield the decisions of a game that matter, as the seat and whether it kept the value.

    Raises:
        DovetailError: the environment is not installed, or a replay differs.
    """
    values_of = EXACT[record.environment]
    played = replay(record)
    for actions, (environment, _) in zip(record.actions, played, strict=False):
        values = values_of(environment.board)  # type: ignore[attr-defined]
        if not values or not uneven(values):
            continue
        for seat, action in actions:
            yield seat, values[action] == max(values.values())


class KeptSample:
    """A sample of the games of an execution that may have exact values.

    Args:
        most: the maximum games per tournament and evaluation; 0 for none.
    """

    def __init__(self, execution: int, stages: Iterable[StageResult], most: int = GAMES) -> None:
        self._wanted = _groups(execution, stages) if most else {}
        self._most = most
        self._rng = random.Random(0)
        self._kept: dict[str, list[tuple[str, EpisodeRecord, games.RecordedGame]]] = {}
        self._seen: dict[str, int] = {}

    def add(self, record: EpisodeRecord) -> None:
        """Add a game that counts; each of a group is equally likely to stay (reservoir
        sampling)."""
        label = record.label.rpartition("/")[0]
        if label not in self._wanted or record.environment not in EXACT:
            return
        group, played = self._wanted[label]
        here = self._kept.setdefault(group, [])
        seen = self._seen[group] = self._seen.get(group, 0) + 1
        if len(here) < self._most:
            here.append((group, record, played))
        elif (at := self._rng.randrange(seen)) < self._most:
            here[at] = group, record, played

    def table(self) -> Sheet | None:
        """Return each player's share of value-keeping moves; None if no game has exact values."""
        return _table([each for group in self._kept.values() for each in group], self._most)


def _table(
    sampled: Iterable[tuple[str, EpisodeRecord, games.RecordedGame]], most: int
) -> Sheet | None:
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for group, record, played in sampled:
        who = games.players(record, played)
        counts: dict[str, list[int]] = {}
        try:
            for seat, right in decisions(record):
                count = counts.setdefault(who[seat], [0, 0])
                count[0] += right
                count[1] += 1
        except DovetailError:  # of another version; the rest of the page is still right
            return None
        for name, (held, of) in counts.items():
            found.setdefault((group, name), []).append((held, of))
    rows = []
    for (group, name), parts in sorted(found.items()):
        share = rate(parts)
        interval = f"{100 * share.low:.1f} to {100 * share.high:.1f}" if share.known else "-"
        positions = sum(int(of) for _, of in parts)
        cells = (f"{len(parts):,}", f"{positions:,}", f"{100 * share.value:.1f}", interval)
        rows.append((group, name, *cells))
    if not rows:
        return None
    heads = ("stage", "player", "games", "positions", "value kept %", "95 %")
    return Sheet(heads, rows, (0, 1), note=NOTE.format(count=most))


def _groups(
    execution: int, stages: Iterable[StageResult]
) -> dict[str, tuple[str, games.RecordedGame]]:
    """Return the tournament or evaluation for each label prefix, and how its seats were assigned.

    Of an evaluation only the last round counts, as the learners changed after earlier ones.
    """
    found: dict[str, tuple[str, games.RecordedGame]] = {}
    rounds: dict[str, str] = {}
    for each in stages:
        stage, part = each.stage, each.stage.part
        if stage.kind not in ("evaluation", "tournament"):
            continue
        name = part.tournament if isinstance(part, Pairing) else part.name
        label = f"{execution}/{stage.number}"
        if stage.kind == "evaluation":
            found.pop(rounds.get(name, ""), None)
            rounds[name] = label
        found[label] = name, games.RecordedGame("", part.name, list(part.seats), part.rotate)
    return found
