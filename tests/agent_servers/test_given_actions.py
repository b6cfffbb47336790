"""Agents that play given actions: ``recorded`` and ``scripted``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dovetail import DovetailError, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.presets import preset
from dovetail.protocol.journal import EpisodeRecord, read
from dovetail_agents.general.recorded import Recorded
from dovetail_agents.general.scripted import Scripted, ScriptedParameters
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dots import Dots

pytestmark = pytest.mark.fast


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
    kind = preset(Recorded, {"journal": str(journal)}, "agent recorded")
    with InProcess([game], [kind, Random], journal=out) as experiment:
        own = experiment.create("recorded", parameters=first)
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
    for given, said in (
        ({"journal": str(journal), "episode": "9"}, r"there is no episode 9; .* has 3"),
        ({"journal": "nowhere"}, "cannot read the journal nowhere"),
    ):
        kind: Any = preset(Recorded, given, "agent recorded")
        with pytest.raises(DovetailError, match=said):
            kind(kind.Parameters())
    with pytest.raises(DovetailError, match="of connect_four with 2 seats, not of dots with 2"):
        again(journal, {}, game=Dots)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_file_that_a_peer_names_is_not_looked_at(journal: Path) -> None:
    pipe = journal.with_name("pipe")
    os.mkfifo(pipe)  # whoever opens it waits for a writer
    for kind in (Recorded, preset(Recorded, {"journal": str(journal)}, "agent recorded")):
        with InProcess([ConnectFour], [kind]) as experiment:
            for path in (pipe, journal.with_name("games.journal"), "/etc/passwd", "nowhere"):
                with pytest.raises(DovetailError, match="only the program that serves") as said:
                    experiment.create("recorded", parameters={"journal": str(path)})
                assert "--set journal=FILE" in str(said.value)


def play(first: list[int], second: list[int], after: str = "fail") -> tuple[str, str, int]:
    with InProcess([ConnectFour], [Scripted]) as experiment:
        seats = [
            experiment.create("scripted", parameters={"actions": each, "after": after})
            for each in (first, second)
        ]
        results = experiment.run("connect_four", seats, episodes=2, retries=0).wait()
    assert len({(each.reason, each.message) for each in results}) == 1
    return results[0].reason, results[0].message, results[0].turns


def test_it_plays_what_it_was_told_in_every_episode() -> None:
    assert play([3, 3, 3, 3], [0, 1, 2]) == ("terminated", "", 7)
    assert play([3], [0], "repeat") == ("terminated", "", 7)


def test_when_the_script_is_over() -> None:
    reason, message, _ = play([3], [0])
    assert (reason, message) == (
        "crashed",
        "scripted has no action for decision 1; it was given 1",
    )
    assert play([3], [0], "random")[0] == "terminated"
    with pytest.raises(DovetailError, match="an empty list cannot be repeated"):
        Scripted(ScriptedParameters([], "repeat"))
