"""Ray as an engine: pieces are streaming tasks, hosts are actors.  No other module here uses Ray.

Recovery is left to Dovetail: Ray retries nothing, and results from an abandoned worker are not
read.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from dovetail.peer.extras import needed
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.engines import nodes
from dovetail_experiments.engines.hosts import HostLost, HostOrder, NotStarted
from dovetail_experiments.engines.nodes import Outfit
from dovetail_experiments.engines.pieces import (
    PieceDone,
    PieceEvent,
    PieceFailed,
    PieceLost,
    Yielded,
)
from dovetail_experiments.engines.station import Station
from dovetail_experiments.files.file import Resources
from dovetail_experiments.stages.processes import EndCause, ProgramEnd

log = logging.getLogger("dovetail")

REACH = 5.0
"""Seconds the cluster has to accept a connection."""
JOIN = 30.0
"""Seconds the cluster has to admit this program."""
WATCH = 2.0
"""Seconds between checks that the head is alive."""
GONE = 15.0
"""Seconds without an answer after which the head counts as gone."""
# To wait for a head that restarts gains nothing: Ray keeps a cluster's state in the head's memory
# (or in Redis, if the user runs one), so the new head knows neither this driver nor its workers.
REFUSED = 1.0
"""Seconds of refused connections after which it does; the raylet beside it ends the driver without
a word as soon as that uses it."""
ORPHANED = WATCH + REACH
"""Seconds that a worker waits longer: the driver must not take its workers for lost first."""
LOOK = 0.5
"""Seconds between checks for results."""
ASK = 0.2
"""Seconds between questions to a host; each takes time of its core, on which its broker plays."""
CHECK = 60.0
"""Seconds that nodes have to check their requirements."""
HALT = 6.0
"""Seconds that all hosts together have to stop their programs."""
STOP = 10.0
"""Seconds that a host has to send a part of a file, or to remove its files."""
AHEAD = 4
"""Maximum unread values of a piece before it pauses."""
CURRENT = "ray/ray_current_cluster"
"""File below the temporary folder with the address of this machine's cluster."""

Answer = tuple[str, Any]
"""An item that a piece yields through Ray: ``value`` or ``error``, and its content."""


@contextmanager
def opened(where: str, outfit: Outfit) -> Iterator[RayEngine]:
    """Join a cluster, and check that all of its nodes can play.

    Args:
        where: HOST:PORT of its head; empty for this machine's cluster.

    Raises:
        DovetailError: there is no cluster, or a node lacks something.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = needed("ray")
    address = where or _current()
    _reach(address)
    handlers = [(each, signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGTERM)]
    try:
        _join(ray, address)
        for number, handler in handlers:
            signal.signal(number, handler)
        with _watched(address):
            engine = RayEngine(ray, outfit)
            engine.check()
            yield engine
    finally:
        with _interrupted_by(handlers):
            ray.shutdown()


@contextmanager
def _interrupted_by(handlers: list[tuple[Any, Any]]) -> Iterator[None]:
    try:
        yield
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)


def _current() -> str:
    """Return the address of the cluster that runs on this machine.

    Raises:
        DovetailError: there is none.
    """
    found = os.environ.get("RAY_ADDRESS", "")
    if found in ("", "auto", "local"):
        folder = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
        with suppress(OSError):
            found = Path(folder, CURRENT).read_text(encoding="utf-8").strip()
    if not found or found in ("auto", "local"):
        raise DovetailError(
            "no Ray cluster runs on this machine; start one with `ray start --head`, or name its "
            "head with --on ray:HOST:PORT"
        )
    return found


def _reach(address: str) -> None:
    """Check that a program listens at the head's address."""
    try:
        _connect(address)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DovetailError(
            f"no Ray cluster answers at {address} ({why}); start its head with `ray start --head`, "
            "or name another with --on ray:HOST:PORT"
        ) from None


def _connect(address: str) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), REACH).close()


