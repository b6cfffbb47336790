"""The program around agents: messages of the broker in, messages to the broker out.

Sans I/O, like the broker's core; ``serve`` puts a socket around it and the in-process mode a
function call.  A host answers a decision that comes twice with the same action, without asking
its agent again, so that a reconnection cannot make a learner learn twice.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections import OrderedDict
from collections.abc import Generator, Sequence
from types import GeneratorType
from typing import Any

from dovetail.agent_servers.agent import Agent, BatchAgent, Decision, End, Lookahead, Seat
from dovetail.protocol import codec, options
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import unmask
from dovetail.protocol.serving import Between

log = logging.getLogger("dovetail.agent")

ANSWERS_KEPT = 64
ENDED_KEPT = 4096
"""Ended episodes that are remembered, so that what comes twice is not played twice."""


class _Play:
    """A seat's episode in progress."""

    __slots__ = ("agent", "answer", "mode", "rng", "seat", "seed", "turn")

    def __init__(self, agent: Agent, seat: Seat, start: m.AgentStart) -> None:
        self.agent = agent
        self.seat = seat
        self.mode = start.mode
        self.seed = start.seed
        self.rng = random.Random(start.seed)
        self.turn = -1
        self.answer: m.Action | m.Error | None = None


class _Thought:
    """A decision whose agent has asked the environment and waits for the answer."""

    __slots__ = ("asked", "decision", "generator", "play")

    def __init__(
        self, play: _Play, decision: Decision, generator: Generator[Any, Any, Any]
    ) -> None:
        self.play = play
        self.decision = decision
        self.generator = generator
        self.asked: m.AgentLookahead | None = None


