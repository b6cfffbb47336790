"""The results of a run, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as Xml

from dovetail.peer.extras import needed
from dovetail.protocol.messages import ClockRule, Episode

if TYPE_CHECKING:
    import pandas
    import polars  # type: ignore[import-not-found,unused-ignore]

SHOWN = 10
"""Rows that a notebook shows."""


class ClockPart(ClockRule, frozen=True, forbid_unknown_fields=True):
    """``clock``: time limits for a seat's decisions, in seconds; unlimited by default."""


class Results(list[Episode]):
    """The results of a run: a list of ``Episode`` with a summary and conversion to data frames.

    >>> from dovetail.protocol.messages import SeatResult
    >>> Results([Episode(1, 0, 7, 3, "terminated", [SeatResult("td", 1, total=1.0)], [1.0])])
    Results: 1 episode, 1 terminated; td returns +1
    """

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each seat of each episode, without measures named like its columns."""
        found: list[dict[str, Any]] = []
        for each in self:
            for number, seat in enumerate(each.seats):
                row: dict[str, Any] = {
                    "episode": each.index,
                    "seed": each.seed,
                    "reason": each.reason,
                    "blame": each.blame,
                    "turns": each.turns,
                    "scored": each.scored,
                    "seat": number,
                    "agent": seat.agent,
                    "instance": seat.instance,
                    "stands_for": seat.stands_for,
                    "return": seat.total,
                    "score": None if each.outcome is None else each.outcome[number],
                    "decisions": seat.decisions,
                    "seconds": seat.seconds,
                    "breaches": seat.breaches,
                }
                measures = seat.measures.items()
                found.append(row | {name: value for name, value in measures if name not in row})
        return found

    def pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas frame.

        Raises:
            DovetailError: pandas is not installed.
        """
        return needed("pandas").DataFrame(self.rows())

    def polars(self) -> polars.DataFrame:
        """Return the rows as a polars frame.

        Raises:
            DovetailError: polars is not installed.
        """
        return needed("polars").DataFrame(self.rows(), infer_schema_length=None)

    def __repr__(self) -> str:
        reasons: dict[str, int] = {}
        totals: dict[str, list[float]] = {}
        for each in self:
            reasons[each.reason] = reasons.get(each.reason, 0) + 1
            for seat in each.seats:
                totals.setdefault(seat.agent, []).append(seat.total)
        parts = [f"{count} {reason}" for reason, count in sorted(reasons.items())]
        means = [f"{name} returns {sum(t) / len(t):+.4g}" for name, t in totals.items()]
        head = f"Results: {len(self)} episode{'' if len(self) == 1 else 's'}"
        return "; ".join([", ".join([head, *parts]), *([", ".join(means)] if means else [])])

    def _repr_html_(self) -> str:
        rows = self.rows()
        names = list(rows[0]) if rows else []
        said, table = Xml.Element("p"), Xml.Element("table")
        said.text = repr(self)
        for tag, cells in (
            ("th", names),
            *(("td", [_cell(row.get(name)) for name in names]) for row in rows[:SHOWN]),
        ):
            line = Xml.SubElement(table, "tr")
            for text in cells:
                Xml.SubElement(line, tag).text = text
        return "".join(Xml.tostring(each, "unicode", method="html") for each in (said, table))


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def substituted(episode: Episode) -> bool:
    """Return whether a substitute played in an episode, which then does not count."""
    return any(seat.stands_for is not None for seat in episode.seats)


def unplayed(episodes: Sequence[Episode]) -> str:
    """Return why no episode of a run could be played; empty if some were."""
    if not episodes or any(each.scored or substituted(each) for each in episodes):
        return ""
    last = [each for each in episodes if not each.will_retry] or list(episodes)
    first = last[0]
    return (
        f"none of {len(last)} episodes could be played, such as number {first.index}: "
        f"{first.message or first.reason}"
    )
