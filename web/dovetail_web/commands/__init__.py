"""The page's commands."""

from __future__ import annotations

COMMANDS = {
    "dovetail_web.commands.web": {
        "web": "Watch, play and replay games in a browser, and look at results.",
    },
}
"""The commands of each module, with the first sentence of their help."""
