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
    """The options of ``Experiment.run``; each is a field of the message ``run``.

    Attributes:
        configuration: options of the environment by name; the others keep their defaults. Default {}.
        episodes: how many episodes to play. Default 1.
        seed: the master seed, from which the seeds of the episodes are derived. Default 0.
        seeds: the environment seed of each episode, in place of derived ones. Default None.
        first_index: the index of the first episode, to continue an earlier run. Default 0.
        mode: ``learn`` or ``evaluate``, in which agents must not change. Default "learn".
        modes: the mode of each agent, if they differ. Default [].
        concurrency: how many episodes to play at once, up to the agents' capacity. Default 1.
        stacked: whether to play many episodes in one message, if all allow it; docs/stacked.md. Default False.
        rotate: whether agents move on by one seat each episode; such a round shares a seed. Default False.
        clock: seconds that a seat may think, a dict of ``decision``, ``episode`` (all its decisions),
            ``increment`` (added after each) and ``margin`` (for the network). Default: no limit.
        answer_timeout: seconds for any answer without a clock; None waits for ever. Default 60.0.
        max_turns: truncate episodes after this many turns. Default None.
        on_timeout: what a late answer costs: ``forfeit``, ``random`` (a random legal action is played)
            or ``truncate``. Default "forfeit".
        on_illegal: what an illegal action costs, in the same words. Default "forfeit".
        retries: how many times to play an interrupted episode again. Default 1.
        on_agent_lost: what happens if an agent's program does not come back: ``fail``, ``forfeit``,
            ``truncate``, ``wait`` or ``substitute``; docs/durable.md. Default "fail".
        substitutes: who plays in place of a lost agent until it is back: one for all, or one for each of
            the agents; with them ``on_agent_lost`` is ``substitute`` by default. Default [].
        save_every: after how many episodes the broker saves the learners, to recreate lost ones from;
            0 for never. Default 0.
        openings: lines of joint actions with which the broker begins episodes. Default [].
        opening_turns: without ``openings``, how many first turns are random legal actions. Default 0.
        lookahead: whether agents may ask the environment what would follow. Default False.
        check: whether to check observations and rewards against the declared spaces. Default False.
        stepwise: whether you drive the run with ``start`` and ``step``. Default False.
        texts: in a stepwise run, whether each turn has the position as text. Default True.
        secret: whether watching is forbidden. Default False.
        thoughts: whether all watchers may see agents' thoughts, not only you. Default False.
        label: what the run is called in the journal. Default "".
        names: what watchers see each agent called; empty for the offered names. Default [].
        peer: the program that serves the environment, by its name; None for any. Default None.
    """

    configuration: dict[str, Any]
    episodes: int
    seed: int
    seeds: list[int] | None
    first_index: int
    mode: Mode
    modes: list[Mode]
    concurrency: int
    rotate: bool
    clock: ClockRule | dict[str, Any]
    answer_timeout: float | None
    max_turns: int | None
    on_timeout: Breach
    on_illegal: Breach
    retries: int
    check: bool
    stepwise: bool
    secret: bool
    lookahead: bool
    openings: list[list[list[Any]]]
    opening_turns: int
    on_agent_lost: AgentLost
    substitutes: Sequence[int | str]
    save_every: int
    peer: str | None
    thoughts: bool
    label: str
    names: list[str]
    stacked: bool
    texts: bool


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
