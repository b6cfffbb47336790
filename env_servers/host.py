"""The program around environments: messages of the broker in, messages to the broker out.

Sans I/O; ``serve`` puts a socket around it and the in-process mode a function call.  A step that
comes twice is answered with the same turn, without stepping again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from msgspec import Raw

from dovetail.env_servers.environment import Environment
from dovetail.env_servers.lookahead import positions
from dovetail.peer import options
from dovetail.peer.serving import Between
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError, IllegalAction

log = logging.getLogger("dovetail.environment")

ANSWERS_KEPT = 64
LEGAL = {type(None), list, tuple, bytes}
PLAIN = {np.ndarray, int, float, str, bytes, bool, list, dict, type(None), Raw}


class _Open:
    """An environment made for a match, and its episode in progress."""

    __slots__ = ("answer", "environment", "episode", "match", "spec", "wants", "watched")

    def __init__(self, match: int, environment: Environment, spec: m.Spec) -> None:
        self.match = match
        self.environment = environment
        self.spec = spec
        self.episode = 0
        self.wants: list[list[m.Want]] = []
        self.watched = False
        self.answer: m.Turn | m.Error | None = None


class EnvironmentHost:
    """Holds the environments of one program."""

    role: m.Role = "environment"

    def __init__(self, types: Sequence[type[Environment]]) -> None:
        self.types = {type_name(each): each for each in types}
        self._open: dict[int, _Open] = {}
        self._episodes: dict[int, _Open] = {}
        self._specs: dict[int, m.Message] = {}
        self._answers: OrderedDict[int, m.Message] = OrderedDict()

    def offers(self) -> list[m.Offer]:
        """Return what this program can be asked for."""
        return [
            m.Offer(
                name=name,
                description=" ".join((kind.__doc__ or "").strip().split("\n\n")[0].split()),
                parameters=options.describe(kind.Configuration),
            )
            for name, kind in self.types.items()
        ]

    def handle(
        self, incoming: Sequence[m.Message], between: Between | None = None
    ) -> list[m.Message]:
        """Take the messages that are waiting, in order; return the answers.

        ``between`` is called with the answers so far, from which it may take, after each message.
        """
        out: list[m.Message] = []
        for message in incoming:
            if between is not None and out:
                between(out)
            if type(message) is m.EnvironmentStep:
                self._step(message, out)
            elif type(message) is m.EnvironmentStart:
                self._start(message, out)
            else:
                self._other(message, out)
        return out

    def _step(self, message: m.EnvironmentStep, out: list[m.Message]) -> None:
        place = self._episodes.get(message.episode)
        if place is None or place.answer is None:
            return
        last = place.answer
        if isinstance(last, m.Error):
            out.append(last)
            return
        if last.turn != message.turn:
            if last.turn == message.turn + 1:
                out.append(last)
            return
        try:
            turn = place.environment.step(dict(message.actions))
        except IllegalAction as error:
            place.answer = m.Error("illegal", str(error), episode=message.episode, seat=error.seat)
            out.append(place.answer)
            return
        except Exception as error:  # a bug in the rules ends the episode, not the program
            place.answer = m.Error("crashed", _describe(error, "step"), episode=message.episode)
            out.append(place.answer)
            return
        self._finish(place, turn, message.turn + 1, out)

    def _start(self, message: m.EnvironmentStart, out: list[m.Message]) -> None:
        place = self._open.get(message.match)
        if place is None:
            out.append(
                m.Error("unknown", f"match {message.match} is not open", episode=message.episode)
            )
            return
        if place.episode == message.episode:
            if type(place.answer) is m.Error or (
                type(place.answer) is m.Turn and place.answer.turn == 0
            ):
                out.append(place.answer)
            return
        self._episodes.pop(place.episode, None)
        self._episodes[message.episode] = place
        place.episode = message.episode
        place.wants = message.wants
        place.watched = message.watched
        try:
            turn = place.environment.start(message.seed)
        except Exception as error:
            place.answer = m.Error("crashed", _describe(error, "start"), episode=message.episode)
            out.append(place.answer)
            return
        self._finish(place, turn, 0, out)

    def _finish(self, place: _Open, turn: m.Turn, number: int, out: list[m.Message]) -> None:
        try:
            if not isinstance(turn, m.Turn):
                asked = "step" if number else "start"
                raise DovetailError(f"{asked} returned {type(turn).__name__}, not a Turn")
            turn.episode = place.episode
            turn.turn = number
            for view in turn.seats:
                if type(view.reward) is not float:
                    view.reward = float(view.reward)
                if type(view.legal) not in LEGAL:
                    kind = type(view.legal).__name__
                    raise DovetailError(
                        f"legal is a {kind}; give a list of actions, or a mask as bytes"
                    )
                if type(view.observation) not in PLAIN:
                    # In process as over a socket: a seat sees what can travel.
                    view.observation = codec.decode(codec.encode(view.observation))
            if place.watched:
                turn.text = place.environment.text()
            if place.wants:
                for view in turn.seats:
                    wants = place.wants[view.seat]
                    if "text" in wants:
                        view.text = place.environment.text(view.seat)
                    if "scene" in wants:
                        view.scene = place.environment.scene(view.seat)
                    if "afterstates" in wants and view.seat in turn.to_act:
                        view.afterstates = place.environment.afterstates(view.seat)
        except Exception as error:
            place.answer = m.Error("crashed", _describe(error, "view"), episode=place.episode)
            out.append(place.answer)
            return
        place.answer = turn
        out.append(turn)

    def _other(self, message: m.Message, out: list[m.Message]) -> None:
        match message:
            case m.Bye():
                self._reset()
            case m.Welcome():
                if not message.resumed:
                    self._reset()
            case m.Open():
                out.append(self._make(message))
            case m.Close():
                self._close(message.match)
            case m.EnvironmentMessage() | m.EnvironmentLookahead():
                answer = self._answers.get(message.id)
                if answer is None:
                    answer = (
                        self._message(message)
                        if isinstance(message, m.EnvironmentMessage)
                        else self._lookahead(message)
                    )
                    self._answers[message.id] = answer
                    if len(self._answers) > ANSWERS_KEPT:
                        self._answers.popitem(last=False)
                out.append(answer)
            case _:
                pass

    def _make(self, message: m.Open) -> m.Message:
        if message.match in self._specs:
            return self._specs[message.match]
        name = message.environment
        kind = self.types.get(name)
        try:
            if kind is None:
                raise DovetailError(f"this program makes no environment {name!r}")
            configuration = options.read(
                kind.Configuration, message.configuration, f"environment {name}"
            )
            environment = kind(configuration)
            spec = environment.init()
            if not isinstance(spec, m.Spec):
                raise DovetailError(f"init returned {type(spec).__name__}, not a Spec")
            spec.match = message.match
            spec.name = spec.name or name
        except Exception as error:
            return m.Error("unavailable", _describe(error, "init"), match=message.match)
        self._open[message.match] = _Open(message.match, environment, spec)
        self._specs[message.match] = spec
        return spec

    def _reset(self) -> None:
        """Let go of everything: the session is over."""
        for number in list(self._open):
            self._close(number)
        self._answers.clear()

    def _close(self, match: int) -> None:
        place = self._open.pop(match, None)
        self._specs.pop(match, None)
        if place is not None:
            self._episodes.pop(place.episode, None)
            try:
                place.environment.cleanup()
            except Exception as error:
                _describe(error, "cleanup")

    def _message(self, message: m.EnvironmentMessage) -> m.Message:
        place = self._open.get(message.match)
        try:
            if place is None:
                raise DovetailError(f"match {message.match} is not open")
            return m.Reply(message.id, place.environment.message(message.body))
        except Exception as error:
            return m.Error("crashed", _describe(error, "message"), id=message.id)

    def _lookahead(self, message: m.EnvironmentLookahead) -> m.Message:
        place = self._episodes.get(message.episode)
        try:
            if place is None or type(place.answer) is not m.Turn:
                raise DovetailError(f"episode {message.episode} is not in progress")
            if place.answer.turn != message.turn:
                raise DovetailError(f"the episode is at turn {place.answer.turn}")
            root = place.environment.fork(message.seat, message.seed)
            seats = place.spec.seats
            return m.Reply(message.id, positions(root, place.answer.to_act, seats, message.lines))
        except Exception as error:
            return m.Error("crashed", _describe(error, "lookahead"), id=message.id)


def type_name(kind: type[Environment]) -> str:
    """Return what others call an environment."""
    return kind.name or kind.__name__.lower()


def _describe(error: Exception, where: str) -> str:
    if isinstance(error, DovetailError):
        return str(error)
    log.error("%s failed", where, exc_info=error)
    text = " ".join(str(error).split())
    return f"the environment raised {type(error).__name__} in {where}: {text}"[:300]
