"""Play an experiment on a cluster.

Without learners it is split into shards, one host each; with learners, one broker runs with its
agents, and environments on other nodes connect to it.
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from dovetail.client.client import RunFailed
from dovetail.protocol.errors import DovetailError, Refused
from dovetail.transport import keys
from dovetail_experiments.engines.engine import ClusterEngine, RemoteHost, engine
from dovetail_experiments.engines.hosts import HostKeys, HostLost, HostOrder, HostPlan, NotStarted
from dovetail_experiments.engines.nodes import Outfit, versions
from dovetail_experiments.files import file as files
from dovetail_experiments.files.file import ExperimentFile, Mistake, Resources
from dovetail_experiments.files.shipping import Shipping
from dovetail_experiments.stages.places import (
    Deployment,
    appear,
    connected,
    deployed,
    environment_of,
    journal_of,
    logs_of,
    missing,
    planned,
    steps_of,
)
from dovetail_experiments.stages.shards import Coming, Shard, Shards, longest

log = logging.getLogger("dovetail")

START = 60.0
"""Seconds to place a host and start its programs."""
EACH = 5.0
"""Extra seconds for each host, as a node starts their programs one at a time."""
DEAD = 15.0
"""Seconds within which an engine reports a silent node as lost."""
PAUSE = 0.2
"""Seconds between checks for reports of lost nodes."""
REACH = 10.0
"""Seconds a host's broker has to answer."""


def outfit_of(experiments: list[ExperimentFile], shipping: Shipping) -> Outfit:
    """Return the files and packages that nodes need to play experiments.

    The experiments use the paths that files have on the nodes.
    """
    texts = []
    for each in experiments:
        agents = {n: msgspec.structs.replace(part, state=None) for n, part in each.agents.items()}
        texts.append(files.text(msgspec.structs.replace(each, agents=agents)))
    return Outfit(versions(), shipping.files(), texts, f"{os.getpid()}-{time.time_ns()}")


@contextmanager
def on_cluster(
    file: ExperimentFile,
    folder: Path,
    on: str,
    shards: int,
    journal: Path,
    logs: Path,
    give_up: float | None,
) -> Iterator[Deployment]:
    """Play on a cluster.

    Args:
        on: the engine, as for ``engine``.
        shards: the number of shards; 0 for as many as there is room for.
        journal: the file that records episodes, as for ``in_shards``.
        logs: the folder for the programs' output.
        give_up: seconds without an answer from a broker before its host is lost; None for no limit.
    """
    shipping = Shipping(folder)
    shipped = shipping.add(file)
    outfit = outfit_of([shipped], shipping)
    with engine(on, outfit) as cluster, ExitStack() as stack:
        placing = _Placing(file, shipped, cluster, stack, journal, logs, give_up)
        place = placing.with_actors() if file.learners() else placing.in_shards(shards)
        try:
            yield place
        except (HostLost, RunFailed, Refused, Mistake):
            raise
        except DovetailError:
            _await_loss(place)
            raise
        finally:
            for host in placing.hosts:  # all at once, since each takes a while
                host.halt()


def _await_loss(place: Deployment) -> None:
    """Raise ``HostLost`` if the engine soon reports a lost host.

    A broker falls silent at once, but a node counts as dead only after several missed heartbeats.

    Raises:
        DovetailError: a program has ended, or a host is lost.
    """
    end = time.monotonic() + DEAD
    while time.monotonic() < end:
        place.check()
        time.sleep(PAUSE)


