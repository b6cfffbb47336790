"""Shards: several equal brokers with their own peers, among which the episodes of a run are dealt.

An episode without learning depends on its index and the seeds only, so it does not matter which
broker plays it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Unpack

from dovetail.experiments.client import Experiment, Run
from dovetail.experiments.file import Evaluation, ExperimentFile, Phase, Tournament
from dovetail.experiments.results import RunOptions
from dovetail.protocol.messages import Episode

SLICE = 0.002
"""Seconds of one wait for one of the brokers."""


def refusal(file: ExperimentFile, shards: int) -> str:
    """Return why an experiment cannot be played in so many shards; empty if it can."""
    learning = [
        *(phase.name for phase in file.phases if phase.mode == "learn"),
        *(league.name for league in file.leagues),
    ]
    if learning:
        return (
            f"{learning[0]!r} learns, and each shard would have its own learner; play it without "
            "shards, and what does not learn in a file that begins with the saved states"
        )
    if file.processes.pin:
        return "each shard has its own core; remove `pin` or the shards"
    most = max([*file.parts(), *file.tournaments], key=_at_once)
    if _at_once(most) < shards:
        return (
            f"{shards} shards are too many: {most.name!r} is the longest part, and only "
            f"{_at_once(most)} episodes of it can be dealt; use at most so many shards"
        )
    return ""


def _at_once(part: Phase | Evaluation | Tournament) -> int:
    """Return how many episodes may be played at once."""
    if isinstance(part, Tournament):
        return part.episodes * max(1, len(part.players) // part.seats)
    return part.episodes


@dataclass(eq=False, slots=True)
class _Shard:
    experiment: Experiment
    owed: int = 0
    """Episodes that it was asked for and that are not over."""
    numbers: dict[int | str, int] = field(default_factory=dict)
    """Its numbers of agents, by those of the first shard."""
    known: dict[int, int] = field(default_factory=dict)
    """The reverse."""

    def named(self, agents: Sequence[int | str]) -> list[int | str]:
        """Return what it calls agents."""
        return [self.numbers.get(each, each) for each in agents]


@dataclass(eq=False, slots=True)
class _Chunk:
    """Consecutive episodes of a run that a shard plays."""

    shard: _Shard
    run: Run
    owed: int


class Shards:
    """Equal brokers.

    Args:
        experiments: a connection to each.  Agents are called what they are called at the first.
    """

    def __init__(self, experiments: Sequence[Experiment]) -> None:
        self._shards = [_Shard(each) for each in experiments]

    def made(self, numbers: Sequence[int]) -> None:
        """Take what each broker calls an agent that was made at all."""
        for shard, number in zip(self._shards, numbers, strict=True):
            shard.numbers[numbers[0]] = number
            shard.known[number] = numbers[0]

    def run(
        self, environment: str, agents: Sequence[int | str], **options: Unpack[RunOptions]
    ) -> DealtRun:
        """Play episodes without learning; ``concurrency`` is that of each shard, the rest as of ``Experiment.run``."""
        return DealtRun(self._shards, environment, agents, options)


class DealtRun:
    """A run in progress at several brokers; its results come in the order of their indexes."""

    def __init__(
        self,
        shards: list[_Shard],
        environment: str,
        agents: Sequence[int | str],
        options: RunOptions,
    ) -> None:
        self._shards = shards
        self._environment = environment
        self._agents = agents
        self._options = options
        self._first = options.get("first_index", 0)
        self._total = options.get("episodes", 1)
        self._dealt = 0
        """Episodes that shards were asked for."""
        self._chunks: list[_Chunk] = []
        self._due = self._first
        """The index of the next result to return."""
        self._held: dict[int, list[Episode]] = {}
        """By index, results that wait for an earlier one."""
        self._deal()

    def poll(self, timeout: float | None = None) -> list[Episode] | None:
        """Return the results that are due, waiting briefly for the first; None once all were returned.

        Raises:
            DovetailError: a run failed, or a broker is gone.
        """
        end = time.monotonic() + (0.5 if timeout is None else timeout)
        wait = 0.0
        while self._chunks or self._dealt < self._total:
            heard = [self._take(chunk, wait) for chunk in list(self._chunks)]
            self._deal()
            results = self._ready()
            # Another run may wait for what a shard has just finished, and this one for another.
            if results or any(heard) or not self._chunks or time.monotonic() >= end:
                return results
            wait = SLICE
        return self._rest() or None

    def drain(self) -> None:
        """Finish the episodes in progress and start no other."""
        self._total = self._dealt
        for chunk in self._chunks:
            chunk.run.drain()

    def _deal(self) -> None:
        """Give a chunk to each shard that will soon have less to do than it can.

        Chunks grow with what was dealt, so that not much more than needed is begun of a meeting that
        is decided early; and they shrink with what is left, so that the shards end together.
        """
        concurrency = self._options.get("concurrency", 1)
        # Each chunk opens its own matches, so it should have several episodes for each of them.
        least = min(4 * concurrency, -(-self._total // (2 * len(self._shards))))
        while (left := self._total - self._dealt) > 0:
            shard = min(self._shards, key=lambda each: each.owed)
            if shard.owed >= concurrency:
                return
            count = max(least, min(self._dealt, left) // (2 * len(self._shards)))
            self._ask(shard, min(count, left))

    def _ask(self, shard: _Shard, count: int) -> None:
        options = self._options.copy()
        options["episodes"] = count
        options["first_index"] = self._first + self._dealt
        seeds = options.get("seeds")
        if seeds is not None:
            options["seeds"] = seeds[self._dealt : self._dealt + count]
        agents = shard.named(self._agents)
        if "substitutes" in options:
            options["substitutes"] = shard.named(options["substitutes"])
        run = shard.experiment.run(self._environment, agents, **options)
        self._dealt += count
        shard.owed += count
        self._chunks.append(_Chunk(shard, run, count))

    def _take(self, chunk: _Chunk, timeout: float) -> bool:
        """Take what has come of a chunk; return whether anything has."""
        results = chunk.run.poll(timeout)
        if results is None:
            chunk.shard.owed -= chunk.owed
            self._chunks.remove(chunk)
            return True
        for each in results:
            for seat in each.seats:
                known = chunk.shard.known
                seat.instance = known.get(seat.instance, seat.instance)
                if seat.stands_for is not None:
                    seat.stands_for = known.get(seat.stands_for, seat.stands_for)
            self._held.setdefault(each.index, []).append(each)
            if not each.will_retry:
                chunk.owed -= 1
                chunk.shard.owed -= 1
        return bool(results)

    def _ready(self) -> list[Episode]:
        """Return the results before which no other can come."""
        found: list[Episode] = []
        while (held := self._held.get(self._due)) and not held[-1].will_retry:
            found += self._held.pop(self._due)
            self._due += 1
        return found

    def _rest(self) -> list[Episode]:
        """Return what is left at the end: ``drain`` leaves gaps."""
        rest = [each for index in sorted(self._held) for each in self._held[index]]
        self._held.clear()
        return rest
