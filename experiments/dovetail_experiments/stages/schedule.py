"""The schedule of an experiment: the next stages, given those played.  Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.protocol.messages import Episode, Mode
from dovetail.protocol.seats import seated
from dovetail_experiments.files.file import (
    Block,
    Evaluation,
    ExperimentFile,
    League,
    Pairing,
    Phase,
    Tournament,
    base,
    kind_of,
)
from dovetail_experiments.stages.formats import leagues, tournaments
from dovetail_experiments.stages.formats.tournaments import Meeting
from dovetail_experiments.statistics.tallies import Tally, tally
from dovetail_experiments.statistics.thinned import Thinned
from dovetail_experiments.statistics.units import Units, games, units

MESSAGES = 20
"""Maximum distinct messages kept for a stage."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Part of a phase or league, or one run of an evaluation or a meeting."""

    number: int
    part: Phase | Evaluation | Pairing | Block
    first: int
    """Index of its first episode within the phase or league."""
    episodes: int
    trained: int
    """Number of learning episodes before it, over all phases and leagues."""

    @property
    def kind(self) -> str:
        """``phase``, ``league``, ``evaluation`` or ``tournament``."""
        return kind_of(self.part)

    @property
    def mode(self) -> Mode:
        """Return ``learn`` if any agent may learn, otherwise ``evaluate``."""
        if isinstance(self.part, Block):
            return "learn"
        return self.part.mode if isinstance(self.part, Phase) else "evaluate"

    @property
    def modes(self) -> list[Mode]:
        """Mode of each seat's agent; empty if all are the same."""
        part = self.part
        if isinstance(part, Block):
            return ["learn" if number == 0 else "evaluate" for number in range(len(part.seats))]
        if isinstance(part, Phase) and part.frozen and part.mode == "learn":
            return ["evaluate" if name in part.frozen else "learn" for name in part.seats]
        return []

    @property
    def learners(self) -> list[str]:
        """The agents that may learn, each once."""
        if self.mode != "learn":
            return []
        names = self.part.seats
        modes = self.modes or ["learn"] * len(names)
        return list(
            dict.fromkeys(name for name, mode in zip(names, modes, strict=True) if mode == "learn")
        )


@dataclass(slots=True)
class Endings:
    """Counts of how the episodes of a stage ended."""

    games: int = 0
    """Number of episodes that need no retry."""
    last: int = -1
    """Highest index of such an episode; -1 if there is none."""
    counts: Counter[tuple[str, bool, int | None]] = field(default_factory=Counter)
    """Number of episodes by reason, retry and seat at fault."""
    messages: dict[str, str] = field(default_factory=dict)
    """The first distinct messages, with their reasons."""

    def add(self, episode: Episode) -> None:
        self.counts[episode.reason, episode.will_retry, episode.blame] += 1
        if not episode.will_retry:
            self.games += 1
            self.last = max(self.last, episode.index)
        if episode.message and len(self.messages) < MESSAGES:
            self.messages.setdefault(episode.message, episode.reason)


@dataclass(slots=True)
class Measures:
    """The agents' measures, returns and scores over the episodes of a stage that count."""

    episodes: int = 0
    """Number of the episodes."""
    curves: dict[str, Thinned] = field(default_factory=dict)
    """Curve of each measure, by ``NAME of AGENT``."""
    sums: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    """Sum and count of the finite values, by agent and name."""

    def add(self, episode: Episode, agents: Sequence[str]) -> None:
        """Add an episode, given the agent in each seat."""
        self.episodes += 1
        outcome = episode.outcome
        for number, (agent, seat) in enumerate(zip(agents, episode.seats, strict=True)):
            for name, value in seat.measures.items():
                if value == value:
                    label = f"{name} of {agent}"
                    self.curves.setdefault(label, Thinned()).add(self.episodes, value)
                if name not in ("return", "score"):  # those are not the agent's to tell
                    self._sum(agent, name, value)
            self._sum(agent, "return", seat.total)
            if outcome is not None:
                self._sum(agent, "score", outcome[number])

    def _sum(self, agent: str, name: str, value: float) -> None:
        if math.isfinite(value):
            total, count = self.sums.get((agent, name), (0.0, 0))
            self.sums[agent, name] = total + value, count + 1