def _end(text: str) -> NoReturn:
    """Exit, although the main thread waits in Ray; the store loses no data."""
    sys.stderr.write(f"dovetail: {text}\n")
    sys.stderr.flush()
    os._exit(1)


def _lost(address: str, over: threading.Event, longer: float = 0.0) -> bool:
    """Wait until the head is gone, or ``longer``; return False if ``over`` is set before."""
    heard = time.monotonic()
    while not over.wait(WATCH):
        now = time.monotonic()
        try:
            _connect(address)
            heard = now
        except OSError as error:
            least = REFUSED if isinstance(error, ConnectionRefusedError) else GONE
            if now - heard > least + longer:
                return True
    return False


@cache
def _end_with_head(address: str) -> None:
    """Make this worker, with its programs, end soon after the head; Ray waits a minute."""

    def watch() -> None:
        if _lost(address, threading.Event(), ORPHANED):
            os._exit(1)

    threading.Thread(target=watch, name="head", daemon=True).start()


@contextmanager
def _watched(address: str) -> Iterator[None]:
    """Exit if the head is gone, as all calls of Ray would block."""
    over = threading.Event()

    def watch() -> None:
        if _lost(address, over):
            _end(
                f"the head of the Ray cluster at {address} is gone; run the command again "
                "(`dovetail run` with --resume) once a cluster runs, or without --on"
            )

    threading.Thread(target=watch, name="head", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _join(ray: Any, address: str) -> None:
    failed: list[BaseException] = []
    over = threading.Event()

    def late() -> None:
        """Exit if joining takes too long: Ray waits for minutes if the address is not a head's."""
        if not over.wait(JOIN):
            _end(
                f"the program at {address} is not the head of a cluster of Ray {ray.__version__}, "
                f"or takes over {JOIN:g} s; name the head with --on ray:HOST:PORT, and install its "
                "version of Ray"
            )

    threading.Thread(target=late, name="late", daemon=True).start()
    try:
        ray.init(
            address=address,
            logging_level=logging.ERROR,
            log_to_driver=False,
            configure_logging=False,
        )
    except Exception as error:
        failed.append(error)
    finally:
        over.set()
    with suppress(AttributeError):  # it prints pages for each dead node; the events need a line
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
    if failed:
        raise DovetailError(
            f"cannot join the Ray cluster at {address} with Ray {ray.__version__}: "
            f"{_line(failed[0])}"
        ) from None


def _line(error: BaseException) -> str:
    """Return an error of Ray as one line."""
    lines = [each.strip() for each in str(error).strip().splitlines() if each.strip()]
    if lines and lines[0].startswith("Version mismatch"):
        return " ".join(lines)[:400]
    first = lines[0] if lines else type(error).__name__
    return re.split(r"[.,]? (?:node ID|This can happen)", first)[0][:300]


class RayEngine:
    """A cluster that this program has joined."""

    def __init__(self, ray: Any, outfit: Outfit) -> None:
        self._ray = ray
        self._outfit = ray.put(msgspec.msgpack.encode(outfit))
        """Stored once per node, however many pieces run there."""
        self._versions = outfit.versions
        alive = [each for each in ray.nodes() if each["Alive"]]
        self.slots = int(ray.cluster_resources().get("CPU", 0))
        self.about = f"on Ray: {len(alive)} nodes with {self.slots} CPUs"

    def check(self) -> None:
        """Check that all nodes can play.

        Raises:
            DovetailError: a node cannot; the message names it.
        """
        ray = self._ray
        strategies = ray.util.scheduling_strategies
        alive = {each["NodeID"]: each for each in ray.nodes() if each["Alive"]}

        def probe(outfit: bytes) -> str:
            # Passed by value, as the node may not have Dovetail.
            try:
                from dovetail_experiments.engines import ray as here
            except ImportError as error:
                return f"{type(error).__name__}: {error}"
            return str(here.fitted(outfit))

        task = ray.remote(probe)
        waiting = {
            task.options(
                num_cpus=0,
                max_retries=0,
                scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(each, soft=False),
            ).remote(self._outfit): found
            for each, found in alive.items()
        }
        ready, late = ray.wait(list(waiting), num_returns=len(waiting), timeout=CHECK)
        for each in ready:
            name = waiting[each]["NodeManagerHostname"]
            try:
                wrong = ray.get(each)
            except Exception as error:
                log.warning("node %s cannot be used now: %s", name, _line(error))
                continue
            if wrong.startswith(("ModuleNotFoundError", "ImportError")):
                here = self._versions["Dovetail"]
                raise DovetailError(
                    f"node {name} has no Dovetail like this machine's ({here}): {wrong}; install "
                    "it there with: pip install 'dovetail[all,ray]'"
                )
            if wrong:
                raise DovetailError(wrong)
        for each in late:
            name = waiting[each]["NodeManagerHostname"]
            log.warning("node %s did not answer within %g s", name, CHECK)

    def _there(self, resources: Resources) -> dict[str, Any]:
        """Return Ray's options for resources.

        Raises:
            DovetailError: no node has them, so Ray would wait forever.
        """
        wanted = {"CPU": resources.cpus, "GPU": resources.gpus, "memory": resources.bytes}
        found = [each["Resources"] for each in self._ray.nodes() if each["Alive"]]
        for name, amount in wanted.items():
            most = max((each.get(name, 0.0) for each in found), default=0.0)
            if amount > most:
                raise DovetailError(
                    f"a piece of work needs {amount:g} {name}, and the largest node of the "
                    f"cluster has {most:g}; change [processes] resources, or add a node"
                )
        return {
            "num_cpus": resources.cpus,
            "num_gpus": resources.gpus,
            "memory": resources.bytes or None,
            "max_retries": 0,
            "scheduling_strategy": "SPREAD",
        }

    @contextmanager
    def pool(self, work: Callable[..., Iterator[Any]], resources: Resources) -> Iterator[RayPool]:
        """Open a pool for pieces of work, each a call of ``work``; cancel unfinished ones at the
        end.

        Raises:
            DovetailError: no node has the resources.
        """
        options = {
            **self._there(resources),
            "num_returns": "streaming",
            "_generator_backpressure_num_objects": AHEAD,
        }
        pool = RayPool(self._ray, self._ray.remote(_piece).options(**options), work, self._outfit)
        try:
            yield pool
        finally:
            pool.cancel()

    def host(self, order: HostOrder, resources: Resources) -> RayHost:
        """Start programs on a node, without waiting for them.

        Raises:
            DovetailError: no node has the resources.
        """
        options = self._there(resources)
        del options["max_retries"]
        actor = self._ray.remote(_Actor).options(max_restarts=0, max_task_retries=0, **options)
        made = actor.remote(self._outfit, msgspec.msgpack.encode(order))
        return RayHost(self._ray, made)


class RayPool:
    """Pieces of work as streaming tasks, without Ray's retries."""

    def __init__(
        self, ray: Any, task: Any, work: Callable[..., Iterator[Any]], outfit: Any
    ) -> None:
        self._ray = ray
        self._task = task
        self._work = work
        self._outfit = outfit
        self._running: dict[Any, int] = {}
        self._events: deque[PieceEvent] = deque()

    def begin(self, piece: int, arguments: tuple[Any, ...]) -> None:
        """Start a piece."""
        self._running[self._task.remote(self._work, self._outfit, arguments)] = piece

    def next(self) -> PieceEvent:
        """Wait for the next event.

        Raises:
            DovetailError: the cluster is gone.
        """
        while not self._events:
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=LOOK)
            for each in ready:
                self._take(each)
        return self._events.popleft()

    def _take(self, generator: Any) -> None:
        piece = self._running[generator]
        exceptions = self._ray.exceptions
        event: PieceEvent
        try:
            kind, value = self._ray.get(next(generator))
            if kind == "value":
                self._events.append(Yielded(piece, value))
                return
            event = PieceFailed(piece, DovetailError(value))
        except StopIteration:
            event = PieceDone(piece)
        except exceptions.RayTaskError as error:
            event = PieceFailed(piece, DovetailError(_last(error)))
        except exceptions.RayError as error:
            event = PieceLost(piece, _line(error))
            with suppress(Exception):  # only what it yielded may be lost
                self._ray.cancel(generator, force=True)
        del self._running[generator]
        self._events.append(event)

    def cancel(self) -> None:
        """Cancel all pieces in progress; their programs end with the workers."""
        for generator in self._running:
            with suppress(Exception):
                self._ray.cancel(generator, force=True)
        self._running = {}


