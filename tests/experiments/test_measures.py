"""Numbers that agents report, and the labels of runs, from the agent to the record."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dovetail import Agent, Decision, InProcess
from dovetail.protocol.journal import episodes, uncounted
from dovetail_games.connect_four import ConnectFour

SMALL = {"rows": 4, "columns": 4, "connect": 3}


class Counts(Agent):
    """Reports the number of the turn, twice, and something only once."""

    name = "counts"
    capacity = 0

    def start(self, decision: Decision) -> Any:
        self.report(first=7)
        return self.step(decision)

    def step(self, decision: Decision) -> Any:
        assert decision.legal is not None
        self.report(turn=decision.turn)
        self.report(turn=decision.turn + 2)
        return decision.legal[0]


class Silent(Agent):
    """Reports nothing."""

    name = "silent"

    def step(self, decision: Decision) -> Any:
        assert decision.legal is not None
        return decision.legal[-1]


def test_a_result_has_the_mean_of_what_was_reported(tmp_path: Path) -> None:
    journal = tmp_path / "games.journal"
    with InProcess([ConnectFour], [Counts, Silent], journal=journal) as experiment:
        seats = [experiment.create("counts"), experiment.create("silent")]
        run = experiment.run("connect_four", seats, configuration=SMALL, episodes=2, label="x/1")
        for each in run:
            turns = range(0, each.turns, 2)
            expected = sum(turn + 1 for turn in turns) / len(turns)
            assert each.seats[0].measures == {"first": 7.0, "turn": expected}
            assert each.seats[1].measures == {}
    assert [record.label for _, record in episodes(journal)] == ["x/1", "x/1"]
    assert [record.result.seats[0].measures["first"] for _, record in episodes(journal)] == [7, 7]


def test_a_measure_is_a_number_that_need_not_be_finite() -> None:
    class Lost(Silent):
        """Reports what diverged, or something that is not a number."""

        name = "lost"
        value: Any = math.nan

        def step(self, decision: Decision) -> Any:
            self.report(loss=self.value)
            return super().step(decision)

    with InProcess([ConnectFour], [Lost]) as experiment:
        lost = experiment.create("lost")
        (result,) = experiment.run("connect_four", [lost, lost], configuration=SMALL)
        assert result.reason == "terminated"
        assert math.isnan(result.seats[0].measures["loss"])
        for wrong, shown in (("much", "'much'"), (None, "None"), (10**400, "1000")):
            Lost.value = wrong
            run = experiment.run("connect_four", [lost, lost], configuration=SMALL, retries=0)
            (result,) = run
            assert result.reason == "crashed"
            assert f"measure 'loss' must be a number, not {shown}" in result.message


def test_names_without_end_are_cut(tmp_path: Path) -> None:
    class Many(Silent):
        name = "many"

        def step(self, decision: Decision) -> Any:
            self.report(**{f"m{decision.turn}_{number}": 1.0 for number in range(100)})
            return super().step(decision)

    with InProcess([ConnectFour], [Many]) as experiment:
        many = experiment.create("many")
        (result,) = experiment.run("connect_four", [many, many], configuration=SMALL)
        assert len(result.seats[0].measures) == 64


def test_an_earlier_attempt_at_a_stage_does_not_count(tmp_path: Path) -> None:
    journal = tmp_path / "games.journal"
    with InProcess([ConnectFour], [Silent], journal=journal) as experiment:
        seats = [experiment.create("silent")] * 2
        for label, count in (("1/0/1", 2), ("1/1/1", 1), ("1/1/2", 3), ("", 1), ("free", 1)):
            experiment.run(
                "connect_four", seats, configuration=SMALL, episodes=count, label=label
            ).wait()
    assert uncounted(journal) == {3}
