"""2048: n-tuple networks that learn by TD(0) over afterstates, as agents and in compiled games."""

from dovetail_agents.games.game_2048.agent import NTuple2048
from dovetail_agents.games.game_2048.saved import NTupleParameters

__all__ = ["NTuple2048", "NTupleParameters"]
