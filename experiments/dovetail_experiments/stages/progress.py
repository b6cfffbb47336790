"""Progress of an experiment: bars in a terminal, otherwise a line for each stage."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from dovetail.protocol.display_text import plain
from dovetail_experiments.files.file import Pairing
from dovetail_experiments.stages.schedule import Stage, StageResult
from dovetail_experiments.statistics.tallies import faulty, interrupted


class _Rate(ProgressColumn):
    """Games per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:7.0f} games/s" if speed else "        games/s", style="cyan")


FAULTS = frozenset(
    ("illegal-action", "timeout", "stalled", "crashed", "disconnected", "environment-failed")
)
"""Reasons to report."""


EVERY = 60.0
"""Seconds between lines about a stage when there is no terminal for bars."""


class Display:
    """Shows the stages of an experiment while they are played."""

    def __init__(self, name: str, stages: Sequence[Stage]) -> None:
        self._console = Console(highlight=False, markup=False)
        self._plain = not self._console.is_terminal
        self._bars = Progress(
            TextColumn("{task.description:<24}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=self._console,
            disable=self._plain,
        )
        self._all = self._bars.add_task(name, total=sum(stage.episodes for stage in stages))
        self._tasks: dict[int, TaskID] = {}
        self._began: dict[int, float] = {}
        self._over: dict[int, int] = {}
        self._said = time.monotonic()
        self._points: dict[str, dict[str, tuple[float, int]]] = {}
        """Points and games, by tournament and player."""

    def begin(self, stage: Stage) -> None:
        self._began[stage.number] = time.monotonic()
        self._tasks[stage.number] = self._bars.add_task(f"  {title(stage)}", total=stage.episodes)

    def resume(self, stage: Stage, count: int) -> None:
        """Continue a stage with ``count`` episodes already played."""
        self._bars.advance(self._all, count)
        self._bars.advance(self._tasks[stage.number], count)
        self._console.print(
            f"{title(stage)}: {count:,} of {stage.episodes:,} games were played before",
            soft_wrap=True,
        )

    def advance(self, stage: Stage, count: int) -> None:
        """Count finished episodes of a stage."""
        self._bars.advance(self._all, count)
        self._bars.advance(self._tasks[stage.number], count)
        self._over[stage.number] = self._over.get(stage.number, 0) + count
        now = time.monotonic()
        if self._plain and now - self._said >= EVERY:
            self._said = now
            over, took = self._over.get(stage.number, 0), now - self._began[stage.number]
            left = took / over * (stage.episodes - over) if over else 0.0
            self._console.print(
                f"{title(stage)}: {over:,} of {stage.episodes:,} games, {over / took:.3g} games/s, "
                f"about {duration(left)} left",
                soft_wrap=True,
            )

    def skip(self, played: StageResult) -> None:
        """Show a stage that was already played."""
        stage = played.stage
        self._bars.advance(self._all, stage.episodes)
        self._console.print(f"{title(stage)}: played before", soft_wrap=True)
        self._count(played)

    def finish(self, played: StageResult) -> None:
        """Summarise a finished stage in one line, and its tournament, if any, in another."""
        stage, ends = played.stage, played.endings
        seconds = time.monotonic() - self._began.pop(stage.number)
        self._bars.remove_task(self._tasks.pop(stage.number))
        self._said = time.monotonic()
        line = f"{title(stage)}: {ends.games:,} games in {seconds:.1f} s"
        results = []
        for each in played.tallies:
            if each.decided:
                results.append(f"{each.agent} (seat {each.seat}) wins {each.win_rate.value:.1%}")
            else:
                results.append(f"{each.agent} returns {each.mean_return.value:+.3f}")
            if each.breaches:
                results.append(f"with {faulty(each.breaches)}")
        if played.interrupted:
            results.append(interrupted(len(played.interrupted)))
        self._console.print(f"{line}; {', '.join(results)}", soft_wrap=True)
        why = next((text for text, reason in ends.messages.items() if reason in FAULTS), "")
        if why:
            self._console.print(f"  such as: {plain(why)}", soft_wrap=True, markup=False)
        so_far = self._count(played)
        if so_far:
            self._console.print(so_far, soft_wrap=True, markup=False)

    def _count(self, played: StageResult) -> str:
        """Add a meeting to its tournament; return the points so far, without intervals.

        An interval for a fixed number of games would not hold when it is read after every meeting.
        """
        part = played.stage.part
        if not isinstance(part, Pairing) or len(part.seats) == 1:
            return ""
        found = self._points.setdefault(part.tournament, {})
        for game in played.units.finished:
            for name, points in zip(part.seats, game.points or (), strict=True):
                before = found.get(name, (0.0, 0))
                found[name] = before[0] + points, before[1] + 1
        if len(found) <= len(part.seats):
            return ""
        order = sorted(found.items(), key=lambda each: -each[1][0] / each[1][1])
        shown = ", ".join(f"{name} {points:g}/{games}" for name, (points, games) in order)
        return f"  {part.tournament} so far: {shown}"

    def __enter__(self) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()


def duration(seconds: float) -> str:
    """Return a duration in a readable form.

    >>> duration(3725)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def title(stage: Stage) -> str:
    """Return a stage's name."""
    if stage.kind == "evaluation":
        return f"{stage.part.name} after {stage.trained:,}"
    return f"{stage.part.name} {stage.first:,}-{stage.first + stage.episodes:,}"
