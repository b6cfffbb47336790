"""The broker under a simulator: a third shell, in which everything that can go wrong does.

Real cores, sessions and hosts exchange real frames over simulated connections that delay, break
(and lose what was under way), repeat frames, and over programs that die and come back.  Time is
simulated, and every choice comes from one seed, so that a schedule that fails can be run again.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.core.intake import Intake
from dovetail.broker.durable import snapshot
from dovetail.broker.durable.write_ahead_log import Event, replay
from dovetail.peer.session import Session
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.journal import AnyRecord

LOOK = 0.25
"""Simulated seconds between looks at whether connections are silent."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often things go wrong: probabilities per frame, times in simulated seconds."""

    cut: float = 0.0
    """The connection breaks and what is under way on it is lost."""
    repeat: float = 0.0
    """A frame arrives twice."""
    death: float = 0.0
    """The program dies without a word."""
    rubbish: float = 0.0
    """A frame of random bytes precedes it."""
    delay: float = 0.01
    """Longest way of a frame."""
    absence: float = 12.0
    """Longest time until a program reconnects, or another takes the place of a dead one."""
    kill: float = 0.0
    """The broker dies before, in the middle of, or after writing down and sending; another
    starts."""
    outage: float = 6.0
    """Longest time until it does."""
    snapshot: float = 0.02
    """The broker takes a snapshot."""
    disk: float = 0.0
    """The disk refuses, for up to a second."""
    stall: float = 0.0
    """The broker, or the program that a frame is for, stands still, as if suspended."""
    asleep: float = 6.0
    """Longest time until it moves on."""


class Program(Protocol):
    """The program at the far end of a simulated connection."""

    role: m.Role

    def offers(self) -> list[m.Offer]:
        """Return what others can ask for."""
        ...

    def handle(self, incoming: Sequence[m.Message]) -> list[m.Message]:
        """Take messages; return the answers."""
        ...


@dataclass(eq=False, slots=True)
class Wire:
    """One program and its present connection."""

    make: Callable[[], Program]
    mortal: bool
    program: Program
    session: Session
    connection: int = 0
    up: float = 0.0
    """When the last frame to the broker arrives; frames do not overtake one another."""
    down: float = 0.0
    asleep: float = 0.0
    """Until when the program stands still."""
    alive: bool = True


