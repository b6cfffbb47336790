from __future__ import annotations

import pytest

from dovetail import DovetailError, InProcess
from dovetail_agents.general.scripted import Scripted, ScriptedParameters
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.fast


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
