"""Agents that play any game, or any game with the spaces they need."""
