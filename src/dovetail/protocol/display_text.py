"""Makes text from other programs safe to show in a log, an error, a terminal or a page."""

from __future__ import annotations

import re

COLOURS = r"\x1b\[[0-9;]*m"
_RESET = "\x1b[0m"
TURNING = "[\u2028-\u202e\u2066-\u206f]"
"""Line ends that few programs show, and characters that turn the reading order of all that follows.
Arabic and Hebrew need none of them."""
_LINE_ENDS = str.maketrans("\u2028\u2029", "  ")
OBEYED = re.compile(
    rf"(?P<colours>{COLOURS})"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # a title
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
    rf"|{TURNING}"
)
"""Control sequences and characters of a terminal, except line ends and tabs, and ``TURNING``."""
_UNSEEN = (  # other spaces, Unicode's Default_Ignorable_Code_Point without joiners, and fillers
    "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u2065"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_JOINERS = "\u200c\u200d\ufe00-\ufe0f"
UNNAMED = re.compile(
    f"[\x00-\x1f\x7f-\x9f{_UNSEEN}]|{TURNING}|(?<![^\x00-\x7f{_JOINERS}])[{_JOINERS}]"
)
"""Characters that no name may have: control characters, line ends, those that change the reading
order, invisible ones and spaces other than U+0020, with which a name could look like another's.
Persian, Hindi and emoji need joiners and variation selectors, so that these may follow a character
outside ASCII."""
UNNAMED_TEXT = "has control characters, invisible ones, or spaces other than U+0020"
"""The fault of a name in which ``UNNAMED`` finds something."""
_ORDER = re.compile("[\u061c\u200e\u200f\ud800-\udfff]")
"""Marks of the reading order, which a single line can do without, and surrogates."""
MAX_LINE = 2000
"""Maximum characters of a line."""
LOOKED_AT = 16 * MAX_LINE
"""Characters of a text that can become a line; a frame of them would take seconds."""


def line(text: str) -> str:
    """Return a text as one printable line, so that it cannot pass for anything else.

    >>> line("all is well\\n12:00 the broker stops\\x1b[2J")
    'all is well 12:00 the broker stops'
    """
    if text.isprintable() and len(text) <= MAX_LINE:
        return text
    # An unterminated sequence hides no more than its own line.
    text = OBEYED.sub("", text[:LOOKED_AT].translate(_LINE_ENDS))
    found = " ".join(_ORDER.sub("", text).split())
    return found if len(found) <= MAX_LINE else f"{found[: MAX_LINE - 3]}..."


def plain(text: str) -> str:
    """Return a text without control sequences and characters, except line ends and tabs."""
    return OBEYED.sub("", text)


def coloured(text: str) -> str:
    """Return a text as ``plain`` does, but with its colours, which some games use."""
    kept = OBEYED.sub(lambda found: found["colours"] or "", text)
    return f"{kept}{_RESET}" if "\x1b" in kept and not kept.endswith(_RESET) else kept
