"""The referee: pairs the agents that are online, has units played by the broker and records
results."""

from __future__ import annotations

import logging
import random
import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dovetail.client.client import Experiment, RunHandle
from dovetail.client.replies import numbered
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seats import seated
from dovetail.protocol.seeds import derive
from dovetail_experiments.arena.description import NAME, Arena, Ladder
from dovetail_experiments.arena.entrants import BEAT
from dovetail_experiments.arena.games import ArenaGame, forfeited, game
from dovetail_experiments.arena.pairing import Candidate, choose
from dovetail_experiments.arena.store import ArenaStore, LadderPlayer, Season
from dovetail_experiments.arena.units import ArenaUnit
from dovetail_experiments.files.checking import offered_name

log = logging.getLogger("dovetail")

LOOK = 0.5
"""Seconds between checks for connected programs and the operator's changes."""
CREATING = 30.0
"""Seconds a program has to create an agent of a type that it offers."""
TRIES = 3
"""Attempts at a pairing that fails through no player's fault."""
REST = 2 * LOOK
"""Seconds that a ladder pauses after a unit that could not be played."""
AGAIN = 30.0
"""Seconds before a program that failed to create an agent is asked again."""

TRIAL, TRIAL_MOST = 60.0, 3600.0
"""Delay before a paused agent gets a trial game; doubles after each failure, up to the maximum."""

HOSTED = ":submitted"
"""Suffix of the broker's name for programs that the arena runs for an entrant."""

Where = tuple[str, str]
"""A peer and the agent type it offers."""


def entrant(peer: Mapping[str, Any]) -> str:
    """Return the entrant that owns a peer; not a valid name for the arena's environments and pages.

    The broker authenticates the peer's access token or key; the arena relies on it for identities.
    """
    return str(peer.get("entrant", "")).removesuffix(HOSTED)


def baseline(ladder: Ladder, name: str) -> str:
    """Return the name under which a baseline connects; no entrant can have it."""
    return f"baseline:{ladder.name}/{name}"


def keep(store: ArenaStore, arena: Arena, now: datetime) -> Season:
    """Start the season or the final that is due, if any; return the current season.

    Each planned season starts once; an operator may start others before or after it.
    """
    season = store.season()
    due = [each for each in arena.seasons if each.begins.astimezone() <= now]
    if not due:
        return season
    plan = due[-1]
    if plan.name != season.name:
        if plan.name in {each.name for each in store.seasons()}:
            return season
        return store.season(plan.name)
    if plan.final is None or plan.final.astimezone() > now or season.final or season.ended:
        return season
    try:
        store.final(arena.seed, arena.sizes, plan.rounds)
    except DovetailError as error:
        log.warning("season %s has no final: %s", season.name, error)
        store.end(season, str(error))
    return store.season()


@dataclass(slots=True)
class _Made:
    """An agent created by a program, or being created."""

    request: int | None
    """The request to create it, while that is pending."""
    instance: int = 0
    again: float = 0.0


@dataclass(slots=True)
class _Match:
    """A unit in play."""

    unit: ArenaUnit
    season: int
    attempt: int
    runs: list[RunHandle]
    episodes: dict[int, m.Episode] = field(default_factory=dict)
    """Finished episodes by the number of their game."""


