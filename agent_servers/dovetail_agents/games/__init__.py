"""Agents for a single game, in one folder per game."""
