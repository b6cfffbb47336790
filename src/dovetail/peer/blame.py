"""What a user's own code raised, for the person who wrote it and for the peer that asked."""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Final

from dovetail.protocol.errors import DovetailError, Refused

Failure = Exception | SystemExit
FAILURES: Final = (Exception, SystemExit)
"""What a user's own code may raise; ``sys.exit`` in it must not end the program that hosts it for others."""

_FOLDERS = tuple(
    f"{Path(each).resolve()}{os.sep}"
    for each in (
        *sys.modules[__name__.partition(".")[0]].__path__,
        *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
    )
)


def place(error: BaseException) -> str:
    """Return `` (FILE.py:LINE)`` of the innermost frame that is neither ours nor a library's; or nothing."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = os.path.realpath(frame.filename) if os.sep in frame.filename else frame.filename
        if not file.startswith((*_FOLDERS, "<")):
            return f" ({Path(file).name}:{frame.lineno})"
    return ""


def code_of(error: Failure) -> str:
    """Return whether a program says that it cannot, or tried and failed, as an error's code."""
    if isinstance(error, Refused):
        return error.code
    return "unavailable" if isinstance(error, DovetailError) else "crashed"


def described(error: Failure, who: str, log: logging.Logger, where: str = "") -> str:
    """Return one line for a person about an exception; what is a surprise is also logged whole.

    Args:
        error: the exception.
        who: raised it.
        log: of the program.
        where: in which method, if ``who`` does not say.
    """
    if isinstance(error, DovetailError):
        return str(error)
    log.error("%s failed", where or who, exc_info=error)
    text = " ".join(str(error).split())
    inside = f" in {where}" if where else ""
    return f"{who} raised {type(error).__name__}{inside}: {text}"[:300] + place(error)
