"""The page's commands."""

from __future__ import annotations

COMMANDS = {
    "web": (
        "dovetail_web.commands.web",
        "Watch, play and replay games in a browser, and look at results.",
    ),
}
"""The module and the help summary of each command."""
