"""The garbage collector in programs that serve."""

from __future__ import annotations

import gc
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
