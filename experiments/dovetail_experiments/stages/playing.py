"""Plays the stages of an experiment: runs at the broker, several at once, results into the
store."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dovetail.client.client import RunFailed, RunHandle
from dovetail.client.results import substituted
from dovetail.peer.cores import available
from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode
from dovetail_experiments.engines.hosts import HostLost
from dovetail_experiments.files import openings
from dovetail_experiments.files.checking import named, unseated, written
from dovetail_experiments.files.file import Block, ExperimentFile, Mistake, Pairing, base, place_of
from dovetail_experiments.files.openings import Book
from dovetail_experiments.records.store import Store
from dovetail_experiments.stages.extending import Key
from dovetail_experiments.stages.formats.leagues import snapshot
from dovetail_experiments.stages.formats.stopping import Stopping
from dovetail_experiments.stages.places import Deployment
from dovetail_experiments.stages.progress import Display, title
from dovetail_experiments.stages.schedule import Stage, StageResult, more, stages
from dovetail_experiments.stages.shards import DealtRun
from dovetail_experiments.statistics.units import games

log = logging.getLogger("dovetail")

TRIAL = 2
"""Rounds after which it is known whether the players are deterministic."""


@dataclass(slots=True)
class _Job:
    """A stage being played: one run after the other."""

    stage: Stage
    row: int
    run: RunHandle | DealtRun | None = None
    more: str = ""
    """Where to find more about an error."""
    asked: int = 0
    """Episodes of the stage that runs were asked for."""
    book: Book | None = None
    stopping: Stopping | None = None
    stopped: bool = False
    episodes: list[Episode] = field(default_factory=list)

    @property
    def needed(self) -> list[Episode]:
        """The results of the stage: no later one than the game that decided."""
        last = None if self.stopping is None else self.stopping.last
        return [each for each in self.episodes if last is None or each.index <= last]

    @property
    def counted(self) -> list[Episode]:
        """The results that count."""
        return [each for each in self.needed if each.scored]

    @property
    def played(self) -> StageResult:
        """The stage with its results."""
        again = [each for each in self.needed if each.will_retry]
        return StageResult(self.stage, self.counted, again)


class Playing:
    """An experiment in progress.

    Args:
        file: what is played.
        place: where.
        store: for results and states.
        execution: its number in the store.
        states: initial states of agents, by name; those of snapshots too.
        taken_over: rows of stages of another execution whose results count for this one.
    """

    def __init__(
        self,
        file: ExperimentFile,
        place: Deployment,
        store: Store,
        execution: int,
        states: dict[str, bytes],
        taken_over: dict[Key, list[int]] | None = None,
    ) -> None:
        self._taken_over = taken_over or {}
        self._file = file
        self._place = place
        self._store = store
        self._execution = execution
        self._states = states
        self._seats = place.seat(file, {n: s for n, s in states.items() if "@" not in n})
        self._books: dict[tuple[str, int, int], Book] = {}
        self._tried: set[str] = set()
        self._done: list[StageResult] = []
        self._jobs: list[_Job] = []
        """The title of what is in progress."""

    def play(self) -> Iterator[StageResult]:
        """Play everything that was not played before; yield all stages with their results, each
        once it is over.

        Raises:
            DovetailError: a program has ended, or something cannot be played.
        """
        try:
            yield from self._play()
        except DovetailError:
            try:
                self._place.check()  # a program's failure explains more than its consequences
            except HostLost as lost:
                raise HostLost(f"{self._where()}{lost}") from None
            except DovetailError as ended:
                raise DovetailError(f"{self._where()}{ended}") from None
            raise

    def _where(self) -> str:
        """Return how far the play had come when a program ended, to be put before the error."""
        ended = {name.removeprefix("agent-") for name in self._place.ended()}
        jobs = [job for job in self._jobs if ended & {*map(base, job.stage.part.seats)}]
        for job in jobs or self._jobs:
            over, count = len(job.counted), job.stage.episodes
            return f"{title(job.stage)}, after {over:,} of {count:,} games: "
        return ""

    def _play(self) -> Iterator[StageResult]:
        finished = self._store.finished_stages(self._execution)
        todo = stages(self._file)
        with Display(self._file.name, todo) as display:
            self._take_over(todo, finished)
            while todo or (todo := self._more(finished)):
                batch = [todo.pop(0)]
                if batch[0].number in finished:
                    row = finished[batch[0].number]
                    stage = batch[0]
                    self._done.append(played(stage, self._store.results(row)))
                    display.skip(self._done[-1])
                    yield self._done[-1]
                    continue
                while todo and self._together(batch, todo[0], finished):
                    batch.append(todo.pop(0))
                self._batch(batch, display)
                yield from self._done[-len(batch) :]

    def _more(self, finished: dict[int, int]) -> list[Stage]:
        found = more(self._file, self._done)
        self._take_over(found, finished)
        return found

    def _take_over(self, todo: Sequence[Stage], finished: dict[int, int]) -> None:
        """Copy the results of stages from the execution that is extended, if it has them.

        All before anything is played, so that what is interrupted can be resumed without that
        execution.
        """
        for stage in todo:
            rows = self._taken_over.get((stage.kind, stage.part.name, stage.trained))
            if not rows:
                continue
            other = rows.pop(0)
            if stage.number in finished:
                continue
            row = finished[stage.number] = self._row(stage, self._store.made(other))
            for episode in self._store.results(other):
                self._store.add(row, episode)
            self._store.finish_stage(self._execution, stage.number, row, {})

    def _row(self, stage: Stage, software: str = "") -> int:
        return self._store.begin_stage(
            self._execution,
            stage.number,
            stage.kind,
            stage.part.name,
            stage.trained,
            stage.part.seats,
            stage.part.rotate,
            software,
        )

    def _together(self, batch: Sequence[Stage], stage: Stage, finished: dict[int, int]) -> bool:
        """Return whether a stage can be played at the same time as others."""
        one, other = batch[0].part, stage.part
        if not (isinstance(one, Pairing) and isinstance(other, Pairing)):
            return False
        if one.tournament != other.tournament or one.round_number != other.round_number:
            return False
        found = next(each for each in self._file.tournaments if each.name == one.tournament)
        limit = found.parallel or available()
        if self._place.shards is not None:  # short meetings leave no shard idle
            limit = max(limit, len(self._place.shards.alive))
        return len(batch) < limit and stage.number not in finished

    def _batch(self, batch: Sequence[Stage], display: Display) -> None:
        self._jobs = []
        for stage in batch:
            self._begin(stage, display)
        open_jobs = list(self._jobs)
        looked = time.monotonic()
        while open_jobs:
            for job in list(open_jobs):
                took = self._poll(job, display, 0.5 / len(open_jobs))
                if not took or time.monotonic() - looked > 0.5:
                    looked = time.monotonic()
                    self._place.check()
                if job.run is None and not self._next(job):
                    open_jobs.remove(job)
        for job in self._jobs:
            self._finish(job, display)
        self._jobs = []

    def _begin(self, stage: Stage, display: Display) -> None:
        display.begin(stage)
        row = self._row(stage)
        if isinstance(stage.part, Block):
            self._keep_first(stage.part)
        job = _Job(stage, row, stopping=_stopping(stage))
        self._jobs.append(job)
        self._next(job)

    def _next(self, job: _Job) -> bool:
        """Ask for the next run of a stage; return whether there is any."""
        stage, part = job.stage, job.stage.part
        left = stage.episodes - job.asked
        if left == 0 or job.stopped:
            return False
        count = left
        if part.openings != 0 and len(part.seats) > 1:
            trial = part.openings == "auto" and stage.episodes > TRIAL * part.round
            if trial and job.asked < TRIAL * part.round:
                count = TRIAL * part.round - job.asked
            elif part.openings != "auto" or (trial and _repeats(job)):
                job.book = self._book(stage)
        check = part.check
        if check is None and job.asked == 0 and _separable(stage):
            count, check = min(count, part.round), True
        first = stage.first + job.asked
        job.asked += count
        options = part.rules()
        if job.book is not None and job.book.lines:
            options["openings"] = job.book.lines
            options["seeds"] = job.book.of(first, count, part.round)
        if part.substitute is not None:
            options["substitutes"] = [self._seat(part.substitute)]
        log.info(
            "%s: %d episodes from number %d with seed %d%s",
            part.name,
            count,
            first,
            self._file.play_seed(part),
            f" and {len(job.book.lines)} openings" if job.book is not None else "",
        )
        self._place.check()
        try:
            job.run = self._place.run(
                [self._seat(name) for name in part.seats],
                configuration=self._file.environment.configuration,
                episodes=count,
                first_index=first,
                seed=self._file.play_seed(part),
                mode=stage.mode,
                modes=stage.modes,
                rotate=part.rotate,
                check=bool(check),
                label=self._store.label(job.row),
                names=list(part.seats),
                derivation=self._file.derivation,
                **options,
            )
        except DovetailError as error:
            raise self._failure(stage, error) from None
        job.more = self._place.hint()
        return True

    def _failure(self, stage: Stage, error: DovetailError, more: str = "") -> DovetailError:
        """Return why a run failed, with its place in the file if that is to blame."""
        text = f"{stage.part.name}: {error}"
        code = error.code if isinstance(error, RunFailed) else ""
        if code == "seats":
            if isinstance(stage.part, Pairing):
                text += f"; set `seats` of the tournament {stage.part.tournament!r}"
            return Mistake(text, *place_of(self._file, stage.part), "seats")
        if code == "lookahead":
            return unseated(self._file, stage.part, error, text)
        option = named(str(error), self._file.environment.configuration)
        if option:
            return Mistake(text, "environment", "configuration", *option)
        return DovetailError(f"{text}{more}")

    def _poll(self, job: _Job, display: Display, timeout: float) -> bool:
        """Take results of a stage; return whether there were any."""
        if job.run is None:
            return False
        try:
            results = job.run.poll(timeout)
        except DovetailError as error:
            raise self._failure(job.stage, error, job.more) from None
        if results is None:
            job.run = None
            return True
        for episode in results:
            self._store.add(job.row, episode)
            display.advance(job.stage, episode)
            log.info("%s: %s", job.stage.part.name, _said(episode))
        job.episodes += results
        if job.stopping is not None and results and not job.stopped:
            job.stopping.take(results)
            if job.stopping.last is not None:
                job.stopped = True
                job.run.drain()
        return bool(results)

    def _finish(self, job: _Job, display: Display) -> None:
        stage = job.stage
        lost = [each for each in job.needed if _failed(each)]
        if lost:
            text = (
                f"{stage.part.name}: {len(lost)} of {stage.episodes} episodes could not be played, "
                f"such as number {lost[0].index}: {lost[0].message or lost[0].reason}"
            )
            if lost[0].message.startswith("opening, "):
                raise Mistake(text, *place_of(self._file, stage.part), "openings")
            raise DovetailError(f"{text}{self._place.hint()}")
        saved = {}
        for name in stage.learners:
            number = self._seats[name]
            if isinstance(number, int):
                saved[name] = self._place.save(name, number)
                log.info("%s: %s is a state of %d bytes", stage.part.name, name, len(saved[name]))
        part = stage.part
        if isinstance(part, Block) and part.last and part.seats[0] in saved:
            learner = part.seats[0]
            mark = snapshot(learner, stage.first + stage.episodes)
            saved[mark] = self._states[mark] = saved[learner]
        self._store.finish_stage(self._execution, stage.number, job.row, saved)
        self._done.append(job.played)
        display.finish(self._done[-1])

    def _keep_first(self, part: Block) -> None:
        """Keep the state with which the learner of a league begins."""
        learner = part.seats[0]
        mark = snapshot(learner, 0)
        number = self._seats[learner]
        if not isinstance(number, int):
            raise DovetailError(
                f"{part.league}: [agents.{learner}] is a program that is one agent and has no "
                "snapshots; offer it as an agent type"
            )
        if mark not in self._states:
            self._states[mark] = self._place.save(learner, number)
            self._store.keep(self._execution, mark, self._states[mark])

    def _seat(self, name: str) -> int | str:
        """Return what a run calls an agent; a snapshot is created when it is first seated."""
        if name not in self._seats:
            if name not in self._states:
                raise DovetailError(f"there is no snapshot {name!r}; the league did not reach it")
            self._seats[name] = self._place.create(self._file, base(name), self._states[name])
        return self._seats[name]

    def _book(self, stage: Stage) -> Book:
        part = stage.part
        if (book := written(self._file, part)) is not None:
            self._check(stage, book)
            return book
        plies = part.openings if isinstance(part.openings, int) else None
        seed = part.openings_seed if isinstance(part, Pairing) else self._file.play_seed(part)
        count = max(1, stage.episodes // part.round)
        found = self._books.get((str(plies), seed, count))
        if found is None:
            found = self._books[str(plies), seed, count] = self._place.at_one(
                [self._seat(name) for name in part.seats],
                lambda experiment, agents: openings.draw(
                    experiment,
                    self._place.environment,
                    agents,
                    self._file.environment.configuration,
                    plies=plies,
                    count=count,
                    seed=seed,
                    lookahead=part.lookahead,
                ),
            )
        return found

    def _check(self, stage: Stage, book: Book) -> None:
        """Try openings that the user wrote before the first game that begins with them."""
        part = stage.part
        known = jsontext.write(book.lines)
        if known in self._tried:
            return
        try:
            problem = self._place.at_one(
                [self._seat(name) for name in part.seats],
                lambda experiment, agents: openings.problem(
                    experiment,
                    self._place.environment,
                    agents,
                    book.lines,
                    configuration=self._file.environment.configuration,
                    seed=self._file.play_seed(part),
                    lookahead=part.lookahead,
                ),
            )
        except DovetailError as error:
            raise self._failure(stage, error) from None
        if problem:
            text = f"{part.name}: {problem}"
            raise Mistake(text, *place_of(self._file, part), "openings")
        self._tried.add(known)


def _separable(stage: Stage) -> bool:
    """Return whether the first episodes of a stage can be a run of their own, without a change of
    its results.

    Learners that play several at once would learn from them in another order.
    """
    part = stage.part
    alone = part.concurrency == 1 and not part.stacked
    return alone or (stage.mode == "evaluate" and not stage.modes)


def _said(episode: Episode) -> str:
    """Return how an episode ended."""
    points = episode.outcome or [seat.total for seat in episode.seats]
    ended = (
        f"episode {episode.index} with seed {episode.seed} {episode.reason} after "
        f"{episode.turns} turns"
    )
    result = ", ".join(
        f"{seat.agent} {point:g}" for seat, point in zip(episode.seats, points, strict=True)
    )
    return ": ".join(each for each in (ended, result, episode.message) if each)


def played(stage: Stage, episodes: list[Episode]) -> StageResult:
    """Return a stage with its results, of those in the store."""
    job = _Job(stage, 0, episodes=episodes, stopping=_stopping(stage))
    if job.stopping is not None:
        job.stopping.take(episodes)
    return job.played


def _stopping(stage: Stage) -> Stopping | None:
    part = stage.part
    if not isinstance(part, Pairing) or (part.sprt is None and part.best_of is None):
        return None
    return Stopping(
        None if part.sprt is None else part.sprt.test,
        part.best_of,
        draw=part.truncated == "draw",
    )


def _failed(episode: Episode) -> bool:
    """Return whether an episode could not be played; one that a substitute played could."""
    return not (episode.scored or episode.will_retry or substituted(episode))


def _repeats(job: _Job) -> bool:
    """Return whether every seating played the same game in both rounds of the trial."""
    part = job.stage.part
    found = games(job.counted, len(part.seats), rotate=part.rotate)
    known = [game for game in found if game.digest]
    return len(known) == TRIAL * part.round and len({g.signature for g in known}) == part.round
