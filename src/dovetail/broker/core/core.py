"""The broker without its sockets: messages and the time go in, messages come out.

``receive``, ``refuse``, ``lost`` and ``tick`` say what happened; ``take`` then hands over what to
write down and what to send, in order.  The driver of the core writes before it sends, so that
no peer hears a result that is not on disk.  No method raises for anything that a peer can do,
and none reads a clock, draws a random number or blocks.

This module hands each message to the part of the broker that it is for: ``sessions``,
``requests``, ``commands``, ``runs`` and ``episodes`` (by the rules of ``episode``), and ``watching``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.broker.matches.instances import Instances
from dovetail.broker.peers import limits
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.handshake import UNGREETED, unread
from dovetail.broker.peers.outbox import Address, Said, spread
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import Settings as Settings
from dovetail.broker.peers.state import Tables
from dovetail.broker.requests.agent_recovery import Remaking
from dovetail.broker.requests.catalogue import catalogue
from dovetail.broker.requests.commands import Commands
from dovetail.broker.requests.requests import Requests
from dovetail.broker.requests.sessions import Sessions
from dovetail.broker.rules.clocks import FOREVER
from dovetail.broker.runs.pending import awaited
from dovetail.broker.runs.runs import SHUTDOWN, Runs
from dovetail.broker.watch.watching import Watching, hidden
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.journal import AnyRecord

Handler = Callable[[Peer, Any, float], None]

ANSWERS = {
    "environment": ("spec", "turn", "turns", "reply", "error"),
    "agent": ("action", "actions", "reply", "saved", "error"),
}
"""What the broker waits for from peers of a role."""
FAILED = "the broker failed at a message; its log says why"


class Core:
    """The broker's state machine."""

    def __init__(self, settings: Settings, secret: bytes) -> None:
        self.tables = tables = Tables(settings)
        self._connections = tables.connections
        self._timers = tables.timers
        self.instances = instances = Instances()
        self._watching = Watching(tables.out)
        self.runs = runs = Runs(tables, instances, self._watching)
        self._episodes = episodes = runs.episodes
        self._requests = requests = Requests(tables, instances, runs)
        self._commands = commands = Commands(tables, instances, runs)
        self._remaking = Remaking(tables, instances, runs, requests)
        self._sessions = sessions = Sessions(
            tables, instances, requests, runs, self._watching, self._remaking, secret
        )
        self._heartbeat = -FOREVER
        everybody: dict[type, Handler] = {
            m.Ping: sessions.on_ping,
            m.Pong: sessions.on_pong,
            m.Bye: sessions.on_bye,
            m.Error: self._on_error,
        }
        observer: dict[type, Handler] = {
            **everybody,
            m.Catalogue: self._on_catalogue,
            m.Watch: self._on_watch,
        }
        self._handlers: dict[str, dict[type, Handler]] = {
            "environment": {
                **everybody,
                m.Turn: episodes.on_turn,
                m.Spec: runs.on_spec,
                m.Reply: requests.on_reply,
                m.Turns: runs.stacked.on_turns,
            },
            "agent": {
                **everybody,
                m.Action: episodes.on_action,
                m.AgentLookahead: requests.on_lookahead,
                m.Saved: requests.on_saved,
                m.Reply: requests.on_reply,
                m.Actions: runs.stacked.on_actions,
            },
            "observer": observer,
            "experiment": {
                **observer,
                m.Run: commands.on_run,
                m.Pause: commands.on_command,
                m.Drain: commands.on_command,
                m.Cancel: self._on_cancel,
                m.ExperimentStart: commands.on_start,
                m.ExperimentStep: commands.on_step,
                m.ExperimentCreate: requests.on_create,
                m.Save: requests.on_instance_request,
                m.Load: requests.on_instance_request,
                m.Cleanup: requests.on_instance_request,
                m.ExperimentMessage: requests.on_message,
            },
        }
        """By role and type of message: what takes it."""
        self._free = {
            role: {kind: take for kind, take in of.items() if kind not in limits.COSTS}
            for role, of in self._handlers.items()
        }
        """The same of messages that cost their sender nothing, as those of every turn."""

    # -- what happened ---------------------------------------------------------------------------

    def receive(self, address: Address, message: m.Message, now: float, size: int = 0) -> None:
        """Take a message that came over a connection; ``size`` is its bytes, if they are known."""
        peer = self._connections.get(address)
        handler = None if peer is None else self._free[peer.role].get(type(message))
        if peer is None or handler is None:
            self._unusual(address, message, now, size)
            return
        peer.heard = now
        peer.size = size
        handler(peer, message, now)

    def _unusual(self, address: Address, message: m.Message, now: float, size: int) -> None:
        """Take a `hello`, a message that costs its sender something, or one that it must not send."""
        peer, kind = self._connections.get(address), type(message)
        if isinstance(message, m.Hello):
            if peer is None:
                self.tables.strange(address)
            elif not self._sessions.affords(peer, message, 2.0, now):
                return
            self._sessions.greet(address, message, now)
        elif peer is None:
            self.tables.strange(address)
            self.tables.out.messages.append((address, m.Error("hello-first", UNGREETED)))
        else:
            peer.heard = now
            peer.greeting, peer.size = None, size
            handler = self._handlers[peer.role].get(kind)
            units = limits.asked(message, size, self.tables.settings.limits.elements)
            if handler is None:
                self.tables.charge(peer, limits.UNREADABLE + units)
                name = kind.__struct_config__.tag
                peer.complain("wrong-state", f"{name!r} is not a message of an {peer.role}")
            elif self._sessions.affords(peer, message, units, now):
                handler(peer, message, now)

    def refuse(self, address: Address, error: ProtocolError, now: float, size: int = 0) -> None:
        """Take a frame that could not be decoded."""
        self.tables.counters["refused"] += 1
        peer = self.tables.connections.get(address)
        if peer is not None:
            peer.heard = now
            self.tables.charge(peer, limits.unread(size, self.tables.settings.limits.elements))
            self._refuse(peer, error, now)
            return
        self.tables.strange(address)
        self.tables.out.messages.append((address, unread(error)))

    def failed(self, address: Address, now: float) -> str:
        """Send away the sender of a frame at which this program failed, the last line of defence; return its name."""
        error, peer = m.Error("crashed", FAILED), self._connections.get(address)
        if peer is not None:
            peer.outbox.tell(error)
            self._sessions.drop(peer, FAILED, now)
            return peer.name
        self.tables.out.messages.append((address, error))
        if not getattr(address, "reliable", False):
            self.tables.dropped[address] = FAILED
        return "a stranger"

    def lost(self, address: Address, now: float) -> None:
        """Take the news that a connection is gone."""
        self.tables.familiar(address)
        self._sessions.lost(address, now)

    def tick(self, now: float) -> None:
        """Take the time: clocks that ran out, heartbeats, grace periods that are over."""
        self._timers.tick(now)
        if now >= self._heartbeat:
            self._heartbeat = now + self.tables.settings.heartbeat
            self._sessions.beat(now)
            self.runs.report(now)

    def allow(self, access: Access | None, now: float) -> None:
        """Let the holders of keys do what another access file says; look at access tokens as well."""
        self._sessions.allow(access, now)

    def stop(self, now: float) -> None:
        """Start no new episodes; ``idle`` tells when the last one is over."""
        self.tables.stopping = True
        self.runs.drain(now)

    def close(self, now: float) -> None:
        """End everything now and send every peer a `bye`."""
        self.tables.stopping = True
        self.runs.cancel(SHUTDOWN, now)
        self._sessions.close(SHUTDOWN)

    # -- for more than one part ------------------------------------------------------------------

    def _on_error(self, peer: Peer, error: m.Error, now: float) -> None:
        """Take a peer's word that it cannot, or failed at, what it was asked."""
        if error.id is not None:
            self._requests.failed(peer, error.id, error.code, error.message, now)
            return
        match peer.outbox.asked.get(error.answers or 0):
            case None:
                self.tables.ignore(peer)
            case m.Open() | m.Init() as asked:
                self.runs.refused(asked, error, now)
            case (
                m.EnvironmentStart() | m.EnvironmentStep() | m.AgentStart() | m.AgentStep() as asked
            ):
                self._episodes.failed(asked, error, now)
            case m.EnvironmentSteps() | m.AgentSteps() as asked:
                self.runs.stacked.failed(asked, error, now)
            case asked:
                self._requests.failed(peer, asked.id, error.code, error.message, now)

    def _refuse(self, peer: Peer, error: ProtocolError, now: float) -> None:
        """Report a bad frame to its sender; if it was an answer, nothing waits for it any longer."""
        if error.kind in ANSWERS.get(peer.role, ()):
            peer.complain(error.code, str(error))
            text = f"the {error.kind!r} of {peer.name} cannot be read: {error}"
            seq = awaited(self.runs, peer, error.kind, error.about)
            self._on_error(peer, m.Error("crashed", text, error.about.get("id"), seq), now)
        elif "id" in error.about:
            peer.refuse(error.about["id"], error.code, str(error))
        else:
            peer.complain(error.code, str(error))

    def _on_cancel(self, peer: Peer, cancel: m.Cancel, now: float) -> None:
        if not peer.asks(cancel.id):
            return
        if cancel.run is not None:
            self._commands.on_cancel(peer, cancel.id, cancel.run, now)
        elif cancel.request is None:
            peer.refuse(cancel.id, "invalid", "name the `run` or the `request` to be cancelled")
        elif self._requests.cancel(peer, cancel.request):
            peer.reply(cancel.id)
        else:
            peer.refuse(cancel.id, "unknown", f"you have no open request {cancel.request}")

    def _on_watch(self, peer: Peer, watch: m.Watch, now: float) -> None:
        if not peer.asks(watch.id):
            return
        if watch.run is not None and (wrong := hidden(self.runs.get(watch.run), watch.run)):
            peer.refuse(watch.id, *wrong)
            return
        begins = self._watching.watch(peer, watch)
        peer.reply(watch.id)
        if begins:
            self._episodes.watched(peer, watch, now)

    def _on_catalogue(self, peer: Peer, asked: m.Catalogue, now: float) -> None:
        if peer.asks(asked.id):
            body, units = catalogue(self.tables, self.instances, self.runs, asked.start)
            self.tables.charge(peer, units)
            peer.reply(asked.id, body)

    # -- what there is to do ---------------------------------------------------------------------

    def take(self) -> tuple[list[AnyRecord], Said]:
        """Return what to write down, then who is to be sent what."""
        records, messages = self.take_shared()
        return records, spread(messages)

    def take_shared(self) -> tuple[list[AnyRecord], Said]:
        """Like ``take``; what several watchers are sent is there once, for an ``Audience``."""
        tables, out = self.tables, self.tables.out
        records, tables.records = tables.records, []
        messages, out.messages = out.messages, []
        return records, messages

    # -- its state, to continue elsewhere ---------------------------------------------------------

    def _owners(self) -> list[tuple[Any, tuple[str, ...]]]:
        """Return the parts and their fields that hold state; timers follow from it."""
        peers = ("settings", "counters", "stopping", "connections", "sessions", "next")
        return [
            (self.tables, (*peers, "keepers", "shared")),
            (self.instances, ("_all", "_at", "_named")),
            (self._watching, ("peers",)),
            (self.runs, ("_runs",)),
            (self.runs.matches, ("_all", "_served")),
            (self._episodes, ("_all",)),
            (self.runs.stacked, ("_all",)),
            (self._episodes.rebuilding, ("all",)),
            (self._requests, ("_all",)),
            (self._remaking, ("lost",)),
            (self, ("_heartbeat",)),
        ]

    def state(self) -> list[Any]:
        """Return all that it knows, but the kept states."""
        return [getattr(part, name) for part, names in self._owners() for name in names]

    def take_over(self, state: list[Any]) -> None:
        """Continue with what ``state`` of another core returned.

        Raises:
            ValueError: it has more values than that, or fewer.
        """
        fields = [(part, name) for part, names in self._owners() for name in names]
        for (part, name), value in list(zip(fields, state, strict=True)):  # all or none
            if isinstance(value, dict):  # which others may share
                held = getattr(part, name)
                held.clear()
                held.update(value)
            else:
                setattr(part, name, value)

    def rewatch(self) -> None:
        """Watch every deadline again, in an order that depends on nothing but the state."""
        self._timers.heap.clear()
        self.runs.matches.rewatch()
        self.runs.stacked.rewatch()
        self._episodes.rebuilding.rewatch()
        self._requests.rewatch()

    def restarted(self, now: float) -> None:
        """Take the news that the program ended and was started again: no connection is left."""
        self._sessions.restarted(now)
        self._episodes.restarted(now)
        self.runs.stacked.restarted(now)

    # -- for the shell ---------------------------------------------------------------------------

    def deadline(self) -> float:
        """Return when ``tick`` must be called at the latest."""
        heap = self._timers.heap
        return heap[0][0] if heap and heap[0][0] < self._heartbeat else self._heartbeat

    @property
    def idle(self) -> bool:
        """Whether no episode is in progress."""
        return not len(self._episodes) and not len(self.runs.stacked)

    def role(self, address: Address) -> str | None:
        """Return the role of the peer at a connection, None before its ``hello``."""
        peer = self.tables.connections.get(address)
        return None if peer is None else peer.role
