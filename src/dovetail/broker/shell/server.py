"""The broker at work: the core, its journal, a ROUTER socket, and peers in this process.

The shell moves messages and tells the time; it decides nothing.  Remote peers are at the socket.
Local peers are hosts in this process, called directly with the messages.  The core cannot tell them
apart, so any mix of roles inside and outside plays the same episodes.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections import deque
from collections.abc import Sequence

from dovetail import transport
from dovetail.broker.core.core import Settings
from dovetail.broker.core.intake import AT_ONCE, Intake, Local, halves
from dovetail.broker.durable.journal import Journal
from dovetail.broker.durable.write_ahead_log import Live, fresh
from dovetail.broker.peers.access import Access
from dovetail.broker.peers.outbox import Address, Audience
from dovetail.broker.shell.held_output import RETRY, HeldOutput
from dovetail.broker.shell.large_frames import LARGE, LargeFrames
from dovetail.broker.shell.watcher_queue import BEHIND, WatcherQueue, encode
from dovetail.peer.cores import Cores
from dovetail.peer.host import Host
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError

log = logging.getLogger("dovetail.broker")

ROUNDS = 64
"""Exchanges with local peers before it is the remote peers' turn."""
EXACT = 0.01
"""Seconds between two checks for a new deadline while local peers are exchanging."""
STALL = 1.0
"""Seconds from which a wait of at most ``WAIT`` must have been a stop of this process."""
WAIT = 0.5
"""Maximum seconds of a wait for input."""


