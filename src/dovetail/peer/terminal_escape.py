"""Text that came from other programs, on its way to a terminal, which would obey what is not text in it."""

from __future__ import annotations

from dovetail.protocol.display_text import OBEYED

_RESET = "\x1b[0m"


def plain(text: str) -> str:
    """Return a text without control sequences and characters, but ends of lines and tabs."""
    return OBEYED.sub("", text)


def coloured(text: str) -> str:
    """Return a text like ``plain``, but with the colours in which some games draw their positions."""
    kept = OBEYED.sub(lambda found: found["colours"] or "", text)
    return f"{kept}{_RESET}" if "\x1b" in kept and not kept.endswith(_RESET) else kept
