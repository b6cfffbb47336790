"""States of learners: kept by training, and measured again without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiments.studies.test_best import TINY

from dovetail.experiments.studies import learned, pages, working
from dovetail.experiments.studies.learned import States, using
from dovetail.experiments.studies.rows import Unit, study

KEEP = ("connect_four", "rlgame", "tetris", "tetris-trainers", "2048", "dots")


def learners() -> Iterator[tuple[str, str, Unit]]:
    """Yield a piece of work of each row, and of each learner of it."""
    for key in KEEP:
        for unit in working.units(study("best").row(key), "quick", 1):
            if unit.get("size") == 8:
                continue  # as on 6 x 6, and slower
            yield "best", key, {**unit, **TINY[key]}
    for row in study("across").rows[:4]:
        [unit] = working.units(row, "quick", 1)
        yield "across", row.key, {**unit, "games": 10, "tests": 4}


@pytest.mark.parametrize(("name", "key", "unit"), list(learners()), ids=str)
def test_a_state_gives_the_result_of_the_training(
    name: str, key: str, unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = study(name).row(key)
    assert row.work
    with using(States(tmp_path / "out")):
        trained = row.work(unit)
    found = list(tmp_path.rglob("*.state"))
    if not found:
        return  # this player does not learn
    monkeypatch.setattr(learned.States, "write", None)  # nothing is trained
    with using(States(tmp_path / "out", tmp_path / "kept")):
        again = row.work(unit)
    assert {name: trained[name] for name in again} == again


def test_what_is_not_kept_is_trained(tmp_path: Path) -> None:
    unit = {**working.units(study("best").row("rlgame"), "quick", 1)[0], **TINY["rlgame"]}
    row = study("best").row("rlgame")
    assert row.work
    with using(States(tmp_path)):
        trained = row.work(unit)
    first, second = sorted(tmp_path.iterdir())
    was = first.read_bytes(), second.read_bytes()
    second.unlink()
    with using(States(tmp_path, tmp_path)):
        assert row.work(unit) == trained
    assert (first.read_bytes(), second.read_bytes()) == was


def test_results_are_compared_with_those_that_are_kept(tmp_path: Path) -> None:
    best = study("best")
    row = best.row("tetris")
    told: list[str] = []
    working.run([(best, [row])], "quick", 1, out=tmp_path, told=told.append)
    working.run([(best, [row])], "quick", 1, out=tmp_path, told=told.append, again=True)
    assert len(told) == 2 * len(working.units(row, "quick", 1))
    found = pages.at(best, row, "quick", 1, tmp_path / working.AGAIN)
    line = "tetris: 5 of 5 pieces give the results in"
    assert pages.compared(best, found, tmp_path).startswith(line)
    path = working.file(tmp_path, "best", row, "quick")
    path.write_text(path.read_text().replace('"games":3,', '"games":4,', 1))
    assert "tetris: 4 of 5 pieces" in pages.compared(best, found, tmp_path)


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
