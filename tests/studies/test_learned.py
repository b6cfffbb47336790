"""States of learners: those that the repository keeps.  ``test_best`` and ``test_across`` measure with them."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dovetail import DovetailError, InProcess
from dovetail_agents.general.feature_network import handmade
from dovetail_agents.general.feature_network.genome import Network
from dovetail_agents.general.feature_network.saved import Genome
from dovetail_agents.general.td import TD
from dovetail_games.connect_four import ConnectFour
from dovetail_studies import learned, working
from dovetail_studies.learned import States, using
from dovetail_studies.rows import study


def study_network(rows: int) -> Network:
    return handmade.network("study", handmade.PLANES, rows, 10)


def test_small_states_are_kept_in_place_of_older_ones(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    learned.keep(out, kept, True)
    assert not kept.exists()
    for name, size in (("small", learned.LARGEST), ("large", learned.LARGEST + 1)):
        States(out).write(name, bytes(size))
    States(kept).write("old", b"1")
    learned.keep(out, kept, True)
    assert [path.name for path in kept.iterdir()] == ["small.state"]
    assert States(out, kept).find("small") == kept / "small.state"
    assert States(out, kept).find("old") is None


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
    assert states.find("one") is None
    states.write("one", b"whole")
    with full(100), pytest.raises(DovetailError):
        states.write("one", bytes(1000))
    assert [path.read_bytes() for path in (tmp_path / "out").iterdir()] == [b"whole"]


def test_a_part_of_a_row_leaves_the_states_of_its_other_learners(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    for name in ("one", "two", "grown"):
        States(kept).write(name, b"old")
    States(out).write("one", b"new")
    States(out).write("grown", bytes(learned.LARGEST + 1))
    with full(1), pytest.raises(DovetailError, match=r"^cannot write .*one\.state: File too large"):
        learned.keep(out, kept, True)
    assert {path.read_bytes() for path in kept.iterdir()} == {b"old"}
    learned.keep(out, kept, False)
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == {
        "one.state": b"new",
        "two.state": b"old",
    }


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
    with using(States(tmp_path / "out", tmp_path)), pytest.raises(DovetailError) as caught:
        row.work(unit)
    assert str(caught.value).startswith(f"{tmp_path / 'loops-1.state'}: {said}")
    assert str(caught.value).endswith(
        "; restore the file, or remove it, and the learner is trained again"
    )


def test_a_kept_state_that_its_player_refuses_is_named(tmp_path: Path) -> None:
    States(tmp_path).write("td-1", b"rubbish")
    with InProcess([ConnectFour], [TD]) as experiment:
        player = experiment.create("td", seed=1)
        with using(States(tmp_path / "out", tmp_path)), pytest.raises(DovetailError) as caught:
            learned.train(experiment, {"td-1": player}, pytest.fail)
    assert str(caught.value).startswith(f"{tmp_path / 'td-1.state'}: ")
