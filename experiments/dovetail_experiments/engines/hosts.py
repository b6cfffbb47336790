"""Hosts: programs that are started together on one machine, a broker among them or at another's.

What goes to a host is plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.stages.processes import Processes


class PlannedProgram(Struct, frozen=True):
    """A program of a host."""

    name: str
    words: list[str]
    """Its command, in which ``{address}`` stands for the broker's; with ``own``, what follows
    ``dovetail``."""
    own: bool = True


class HostPlan(Struct, frozen=True):
    """Programs that are started together."""

    programs: list[PlannedProgram]
    broker: list[str] = []
    """More words for the broker."""
    pin: bool = False
    """True to keep all of them on one core, with the program that starts them."""
    tcp: bool = False
    """True if the broker listens at a loopback port instead of a Unix socket."""


class HostKeys(Struct, frozen=True):
    """Keys that are made for one run: what leaves a machine is encrypted and known by them."""

    broker: tuple[str, str]
    """Of the broker, public and secret."""
    driver: str
    """The public key of the program that connects from elsewhere."""
    joining: str
    """The public key of environments that join from other machines."""


class HostOrder(Struct, frozen=True):
    """Programs to start on a machine that the order does not name."""

    plan: HostPlan
    keys: HostKeys | None = None
    """For a broker of its own; without them the programs join another one."""
    address: str = ""
    """The other broker's."""
    joining: tuple[str, str, str] = ("", "", "")
    """The key for that: public, secret, and the broker's public key."""
    pinned: bool = False
    """True to keep all of them on one core that no other such host there has."""
    ports: tuple[int, int] = (0, 0)
    """The first and last port at which the broker may listen; any if 0."""


class HostLost(DovetailError):
    """A host is gone, with its machine or otherwise; another can take its place."""


class NotStarted(DovetailError):
    """A program could not be started."""

    def __init__(self, message: str, program: str) -> None:
        super().__init__(message)
        self.program = program
        """Its name in the plan."""


class ProgramHost(Protocol):
    """Programs that were started together."""

    @property
    def address(self) -> str:
        """The broker's address."""

    def pids(self) -> Mapping[str, int]:
        """Return the numbers of its processes, by name."""

    def ended(self) -> Mapping[str, str]:
        """Return the programs that have ended, and how each did, in one line."""

    def check(self) -> None:
        """Check that all are running.

        Raises:
            DovetailError: one has ended, or the host is gone; the line says how.
        """

    def stop(self) -> None:
        """Stop all of them."""


def start(processes: Processes, plan: HostPlan, key: Path | None = None) -> None:
    """Start the programs of a plan around a broker that runs.

    Args:
        processes: the broker.
        plan: the programs.
        key: the file with their key, if they need one.

    Raises:
        NotStarted: one cannot be started.
    """
    for each in plan.programs:
        try:
            if each.own:
                named = [] if "--name" in each.words else ["--name", each.name]
                at = ["--connect", processes.address, *named]
                processes.start(each.name, [*each.words, *at], key=key)
            else:
                processes.command(each.name, each.words, key=key)
        except DovetailError as error:
            raise NotStarted(str(error), each.name) from None
