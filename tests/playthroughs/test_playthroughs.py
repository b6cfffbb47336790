"""A change of rules or of an observation shows as a diff of a playthrough."""

from __future__ import annotations

from typing import Any

import pytest
from tests.playthroughs.record import ABSENT, cases, kept, record

from dovetail.peer import plugins
from dovetail_games.connect_four import ConnectFour

CASES = cases()
KEPT = kept()


@pytest.mark.parametrize("name", CASES)
def test_the_playthrough_is_as_before(name: str) -> None:
    assert name in KEPT, "run `make playthroughs`, and commit the change"
    assert record(CASES[name]) == KEPT[name], (
        "the rules changed; if that is meant, run `make playthroughs`"
    )


def test_no_episode_is_left_over_and_every_game_has_one() -> None:
    assert set(KEPT) == set(CASES)
    assert {case[0] for case in CASES.values()} == set(plugins.names("environment")) - set(ABSENT)


def test_another_observation_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    before, observe = record(("connect_four", {})), ConnectFour.observation

    def other(self: ConnectFour, seat: int) -> Any:
        return observe(self, 1 - seat)

    monkeypatch.setattr(ConnectFour, "observation", other)
    after = record(("connect_four", {}))
    assert before != after
    assert len(before.splitlines()) == len(after.splitlines())
