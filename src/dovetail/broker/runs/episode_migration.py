"""Moves an episode to another environment by replaying it.

The seats notice only a delay.  The results so far stand; in each turn the new environment must
ask the same seats to act.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace

from dovetail.broker.matches.match import Match, Play
from dovetail.broker.matches.matches import Matches
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.runs.events import EnvironmentFailed
from dovetail.protocol import messages as m
from dovetail.protocol.states import MATCH, Machine, MatchPhase

MOVES = 3
"""Maximum moves of an episode."""


def _plain(value: Any) -> Any:
    """Return a spec's value in a form with equality, which arrays and NaN lack."""
    if isinstance(value, Struct):
        return [type(value).__name__, *map(_plain, astuple(value))]
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):  # a list of its 16 million numbers would take seconds
        return [value.dtype.name, value.shape, value.tobytes()]
    return "nan" if value != value else value


@dataclass(eq=False, slots=True)
class Migration:
    """An episode that is moving to another environment."""

    play: Play
    asked: int
    """The ``seq`` of the pending request to that environment."""
    deadline: float
    timer: float = FOREVER
    machine: Machine[MatchPhase] = field(default_factory=partial(Machine, MATCH, "opening"))
    turn: int = -1
    """The last turn that was replayed."""


class EpisodeMigrations(BrokerPart):
    """The episodes that are moving."""

    STATE = ("all",)

    def __init__(self, broker: BrokerState, matches: Matches) -> None:
        self._broker = broker
        self._matches = matches
        self.all: dict[int, Migration] = {}
        """Migrations by the number of the match."""

    def begin(self, play: Play, peer: Peer, now: float) -> None:
        """Open the match of an episode at another peer, under the same number."""
        match = play.match
        asked = match.run.asked
        if match.moving:
            self.end(match)
        before = match.environment.outbox
        before.answered(play.asked)
        before.deliver(m.Close(match.number))
        match.asked = play.asked = 0  # numbers of frames to the other
        match.environment = peer
        match.moves += 1
        match.moving = True
        if play.episode.machine.state == "transition":
            play.episode.deadline = FOREVER
        seq = peer.outbox.ask(m.Open(match.number, asked.environment, asked.configuration))
        migration = Migration(play, seq, now + match.run.rules.patience)
        self.all[match.number] = migration
        self._broker.timers.watch(migration)

    def end(self, match: Match) -> None:
        migration = self.all.pop(match.number)
        migration.deadline = FOREVER
        match.moving = False
        match.environment.outbox.answered(migration.asked)

    def opened(self, match: Match, spec: m.Spec, now: float) -> None:
        """Handle the new environment's answer to ``open``."""
        migration = self.all[match.number]
        if not migration.machine.takes("spec"):
            self._broker.ignore(match.environment, spec)
            return
        match.environment.outbox.answered(migration.asked)
        migration.machine.on("spec")
        spec.match = match.number
        if _plain(spec) != _plain(match.spec):
            text = f"environment {match.environment.name} describes another game"
            self._failed(migration, text)
            return
        migration.machine.on("start")
        migration.asked = match.environment.outbox.ask(replace(migration.play.start))
        migration.deadline = now + match.run.rules.patience
        if migration.play.episode.turn < 0:
            self._take_over(migration, now)

    def turned(self, match: Match, turn: m.Turn, now: float) -> None:
        migration = self.all[match.number]
        episode = migration.play.episode
        if migration.machine.state != "transition" or turn.turn != migration.turn + 1:
            self._broker.ignore(match.environment, turn)
            return
        migration.turn = number = turn.turn
        outbox = match.environment.outbox
        outbox.answered(migration.asked)
        last = number == episode.turn
        before = [seat for seat, _ in episode.history[number]] if not last else episode.to_act
        if turn.to_act != before:
            text = f"environment {match.environment.name} plays turn {number} otherwise"
            self._failed(migration, f"{text}; are its episodes decided by the seed?")
            return
        migration.machine.on("turn")
        migration.deadline = now + match.run.rules.patience
        if last:
            self._take_over(migration, now)
            return
        migration.machine.on("step")
        migration.asked = outbox.ask(
            m.EnvironmentStep(episode.number, number, episode.history[number])
        )

    def _take_over(self, migration: Migration, now: float) -> None:
        """Continue the episode in its new environment."""
        play = migration.play
        match, episode = play.match, play.episode
        del self.all[match.number]
        migration.deadline = FOREVER
        match.moving = False
        match.machine = episode.machine = migration.machine
        play.asked = migration.asked
        if len(episode.history) > episode.turn >= 0:  # the seats have all acted
            migration.machine.on("step")
            step = m.EnvironmentStep(episode.number, episode.turn, episode.history[-1])
            play.asked = match.environment.outbox.ask(step)
        if migration.machine.state == "transition":
            episode.restart(now)
        self._matches.watch(match)

    def _failed(self, migration: Migration, text: str) -> None:
        self._broker.events.append(EnvironmentFailed(migration.play.match, text))

    def on_overdue(self, migration: Migration, now: float) -> None:
        name = migration.play.match.environment.name
        self._failed(migration, f"environment {name} did not answer while it caught up")

    def timed(self) -> Iterable[Migration]:
        return self.all.values()
