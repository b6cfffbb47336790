"""Makes text from other programs safe to show in a log, an error, a terminal or a page."""

from __future__ import annotations

import re

COLOURS = r"\x1b\[[0-9;]*m"
OBEYED = re.compile(
    rf"(?P<colours>{COLOURS})"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # a title
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""Control sequences and characters of a terminal, except line ends and tabs."""
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Characters that no name may have: control characters, line ends, and those that change the
reading order, with which a name could look like another's."""
_ORDER = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that change the reading order, and surrogates."""
MAX_LINE = 2000
"""Maximum characters of a line."""


def line(text: str) -> str:
    """Return a text as one printable line, so that it cannot pass for anything else.

    >>> line("all is well\\n12:00 the broker stops\\x1b[2J")
    'all is well 12:00 the broker stops'
    """
    if text.isprintable() and len(text) <= MAX_LINE:
        return text
    # An unterminated sequence hides no more than its own line.
    found = " ".join(_ORDER.sub("", OBEYED.sub("", text)).split())
    return found if len(found) <= MAX_LINE else f"{found[: MAX_LINE - 3]}..."
