"""Requests of experiments and agents to other peers' programs, and the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.peers import holdings, limits
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.requests.catalogue import unoffered
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.runs.runs import Runs
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code, ProtocolError

Kept = m.Create | m.Save | m.Load
Passed = Kept | m.AgentMessage | m.Cleanup | m.EnvironmentMessage | m.EnvironmentLookahead
"""The messages that carry a request to the program that answers it."""
OfInstance = m.Save | m.Load | m.Cleanup
AskedFor = m.ExperimentCreate | OfInstance | m.ExperimentMessage | m.AgentLookahead
"""The messages in which a peer makes such a request."""


@dataclass(eq=False, slots=True)
class Request:
    """A request to an agent's or environment's program, on behalf of another peer."""

    peer: Peer
    """The peer that answers."""
    message: Passed
    asker: Peer
    asked: AskedFor | None = None
    """The asker's message; None if the broker itself is asking."""
    deadline: float = FOREVER
    agent: str = ""
    """The agent type of a requested state."""
    given_up: bool = False
    """True if the answer is no longer wanted."""
    size: int = 0
    """Bytes held for it; see ``holdings``."""
    timer: float = FOREVER


class Answered(NamedTuple):
    """The event of an answer to one of the broker's own requests."""

    request: Request
    state: bytes | None
    """The agent's state, if that was requested."""
    failure: str
    """The reason for a failure; empty on success."""


