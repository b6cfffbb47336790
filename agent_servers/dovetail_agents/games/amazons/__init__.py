"""The player of the Amazons study: alpha-beta over twelve features whose weights it learns."""

from dovetail_agents.games.amazons.agent import AmazonsPlayer

__all__ = ["AmazonsPlayer"]
