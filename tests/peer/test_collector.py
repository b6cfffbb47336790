"""Memory in programs that serve: the garbage collector and the C library."""

from __future__ import annotations

import gc
import resource
import sys
import threading
from collections.abc import Iterator

import pytest

from dovetail.peer.gc_tuning import YOUNG, patient


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_it_looks_seldom_and_not_at_what_was_there_and_is_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with patient():
        assert gc.get_threshold() == (YOUNG, *before[1:])
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_the_memory_of_a_long_frame_is_kept_for_the_next() -> None:
    """It was returned, and cleared page by page again, which took longer than to copy the frame."""

    def play() -> int:
        for _ in range(10):
            _ = [b"1" * size for size in (7 << 20, 1 << 20, 7 << 20)]
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    with patient():
        before = play()
        assert play() - before < 1_000  # of 38,400 pages


def test_what_a_program_chose_stays() -> None:
    for chosen in ((0, 10, 10), (2 * YOUNG, 5, 5)):
        gc.set_threshold(*chosen)
        with patient():
            assert gc.get_threshold() == chosen


def test_a_thread_leaves_the_programs_collector_alone() -> None:
    seen = []

    def serve() -> None:
        with patient():
            seen.append(gc.get_threshold())

    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert seen == [gc.get_threshold()]
