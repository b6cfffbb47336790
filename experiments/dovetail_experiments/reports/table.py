"""Results as a table for the terminal and for a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich import box
from rich.bar import Bar
from rich.console import RenderableType
from rich.table import Table
from rich.text import TextType

from dovetail.protocol.seats import player
from dovetail_experiments.reports.plot import CurvePoint
from dovetail_experiments.reports.standings import Standing, Standings
from dovetail_experiments.stages.schedule import Stage
from dovetail_experiments.statistics import Estimate, Tally
from dovetail_experiments.statistics.censored import described
from dovetail_experiments.statistics.tallies import interrupted, left_out


def summary(title: str, rows: Iterable[tuple[Stage, Tally]], *, full: bool = False) -> Table:
    """Return a table with a row for each agent and seat of each stage.

    Results are shares of games won, or mean returns in games without winners, with 95 % intervals.
    For repeated games, a line gives the number of distinct ones. T counts truncated games, which
    are left out of the shares.

    Args:
        rows: the stages and tallies to show.
        full: include thinking time and faults, which need a wide terminal.
    """
    table = listing(title)
    table.add_column("played")
    table.add_column("episodes" if full else "after", justify="right", no_wrap=True)
    table.add_column("agent")
    table.add_column("as", no_wrap=True)
    entries = list(rows)
    cut = any(tally.truncated for _, tally in entries)
    heads = ("W-D-L", *(("T",) * cut), "won or return (95 %)")
    for name in (*heads, *(("games", "distinct", "ms/move", "faults") * full)):
        table.add_column(name, justify="right", no_wrap=True)
    notes: dict[str, None] = {}
    for stage, tally in entries:
        when = f"{stage.trained:,}"
        if full and stage.kind == "phase":
            when = f"{stage.first:,}-{stage.first + stage.episodes:,}"
        counts, result = outcome(tally)
        cells = [stage.part.name, when, tally.agent, player(tally.seat), counts]
        cells += [*([str(tally.truncated)] * cut), result]
        if tally.repeats:
            found = tally.distinct
            text = f"{stage.part.name}: {found.games} games, {found.distinct} distinct"
            notes[text if found.distinct > 1 else f"{text}: no interval"] = None
        if tally.interrupted:
            notes[f"{stage.part.name}: {interrupted(tally.interrupted)}"] = None
        if tally.uncounted:
            notes[f"{stage.part.name}: {left_out(tally.uncounted)}"] = None
        if not tally.decided and tally.games > 1 and tally.constant:
            notes[f"{stage.part.name}: {tally.agent}: all returns are equal: no interval"] = None
        if full:
            per_move = 1000 * tally.seconds / tally.decisions if tally.decisions else 0.0
            count = f"{tally.distinct.distinct:,}"
            cells += [f"{tally.games:,}", count, f"{per_move:.2f}", str(tally.breaches)]
        table.add_row(*cells)
        learning = stage.kind in ("phase", "league")  # an agent that changes has no single mean
        if not learning and (uncut := tally.uncut) is not None:
            notes[f"{stage.part.name}: {tally.agent}: {described(uncut)}"] = None
    if cut:
        notes[
            "T: truncated games, left out of win rates; their returns are incomplete, so the mean "
            "has no interval"
        ] = None
    table.caption = "\n".join(notes) or None
    return table


def listing(title: TextType, caption: str | None = None) -> Table:
    """Return an empty table with its title and caption at the left."""
    return Table(
        title=title,
        title_justify="left",
        caption=caption,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )


def outcome(tally: Tally) -> tuple[str, str]:
    """Return games won, drawn and lost, and the win rate or mean with its interval."""
    if tally.decided:
        return f"{tally.wins}-{tally.draws}-{tally.losses}", percent(tally.win_rate)
    found = tally.mean_return
    digits = 3 if abs(found.value) < 100 else 1
    low, value, high = (f"{x:,.{digits}f}" for x in (found.low, found.value, found.high))
    return "-", f"{value} ({low}..{high})" if found.known else f"{value} (no interval)"


def standings_table(found: Standings, *, full: bool = False) -> Table:
    """Return the standings of a tournament, best first.

    Args:
        full: include pairs by score and points against each opponent, which need a wide terminal.
    """
    if found.seats == 1:
        return _alone_table(found)
    table = listing(
        found.name, "\n".join([found.caption, *(test.line for test in found.tests), *found.notes])
    )
    table.add_column("#")
    table.add_column("player")
    cut = any(row.truncated for row in found.rows)
    two = found.seats == 2
    wide = two and full
    more = ("pairs LL-LD-=-WD-WW",) * wide
    opponents = [str(k) for k in range(1, len(found.rows) + 1)] if wide else []
    heads = ("Elo (95 %)", "games", "W-D-L", *(("T",) * cut), *(("points",) * full))
    averaged = wide and any(row.nash for row in found.rows)
    last = ("distinct", "LOS next", *(("Nash",) * averaged), *opponents)
    for name in (*heads, "score (95 %)", *more, *last):
        table.add_column(name, justify="right", no_wrap=True)
    for place, row in enumerate(found.rows, 1):
        cells = [rating(row), f"{row.games:,}", f"{row.wins}-{row.draws}-{row.losses}"]
        cells += [str(row.truncated)] * cut
        cells += [*([f"{row.points:g}"] * full), percent(row.score)]
        if wide:
            cells.append(row.pairs.shown() if row.pairs is not None else "-")
        cells.append(f"{row.distinct.distinct:,}")
        cells.append("-" if math.isnan(row.next_best) else f"{row.next_best:.1%}")
        if averaged:
            share, value = row.nash or (math.nan, math.nan)
            cells.append(f"{share:.0%} ({value + 0.0:+.2f})")
        for other in found.rows if wide else ():
            points, games = found.crosses.get((row.player, other.player), (0.0, 0))
            cells.append(f"{points:g}/{games}" if games else "-")
        table.add_row(str(place), row.player, *cells)
    return table


def _alone_table(found: Standings) -> Table:
    lines = [found.caption]
    for (one, other), each in found.comparisons.items():
        d = each.mean
        lines.append(
            f"{one} - {other}: {d.value:+.3g} ({d.low:.3g}..{d.high:.3g}), t {each.t:.2f}, "
            f"p {each.p:.3g} (Wilcoxon {each.wilcoxon:.3g})"
            if d.known
            else f"{one} - {other}: {d.value:+.3g}, the same on every seed: no interval and no t "
            f"test (Wilcoxon p {each.wilcoxon:.3g})"
        )
    table = listing(found.name, "\n".join([*lines, *found.notes]))
    table.add_column("#")
    table.add_column("player")
    for name in ("games", "T", "return (95 %)", "distinct"):
        table.add_column(name, justify="right", no_wrap=True)
    for place, row in enumerate(found.rows, 1):
        low, value, high = (f"{x:,.4g}" for x in (row.score.low, row.score.value, row.score.high))
        shown = f"{value} ({low}..{high})" if row.score.known else f"{value} (no interval)"
        cells = (f"{row.episodes:,}", str(row.truncated), shown, f"{row.distinct.distinct:,}")
        table.add_row(str(place), row.player, *cells)
    return table


def percent(found: Estimate) -> str:
    """Return a share with its interval.

    >>> percent(Estimate(0.5, 0.4, 0.6))
    '50.0% (40.0..60.0)'
    """
    if math.isnan(found.value):
        return "-"
    if not found.known:
        return f"{found.value:.1%} (no interval)"
    return f"{found.value:.1%} ({100 * found.low:.1f}..{100 * found.high:.1f})"


def rating(row: Standing) -> str:
    """Return a rating with its interval, or with the one end that is meaningful."""
    found = row.elo
    if found is None or math.isnan(found.value):
        return "-"
    if not found.known or (math.isinf(found.low) and math.isinf(found.high)):
        return f"{found.value + 0.0:+.0f} (no interval)" if math.isfinite(found.value) else "-"
    if row.one_sided == "least" or math.isinf(found.high):
        return f"at least {found.low:+.0f}"
    if row.one_sided == "most" or math.isinf(found.low):
        return f"at most {found.high:+.0f}"
    return f"{found.value:+.0f} ({found.low:+.0f}..{found.high:+.0f})"


def curve_table(title: str, curves: Mapping[str, Sequence[CurvePoint]]) -> Table:
    """Return learning curves as bars, a row for each evaluation."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("episodes", justify="right")
    for label in curves:
        table.add_column("", justify="right", no_wrap=True)
        table.add_column(label)
    values = [point.estimate.value for points in curves.values() for point in points]
    low, high = min(0.0, *values), max(1.0, *values)
    rows: dict[int, dict[str, CurvePoint]] = {}
    for label, points in curves.items():
        for point in points:
            rows.setdefault(point.trained, {})[label] = point
    for trained, row in rows.items():
        cells: list[RenderableType] = [f"{trained:,}"]
        for label in curves:
            here = row.get(label)
            value = low if here is None else here.estimate.value
            cells += ["" if here is None else f"{value:.3f}", Bar(high - low, 0, value - low)]
        table.add_row(*cells)
    return table
