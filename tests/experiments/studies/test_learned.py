"""States of learners: those that the repository keeps.  ``test_best`` and ``test_across`` measure with them."""

from __future__ import annotations

from pathlib import Path

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