class Referee:
    """A competition in progress."""

    def __init__(self, arena: Arena, store: ArenaStore, experiment: Experiment) -> None:
        self._arena = arena
        self._store = store
        self._experiment = experiment
        self._made: dict[tuple[str, Where], _Made] = {}
        """Created agents by ladder and offer; a baseline's parameters depend on the ladder."""
        self._seats: dict[int, int | str] = {}
        """Name or instance that a run seats each online player by."""
        self._reach: dict[int, int] = {}
        """Instance that receives messages for each online player."""
        self._told: dict[int, tuple[int, str]] = {}
        """Instance and reason in the last notice to each player that is paused or banned."""
        self._players: dict[int, LadderPlayer] = {}
        self._numbers: dict[tuple[str, str, str], int] = {}
        """Player numbers by ladder, entrant and program."""
        self._full: set[tuple[str, str]] = set()
        """Ladders and entrants whose number of connected programs exceeds the limit."""
        self._ratings: dict[int, float] = {}
        self._counts: dict[int, tuple[int, int]] = {}
        self._planned: list[ArenaUnit] = []
        self._playing: dict[int, _Match] = {}
        self._games: set[str] = set()
        self._checked: set[str] = set()
        """Ladders whose first unit was checked against the game's declaration."""
        self._turns: dict[str, int] = {}
        self._trials: dict[int, tuple[float, float]] = {}
        """Time of the next trial and the delay after it, in seconds, for each player paused for
        faults."""
        self._begun: dict[str, int] = {}
        """Start of the latest unit of each ladder, as a count of all units started."""
        self._rests: dict[str, float] = {}
        """Time until which each ladder starts no unit."""
        self._present: dict[int, str] = {}
        """Address of the machine of each online player."""
        self._beat = 0.0
        """Time at which presence was last recorded."""
        self._asked = (0, 0)
        """Count and newest number of the open games by request, from ``ArenaStore.open``."""
        self._store.absent()
        self._season = store.season()
        self._looked = -LOOK
        self._begin_season()

    def _begin_season(self) -> None:
        number = self._season.number
        self._plan()
        self._counts = self._store.counts(number)
        self._ratings = {p: mu for p, (mu, _) in self._store.ratings(number).items()}

    def _plan(self) -> None:
        planned = self._store.planned(self._season.number)
        self._planned = [each for each in planned if each.id not in self._playing]

    @property
    def playing(self) -> int:
        """Number of units in play."""
        return len(self._playing)

    def step(self, timeout: float = 0.05) -> None:
        """Do everything that is due, then wait up to ``timeout`` seconds for the broker.

        Raises:
            DovetailError: the broker is gone, or the database cannot be written.
        """
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked = now
            self._look(now)
        self._begin()
        self._experiment.wait(timeout)
        for match in list(self._playing.values()):
            self._settle(match)

    # -- presence ---------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        season = keep(self._store, self._arena, datetime.now().astimezone())
        if season != self._season:  # also true when its final begins
            self._season = season
            self._begin_season()
        if season.final and not season.ended and not self._planned and not self._playing:
            self._store.end(season)
            log.warning("the final of season %s is over", season.name)
        before, self._players = self._players, self._store.players()
        for number, each in self._players.items():
            if number in before and before[number].state == "active" != each.state:
                why = f": {each.why}" if each.why else ""
                log.warning("%s in %s is %s%s", each.name, each.ladder, each.state, why)
        catalogue = self._experiment.catalogue()
        self._games = {each["name"] for each in catalogue["environments"]}
        instances = {each["instance"] for each in catalogue["instances"]}
        numbers = {(e["peer"], e["agent"]): e["instance"] for e in catalogue["instances"]}
        peers = {each["name"]: each for each in catalogue["peers"] if each["state"] == "ready"}
        seats: dict[int, int | str] = {}
        reach: dict[int, int] = {}
        addresses: dict[int, str] = {}
        wanted = set()
        for ladder, peer, offer, found in self._entered(catalogue["agents"], peers):
            if found in seats:
                continue
            addresses[found] = str(peer.get("address", ""))
            at = (offer["peer"], offer["name"])
            where = (ladder.name, at)
            if offer.get("instance"):
                if at in numbers:  # otherwise it left between two pages of the catalogue
                    seats[found] = offer["name"]
                    reach[found] = numbers[at]
                continue
            wanted.add(where)
            made = self._instance(ladder, where, entrant(peer), found, instances, now)
            if made:
                seats[found] = reach[found] = made
        for where in set(self._made) - wanted:
            del self._made[where]
        self._seats, self._reach = seats, reach
        self._note(now, {number: addresses.get(number, "") for number in reach})
        self._tell()
        asked = self._store.open()
        if asked != self._asked:  # games were requested or withdrawn
            self._asked = asked
            self._plan()

    def _note(self, now: float, present: dict[int, str]) -> None:
        """Record presence if it has changed or the last record is too old."""
        if present != self._present or now - self._beat >= BEAT:
            self._store.present(present, self._present)
            self._present, self._beat = present, now

    def _tell(self) -> None:
        """Notify the programs of agents that were paused, banned or reinstated."""
        for number, instance in self._reach.items():
            player = self._players[number]
            out = player.state != "active"
            if self._told.get(number) == ((instance, player.why) if out else None):
                continue
            text = f"{player.name} is {player.state} in {player.ladder}"
            if out:
                self._told[number] = instance, player.why
                text += f": {player.why}" if player.why else ""
            else:
                del self._told[number]
            body = {"notice": text}
            self._experiment.forget(
                self._experiment.post(m.ExperimentMessage(0, instance, body=body, timeout=CREATING))
            )

    def _entered(
        self, offers: Iterable[Mapping[str, Any]], peers: Mapping[str, Mapping[str, Any]]
    ) -> list[tuple[Ladder, Mapping[str, Any], Mapping[str, Any], int]]:
        """Return the offers that enter ladders as (ladder, peer, offer, player), longest connected
        first.

        At most ``programs`` programs of each entrant enter a ladder.
        """
        found = []
        present: dict[tuple[str, str], set[str]] = {}
        full: set[tuple[str, str]] = set()
        known = len(self._numbers)
        for offer in offers:
            peer = peers.get(offer["peer"])
            if peer is None:
                continue
            for ladder in self._arena.ladders:
                key = self._enters(ladder, peer, offer["name"])
                if key is None:
                    continue
                _, who, program = key
                mine = present.setdefault((ladder.name, who), set())
                if who and program not in mine and len(mine) >= ladder.programs:
                    full.add((ladder.name, who))
                    continue
                mine.add(program)
                if key not in self._numbers:
                    self._numbers[key] = self._store.enter(*key)
                found.append((ladder, peer, offer, self._numbers[key]))
        if len(self._numbers) > known:
            self._players = self._store.players()
        for name, who in sorted(full - self._full):
            most = self._arena.ladder(name).programs
            self._store.note(
                who, f"{name}: more than {most} programs at once; the others do not play"
            )
        self._full = full
        return found

    def _enters(
        self, ladder: Ladder, peer: Mapping[str, Any], offered: str
    ) -> tuple[str, str, str] | None:
        """Return the ladder, entrant and program of an offer; None if it does not take part."""
        who = entrant(peer)
        offered = offered.removeprefix(f"{who}/")  # as the broker names agent programs
        program, at, only = offered.partition("@")
        own = {baseline(ladder, each.name): each for each in ladder.baselines}
        if who in own:
            if offered != (own[who].type if own[who].command else offered_name(own[who].type)):
                return None
            return ladder.name, "", own[who].name
        if not NAME.fullmatch(who) or not ladder.admits(who) or (at and only != ladder.name):
            return None
        return ladder.name, who, program

    def _instance(
        self,
        ladder: Ladder,
        where: tuple[str, Where],
        who: str,
        player: int,
        instances: set[int],
        now: float,
    ) -> int:
        """Return the agent that a program has created of a type; 0 if it does not exist yet."""
        made = self._made.get(where)
        if made is None or (made.request is None and made.instance not in instances | {0}):
            made = self._made[where] = _Made(None)
        if made.request is not None:
            answer = self._experiment.answer(made.request)
            if isinstance(answer, m.Reply):
                made.request, made.instance = None, numbered(answer.body, "instance")
            elif answer is not None:
                text = answer.message if isinstance(answer, m.Error) else type(answer).__name__
                made.request, made.again = None, now + AGAIN
                self._store.note(self._players[player].name, f"cannot be made: {text}")
        elif not made.instance and now >= made.again:
            peer, offered = where[1]
            parameters = next(
                (e.parameters for e in ladder.baselines if baseline(ladder, e.name) == who), {}
            )
            seed = derive(self._master(), ladder.name, "player", player)
            made.request = self._experiment.post(
                m.ExperimentCreate(0, offered, parameters, seed=seed, peer=peer, timeout=CREATING)
            )
        return made.instance

    def _master(self) -> int:
        return self._store.master(self._season.number, self._arena.seed)

    # -- pairing ----------------------------------------------------------------------------------

    def _there(self, ladder: str) -> list[LadderPlayer]:
        """Return the players of a ladder that are online and may play."""
        return [
            each
            for each in self._players.values()
            if each.ladder == ladder and each.state == "active" and each.id in self._seats
        ]

    def _busy(self, player: int) -> bool:
        """Return whether an agent is playing, in any ladder."""
        return any(
            self._seats[player] == self._seats.get(each)
            for match in self._playing.values()
            for each in match.unit.players
        )

    def _begin(self) -> None:
        """Start units while there is room and players are free."""

        def turn(ladder: Ladder) -> tuple[int, int]:
            playing = sum(m.unit.ladder == ladder.name for m in self._playing.values())
            return playing, self._begun.get(ladder.name, 0)

        fair = sorted(self._arena.ladders, key=turn)
        progress = True
        while progress and len(self._playing) < self._arena.games:
            progress = False
            for ladder in fair:
                if len(self._playing) >= self._arena.games:
                    return
                unit = self._next(ladder)
                if unit is not None:
                    progress = True
                    self._begun[ladder.name] = max(self._begun.values(), default=0) + 1
                    self._play(ladder, unit)

    def _next(self, ladder: Ladder) -> ArenaUnit | None:
        """Return the next unit to play, interrupted or new; None if there is none."""
        if ladder.offered not in self._games:
            return None
        if time.monotonic() < self._rests.get(ladder.name, 0.0):
            return None
        while True:
            there = {each.id: each for each in self._there(ladder.name)}
            reserved: set[int] = set()
            for unit in [each for each in self._planned if each.ladder == ladder.name]:
                out = [p for p in unit.players if self._out(p)]
                if out:
                    self._planned.remove(unit)
                    self._store.drop(unit, f"{self._players[out[0]].name} was taken out")
                elif all(each in there for each in unit.players):
                    if not any(self._busy(each) or each in reserved for each in unit.players):
                        self._planned.remove(unit)
                        return unit
                    reserved.update(unit.players)
            trial = self._trial(ladder)
            if trial is not None or self._season.final or self._season.ended:
                return trial
            chosen = self._choose(ladder, [p for n, p in there.items() if n not in reserved])
            if not chosen:
                return None
            number = self._season.number
            self._planned.append(self._store.plan(number, ladder.name, self._arena.seed, chosen))

    def _trial(self, ladder: Ladder) -> ArenaUnit | None:
        """Return unrated games of an agent paused for faults against baselines; None if none are
        due."""
        now = time.monotonic()
        free = [p.id for p in self._there(ladder.name) if not p.entrant and not self._busy(p.id)]
        for number, each in self._players.items():
            if each.state != "paused" or each.faults < self._arena.faults:
                self._trials.pop(number, None)
            elif each.ladder == ladder.name and number in self._seats:
                at, wait = self._trials.setdefault(number, (now + TRIAL, 2 * TRIAL))
                if now >= at and len(free) >= ladder.players - 1 and not self._busy(number):
                    self._trials[number] = now + wait, min(2 * wait, TRIAL_MOST)
                    seed = derive(self._master(), ladder.name, "trial", number, round(wait))
                    return ArenaUnit(
                        -number, ladder.name, seed, [number, *free[: ladder.players - 1]], 0
                    )
        return None

    def _choose(self, ladder: Ladder, there: list[LadderPlayer]) -> list[int]:
        """Return the players of the next unit; empty if none can start."""
        candidates = [
            Candidate(
                each.id,
                each.entrant,
                *self._counts.get(each.id, (0, 0)),
                self._rating(each.id),
                not self._busy(each.id),
            )
            for each in there
        ]
        turn = self._turns.get(ladder.name, 0)
        # The count of units makes the draw differ between starts of the arena.
        total = sum(count for count, _ in self._counts.values())
        rng = random.Random(derive(self._master(), ladder.name, "pairing", total, turn))
        rated = [self._rating(p.id) for p in self._players.values() if p.ladder == ladder.name]
        chosen = choose(
            candidates,
            ladder.players,
            turn,
            rng,
            width=ladder.width,
            uniform=ladder.uniform,
            spread=statistics.pstdev(rated) if rated else 0.0,
        )
        if chosen:
            self._turns[ladder.name] = turn + 1
        return chosen

    def _out(self, player: int) -> bool:
        found = self._players.get(player)
        return found is None or found.state != "active"

    def _rating(self, player: int) -> float:
        return self._ratings.get(player, 25.0)

    # -- playing ----------------------------------------------------------------------------------

    def _play(self, ladder: Ladder, unit: ArenaUnit) -> None:
        attempt = self._store.begin(unit) if unit.id > 0 else 1
        match = _Match(unit, self._season.number, attempt, [])
        alone = ladder.seats == 1
        for place, players in enumerate(
            [[each] for each in unit.players] if alone else [unit.players]
        ):
            agents = [self._seats[player] for player in players]
            part = f".{place}" if alone else ""
            try:
                run = self._experiment.run(
                    ladder.offered,
                    agents,
                    configuration=ladder.configuration,
                    episodes=1 if alone else ladder.seats,
                    seed=unit.seed,
                    mode=ladder.mode,
                    rotate=not alone,
                    answer_timeout=ladder.answer_timeout,
                    retries=0,
                    **ladder.rules(),
                    check=ladder.name not in self._checked,
                    opening_turns=ladder.openings,
                    # The last part counts attempts, so that readers of the journal skip earlier
                    # ones.
                    label=f"{ladder.name}/{unit.id}{part}/{attempt}",
                    names=[self._players[player].name for player in players],
                )
            except DovetailError as error:
                for begun in match.runs:
                    begun.cancel()
                self._failed(match, str(error))
                return
            match.runs.append(run)
        self._checked.add(ladder.name)
        self._playing[unit.id] = match

    def _settle(self, match: _Match) -> None:
        """Collect a unit's results, and record the unit once it is over."""
        for place, run in enumerate(match.runs):
            for episode in run.take():
                match.episodes[place if len(match.runs) > 1 else episode.index] = episode
        dones = [run.done for run in match.runs]
        if any(done is None for done in dones):
            return
        self._playing.pop(match.unit.id)
        played = _counted(match)
        if played is None:
            texts = [done.message for done in dones if done is not None and done.message]
            texts += [each.message or each.reason for each in match.episodes.values()]
            self._failed(match, next(iter(texts), "it was cancelled"))
            return
        unit = match.unit
        if unit.id < 0:
            wrong = [f"{each.reason} ({each.message})" for each in played if each.fault == 0]
            self._store.tried(unit.players[0], wrong[-1] if wrong else "")
            self._looked = -LOOK
            return
        found = self._store.finish(match.season, unit, played, self._arena.faults, match.attempt)
        if not found or match.season != self._season.number:
            return
        order = 1 + max((last for _, last in self._counts.values()), default=0)
        for player, (mu, _) in zip(unit.players, found, strict=True):
            self._ratings[player] = mu
            self._counts[player] = (self._counts.get(player, (0, 0))[0] + 1, order)
        if any(each.fault is not None for each in played):
            self._looked = -LOOK  # one of them may have been paused

    def _failed(self, match: _Match, why: str) -> None:
        """Retry a unit later, unless it has failed too often."""
        log.warning("unit %d of %s: %s", match.unit.id, match.unit.ladder, why)
        self._store.drop(match.unit, why, TRIES, match.attempt)
        self._plan()
        self._rests[match.unit.ladder] = time.monotonic() + REST


def _counted(match: _Match) -> list[ArenaGame] | None:
    """Return the games of a unit; None if it does not count and must be replayed."""
    size = len(match.unit.players)
    alone = len(match.runs) > 1
    found: list[ArenaGame] = []
    for number in range(size):
        seating = [number] if alone else seated(range(size), number)
        episode = match.episodes.get(number)
        counts = None if episode is None else game(episode, number, seating)
        done = match.runs[number if alone else 0].done
        if counts is None and done is not None and done.blame is not None:
            # A player that leaves or refuses the unit loses its remaining games.
            seat = seating.index(number if alone else done.blame)
            counts = forfeited(number, seating, seat, done.message)
        if counts is None:
            return None
        found.append(counts)
    return found
