"""Hosts: programs started together on one machine, with their own broker or connected to another.

Everything sent to a host is plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from dovetail.protocol import json_text as jsontext
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.stages.processes import Processes, ProgramEnd


class PlannedProgram(Struct, frozen=True):
    """A program to start on a host."""

    name: str
    words: list[str]
    """Its command, with ``{address}`` for the broker's address; with ``own``, the arguments of
    ``dovetail``."""
    own: bool = True


class HostPlan(Struct, frozen=True):
    """Programs to start together."""

    programs: list[PlannedProgram]
    broker: list[str] = []
    """Additional arguments for the broker."""
    pin: bool = False
    """True to pin all of them, and the program that starts them, to one core."""
    tcp: bool = False
    """True if the broker listens on a loopback port instead of a Unix socket."""


class HostKeys(Struct, frozen=True):
    """Keys made for a single run, which authenticate and encrypt all traffic between machines."""

    broker: tuple[str, str]
    """Public and secret key of the broker."""
    driver: str
    """Public key of the program that connects from elsewhere."""
    joining: str
    """Public key of environments that connect from other machines."""


class HostOrder(Struct, frozen=True):
    """Programs to start on any machine."""

    plan: HostPlan
    keys: HostKeys | None = None
    """Keys for its own broker; without them the programs connect to another one."""
    address: str = ""
    """Address of the other broker."""
    joining: tuple[str, str, str] = ("", "", "")
    """Key to connect with: public and secret key, and the broker's public key."""
    pinned: bool = False
    """True to pin all of them to a core that no other such host on the machine uses."""
    ports: tuple[int, int] = (0, 0)
    """First and last port on which the broker may listen; 0 for any."""


class HostLost(DovetailError):
    """A host or its machine is gone; another host can replace it."""


class NotStarted(DovetailError):
    """A program could not be started."""

    def __init__(self, message: str, program: str) -> None:
        super().__init__(message)
        self.program = program
        """The program's name in the plan."""


class ProgramHost(Protocol):
    """A group of programs started together."""

    @property
    def address(self) -> str:
        """The broker's address."""

    def pids(self) -> Mapping[str, int]:
        """Return the process IDs, by name."""

    def ended(self) -> Mapping[str, ProgramEnd]:
        """Return the programs that have ended."""

    def check(self) -> None:
        """Check that all programs are running.

        Raises:
            DovetailError: a program has ended or the host is gone; the message gives the reason.
        """

    def stop(self) -> None:
        """Stop all programs."""


def assignments(options: Mapping[str, Any]) -> list[str]:
    """Return the arguments of ``dovetail`` that set options."""
    given = [f"{name}={jsontext.option(value)}" for name, value in options.items()]
    return [word for each in given for word in ("--set", each)]


def start(processes: Processes, plan: HostPlan, key: Path | None = None) -> None:
    """Start the programs of a plan around a running broker.

    Args:
        processes: the broker's process, to which the programs are added.
        key: the programs' key file, if they need one.

    Raises:
        NotStarted: a program cannot be started.
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
