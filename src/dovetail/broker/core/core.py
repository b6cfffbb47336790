"""The broker without sockets: messages and the time go in, messages come out.

``receive``, ``refuse``, ``lost`` and ``tick`` say what happened; ``take`` then hands over what to
write down and what to send, in order.  The driver of the core writes before it sends, so that
no peer hears a result that is not on disk.  No method raises for anything that a peer can do,
and none reads a clock, draws a random number or blocks.

Two tables say what follows from what.  ``_handlers`` has the part of the broker that each message
is for.  That part may raise events (``runs.events``); ``_follows`` has the parts that act upon each
of them, and upon each thing that is overdue.  docs/architecture.md follows an action through both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.broker.matches.instances import Instances
from dovetail.broker.matches.match import Match
from dovetail.broker.matches.stack import Stack
from dovetail.broker.peers import limits
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.handshake import UNGREETED, unread
from dovetail.broker.peers.outbox import Address, Said, spread
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerPart, BrokerState
from dovetail.broker.peers.state import Settings as Settings
from dovetail.broker.requests.agent_recovery import AgentRecovery
from dovetail.broker.requests.commands import Commands
from dovetail.broker.requests.requests import Answered, Request, Requests
from dovetail.broker.requests.sessions import Sessions
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.runs.episode_migration import Migration
from dovetail.broker.runs.events import Ended, EnvironmentFailed, Heard, Orphaned
from dovetail.broker.runs.runs import SHUTDOWN, Runs, awaited
from dovetail.broker.watch.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.journal import AnyRecord

Handler = Callable[[Peer, Any, float], None]
Follower = Callable[..., None]

ANSWERS = {
    "environment": ("spec", "turn", "turns", "reply", "error"),
    "agent": ("action", "actions", "reply", "saved", "error"),
}
"""Types of message by which peers of a role answer the broker."""
FAILED = "the broker failed at a message; its log says why"


def _request(handler: Handler, *, new: bool = True) -> Handler:
    """Wrap a request handler: a ``ProtocolError`` that it raises becomes the answer.  Unless
    ``new`` is False, a repeated request gets its earlier answer and skips ``handler``."""

    def handle(peer: Peer, message: Any, now: float) -> None:
        if new and not peer.asks(message.id):
            return
        try:
            handler(peer, message, now)
        except ProtocolError as error:
            peer.refuse(message.id, error.code, str(error))

    return handle


class Core(BrokerPart):
    """The broker's state machine."""

    STATE = ("_heartbeat",)

    def __init__(self, settings: Settings, secret: bytes) -> None:
        self.broker = broker = BrokerState(settings)
        self._connections = broker.connections
        self._timers = broker.timers
        self.instances = instances = Instances()
        self._watching = Watching(broker.out)
        self.runs = runs = Runs(broker, instances, self._watching)
        self._episodes = episodes = runs.episodes
        self._requests = requests = Requests(broker, instances, runs)
        self._commands = commands = Commands(broker, instances, runs, requests, self._watching)
        self._recovery = recovery = AgentRecovery(broker, instances, runs, requests)
        self._sessions = sessions = Sessions(
            broker, instances, requests, runs, self._watching, recovery, secret
        )
        self._heartbeat = -FOREVER
        migrations, stacked = episodes.migrations, runs.stacked
        self._parts: tuple[BrokerPart, ...] = (
            *(broker, instances, self._watching, runs, runs.matches, episodes, stacked),
            *(migrations, requests, recovery, self),
        )
        """The parts with state, in the order of a snapshot."""
        everybody: dict[type, Handler] = {
            m.Ping: sessions.on_ping,
            m.Pong: sessions.on_pong,
            m.Bye: sessions.on_bye,
            m.Error: self._on_error,
        }
        observer: dict[type, Handler] = {
            **everybody,
            m.Catalogue: _request(commands.on_catalogue),
            m.Watch: _request(commands.on_watch),
        }
        self._handlers: dict[str, dict[type, Handler]] = {
            "environment": {
                **everybody,
                m.Turn: episodes.on_turn,
                m.Spec: runs.on_spec,
                m.Reply: requests.on_reply,
                m.Turns: stacked.on_turns,
            },
            "agent": {
                **everybody,
                m.Action: episodes.on_action,
                m.AgentLookahead: _request(requests.on_lookahead, new=False),
                m.Saved: requests.on_saved,
                m.Reply: requests.on_reply,
                m.Actions: stacked.on_actions,
            },
            "observer": observer,
            "experiment": {
                **observer,
                m.Run: _request(commands.on_run),
                m.Pause: _request(commands.on_command),
                m.Drain: _request(commands.on_command),
                m.Cancel: _request(commands.on_cancel),
                m.ExperimentStart: _request(commands.on_start),
                m.ExperimentStep: _request(commands.on_step),
                m.ExperimentCreate: _request(requests.on_create),
                m.Save: _request(requests.on_instance_request),
                m.Load: _request(requests.on_instance_request),
                m.Cleanup: _request(requests.on_instance_request),
                m.ExperimentMessage: _request(requests.on_message),
            },
        }
        """Handlers by role and message type."""
        self._free = {
            role: {kind: take for kind, take in of.items() if kind not in limits.COSTS}
            for role, of in self._handlers.items()
        }
        """The handlers of messages that are free of charge, such as every turn's."""
        self._events = broker.events
        self._follows: dict[type, tuple[Follower, ...]] = {
            Ended: (recovery.ended, runs.go_on),
            EnvironmentFailed: (runs.replace_environment,),
            Heard: (runs.revive,),
            Orphaned: (requests.orphaned,),
            Answered: (recovery.answered,),
            Match: (runs.on_overdue,),
            Stack: (stacked.on_overdue,),
            Migration: (migrations.on_overdue,),
            Request: (requests.on_overdue,),
        }
        """The parts that act on an event, given its fields, or on something overdue, by type."""

    def receive(self, address: Address, message: m.Message, now: float, size: int = 0) -> None:
        """Handle a message from a connection; ``size`` is its length in bytes, if that is known."""
        peer = self._connections.get(address)
        handler = None if peer is None else self._free[peer.role].get(type(message))
        if peer is None or handler is None:
            self._unusual(address, message, now, size)
            return
        peer.heard = now
        peer.size = size
        handler(peer, message, now)
        if self._events:
            self._dispatch(now)

    def _dispatch(self, now: float) -> None:
        """Act on the pending events, and on those that they cause."""
        while self._events:
            event = self._events.popleft()
            for follower in self._follows[type(event)]:
                follower(*event, now)

    def _unusual(self, address: Address, message: m.Message, now: float, size: int) -> None:
        """Handle a `hello`, a message that costs something, or one that the role must not send."""
        peer, kind = self._connections.get(address), type(message)
        if isinstance(message, m.Hello):
            if peer is None:
                self.broker.count_unauthenticated(address)
            elif not self._sessions.affords(peer, message, 2.0, now):
                return
            self._sessions.greet(address, message, now, size)
        elif peer is None:
            self.broker.count_unauthenticated(address)
            self.broker.out.messages.append((address, m.Error("hello-first", UNGREETED)))
        else:
            peer.heard = now
            peer.greeting, peer.size = None, size
            handler = self._handlers[peer.role].get(kind)
            units = limits.asked(message, size, self.broker.settings.limits.elements)
            if handler is None:
                self.broker.charge(peer, limits.UNREADABLE + units)
                name = kind.__struct_config__.tag
                peer.complain("wrong-state", f"{name!r} is not a message of an {peer.role}")
            elif self._sessions.affords(peer, message, units, now):
                handler(peer, message, now)
        self._dispatch(now)

    def refuse(self, address: Address, error: ProtocolError, now: float, size: int = 0) -> None:
        """Handle a frame that could not be decoded."""
        self.broker.counters["refused"] += 1
        peer = self.broker.connections.get(address)
        if peer is not None:
            peer.heard = now
            self.broker.charge(peer, limits.unread(size, self.broker.settings.limits.elements))
            self._refuse(peer, error, now)
            self._dispatch(now)
            return
        self.broker.count_unauthenticated(address)
        self.broker.out.messages.append((address, unread(error)))

    def failed(self, address: Address, now: float) -> str:
        """Disconnect the peer whose frame crashed the broker, as a last resort; return its name."""
        error, peer = m.Error("crashed", FAILED), self._connections.get(address)
        if peer is not None:
            peer.outbox.tell(error)
            self._sessions.drop(peer, FAILED, now)
            self._dispatch(now)
            return peer.name
        self.broker.out.messages.append((address, error))
        if not getattr(address, "reliable", False):
            self.broker.dropped[address] = FAILED
        return "an unauthenticated connection"

    def lost(self, address: Address, now: float) -> None:
        self.broker.authenticated(address)
        self._sessions.lost(address, now)
        self._dispatch(now)

    def tick(self, now: float) -> None:
        """Handle what is due: late answers, heartbeats, grace periods that have run out."""
        for overdue in self._timers.due(now):
            for follower in self._follows[type(overdue)]:
                follower(overdue, now)
            self._dispatch(now)
        if now >= self._heartbeat:
            self._heartbeat = now + self.broker.settings.heartbeat
            self._sessions.beat(now)
            self._dispatch(now)
            self.runs.report(now)

    def allow(self, access: Access | None, now: float) -> None:
        """Apply a changed access file; None only checks the access tokens again."""
        self._sessions.allow(access, now)
        self._dispatch(now)

    def stop(self, now: float) -> None:
        """Start no new episodes; ``idle`` tells when the last one is over."""
        self.broker.stopping = True
        self.runs.drain(now)
        self._dispatch(now)

    def close(self, now: float) -> None:
        """End everything now and send every peer a `bye`."""
        self.broker.stopping = True
        self.runs.cancel(SHUTDOWN, now)
        self._dispatch(now)
        self._sessions.close(SHUTDOWN)

    def _on_error(self, peer: Peer, error: m.Error, now: float) -> None:
        if error.id is not None:
            self._requests.failed(peer, error.id, error.code, error.message)
            return
        match peer.outbox.asked.get(error.answers or 0):
            case None:
                self.broker.ignore(peer)
            case m.Open() | m.Init() as asked:
                self.runs.refused(asked, error, now)
            case (
                m.EnvironmentStart() | m.EnvironmentStep() | m.AgentStart() | m.AgentStep() as asked
            ):
                self._episodes.failed(asked, error, now)
            case m.EnvironmentSteps() | m.AgentSteps() as asked:
                self.runs.stacked.failed(asked, error, now)
            case asked:
                self._requests.failed(peer, asked.id, error.code, error.message)

    def _refuse(self, peer: Peer, error: ProtocolError, now: float) -> None:
        """Report a bad frame to its sender; if it was an answer, stop waiting for it."""
        if error.kind in ANSWERS.get(peer.role, ()):
            peer.complain(error.code, str(error))
            text = f"the {error.kind!r} of {peer.name} cannot be read: {error}"
            seq = awaited(self.runs, peer, error.kind, error.about)
            self._on_error(peer, m.Error("crashed", text, error.about.get("id"), seq), now)
        elif "id" in error.about:
            peer.refuse(error.about["id"], error.code, str(error))
        else:
            peer.complain(error.code, str(error))

    def take(self) -> tuple[list[AnyRecord], Said]:
        """Return the records to write and the messages to send."""
        records, messages = self.take_shared()
        return records, spread(messages)

    def take_shared(self) -> tuple[list[AnyRecord], Said]:
        """Like ``take``, but address watchers of the same turns as one ``Audience``."""
        broker, out = self.broker, self.broker.out
        records, broker.records = broker.records, []
        messages, out.messages = out.messages, []
        return records, messages

    def snapshot(self) -> list[dict[str, Any]]:
        """Return the whole state except the stored agent states."""
        return [part.state() for part in self._parts]

    def resume(self, states: list[Any]) -> None:
        """Continue from the ``snapshot`` of another core.

        Raises:
            ValueError: its parts or their fields are not those of this version.
        """
        fields = [list(state) if isinstance(state, dict) else state for state in states]
        if fields != [list(part.STATE) for part in self._parts]:
            raise ValueError("the parts of the broker have other fields than these")
        for part, state in zip(self._parts, states, strict=True):
            part.take_over(state)

    def rewatch(self) -> None:
        """Rebuild the timers, in an order that depends on the state alone."""
        self._timers.heap.clear()
        episodes, runs = self._episodes, self.runs
        for part in (runs.matches, runs.stacked, episodes.migrations, self._requests):
            for timed in part.timed():
                self._timers.rewatch(timed)

    def restarted(self, now: float) -> None:
        """Handle a restart, which broke all connections."""
        self._sessions.restarted(now)
        self._episodes.restarted(now)
        self.runs.stacked.restarted(now)
        self._dispatch(now)

    def deadline(self) -> float:
        """Return the latest time at which ``tick`` must be called."""
        heap = self._timers.heap
        return heap[0][0] if heap and heap[0][0] < self._heartbeat else self._heartbeat

    @property
    def idle(self) -> bool:
        """True if no episode is in progress."""
        return not len(self._episodes) and not len(self.runs.stacked)

    def role(self, address: Address) -> str | None:
        """Return the role of the peer at a connection, None before its ``hello``."""
        peer = self.broker.connections.get(address)
        return None if peer is None else peer.role
