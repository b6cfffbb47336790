"""The player of the dots and boxes study: alpha-beta over seven features whose weights it
learns."""

from dovetail.agent_servers.games.dots.agent import DotsPlayer

__all__ = ["DotsPlayer"]
