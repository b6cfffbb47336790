"""Where in a user's own code an exception came from."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Final

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
