"""Worker processes that end at once where the program is interrupted or ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from dovetail.peer.child_processes import ends_with_this


@contextmanager
def workers(
    count: int, begin: Callable[..., object] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """Open a number of processes; an error or an interrupt within the block ends their work, the
    end of this process as well.

    They do not hear Ctrl-C, which a terminal sends to all: a worker that is still importing would
    print a traceback, and one at work would take the next piece.

    Args:
        count: of processes.
        begin: called in each of them first.
        arguments: of ``begin``.
    """
    context = multiprocessing.get_context("spawn")
    prepared = os.getpid(), begin, arguments
    with ProcessPoolExecutor(count, context, _begin, prepared) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _begin(parent: int, begin: Callable[..., object] | None, arguments: tuple[Any, ...]) -> None:
    """Have a worker end with its parent: one that is killed cannot end it, and its successor may
    work already.

    At once, without a word to its own programs, which end with it in the same way.
    """
    number = getattr(signal, "SIGKILL", signal.SIGTERM)
    if (end_with_parent := ends_with_this(number=number)) is not None:
        end_with_parent()
        if os.getppid() != parent:  # it ended before
            os._exit(1)
    threading.Thread(target=_end, name="end with the parent", daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end() -> None:
    """End this worker when its parent has, on systems that send no signal then."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


@contextmanager
def starting() -> Iterator[None]:
    """Block SIGINT while starting workers."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        hear()


def hear() -> None:
    """Hear Ctrl-C again, in a worker that has its own answer to it."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