class AgentHost:
    """Holds the agents of one program.

    Args:
        types: what it can make.
        single: the one agent that this program is, instead.
        name: what ``single`` is called by others; the agent's own name if empty.
    """

    role: m.Role = "agent"

    def __init__(
        self, types: Sequence[type[Agent]] = (), single: Agent | None = None, name: str = ""
    ) -> None:
        self.types = {type_name(each): each for each in types}
        self.single = single
        self.single_name = name or (type_name(type(single)) if single is not None else "")
        self._instances: dict[int, Agent] = {}
        self._seats: dict[tuple[int, int], tuple[Agent, Seat]] = {}
        self._playing: dict[tuple[int, int], _Play] = {}
        self._ended: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._answers: OrderedDict[int, m.Message] = OrderedDict()
        self._waiting: dict[BatchAgent, list[tuple[_Play, Decision]]] = {}
        self._thoughts: dict[int, _Thought] = {}
        self._asks = itertools.count(1)

    def offers(self) -> list[m.Offer]:
        """Return what this program can be asked for."""
        if self.single is not None:
            return [_offer(self.single_name, type(self.single), instance=True)]
        return [_offer(name, each) for name, each in self.types.items()]

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
            kind = type(message)
            if kind is m.AgentStep or kind is m.AgentStart:
                self._decision(message, out)  # type: ignore[arg-type]
            elif kind is m.End:
                self._end(message, out)  # type: ignore[arg-type]
            else:
                if self._waiting:
                    self._answer_waiting(out)
                self._other(message, out)
        if self._waiting:
            self._answer_waiting(out)
        return out

    # -- decisions ----------------------------------------------------------------------------------

    def _decision(self, message: m.AgentStart | m.AgentStep, out: list[m.Message]) -> None:
        key = (message.episode, message.seat)
        play = self._playing.get(key)
        first = type(message) is m.AgentStart
        if play is None:
            if not isinstance(message, m.AgentStart) or key in self._ended:
                return
            found = self._seats.get((message.match, message.seat))
            if found is None:
                return
            play = self._playing[key] = _Play(*found, message)
        if message.turn <= play.turn:
            if message.turn == play.turn:
                if play.answer is not None:
                    out.append(play.answer)
                out += [each.asked for each in self._thoughts_of(play) if each.asked is not None]
            return
        play.turn = message.turn
        play.answer = None
        legal = message.legal
        try:
            actions = unmask(legal) if type(legal) is bytes else legal
            observation = codec.opened(message.observation)
            afterstates = codec.opened(message.afterstates)
            scene = codec.opened(message.scene)
        except DovetailError as error:
            text = f"turn {message.turn} cannot be read: {error}"
            play.answer = m.Error("malformed", text, episode=message.episode, seat=message.seat)
            out.append(play.answer)
            return
        turn = Decision(
            play.seat,
            message.episode,
            message.turn,
            observation,
            actions,  # type: ignore[arg-type]
            message.reward,
            play.mode,
            play.rng,
            afterstates,
            message.text,
            scene,
            message.clock,
            play.seed,
        )
        agent = play.agent
        if isinstance(agent, BatchAgent):
            self._waiting.setdefault(agent, []).append((play, turn))
            return
        try:
            action = agent.start(turn) if first else agent.step(turn)
        except Exception as error:  # whatever an agent raises is its own crash and nobody else's
            self._crashed(play, turn, error, out)
            return
        self._act(play, turn, action, out)

    def _act(self, play: _Play, turn: Decision, action: Any, out: list[m.Message]) -> None:
        if type(action) is not int:
            if type(action) is GeneratorType:
                self._think(_Thought(play, turn, action), None, out)
                return
            try:  # in process as over a socket: what arrives is what can travel
                action = codec.decode(codec.encode(action))
            except (*codec.UNSENDABLE, DovetailError) as error:
                self._crashed(play, turn, DovetailError(f"the action cannot travel: {error}"), out)
                return
        play.answer = m.Action(turn.episode, turn.turn, turn.seat.seat, action)
        out.append(play.answer)

    def _think(
        self, thought: _Thought, answer: list[m.Position] | Exception | None, out: list[m.Message]
    ) -> None:
        """Let an agent go on until its next question or its action."""
        play, decision, generator = thought.play, thought.decision, thought.generator
        try:
            if isinstance(answer, Exception):
                asked = generator.throw(answer)
            else:
                asked = generator.send(answer)
            if not isinstance(asked, Lookahead):
                raise DovetailError(f"an agent's step may yield Lookahead only, not {asked!r}")
            lines = [
                [list(each) if isinstance(each, tuple) else [each] for each in line]
                for line in asked.lines
            ]
        except StopIteration as end:
            self._act(play, decision, end.value, out)
            return
        except Exception as error:
            self._crashed(play, decision, error, out)
            return
        number = next(self._asks)
        thought.asked = m.AgentLookahead(
            number, decision.episode, play.seat.seat, decision.turn, lines, asked.seed
        )
        self._thoughts[number] = thought
        out.append(thought.asked)

    def _thoughts_of(self, play: _Play) -> list[_Thought]:
        return [each for each in self._thoughts.values() if each.play is play]

    def _answer_waiting(self, out: list[m.Message]) -> None:
        waiting, self._waiting = self._waiting, {}
        for agent, pairs in waiting.items():
            decisions = [decision for _, decision in pairs]
            try:
                actions = agent.step_batch(decisions)
                if len(actions) != len(decisions):
                    raise DovetailError(f"{len(actions)} answers to {len(decisions)} decisions")
            except Exception as error:
                for play, turn in pairs:
                    self._crashed(play, turn, error, out)
                continue
            for (play, turn), action in zip(pairs, actions, strict=True):
                self._act(play, turn, action, out)

    def _crashed(self, play: _Play, turn: Decision, error: Exception, out: list[m.Message]) -> None:
        text = describe(error, f"{type(play.agent).__name__} in turn {turn.turn}")
        play.answer = m.Error("crashed", text, episode=turn.episode, seat=turn.seat.seat)
        out.append(play.answer)

    def _end(self, message: m.End, out: list[m.Message]) -> None:
        if self._waiting:
            self._answer_waiting(out)
        key = (message.episode, message.seat)
        if key in self._ended:
            return
        self._ended[key] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        play = self._playing.pop(key, None)
        if play is None:  # the episode ended before this seat had to decide
            found = self._seats.get((message.match, message.seat))
            if found is None:
                return
            agent, seat = found
        else:
            agent, seat = play.agent, play.seat
            for thought in self._thoughts_of(play):
                assert thought.asked is not None
                del self._thoughts[thought.asked.id]
                thought.generator.close()
        try:
            observation, scene = codec.opened(message.observation), codec.opened(message.scene)
        except DovetailError:
            observation = scene = None
        end = End(
            seat,
            message.episode,
            message.reward,
            observation,
            message.outcome,
            message.reason,
            message.blame,
            message.total,
            message.decisions,
            message.mode,
            message.text,
            scene,
        )
        try:
            agent.end(end)
        except Exception as error:
            text = describe(error, f"{type(agent).__name__} at the end of an episode")
            out.append(m.Error("crashed", text, episode=message.episode, seat=message.seat))

    # -- everything else -----------------------------------------------------------------------------

    def _other(self, message: m.Message, out: list[m.Message]) -> None:
        match message:
            case m.Welcome():
                if not message.resumed:
                    self._reset(out)
            case m.Bye():
                self._reset(out)
                if self.single is not None:
                    _let_go(self.single)
            case m.Init():
                self._init(message, out)
            case m.Reply() | m.Error():
                thought = self._thoughts.pop(message.id or 0, None)
                if thought is not None:
                    self._think(thought, _answered(message, thought), out)
            case m.Leave():
                for key in [key for key in self._seats if key[0] == message.match]:
                    del self._seats[key]
            case m.Create() | m.Save() | m.Load() | m.AgentMessage() | m.Cleanup():
                answer = self._answers.get(message.id)
                if answer is None:
                    answer = self._request(message)
                    self._remember(message.id, answer)
                out.append(answer)
            case _:
                pass

    def _remember(self, key: int, answer: m.Message) -> None:
        self._answers[key] = answer
        if len(self._answers) > ANSWERS_KEPT:
            self._answers.popitem(last=False)

    def _init(self, message: m.Init, out: list[m.Message]) -> None:
        agent = self._instances.get(message.instance, self.single)
        if agent is None:
            out.append(
                m.Error("unknown", f"there is no agent {message.instance}", match=message.match)
            )
            return
        seat = Seat(message.match, message.seat, message.spec, message.lookahead)
        key = (message.match, message.seat)
        known = self._seats.get(key)
        if known is not None and known[0] is agent:
            return
        self._seats[key] = (agent, seat)
        try:
            agent.init(seat)
        except Exception as error:
            out.append(
                m.Error(
                    "unavailable",
                    describe(error, f"{type(agent).__name__} taking a seat"),
                    match=message.match,
                    seat=message.seat,
                )
            )

    def _request(
        self, message: m.Create | m.Save | m.Load | m.AgentMessage | m.Cleanup
    ) -> m.Message:
        number = message.id
        try:
            if isinstance(message, m.Create):
                self._create(message)
                return m.Reply(number)
            agent = self._instances.get(message.instance, self.single)
            if agent is None:
                raise DovetailError(f"there is no agent {message.instance}")
            match message:
                case m.Save():
                    return m.Saved(number, agent.save())
                case m.Load():
                    agent.load(message.state)
                case m.AgentMessage():
                    return m.Reply(number, agent.message(message.body))
                case m.Cleanup():
                    self._instances.pop(message.instance, None)
                    agent.cleanup()
            return m.Reply(number)
        except Exception as error:
            kind = type(message).__name__.lower()
            return m.Error("crashed", describe(error, kind), id=number)

    def _create(self, message: m.Create) -> None:
        if message.instance in self._instances:
            return
        kind = self.types.get(message.agent)
        if kind is None:
            raise DovetailError(f"this program makes no agent {message.agent!r}")
        parameters = options.read(kind.Parameters, message.parameters, f"agent {message.agent}")
        agent = kind(parameters, message.seed)
        if message.state is not None:
            agent.load(message.state)
        self._instances[message.instance] = agent

    def _reset(self, out: list[m.Message]) -> None:
        """Let go of everything: the session is over, and every seat hears the end."""
        for (episode, number), play in list(self._playing.items()):
            self._end(
                m.End(episode, number, play.seat.match, reason="disconnected", mode=play.mode), out
            )
        self._seats.clear()
        self._ended.clear()
        self._answers.clear()
        for agent in self._instances.values():
            _let_go(agent)
        self._instances.clear()