@dataclass(frozen=True, slots=True)
class StageResult:
    """A stage with the results that count."""

    stage: Stage
    episodes: Iterable[Episode]
    """Episodes that count; those of a long stage are read from the store on each iteration."""
    interrupted: Sequence[Episode] = ()
    """Results that do not count because the episode was retried."""
    _known: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Cached figures computed from the episodes."""

    @property
    def endings(self) -> Endings:
        """Counts of how the episodes ended."""
        return self._counted()[1]

    @property
    def tallies(self) -> list[Tally]:
        """Results of each agent in each seat."""
        return self._counted()[0]

    @property
    def measures(self) -> Measures:
        """The agents' measures."""
        return self._counted()[2]

    @property
    def units(self) -> Units:
        """The games grouped into units; cached for tournaments."""
        if "units" in self._known:
            found: Units = self._known["units"]
            return found
        part = self.stage.part
        count, rotate = len(part.seats), part.rotate
        scored = games(self.episodes, count, rotate=rotate, draw=part.truncated == "draw")
        found = units(scored, count, rotate=rotate)
        if isinstance(part, Pairing):
            self._known["units"] = found
        return found

    @property
    def points(self) -> tuple[float, int]:
        """Points of the first agent, and the number of games with a result."""
        if "points" not in self._known:
            scored = [game.points[0] for game in self.units.finished if game.points is not None]
            self._known["points"] = math.fsum(scored), len(scored)
        found: tuple[float, int] = self._known["points"]
        return found

    def until(self, index: int) -> StageResult:
        """Return a tournament's result without the games from ``index`` on."""
        now = self.units
        scored = [game for game in now.games if game.index < index]
        part = {
            "units": units(scored, now.players, rotate=now.rotate),
            "counted": ([], Endings(), Measures()),
        }
        return StageResult(self.stage, (), (), part)

    def forget(self, episodes: Iterable[Episode]) -> StageResult:
        """Return a copy that keeps computed figures but reads its episodes from ``episodes``."""
        self._counted()
        if isinstance(self.stage.part, Pairing | Block) and len(self.stage.part.seats) == 2:
            self.points  # noqa: B018
        return StageResult(self.stage, episodes, self.interrupted, self._known)

    def _counted(self) -> tuple[list[Tally], Endings, Measures]:
        if "counted" not in self._known:
            part = self.stage.part
            ends = Endings()
            measures = Measures()

            def passing() -> Iterator[Episode]:
                for each in self.episodes:
                    measures.add(each, seated(part.seats, each.index if part.rotate else 0))
                    ends.add(each)
                    yield each
                for each in self.interrupted:
                    ends.add(each)
                    yield each

            rows = tally(passing(), part.seats, rotate=part.rotate, truncated=part.truncated)
            self._known["counted"] = rows, ends, measures
        found: tuple[list[Tally], Endings, Measures] = self._known["counted"]
        return found


def stages(file: ExperimentFile) -> list[Stage]:
    """Return the stages that do not depend on results, in order; ``more`` returns the others.

    Evaluations come before each phase that asks for them, every ``evaluate_every`` episodes, after
    the phase's last episode, and at the end of the experiment. None is played twice at the same
    point. Tournaments come last.
    """
    found: list[Stage] = []
    trained = 0
    evaluated = -1

    def evaluate() -> None:
        nonlocal evaluated
        if evaluated != trained:
            for part in file.evaluations:
                found.append(Stage(len(found), part, 0, part.episodes, trained))
        evaluated = trained

    for phase in file.phases:
        every = phase.evaluate_every
        if every:
            evaluate()
        for first, end in phase.stretches():
            found.append(Stage(len(found), phase, first, end - first, trained))
            if phase.mode == "learn":
                trained += end - first
            if every and (end % every == 0 or end == phase.episodes):
                evaluate()
    evaluate()
    if not file.leagues:
        for tournament in file.tournaments:
            if tournament.format != "round-robin" and tournament.format != "gauntlet":
                break
            found += _round(file, tournament, trained, len(found), 0, _first(file, tournament))
    return found


