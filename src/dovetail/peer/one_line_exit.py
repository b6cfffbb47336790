"""Errors of Dovetail that end a user's program: one line, as on the command line."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from dovetail.peer.error_origin import place
from dovetail.peer.extras import absent
from dovetail.protocol.display_text import plain
from dovetail.protocol.errors import DovetailError


def in_one_line() -> None:
    """Show an uncaught ``DovetailError`` in one line, with the user's file and line.

    Any other error, and any program that shows errors in its own way, stays as it is
    (docs/decisions/0047).
    """
    if sys.excepthook is sys.__excepthook__ and not hasattr(sys, "ps1"):
        sys.excepthook = _show


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    text = str(error) if isinstance(error, DovetailError) else absent(error)
    if text is None or os.environ.get("DOVETAIL_DEBUG", "") not in ("", "0"):
        sys.__excepthook__(kind, error, trace)
        return
    print(f"dovetail: {plain(text)}{place(error)}", file=sys.stderr)
