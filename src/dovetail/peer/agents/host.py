"""Hosts agents: takes messages from the broker and returns the answers."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from msgspec import Raw

from dovetail.peer import coercion as given
from dovetail.peer import options
from dovetail.peer.agents import previews
from dovetail.peer.agents.agent import RESIGN, Agent, BatchAgent, Decision, End, Lookahead, Seat
from dovetail.peer.agents.groups import Group
from dovetail.peer.error_origin import FAILURES, Failure, code_of, described, failure
from dovetail.peer.host import Host
from dovetail.peer.registry import type_name
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.legal import unmask

log = logging.getLogger("dovetail.agent")


class _Later:
    """The type of ``LATER``."""


LATER = _Later()
"""Returned by a ``step`` whose action will follow through ``AgentHost.answer``."""


class _Play:
    """A seat's episode in progress."""

    __slots__ = (
        *("agent", "batch", "before", "memory", "mode", "needs", "rng", "seat", "seed", "seq"),
    )

    def __init__(self, agent: Agent, seat: Seat, start: m.AgentStart) -> None:
        self.agent = agent
        self.batch = agent if isinstance(agent, BatchAgent) else None
        """The agent, if it answers decisions together."""
        self.needs = agent.needs if agent.needs.of_decisions else None
        self.seat = seat
        self.mode = start.mode
        self.seed = start.seed
        self.rng = random.Random(start.seed)
        self.memory = agent.Memory()
        self.seq = 0
        """The ``seq`` of its latest decision."""
        self.before = 0
        """The ``seq`` of the decision before, whose answer has arrived."""


@dataclass(eq=False, slots=True)
class _Thought:
    """A decision whose agent is waiting for the answer to a ``Lookahead``."""

    play: _Play
    decision: Decision
    seq: int
    generator: Generator[Any, Any, Any]
    question: m.AgentLookahead


