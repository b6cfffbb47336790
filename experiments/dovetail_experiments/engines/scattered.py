"""Programs that connect to a broker elsewhere, each on a node of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_experiments.engines.engine import ClusterEngine, RemoteHost
from dovetail_experiments.engines.hosts import HostLost, HostOrder, HostPlan, PlannedProgram
from dovetail_experiments.files.file import Resources
from dovetail_experiments.stages.processes import EndCause, ProgramEnd

log = logging.getLogger("dovetail")


class Scattered:
    """Programs placed one at a time; leaving the context stops them all.

    Args:
        cluster: the cluster to run them on.
        address: the broker's address, as its nodes reach it.
    """

    def __init__(self, cluster: ClusterEngine, address: str) -> None:
        self._cluster = cluster
        self._address = address
        self._hosts: dict[str, RemoteHost] = {}
        self._said: set[str] = set()

    def start(
        self,
        name: str,
        arguments: Sequence[str],
        token: str | None = None,
        key: Path | None = None,
    ) -> None:
        """Start ``dovetail ARGUMENTS`` on a node, replacing an earlier program with that name.

        Raises:
            DovetailError: no node has room for it, or it has no key.
        """
        self._place(PlannedProgram(name, list(arguments)), key)

    def command(
        self,
        name: str,
        command: Sequence[str],
        token: str | None = None,
        key: Path | None = None,
    ) -> None:
        """Start any program on a node, like ``start``."""
        self._place(PlannedProgram(name, list(command), own=False), key)

    def _place(self, program: PlannedProgram, key: Path | None) -> None:
        if key is None:
            raise DovetailError(f"{program.name}: programs on other machines need a key")
        if program.name in self._hosts:
            self._hosts.pop(program.name).stop()
        found = keys.read(key)
        joining = found.public, found.secret, found.server
        order = HostOrder(HostPlan([program]), address=self._address, joining=joining)
        self._hosts[program.name] = self._cluster.host(order, Resources())
        self._said.discard(program.name)

    def ended(self) -> dict[str, ProgramEnd]:
        """Return the programs that ended or were lost with their nodes."""
        found = {}
        for name, host in self._hosts.items():
            try:
                if host.ready(0.0):
                    if name not in self._said:
                        self._said.add(name)
                        log.info("%s plays on node %s", name, host.node)
                    host.check()
            except DovetailError as error:
                cause = EndCause.LOST if isinstance(error, HostLost) else EndCause.EXIT
                found[name] = ProgramEnd(cause, f"{name}: {error}")
        return found

    def __enter__(self) -> Scattered:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self._hosts.values():
            host.stop()
