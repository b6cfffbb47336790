"""An engine: a cluster on which pieces of work and hosts are placed, behind two verbs."""

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
"""The module of each engine; ``opened`` in it opens a cluster."""
ADDRESS = re.compile(r"(?P<host>[^:/\s]+|\[[^\]/\s]+\]):(?P<port>[0-9]{1,5})")


class ClusterEngine(Protocol):
    """A cluster."""

    about: str
    """One line for a person."""
    slots: int
    """Its CPUs."""

    def pool(
        self, work: Callable[..., Iterator[Any]], resources: Resources
    ) -> AbstractContextManager[Pool]:
        """Open a pool for pieces that each call ``work``.

        Raises:
            DovetailError: no node has the resources.
        """

    def host(self, order: HostOrder, resources: Resources) -> RemoteHost:
        """Begin to start programs on a node, without waiting for them.

        Raises:
            DovetailError: no node has the resources.
        """


class RemoteHost(ProgramHost, Protocol):
    """Programs that were started together on a node."""

    @property
    def node(self) -> str:
        """The node's name."""

    def ready(self, timeout: float) -> bool:
        """Return whether its programs were started, waiting up to ``timeout`` seconds.

        Raises:
            NotStarted: one of them cannot be.
            HostLost: the host is gone.
            DovetailError: the node cannot play.
        """

    def halt(self) -> None:
        """Begin to stop the programs, without waiting for them."""

    def fetch(self, journal: Path, logs: Path) -> None:
        """Stop the programs, and write what they left into a file and a folder."""


def engine(on: str, outfit: Outfit) -> AbstractContextManager[ClusterEngine]:
    """Open a cluster, and see that each of its nodes can play.

    Args:
        on: the engine, with ``:HOST:PORT`` to name the cluster.
        outfit: what the nodes must have.

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