class Simulator:
    """One schedule.

    Args:
        seed: the seed of every choice.
        faults: the frequencies of faults.
        settings: the broker's; those here give up on peers within seconds.
    """

    def __init__(self, seed: int, faults: Faults, settings: Settings | None = None) -> None:
        self.faults = faults
        self.settings = settings or Settings(grace=5.0, peer_timeout=8.0)
        self.now = 0.0
        self.faulty = True
        """Set it to False to let everything end in peace."""
        self.core = Core(self.settings, b"simulated")
        self.records: list[AnyRecord] = []
        """The journal."""
        self.kills = 0
        """How often the broker died."""
        self._random = random.Random(seed)
        self._order = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._wires: list[Wire] = []
        self._by_connection: dict[int, Wire] = {}
        self._connections = itertools.count(1)
        self._intake = Intake(self.core)
        self._taken: list[Event] = []
        """Events that the core took in and that are not written down."""
        self._written: list[Event] = []
        self._snapshot = snapshot.write(self.core, {})
        self._recorded = 0
        """The length of the journal at the time of the snapshot."""
        self._began = 0.0
        """The core's time at the snapshot."""
        self._look = 0.0
        """When to look next for connections that are silent."""
        self._lag = 0.0
        """How far the core's clock is behind: the time in which the broker did not run."""
        self._down = 0.0
        """Until when it does not."""
        self._broken = 0.0
        """Until when the disk refuses."""
        self._held: list[tuple[Any, m.Message]] = []
        self._waiting: list[AnyRecord] = []

    # -- programs --------------------------------------------------------------------------------

    def add(self, make: Callable[[], Program], *, mortal: bool = True) -> Wire:
        """Start a program; ``make`` makes another when a mortal one died."""
        program = make()
        wire = Wire(make, mortal, program, self._session(program))
        self._wires.append(wire)
        self._connect(wire)
        return wire

    def _session(self, program: Program) -> Session:
        return Session(m.Hello(m.VERSION, program.role, offers=program.offers()))

    def _connect(self, wire: Wire) -> None:
        if not wire.alive:
            return
        wire.connection = next(self._connections)
        self._by_connection[wire.connection] = wire
        wire.up = wire.down = self.now
        self._to_broker(wire, [wire.session.greet(self.now)])

    def _cut(self, wire: Wire) -> None:
        """Break the connection; the broker may or may not be told at once."""
        connection, wire.connection = wire.connection, 0
        del self._by_connection[connection]
        if self._random.random() < 0.5:
            self._at(self._wait(1.0), lambda: self._lost(connection))
        self._at(self._wait(self.faults.absence), lambda: self._connect(wire))

    def _die(self, wire: Wire) -> None:
        connection, wire.connection = wire.connection, 0
        del self._by_connection[connection]
        wire.alive = False
        self._at(self._wait(1.0), lambda: self._lost(connection))
        if self._random.random() < 0.8:

            def replace() -> None:
                wire.program = wire.make()
                wire.session = self._session(wire.program)
                wire.alive = True
                self._connect(wire)

            self._at(self._wait(self.faults.absence), replace)

    # -- frames ----------------------------------------------------------------------------------

    def _at(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + delay, next(self._order), action))

    def _wait(self, longest: float) -> float:
        return self._random.random() * longest

    def _to_broker(self, wire: Wire, frames: Sequence[bytes]) -> None:
        connection = wire.connection
        if not connection:
            return
        for frame in frames:
            for each in self._mangled(frame):
                wire.up = max(wire.up, self.now + self._wait(self.faults.delay))
                self._at(wire.up - self.now, lambda e=each: self._arrive(connection, e))  # type: ignore[misc]

    def _to_peer(self, connection: int, frame: bytes) -> None:
        wire = self._by_connection.get(connection)
        if wire is None:
            return
        for each in self._mangled(frame):
            wire.down = max(wire.down, self.now + self._wait(self.faults.delay))
            self._at(wire.down - self.now, lambda e=each: self._deliver(connection, e))  # type: ignore[misc]

    def _mangled(self, frame: bytes) -> list[bytes]:
        if not self.faulty:
            return [frame]
        chance = self._random.random
        out = [frame]
        if chance() < self.faults.rubbish:
            out.insert(0, self._random.randbytes(self._random.randrange(1, 30)))
        if chance() < self.faults.repeat:
            out.append(frame)
        return out

    def _lost(self, connection: int) -> None:
        if self.now < self._down:
            self._at(self._down - self.now, lambda: self._lost(connection))
            return
        self._taken.append((self._time(), connection, None))
        self.core.lost(connection, self._time())

    def _arrive(self, connection: int, frame: bytes) -> None:
        if connection not in self._by_connection:
            return
        if self.now < self._down:
            self._at(self._down - self.now, lambda: self._arrive(connection, frame))
            return
        self._taken.append((self._time(), [connection, frame]))
        self._intake.take(connection, [frame], self._time())

    def _deliver(self, connection: int, frame: bytes) -> None:
        wire = self._by_connection.get(connection)
        if wire is None:
            return
        awake = self.now >= wire.asleep
        if awake and self.faulty and self._random.random() < self.faults.stall:
            wire.asleep = self.now + self._wait(self.faults.asleep)
        if self.now < wire.asleep:
            self._at(wire.asleep - self.now, lambda: self._deliver(connection, frame))
            return
        if self.faulty and wire.mortal and self._random.random() < self.faults.death:
            self._die(wire)
            return
        if self.faulty and self._random.random() < self.faults.cut:
            self._cut(wire)
            return
        try:
            messages, answers = wire.session.receive([frame], self.now)
        except DovetailError:
            return
        answers += [codec.encode(answer) for answer in wire.program.handle(messages)]
        self._to_broker(wire, answers)

    # -- time ------------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool], longest: float) -> bool:
        """Let time pass until a condition holds; return whether it did within ``longest``
        seconds."""
        end = self.now + longest
        while not until():
            wakes = max(self.core.deadline() + self._lag, self._down)
            due = min(self._events[0][0] if self._events else end, wakes)
            if due >= end:
                return until()
            self.now = max(self.now, due)
            if self._events and self._events[0][0] <= self.now:
                heapq.heappop(self._events)[2]()
            due = self.core.deadline()
            if due + self._lag <= self.now and self.now >= self._down:
                time = max(due, self._time())
                self._taken.append((time,))
                self.core.tick(time)
            self._reconnect_silent()
            if self.now >= self._down:
                self._commit()
        return True

    def _time(self) -> float:
        """Return the core's time."""
        return self.now - self._lag

    def _reconnect_silent(self) -> None:
        if self.now < self._look:
            return
        self._look = self.now + LOOK
        for wire in self._wires:
            awake = wire.alive and self.now >= wire.asleep
            if awake and wire.connection and wire.session.silent(self.now):
                del self._by_connection[wire.connection]
                self._connect(wire)

    def _commit(self) -> None:
        """Write down, then tell, unless something goes wrong."""
        records, out = self.core.take()
        self._waiting += records
        self._held += out
        if self.faulty and self._random.random() < self.faults.disk:
            self._broken = self.now + self._wait(1.0)
        if self.now < self._broken:
            self._at(self._broken - self.now, lambda: None)
            return
        if not self._held and not self._waiting:
            return
        if self.faulty and self._random.random() < self.faults.kill:
            self._kill(self._random.randrange(4))
            return
        self._write(len(self._waiting))
        self._send(len(self._held))
        if self._random.random() < self.faults.snapshot:
            self._take_snapshot()
        if self.faulty and self._random.random() < self.faults.stall:
            stalled = self._wait(self.faults.asleep)
            self._down = self.now + stalled
            self._lag += stalled  # as the shell, whose clock leaves such a time out

    def _take_snapshot(self) -> None:
        self._snapshot = snapshot.write(self.core, {})
        self._written.clear()
        self._recorded = len(self.records)
        self._began = max(self._began, self._time())

    def _write(self, records: int) -> None:
        self._written += self._taken
        self._taken.clear()
        self.records += self._waiting[:records]
        del self._waiting[:records]

    def _send(self, messages: int) -> None:
        for connection, message in self._held[:messages]:
            assert isinstance(connection, int)
            self._to_peer(connection, codec.encode(message))
        del self._held[:messages]

    def _kill(self, stage: int) -> None:
        """End the broker before, between, or after its writing and sending; start another."""
        if stage >= 1:
            self._write(self._random.randrange(len(self._waiting) + 1))
        if stage >= 2:
            self._write(len(self._waiting))
            self._send(self._random.randrange(len(self._held) + 1))
        self.kills += 1
        self._taken.clear()
        self._waiting.clear()
        self._held.clear()
        before, self._by_connection = self._by_connection, {}
        for wire in before.values():
            wire.connection = 0
        outage = self._wait(self.faults.outage)
        self.core = Core(self.settings, b"simulated")
        snapshot.read(self._snapshot, self.core, lambda name: None)
        self._intake = Intake(self.core)
        records, now = replay(self.core, self._written, lambda address: address)
        self.records += records[len(self.records) - self._recorded :]
        now = max(now, self._began)
        self._lag = self.now + outage - now
        self._down = self.now + outage
        self.core.restarted(now)
        self.records += self.core.take()[0]
        self._take_snapshot()
        for wire in before.values():
            self._at(outage + self._wait(4.0), lambda w=wire: self._return(w))  # type: ignore[misc]

    def _return(self, wire: Wire) -> None:
        if not wire.connection:
            self._connect(wire)
