"""Agents that know one game, a folder per game."""