def more(file: ExperimentFile, played: Sequence[StageResult]) -> list[Stage]:
    """Return the stages to play after everything in ``played``; empty at the end.

    The result depends only on the arguments, so a resumed experiment continues the same way.
    """
    number = 1 + max((each.stage.number for each in played), default=-1)
    trained = sum(each.stage.episodes for each in played if each.stage.mode == "learn")
    for league in file.leagues:
        blocks = [
            each
            for each in played
            if isinstance(each.stage.part, Block) and each.stage.part.league == league.name
        ]
        newest = blocks[-1].stage.part if blocks and blocks[-1] is played[-1] else None
        if file.evaluations and isinstance(newest, Block) and newest.last:  # its state was saved
            return [
                Stage(number + k, part, 0, part.episodes, trained)
                for k, part in enumerate(file.evaluations)
            ]
        done = sum(each.stage.episodes for each in blocks)
        if done < league.episodes:
            return [Stage(number, *_block(file, league, blocks, done), trained)]
    for tournament in file.tournaments:
        mine = of_tournament(tournament, played)
        if not mine:
            return _round(file, tournament, trained, number, 0, _first(file, tournament))
        meetings = [meeting(each) for each in mine if len(each.stage.part.seats) == 2]
        last = max(each.round for each in meetings) if meetings else 0
        following = tournaments.next_round(tournament, players(file, tournament), meetings)
        if following:
            return _round(file, tournament, trained, number, last + 1, following)
    return []


def _block(
    file: ExperimentFile, league: League, blocks: Sequence[StageResult], done: int
) -> tuple[Block, int, int]:
    scores: dict[str, tuple[float, int]] = {}
    for each in blocks:
        name = each.stage.part.seats[1]
        before, count = scores.get(name, (0.0, 0))
        points, scored = each.points
        scores[name] = before + points, count + scored
    name = leagues.opponent(league, done, scores, file.root)
    boundary = league.snapshot_every - done % league.snapshot_every
    length = min(league.block, boundary, league.episodes - done)
    last = (done + length) % league.snapshot_every == 0 or done + length == league.episodes
    part = Block(
        name=f"{league.name}: {done} against {name}",
        league=league.name,
        last=last,
        seats=[league.learner, *[name] * (league.seats - 1)],
        episodes=length,
        rotate=league.rotate,
        check=league.check,
        **league.rules(),
    )
    return part, done, length


def players(file: ExperimentFile, tournament: Tournament) -> list[str]:
    """Return the players of a tournament; ``first@*`` stands for all snapshots of ``first``."""
    found: list[str] = []
    for name in tournament.players:
        if not name.endswith("@*"):
            found.append(name)
            continue
        for league in file.leagues:
            if league.learner == base(name):
                marks = [*range(0, league.episodes, league.snapshot_every), league.episodes]
                found += [leagues.snapshot(base(name), mark) for mark in marks]
    return list(dict.fromkeys(found))


def _first(file: ExperimentFile, tournament: Tournament) -> list[list[str]]:
    return tournaments.first_round(tournament, players(file, tournament), file.root)


def _round(
    file: ExperimentFile,
    tournament: Tournament,
    trained: int,
    number: int,
    count: int,
    who: Sequence[Sequence[str]],
) -> list[Stage]:
    pairings = [tournament.pairing(names, count, file.root) for names in who]
    return [Stage(number + k, part, 0, part.episodes, trained) for k, part in enumerate(pairings)]


def of_tournament(tournament: Tournament, played: Iterable[StageResult]) -> list[StageResult]:
    """Return the meetings of a tournament."""
    return [
        each
        for each in played
        if isinstance(part := each.stage.part, Pairing) and part.tournament == tournament.name
    ]


def meeting(played: StageResult) -> Meeting:
    """Return the result of a meeting between two players."""
    part = played.stage.part
    assert isinstance(part, Pairing)
    one, other = part.seats
    return Meeting(part.round_number, (one, other), *played.points)
