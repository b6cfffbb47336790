"""Matches and the agents that are seated in them."""
