"""Requests of experiments and agents to other peers' programs, and the answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.peers.holdings import (
    check_new_name,
    check_requests,
    check_room,
    full,
    stored,
    weight,
)
from dovetail.broker.peers.limits import (
    LOOKAHEAD,
    PASSED,
    SAVED_BYTES,
    SAVES,
    SOUGHT,
    STORED_BYTES,
    UNIT_BYTES,
)
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.requests.catalogue import unoffered
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.runs.runs import Runs
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code, ProtocolError

Passed = (
    m.Create
    | m.Save
    | m.Load
    | m.AgentMessage
    | m.Cleanup
    | m.EnvironmentMessage
    | m.EnvironmentLookahead
)
"""The messages that carry a request to the program that answers it."""


@dataclass(eq=False, slots=True)
class Request:
    """A request to an agent's or environment's program, on behalf of another peer."""

    peer: Peer
    """The peer that answers."""
    message: Passed
    asker: Peer
    id: int
    """The asker's ``id`` of it."""
    seconds: float | None
    """The asker's timeout; None for no limit."""
    deadline: float
    state_name: str | None = None
    """The name under which a saved state is stored."""
    shared: bool = False
    """True if others may use that state."""
    agent: str = ""
    """The agent type of that state."""
    given_up: bool = False
    """True if the answer is no longer wanted."""
    size: int = 0
    """Bytes held for it; see ``holdings``."""
    timer: float = FOREVER
    internal: bool = False
    """True if the broker itself is asking."""


class Answered(NamedTuple):
    """The event of an answer to one of the broker's own requests."""

    request: Request
    state: bytes | None
    """The agent's state, if that was requested."""
    failure: str
    """The reason for a failure; empty on success."""


