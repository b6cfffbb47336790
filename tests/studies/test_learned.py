"""States of learners: those that the repository keeps.  ``test_best`` and ``test_across`` measure
with them."""

from __future__ import annotations

import resource
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from dovetail import DovetailError, InProcess
from dovetail_agents.general.feature_network import handmade
from dovetail_agents.general.feature_network.genome import UnitNetwork
from dovetail_agents.general.feature_network.saved import Genome
from dovetail_agents.general.td import TD
from dovetail_games.connect_four import ConnectFour
from dovetail_studies import archive, learned, working
from dovetail_studies.archive import Member
from dovetail_studies.learned import States, using
from dovetail_studies.rows import Done, Row, Unit, study


def study_network(rows: int) -> UnitNetwork:
    return handmade.network("study", handmade.PLANES, rows, 10)


def test_small_states_are_kept_in_place_of_older_ones(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", Member(tmp_path / "sums.zip", "halves.study")
    learned.keep(out, kept, True)
    assert not kept.archive.exists()
    for name, size in (("small", learned.LARGEST), ("large", learned.LARGEST + 1)):
        States(out).write(name, bytes(size))
    archive.write(kept.archive, {"halves.study/old.state": b"1", "other.study/old.state": b"2"})
    learned.keep(out, kept, True)
    assert sorted(archive.members(kept.archive)) == [
        "halves.study/small.state",
        "other.study/old.state",
    ]
    assert States(out, (kept,)).find("small") == kept / "small.state"
    assert States(out, (kept,)).find("old") is None


def test_an_archive_has_the_same_bytes_whatever_the_order_and_the_day(tmp_path: Path) -> None:
    content = {"b": b"2", "a/c": b"1"}
    for number, names in enumerate((["b", "a/c"], ["a/c", "b"])):
        archive.write(tmp_path / f"{number}.zip", {name: content[name] for name in names})
    first, other = ((tmp_path / f"{number}.zip").read_bytes() for number in (0, 1))
    assert first == other
    assert archive.members(tmp_path / "0.zip") == content
    assert list(archive.members(tmp_path / "0.zip")) == ["a/c", "b"]
    with zipfile.ZipFile(tmp_path / "0.zip") as file:
        assert {each.date_time[0] for each in file.infolist()} == {1980}
    (tmp_path / "0.zip").write_bytes(first[:-30])
    with pytest.raises(DovetailError, match=r"^cannot read .*0\.zip: .*; restore the file$"):
        archive.members(tmp_path / "0.zip")


@pytest.mark.parametrize("kind", ["results", "states"])
def test_the_archives_of_the_repository_are_written_by_this_code(kind: str, tmp_path: Path) -> None:
    kept = sorted((Path(__file__).parents[2] / "studies/pages" / kind).glob("*.zip"))
    assert len(kept) >= 3
    for path in kept:
        archive.write(tmp_path / path.name, archive.members(path))
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


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
    states = States(tmp_path / "out", (tmp_path / "kept",))
    with (
        full(100),
        pytest.raises(DovetailError, match=r"^cannot write .*one\.state: File too large"),
    ):
        states.write("one", bytes(1000))
    assert states.find("one") is None
    states.write("one", b"whole")
    with full(100), pytest.raises(DovetailError):
        states.write("one", bytes(1000))
    assert [path.read_bytes() for path in (tmp_path / "out").iterdir()] == [b"whole"]


def test_a_part_of_a_row_leaves_the_states_of_its_other_learners(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", Member(tmp_path / "sums.zip", "halves.study")
    names = [f"halves.study/{name}.state" for name in ("grown", "one", "two")]
    archive.write(kept.archive, dict.fromkeys(names, b"old"))
    States(out).write("one", b"new")
    States(out).write("grown", bytes(learned.LARGEST + 1))
    with full(1), pytest.raises(DovetailError, match=r"^cannot write .*sums\.zip: File too large"):
        learned.keep(out, kept, True)
    assert archive.members(kept.archive) == dict.fromkeys(names, b"old")
    learned.keep(out, kept, False)
    assert archive.members(kept.archive) == {names[1]: b"new", names[2]: b"old"}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (b"", "these bytes are not a saved feature-network: Input data was truncated"),
        (b'{"agent":"td"', "these bytes are not a saved feature-network: "),
        (Genome.of(study_network(10)).bytes(), "this is a network for 10 x 10, and the study's"),
        (Genome.of(study_network(20)).bytes(), "this network does not say how it was found: "),
    ],
)
def test_a_kept_state_that_is_none_is_named(tmp_path: Path, state: bytes, said: str) -> None:
    row = study("tetris").row("run-5")
    assert row.work
    [unit] = (each for each in working.units(row, "quick", 1) if each["loops"])
    States(tmp_path).write("loops-1", state)
    with using(States(tmp_path / "out", (tmp_path,))), pytest.raises(DovetailError) as caught:
        row.work(unit)
    assert str(caught.value).startswith(f"{tmp_path / 'loops-1.state'}: {said}")
    assert str(caught.value).endswith(
        "; restore the file, or remove it, and the learner is trained again"
    )


def test_a_kept_state_that_its_player_refuses_is_named(tmp_path: Path) -> None:
    States(tmp_path).write("td-1", b"rubbish")
    with InProcess([ConnectFour], [TD]) as experiment:
        player = experiment.create("td", seed=1)
        with using(States(tmp_path / "out", (tmp_path,))), pytest.raises(DovetailError) as caught:
            learned.train(experiment, {"td-1": player}, pytest.fail)
    assert str(caught.value).startswith(f"{tmp_path / 'td-1.state'}: ")


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
