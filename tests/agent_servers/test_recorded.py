from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail import DovetailError, InProcess
from dovetail.agent_servers.general.random_agent import Random
from dovetail.agent_servers.general.recorded import Recorded, RecordedParameters
from dovetail.env_servers.connect_four import ConnectFour
from dovetail.env_servers.dots import Dots
from dovetail.protocol.journal import EpisodeRecord, read


def played(journal: Path) -> list[EpisodeRecord]:
    return [each for each in read(journal) if isinstance(each, EpisodeRecord)]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "games"
    with InProcess([ConnectFour], [Random], journal=path) as experiment:
        seats = [experiment.create("random", seed=seed) for seed in (1, 2)]
        experiment.run("connect_four", seats, episodes=3, seed=5).wait()
    return path


def again(
    journal: Path, first: dict[str, Any], second: str = "recorded", game: Any = ConnectFour
) -> Any:
    out = journal.with_name("again")
    with InProcess([game], [Recorded, Random], journal=out) as experiment:
        own = experiment.create("recorded", parameters={"journal": str(journal), **first})
        other = own if second == "recorded" else experiment.create(second, seed=7)
        experiment.run(game.name, [own, other], episodes=1, seed=8, retries=0).wait()
    return played(out)[-1]


def test_it_plays_the_same_game(journal: Path) -> None:
    games = played(journal)
    for number, game in enumerate(games, 1):
        assert again(journal, {"episode": str(number)}).actions == game.actions
    found = again(journal, {})
    assert (found.actions, found.result.outcome) == (games[-1].actions, games[-1].result.outcome)


def test_off_the_record(journal: Path) -> None:
    found = again(journal, {"off": "random"}, "random")
    assert found.result.reason == "terminated"
    recorded = [a for turn in played(journal)[-1].actions for seat, a in turn if seat == 0]
    assert found.actions[0][0] == (0, recorded[0]) or found.actions[0][0] == [0, recorded[0]]
    failed = [again(journal, {}, "random").result for _ in range(1)]
    assert {(each.reason, each.message[:9]) for each in failed} <= {
        ("crashed", "recorded:"),
        ("terminated", ""),
    }


def test_what_cannot_be_is_said_in_one_line(journal: Path) -> None:
    with pytest.raises(DovetailError, match=r"there is no episode 9; .* has 3"):
        Recorded(RecordedParameters(str(journal), "9"))
    with pytest.raises(DovetailError, match="cannot read the journal nowhere"):
        Recorded(RecordedParameters("nowhere"))
    with pytest.raises(DovetailError, match="of connect_four with 2 seats, not of dots with 2"):
        again(journal, {}, game=Dots)
