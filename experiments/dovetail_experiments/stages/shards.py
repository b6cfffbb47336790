"""Shards: several equal brokers with their own peers, which share the episodes of a run.

An episode without learning depends only on its index and the seeds, so any broker can play it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from dovetail.client.client import Experiment, RunFailed, RunHandle
from dovetail.client.run_options import RunOptions
from dovetail.protocol.errors import DovetailError, Refused
from dovetail.protocol.messages import Episode
from dovetail_experiments.engines.pieces import LOSSES
from dovetail_experiments.files.file import Evaluation, ExperimentFile, Mistake, Phase, Tournament

log = logging.getLogger("dovetail")

PAUSE = 0.1
"""Seconds between checks for a replacement while no shard is left."""
SLICE = 0.005
"""Seconds per wait for one of the brokers."""


def refusal(file: ExperimentFile, shards: int) -> str:
    """Return why an experiment cannot be played in shards; empty if it can."""
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
            f"{shards} shards are too many: the longest part, {most.name!r}, has only "
            f"{_at_once(most)} episodes to deal; use at most {_at_once(most)} shards"
        )
    return ""


def longest(file: ExperimentFile) -> int:
    """Return the maximum number of episodes of a file that can be played at once."""
    return max(_at_once(each) for each in [*file.parts(), *file.tournaments])


def _at_once(part: Phase | Evaluation | Tournament) -> int:
    """Return the number of a part's episodes that can be played at once."""
    if isinstance(part, Tournament):
        return part.episodes * max(1, len(part.players) // part.seats)
    return part.episodes


def _nothing() -> None:
    pass


def _none(agent: str, state: bytes | None) -> int:
    raise NotImplementedError(agent)


Coming = Callable[[], "Shard | None"]
"""A requested shard: returns it once it is ready, None before; raises DovetailError if it fails."""


@dataclass(eq=False, slots=True)
class Shard:
    """A broker with its own peers, one of several equal ones."""

    experiment: Experiment
    check: Callable[[], None] = _nothing
    """Raises an error if one of its programs is not running."""
    stop: Callable[[], None] = _nothing
    """Stops its programs, without waiting for those of another machine."""
    create: Callable[[str, bytes | None], int] = _none
    """Creates an agent of the file there, from a state if given."""
    pids: Mapping[str, int] = field(default_factory=dict)
    """Process IDs of its programs, by name."""
    lost: bool = False
    """True if it has failed; the other shards take over its episodes."""
    owed: int = 0
    """Number of requested episodes that are not over."""
    numbers: dict[int | str, int] = field(default_factory=dict)
    """Its own numbers of agents, by their numbers in ``Shards``."""
    known: dict[int, int] = field(default_factory=dict)
    """Reverse of ``numbers``."""

    def named(self, agents: Sequence[int | str]) -> list[int | str]:
        """Return its own numbers of agents."""
        return [self.numbers.get(each, each) for each in agents]


@dataclass(eq=False, slots=True)
class _Chunk:
    """Consecutive episodes of a run, assigned to a shard."""

    shard: Shard
    run: RunHandle
    left: dict[int, None]
    """Indices of the episodes that are not over, in order."""


class Shards:
    """Equal brokers; if one fails, the others continue and a new one may replace it.

    Args:
        shards: the brokers.  Agents keep the numbers that the first one gave them.
        another: requests a further shard; None if there are no more.
    """

    def __init__(
        self, shards: Sequence[Shard], another: Callable[[], Coming] | None = None
    ) -> None:
        self.all = list(shards)
        self._made = 0
        self._another = another
        self._coming: list[Coming] = []
        self._agents: list[tuple[int, str, bytes | None]] = []
        """Number of each agent with its name in the file and initial state."""
        self.losses = 0
        """Shards lost since the last finished episode; several suggest that the file causes the
        failures."""

    @property
    def alive(self) -> list[Shard]:
        """Shards that have not failed; there is always at least one."""
        return [each for each in self.all if not each.lost]

    def create(self, agent: str, state: bytes | None) -> int:
        """Create an agent of the file in every shard; return its number here."""
        numbers: list[int | None] = []
        for shard in self.all:
            number = None
            if not shard.lost:
                try:
                    number = shard.create(agent, state)
                except DovetailError as error:
                    self.fail(shard, error)
            numbers.append(number)
        name = self.made(numbers)
        self._agents.append((name, agent, state))
        return name

    def _arrive(self) -> None:
        """Add requested shards that are ready, with all agents."""
        for coming in list(self._coming):
            try:
                shard = coming()
                if shard is None:
                    continue
                for name, agent, state in self._agents:
                    number = shard.create(agent, state)
                    shard.numbers[name] = number
                    shard.known[number] = name
            except DovetailError as error:
                log.warning("cannot start another shard: %s", error)
            else:
                self.all.append(shard)
                log.warning("shard %d replaces a lost one", len(self.all))
            self._coming.remove(coming)

    def made(self, numbers: Sequence[int | None]) -> int:
        """Record an agent's number in each shard; return its number here.

        Args:
            numbers: the number in each shard; None for a lost one.
        """
        self._made += 1
        # A lost first shard has no number, and another shard's might belong to another agent.
        name = -self._made if numbers[0] is None else numbers[0]
        for shard, number in zip(self.all, numbers, strict=True):
            if number is not None:
                shard.numbers[name] = number
                shard.known[number] = name
        return name

    def check(self) -> None:
        """Check the programs of each shard, and drop shards with a failed program.

        Raises:
            DovetailError: no shard is left.
        """
        for shard in self.alive:
            try:
                shard.check()
            except DovetailError as error:
                self.fail(shard, error)
        if self._coming:
            self._arrive()

    def fail(self, shard: Shard, error: DovetailError) -> None:
        """Drop a shard that raised an error, unless the file caused the error or it was the last
        shard.

        A program that runs but is silent counts as lost, and so does a broker that has forgotten
        the experiment.

        Raises:
            DovetailError: the error, or why a program of the shard ended, which explains more.
        """
        if shard.lost:
            return
        reason = error
        try:
            shard.check()
        except DovetailError as ended:
            reason = ended
        else:
            gone = isinstance(error, RunFailed) and error.code == "unavailable"
            gone = gone or shard.experiment.forgotten
            if isinstance(error, RunFailed | Refused | Mistake) and not gone:
                raise error
        self.losses += 1
        if self._another is not None and self.losses < LOSSES:
            self._coming.append(self._another())
        if self.alive == [shard] and not self._coming:
            raise reason
        shard.lost = True
        number = self.all.index(shard) + 1
        log.warning("shard %d is lost, and the others play its episodes: %s", number, reason)
        shard.stop()
        while not self.alive:  # the others may have failed, too
            self._arrive()
            if not self._coming and not self.alive:
                raise reason
            time.sleep(0.0 if self.alive else PAUSE)

    def run(
        self, environment: str, agents: Sequence[int | str], **options: Unpack[RunOptions]
    ) -> DealtRun:
        """Play episodes without learning.

        ``concurrency`` applies to each shard; the other arguments are as for ``Experiment.run``.
        """
        return DealtRun(self, environment, agents, options)


class DealtRun:
    """A run in progress at several brokers; its results arrive in index order."""

    def __init__(
        self, shards: Shards, environment: str, agents: Sequence[int | str], options: RunOptions
    ) -> None:
        self._shards = shards
        self._environment = environment
        self._agents = agents
        self._options = options
        self._first = options.get("first_index", 0)
        self._total = options.get("episodes", 1)
        self._dealt = 0
        """Number of episodes requested from shards."""
        self._chunks: list[_Chunk] = []
        self._returned: list[int] = []
        """Indices requested from shards that were then lost."""
        self._due = self._first
        """Index of the next result to return."""
        self._held: dict[int, list[Episode]] = {}
        """Results that wait for an earlier one, by index."""
        self._drained = False
        self._deal()

    def poll(self, timeout: float | None = None) -> list[Episode] | None:
        """Return the next results, waiting briefly for the first; None once all were returned.

        Raises:
            DovetailError: a run failed, or a broker is gone.
        """
        end = time.monotonic() + (0.5 if timeout is None else timeout)
        while self._chunks or self._returned or self._dealt < self._total:
            heard = [self._take(chunk) for chunk in list(self._chunks)]
            self._deal()
            results = self._ready()
            # A shard may have just finished work that another run waits for.
            if results or any(heard) or not self._chunks or time.monotonic() >= end:
                return results
            time.sleep(SLICE)
        return self._rest() or None

    def drain(self) -> None:
        """Finish the episodes in progress without starting others."""
        self._total = self._dealt
        self._returned = []
        self._drained = True
        for chunk in self._chunks:
            try:
                chunk.run.drain()
            except DovetailError as error:
                self._shards.fail(chunk.shard, error)

    def _deal(self) -> None:
        """Give a chunk to each shard that will soon be idle.

        Chunks grow with the number of episodes dealt, so that a meeting decided early starts few
        extra games, and shrink with the number left, so that all shards finish together.
        """
        concurrency = self._options.get("concurrency", 1)
        while self._returned:
            shard = min(self._shards.alive, key=lambda each: each.owed)
            if shard.owed >= concurrency:
                return
            first = self._returned[0]
            count = 1
            while count < len(self._returned) and self._returned[count] == first + count:
                count += 1
            if self._ask(shard, first, count):
                del self._returned[:count]
        while (left := self._total - self._dealt) > 0:
            alive = self._shards.alive
            # Each chunk opens its own matches, so it should have several episodes per match.
            least = min(4 * concurrency, -(-self._total // (2 * len(alive))))
            shard = min(alive, key=lambda each: each.owed)
            if shard.owed >= concurrency:
                return
            count = min(max(least, min(self._dealt, left) // (2 * len(alive))), left)
            if self._ask(shard, self._first + self._dealt, count):
                self._dealt += count

    def _ask(self, shard: Shard, first: int, count: int) -> bool:
        """Request consecutive episodes from a shard; return whether it accepted."""
        options = self._options.copy()
        options["episodes"] = count
        options["first_index"] = first
        seeds = options.get("seeds")
        if seeds is not None:
            options["seeds"] = seeds[first - self._first : first - self._first + count]
        agents = shard.named(self._agents)
        if "substitutes" in options:
            options["substitutes"] = shard.named(options["substitutes"])
        try:
            run = shard.experiment.run(self._environment, agents, **options)
        except DovetailError as error:
            self._shards.fail(shard, error)
            return False
        shard.owed += count
        left = dict.fromkeys(range(first, first + count))
        self._chunks.append(_Chunk(shard, run, left))
        return True

    def _take(self, chunk: _Chunk) -> bool:
        """Collect results of a chunk; return whether there were any."""
        shard = chunk.shard
        results = None
        if not shard.lost:
            try:
                results = chunk.run.poll(0.0)
            except DovetailError as error:
                self._shards.fail(shard, error)
        if results is None:
            shard.owed -= len(chunk.left)
            if shard.lost and not self._drained:
                self._returned = sorted([*self._returned, *chunk.left])
            self._chunks.remove(chunk)
            return True
        for each in results:
            for seat in each.seats:
                known = shard.known
                seat.instance = known.get(seat.instance, seat.instance)
                if seat.stands_for is not None:
                    seat.stands_for = known.get(seat.stands_for, seat.stands_for)
            self._held.setdefault(each.index, []).append(each)
            if not each.will_retry:
                chunk.left.pop(each.index, None)
                shard.owed -= 1
                self._shards.losses = 0
        return bool(results)

    def _ready(self) -> list[Episode]:
        """Return the results that are next in order."""
        found: list[Episode] = []
        while (held := self._held.get(self._due)) and not held[-1].will_retry:
            found += self._held.pop(self._due)
            self._due += 1
        return found

    def _rest(self) -> list[Episode]:
        """Return the remaining results; ``drain`` leaves gaps in the order."""
        rest = [each for index in sorted(self._held) for each in self._held[index]]
        self._held.clear()
        return rest