class _Placing:
    """Places the hosts of an experiment and replaces lost ones."""

    def __init__(
        self,
        file: ExperimentFile,
        shipped: ExperimentFile,
        cluster: ClusterEngine,
        stack: ExitStack,
        journal: Path,
        logs: Path,
        give_up: float | None,
    ) -> None:
        self._file = file
        self._cluster = cluster
        self._stack = stack
        self._journal = journal
        self._logs = logs
        self._give_up = give_up
        self._environment = environment_of(file)
        self._plan, self._peers = planned(shipped)
        self._resources = file.processes.resources
        self._broker = keys.make()
        self._driver = keys.make(self._broker.public)
        self._joining = keys.make(self._broker.public)
        self._numbers = itertools.count(1)
        self._stops = stack.enter_context(ThreadPoolExecutor(thread_name_prefix="stop"))
        """Stops lost hosts, which takes seconds each: the other brokers must hear of this program
        meanwhile."""
        self.hosts: list[RemoteHost] = []
        """All requested hosts."""

    def in_shards(self, count: int) -> Deployment:
        """Return equal deployments, each with all programs of the experiment.

        Raises:
            DovetailError: there is not enough room, or a host cannot be started.
        """
        room = int(self._cluster.slots / self._resources.cpus)
        count = count or max(1, min(room, longest(self._file)))
        if count > room:
            raise DovetailError(
                f"{count} shards need {count * self._resources.cpus:g} CPUs, and the cluster has "
                f"{self._cluster.slots}; use fewer, or add nodes"
            )
        waiting = [self._ask() for _ in range(count)]
        places = [self._placed(*each, START + EACH * count) for each in waiting]
        for each in places:
            appear(self._file, each, None)
        shards = Shards([each.shard(self._file) for each in places], self._another)
        about = [self._cluster.about]
        about += [f"shard {number}: {each.about}" for number, each in enumerate(places, 1)]
        return replace(places[0], check=shards.check, about="\n".join(about), shards=shards)

    def with_actors(self) -> Deployment:
        """Return a broker with its agents and the environments that connected from other nodes.

        Raises:
            DovetailError: there is not enough room, or a host cannot be started.
        """
        programs = self._plan.programs
        actors = [each for each in programs if steps_of(each.name) == ("environment",)]
        if len(actors) == 1:
            actors = []
        mine = [each for each in programs if each not in actors]
        number, host = self._ask(msgspec.structs.replace(self._plan, programs=mine), pinned=False)
        place = self._placed(number, host, START)
        joining = (self._joining.public, self._joining.secret, self._broker.public)
        hosts = []
        for each in actors:
            plan = HostPlan([each], tcp=self._plan.tcp)
            order = HostOrder(plan, address=host.address, joining=joining, pinned=True)
            actor = self._cluster.host(order, Resources())
            self.hosts.append(actor)
            self._stack.callback(actor.stop)
            hosts.append((each.name, actor))
        for name, actor in hosts:
            self._wait(actor, START + EACH * len(hosts))
            self._stack.callback(actor.fetch, self._journal, self._logs / name)

        checks = [place.check, *(actor.check for _, actor in hosts)]

        def check() -> None:
            for each in checks:
                each()

        place = replace(place, check=check)
        appear(self._file, place, None)
        about = [self._cluster.about, f"broker: {place.about}"]
        about += [f"{name}: node {actor.node}" for name, actor in hosts]
        return replace(place, about="\n".join(about))

    def _ask(self, plan: HostPlan | None = None, *, pinned: bool = True) -> tuple[int, RemoteHost]:
        """Request a host with a broker; return the host's number and the host."""
        order = HostOrder(
            plan or self._plan,
            HostKeys(
                (self._broker.public, self._broker.secret),
                self._driver.public,
                self._joining.public,
            ),
            pinned=pinned and self._resources.cpus <= 1,
            ports=self._file.processes.port_range,
        )
        host = self._cluster.host(order, self._resources)
        self.hosts.append(host)
        self._stack.callback(host.stop)
        return next(self._numbers), host

    def _wait(self, host: RemoteHost, seconds: float) -> None:
        try:
            if not host.ready(seconds):
                raise self._no_room(seconds)
        except NotStarted as error:
            raise Mistake(str(error), *steps_of(error.program), "command") from None

    def _no_room(self, seconds: float) -> HostLost:
        return HostLost(
            f"the cluster has no room for a host of {self._resources.cpus:g} CPUs within "
            f"{seconds:g} s"
        )

    def _placed(self, number: int, host: RemoteHost, seconds: float) -> Deployment:
        self._wait(host, seconds)
        return self._connected(number, host)

    def _connected(self, number: int, host: RemoteHost) -> Deployment:
        logs = logs_of(self._logs, number)

        def fetch() -> None:
            journal = journal_of(self._journal, number)
            while journal.exists():  # left by an interrupted attempt
                journal = journal_of(self._journal, next(self._numbers))
            host.fetch(journal, logs)

        stopping = threading.Lock()

        def stop() -> None:
            with stopping:
                fetch()
                host.stop()

        def begin_stop() -> None:
            self._stack.callback(self._stops.submit(stop).result)

        self._stack.callback(stop)
        try:
            link = connected(host, self._give_up, self._driver, REACH)
            experiment = self._stack.enter_context(link)
        except HostLost:
            raise
        except DovetailError as error:
            ports = self._file.processes.ports or "any; [processes] ports limits them"
            raise DovetailError(
                f"cannot reach the broker on node {host.node} at {host.address} (ports: "
                f"{ports}): {error}"
            ) from None
        place = deployed(experiment, self._environment, self._peers, host, logs)
        return replace(place, about=f"node {host.node}, {place.about}", stop=begin_stop)

    def _another(self) -> Coming:
        """Request a shard to replace a lost one."""
        number, host = self._ask()
        end = time.monotonic() + START
        place: Deployment | None = None

        def coming() -> Shard | None:
            nonlocal place
            if place is None:
                if not host.ready(0.0):
                    if time.monotonic() < end:
                        return None
                    host.stop()
                    raise self._no_room(START)
                place = self._connected(number, host)
            place.check()
            return None if missing(self._file, place) else place.shard(self._file)

        return coming
