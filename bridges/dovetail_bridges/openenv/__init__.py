"""Dovetail's games as OpenEnv servers, in which OpenEnv's clients and trainers take seats."""
