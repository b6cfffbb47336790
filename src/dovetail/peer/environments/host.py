"""Hosts environments: takes messages from the broker and returns the answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.msgpack import Decoder

from dovetail.peer import coercion as given
from dovetail.peer import options
from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.groups import Group
from dovetail.peer.environments.lookahead import Walk
from dovetail.peer.error_origin import FAILURES, Failure, code_of, described
from dovetail.peer.host import Host
from dovetail.peer.registry import type_name
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, IllegalAction

log = logging.getLogger("dovetail.environment")

LEGAL = {type(None), list, bytes}
COMPILED = not __file__.endswith(".py")
"""True if the types of values from user code are checked (docs/decisions/0033)."""
NOTHING = (False, False)
_turn = Decoder(m.Turn, ext_hook=codec.extension)
_spec = Decoder(m.Spec, ext_hook=codec.extension)


@dataclass(eq=False, slots=True)
class _Open:
    """An environment opened for a match, and its episode in progress."""

    environment: Environment
    seats: int
    afterstates: bool
    open: bool
    """True if watchers may see the observation of the seat to act."""
    episode: int = 0
    turn: int = -1
    """The number of the episode's latest turn; -1 before the first."""
    to_act: list[int] = field(default_factory=list)
    seq: int = 0
    """The ``seq`` of the frame that the latest turn answers."""
    before: int = 0
    """The ``seq`` of the previous frame, whose answer has arrived."""
    wants: list[list[m.Want]] = field(default_factory=list)
    watched: bool = False
    scenes: bool = False
    once: tuple[bool, bool] = NOTHING
    """True for the public text and the public scene to be added to the next turn only."""
    walk: Walk | None = None
    """The game for further lookahead, identified by ``walked``."""
    walked: tuple[int, int, int, int] | None = None
    """The episode, turn, seat and seed of the latest lookahead."""