def _let_go(agent: Agent) -> None:
    try:
        agent.cleanup()
    except Exception as error:
        describe(error, "cleanup")


def _answered(message: m.Reply | m.Error, thought: _Thought) -> list[m.Position] | Exception:
    if isinstance(message, m.Error):
        return DovetailError(message.message)
    try:
        positions = [_position(each) for each in message.body]
    except (TypeError, AttributeError) as error:
        return DovetailError(f"the environment's answer to a lookahead cannot be read: {error}")
    assert thought.asked is not None
    if len(positions) != len(thought.asked.lines):
        return DovetailError(f"{len(positions)} answers to {len(thought.asked.lines)} lines")
    return positions


def _position(body: Any) -> m.Position:
    if isinstance(body, m.Position):
        return body
    return m.Position(**{**body, "seats": [m.View(**view) for view in body.get("seats", ())]})


def type_name(kind: type[Agent]) -> str:
    """Return what others call an agent type."""
    return kind.name or kind.__name__.lower()


def describe(error: Exception, where: str) -> str:
    """Return one line for a person about an exception; what is a surprise is also logged whole."""
    if isinstance(error, DovetailError):
        return str(error)
    log.error("%s failed", where, exc_info=error)
    text = " ".join(str(error).split())
    return f"{where} raised {type(error).__name__}: {text}"[:300]


def _offer(name: str, kind: type[Agent], *, instance: bool = False) -> m.Offer:
    summary = (kind.__doc__ or "").strip().split("\n\n")[0]
    return m.Offer(
        name=name,
        description=" ".join(summary.split()),
        parameters=options.describe(kind.Parameters),
        wants=list(kind.wants),
        capacity=kind.capacity,
        instance=instance,
    )
