"""A host on its own machine: its programs, their keys, their core and the files they leave."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from dovetail.peer.locking import lock
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail.transport.keys import Key
from dovetail_experiments.engines.hosts import HostKeys, HostOrder, start
from dovetail_experiments.stages.processes import Processes, ProgramEnd
from dovetail_experiments.stages.scratch import Scratch

CHUNK = 8 << 20
"""Bytes of a file sent at a time."""
BROKER_KEY = "access.key"
LIMITS = (
    "limits = { peers = 100000, offers = 100000, requests = 1000000, matches = 1000000, "
    "states = 1000000, state_bytes = 1000000000000, rate = 1000000000.0 }"
)
"""Limits of the experiment's own programs; the usual ones are meant for strangers."""


class Station:
    """A host's programs, on the host's machine.

    Args:
        machine: the machine's address for others.

    Raises:
        DovetailError: a program cannot be started.
    """

    def __init__(self, order: HostOrder, machine: str) -> None:
        self._scratch = Scratch()
        self._core = -1
        folder = self._scratch.path
        self.journal = folder / "games.journal"
        self.logs = folder / "logs"
        core = self._own_core() if order.pinned else None
        plan = order.plan
        try:
            if order.keys is None:
                key = self._key(order)
                self._processes = Processes(address=order.address, logs=self.logs)
            else:
                key = None
                self._processes = Processes(
                    core=core,
                    journal=self.journal,
                    tcp=plan.tcp,
                    logs=self.logs,
                    broker=plan.broker,
                    outside=f"tcp://{machine}:{_port(machine, order.ports)}",
                    access=_access(folder, order.keys),
                )
                (folder / BROKER_KEY).unlink()  # already read; must not outlive this process
            try:
                start(self._processes, plan, key)
            except BaseException:
                self._processes.stop()
                raise
        except BaseException:
            self._end()
            raise

    @property
    def address(self) -> str:
        """The broker's address for other machines."""
        return self._processes.outside or self._processes.address

    def pids(self) -> Mapping[str, int]:
        return self._processes.pids()

    def ended(self) -> Mapping[str, ProgramEnd]:
        return self._processes.ended()

    def halt(self) -> None:
        """Stop the programs, so that their files are complete."""
        self._processes.stop()

    def files(self) -> list[str]:
        """Return the files that the programs left, relative to the host's folder."""
        found = [self.journal, *sorted(self.logs.glob("*.log"))]
        return [str(each.relative_to(self._scratch.path)) for each in found if each.exists()]

    def read(self, name: str, start: int) -> bytes:
        """Return a part of a file in ``files``; empty beyond its end."""
        if name not in self.files():
            return b""
        with open(self._scratch.path / name, "rb") as file:
            file.seek(start)
            return file.read(CHUNK)

    def close(self) -> None:
        """Stop the programs, and remove keys and files."""
        self._processes.stop()
        self._end()

    def _end(self) -> None:
        self._scratch.remove()
        if self._core >= 0:
            os.close(self._core)
            self._core = -1

    def _own_core(self) -> int | None:
        """Return a core that no other host of this user on the machine uses; None if all are in
        use.

        Engines count cores but do not assign them.
        """
        if not hasattr(os, "sched_getaffinity"):
            return None
        for core in sorted(os.sched_getaffinity(0)):
            path = Path(tempfile.gettempdir(), f"dovetail-core-{os.getuid()}-{core}.lock")
            with suppress(OSError):
                self._core = lock(path, 0o600)
                return core
        return None

    def _key(self, order: HostOrder) -> Path | None:
        public, secret, server = order.joining
        if not secret:
            return None
        path = self._scratch.path / "joining.key"
        keys.write(path, Key(public, secret, server), "joining")
        return path


def _access(folder: Path, made: HostKeys) -> Path:
    """Write a broker's access file and its key, readable by this user only."""
    path = folder / "access.toml"
    public, secret = made.broker
    keys.write(folder / BROKER_KEY, Key(public, secret), "broker")
    inside = keys.make().public  # no one has its secret key

    def grant(name: str, public: str, more: str) -> str:
        shown = msgspec.json.encode(public).decode()
        return f"[keys.{name}]\npublic = {shown}\n{more}\n{LIMITS}\n"

    with keys.private(path) as file:
        text = [
            'inside = "programs"\n',
            grant("driver", made.driver, 'roles = ["experiment"]\nuses = ["programs", "joining"]'),
            grant("programs", inside, 'roles = ["environment", "agent"]'),
            grant("joining", made.joining, 'roles = ["environment"]'),
        ]
        file.write("".join(text).encode())
    return path


def _port(machine: str, ports: tuple[int, int]) -> str:
    """Return a free port of a range; ``*`` for any.

    Raises:
        DovetailError: none is free.
    """
    first, last = ports
    if not first:
        return "*"
    for port in range(first, last + 1):
        with socket.socket() as probe, suppress(OSError):
            probe.bind((machine, port))
            return str(port)
    raise DovetailError(f"no port of {first}-{last} is free at {machine}; give a wider range")
