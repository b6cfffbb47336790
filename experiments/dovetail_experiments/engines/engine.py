"""The interface of engines: clusters with ``pool`` for pieces of work and ``host`` for programs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.engines.hosts import HostOrder, ProgramHost
from dovetail_experiments.engines.nodes import Outfit
from dovetail_experiments.engines.pieces import Pool
from dovetail_experiments.files.file import Resources

ENGINES = {"ray": "dovetail_experiments.engines.ray"}
"""Module of each engine; its function ``opened`` opens a cluster."""
ADDRESS = re.compile(r"(?P<host>[^:/\s]+|\[[^\]/\s]+\]):(?P<port>[0-9]{1,5})")


class ClusterEngine(Protocol):
    """A cluster."""

    about: str
    """Description in one line."""
    slots: int
    """Number of its CPUs."""

    def pool(
        self, work: Callable[..., Iterator[Any]], resources: Resources
    ) -> AbstractContextManager[Pool]:
        """Open a pool for pieces of work, each a call of ``work``.

        Raises:
            DovetailError: no node has the resources.
        """

    def host(self, order: HostOrder, resources: Resources) -> RemoteHost:
        """Start programs on a node, without waiting for them.

        Raises:
            DovetailError: no node has the resources.
        """


class RemoteHost(ProgramHost, Protocol):
    """Programs started together on a node."""

    @property
    def node(self) -> str:
        """The node's name."""

    def ready(self, timeout: float) -> bool:
        """Return whether its programs have started, waiting up to ``timeout`` seconds.

        Raises:
            NotStarted: a program cannot be started.
            HostLost: the host is gone.
            DovetailError: the node cannot play.
        """

    def halt(self) -> None:
        """Stop the programs, without waiting for them."""

    def fetch(self, journal: Path, logs: Path) -> None:
        """Stop the programs; copy their journal to a file and their logs to a folder."""


def engine(on: str, outfit: Outfit) -> AbstractContextManager[ClusterEngine]:
    """Open a cluster, and check that all of its nodes can play.

    Args:
        on: the engine, optionally with ``:HOST:PORT`` of the cluster.

    Raises:
        DovetailError: there is no such engine or cluster, or a node lacks something.
    """
    name, colon, where = on.partition(":")
    if name not in ENGINES:
        raise DovetailError(
            f"--on {on}: there is no engine {name!r}; there is {', '.join(ENGINES)}"
        )
    if where.startswith("//"):
        raise DovetailError(
            f"--on {on}: a client outside the cluster cannot reach its brokers; run this command "
            f"on a machine of the cluster, with --on {name}"
        )
    if colon and not ADDRESS.fullmatch(where):
        raise DovetailError(f"--on {on}: expected {name} or {name}:HOST:PORT")
    opened: AbstractContextManager[ClusterEngine] = importlib.import_module(ENGINES[name]).opened(
        where, outfit
    )
    return opened
