"""The store, with real databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dovetail.experiments.store import Store
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Episode, SeatResult


def result(index: int) -> Episode:
    seats = [SeatResult("x", 0, 1.0, 3, 0.5), SeatResult("y", 1, -1.0, 2, 0.25, 1)]
    return Episode(
        run=1,
        index=index,
        episode=index,
        seed=2**62 + index,
        reason="illegal-action",
        seats=seats,
        outcome=[1.0, 0.0],
        blame=1,
        turns=5,
        message="column 9 is none",
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path / 'new' / 'results.sqlite'}")


def begin(store: Store, number: int = 0) -> tuple[int, int]:
    execution = store.begin("name", "file", 1)
    return execution, store.begin_stage(execution, number, "phase", "p", 0, ["a", "b"], False)


def test_results_come_back_as_they_were(store: Store) -> None:
    _, stage = begin(store)
    given = [result(index) for index in range(3)]
    for each in given:
        store.add(stage, each)
    store.flush()
    found = store.results(stage)
    assert [each.index for each in found] == [0, 1, 2]
    for field in ("seed", "reason", "outcome", "blame", "turns", "scored", "will_retry", "message"):
        assert [getattr(x, field) for x in found] == [getattr(x, field) for x in given]
    assert [s.total for s in found[0].seats] == [1.0, -1.0]
    assert [s.breaches for s in found[0].seats] == [0, 1]


def test_what_was_added_is_on_disk_when_it_is_closed(store: Store, tmp_path: Path) -> None:
    _, stage = begin(store)
    store.add(stage, result(0))
    store.close()
    with sqlite3.connect(tmp_path / "new" / "results.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM episodes").fetchone() == (1,)


def test_a_stage_and_its_states_finish_together(store: Store) -> None:
    execution, stage = begin(store)
    assert store.finished_stages(execution) == {}
    store.finish_stage(execution, 0, stage, {"a": b"one"})
    store.finish_stage(execution, 0, stage, {"a": b"two"})
    assert store.finished_stages(execution) == {0: stage}
    assert store.saved(execution) == {"a": b"two"}


def test_a_stage_that_is_begun_again_drops_what_it_left(store: Store) -> None:
    execution, stage = begin(store)
    store.add(stage, result(0))
    store.flush()
    again = store.begin_stage(execution, 0, "phase", "p", 0, ["a", "b"], False)
    assert store.results(stage) == store.results(again) == []


def test_the_last_unfinished_execution_of_the_same_file(store: Store) -> None:
    first, second = store.begin("n", "file", 1), store.begin("n", "file", 1)
    store.begin("n", "other", 1)
    assert store.unfinished("n", "file") == second
    store.finish(second)
    assert store.unfinished("n", "file") == first
    assert store.unfinished("n", "none") is None


@pytest.mark.parametrize(
    "url", ["nonsense", "sqlite:////proc/no/results.sqlite", "nosuch://host/x"]
)
def test_no_database_costs_one_line(url: str) -> None:
    with pytest.raises(DovetailError, match="cannot use the store") as caught:
        Store(url)
    assert "\n" not in str(caught.value)


def test_a_database_that_refuses_loses_nothing(store: Store, tmp_path: Path) -> None:
    _, stage = begin(store)
    blocker = sqlite3.connect(tmp_path / "new" / "results.sqlite")
    blocker.execute("ALTER TABLE episodes RENAME TO elsewhere")
    store.add(stage, result(0))
    with pytest.raises(DovetailError, match="cannot write the store"):
        store.flush()
    blocker.execute("ALTER TABLE elsewhere RENAME TO episodes")
    blocker.close()
    store.flush()
    assert len(store.results(stage)) == 1
