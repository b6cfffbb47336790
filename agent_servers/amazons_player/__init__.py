"""The player of the Amazons study: alpha-beta over twelve features whose weights it learns."""

from dovetail.agent_servers.amazons_player.agent import AmazonsPlayer

__all__ = ["AmazonsPlayer"]
