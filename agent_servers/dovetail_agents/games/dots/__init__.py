"""The player of the dots and boxes study: alpha-beta over seven features with learned weights."""

from dovetail_agents.games.dots.agent import DotsPlayer

__all__ = ["DotsPlayer"]
