"""The commands of the command line for the page."""

from __future__ import annotations

COMMANDS = {
    "web": (
        "dovetail_web.commands.web",
        "Watch, play and replay games in a browser, and look at results.",
    ),
}
"""The module of each command, and the first sentence of its help."""
