"""Dovetail: agents, environments and experiments as programs of their own, in any language."""

__version__ = "0.1.0"

from dovetail.agent_servers.agent import Agent, BatchAgent, Decision, End, Seat
from dovetail.broker.inprocess import InProcess
from dovetail.env_servers.environment import Environment, Spec, Turn, View
from dovetail.experiments.client import Experiment
from dovetail.protocol import spaces
from dovetail.protocol.errors import DovetailError, IllegalAction

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
    "spaces",
]
