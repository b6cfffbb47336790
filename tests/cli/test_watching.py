"""What ``dovetail watch`` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from dovetail.cli import watching
from dovetail.experiments.client import Experiment
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError


class Broker:
    """Shows some turns, then leaves."""

    def __init__(self, *turns: m.WatchedTurn) -> None:
        self._turns = list(turns)

    def turns(self, timeout: float) -> Iterator[m.WatchedTurn]:
        yield from self._turns
        raise DovetailError("the broker has left")


def turn(number: int, **fields: Any) -> m.WatchedTurn:
    plain = {"run": 1, "match": 2, "index": 0, "episode": 3, "turn": number, "to_act": [0]}
    rest = {"actions": [], "rewards": [0.0], "observations": [], "agents": ["first"]}
    return msgspec.convert({**plain, **rest, **fields}, m.WatchedTurn)


def test_a_turn_that_comes_again_with_its_clocks_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    over = turn(1, to_act=[], reason="truncated")
    broker = Broker(turn(0), turn(0, running=[0]), turn(1), turn(1), over, turn(0))
    with pytest.raises(DovetailError):
        watching._follow(cast(Experiment, broker), None, 0.0, everything=True)
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("-- ")]
    assert [line.split(", ")[2][:6] for line in printed] == ["turn 0", "turn 1", "turn 1", "turn 0"]
