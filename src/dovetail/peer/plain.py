"""Text that came from other programs, on its way to a terminal, which would obey what is not text in it."""

from __future__ import annotations

import re

_COLOURS = r"\x1b\[[0-9;]*m"
_OBEYED = re.compile(
    rf"(?P<colours>{_COLOURS})"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # such as a title
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_RESET = "\x1b[0m"


def plain(text: str) -> str:
    """Return a text without control sequences and characters, but ends of lines and tabs."""
    return _OBEYED.sub("", text)


def coloured(text: str) -> str:
    """Return a text like ``plain``, but with the colours in which some games draw their positions."""
    kept = _OBEYED.sub(lambda found: found["colours"] or "", text)
    return f"{kept}{_RESET}" if "\x1b" in kept and not kept.endswith(_RESET) else kept
