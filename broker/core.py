"""The broker without its sockets: messages and the time go in, messages come out.

``receive``, ``refuse``, ``lost`` and ``tick`` say what happened; ``take`` then hands over what to
write down and what to send, in order.  Whoever drives the core writes before it sends, so that
nobody is told a result that is not on disk.  No method raises for anything that a peer can do,
and none reads a clock, draws a random number or blocks.

This module hands each message to the part of the broker that it is for: ``sessions``,
``requests``, ``runs`` (the game itself is played in ``match``) and ``watching``, which share the
tables of ``state``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.broker.match import FOREVER
from dovetail.broker.peers import Connection, Peer
from dovetail.broker.records import AnyRecord
from dovetail.broker.requests import Requests
from dovetail.broker.runs import SHUTDOWN, Runs
from dovetail.broker.sessions import Sessions
from dovetail.broker.state import Settings, State
from dovetail.broker.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError

Handler = Callable[[Peer, Any, float], None]

ANSWERS = {
    "environment": ("spec", "turn", "reply", "error"),
    "agent": ("action", "reply", "saved", "error"),
}
"""What the broker waits for from peers of a role."""
UNGREETED = "say hello first; no session is known for this connection"


class Core:
    """The broker's state machine."""

    def __init__(self, settings: Settings, secret: bytes) -> None:
        self.state = State(settings)
        self._watching = watching = Watching(self.state)
        self._requests = requests = Requests(self.state)
        self._runs = runs = Runs(self.state, watching)
        self._sessions = sessions = Sessions(self.state, requests, runs, watching, secret)
        self._heartbeat = -FOREVER
        everybody: dict[type, Handler] = {
            m.Ping: sessions.on_ping,
            m.Pong: sessions.on_pong,
            m.Bye: sessions.on_bye,
            m.Error: self._on_error,
        }
        observer: dict[type, Handler] = {
            **everybody,
            m.Catalogue: watching.on_catalogue,
            m.Watch: watching.on_watch,
        }
        self._handlers: dict[str, dict[type, Handler]] = {
            "environment": {
                **everybody,
                m.Turn: runs.on_turn,
                m.Spec: runs.on_spec,
                m.Reply: requests.on_reply,
            },
            "agent": {
                **everybody,
                m.Action: runs.on_action,
                m.AgentLookahead: requests.on_lookahead,
                m.Saved: requests.on_saved,
                m.Reply: requests.on_reply,
            },
            "observer": observer,
            "experiment": {
                **observer,
                m.Run: runs.on_run,
                m.Pause: runs.on_run_command,
                m.Drain: runs.on_run_command,
                m.Cancel: runs.on_run_command,
                m.ExperimentStart: runs.on_experiment_start,
                m.ExperimentStep: runs.on_experiment_step,
                m.ExperimentCreate: requests.on_create,
                m.Save: requests.on_instance_request,
                m.Load: requests.on_instance_request,
                m.Cleanup: requests.on_instance_request,
                m.ExperimentMessage: requests.on_message,
            },
        }

    # -- what happened ---------------------------------------------------------------------------

    def receive(self, connection: Connection, message: m.Message, now: float) -> None:
        """Take a message that came over a connection."""
        state = self.state
        peer = state.connections.get(connection)
        if type(message) is m.Hello:
            self._sessions.greet(connection, peer, message, now)
            return
        if peer is None:
            state.out.append((connection, m.Error("hello-first", UNGREETED)))
            return
        peer.heard = now
        handler = self._handlers[peer.role].get(type(message))
        if handler is None:
            kind = type(message).__struct_config__.tag
            state.complain(peer, "wrong-state", f"{kind!r} is no message of an {peer.role}")
            return
        handler(peer, message, now)

    def refuse(self, connection: Connection, error: ProtocolError, now: float) -> None:
        """Take a frame that could not be decoded."""
        state = self.state
        state.counters["refused"] += 1
        peer = state.connections.get(connection)
        if peer is not None:
            peer.heard = now
            self._refuse(peer, error, now)
        elif error.code == "unknown-type":
            state.out.append((connection, m.Error("hello-first", UNGREETED)))
        else:
            state.out.append((connection, m.Error(error.code, str(error))))

    def lost(self, connection: Connection, now: float) -> None:
        """Take the news that a connection is gone."""
        self._sessions.lost(connection, now)

    def tick(self, now: float) -> None:
        """Take the time: clocks that ran out, heartbeats, grace periods that are over."""
        self._runs.tick(now)
        if now >= self._heartbeat:
            self._heartbeat = now + self.state.settings.heartbeat
            self._sessions.beat(now)
            self._runs.report()

    def stop(self, now: float) -> None:
        """Start no new episodes; ``idle`` tells when the last one is over."""
        self.state.stopping = True
        self._runs.drain(now)

    def close(self, now: float) -> None:
        """End everything now and say goodbye to everybody."""
        state = self.state
        state.stopping = True
        self._runs.cancel(SHUTDOWN, now)
        for connection in state.connections:
            state.out.append((connection, m.Bye(SHUTDOWN)))
        state.connections.clear()

    def _refuse(self, peer: Peer, error: ProtocolError, now: float) -> None:
        """Tell a peer; if it was an answer, whoever waits for it need not any longer."""
        about = error.about
        if error.kind in ANSWERS.get(peer.role, ()):
            text = f"the {error.kind!r} of {peer.name} cannot be read: {error}"
            self._on_error(peer, m.Error(error.code, text, **about), now)
            about = {name: about[name] for name in about if name != "id"}  # our number, not its
        self.state.complain(peer, error.code, str(error), **about)

    def _on_error(self, peer: Peer, error: m.Error, now: float) -> None:
        """Take a peer's word that something went wrong on its side."""
        if error.id is not None:
            self._requests.failed(peer, error.id, error.message)
        else:
            self._runs.failed(peer, error, now)

    # -- what there is to do ----------------------------------------------------------------------

    def take(self) -> tuple[list[AnyRecord], list[tuple[Connection, m.Message]]]:
        """Return what to write down, then who is to be sent what."""
        state = self.state
        records, state.records = state.records, []
        out, state.out = state.out, []
        return records, out

    def deadline(self) -> float:
        """Return when ``tick`` must be called at the latest."""
        return min(self._heartbeat, self._runs.deadline)

    @property
    def idle(self) -> bool:
        """Whether no episode is in progress."""
        return not self.state.episodes

    def role(self, connection: Connection) -> str | None:
        """Return the role of the peer at a connection, None before its ``hello``."""
        peer = self.state.connections.get(connection)
        return None if peer is None else peer.role

    def experiments(self) -> list[Connection]:
        """Return the connections of the experiments that are present."""
        return [
            peer.connection
            for peer in self.state.sessions.values()
            if peer.role == "experiment" and peer.connection is not None
        ]


__all__ = ["Core", "Settings"]