class RayHost:
    """Programs on a node, started by an actor; no call waits for a lost node."""

    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray = ray
        self._actor = actor
        self._begun = actor.begun.remote()
        self._asked: Any = None
        self._due = 0.0
        """The earliest time of the next question about programs that have ended."""
        self._halted: Any = None
        self._until = 0.0
        self._lost = ""
        self._fetched = False
        self.node = "a node that is not known yet"
        self.address = ""
        self._pids: Mapping[str, int] = {}
        self._ended: Mapping[str, ProgramEnd] = {}

    def ready(self, timeout: float) -> bool:
        """Return whether its programs have started, waiting up to ``timeout`` seconds.

        Raises:
            NotStarted: a program cannot be started.
            HostLost: the host is gone.
            DovetailError: the node cannot play.
        """
        if self._begun is None:
            return True
        if not self._ray.wait([self._begun], timeout=timeout)[0]:
            return False
        program, text, self.node, self.address, self._pids = self._get(self._begun)
        self._begun = None
        if program:
            raise NotStarted(f"{text} (on node {self.node})", program)
        if text:
            raise DovetailError(text)
        return True

    def pids(self) -> Mapping[str, int]:
        """Return the process IDs, by name."""
        return self._pids

    def ended(self) -> Mapping[str, ProgramEnd]:
        """Return the programs that have ended, as last reported by the node."""
        now = time.monotonic()
        if not self._lost and now >= self._due:
            self._due = now + ASK
            if self._asked is None:
                self._asked = self._actor.ended.remote()
            if self._ray.wait([self._asked], timeout=0)[0]:
                asked, self._asked = self._asked, None
                with suppress(HostLost):
                    found = self._get(asked)
                    self._ended = msgspec.msgpack.decode(found, type=dict[str, ProgramEnd])
        return {"host": ProgramEnd(EndCause.LOST, self._lost)} if self._lost else self._ended

    def check(self) -> None:
        """Check that all programs are running.

        Raises:
            DovetailError: a program has ended by itself.
            HostLost: the host is gone, or a signal killed or suspended a program.
        """
        for end in self.ended().values():
            if end.cause is EndCause.LOST:
                raise HostLost(end.reason)
            line = f"{end.reason} (on node {self.node})"
            raise HostLost(line) if end.cause is EndCause.SIGNAL else DovetailError(line)

    def halt(self) -> None:
        """Stop the programs, without waiting for them."""
        actor = self._actor  # another thread may stop this host
        if actor is not None and self._begun is None and not (self._lost or self._halted):
            self._until = time.monotonic() + HALT
            self._halted = actor.halt.remote()

    def fetch(self, journal: Path, logs: Path) -> None:
        """Stop the programs; copy their journal to a file and their logs to a folder.

        Calling it again is harmless.
        """
        if self._actor is None or self._fetched or self._begun is not None:
            return
        self._fetched = True
        to = journal
        try:
            if self._lost:
                raise HostLost(self._lost)
            self.halt()
            self._get(self._halted, max(0.0, self._until - time.monotonic()))
            for name in self._get(self._actor.files.remote(), STOP):
                to = journal if name.endswith(".journal") else logs / Path(name).name
                to.parent.mkdir(parents=True, exist_ok=True)
                with open(to, "wb") as file:
                    while data := self._get(self._actor.read.remote(name, file.tell()), STOP):
                        file.write(data)
        except HostLost as error:
            log.warning("the journal and logs of a host are lost with it: %s", error)
        except OSError as error:
            raise DovetailError(f"cannot write {to}: {error.strerror}") from None

    def stop(self) -> None:
        """Stop all programs and release the node; calling it again is harmless."""
        if self._actor is None:
            return
        if not self._lost and self._begun is None:
            with suppress(HostLost):
                self._get(self._actor.close.remote(), STOP)
        with suppress(Exception):
            self._ray.kill(self._actor)
        self._actor = None
        self._lost = self._lost or "the host was stopped"

    def _get(self, reference: Any, timeout: float | None = None) -> Any:
        try:
            return self._ray.get(reference, timeout=timeout)
        except self._ray.exceptions.GetTimeoutError:
            self._lost = f"node {self.node} does not answer"
        except self._ray.exceptions.RayTaskError as error:
            self._lost = f"the host on node {self.node}: {_last(error)}"
        except self._ray.exceptions.RayError as error:
            self._lost = f"node {self.node} is lost: {_line(error)}"
        raise HostLost(self._lost)


