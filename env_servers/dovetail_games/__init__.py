"""Environments, with a folder for each game."""