@dataclass(eq=False)
class Requests(BrokerPart):
    """The pending requests: to create, save, load or clean up agents, messages, lookahead."""

    STATE = ("_all",)

    _broker: BrokerState
    _instances: Instances
    _runs: Runs
    _all: dict[int, Request] = field(default_factory=dict)  # requests by the broker's ``id``

    def on_create(self, peer: Peer, create: m.ExperimentCreate, now: float) -> None:
        holdings.check_requests(self._broker, peer)
        state = create.state
        if create.state_name is not None:
            state = self._fetched(peer, create.state_name)
        maker = self.maker(create)
        if maker is None:
            text = unoffered(self._broker, "agent", create.agent, create.peer)
            raise ProtocolError("unknown", text)
        instance = Instance(self._broker.number(), maker.offers[create.agent], maker, peer)
        instance.made = create
        instance.size = holdings.weight(self._broker, peer)
        self._instances.add(instance)
        number = self._broker.number()
        made = number, instance.number, create.agent, create.parameters, create.seed, state
        self._pass(maker, m.Create(*made), peer, create, now)

    def maker(self, create: m.ExperimentCreate) -> Peer | None:
        """Return the program with the fewest agents that can create one; None if none can."""
        makers = [
            each
            for each in self._broker.sessions.values()
            if each.role == "agent"
            and create.agent in each.offers
            and not each.offers[create.agent].instance
            and (create.peer is None or create.peer == each.name)
        ]
        return min(makers, key=lambda each: len(self._instances.at(each)), default=None)

    def on_instance_request(self, peer: Peer, asked: OfInstance, now: float) -> None:
        holdings.check_requests(self._broker, peer)
        instance = self._instances.get(asked.instance)
        if instance is None:
            raise ProtocolError("unknown", f"there is no agent {asked.instance}")
        if not instance.open_to(peer, self._broker):
            raise ProtocolError("access", instance.closed)
        number = self._broker.number()
        message: Passed
        if isinstance(asked, m.Save):
            if asked.state_name is not None:
                holdings.check_new_name(self._broker, peer, asked.state_name)
            if peer.saves >= limits.SAVES:
                text = (
                    f"{limits.SAVES} saves are under way for you, and no more may be; wait for one"
                )
                raise ProtocolError("limit", text)
            message = m.Save(number, instance.number)
        elif isinstance(asked, m.Load):
            state = asked.state
            if asked.state_name is not None:
                state = self._fetched(peer, asked.state_name)
            message = m.Load(number, instance.number, state)
        else:
            if instance.runs:
                text = f"agent {instance.number} is in a run; cancel the run first"
                raise ProtocolError("wrong-state", text)
            if instance.made is None:
                text = f"agent {instance.number} is the program {instance.peer.name}; stop that"
                raise ProtocolError("wrong-state", text)
            message = m.Cleanup(number, instance.number)
            self._instances.drop(instance)
        self._pass(instance.peer, message, peer, asked, now).agent = instance.agent

    def on_message(self, peer: Peer, message: m.ExperimentMessage, now: float) -> None:
        holdings.check_requests(self._broker, peer)
        number = self._broker.number()
        if message.instance is not None:
            instance = self._instances.get(message.instance)
            if instance is not None:
                if not instance.open_to(peer, self._broker):
                    raise ProtocolError("access", instance.closed)
                passed = m.AgentMessage(number, instance.number, message.body)
                self._pass(instance.peer, passed, peer, message, now)
                return
        elif message.run is not None:
            run = self._runs.get(message.run)
            if run is not None and not self._broker.may_use(peer, run.experiment):
                raise ProtocolError("access", f"run {message.run} is another experiment's")
            if run is not None and run.matches:
                match = run.matches[min(run.matches)]
                body = m.EnvironmentMessage(number, match.number, message.body)
                self._pass(match.environment, body, peer, message, now)
                return
        raise ProtocolError("unknown", "name the `instance` or `run` that the message is for")

    def on_lookahead(self, peer: Peer, asked: m.AgentLookahead, now: float) -> None:
        play = self._runs.episodes.get(asked.episode)
        if play is not None and not play.owes(peer, asked.seat, asked.turn):
            play = None
        if play is None or not play.episode.rules.lookahead:
            self._broker.charge(peer, limits.LOOKAHEAD)  # no clock bounds how many come
        if not peer.asks(asked.id):
            return
        holdings.check_requests(self._broker, peer)
        if play is None:
            text = f"seat {asked.seat} has no decision {asked.turn} in episode {asked.episode}"
            raise ProtocolError("wrong-state", text)
        if not play.episode.rules.lookahead:
            text = "this run allows no lookahead; its field `lookahead` would"
            raise ProtocolError("lookahead", text)
        number = self._broker.number()
        wanted = asked.episode, asked.seat, asked.turn, asked.lines, asked.seed
        passed = m.EnvironmentLookahead(number, *wanted)
        self._pass(play.match.environment, passed, peer, asked, now)

    def _fetched(self, peer: Peer, name: str) -> bytes:
        """Return a stored state to send, and charge the asker for its bytes."""
        state = holdings.stored(self._broker, peer, name)
        holdings.check_room(self._broker, peer, len(state))
        self._broker.charge(peer, len(state) // limits.UNIT_BYTES)
        return state

    def _pass(
        self, peer: Peer, message: Passed, asker: Peer, asked: AskedFor, now: float
    ) -> Request:
        request = Request(peer, message, asker, asked)
        # The clock of its decision bounds how long an agent waits for a lookahead.
        if not isinstance(asked, m.AgentLookahead) and asked.timeout is not None:
            request.deadline = now + asked.timeout
        request.size = holdings.weight(self._broker, asker)
        if request.size and isinstance(message, m.Create | m.Load):
            request.size += len(message.state or b"")
        asker.unanswered += 1
        asker.saves += isinstance(message, m.Save)
        asker.held += request.size
        self._all[message.id] = request
        peer.outbox.ask(message)
        self._broker.timers.watch(request)
        return request

    def internal(self, peer: Peer, message: Kept) -> None:
        """Make a request of the broker's own; an ``Answered`` event brings the answer."""
        self._all[message.id] = Request(peer, message, peer)
        peer.outbox.ask(message)

    def on_reply(self, peer: Peer, reply: m.Reply, now: float) -> None:
        request = self._fits(peer, reply)
        if request is None:
            return
        body = reply.body
        if isinstance(request.message, m.Create):
            if (instance := self._created(request)) is not None:
                instance.ready = True
            body = {"instance": request.message.instance}
        if request.asked is None:
            self._broker.events.append(Answered(request, None, ""))
        else:
            request.asker.reply(request.asked.id, body)

    def on_saved(self, peer: Peer, saved: m.Saved, now: float) -> None:
        request = self._fits(peer, saved)
        if request is None:
            return
        asked, asker, size = request.asked, request.asker, len(saved.state)
        if asked is None:
            self._broker.events.append(Answered(request, saved.state, ""))
            return
        assert isinstance(asked, m.Save)
        name = asked.state_name
        if name is None:
            self._broker.charge(asker, size // limits.SAVED_BYTES)
        else:
            self._broker.charge(
                asker, size // limits.STORED_BYTES + len(self._broker.states) // limits.SOUGHT
            )
            try:
                holdings.check_new_name(self._broker, asker, name)  # another may have been faster
            except ProtocolError as error:
                asker.refuse(asked.id, error.code, str(error))
                return
            if text := holdings.full(self._broker, asker, name, size):
                asker.refuse(asked.id, "limit", text)
                return
            self._broker.store(asker, name, request.agent, saved.state, shared=asked.shared)
        asker.outbox.deliver(m.Saved(asked.id, saved.state))

    def failed(self, peer: Peer, number: int, code: str, text: str) -> None:
        request = self._answered(peer, number)
        if request is not None:
            self._failed(request, code, text)

    def _failed(self, request: Request, code: str, text: str) -> None:
        if request.asked is None:
            self._broker.events.append(Answered(request, None, text))
            return
        self._unmade(request)
        if not request.given_up:
            # Two codes suffice: the program cannot, or it tried and failed.
            known: Code = "crashed" if code == "crashed" else "unavailable"
            request.asker.refuse(request.asked.id, known, text)

    def _fits(self, peer: Peer, answer: m.Reply | m.Saved) -> Request | None:
        """Return the request that an answer of the right type is for, unless it was given up."""
        request = self._answered(peer, answer.id, answer)
        saves = request is not None and isinstance(request.message, m.Save)
        if request is not None and saves != isinstance(answer, m.Saved):
            asked, given = (type(e).__struct_config__.tag for e in (request.message, answer))
            self._failed(request, "crashed", f"{peer.name} answered `{asked}` with `{given}`")
            return None
        return None if request is None or request.given_up else request

    def _answered(self, peer: Peer, number: int, answer: m.Message | None = None) -> Request | None:
        request = self._all.get(number)
        if request is None or request.peer is not peer:
            self._broker.ignore(peer, answer)
            return None
        self._forget(request)
        return request

    def _forget(self, request: Request) -> None:
        del self._all[request.message.id]
        if request.asked is not None:
            request.asker.unanswered -= 1
            request.asker.saves -= isinstance(request.message, m.Save)
            request.asker.held -= request.size
        request.deadline = FOREVER
        request.peer.outbox.answered(request.message.seq)

    def cancel(self, peer: Peer, number: int) -> bool:
        """Give up a peer's pending request; return whether there was one."""
        self._broker.charge(peer, limits.PASSED * len(self._all))
        for request in self._all.values():
            asked = request.asked
            if asked is None or request.given_up:
                continue
            if request.asker is peer and asked.id == number:
                self._give_up(request)
                peer.refuse(number, "cancelled", "the request was given up")
                return True
        return False

    def on_overdue(self, request: Request, now: float) -> None:
        self._give_up(request)
        asked = request.asked
        assert asked is not None
        assert not isinstance(asked, m.AgentLookahead)  # which has no deadline
        text = f"{request.peer.name} did not answer within {asked.timeout:g} s"
        request.asker.refuse(asked.id, "timeout", text)

    def _give_up(self, request: Request) -> None:
        """Stop waiting for an answer.  The request stays in the list, since its program may be
        silent while it works on it."""
        request.given_up = True
        request.deadline = FOREVER
        if (instance := self._created(request)) is not None:  # made too late, it is cleaned up
            self.dismiss(instance)

    def _unmade(self, request: Request) -> None:
        if (instance := self._created(request)) is not None:
            self._instances.drop(instance)

    def _created(self, request: Request) -> Instance | None:
        message = request.message
        return self._instances.get(message.instance) if isinstance(message, m.Create) else None

    def dismiss(self, instance: Instance) -> None:
        """Clean up an agent without an owner."""
        self._instances.drop(instance)
        cleanup = m.Cleanup(self._broker.number(), instance.number)
        instance.peer.outbox.release(instance.peer.outbox.ask(cleanup))

    def orphaned(self, instance: Instance, now: float) -> None:
        """Clean up an agent whose last run is over, unless it has ended since."""
        if self._instances.get(instance.number) is instance:
            self.dismiss(instance)

    def timed(self) -> Iterable[Request]:
        return self._all.values()

    def abandon(self, peer: Peer, what: str) -> None:
        """Drop the requests to a peer that is gone, and give up those of its own."""
        for request in list(self._all.values()):
            if request.peer is peer:
                self._forget(request)
                if request.asked is None:
                    continue
                self._unmade(request)
                if not request.given_up:
                    number = request.asked.id
                    request.asker.refuse(number, "unavailable", f"{peer.name} {what}")
            elif request.asker is peer and not request.given_up:
                self._give_up(request)