class _Actor:
    """A host in a permanent Ray worker, whose main thread runs the tasks of a plain actor."""

    def __init__(self, outfit: bytes, order: bytes) -> None:
        self._station: Station | None = None
        wrong = fitted(outfit)
        _end_with_head(_head())
        self._begun: tuple[str, str, str, str, dict[str, int]] = ("", wrong, nodes.node(), "", {})
        if wrong:
            return
        from ray.util import get_node_ip_address

        try:
            made = Station(msgspec.msgpack.decode(order, type=HostOrder), get_node_ip_address())
        except NotStarted as error:
            self._begun = (error.program, str(error), nodes.node(), "", {})
        except DovetailError as error:
            self._begun = ("", f"{error} (on node {nodes.node()})", nodes.node(), "", {})
        else:
            self._station = made
            self._begun = ("", "", nodes.node(), made.address, dict(made.pids()))

    def begun(self) -> tuple[str, str, str, str, dict[str, int]]:
        """Return the program that failed to start, the reason, the node, the address and pids."""
        return self._begun

    def ended(self) -> bytes:
        """Return the programs that have ended, as MessagePack."""
        return msgspec.msgpack.encode({} if self._station is None else self._station.ended())

    def halt(self) -> None:
        """Stop the programs."""
        if self._station is not None:
            self._station.halt()

    def files(self) -> list[str]:
        """Return the files that the programs left."""
        return [] if self._station is None else self._station.files()

    def read(self, name: str, start: int) -> bytes:
        """Return a part of a file."""
        return b"" if self._station is None else self._station.read(name, start)

    def close(self) -> None:
        """Remove the files."""
        if self._station is not None:
            self._station.close()


def _head() -> str:
    """Return the address of the head of this worker's cluster."""
    return str(needed("ray").get_runtime_context().gcs_address)


def _last(error: BaseException) -> str:
    """Return the last line of a traceback: the error."""
    lines = str(error).strip().splitlines()
    return f"it ended with {lines[-1].strip()[:300]}" if lines else type(error).__name__


def fitted(outfit: bytes) -> str:
    """Prepare a worker to play; return the problem as one line, or an empty string."""
    nodes.called(needed("ray").util.get_node_ip_address())
    try:
        nodes.fit_out(msgspec.msgpack.decode(outfit, type=Outfit))
    except DovetailError as error:
        return str(error)
    return ""


def _piece(
    work: Callable[..., Iterator[Any]], outfit: bytes, arguments: tuple[Any, ...]
) -> Iterator[Answer]:
    """Run a piece of work in a Ray worker."""
    # Ctrl-C must not end it; Ray does, with SIGKILL, and its programs end with it.
    if wrong := fitted(outfit):
        yield "error", wrong
        return
    _end_with_head(_head())
    try:
        for value in work(*arguments):
            yield "value", value
    except DovetailError as error:
        yield "error", f"{error} (on node {nodes.node()})"
