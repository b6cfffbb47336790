"""The garbage collector in programs that do nothing but serve.

What is made for a turn is freed by its count of references as soon as it is sent.  The collector
finds nothing there, but looks each time that there are 700 objects more than before, which is once
in a few turns of many matches: a tenth to a fifth of the time of a compiled broker.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 10_000
"""Objects more than before after which the collector looks at the new ones."""


@contextmanager
def patient() -> Iterator[None]:
    """Freeze existing objects and collect less often in this context.

    Only if this is the main thread, since it concerns the whole program, and if the collector is
    on.
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
