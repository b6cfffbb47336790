"""States of learners: those that the repository keeps.  ``test_best`` and ``test_across`` measure with them."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dovetail import DovetailError
from dovetail.experiments.studies import learned
from dovetail.experiments.studies.learned import States


def test_small_states_are_kept_in_place_of_older_ones(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    learned.keep(out, kept, True)
    assert not kept.exists()
    for name, size in (("small", learned.LARGEST), ("large", learned.LARGEST + 1)):
        States(out).write(name, bytes(size))
    States(kept).write("old", b"1")
    learned.keep(out, kept, True)
    assert [path.name for path in kept.iterdir()] == ["small.state"]
    assert States(out, kept).read("small") == bytes(learned.LARGEST)
    assert States(out, kept).read("old") is None


@contextmanager
def full(size: int) -> Iterator[None]:
    """Let files of this process grow to that size, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_state_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """One cut short was read by the next --again, and kept by the next page."""
    states = States(tmp_path / "out", tmp_path / "kept")
    with (
        full(100),
        pytest.raises(DovetailError, match=r"^cannot write .*one\.state: File too large"),
    ):
        states.write("one", bytes(1000))
    assert states.read("one") is None
    states.write("one", b"whole")
    with full(100), pytest.raises(DovetailError):
        states.write("one", bytes(1000))
    assert states.read("one") == b"whole"
    assert len(list((tmp_path / "out").iterdir())) == 1


def test_a_part_of_a_row_leaves_the_states_of_its_other_learners(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    for name in ("one", "two", "grown"):
        States(kept).write(name, b"old")
    States(out).write("one", b"new")
    States(out).write("grown", bytes(learned.LARGEST + 1))
    learned.keep(out, kept, False)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == {
        "one.state": b"new",
        "two.state": b"old",
    }
