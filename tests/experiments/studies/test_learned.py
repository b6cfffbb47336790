"""States of learners: those that the repository keeps.  ``test_best`` and ``test_across`` measure with them."""

from __future__ import annotations

from pathlib import Path

from dovetail.experiments.studies import learned
from dovetail.experiments.studies.learned import States


def test_small_states_are_kept_in_place_of_older_ones(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    learned.keep(out, kept)
    assert not kept.exists()
    for name, size in (("small", learned.LARGEST), ("large", learned.LARGEST + 1)):
        States(out).write(name, bytes(size))
    States(kept).write("old", b"1")
    learned.keep(out, kept)
    assert [path.name for path in kept.iterdir()] == ["small.state"]
    assert States(out, kept).read("small") == bytes(learned.LARGEST)
    assert States(out, kept).read("old") is None
