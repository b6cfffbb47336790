"""The cases for agent programs, a module for each subject."""

from dovetail.conform.agent import (
    connections,
    episodes,
    faults,
    groups,
    instances,
    lookahead,
    repeats,
)
from dovetail.conform.agent.talk import CASES

__all__ = [
    "CASES",
    "connections",
    "episodes",
    "faults",
    "groups",
    "instances",
    "lookahead",
    "repeats",
]
