"""Errors in a user's code, described for its author and for the peer that made the request."""

from __future__ import annotations

import logging
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import Final

from dovetail.protocol.errors import Code, DovetailError, Forfeit, Refused

Failure = Exception | SystemExit
FAILURES: Final = (Exception, SystemExit)
"""Exceptions of a user's own code; ``sys.exit`` in it must not end the hosting program."""

_LIBRARIES = tuple(
    f"{Path(sysconfig.get_paths()[name]).resolve()}{os.sep}"
    for name in ("stdlib", "purelib", "platlib")
)


_SEEN = 64
"""Tracebacks remembered, so that a repeated one is logged in one line."""
_EACH = 5
"""How often one is logged, before only the tenth, the hundredth and so on are."""
_seen: dict[str, int] = {}


def _mine(frame: traceback.FrameSummary) -> bool:
    """Return whether a stack frame is in neither Dovetail nor a library."""
    if frame.filename.startswith("dovetail/"):  # compiled modules name their sources so
        return False
    file = os.path.realpath(frame.filename) if os.sep in frame.filename else frame.filename
    return not file.startswith((*_LIBRARIES, *_ours(), "<"))


def _ours() -> list[str]:
    packages = [
        module
        for name, module in list(sys.modules.items())
        if name == "dovetail" or (name.startswith("dovetail_") and "." not in name)
    ]
    # The module of a compiled wheel is called `dovetail__mypyc`, and is not a package.
    folders = [each for package in packages for each in getattr(package, "__path__", ())]
    return [f"{Path(each).resolve()}{os.sep}" for each in folders]


def trace(error: BaseException) -> str:
    """Return a traceback with only the user's frames; the last three frames if there are none."""
    found = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = found
    while each is not None:
        mine = [frame for frame in each.stack if _mine(frame)]
        each.stack = traceback.StackSummary.from_list(mine or each.stack[-3:])
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return "".join(found.format()).rstrip()


def _report(error: BaseException, what: str, log: logging.Logger) -> None:
    """Log an error with its traceback, unless that was logged before."""
    text = trace(error)
    if text in _seen:
        _seen[text] = count = _seen[text] + 1
        said = " ".join(str(error).split())[:200] or type(error).__name__
        if count <= _EACH:
            log.error("%s failed as before: %s", what, said)
        elif str(count).strip("0") == "1":
            log.error("%s failed as before, for the %sth time: %s", what, f"{count:,}", said)
        return
    if len(_seen) >= _SEEN:
        del _seen[next(iter(_seen))]
    _seen[text] = 1
    log.error("%s failed\n%s", what, text)


def place(error: BaseException) -> str:
    """Return `` (FILE.py:LINE)`` of the user's innermost frame, or nothing."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _mine(frame):
            return f" ({Path(frame.filename).name}:{frame.lineno})"
    return ""


def code_of(error: Failure) -> str:
    """Return the error code: a program that says it cannot, or one that tried and failed."""
    if isinstance(error, Refused):
        return error.code
    return "unavailable" if isinstance(error, DovetailError) else "crashed"


def failure(error: Failure) -> Code:
    """Return the code of an agent's error at a decision; a ``Forfeit`` has its own."""
    if isinstance(error, Forfeit):
        return "timeout" if error.code == "timeout" else "unavailable"
    return "crashed"


def described(error: Failure, who: str, log: logging.Logger, where: str = "") -> str:
    """Return one line about an exception; an unexpected one is also logged with its traceback.

    Args:
        error: the exception.
        who: the object that raised it.
        log: the program's logger.
        where: the method that raised it, unless ``who`` names it.
    """
    if isinstance(error, DovetailError):
        return str(error)
    _report(error, where or who, log)
    text = " ".join(str(error).split())
    inside = f" in {where}" if where else ""
    return f"{who} raised {type(error).__name__}{inside}: {text}"[:300] + place(error)
