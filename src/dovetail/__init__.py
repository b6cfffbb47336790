"""Dovetail connects agents, environments and experiments, each a separate program, in any language.

``from dovetail import Agent, Environment, Experiment`` is all that most programs need.  Names are
imported on first use, so that a part of the package loads that part alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dovetail._version import __version__

if TYPE_CHECKING:
    from dovetail.client.client import Experiment
    from dovetail.client.inprocess import InProcess
    from dovetail.peer.agents.agent import Agent, BatchAgent, Decision, End, Seat
    from dovetail.peer.environments.environment import Environment, Spec, Turn, View
    from dovetail.protocol import spaces
    from dovetail.protocol.errors import DovetailError, IllegalAction

_HOMES = {
    "client.client": ("Experiment",),
    "client.inprocess": ("InProcess",),
    "peer.agents.agent": ("Agent", "BatchAgent", "Decision", "End", "Seat"),
    "peer.environments.environment": ("Environment", "Spec", "Turn", "View"),
    "protocol.errors": ("DovetailError", "IllegalAction"),
}

__all__ = [
    "Agent",
    "BatchAgent",
    "Decision",
    "DovetailError",
    "End",
    "Environment",
    "Experiment",
    "IllegalAction",
    "InProcess",
    "Seat",
    "Spec",
    "Turn",
    "View",
    "__version__",
    "spaces",
]


def __getattr__(name: str) -> Any:
    if name == "spaces":
        return importlib.import_module("dovetail.protocol.spaces")
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"dovetail.{home}"), name)
    raise AttributeError(f"module 'dovetail' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