class AgentHost(Host):
    """The agents of a program.

    Args:
        types: the agent types on offer.
        single: the agent that the program is, instead.
        name: the public name of ``single``; by default the agent's own.
    """

    role: m.Role = "agent"
    turns = frozenset((m.AgentStart, m.AgentStep))

    def __init__(
        self, types: Sequence[type[Agent]] = (), single: Agent | None = None, name: str = ""
    ) -> None:
        super().__init__()
        self.types = {type_name(each): each for each in types}
        self.single = single
        self.single_name = name or (type_name(type(single)) if single is not None else "")
        self._instances: dict[int, Agent] = {}
        self._seats: dict[tuple[int, int], tuple[Agent, Seat]] = {}
        self._playing: dict[tuple[int, int], _Play] = {}
        self._thoughts: dict[int, _Thought] = {}
        self._open: dict[tuple[int, int], tuple[_Play, Decision, int]] = {}
        """Decisions to be answered later, by episode and seat."""
        self._asks = itertools.count(1)
        self._groups: dict[tuple[int, int], Group] = {}
        """Seats in batched matches, by match and instance."""
        self._failures: dict[int, tuple[Agent, str]] = {}
        """Errors of agents' ``end``, by the agent's ``id()``, to be reported with the next answer;
        the agent is kept alive, so that its ``id`` is not reused."""

    def offers(self) -> list[m.Offer]:
        if self.single is not None:
            return [_offer(self.single_name, type(self.single), instance=True)]
        return [_offer(name, each) for name, each in self.types.items()]

    def answer(self, decision: Decision, action: Any, refused: int = 0) -> list[m.Message]:
        """Return the answer to a decision that was put off with ``LATER``, after some illegal ones;
        none if that is over."""
        out: list[m.Message] = []
        key = (decision.episode, decision.seat.seat)
        found = self._open.get(key)
        if found is not None and found[1] is decision:
            del self._open[key]
            self._act(*found, action, out)
            if refused and isinstance(out[0], m.Action):
                out[0].refused = refused
        return out

    def unsendable(self, answer: m.Message, text: str) -> m.Message:
        if not isinstance(answer, m.AgentLookahead):
            return super().unsendable(answer, text)
        out: list[m.Message] = []
        thought = self._thoughts.pop(answer.id, None)
        if thought is None:  # its episode has ended in the same batch
            return m.Error("crashed", text)
        self._crashed(thought.play, thought.decision, thought.seq, DovetailError(text), out)
        return out[0]

    # -- decisions ---------------------------------------------------------------------------------

    def _turn(self, message: m.AgentStart | m.AgentStep, out: list[m.Message]) -> None:
        key = (message.episode, message.seat)
        seq = message.seq
        first = False
        if type(message) is m.AgentStart:
            first = True
            found = self._seats.get((message.match, message.seat))
            if found is not None:
                try:
                    self._playing[key] = _Play(*found, message)
                except FAILURES as error:
                    where = f"{type(found[0]).__name__}.Memory"
                    self._fail(seq, "crashed", self._described(error, where), out)
                    return
        play = self._playing.get(key)
        if play is None:
            text = f"no agent here holds seat {message.seat} of episode {message.episode}"
            self._fail(seq, "unknown", text, out)
            return
        play.before, play.seq = play.seq, seq
        legal = message.legal
        try:
            actions = unmask(legal) if type(legal) is bytes else legal
            observation = message.observation
            afterstates, scene = message.afterstates, message.scene
            if type(observation) is Raw:
                observation = codec.opened(observation)
            if afterstates is not None:
                afterstates = codec.opened(afterstates)
            if scene is not None:
                scene = codec.opened(scene)
        except DovetailError as error:
            self._fail(seq, "malformed", f"turn {message.turn} cannot be read: {error}", out)
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
            play.memory,
        )
        if message.think:
            turn.think = True
        agent = play.agent
        if self._failures and (failure := self._failure(agent)) is not None:
            self._fail(seq, "crashed", failure, out)
            return
        if play.needs is not None:
            missing = play.needs.missing(actions, afterstates)
            if missing:
                text = f"{agent_name(agent)} needs {missing}; {play.seat.spec.name} sent none"
                self._crashed(play, turn, seq, DovetailError(text), out)
                return
        if play.batch is not None:
            self._waiting.setdefault(play.batch, []).append((play, turn, seq))
            return
        try:
            action = agent.start(turn) if first else agent.step(turn)
        except FAILURES as error:  # an agent's error is its own crash, not the host's
            self._crashed(play, turn, seq, error, out)
            return
        self._act(play, turn, seq, action, out)

    def _act(
        self, play: _Play, turn: Decision, seq: int, action: Any, out: list[m.Message]
    ) -> None:
        resign = False
        if type(action) is not int or not -1 << 63 <= action < 1 << 64:
            resign = action is RESIGN
            if type(action) is GeneratorType:
                self._think(play, turn, seq, action, None, out)
                return
            if action is LATER:
                self._open[turn.episode, turn.seat.seat] = play, turn, seq
                return
            try:  # in process, too, the broker gets what a socket would carry
                if resign:
                    action = None
                else:
                    action = given.action(
                        action,
                        turn.seat.spec.action_space(turn.seat.seat),
                        listed=turn.legal is not None,
                    )
                    action = codec.decode(codec.encode(action))
            except (*codec.UNSENDABLE, DovetailError) as error:
                wrong = DovetailError(f"the action cannot travel: {error}")
                self._crashed(play, turn, seq, wrong, out)
                return
        answer = m.Action(turn.episode, turn.turn, turn.seat.seat, action, turn.refused)
        if resign:
            answer.resign = True
        if "_reported" in play.agent.__dict__:
            answer.measures = play.agent.reported()
        if turn.think:
            answer.thoughts = turn.thoughts
        out.append(answer)
        if self._inbox.keeping:
            self._inbox.keep(seq, answer, play.before)

    def _think(
        self,
        play: _Play,
        turn: Decision,
        seq: int,
        generator: Generator[Any, Any, Any],
        answer: list[m.Preview] | Exception | None,
        out: list[m.Message],
    ) -> None:
        """Resume an agent until its next question or its action."""
        try:
            if isinstance(answer, Exception):
                yielded = generator.throw(answer)
            else:
                yielded = generator.send(answer)
            if not isinstance(yielded, Lookahead):
                raise DovetailError(f"an agent's step may yield Lookahead only, not {yielded!r}")
            lines = [
                [list(each) if isinstance(each, tuple) else [each] for each in line]
                for line in yielded.lines
            ]
        except StopIteration as end:
            self._act(play, turn, seq, end.value, out)
            return
        except FAILURES as error:
            self._crashed(play, turn, seq, error, out)
            return
        number = next(self._asks)
        question = m.AgentLookahead(
            number, turn.episode, turn.seat.seat, turn.turn, lines, yielded.seed
        )
        self._thoughts[number] = _Thought(play, turn, seq, generator, question)
        out.append(question)

    def _finish_batch(self, out: list[m.Message]) -> None:
        waiting: dict[BatchAgent, list[tuple[_Play, Decision, int]]]
        waiting, self._waiting = self._waiting, {}
        for agent, batch in waiting.items():
            try:
                actions = agent.step_batch([turn for _, turn, _ in batch])
                if len(actions) != len(batch):
                    raise DovetailError(f"{len(actions)} answers to {len(batch)} decisions")
            except FAILURES as error:
                for play, turn, seq in batch:
                    self._crashed(play, turn, seq, error, out)
                continue
            for (play, turn, seq), action in zip(batch, actions, strict=True):
                self._act(play, turn, seq, action, out)

    def _crashed(
        self, play: _Play, turn: Decision, seq: int, error: Failure, out: list[m.Message]
    ) -> None:
        text = self._described(error, f"{type(play.agent).__name__} in turn {turn.turn}")
        self._fail(seq, failure(error), text, out)

    def _end(self, message: m.End) -> None:
        play = self._playing.pop((message.episode, message.seat), None)
        self._open.pop((message.episode, message.seat), None)
        if play is None:  # the episode ended before this seat had to decide
            found = self._seats.get((message.match, message.seat))
            if found is None:
                return
            agent, seat = found
            memory = None
        else:
            agent, seat, memory = play.agent, play.seat, play.memory
            for thought in [each for each in self._thoughts.values() if each.play is play]:
                del self._thoughts[thought.question.id]
                try:
                    thought.generator.close()
                except FAILURES as error:
                    self._failed_at_end(agent, error)
        end = End(
            seat,
            message.episode,
            message.reward,
            _final(message.observation),
            message.outcome,
            message.reason,
            message.blame,
            message.total,
            message.decisions,
            message.mode,
            message.text,
            _final(message.scene),
            memory,
        )
        try:
            if play is None:
                end.memory = agent.Memory()
            agent.end(end)
        except FAILURES as error:
            self._failed_at_end(agent, error)

    def _failed_at_end(self, agent: Agent, error: Failure) -> None:
        """Have the agent's next decision or request fail, since an ``end`` has no answer."""
        text = self._described(error, f"{type(agent).__name__} at the end of an episode")
        self._failures.setdefault(id(agent), (agent, text))

    def _failure(self, agent: Agent) -> str | None:
        """Return and clear the error of an agent's ``end``; None if there was none."""
        return self._failures.pop(id(agent), (agent, None))[1]

    # -- everything else ---------------------------------------------------------------------------

    def _other(self, message: m.Message, out: list[m.Message]) -> None:
        if self._waiting:
            self._finish_batch(out)
        match message:
            case m.End():
                self._end(message)
            case m.Init():
                self._init(message, out)
            case m.Reply() | m.Error():
                thought = self._thoughts.pop(message.id or 0, None)
                if thought is not None:
                    answer = _answered(message, thought)
                    play, turn, seq = thought.play, thought.decision, thought.seq
                    self._think(play, turn, seq, thought.generator, answer, out)
            case m.AgentSteps():
                group = self._groups.get((message.match, message.instance))
                if group is None:
                    text = f"instance {message.instance} has no seat in group {message.match}"
                    self._fail(message.seq, "unknown", text, out)
                elif (failure := self._failure(group.agent)) is not None:
                    self._fail(message.seq, "crashed", failure, out)
                else:
                    self._batch(group, message, agent_name(group.agent), out)
            case m.Ends():
                group = self._groups.get((message.match, message.instance))
                if group is not None:
                    group.ends(message)
            case m.Leave():
                for where in [where for where in self._groups if where[0] == message.match]:
                    del self._groups[where]
                for key in [key for key in self._seats if key[0] == message.match]:
                    del self._seats[key]
            case m.Create() | m.Save() | m.Load() | m.AgentMessage() | m.Cleanup():
                self._inbox.answer(message.seq, self._request(message), out)
            case _:
                super()._other(message, out)
                if isinstance(message, m.Welcome) and message.resumed:
                    out += [thought.question for thought in self._thoughts.values()]
                elif isinstance(message, m.Bye) and self.single is not None:
                    self._let_go(self.single)

    def _init(self, message: m.Init, out: list[m.Message]) -> None:
        key = (message.match, message.seat)
        self._seats.pop(key, None)
        agent = self._instances.get(message.instance, self.single)
        if agent is None:
            self._fail(message.seq, "unknown", f"there is no agent {message.instance}", out)
            return
        seat = Seat(message.match, message.seat, message.spec, message.lookahead)
        try:
            agent.needs.check(agent_name(agent), message.spec)
            agent.init(seat)
        except FAILURES as error:
            text = self._described(error, f"{type(agent).__name__} taking a seat")
            self._fail(message.seq, code_of(error), text, out)
            return
        if message.slots:
            where = message.match, message.instance
            if where not in self._groups:
                self._groups[where] = Group(
                    agent, message.slots, self._described, self._failed_at_end
                )
            self._groups[where].seats[message.seat] = seat
        else:
            self._seats[key] = (agent, seat)

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
            failure = self._failure(agent)
            if isinstance(message, m.AgentMessage):
                _notice(message.body)
            elif isinstance(message, m.Cleanup):
                self._instances.pop(message.instance, None)
                agent.cleanup()
            if failure is not None:
                return m.Error("crashed", failure, id=number)
            match message:
                case m.Save():
                    saver: Any = agent  # whatever it returns, encoding checks it
                    return m.Saved(number, saver.save())
                case m.Load():
                    agent.load(message.state)
                    for play in self._playing.values():
                        if play.agent is agent:  # its memory belongs to the state before
                            play.memory = agent.Memory()
                    for group in self._groups.values():
                        if group.agent is agent:
                            group.forget()
                case m.AgentMessage():
                    return m.Reply(number, agent.message(message.body))
            return m.Reply(number)
        except FAILURES as error:
            kind = type(message).__name__.lower()
            return m.Error(code_of(error), self._described(error, kind), id=number)

    def _create(self, message: m.Create) -> None:
        kind = self.types.get(message.agent)
        if kind is None:
            raise DovetailError(f"this program makes no agent {message.agent!r}")
        parameters = options.read(kind.Parameters, message.parameters, f"agent {message.agent}")
        agent = kind(parameters, message.seed)
        if message.state is not None:
            try:
                agent.load(message.state)
            except FAILURES:
                self._let_go(agent)  # no instance leads to it
                raise
        self._instances[message.instance] = agent

    def _let_go(self, agent: Agent) -> None:
        try:
            agent.cleanup()
        except FAILURES as error:
            self._described(error, "cleanup")

    def _described(self, error: Failure, where: str) -> str:
        return described(error, where, log)

    def _reset(self) -> None:
        """End every seat's episode and drop everything, since the session is over."""
        for (episode, number), play in list(self._playing.items()):
            self._end(
                m.End(episode, number, play.seat.match, reason="disconnected", mode=play.mode)
            )
        self._seats.clear()
        for group in self._groups.values():
            group.close()
        self._groups.clear()
        for agent in self._instances.values():
            self._let_go(agent)
        self._instances.clear()
        self._failures.clear()


