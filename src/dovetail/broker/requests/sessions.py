"""Sessions: peers that connect, reconnect, fall silent or leave, and the end of what they own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.peers import handshake as greeting
from dovetail.broker.peers import holdings, limits
from dovetail.broker.peers.access import DIGEST, Access, credential
from dovetail.broker.peers.outbox import Address, Outbox
from dovetail.broker.peers.peers import Peer, heartbeat, silent, timeout
from dovetail.broker.peers.state import BrokerState
from dovetail.broker.requests.agent_recovery import AgentRecovery
from dovetail.broker.requests.requests import Requests
from dovetail.broker.runs.runs import Runs
from dovetail.broker.watch.watching import Watching
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError


@dataclass(eq=False)
class Sessions:
    """The sessions, which a token identifies over any connection."""

    _broker: BrokerState
    _instances: Instances
    _requests: Requests
    _runs: Runs
    _watching: Watching
    _recovery: AgentRecovery
    _secret: bytes

    def greet(self, address: Address, hello: m.Hello, now: float, size: int) -> None:
        """Handle a ``hello`` of ``size`` bytes from a connection."""
        known = self._broker.connections.get(address)
        if known is not None and known.size < 0 and greeting.same(known.greeting, hello):
            self._welcome(known, resumed=False)  # the first was lost
            return
        try:
            public, key = self._identified(address, hello)
            allowance = self._broker.allowance(key)
            entrant = self._entrant(hello)
            token = None if public.startswith(DIGEST) else self._broker.settings.token
            greeting.check(hello, token, allowance, entrant)
            if known is not None and hello.resume != known.session:
                raise ProtocolError("wrong-state", "this connection has said hello already")
            peer = self._resumed(hello, key, entrant)
            # After a power loss this broker may know less than the peer, and cannot continue there.
            ahead = peer is not None and peer.away and hello.seen > peer.outbox.seq
            if peer is not None and not ahead:
                peer.public, peer.allowance = public, allowance
                peer.token = (hello.token or "") if entrant else ""
                self._resume(address, peer, hello.seen, now)
                return
            named = greeting.scoped(hello, entrant or self._scope(key))
            holders = self._holders(named, key)  # nothing has changed if this refuses
            held = holdings.greeted(self._broker, hello, size)
        except ProtocolError as error:
            self._broker.out.messages.append((address, m.Error(error.code, str(error))))
            return
        gone = {each: ("replaced", f"was replaced by another {each.name!r}") for each in holders}
        if peer is not None:
            gone[peer] = "grace over", "knows more than the broker, whose journal lost its end"
        for each, (event, text) in gone.items():
            self._leave(each, event, text, now)
        self._begin(address, named, entrant, public, key, now)
        for each, (_, text) in gone.items():  # the newcomer may take over its matches
            self._runs.environment_gone(each, f"environment {each.name} {text}", now)
        begun = self._broker.connections[address]
        begun.greeting, begun.held = hello, held

    def _entrant(self, hello: m.Hello) -> str:
        """Return the owner of the access token in a ``hello``; empty if it is the broker's own."""
        if hello.token is None or greeting.carries(hello, self._broker.settings.token):
            return ""
        return self._broker.entrant(hello.token) or ""

    def _scope(self, key: str) -> str:
        """Return the prefix of the names of a key's programs; empty if names are not scoped."""
        access = self._broker.settings.access
        return key if access is not None and access.scoped else ""

    def _identified(self, address: Address, hello: m.Hello) -> tuple[str, str]:
        """Return a program's credential and the name of its key; both empty without keys."""
        access = self._broker.settings.access
        public = "" if access is None else credential(address, hello.token)
        if access is None or not public:
            return "", ""
        present = sum(
            each.public == public
            and not each.away
            and (each.session, each.role) != (hello.resume, hello.role)  # not the one that resumes
            for each in self._broker.sessions.values()
        )
        return public, access.admit(public, hello.role, [o.name for o in hello.offers], present)

    def _resumed(self, hello: m.Hello, key: str, entrant: str) -> Peer | None:
        """Return the peer that resumes, if its role, key and entrant are the same."""
        peer = self._broker.sessions.get(hello.resume) if hello.resume else None
        if peer is None or (peer.role, peer.key, peer.entrant) != (hello.role, key, entrant):
            return None
        return peer

    def _holders(self, hello: m.Hello, key: str) -> list[Peer]:
        """Return the absent peers whose names a newcomer takes over.  Raises ProtocolError
        (``name-taken``): a connected peer, or one with another key, has the name."""
        held: dict[str, Peer] = {}
        if hello.name and (named := self._named(hello.name)) is not None:
            held[f"another peer is called {hello.name!r}"] = named
        if hello.role == "agent":
            for offer in hello.offers:
                if offer.instance and (instance := self._instances.called(offer.name)) is not None:
                    held[f"another agent is called {offer.name!r}"] = instance.peer
        for text, peer in held.items():
            if not peer.away or peer.key != key:
                raise ProtocolError("name-taken", f"{text}; choose another name")
        return list(dict.fromkeys(held.values()))

    def _named(self, name: str) -> Peer | None:
        return next((p for p in self._broker.sessions.values() if p.name == name), None)

    def _begin(
        self, address: Address, hello: m.Hello, entrant: str, public: str, key: str, now: float
    ) -> None:
        number = self._broker.number()
        session = hashlib.sha256(self._secret + b"/%d" % number).hexdigest()[:32]
        name = hello.name or f"{hello.role}-{number}"
        while not hello.name and self._named(name) is not None:
            name = f"{hello.role}-{self._broker.number()}"
        peer = Peer(
            session=session,
            name=name,
            role=hello.role,
            offers={offer.name: offer for offer in hello.offers},
            outbox=Outbox(self._broker.out, address),
            heard=now,
            greeting=hello,
            software=hello.software,
            entrant=entrant,
            token=(hello.token or "") if entrant else "",
            public=public,
            key=key,
            allowance=self._broker.allowance(key),
        )
        peer.machine.on("hello")
        self._broker.connections[address] = peer
        self._broker.authenticated(address)
        self._broker.sessions[session] = peer
        for offer in hello.offers:
            if hello.role == "agent" and offer.instance:
                instance = Instance(self._broker.number(), offer, peer, peer, ready=True)
                instance.size = 0 if peer.outbox.reliable else 1
                self._instances.add(instance)
        self._welcome(peer, resumed=False)
        if hello.role == "agent":
            self._recovery.arrived(now)

    def _resume(self, address: Address, peer: Peer, seen: int, now: float) -> None:
        present = not peer.away
        if present:
            self._broker.connections.pop(peer.outbox.address, None)
        peer.machine.on("hello")
        peer.heard = now
        peer.greeting = None
        self._broker.connections[address] = peer
        self._broker.authenticated(address)
        peer.outbox.connect(address)
        self._watching.moved()
        self._welcome(peer, resumed=True)
        units = limits.REPLAYED * peer.outbox.replay(seen)
        self._broker.charge(peer, units if present else min(units, limits.SLOW))
        self._runs.episodes.back(peer, now)
        self._runs.stacked.back(peer, now)

    def _welcome(self, peer: Peer, *, resumed: bool) -> None:
        settings = self._broker.settings
        if not peer.outbox.reliable:
            crowd = len(self._broker.sessions) if peer.role != "experiment" else 0
            peer.heartbeat = heartbeat(settings.heartbeat, crowd)
        patience = timeout(peer.heartbeat, settings.heartbeat, settings.peer_timeout)
        told = peer.heartbeat, patience, settings.limits
        peer.outbox.tell(m.Welcome(peer.session, peer.name, resumed, m.VERSION, *told))

    def affords(self, peer: Peer, message: m.Message, units: float, now: float) -> bool:
        """Charge a peer for a message; return whether to handle it."""
        if peer.outbox.reliable:
            return True
        peer.heard = now
        limits.charge(peer, 0.0, now)
        verdict = limits.judge(peer)
        self._broker.charge(peer, units if verdict == "take" else 1.0)
        if verdict == "drop":
            self.drop(peer, "it asked for too much and went on when it was refused", now)
        elif verdict == "refuse":
            self._broker.counters["refused"] += 1
            text = "too many requests at once; wait for the answers, then ask again"
            number = getattr(message, "id", None)
            if number is None:
                peer.complain("limit", text)
            else:
                peer.outbox.tell(m.Error("limit", text, id=number))
        return verdict == "take"

    def on_ping(self, peer: Peer, message: m.Ping, now: float) -> None:
        peer.outbox.tell(m.Pong(message.number))

    def on_pong(self, peer: Peer, message: m.Pong, now: float) -> None:
        peer.outbox.arrived(message.seen)
        peer.complaints = 0
        self._runs.revive(peer, now)

    def beat(self, now: float) -> None:
        """Ping every peer that is due; end those that were silent or away for too long."""
        usual, patience = self._broker.settings.heartbeat, self._broker.settings.peer_timeout
        for peer in list(self._broker.sessions.values()):
            if peer.away:
                if now - peer.lost >= self._broker.settings.grace:
                    self._forget(peer, "grace over", "did not come back", now)
            elif now >= peer.due and not peer.outbox.reliable and peer.machine.state == "ready":
                peer.due = now + peer.heartbeat
                allowed = timeout(peer.heartbeat, usual, patience)
                if silent(peer, now - peer.heard, allowed):
                    self.lost(peer.outbox.address, now)
                    continue
                if peer.outbox.unseen() > limits.KEPT:
                    self.drop(peer, "it does not confirm what it is sent; `pong` needs `seen`", now)
                    continue
                peer.ping += 1
                peer.outbox.tell(m.Ping(peer.ping, peer.outbox.settled))

    def allow(self, access: Access | None, now: float) -> None:
        """Apply a changed access file, if any; disconnect every peer that is no longer admitted."""
        if access is not None:
            self._broker.settings = replace(self._broker.settings, access=access)
        access = self._broker.settings.access
        for peer in list(self._broker.sessions.values()):
            try:
                allowance = greeting.still(peer, access, self._broker.entrant)
            except ProtocolError as error:
                if peer.away:
                    self._forget(peer, "grace over", f"may not come back: {error}", now)
                else:
                    peer.outbox.tell(m.Error(error.code, str(error)))
                    self.drop(peer, str(error), now)
                    self._broker.dropped[peer.outbox.address] = ""  # it has just heard why
            else:
                peer.allowance = allowance or peer.allowance

    def restarted(self, now: float) -> None:
        """Wait for every peer to come back, except those in the process that died.  They have
        longer than usual, since they notice only after a few silent heartbeats."""
        settings = self._broker.settings
        for address, peer in list(self._broker.connections.items()):
            if peer.outbox.reliable:
                self._forget(peer, "bye", "ended with the broker's program", now)
            else:
                self.lost(address, now)
        for peer in self._broker.sessions.values():
            peer.lost = now + max(0.0, settings.peer_timeout - settings.grace)
        self.allow(None, now)

    def lost(self, address: Address, now: float) -> None:
        peer = self._broker.connections.pop(address, None)
        if peer is not None:
            peer.machine.on("lost")
            peer.outbox.disconnect()
            self._watching.moved()
            peer.lost = now
            if waiting := self._waiting(peer):
                runs = "its run waits" if waiting == 1 else f"its {waiting} runs wait"
                grace = self._broker.settings.grace
                self._broker.missed(f"{peer.name} is gone; {runs} {grace:g} s for it")

    def _waiting(self, peer: Peer) -> int:
        """Return the number of runs that need a peer."""
        seated = (number for each in self._instances.at(peer) for number in each.runs)
        return len({*seated, *(match.run.number for match in self._runs.matches.at(peer))})

    def on_bye(self, peer: Peer, message: m.Bye, now: float) -> None:
        self._forget(peer, "bye", "left", now)

    def drop(self, peer: Peer, why: str, now: float) -> None:
        if not peer.outbox.reliable:
            self._broker.dropped[peer.outbox.address] = why
        peer.outbox.tell(m.Bye(why))
        self._forget(peer, "bye", f"was sent away: {why}", now)

    def close(self, why: str) -> None:
        """Send every connected peer a `bye`."""
        for peer in self._broker.connections.values():
            peer.outbox.tell(m.Bye(why))
            peer.machine.on("bye")
        self._broker.connections.clear()

    def _forget(self, peer: Peer, event: str, what: str, now: float) -> None:
        """End a session and everything that depends on it."""
        self._leave(peer, event, what, now)
        self._runs.environment_gone(peer, f"environment {peer.name} {what}", now)

    def _leave(self, peer: Peer, event: str, what: str, now: float) -> None:
        """End a session and everything that depends on it but the matches of an environment."""
        peer.machine.on(event)
        self._broker.sessions.pop(peer.session, None)
        if self._broker.connections.get(peer.outbox.address) is peer:
            del self._broker.connections[peer.outbox.address]
        asked = bool(peer.unanswered or peer.outbox.asked)
        peer.outbox.close()
        self._broker.recorded.pop(peer.session, None)
        self._watching.forget(peer)
        if asked:
            self._requests.abandon(peer, what)
        if peer.role == "experiment":
            self._runs.experiment_gone(peer, f"the experiment {what}", now)
            for instance in self._instances.made_for(peer):
                if not instance.runs:  # others play with it until their runs are over
                    self._requests.dismiss(instance)
        for instance in self._instances.at(peer):
            self._instances.drop(instance)
            text = f"{instance.agent} ({peer.name}) {what}"
            self._recovery.gone(instance, text, now)
            self._runs.agent_gone(instance, text, now)