class Requests(BrokerPart):
    """The pending requests: to create, save, load or clean up agents, messages, lookahead."""

    STATE = ("_all",)

    def __init__(self, broker: BrokerState, instances: Instances, runs: Runs) -> None:
        self._broker = broker
        self._instances = instances
        self._runs = runs
        self._all: dict[int, Request] = {}
        """Requests by the broker's ``id``."""

    # -- requests --------------------------------------------------------------------------------

    def on_create(self, peer: Peer, create: m.ExperimentCreate, now: float) -> None:
        check_requests(self._broker, peer)
        state = create.state
        if create.state_name is not None:
            state = self._fetched(peer, create.state_name)
        maker = self.maker(create)
        if maker is None:
            text = unoffered(self._broker, "agent", create.agent, create.peer)
            raise ProtocolError("unknown", text)
        instance = Instance(self._broker.number(), maker.offers[create.agent], maker, peer)
        instance.made = create
        instance.size = weight(self._broker, peer)
        self._instances.add(instance)
        number = self._broker.number()
        message = m.Create(
            number, instance.number, create.agent, create.parameters, create.seed, state
        )
        self._pass(maker, message, peer, create.id, create.timeout, now)

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

    def on_instance_request(
        self, peer: Peer, asked: m.Save | m.Load | m.Cleanup, now: float
    ) -> None:
        check_requests(self._broker, peer)
        instance = self._instances.get(asked.instance)
        if instance is None:
            raise ProtocolError("unknown", f"there is no agent {asked.instance}")
        if not instance.open_to(peer, self._broker):
            raise ProtocolError("access", instance.closed)
        number = self._broker.number()
        message: Passed
        name = None
        shared = False
        if isinstance(asked, m.Save):
            name, shared = asked.state_name, asked.shared
            if name is not None:
                check_new_name(self._broker, peer, name)
            if peer.saves >= SAVES:
                text = f"{SAVES} saves are under way for you, and no more may be; wait for one"
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
        passed = self._pass(instance.peer, message, peer, asked.id, asked.timeout, now)
        passed.state_name, passed.shared, passed.agent = name, shared, instance.agent

    def on_message(self, peer: Peer, message: m.ExperimentMessage, now: float) -> None:
        check_requests(self._broker, peer)
        number = self._broker.number()
        if message.instance is not None:
            instance = self._instances.get(message.instance)
            if instance is not None:
                if not instance.open_to(peer, self._broker):
                    raise ProtocolError("access", instance.closed)
                passed = m.AgentMessage(number, instance.number, message.body)
                self._pass(instance.peer, passed, peer, message.id, message.timeout, now)
                return
        elif message.run is not None:
            run = self._runs.get(message.run)
            if run is not None and not self._broker.may_use(peer, run.experiment):
                raise ProtocolError("access", f"run {message.run} is another experiment's")
            if run is not None and run.matches:
                match = run.matches[min(run.matches)]
                body = m.EnvironmentMessage(number, match.number, message.body)
                self._pass(match.environment, body, peer, message.id, message.timeout, now)
                return
        raise ProtocolError("unknown", "name the `instance` or `run` that the message is for")

    def on_lookahead(self, peer: Peer, asked: m.AgentLookahead, now: float) -> None:
        play = self._runs.episodes.get(asked.episode)
        if play is not None and (
            not play.episode.owes(asked.seat, asked.turn)
            or play.match.seats[asked.seat].instance.peer is not peer
        ):
            play = None
        if play is None or not play.episode.rules.lookahead:
            self._broker.charge(peer, LOOKAHEAD)  # no clock bounds how many come
        if not peer.asks(asked.id):
            return
        check_requests(self._broker, peer)
        if play is None:
            text = f"seat {asked.seat} has no decision {asked.turn} in episode {asked.episode}"
            raise ProtocolError("wrong-state", text)
        if not play.episode.rules.lookahead:
            raise ProtocolError(
                "lookahead", "this run allows no lookahead; its field `lookahead` would"
            )
        passed = m.EnvironmentLookahead(
            self._broker.number(), asked.episode, asked.seat, asked.turn, asked.lines, asked.seed
        )
        # The clock of its decision bounds how long the agent waits.
        self._pass(play.match.environment, passed, peer, asked.id, None, now)

    def _fetched(self, peer: Peer, name: str) -> bytes:
        """Return a stored state to send, and charge the asker for its bytes."""
        state = stored(self._broker, peer, name)
        check_room(self._broker, peer, len(state))
        self._broker.charge(peer, len(state) // UNIT_BYTES)
        return state

    def _pass(
        self,
        peer: Peer,
        message: Passed,
        asker: Peer,
        number: int,
        seconds: float | None,
        now: float,
    ) -> Request:
        deadline = FOREVER if seconds is None else now + seconds
        request = Request(peer, message, asker, number, seconds, deadline)
        request.size = weight(self._broker, asker)
        if request.size and isinstance(message, m.Create | m.Load):
            request.size += len(message.state or b"")
        asker.unanswered += 1
        asker.saves += isinstance(message, m.Save)
        asker.held += request.size
        self._all[message.id] = request
        peer.outbox.ask(message)
        self._broker.timers.watch(request)
        return request

    def internal(self, peer: Peer, message: m.Create | m.Load | m.Save) -> None:
        """Make a request of the broker's own; an ``Answered`` event brings the answer."""
        request = Request(peer, message, peer, 0, None, FOREVER, internal=True)
        self._all[message.id] = request
        peer.outbox.ask(message)

    # -- answers ---------------------------------------------------------------------------------

    def on_reply(self, peer: Peer, reply: m.Reply, now: float) -> None:
        request = self._fits(peer, reply)
        if request is None:
            return
        body, message = reply.body, request.message
        if isinstance(message, m.Create):
            if (instance := self._instances.get(message.instance)) is not None:
                instance.ready = True
            body = {"instance": message.instance}
        if request.internal:
            self._broker.events.append(Answered(request, None, ""))
        else:
            request.asker.reply(request.id, body)

    def on_saved(self, peer: Peer, saved: m.Saved, now: float) -> None:
        request = self._fits(peer, saved)
        if request is None:
            return
        if request.internal:
            self._broker.events.append(Answered(request, saved.state, ""))
            return
        name, asker = request.state_name, request.asker
        size = len(saved.state)
        if name is None:
            self._broker.charge(asker, size // SAVED_BYTES)
        else:
            self._broker.charge(asker, size // STORED_BYTES + len(self._broker.states) // SOUGHT)
            try:
                check_new_name(self._broker, asker, name)  # another may have been faster
            except ProtocolError as error:
                asker.refuse(request.id, error.code, str(error))
                return
            if text := full(self._broker, asker, name, size):
                asker.refuse(request.id, "limit", text)
                return
            self._broker.store(asker, name, request.agent, saved.state, shared=request.shared)
        asker.outbox.deliver(m.Saved(request.id, saved.state))

    def failed(self, peer: Peer, number: int, code: str, text: str) -> None:
        request = self._answered(peer, number)
        if request is not None:
            self._failed(request, code, text)

    def _failed(self, request: Request, code: str, text: str) -> None:
        if request.internal:
            self._broker.events.append(Answered(request, None, text))
            return
        self._unmade(request)
        if not request.given_up:
            # Two codes suffice: the program cannot, or it tried and failed.
            known: Code = "crashed" if code == "crashed" else "unavailable"
            request.asker.refuse(request.id, known, text)

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
        if not request.internal:
            request.asker.unanswered -= 1
            request.asker.saves -= isinstance(request.message, m.Save)
            request.asker.held -= request.size
        request.deadline = FOREVER
        request.peer.outbox.answered(request.message.seq)

    # -- giving up -------------------------------------------------------------------------------

    def cancel(self, peer: Peer, number: int) -> bool:
        """Give up a peer's pending request; return whether there was one."""
        self._broker.charge(peer, PASSED * len(self._all))
        for request in self._all.values():
            if request.asker is peer and request.id == number and not request.given_up:
                self._give_up(request)
                peer.refuse(number, "cancelled", "the request was given up")
                return True
        return False

    def on_overdue(self, request: Request, now: float) -> None:
        self._give_up(request)
        text = f"{request.peer.name} did not answer within {request.seconds:g} s"
        request.asker.refuse(request.id, "timeout", text)

    def _give_up(self, request: Request) -> None:
        """Stop waiting for an answer.

        The request stays in the list, since its program may be silent while it works on it.
        """
        request.given_up = True
        request.deadline = FOREVER
        message = request.message
        if isinstance(message, m.Create):
            instance = self._instances.get(message.instance)
            if instance is not None:  # made too late, it is cleaned up again
                self.dismiss(instance)

    def _unmade(self, request: Request) -> None:
        if isinstance(request.message, m.Create):
            instance = self._instances.get(request.message.instance)
            if instance is not None:
                self._instances.drop(instance)

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
                if request.internal:
                    continue
                self._unmade(request)
                if not request.given_up:
                    request.asker.refuse(request.id, "unavailable", f"{peer.name} {what}")
            elif request.asker is peer and not request.given_up:
                self._give_up(request)
