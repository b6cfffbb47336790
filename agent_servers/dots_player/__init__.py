"""The player of the dots and boxes study: alpha-beta over seven features whose weights it learns."""

from dovetail.agent_servers.dots_player.agent import DotsPlayer

__all__ = ["DotsPlayer"]