class EnvironmentHost(Host):
    """The environments of a program."""

    role: m.Role = "environment"
    turns = frozenset((m.EnvironmentStep,))

    def __init__(self, types: Sequence[type[Environment]]) -> None:
        super().__init__()
        self.types = {type_name(each): each for each in types}
        self._open: dict[int, _Open] = {}
        self._episodes: dict[int, _Open] = {}
        self._groups: dict[int, Group] = {}

    def offers(self) -> list[m.Offer]:
        return [
            m.Offer(
                name=name,
                description=" ".join((kind.__doc__ or "").strip().split("\n\n")[0].split()),
                parameters=options.describe(kind.Configuration),
                seats=list(kind.seat_counts) or None,
                stacked=True,
                matches=kind.matches,
            )
            for name, kind in self.types.items()
        ]

    def _turn(self, message: m.EnvironmentStep, out: list[m.Message]) -> None:
        place = self._episodes.get(message.episode)
        if place is None or place.turn != message.turn:
            text = f"episode {message.episode} is not at turn {message.turn}"
            self._fail(message.seq, "unknown", text, out)
            return
        place.before, place.seq = place.seq, message.seq
        place.once = NOTHING
        if message.watched or message.scenes:
            if message.once:
                place.once = message.watched, message.scenes
            else:
                place.watched = place.watched or message.watched
                place.scenes = place.scenes or message.scenes
        try:
            turn = place.environment.step(dict(message.actions))
        except IllegalAction as error:
            refused = m.Error("illegal", str(error), answers=message.seq, seat=error.seat)
            self._inbox.answer(message.seq, refused, out)
            return
        except FAILURES as error:  # a bug in the rules ends the episode, not the program
            self._fail(message.seq, "crashed", self._described(error, "step"), out)
            return
        self._finish(place, turn, message.turn + 1, out)

    def _start(self, message: m.EnvironmentStart, out: list[m.Message]) -> None:
        place = self._open.get(message.match)
        if place is None:
            self._fail(message.seq, "unknown", f"match {message.match} is not open", out)
            return
        self._episodes.pop(place.episode, None)
        self._episodes[message.episode] = place
        place.episode = message.episode
        place.turn = -1
        place.before, place.seq = place.seq, message.seq
        place.wants = message.wants
        asked = message.watched, message.scenes
        place.once = asked if message.once else NOTHING
        place.watched, place.scenes = NOTHING if message.once else asked
        try:
            turn = place.environment.start(message.seed)
        except FAILURES as error:
            self._fail(message.seq, "crashed", self._described(error, "start"), out)
            return
        self._finish(place, turn, 0, out)

    def _finish(self, place: _Open, turn: m.Turn, number: int, out: list[m.Message]) -> None:
        try:
            if not isinstance(turn, m.Turn):
                asked = "step" if number else "start"
                raise DovetailError(f"{asked} returned {type(turn).__name__}, not a Turn")
            turn.episode = place.episode
            turn.turn = number
            loose: Any = turn  # user code does not always return what the types say
            if loose.outcome is not None and type(loose.outcome) is not list:
                loose.outcome = given.plain(loose.outcome)
            if type(loose.to_act) is not list:
                loose.to_act = given.plain(loose.to_act)
            for view in loose.seats:
                if type(view.reward) is not float:
                    view.reward = float(view.reward)
                if type(view.legal) not in LEGAL:
                    view.legal = given.legal(view.legal)
            if COMPILED and not _exact(turn):
                turn = _turn.decode(codec.encode(turn))
            text, scene = place.once
            if text or place.watched:
                turn.text = place.environment.text()
            if scene or place.scenes:
                # The seat's own scene has its choices, at which watchers are shown its thoughts.
                seat = turn.to_act[0] if place.open and len(turn.to_act) == 1 else None
                shown = place.environment.scene(seat)
                turn.scene = m.NIL if shown is None else shown
            if place.wants:
                for view in turn.seats:
                    wants = place.wants[view.seat]
                    if "text" in wants:
                        view.text = place.environment.text(view.seat)
                    if "scene" in wants:
                        view.scene = place.environment.scene(view.seat)
                    if "afterstates" in wants and place.afterstates and view.seat in turn.to_act:
                        view.afterstates = place.environment.afterstates(view.seat)
        except FAILURES as error:
            self._fail(place.seq, "crashed", self._described(error, "view"), out)
            return
        place.turn = number
        place.to_act = turn.to_act
        place.walk = None
        out.append(turn)
        if self._inbox.keeping:
            self._inbox.keep(place.seq, turn, place.before)

    def _other(self, message: m.Message, out: list[m.Message]) -> None:
        match message:
            case m.EnvironmentStart():
                self._start(message, out)
            case m.EnvironmentSteps():
                group = self._groups.get(message.match)
                if group is None:
                    text = f"group {message.match} is not open"
                    self._fail(message.seq, "unknown", text, out)
                else:
                    self._batch(group, message, "a batch", out)
            case m.Open():
                self._inbox.answer(message.seq, self._make(message), out)
            case m.Close():
                self._close(message.match)
            case m.EnvironmentMessage() | m.EnvironmentLookahead():
                self._inbox.answer(message.seq, self._request(message), out)
            case _:
                super()._other(message, out)

    def _make(self, message: m.Open) -> m.Message:
        name = message.environment
        kind = self.types.get(name)
        environment: Environment | None = None
        try:
            if kind is None:
                raise DovetailError(f"this program makes no environment {name!r}")
            configuration = options.read(
                kind.Configuration, message.configuration, f"environment {name}"
            )
            if message.slots:
                group = self._groups[message.match] = Group(kind, configuration, message)
                spec = group.open()
            else:
                environment = kind(configuration)
                spec = environment.init()
            if not isinstance(spec, m.Spec):
                raise DovetailError(f"init returned {type(spec).__name__}, not a Spec")
            spec.match = message.match
            spec.name = spec.name or name
            if COMPILED:
                spec = _spec.decode(codec.encode(spec))
        except FAILURES as error:
            answer = m.Error(code_of(error), self._described(error, "init"), answers=message.seq)
            self._release(message.match, environment)
            return answer
        if environment is not None:
            self._open[message.match] = _Open(
                environment, spec.seats, spec.afterstates, spec.perfect_information
            )
        return spec

    def _reset(self) -> None:
        """Close everything, since the session is over."""
        for number in [*self._open, *self._groups]:
            self._close(number)

    def _close(self, match: int) -> None:
        place = self._open.pop(match, None)
        if place is not None:
            self._episodes.pop(place.episode, None)
        self._release(match, None if place is None else place.environment)

    def _release(self, match: int, environment: Environment | None) -> None:
        try:
            if environment is not None:
                environment.cleanup()
            elif group := self._groups.pop(match, None):
                group.game.cleanup()
        except FAILURES as error:
            self._described(error, "cleanup")

    def _request(self, message: m.EnvironmentMessage | m.EnvironmentLookahead) -> m.Message:
        where = "lookahead" if isinstance(message, m.EnvironmentLookahead) else "message"
        try:
            if isinstance(message, m.EnvironmentLookahead):
                return m.Reply(message.id, self._lookahead(message))
            place = self._open.get(message.match)
            if place is None:
                raise DovetailError(f"match {message.match} is not open")
            place.walk = None  # the message may change the position
            return m.Reply(message.id, place.environment.message(message.body))
        except FAILURES as error:
            return m.Error(code_of(error), self._described(error, where), id=message.id)

    def _lookahead(self, message: m.EnvironmentLookahead) -> list[m.Preview]:
        place = self._episodes.get(message.episode)
        if place is None:
            raise DovetailError(f"episode {message.episode} is not in progress")
        if place.turn != message.turn:
            raise DovetailError(f"the episode is at turn {place.turn}")
        asked = message.episode, message.turn, message.seat, message.seed
        walk, place.walk = place.walk, None  # one that fails is not used again
        if walk is None or place.walked != asked:
            root = place.environment.fork(message.seat, message.seed)
            walk = Walk(root, place.to_act, place.seats)
        found = walk.previews(message.lines)
        place.walk, place.walked = walk, asked
        return found

    def _described(self, error: Failure, where: str) -> str:
        return described(error, "the environment", log, where)


def _exact(turn: Any) -> bool:
    """Return whether the fields that the core reads have the exact types that decoding gives."""
    return (
        type(turn.to_act) is list
        and type(turn.seats) is list
        and type(turn.terminated) is bool
        and type(turn.truncated) is bool
        and (turn.outcome is None or type(turn.outcome) is list)
        and all(type(seat) is int for seat in turn.to_act)
        and all(type(view.seat) is int for view in turn.seats)
    )
