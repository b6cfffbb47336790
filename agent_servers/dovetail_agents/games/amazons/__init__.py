"""Players of Amazons: the study's, which learns feature weights, and one based on territory."""

from dovetail_agents.games.amazons.agent import AmazonsPlayer
from dovetail_agents.games.amazons.territorial import AmazonsTerritory

__all__ = ["AmazonsPlayer", "AmazonsTerritory"]