def _final(payload: Any) -> Any:
    """Return a payload of an ``end``; None if it cannot be read, since every seat hears its end."""
    try:
        return codec.opened(payload)
    except DovetailError:
        return None


def _answered(message: m.Reply | m.Error, thought: _Thought) -> list[m.Preview] | Exception:
    if isinstance(message, m.Error):
        return DovetailError(message.message)
    try:
        return previews.read(message.body, len(thought.question.lines))
    except DovetailError as error:
        return error


def _notice(body: Any) -> None:
    """Log the notice in a message, which an arena sends to the person who runs this program."""
    if isinstance(body, dict) and isinstance(body.get("notice"), str):
        log.warning("notice: %s", " ".join(body["notice"].split())[:500])


def agent_name(agent: Agent) -> str:
    """Return the public name of an agent's type."""
    return type_name(type(agent))


def _offer(name: str, kind: type[Agent], *, instance: bool = False) -> m.Offer:
    wants = list(kind.wants)
    if kind.needs.afterstates:
        wants.insert(0, "afterstates")
    summary = (kind.__doc__ or "").strip().split("\n\n")[0]
    return m.Offer(
        name=name,
        description=" ".join(summary.split()),
        parameters=options.describe(kind.Parameters),
        wants=wants,
        capacity=kind.capacity,
        instance=instance,
        stacked=True,
        games=[kind.needs.game] if kind.needs.game else [],
    )
