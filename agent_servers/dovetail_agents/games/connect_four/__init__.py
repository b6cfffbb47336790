"""Perfect play of Connect Four: a solver, and the agent that plays by it."""

from dovetail_agents.games.connect_four.agent import ConnectFourSolver

__all__ = ["ConnectFourSolver"]
