"""The arena's own programs, its games' environments and the baselines, restarted if they end."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from dovetail.peer import plugins
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_experiments.arena.description import Arena, Baseline, Ladder
from dovetail_experiments.arena.referee import baseline
from dovetail_experiments.engines.engine import ClusterEngine, RemoteHost
from dovetail_experiments.engines.hosts import (
    HostLost,
    HostOrder,
    HostPlan,
    PlannedProgram,
    assignments,
)
from dovetail_experiments.files.file import Resources
from dovetail_experiments.files.shipping import Shipping
from dovetail_experiments.stages.processes import EndCause, Processes, ProgramEnd

log = logging.getLogger("dovetail")

AGAIN = 5.0
"""Seconds before a program that ended is restarted."""


class Programs:
    """Environments and baselines of an arena, each in its own process.

    Args:
        folder: the folder for their keys and logs.
        own: the access token or the key file for environments.
        server: the broker's public key, if it has one.
    """

    def __init__(self, arena: Arena, folder: Path, own: str | Path, server: str = "") -> None:
        self._own = own
        self._folder = folder
        self.known: dict[str, str] = {}
        """Owner of each baseline's token or public key; new ones are made at each start."""
        self._environments: dict[str, Ladder] = {}
        self._baselines: dict[str, tuple[Baseline, str | Path]] = {}
        for ladder in arena.ladders:
            if ladder.command is None:
                plugins.find("environment", ladder.game)  # fail early
            known = [(e.game, e.command, e.configuration) for e in self._environments.values()]
            if (ladder.game, ladder.command, ladder.configuration) not in known:
                self._environments[f"environment-{ladder.name}"] = ladder
            for each in ladder.baselines:
                if each.command is None:
                    plugins.find("agent", each.type)
                name, who = f"baseline-{ladder.name}-{each.name}", baseline(ladder, each.name)
                if server:
                    path, key = folder / "keys" / f"{name}.key", keys.make(server)
                    path.unlink(missing_ok=True)
                    keys.write(path, key, who)
                    self._baselines[name] = each, path
                    self.known[key.public] = who
                else:
                    token = secrets.token_hex(24)
                    self._baselines[name] = each, token
                    self.known[token] = who
        self.environments: list[str] = []
        """Public keys of the environments."""
        self._mark = secrets.token_hex(4)
        """Secret in the names of the arena's programs, so that no entrant can take them first."""
        self._again: dict[str, float] = {}

    def shipping(self, folder: Path) -> Shipping:
        """Prepare the programs to run on other machines: return the files to ship, with a separate
        key for environments in place of the arena's own.

        Args:
            folder: the folder of the arena file.

        Raises:
            DovetailError: a file is outside that folder.
        """
        assert isinstance(self._own, Path)
        server = keys.read(self._own).server
        path, key = self._folder / "keys" / "environments.key", keys.make(server)
        path.unlink(missing_ok=True)
        keys.write(path, key, "environments")
        self._own, self.environments = path, [key.public]
        found = Shipping(folder)
        self._environments = {
            name: replace(each, game=found.code(each.game), command=found.command(each.command))
            for name, each in self._environments.items()
        }
        self._baselines = {
            name: (replace(a, type=found.code(a.type), command=found.command(a.command)), shown)
            for name, (a, shown) in self._baselines.items()
        }
        return found

    @contextmanager
    def running(self, address: str, cluster: ClusterEngine | None = None) -> Iterator[None]:
        """Run the programs while a context lasts, on the nodes of ``cluster`` if it is given."""
        place = (
            Processes(address=address, logs=self._folder / "logs")
            if cluster is None
            else Scattered(cluster, address)
        )
        with place as self._processes:
            for name in (*self._environments, *self._baselines):
                self._start(name)
            yield

    def tend(self) -> None:
        """Restart programs that ended, after a delay."""
        now = time.monotonic()
        for name, end in self._processes.ended().items():
            if name not in self._again:
                log.warning("%s; starting it again in %g s", end, AGAIN)
                self._again[name] = now + AGAIN
            elif now >= self._again[name]:
                del self._again[name]
                self._start(name)

    def _start(self, name: str) -> None:
        if name in self._environments:
            ladder, shown = self._environments[name], self._own
            command = ladder.command
            # Checked here and where it is served: some options are for the local user only.
            words = ["env", ladder.game, *assignments(ladder.configuration)]
        else:
            agent, shown = self._baselines[name]
            command, words = agent.command, ["agent", agent.type]
        token, key = (None, shown) if isinstance(shown, Path) else (shown, None)
        if command is not None:
            self._processes.command(name, command, token, key)
        else:
            words += ["--name", f"{name}-{self._mark}"]
            self._processes.start(name, words, token, key)


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
        self, name: str, arguments: Sequence[str], token: str | None = None, key: Path | None = None
    ) -> None:
        """Start ``dovetail ARGUMENTS`` on a node, replacing an earlier program with that name.

        Raises:
            DovetailError: no node has room for it, or it has no key.
        """
        self._place(PlannedProgram(name, list(arguments)), key)

    def command(
        self, name: str, command: Sequence[str], token: str | None = None, key: Path | None = None
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
