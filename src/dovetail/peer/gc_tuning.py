"""Memory in programs that only serve: garbage collection and the C library's allocator.

A turn's objects are freed by reference counting as soon as they are sent.  The collector finds
nothing, but by default runs whenever there are 700 objects more than before: every few turns of
many matches, for a tenth to a fifth of a compiled broker's time.

By default glibc returns the memory of a long frame to the system as soon as it is free.  The system
then clears new pages for the next frame, which takes longer than copying it.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 10_000
"""New objects after which the collector runs."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
KEPT = 1 << 27
"""Bytes of freed memory kept at most."""
LONGEST = 1 << 25
"""Bytes from which a block is returned when it is freed; glibc accepts no higher threshold."""


@contextmanager
def patient() -> Iterator[None]:
    """Freeze existing objects, and collect less often, in this context; from then on keep freed
    memory.

    It affects the whole program, so it does nothing outside the main thread, or if the collector
    is off.
    """
    before = gc.get_threshold()
    if not before[0] or threading.current_thread() is not threading.main_thread():
        yield
        return
    _keep()
    gc.freeze()
    gc.set_threshold(max(YOUNG, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _keep() -> None:
    """Have glibc, if the program uses it, keep freed memory."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, LONGEST)
            mallopt(_TRIM_THRESHOLD, KEPT)
