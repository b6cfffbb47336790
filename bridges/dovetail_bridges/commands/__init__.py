"""The bridges' commands."""

from __future__ import annotations

COMMANDS = {
    "rlglue": (
        "dovetail_bridges.commands.rlglue",
        "Connect unchanged RL-Glue 3 programs over their TCP protocol.",
    ),
    "uci": (
        "dovetail_bridges.commands.engines",
        "Run an agent as a UCI chess engine, for GUIs and tournament managers.",
    ),
    "gtp": (
        "dovetail_bridges.commands.engines",
        "Run an agent as a GTP Go engine, for GUIs and tournament managers.",
    ),
    "dataset": (
        "dovetail_bridges.commands.dataset",
        "Write an agent's games as a dataset for offline learning, in Minari's format.",
    ),
    "mcp": (
        "dovetail_bridges.commands.mcp",
        "Offer seats in a game to language models and other programs that speak MCP.",
    ),
    "openenv": (
        "dovetail_bridges.commands.openenv",
        "Offer seats in a game to clients and trainers that speak OpenEnv.",
    ),
    "bridges": (
        "dovetail_bridges.commands.check",
        "Try the bridges with what is installed.",
    ),
    "ggp": (
        "dovetail_bridges.commands.ggp",
        "Play games of the General Game Playing protocol.",
    ),
}
"""The module and the help summary of each command."""
