"""Hosts: programs that are started together on one machine, a broker among them or at another's.

What goes to a host is plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
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


def start(processes: Processes, plan: HostPlan) -> None:
    """Start the programs of a plan around a broker that runs.

    Raises:
        NotStarted: one cannot be started.
    """
    for each in plan.programs:
        try:
            if each.own:
                at = ["--connect", processes.address, "--name", each.name]
                processes.start(each.name, [*each.words, *at])
            else:
                processes.command(each.name, each.words)
        except DovetailError as error:
            raise NotStarted(str(error), each.name) from None
