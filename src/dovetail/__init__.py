"""Dovetail connects agents, environments and experiments, each a program of its own, in any language.

``from dovetail import Agent, Environment, Experiment`` is all that most programs need.  Names are
imported on first use, so that a part of the package loads that part alone.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail._version import __version__

# In a source checkout the package's folders lie at the top of the repository, so that a path in a
# traceback is the path that git knows (docs/decisions/0015); a wheel has them in this folder.
_TOP = Path(__file__).resolve().parents[2]
if (_TOP / "protocol" / "SPEC.md").is_file() and (_TOP / "pyproject.toml").is_file():
    __path__.append(str(_TOP))

if TYPE_CHECKING:
    from dovetail.agent_servers.agent import Agent, BatchAgent, Decision, End, Seat
    from dovetail.env_servers.environment import Environment, Spec, Turn, View
    from dovetail.experiments.client import Experiment
    from dovetail.experiments.inprocess import InProcess
    from dovetail.protocol import spaces
    from dovetail.protocol.errors import DovetailError, IllegalAction

_HOMES = {
    "Agent": "agent_servers.agent",
    "BatchAgent": "agent_servers.agent",
    "Decision": "agent_servers.agent",
    "DovetailError": "protocol.errors",
    "End": "agent_servers.agent",
    "Environment": "env_servers.environment",
    "Experiment": "experiments.client",
    "IllegalAction": "protocol.errors",
    "InProcess": "experiments.inprocess",
    "Seat": "agent_servers.agent",
    "Spec": "env_servers.environment",
    "Turn": "env_servers.environment",
    "View": "env_servers.environment",
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
    if name not in _HOMES:
        raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dovetail.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
