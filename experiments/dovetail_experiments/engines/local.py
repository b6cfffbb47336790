"""This machine as an engine: pieces of work run in a pool of processes.

The workers stop at once when the program is interrupted or ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures import wait as any_of
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import wait
from typing import Any

from dovetail.protocol.errors import DovetailError
from dovetail_experiments.child_processes import ends_with_this
from dovetail_experiments.engines.pieces import PieceDone, PieceEvent, PieceFailed, Yielded

Work = Callable[..., Iterator[Any]]
"""A module's function that yields plain data."""


class LocalPool:
    """Local worker processes; the results of a piece arrive when it ends."""

    def __init__(self, workers: ProcessPoolExecutor, work: Work) -> None:
        self._workers = workers
        self._work = work
        self._running: dict[Future[list[Any]], int] = {}
        self._events: deque[PieceEvent] = deque()

    def begin(self, piece: int, arguments: tuple[Any, ...]) -> None:
        with starting():
            self._running[self._workers.submit(_whole, self._work, arguments)] = piece

    def next(self) -> PieceEvent:
        """Wait for the next event.

        Raises:
            DovetailError: a process was killed.
        """
        while not self._events:
            for future in any_of(self._running, return_when=FIRST_COMPLETED).done:
                piece = self._running.pop(future)
                try:
                    self._events += [Yielded(piece, each) for each in future.result()]
                    self._events.append(PieceDone(piece))
                except DovetailError as error:
                    self._events.append(PieceFailed(piece, error))
                except BrokenProcessPool:
                    raise DovetailError(
                        "a worker process was killed; to continue, run the command again "
                        "(`dovetail run` with --resume)"
                    ) from None
        return self._events.popleft()


@contextmanager
def local(
    count: int,
    work: Work,
    begin: Callable[..., object] | None = None,
    arguments: tuple[Any, ...] = (),
) -> Iterator[LocalPool]:
    """Open a pool of local processes that run ``work``; other arguments as for ``workers``."""
    with workers(count, begin, arguments) as pool:
        yield LocalPool(pool, work)


def _whole(work: Work, arguments: tuple[Any, ...]) -> list[Any]:
    return list(work(*arguments))


@contextmanager
def workers(
    count: int, begin: Callable[..., object] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """Start worker processes; an error or interrupt in the block, or this process's end, stops
    them.

    They ignore Ctrl-C, which a terminal sends to all processes: a worker still importing would
    print a traceback, and a busy one would take the next piece.

    Args:
        begin: called first in each of them.
        arguments: the arguments of ``begin``.
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
    """Make a worker end at once with its parent.

    A killed parent cannot stop its workers, and its successor may already be running. The worker's
    own programs end in the same way.
    """
    number = getattr(signal, "SIGKILL", signal.SIGTERM)
    if (end_with_parent := ends_with_this(number=number)) is not None:
        end_with_parent()
        if os.getppid() != parent:  # the parent has already ended
            os._exit(1)
    threading.Thread(target=_end, name="end with the parent", daemon=True).start()
    if begin is not None:
        begin(*arguments)


def _end() -> None:
    """End this worker after its parent, on systems that send no signal for it."""
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
    """Restore SIGINT in a worker that handles it itself."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
