"""Perfect play of Connect Four: a solver, and an agent that uses it."""

from dovetail_agents.games.connect_four.agent import ConnectFourSolver

__all__ = ["ConnectFourSolver"]
