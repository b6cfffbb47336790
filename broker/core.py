"""The broker without its sockets: messages and the time go in, messages come out.

``receive``, ``refuse``, ``lost`` and ``tick`` say what happened; ``out`` and ``records`` then hold
what to send and what to write down, in order.  Whoever drives the core writes ``records`` before
it sends ``out``, so that nobody is told a result that is not on disk.  No method raises for
anything that a peer can do, and none reads a clock, draws a random number or blocks.

This module is sessions, requests and runs; the game itself is played in ``match``.
"""

from __future__ import annotations

import hashlib
import heapq
import hmac
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from dovetail.broker.match import FOREVER, Match, Over, Rules
from dovetail.broker.peers import Connection, Instance, Peer
from dovetail.broker.records import AnyRecord, Kept, Played
from dovetail.broker.run import Running
from dovetail.protocol import messages as m
from dovetail.protocol.errors import Code, ProtocolError
from dovetail.protocol.states import RUN, SESSION, follow

Handler = Callable[[Peer, Any, float], None]

MATCHES_PER_RUN = 4096
UNGREETED = "say hello first; no session is known for this connection"
COMPLAINTS = 100
"""Errors about no request that a peer is told; no more until its next `pong`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a broker behaves; times in seconds."""

    token: str | None = None
    """What every peer must present at ``hello``."""
    heartbeat: float = 1.0
    patience: float = 30.0
    """A peer that owes nothing and was silent for so long is taken for lost."""
    grace: float = 10.0
    """How long a lost peer's seats are kept."""
    limits: m.Limits = field(default_factory=m.Limits)


@dataclass(slots=True)
class Request:
    """Something asked of an agent's or environment's program on behalf of another peer."""

    peer: Peer
    message: m.Message
    asker: Peer | None
    id: int
    """The asker's own number of it."""
    instance: Instance | None = None
    keep: str | None = None


