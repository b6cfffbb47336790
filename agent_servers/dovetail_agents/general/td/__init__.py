"""TD(lambda) over afterstates with a small network: ``td``, ``td-batch`` and the RLGame study's
``td-rlgame``."""

from dovetail_agents.general.td.agent import TD, RLGameTD, TDBatch
from dovetail_agents.general.td.parameters import RLGameParameters, TDParameters

__all__ = ["TD", "RLGameParameters", "RLGameTD", "TDBatch", "TDParameters"]
