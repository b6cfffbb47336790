"""Measure pieces of work again with the states that they left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from dovetail_studies.learned import States, using
from dovetail_studies.rows import Done, Row, Unit


def trained(row: Row, units: Sequence[Unit], folder: Path) -> Done:
    """Do pieces of work, and keep the states of their learners in a folder."""
    assert row.work
    with using(States(folder)):
        return [(unit, row.work(unit)) for unit in units]


def assert_states_give(row: Row, done: Done, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assert that the states in the folder give the same results, but for what only training
    tells."""
    assert row.work
    monkeypatch.setattr(States, "write", None)  # nothing is trained
    with using(States(folder, (folder,))):
        for unit, result in done:
            again = row.work(unit)
            assert {name: result[name] for name in again} == again
