"""Connect Four: an n-tuple network that learns from its own games."""

from dovetail_agents.games.connect_four.ntuple.agent import (
    NTupleConnectFour,
    NTupleConnectFourParameters,
)

__all__ = ["NTupleConnectFour", "NTupleConnectFourParameters"]
