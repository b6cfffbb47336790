"""Sessions: who says hello, comes back, is silent, or leaves, and what leaves with it."""

from __future__ import annotations

import hashlib
import hmac

from dovetail.broker.peers import Connection, Instance, Peer
from dovetail.broker.requests import Requests
from dovetail.broker.runs import Runs
from dovetail.broker.state import State
from dovetail.broker.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code


class Sessions:
    """The peers, known by their session token wherever they connect from."""

    def __init__(
        self, state: State, requests: Requests, runs: Runs, watching: Watching, secret: bytes
    ) -> None:
        self._state = state
        self._requests = requests
        self._runs = runs
        self._watching = watching
        self._secret = secret

    def greet(self, connection: Connection, known: Peer | None, hello: m.Hello, now: float) -> None:
        """Take a ``hello`` from a connection, and the peer that has said one there before."""
        problem = self._hello_problem(known, hello)
        if problem is not None:
            self._state.out.append((connection, m.Error(*problem)))
            return
        peer = self._resumed(hello)
        if peer is not None:
            self._resume(connection, peer, now)
            return
        number = self._state.number()
        session = hashlib.sha256(self._secret + b"/%d" % number).hexdigest()[:32]
        peer = Peer(
            session=session,
            name=hello.name or f"{hello.role}-{number}",
            role=hello.role,
            offers={offer.name: offer for offer in hello.offers},
            connection=connection,
            heard=now,
            software=hello.software,
        )
        self._state.connections[connection] = peer
        self._state.sessions[session] = peer
        for offer in hello.offers:
            if hello.role == "agent" and offer.instance:
                instance = Instance(self._state.number(), offer.name, offer, peer, ready=True)
                self._state.instances[instance.number] = peer.instances[instance.number] = instance
        self._state.out.append((connection, self._welcome(peer, resumed=False)))

    def _hello_problem(self, known: Peer | None, hello: m.Hello) -> tuple[Code, str] | None:
        if hello.version != m.VERSION:
            return "version", f"protocol version {hello.version}; this broker speaks {m.VERSION}"
        token = self._state.settings.token
        if token is not None and not hmac.compare_digest(
            token.encode(), (hello.token or "").encode()
        ):
            return "access", "the access token is missing or wrong; ask whoever runs this broker"
        if known is not None and hello.resume != known.session:
            return "wrong-state", "this connection has said hello already"
        if self._resumed(hello) is not None:
            return None
        if hello.name and any(peer.name == hello.name for peer in self._state.sessions.values()):
            return "name-taken", f"another peer is called {hello.name!r}; choose another name"
        if hello.role == "agent":
            taken = {each.agent for each in self._state.instances.values() if each.offer.instance}
            for offer in hello.offers:
                if offer.instance and offer.name in taken:
                    return (
                        "name-taken",
                        f"another agent is called {offer.name!r}; choose another name",
                    )
        return None

    def _resumed(self, hello: m.Hello) -> Peer | None:
        """Return the peer that comes back, if the session that it names is its own."""
        peer = self._state.sessions.get(hello.resume) if hello.resume else None
        return peer if peer is not None and peer.role == hello.role else None

    def _welcome(self, peer: Peer, *, resumed: bool) -> m.Welcome:
        settings = self._state.settings
        return m.Welcome(
            session=peer.session,
            name=peer.name,
            resumed=resumed,
            heartbeat=settings.heartbeat,
            patience=settings.patience,
            limits=settings.limits,
        )

    def _resume(self, connection: Connection, peer: Peer, now: float) -> None:
        if peer.connection is not None and peer.connection != connection:
            self._state.connections.pop(peer.connection, None)
        peer.connection = connection
        peer.state = "ready"
        peer.heard = now
        self._state.connections[connection] = peer
        self._state.out.append((connection, self._welcome(peer, resumed=True)))
        waiting = [message for _, message in peer.unconfirmed]
        known = {id(message) for message in waiting}
        for request in self._state.requests.values():
            if request.peer is peer and id(request.message) not in known:
                self._state.out.append((connection, request.message))
        self._state.out.extend((connection, message) for message in waiting)
        for match in peer.matches:
            if match.state == "opening" and id(match.open) not in known:
                self._state.out.append((connection, match.open))
            elif match.asked is not None:
                self._state.out.append((connection, match.asked))
        for instance in peer.instances.values():
            for match in instance.matches:
                for seat in match.seats:
                    if seat.instance is instance and seat.state == "deciding" and seat.decision:
                        self._state.out.append((connection, seat.decision))

    def on_ping(self, peer: Peer, message: m.Ping, now: float) -> None:
        self._state.send(peer, m.Pong(message.number))

    def on_pong(self, peer: Peer, message: m.Pong, now: float) -> None:
        peer.confirm(message.number)
        peer.complaints = 0
        self._runs.revive(peer, now)

    def on_bye(self, peer: Peer, message: m.Bye, now: float) -> None:
        self._forget(peer, "left", now)

    def lost(self, connection: Connection, now: float) -> None:
        """Take the news that a connection is gone."""
        peer = self._state.connections.pop(connection, None)
        if peer is not None:
            peer.connection = None
            peer.state = "away"
            peer.lost = now

    def beat(self, now: float) -> None:
        """Ping every peer; let go of those that were silent or away for too long."""
        settings = self._state.settings
        for peer in list(self._state.sessions.values()):
            if peer.connection is None:
                if now - peer.lost >= settings.grace:
                    self._forget(peer, "did not come back", now)
            elif not getattr(peer.connection, "reliable", False):
                silence = now - peer.heard
                if (
                    silence > settings.patience
                    and peer.role in ("environment", "agent")
                    and not self._owes(peer, silence)
                ):
                    self.lost(peer.connection, now)
                    continue
                peer.ping += 1
                self._state.out.append((peer.connection, m.Ping(peer.ping)))

    def _owes(self, peer: Peer, silence: float) -> bool:
        """Whether the peer is at work on something, and so may be silent.

        Clocks bound how long it may be at work on a turn; a request may take ten times the
        patience.
        """
        if silence < 10 * self._state.settings.patience and any(
            request.peer is peer for request in self._state.requests.values()
        ):
            return True
        if any(match.state in ("opening", "transition") for match in peer.matches):
            return True
        return any(
            seat.state == "deciding" and seat.instance is instance
            for instance in peer.instances.values()
            for match in instance.matches
            for seat in match.seats
        )

    def _forget(self, peer: Peer, what: str, now: float) -> None:
        """End a session and everything that depended on it."""
        peer.state = "gone"
        self._state.sessions.pop(peer.session, None)
        if peer.connection is not None:
            self._state.connections.pop(peer.connection, None)
            peer.connection = None
        peer.unconfirmed.clear()
        self._watching.leave(peer)
        self._requests.abandon(peer, what)
        if peer.role == "experiment":
            for run in [run for run in self._state.runs.values() if run.experiment is peer]:
                self._runs.finish_run(run, "cancelled", f"the experiment {what}", now)
            for instance in [i for i in self._state.instances.values() if i.owner is peer]:
                self._requests.dismiss(instance)
        for instance in list(peer.instances.values()):
            instance.gone = True
            self._state.instances.pop(instance.number, None)
            self._runs.agent_gone(instance, f"{instance.agent} ({peer.name}) {what}", now)
        for match in list(peer.matches):
            self._runs.environment_gone(match, f"environment {peer.name} {what}", now)
