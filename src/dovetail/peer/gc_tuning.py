"""Garbage collection in programs that only serve.

A turn's objects are freed by reference counting as soon as they are sent.  The collector finds
nothing, but by default runs whenever there are 700 objects more than before: every few turns of
many matches, for a tenth to a fifth of a compiled broker's time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 10_000
"""New objects after which the collector runs."""


@contextmanager
def patient() -> Iterator[None]:
    """Freeze existing objects and collect less often in this context.

    It affects the whole program, so it does nothing outside the main thread, or if the collector
    is off.
    """
    before = gc.get_threshold()
    if not before[0] or threading.current_thread() is not threading.main_thread():
        yield
        return
    gc.freeze()
    gc.set_threshold(max(YOUNG, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