class Core:
    """The broker's state machine."""

    def __init__(self, settings: Settings, secret: bytes) -> None:
        self.settings = settings
        self.out: list[tuple[Connection, m.Message]] = []
        self.records: list[AnyRecord] = []
        self.kept: dict[str, bytes] = {}
        self.counters = {"turns": 0, "episodes": 0, "ignored": 0, "refused": 0}
        self.stopping = False
        self._secret = secret
        self._numbers = itertools.count(1)
        self._connections: dict[Connection, Peer] = {}
        self._sessions: dict[str, Peer] = {}
        self._instances: dict[int, Instance] = {}
        self._runs: dict[int, Running] = {}
        self._matches: dict[int, Match] = {}
        self._episodes: dict[int, Match] = {}
        self._requests: dict[int, Request] = {}
        self._watching: list[Peer] = []
        self._timers: list[tuple[float, int, Match]] = []
        self._heartbeat = -FOREVER
        session: dict[type, Handler] = {
            m.Ping: self._on_ping,
            m.Pong: self._on_pong,
            m.Bye: self._on_bye,
            m.Error: self._on_error,
        }
        self._handlers: dict[str, dict[type, Handler]] = {
            "environment": {
                **session,
                m.Turn: self._on_turn,
                m.Spec: self._on_spec,
                m.Reply: self._on_reply,
            },
            "agent": {
                **session,
                m.Action: self._on_action,
                m.AgentLookahead: self._on_lookahead,
                m.Saved: self._on_saved,
                m.Reply: self._on_reply,
            },
            "observer": {**session, m.Catalogue: self._on_catalogue, m.Watch: self._on_watch},
            "experiment": {
                **session,
                m.Run: self._on_run,
                m.Pause: self._on_run_command,
                m.Drain: self._on_run_command,
                m.Cancel: self._on_run_command,
                m.ExperimentStart: self._on_experiment_start,
                m.ExperimentStep: self._on_experiment_step,
                m.Catalogue: self._on_catalogue,
                m.Watch: self._on_watch,
                m.ExperimentCreate: self._on_create,
                m.Save: self._on_instance_request,
                m.Load: self._on_instance_request,
                m.Cleanup: self._on_instance_request,
                m.ExperimentMessage: self._on_message,
            },
        }

    # -- what happened ---------------------------------------------------------------------------

    def receive(self, connection: Connection, message: m.Message, now: float) -> None:
        """Take a message that came over a connection."""
        peer = self._connections.get(connection)
        if type(message) is m.Hello:
            self._on_hello(connection, peer, message, now)
            return
        if peer is None:
            self.out.append((connection, m.Error("hello-first", UNGREETED)))
            return
        peer.heard = now
        handler = self._handlers[peer.role].get(type(message))
        if handler is None:
            kind = type(message).__struct_config__.tag
            self._complain(peer, "wrong-state", f"{kind!r} is no message of an {peer.role}")
            return
        handler(peer, message, now)

    def refuse(self, connection: Connection, error: ProtocolError, now: float) -> None:
        """Take a frame that could not be decoded."""
        self.counters["refused"] += 1
        peer = self._connections.get(connection)
        if peer is None:
            if error.code == "unknown-type":
                self.out.append((connection, m.Error("hello-first", UNGREETED)))
            else:
                self.out.append((connection, m.Error(error.code, str(error))))
        else:
            peer.heard = now
            self._complain(peer, error.code, str(error))

    def lost(self, connection: Connection, now: float) -> None:
        """Take the news that a connection is gone."""
        peer = self._connections.pop(connection, None)
        if peer is not None:
            peer.connection = None
            peer.state = "away"
            peer.lost = now

    def role(self, connection: Connection) -> str | None:
        """Return the role of the peer at a connection, None before its ``hello``."""
        peer = self._connections.get(connection)
        return None if peer is None else peer.role

    def experiments(self) -> list[Connection]:
        """Return the connections of the experiments that are present."""
        return [
            peer.connection
            for peer in self._sessions.values()
            if peer.role == "experiment" and peer.connection is not None
        ]

    def deadline(self) -> float:
        """Return when ``tick`` must be called at the latest."""
        return min(self._heartbeat, self._timers[0][0]) if self._timers else self._heartbeat

    def tick(self, now: float) -> None:
        """Take the time: clocks that ran out, heartbeats, grace periods that are over."""
        while self._timers and self._timers[0][0] <= now:
            due, _, match = heapq.heappop(self._timers)
            if match.timer != due:
                continue
            match.timer = FOREVER
            if match.deadline <= now:
                self._overdue(match, now)
            self._set_timer(match)
        if now >= self._heartbeat:
            self._heartbeat = now + self.settings.heartbeat
            self._beat(now)

    def stop(self, now: float) -> None:
        """Start no new episodes; ``idle`` tells when the last one is over."""
        self.stopping = True
        for run in list(self._runs.values()):
            if run.state in ("running", "paused"):
                run.state = "draining"
            self._advance(run, now)

    def close(self, now: float) -> None:
        """End everything now and say goodbye to everybody."""
        self.stopping = True
        for run in list(self._runs.values()):
            self._finish_run(run, "cancelled", "the broker is shutting down", now)
        for connection in list(self._connections):
            self.out.append((connection, m.Bye("the broker is shutting down")))
        self._connections.clear()

    @property
    def idle(self) -> bool:
        """Whether no episode is in progress."""
        return not self._episodes

    # -- sessions -----------------------------------------------------------------------------------

    def _send(self, peer: Peer, message: m.Message, must: bool = False) -> None:
        connection = peer.connection
        if must:
            self._resend(peer, message)
        if connection is not None:
            self.out.append((connection, message))

    def _resend(self, peer: Peer, message: m.Message) -> None:
        if not getattr(peer.connection, "reliable", False):
            peer.unconfirmed.append((peer.ping + 1, message))

    def _complain(self, peer: Peer, code: Code, text: str, **about: int | None) -> None:
        peer.complaints += 1
        if peer.complaints <= COMPLAINTS or about.get("id") is not None:
            self._send(peer, m.Error(code, text, **about))

    def _on_hello(
        self, connection: Connection, known: Peer | None, hello: m.Hello, now: float
    ) -> None:
        problem = self._hello_problem(known, hello)
        if problem is not None:
            self.out.append((connection, m.Error(*problem)))
            return
        peer = self._resumed(hello)
        if peer is not None:
            self._resume(connection, peer, now)
            return
        number = next(self._numbers)
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
        self._connections[connection] = peer
        self._sessions[session] = peer
        for offer in hello.offers:
            if hello.role == "agent" and offer.instance:
                instance = Instance(next(self._numbers), offer.name, offer, peer, ready=True)
                self._instances[instance.number] = peer.instances[instance.number] = instance
        self.out.append((connection, self._welcome(peer, resumed=False)))

    def _hello_problem(self, known: Peer | None, hello: m.Hello) -> tuple[Code, str] | None:
        if hello.version != m.VERSION:
            return "version", f"protocol version {hello.version}; this broker speaks {m.VERSION}"
        token = self.settings.token
        if token is not None and not hmac.compare_digest(
            token.encode(), (hello.token or "").encode()
        ):
            return "access", "the access token is missing or wrong; ask whoever runs this broker"
        if known is not None and hello.resume != known.session:
            return "wrong-state", "this connection has said hello already"
        if self._resumed(hello) is not None:
            return None
        if hello.name and any(peer.name == hello.name for peer in self._sessions.values()):
            return "name-taken", f"another peer is called {hello.name!r}; choose another name"
        if hello.role == "agent":
            taken = {each.agent for each in self._instances.values() if each.offer.instance}
            for offer in hello.offers:
                if offer.instance and offer.name in taken:
                    return (
                        "name-taken",
                        f"another agent is called {offer.name!r}; choose another name",
                    )
        return None

    def _resumed(self, hello: m.Hello) -> Peer | None:
        """Return the peer that comes back, if the session that it names is its own."""
        peer = self._sessions.get(hello.resume) if hello.resume else None
        return peer if peer is not None and peer.role == hello.role else None

    def _welcome(self, peer: Peer, *, resumed: bool) -> m.Welcome:
        settings = self.settings
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
            self._connections.pop(peer.connection, None)
        peer.connection = connection
        peer.state = "ready"
        peer.heard = now
        self._connections[connection] = peer
        self.out.append((connection, self._welcome(peer, resumed=True)))
        waiting = [message for _, message in peer.unconfirmed]
        known = {id(message) for message in waiting}
        for request in self._requests.values():
            if request.peer is peer and id(request.message) not in known:
                self.out.append((connection, request.message))
        self.out.extend((connection, message) for message in waiting)
        for match in peer.matches:
            if match.state == "opening" and id(match.open) not in known:
                self.out.append((connection, match.open))
            elif match.asked is not None:
                self.out.append((connection, match.asked))
        for instance in peer.instances.values():
            for match in instance.matches:
                for seat in match.seats:
                    if seat.instance is instance and seat.state == "deciding" and seat.decision:
                        self.out.append((connection, seat.decision))

    def _beat(self, now: float) -> None:
        settings = self.settings
        for peer in list(self._sessions.values()):
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
                self.out.append((peer.connection, m.Ping(peer.ping)))
        for run in self._runs.values():
            if run.finished != run.told:
                run.told = run.finished
                self._send(run.experiment, run.progress())

    def _owes(self, peer: Peer, silence: float) -> bool:
        """Whether the peer is at work on something, and so may be silent.

        Clocks bound how long it may be at work on a turn; a request may take ten times the
        patience.
        """
        if silence < 10 * self.settings.patience and any(
            request.peer is peer for request in self._requests.values()
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

    def _on_ping(self, peer: Peer, message: m.Ping, now: float) -> None:
        self._send(peer, m.Pong(message.number))

    def _on_pong(self, peer: Peer, message: m.Pong, now: float) -> None:
        peer.confirm(message.number)
        peer.complaints = 0
        for instance in peer.instances.values():
            if instance.stalled:
                instance.stalled = False
                self._advance_all(now)

    def _on_bye(self, peer: Peer, message: m.Bye, now: float) -> None:
        self._forget(peer, "left", now)

    def _forget(self, peer: Peer, what: str, now: float) -> None:
        """End a session and everything that depended on it."""
        peer.state = "gone"
        self._sessions.pop(peer.session, None)
        if peer.connection is not None:
            self._connections.pop(peer.connection, None)
            peer.connection = None
        peer.unconfirmed.clear()
        if peer.watching:
            self._watching.remove(peer)
        for number, request in list(self._requests.items()):
            if request.peer is peer:
                del self._requests[number]
                self._answer_error(request, "unavailable", f"{peer.name} {what}")
            elif request.asker is peer:
                request.asker = None
        if peer.role == "experiment":
            for run in [run for run in self._runs.values() if run.experiment is peer]:
                self._finish_run(run, "cancelled", f"the experiment {what}", now)
            for instance in [i for i in self._instances.values() if i.owner is peer]:
                self._dismiss(instance)
        for instance in list(peer.instances.values()):
            instance.gone = True
            self._instances.pop(instance.number, None)
            self._agent_gone(instance, f"{instance.agent} ({peer.name}) {what}", now)
        for match in list(peer.matches):
            self._environment_gone(match, f"environment {peer.name} {what}", now)

    def _agent_gone(self, instance: Instance, what: str, now: float) -> None:
        for run in [run for run in self._runs.values() if instance in run.agents]:
            self._finish_run(run, "failed", what, now, gone=instance)

    def _environment_gone(self, match: Match, what: str, now: float) -> None:
        """Go on without a match, in another one if any peer offers its environment."""
        run: Running = match.run
        if run.state == "over":
            return
        ending = Over("environment-failed", message=what)
        if self._open(run, now, avoid=match.environment) is None and len(run.matches) == 1:
            self._finish_run(run, "failed", what, now, ending=ending)
            return
        if match.playing:
            match.state = "closed"
            self._finish(match, ending, now)
        match.state = "closed"
        self._drop(match)
        if match.environment.state != "gone":
            self._send(match.environment, m.Close(match.number), True)

    def _on_error(self, peer: Peer, error: m.Error, now: float) -> None:
        """Take a peer's word that something went wrong on its side."""
        if error.id is not None:
            request = self._requests.get(error.id)
            if request is not None and request.peer is peer:
                del self._requests[error.id]
                if isinstance(request.message, m.Create) and request.instance is not None:
                    self._forget_instance(request.instance)
                self._answer_error(request, "unavailable", error.message)
        elif error.episode is not None:
            match = self._episodes.get(error.episode)
            if match is None:
                return
            if peer.role == "environment" and match.environment is peer:
                self._finish(match, match.failed(error.code, error.seat, error.message), now)
            elif error.seat is not None and 0 <= error.seat < len(match.seats):
                seat = match.seats[error.seat]
                if seat.instance is not None and seat.instance.peer is peer:
                    self._finish(match, Over("crashed", error.seat, message=error.message), now)
        elif error.match is not None:
            match = self._matches.get(error.match)
            if match is None:
                return
            mine = match.environment is peer or any(
                seat.instance is not None and seat.instance.peer is peer for seat in match.seats
            )
            if mine:
                self._finish_run(match.run, "failed", error.message, now)

    # -- requests to agents and environments --------------------------------------------------------

    def _answer(self, request: Request, body: Any) -> None:
        if request.asker is not None:
            self._reply(request.asker, request.id, body)

    def _answer_error(self, request: Request, code: Code, text: str) -> None:
        if request.asker is not None:
            self._send(request.asker, m.Error(code, text, id=request.id), True)

    def _reply(self, peer: Peer, number: int, body: Any) -> None:
        reply = m.Reply(number, body)
        peer.remember(reply)
        self._send(peer, reply, True)

    def _repeated(self, peer: Peer, number: int) -> bool:
        """Whether a request came before; it is then answered as before, once it was."""
        answer = peer.answered.get(number)
        if answer is not None:
            self._send(peer, answer)
            return True
        return any(r.asker is peer and r.id == number for r in self._requests.values())

    def _request(self, request: Request, number: int) -> None:
        self._requests[number] = request
        self._send(request.peer, request.message, True)

    def _on_reply(self, peer: Peer, reply: m.Reply, now: float) -> None:
        request = self._requests.get(reply.id)
        if request is None or request.peer is not peer:
            return
        del self._requests[reply.id]
        body = reply.body
        if isinstance(request.message, m.Create) and request.instance is not None:
            request.instance.ready = True
            body = {"instance": request.instance.number}
        self._answer(request, body)

    def _on_saved(self, peer: Peer, saved: m.Saved, now: float) -> None:
        request = self._requests.get(saved.id)
        if request is None or request.peer is not peer or not isinstance(request.message, m.Save):
            return
        del self._requests[saved.id]
        if request.keep is not None and request.instance is not None:
            self.kept[request.keep] = saved.state
            self.records.append(Kept(request.keep, request.instance.agent, saved.state))
        if request.asker is not None:
            answer = m.Saved(request.id, saved.state)
            request.asker.remember(answer)
            self._send(request.asker, answer, True)

    def _on_create(self, peer: Peer, create: m.ExperimentCreate, now: float) -> None:
        if self._repeated(peer, create.id):
            return
        makers = [
            each
            for each in self._sessions.values()
            if each.role == "agent"
            and create.agent in each.offers
            and not each.offers[create.agent].instance
            and (create.peer is None or create.peer == each.name)
        ]
        state = create.state
        if create.kept is not None:
            state = self.kept.get(create.kept)
            if state is None:
                self._complain(
                    peer, "unknown", f"nothing is kept under {create.kept!r}", id=create.id
                )
                return
        if not makers:
            where = f" at {create.peer!r}" if create.peer else ""
            self._complain(
                peer,
                "unknown",
                f"no agent type {create.agent!r} is offered{where}; start one with "
                f"`dovetail agent {create.agent}`",
                id=create.id,
            )
            return
        maker = min(makers, key=lambda each: len(each.instances))
        number = next(self._numbers)
        instance = Instance(number, create.agent, maker.offers[create.agent], maker, owner=peer)
        self._instances[number] = maker.instances[number] = instance
        request_number = next(self._numbers)
        message = m.Create(
            request_number, number, create.agent, create.parameters, create.seed, state
        )
        self._request(Request(maker, message, peer, create.id, instance), request_number)

    def _on_instance_request(
        self, peer: Peer, asked: m.Save | m.Load | m.Cleanup, now: float
    ) -> None:
        if self._repeated(peer, asked.id):
            return
        instance = self._instances.get(asked.instance)
        if instance is None:
            self._complain(peer, "unknown", f"there is no agent {asked.instance}", id=asked.id)
            return
        number = next(self._numbers)
        request = Request(instance.peer, asked, peer, asked.id, instance)
        if isinstance(asked, m.Save):
            request.keep = asked.keep
            request.message = m.Save(number, instance.number)
        elif isinstance(asked, m.Load):
            state = asked.state if asked.kept is None else self.kept.get(asked.kept)
            if state is None:
                self._complain(
                    peer, "unknown", f"nothing is kept under {asked.kept!r}", id=asked.id
                )
                return
            request.message = m.Load(number, instance.number, state)
        else:
            if any(run for run in self._runs.values() if instance in run.agents):
                self._complain(
                    peer,
                    "wrong-state",
                    f"agent {instance.number} is in a run; cancel the run first",
                    id=asked.id,
                )
                return
            request.message = m.Cleanup(number, instance.number)
            self._forget_instance(instance)
        self._request(request, number)

    def _forget_instance(self, instance: Instance) -> None:
        instance.gone = True
        self._instances.pop(instance.number, None)
        instance.peer.instances.pop(instance.number, None)

    def _dismiss(self, instance: Instance) -> None:
        self._forget_instance(instance)
        number = next(self._numbers)
        message = m.Cleanup(number, instance.number)
        if instance.peer.state != "gone":
            self._request(Request(instance.peer, message, None, 0), number)

    def _on_message(self, peer: Peer, message: m.ExperimentMessage, now: float) -> None:
        if self._repeated(peer, message.id):
            return
        number = next(self._numbers)
        if message.instance is not None:
            instance = self._instances.get(message.instance)
            if instance is not None:
                out = m.AgentMessage(number, instance.number, message.body)
                self._request(Request(instance.peer, out, peer, message.id, instance), number)
                return
        elif message.run is not None:
            run = self._runs.get(message.run)
            if run is not None and run.matches:
                match = min(run.matches, key=lambda each: each.number)
                body = m.EnvironmentMessage(number, match.number, message.body)
                self._request(Request(match.environment, body, peer, message.id), number)
                return
        self._complain(
            peer,
            "unknown",
            "name the `instance` or the `run` that the message is for",
            id=message.id,
        )

    def _on_lookahead(self, peer: Peer, asked: m.AgentLookahead, now: float) -> None:
        if self._repeated(peer, asked.id):
            return
        match = self._episodes.get(asked.episode)
        seat = None
        if match is not None and 0 <= asked.seat < len(match.seats):
            seat = match.seats[asked.seat]
        if (
            match is None
            or seat is None
            or seat.instance is None
            or seat.instance.peer is not peer
            or seat.state != "deciding"
            or match.turn != asked.turn
        ):
            text = f"seat {asked.seat} has no decision {asked.turn} in episode {asked.episode}"
            self._complain(peer, "wrong-state", text, id=asked.id)
            return
        if not match.rules.lookahead:
            text = "this run allows no lookahead; its field `lookahead` would"
            self._complain(peer, "unavailable", text, id=asked.id)
            return
        number = next(self._numbers)
        out = m.EnvironmentLookahead(
            number, asked.episode, asked.seat, asked.turn, asked.lines, asked.seed
        )
        self._request(Request(match.environment, out, peer, asked.id, seat.instance), number)

    # -- runs ------------------------------------------------------------------------------------------

    def _on_run(self, peer: Peer, asked: m.Run, now: float) -> None:
        if self._repeated(peer, asked.id):
            return
        problem: str | None = None
        agents: list[Instance] = []
        for name in asked.agents:
            instance = self._find_agent(name)
            if instance is None:
                problem = f"there is no agent {name!r}"
                break
            agents.append(instance)
        if asked.seeds is not None and len(asked.seeds) != asked.episodes:
            problem = f"{len(asked.seeds)} seeds for {asked.episodes} episodes; give one each"
        elif not agents and problem is None:
            problem = "a run needs at least one agent"
        elif asked.stepwise and asked.concurrency != 1:
            problem = "a stepwise run plays one episode at a time; concurrency must be 1"
        elif self.stopping:
            problem = "the broker is shutting down"
        if problem is not None:
            self._complain(peer, "unknown", problem, id=asked.id)
            return
        rules = Rules(
            asked.mode,
            asked.clock,
            asked.patience,
            asked.max_turns,
            asked.on_timeout,
            asked.on_illegal,
            asked.check,
            asked.stepwise,
            asked.lookahead,
        )
        run = Running(next(self._numbers), peer, asked, agents, rules)
        for _ in range(min(asked.concurrency, asked.episodes, MATCHES_PER_RUN)):
            if self._open(run, now) is None:
                self._complain(
                    peer,
                    "unknown",
                    f"no environment {asked.environment!r} is offered; start one with "
                    f"`dovetail env {asked.environment}`",
                    id=asked.id,
                )
                return
        self._runs[run.number] = run
        self._reply(peer, asked.id, {"run": run.number})

    def _find_agent(self, name: int | str) -> Instance | None:
        if isinstance(name, int):
            instance = self._instances.get(name)
            return instance if instance is not None and instance.ready else None
        for instance in self._instances.values():
            if instance.offer.instance and instance.agent == name:
                return instance
        return None

    def _open(self, run: Running, now: float, avoid: Peer | None = None) -> Match | None:
        """Open a match at the peer with the fewest that offers the environment; None if none does.

        A peer to ``avoid`` is taken only if there is no other.
        """
        asked = run.asked
        offering = [
            peer
            for peer in self._sessions.values()
            if peer.role == "environment" and asked.environment in peer.offers
        ]
        if not offering:
            return None
        peer = min(offering, key=lambda each: (each is avoid, len(each.matches)))
        number = next(self._numbers)
        opening = m.Open(number, asked.environment, asked.configuration)
        match = Match(number, run, peer, run.rules, opening, self._send, self._resend)
        self._matches[match.number] = match
        run.matches.add(match)
        peer.matches.add(match)
        if run.rules.patience is not None:
            match.deadline = now + run.rules.patience
            self._set_timer(match)
        self._send(peer, opening, True)
        return match

    def _on_spec(self, peer: Peer, spec: m.Spec, now: float) -> None:
        match = self._matches.get(spec.match)
        if match is None or match.environment is not peer or not match.allows("spec"):
            self.counters["ignored"] += 1
            return
        run: Running = match.run
        problem = match.opened(spec)
        if problem is None and spec.seats != len(run.agents):
            problem = (
                f"{run.asked.environment} has {spec.seats} seats as configured, "
                f"and the run names {len(run.agents)} agents"
            )
        if problem is not None:
            self._finish_run(run, "failed", problem, now)
            return
        match.deadline = FOREVER
        run.idle.append(match)
        self._advance(run, now)

    def _advance_all(self, now: float) -> None:
        for run in list(self._runs.values()):
            self._advance(run, now)

    def _advance(self, run: Running, now: float) -> None:
        """Begin whatever episodes can begin, or finish the run."""
        while run.state == "running" and run.idle and run.waiting():
            if run.rules.stepwise and not run.permits:
                break
            seating = run.seating(run.peek())
            busy = set(run.agents)
            if not all(instance.free() for instance in busy):
                break
            if run.rules.stepwise:
                run.permits -= 1
            index = run.take()
            match = run.idle.pop()
            for instance in busy:
                instance.busy += 1
            episode = next(self._numbers)
            self._episodes[episode] = match
            run.playing += 1
            watched = run.rules.stepwise or bool(self._watchers(run))
            match.begin(episode, index, run.seed(index), run.agents, seating, watched, now)
            self._set_timer(match)
        if run.playing == 0 and run.state in ("running", "draining"):
            if run.state == "draining":
                self._finish_run(
                    run, "drained", "the broker is shutting down" if self.stopping else "", now
                )
            elif not run.waiting():
                self._finish_run(run, "finished", "", now)

    def _finish_run(
        self,
        run: Running,
        reason: Any,
        message: str,
        now: float,
        *,
        ending: Over | None = None,
        gone: Instance | None = None,
    ) -> None:
        """End a run: its episodes in progress, its matches, its experiment's wait."""
        if run.state == "over":
            return
        run.state = "over"
        ending = ending or Over("cancelled", message=message)
        for match in sorted(run.matches, key=lambda each: each.number):
            if gone is not None:
                blame = next((s.number for s in match.seats if s.instance is gone), None)
                ending = Over("disconnected", blame, message=message)
            if match.playing:
                self._finish(match, ending, now)
            self._drop(match)
            if match.state != "closed" and match.environment.state != "gone":
                self._send(match.environment, m.Close(match.number), True)
            match.state = "closed"
            match.deadline = FOREVER
        self._runs.pop(run.number, None)
        if run.request is not None:
            self._send(
                run.experiment, m.Error("wrong-state", "the run is over", id=run.request), True
            )
        for peer in self._watching:
            peer.watching.discard(run.number)
        self._watching = [peer for peer in self._watching if peer.watching]
        self._send(run.experiment, m.Done(run.number, run.finished, reason, message), True)

    def _drop(self, match: Match) -> None:
        """Take a match out of every table, and free its seats."""
        run: Running = match.run
        if self._matches.pop(match.number, None) is None:
            return
        match.deadline = FOREVER
        run.matches.discard(match)
        if match in run.idle:
            run.idle.remove(match)
        match.environment.matches.discard(match)
        told = set()
        for seat in match.seats:
            instance = seat.instance
            if instance is not None:
                instance.matches.discard(match)
                if instance.peer not in told and instance.peer.state != "gone":
                    told.add(instance.peer)
                    self._send(instance.peer, m.Leave(match.number), True)

    def _on_run_command(
        self, peer: Peer, command: m.Pause | m.Drain | m.Cancel, now: float
    ) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        kind = cast(str, type(command).__struct_config__.tag)
        if isinstance(command, m.Pause) and command.paused == (run.state == "paused"):
            self._reply(peer, command.id, None)
            return
        state = follow(RUN, run.state, kind)
        if state is None:
            self._complain(
                peer, "wrong-state", f"cannot {kind} a run that is {run.state}", id=command.id
            )
            return
        self._reply(peer, command.id, None)
        if isinstance(command, m.Cancel):
            self._finish_run(run, "cancelled", "the experiment cancelled the run", now)
            return
        run.state = state
        self._advance(run, now)

    def _own_run(self, peer: Peer, command: m.RunCommand) -> Running | None:
        if self._repeated(peer, command.id):
            return None
        run = self._runs.get(command.run)
        if run is None or run.experiment is not peer:
            self._complain(peer, "unknown", f"you have no run {command.run}", id=command.id)
            return None
        return run

    def _on_experiment_start(self, peer: Peer, command: m.ExperimentStart, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        if not run.rules.stepwise or run.playing or run.request is not None or run.permits:
            self._complain(
                peer,
                "wrong-state",
                "start begins an episode of a stepwise run, once the last one is over",
                id=command.id,
            )
            return
        run.request = command.id
        run.permits = 1
        self._advance(run, now)

    def _on_experiment_step(self, peer: Peer, command: m.ExperimentStep, now: float) -> None:
        run = self._own_run(peer, command)
        if run is None:
            return
        match = next((each for each in run.matches if each.state == "decision"), None)
        if not run.rules.stepwise or match is None or run.request is not None:
            self._complain(
                peer,
                "wrong-state",
                "step goes on with an episode of a stepwise run that `start` began",
                id=command.id,
            )
            return
        run.request = command.id
        match.decide(now)
        self._set_timer(match)

    # -- turns ------------------------------------------------------------------------------------------

    def _on_turn(self, peer: Peer, turn: m.Turn, now: float) -> None:
        match = self._episodes.get(turn.episode)
        if (
            match is None
            or match.environment is not peer
            or match.state != "transition"
            or turn.turn != match.turn + 1
        ):
            self.counters["ignored"] += 1
            return
        self.counters["turns"] += 1
        try:
            over = match.transition(turn, now)
        except ProtocolError as error:
            text = f"{peer.name} sent an invalid turn {turn.turn}: {error}"
            self._complain(peer, error.code, text, episode=turn.episode)
            self._finish(match, Over("environment-failed", message=text), now)
            return
        run: Running = match.run
        if self._watching or run.rules.stepwise:
            self._show(match, turn, over, self._watchers(run))
        if over is not None:
            self._finish(match, over, now)
        elif match.deadline < match.timer:
            self._set_timer(match)

    def _on_action(self, peer: Peer, action: m.Action, now: float) -> None:
        match = self._episodes.get(action.episode)
        if match is None:
            self.counters["ignored"] += 1
            self._revive(peer, now)
            return
        seats = match.seats
        number = action.seat
        seat = seats[number] if 0 <= number < len(seats) else None
        if seat is None or seat.instance is None or seat.instance.peer is not peer:
            self.counters["ignored"] += 1
            self._complain(
                peer,
                "illegal",
                f"seat {number} of episode {action.episode} is not yours",
                episode=action.episode,
                seat=number,
            )
            return
        if seat.state != "deciding" or action.turn != match.turn:
            self.counters["ignored"] += 1
            seat.ignored += 1
            return
        over = match.answer(seat, action, now)
        if over is not None:
            self._finish(match, over, now)
        elif match.deadline < match.timer:
            self._set_timer(match)

    def _revive(self, peer: Peer, now: float) -> None:
        stalled = [each for each in peer.instances.values() if each.stalled]
        for instance in stalled:
            instance.stalled = False
        if stalled:
            self._advance_all(now)

    def _overdue(self, match: Match, now: float) -> None:
        if match.state == "opening":
            text = (
                f"environment {match.environment.name} did not open within {match.rules.patience} s"
            )
            self._finish_run(match.run, "failed", text, now)
        elif match.state == "transition":
            text = f"environment {match.environment.name} was silent for {match.rules.patience} s"
            self._environment_gone(match, text, now)
        elif match.playing:
            over = match.overdue(now)
            if over is not None:
                self._finish(match, over, now)

    def _set_timer(self, match: Match) -> None:
        if match.deadline < match.timer:
            match.timer = match.deadline
            heapq.heappush(self._timers, (match.deadline, next(self._numbers), match))

    def _finish(self, match: Match, over: Over, now: float) -> None:
        """End an episode: tell the seats, write it down, tell the experiment, go on."""
        run: Running = match.run
        seats = match.end(over)
        del self._episodes[match.episode]
        for instance in {seat.instance for seat in match.seats if seat.instance is not None}:
            instance.busy -= 1
        run.playing -= 1
        again = not over.scored and run.interrupted(match.index)
        if not again:
            run.finished += 1
        self.counters["episodes"] += 1
        result = m.Episode(
            run.number,
            match.index,
            match.episode,
            match.seed,
            over.reason,
            seats,
            over.outcome,
            over.blame,
            len(match.history),
            over.scored,
            again,
            over.message,
        )
        self.records.append(
            Played(
                result,
                run.asked.environment,
                run.asked.configuration,
                run.rules.mode,
                match.history,
                match.breached,
            )
        )
        self._send(run.experiment, result, True)
        if over.reason not in ("terminated", "truncated") or over.blame is not None:
            watchers = self._watchers(run)
            if match.latest is not None and (watchers or run.request is not None):
                self._show(match, match.latest, over, watchers)
        if run.request is not None:
            number, run.request = run.request, None
            self._send(
                run.experiment,
                m.Error("wrong-state", f"{over.reason}: {over.message}", id=number),
                True,
            )
        if run.state == "over":
            return
        if match.state == "idle":
            run.idle.append(match)
        self._advance(run, now)
        if len(self._runs) > 1:
            self._advance_all(now)

    # -- watching ---------------------------------------------------------------------------------------

    def _watchers(self, run: Running) -> list[Peer]:
        if run.asked.secret:
            return []
        return [
            peer for peer in self._watching if None in peer.watching or run.number in peer.watching
        ]

    def _show(self, match: Match, turn: m.Turn, over: Over | None, watchers: list[Peer]) -> None:
        """Send a turn to those who watch, and to the experiment that drives step by step."""
        run: Running = match.run
        assert match.spec is not None
        rewards = [0.0] * len(match.seats)
        for view in turn.seats:
            rewards[view.seat] = view.reward
        shown = m.WatchedTurn(
            run=run.number,
            match=match.number,
            index=match.index,
            episode=match.episode,
            turn=turn.turn,
            to_act=turn.to_act if over is None else [],
            actions=match.history[-1] if match.history else [],
            rewards=rewards,
            observations=[(view.seat, view.observation) for view in turn.seats]
            if match.spec.perfect_information
            else [],
            agents=[seat.instance.agent for seat in match.seats if seat.instance is not None],
            terminated=turn.terminated,
            truncated=turn.truncated,
            outcome=turn.outcome if over is None else over.outcome,
            reason=None if over is None else over.reason,
            text=turn.text,
        )
        for peer in watchers:
            self._send(peer, shown)
        if run.request is not None:
            number, run.request = run.request, None
            self._reply(run.experiment, number, shown)

    def _on_watch(self, peer: Peer, watch: m.Watch, now: float) -> None:
        if watch.run is not None and watch.run not in self._runs:
            self._complain(peer, "unknown", f"there is no run {watch.run}", id=watch.id)
            return
        if watch.on:
            peer.watching.add(watch.run)
        else:
            peer.watching.discard(watch.run)
        self._watching = [each for each in self._sessions.values() if each.watching]
        self._reply(peer, watch.id, None)

    def _on_catalogue(self, peer: Peer, asked: m.Catalogue, now: float) -> None:
        self._reply(peer, asked.id, self.catalogue())

    def catalogue(self) -> dict[str, Any]:
        """Return what is connected; the form is SPEC.md's."""
        peers = self._sessions.values()
        return {
            "peers": [
                {"name": p.name, "role": p.role, "state": p.state, "software": p.software}
                for p in peers
            ],
            "environments": [
                {"peer": p.name, **msgspec.to_builtins(offer)}
                for p in peers
                if p.role == "environment"
                for offer in p.offers.values()
            ],
            "agents": [
                {"peer": p.name, **msgspec.to_builtins(offer)}
                for p in peers
                if p.role == "agent"
                for offer in p.offers.values()
            ],
            "instances": [
                {"instance": i.number, "agent": i.agent, "peer": i.peer.name, "busy": i.busy}
                for i in self._instances.values()
                if i.ready
            ],
            "runs": [
                {
                    "run": r.number,
                    "environment": r.asked.environment,
                    "agents": [i.agent for i in r.agents],
                    "state": r.state,
                    "finished": r.finished,
                    "playing": r.playing,
                    "episodes": r.asked.episodes,
                }
                for r in self._runs.values()
            ],
            "kept": sorted(self.kept),
            "counters": dict(self.counters),
        }


__all__ = ["SESSION", "Core", "Settings"]