class Server:
    """A broker for peers at an address, in this process, or both. ``bind`` is the address or a
    listening router.

    Raises:
        DovetailError: it cannot be bound, or a file cannot be written.
    """

    def __init__(
        self,
        bind: str | transport.AnyRouter | None = None,
        settings: Settings | None = None,
        journal: Journal | None = None,
        live: Live | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.journal = journal
        self._live = live
        self._secret = secrets.token_bytes(16)
        self._offset = 0.0  # seconds by which the core's time is ahead of the system's
        self._last = time.monotonic()
        self._still = False  # True if answers of local peers are waiting for a local experiment
        frame = self.settings.limits.frame
        router = transport.listen(bind, frame) if isinstance(bind, str) else bind
        self._router: transport.AnyRouter | None = router
        self.address = None if router is None else router.address
        self.web_address = "" if router is None else router.web_address
        self._begin()
        self._held = HeldOutput(self._tell)
        self._local: deque[tuple[Local, Sequence[m.Message | bytes]]] = deque()
        self._watchers = WatcherQueue(self._show, self._behind, self.core.broker.out)
        self._exchanging = False  # true while ``_exchange`` counts the time that local peers take
        self._told = False  # True if a local peer without a host was sent a message in this round
        self._intake = Intake(self.core)
        self._large = LargeFrames()
        self._cores = Cores()

    def _begin(self) -> None:
        """Create the core, or restore the one of a broker that was killed."""
        live = self._live
        try:
            restored = None if live is None else live.restore(self.settings)
            if restored is not None:
                self.core, self._secret, then = restored
                self._offset, self._last = then - time.monotonic(), then
            else:
                self.core = fresh(self.settings, self._secret, self.journal)
            if live is not None:
                live.begin(self.core, self._secret, self._now())
        except OSError as error:
            raise DovetailError(f"cannot write {live and live.path}: {error.strerror}") from None

    def attach(self, host: Host, name: str = "") -> Local:
        local = Local(host)
        hello = m.Hello(m.VERSION, host.role, name, host.offers(), self.settings.token)
        self._local.append((local, [hello]))
        return local

    def post(self, local: Local, messages: Sequence[m.Message | bytes]) -> None:
        """Queue messages or frames of a local peer for ``pump``."""
        self._local.append((local, messages))

    def allow(self, access: Access | None) -> None:
        """Apply a changed access file; None only checks the access tokens again."""
        now = self._now()
        if self._live is not None and access is not None:
            self._live.events.append((now, None, access))
        self.core.allow(access, now)

    def pump(self, timeout: float) -> None:
        """Handle pending input and output, waiting up to ``timeout`` seconds for some."""
        core, watchers = self.core, self._watchers
        now = self._now()
        self._told = False
        if self._local:
            now = self._exchange(now)
            if self._local or self._told:
                timeout = 0.0
        if self._router is not None:
            if watchers.waiting:
                timeout = min(timeout, watchers.wait)
            self._read(self._router, timeout, now)
        elif timeout > 0 and not core.broker.out.messages and not self._held.said:
            time.sleep(max(0.0, min(timeout, core.deadline() - now, 0.1)))
        if now >= core.deadline() and not self._local:  # what was said is taken in first
            self._tick(now)
        self._commit(now)
        if watchers.waiting and watchers.wait <= 0:
            watchers.flush()
        if core.broker.dropped:
            if self._router is not None:
                for connection, why in core.broker.dropped.items():
                    self._router.drop(connection, why)
            core.broker.dropped.clear()
        if self._live is not None and self._live.full and not self._held.said:
            self._live.renew(self.core, self._secret, now)
        self._still = self._told and bool(self._local)

    def _exchange(self, now: float) -> float:
        """Exchange messages with local peers; return the time afterwards."""
        core, said, held, live = self.core, self._local, self._held, self._live
        broker, clock, hear = core.broker, time.monotonic, self._intake.hear
        self._exchanging = True
        until = min(core.deadline(), now + EXACT)
        for _ in range(ROUNDS):
            if not said or self._told or held.said:
                break
            for _ in range(len(said)):
                local, messages = said.popleft()
                if live is None:
                    hear(local, messages, now)
                    continue
                frames = [local.frame(message, core) for message in messages]
                live.events.append((now, [live.name(local), *frames]))
                self._intake.take(local, frames, now)
            if now >= until and now >= core.deadline():
                self._tick(now)
            out = broker.out.messages
            to = out[0][0] if len(out) == 1 and live is None and not broker.records else None
            if type(to) is Local and to.host is not None and not held.retry:
                # A shortcut for ``_commit`` that takes a third of its time in most turns.
                if answers := to.host.handle([out.pop()[1]]):
                    said.append((to, answers))
            else:
                self._commit(now)
            now = clock() + self._offset  # what hosts took counts
        self._last = now
        self._exchanging = False
        return now

    def _tick(self, now: float) -> None:
        if self._live is not None:
            self._live.events.append((now,))
        self.core.tick(now)

    def _now(self) -> float:
        """Return the core's time, which excludes stops of this process and ``_still`` rounds."""
        now = time.monotonic() + self._offset
        if self._still or now - self._last > STALL:
            self._still = False
            self._offset -= now - self._last
            now = self._last
        self._last = now
        return now

    def _read(self, router: transport.AnyRouter, timeout: float, now: float) -> None:
        core = self.core
        if timeout > 0:
            timeout = max(0.0, min(timeout, core.deadline() - now, WAIT))
        router.relax(core.idle)
        events = router.receive(timeout)
        arrived = self._now()
        live = self._live
        for connection, frames in events:
            if core.role(connection) is None:
                self._meet(router, connection, frames, arrived)
                continue
            if frames is None:
                if live is not None:
                    live.events.append((arrived, connection, None))
                core.lost(connection, arrived)
                continue
            size = sum(map(len, frames))
            large = size > LARGE
            begun = time.monotonic() if large else 0.0
            many = len(frames) > 1 and self._cores.several(arrived)
            for half, portion in enumerate(halves(frames, many)):
                if half:
                    self._commit(arrived)  # peers have work meanwhile
                if live is not None:
                    live.events.append((arrived, [connection, *portion]))
                self._intake.take(connection, portion, arrived)
            if self._held.said and not self._held.takes(connection, size):
                core.broker.slowed[connection] = RETRY
            if large:  # its sender has work before the next connection is read
                self._commit(arrived)
                took = time.monotonic() - begun
                if wait := self._large.wait(connection, size, took, core.runs):
                    before = core.broker.slowed.get(connection, 0.0)
                    core.broker.slowed[connection] = max(wait, before)
        while core.broker.slowed:  # also those without a session
            router.pause(*core.broker.slowed.popitem())

    def _meet(
        self, router: transport.AnyRouter, connection: bytes, frames: list[bytes] | None, now: float
    ) -> None:
        """Handle frames of an unauthenticated connection; log those that affect a session."""
        if frames is None:
            self.core.lost(connection, now)
            return
        begun = time.thread_time()
        broker, taken = self.core.broker, 0
        before = broker.next, len(broker.sessions)
        while taken < len(frames) and connection not in broker.dropped:
            self._intake.take(connection, frames[taken : taken + AT_ONCE], now)
            taken += AT_ONCE
        router.charge(time.thread_time() - begun)
        if known := self.core.role(connection) is not None:
            router.authenticate(connection)
        # One that has left again has used numbers, or ended the session that it came back to.
        if self._live is not None and (known or before != (broker.next, len(broker.sessions))):
            self._live.events.append((now, [connection, *frames[:taken]]))

    def _commit(self, now: float) -> None:
        """Write the records, then send the messages."""
        records, out = self.core.take_shared()
        held = self._held
        if not (out or records or held.said):
            return
        if self.journal is not None:
            if held.said:
                held.add(out)
                if now < held.retry and not records:
                    return
                out = held.release()
            if records or held.retry or self._live is not None:
                if records:
                    self.journal.add(records)
                try:
                    if self._live is not None and self._live.events:
                        self._live.flush()
                    self.journal.flush()
                    if held.retry:
                        held.over()
                except OSError as error:
                    self._hold(out, error, now)
                    return
        self._tell(out)

    def _hold(self, out: list[tuple[Address, m.Message]], error: OSError, now: float) -> None:
        """Hold back everything but heartbeats until the journal can be written again."""
        assert self.journal is not None
        text = f"cannot write the journal {self.journal.path}: {error.strerror}"
        text = f"{text}; the broker waits until it can be written; make room"
        if not self._held.retry:
            log.error(text)
        peers = self.core.broker.connections.items()
        experiments = [address for address, peer in peers if peer.role == "experiment"]
        self._held.begin(out, text, experiments, now)

    def _tell(self, out: list[tuple[Address, m.Message]]) -> None:
        watchers = self._watchers
        if len(out) == 1 and not watchers.waiting:
            [(to, message)] = out
            if type(to) is not Audience:
                self._pass(to, [message])
                return
        bundles: dict[Address, list[m.Message]] = {}
        for connection, message in out:
            if type(connection) is Audience:
                watchers.add(connection, message)
                continue
            if watchers.waiting and (missed := watchers.catch_up(connection)):
                self._pass(connection, bundles.pop(connection, []))
                self._show([connection], [each for each, _ in missed], [each for _, each in missed])
            bundles.setdefault(connection, []).append(message)
        for connection, bundle in bundles.items():
            self._pass(connection, bundle)

    def _pass(self, address: Address, messages: list[m.Message]) -> None:
        if type(address) is Local:
            self._deliver(address, messages)
        elif (frames := encode(messages)) and self._router is not None:
            self._router.send(address, frames)

    def _show(self, to: list[Address], messages: list[m.Message], frames: list[bytes]) -> None:
        """Send queued messages to watchers."""
        for address in to:
            if type(address) is Local:
                self._deliver(address, messages)
        remote = [each for each in to if type(each) is not Local]
        if remote and self._router is not None:
            self._router.spread(remote, frames)

    def _deliver(self, local: Local, messages: list[m.Message]) -> None:
        if local.host is None:
            local.inbox.extend(messages)
            self._told = True
            return
        begun = 0.0 if self._exchanging else time.monotonic()
        if answers := local.host.handle(messages):
            self._local.append((local, answers))
        if begun:  # the host's time counts, in a round that does not look at the clock itself
            self._last += time.monotonic() - begun

    def _behind(self, connection: Address) -> bool:
        """Return whether a watcher reads too slowly."""
        return self._router is not None and self._router.waiting(connection) > BEHIND

    def stop(self) -> None:
        """Start no new episodes."""
        now = self._now()
        if self._live is not None:
            self._live.events.append((now, None, None))
        self.core.stop(now)

    def close(self) -> None:
        """End all work in progress, tell every peer, and close socket and journal."""
        now = self._now()
        self.core.close(now)
        self._held.retry = 0.0
        self._commit(now)
        self._watchers.flush()
        self._release(self.core.broker.next, discard=not self._held.said)

    def abandon(self) -> None:
        """Close socket and files without a word to peers, leaving work in progress on disk."""
        # A record that the core did not decide would be taken for one that it did.
        self._release(0 if self._live is not None else self.core.broker.next, discard=False)

    def _release(self, number: int, *, discard: bool) -> None:
        if self._live is not None:
            self._live.close(discard=discard)
        if self._router is not None:
            self._router.close()
            self._router = None
        if self.journal is not None:
            self.journal.close(number)
