"""Checks that every environment and every agent must pass, for authors to call in their own tests.

>>> from dovetail_games.connect_four import ConnectFour
>>> check_environment(ConnectFour, {"rows": 4, "columns": 4}, episodes=2)
"""

from __future__ import annotations

from dovetail.testing.agents import check_agent
from dovetail.testing.environments import check_environment
from dovetail.testing.problem import CheckFailed

__all__ = ["CheckFailed", "check_agent", "check_environment"]
