"""The bridges' commands."""

from __future__ import annotations

COMMANDS = {
    "dovetail_bridges.commands.rlglue": {
        "rlglue": "Connect unchanged RL-Glue 3 programs over their TCP protocol."
    },
    "dovetail_bridges.commands.engines": {
        "uci": "Run an agent as a UCI chess engine, for GUIs and tournament managers.",
        "gtp": "Run an agent as a GTP Go engine, for GUIs and tournament managers.",
    },
    "dovetail_bridges.commands.dataset": {
        "dataset": "Write an agent's games as a dataset for offline learning, in Minari's format."
    },
    "dovetail_bridges.commands.mcp": {
        "mcp": "Offer seats in a game to language models and other programs that speak MCP."
    },
    "dovetail_bridges.commands.openenv": {
        "openenv": "Offer seats in a game to clients and trainers that speak OpenEnv."
    },
    "dovetail_bridges.commands.check": {"bridges": "Try the bridges with what is installed."},
    "dovetail_bridges.commands.ggp": {"ggp": "Play games of the General Game Playing protocol."},
}
"""The commands of each module, with the first sentence of their help."""
