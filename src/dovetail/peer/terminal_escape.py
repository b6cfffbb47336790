"""Removes from other programs' text the control characters that a terminal would obey."""

from __future__ import annotations

from dovetail.protocol.display_text import OBEYED

_RESET = "\x1b[0m"


def plain(text: str) -> str:
    """Return a text without control sequences and characters, except line ends and tabs."""
    return OBEYED.sub("", text)


def coloured(text: str) -> str:
    """Return a text as ``plain`` does, but with its colours, which some games use."""
    kept = OBEYED.sub(lambda found: found["colours"] or "", text)
    return f"{kept}{_RESET}" if "\x1b" in kept and not kept.endswith(_RESET) else kept
