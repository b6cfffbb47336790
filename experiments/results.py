"""What ``run`` takes and ``wait`` returns, for scripts and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypedDict

from dovetail.peer.extras import needed
from dovetail.protocol.messages import AgentLost, Breach, ClockRule, Episode, Mode

if TYPE_CHECKING:
    import pandas
    import polars  # type: ignore[import-not-found,unused-ignore]

SHOWN = 10
"""Rows that a notebook shows."""


class RunOptions(TypedDict, total=False):
    """The options of ``Experiment.run``; each is a field of the message ``run``."""

    configuration: dict[str, Any]
    """Options of the environment by name; the others keep their defaults."""
    episodes: int
    """How many episodes to play; 1 if not given."""
    seed: int
    """The master seed of the run."""
    seeds: list[int] | None
    """The environment seed of each episode instead of derived ones."""
    first_index: int
    """The index of the first episode, to continue an earlier run."""
    mode: Mode
    """``learn`` (default) or ``evaluate``: whether agents may change."""
    modes: list[Mode]
    """The mode of each agent, if they differ."""
    concurrency: int
    """How many episodes to play at once, up to the agents' capacity."""
    rotate: bool
    """Whether seats move on by one each episode; each such round shares a seed."""
    clock: ClockRule | dict[str, Any]
    """How long a seat may think: ``decision``, ``episode``, ``increment``, ``margin`` in seconds."""
    answer_timeout: float | None
    """Seconds for any answer without a clock; None waits for ever."""
    max_turns: int | None
    """Truncate episodes after this many turns."""
    on_timeout: Breach
    """What a late answer costs: ``forfeit`` (default), ``truncate`` or ``random``."""
    on_illegal: Breach
    """What an illegal action costs."""
    retries: int
    """How many times to play an interrupted episode again."""
    check: bool
    """Whether to check observations and rewards against the declared spaces and range."""
    stepwise: bool
    """Whether the caller drives the run with ``start`` and ``step``."""
    secret: bool
    """Whether watching is forbidden."""
    lookahead: bool
    """Whether agents may ask the environment what would follow."""
    openings: list[list[list[Any]]]
    """Lines of joint actions with which episodes begin."""
    opening_turns: int
    """Without ``openings``: in how many first turns random legal actions are played."""
    on_agent_lost: AgentLost
    """What follows if an agent's program is lost and does not return."""
    substitutes: Sequence[int | str]
    """Who plays in place of a lost agent until it is back: one for all, or one for each of the agents."""
    save_every: int
    """After how many episodes the broker saves the learners; 0 for never."""
    peer: str | None
    """The name of the program that serves the environment, if several offer it."""
    thoughts: bool
    """Whether every watcher may see what the agents think."""
    label: str
    """What the run is called in the journal."""
    names: list[str]
    """What each agent is called for those who watch."""
    stacked: bool
    """Whether to play in groups, many episodes in one message; docs/stacked.md says when that is done."""
    texts: bool
    """In a stepwise run: whether each turn has the position as text."""


class Results(list[Episode]):
    """The results of a run: a list of ``Episode`` that shows itself and goes into frames.

    >>> from dovetail.protocol.messages import SeatResult
    >>> Results([Episode(1, 0, 7, 3, "terminated", [SeatResult("td", 1, total=1.0)], [1.0])])
    Results: 1 episode, 1 terminated; td returns +1
    """

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each seat of each episode."""
        return [
            {
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
                **seat.measures,
            }
            for each in self
            for number, seat in enumerate(each.seats)
        ]

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
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_cell(row.get(name)))}</td>' for name in names)}</tr>"
            for row in rows[:SHOWN]
        )
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{body}</table>"


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def substituted(episode: Episode) -> bool:
    """Whether a substitute played in an episode, which does not count then."""
    return any(seat.stands_for is not None for seat in episode.seats)


def unplayed(episodes: Sequence[Episode]) -> str:
    """Return why nothing of a run could be played; empty if some of it was."""
    if not episodes or any(each.scored or substituted(each) for each in episodes):
        return ""
    last = [each for each in episodes if not each.will_retry] or list(episodes)
    first = last[0]
    return (
        f"none of {len(last)} episodes could be played, such as number {first.index}: "
        f"{first.message or first.reason}"
    )
