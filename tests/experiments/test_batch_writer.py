"""Items that a thread writes: order, errors, and how many wait."""

from __future__ import annotations

import threading

import pytest

from dovetail_experiments.records import batch_writer
from dovetail_experiments.records.batch_writer import BatchWriter

pytestmark = pytest.mark.fast


def test_everything_is_written_once_and_in_order() -> None:
    written: list[list[int]] = []
    writer = BatchWriter[int](written.append)
    for number in range(1000):
        writer.add(number)
        if number % 300 == 0:
            writer.flush()
    writer.close()
    assert [each for batch in written for each in batch] == [*range(1000)]
    assert len(written) == 5


def test_a_full_batch_is_written_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_writer, "SIZE", 3)
    monkeypatch.setattr(batch_writer, "SECONDS", 3600.0)
    came = threading.Event()
    writer = BatchWriter[int](lambda _: came.set())
    for number in range(3):
        assert not came.is_set()
        writer.add(number)
    assert came.wait(60)
    writer.close()


def test_an_item_is_written_when_it_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_writer, "SECONDS", 0.01)
    came = threading.Event()
    writer = BatchWriter[int](lambda _: came.set())
    writer.add(1)
    assert came.wait(60)
    writer.close()


def test_who_adds_waits_while_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_writer, "SIZE", 2)
    monkeypatch.setattr(batch_writer, "MOST", 4)
    go, most = threading.Event(), [0]

    def write(batch: list[int]) -> None:
        most[0] = max(most[0], len(batch))
        assert go.wait(60)

    writer = BatchWriter[int](write)

    def add() -> None:
        for number in range(100):
            writer.add(number)

    thread = threading.Thread(target=add)
    thread.start()
    go.set()
    thread.join(60)
    writer.close()
    assert not thread.is_alive()
    assert most[0] <= 4


def test_what_could_not_be_written_stays_and_is_said_once() -> None:
    written: list[int] = []
    broken = [True]

    def write(batch: list[int]) -> None:
        if broken[0]:
            raise OSError("full")
        written.extend(batch)

    writer = BatchWriter[int](write)
    writer.add(1)
    with pytest.raises(OSError, match="full"):
        writer.flush()
    broken[0] = False
    writer.add(2)
    writer.close()
    assert written == [1, 2]


def test_a_final_error_gives_items_up() -> None:
    def write(_: list[int]) -> None:
        raise KeyError("over")

    writer = BatchWriter[int](write, KeyError)
    writer.add(1)
    with pytest.raises(KeyError):
        writer.flush()
    writer.close()
