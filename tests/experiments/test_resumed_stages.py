"""An evaluation or a meeting that was interrupted goes on with the games that are in the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail.protocol.journal import episodes, uncounted
from dovetail.protocol.messages import Episode
from dovetail_experiments.records.records import Records
from dovetail_experiments.records.store import Store
from dovetail_experiments.stages import playing
from dovetail_experiments.stages.runner import RunnerOptions, execute

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("undrawn")]

FILE = """
name = "cup"
seed = 3
environment = { name = "connect_four", configuration = { rows = 4, columns = 4, connect = 3 } }

[agents.dice]
type = "random"
[agents.greedy]
type = "greedy"

[[evaluations]]
name = "test"
seats = ["dice", "greedy"]
episodes = 40
rotate = true
concurrency = 4
lookahead = true

[[tournaments]]
name = "cup"
players = ["dice", "greedy"]
episodes = 60
concurrency = 4
lookahead = true
openings = "auto"
"""


def watched(patch: pytest.MonkeyPatch, number: int, after: int) -> list[tuple[int, int]]:
    """Interrupt a stage after some results; return where the games are noted that are played."""
    played: list[tuple[int, int]] = []
    add = Store.add

    def noted(self: Store, row: int, episode: Episode) -> None:
        add(self, row, episode)
        played.append((int(self.label(row).split("/")[1]), episode.index))
        if sum(each == number for each, _ in played) >= after:
            raise KeyboardInterrupt

    patch.setattr(Store, "add", noted)
    return played


def rows(folder: Path) -> list[dict[str, Any]]:
    with Records(folder) as records:
        found = records.rows(
            columns=["stage", "episode", "episode_seed", "digest", "agent", "score", "opening"]
        )
        return sorted(found, key=lambda row: [str(each) for each in row.values()])


@pytest.mark.long
@pytest.mark.parametrize(("number", "after"), [(0, 17), (1, 3), (1, 30)])
def test_only_the_games_that_are_missing_are_played(
    number: int, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cup.toml"
    path.write_text(FILE)
    whole = execute(path, out=tmp_path / "whole", options=RunnerOptions(in_process=True))
    with monkeypatch.context() as patch:
        first = watched(patch, number, after)
        with pytest.raises(KeyboardInterrupt):
            execute(path, out=tmp_path / "broken", options=RunnerOptions(in_process=True))
    monkeypatch.setattr(playing, "MOST", 20)  # most results are read from the store
    second = watched(monkeypatch, number, 10_000)
    done = execute(
        path, out=tmp_path / "broken", options=RunnerOptions(in_process=True), resume=True
    )
    assert len(first) >= after
    assert len({*first} | {*second}) == 100
    assert len({*first} & {*second}) <= 4  # what came in the same moment, and was not stored
    assert rows(done.folder) == rows(whole.folder)
    text = (done.folder / "results.json").read_text()
    results = [
        [line for line in each.splitlines() if "seconds" not in line]
        for each in (text, (whole.folder / "results.json").read_text())
    ]
    assert results[0] == results[1]
    journal = done.folder / "games-1.journal"
    void = uncounted(journal)
    counted = [record.label for at, record in episodes(journal) if at not in void]
    assert len(counted) == 100
