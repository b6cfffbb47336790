"""Experiments as programs: options, results, instances, event loops, and what shows itself."""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from tests import loops

from dovetail import Agent, Decision, DovetailError, Experiment, InProcess, spaces
from dovetail.client.results import Results
from dovetail.client.run_options import RunOptions
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol.messages import ClockRule, Episode, Run, SeatResult
from dovetail_experiments.files.openings import draw
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.processes

SMALL = {"rows": 4, "columns": 4, "connect": 3}


class Raises(Agent):
    """Fails at every decision."""

    name = "raises"

    def step(self, decision: Decision) -> Any:
        raise ZeroDivisionError("a bug")


def test_help_gives_each_option_of_a_run_with_its_default() -> None:
    text = (
        inspect.cleandoc(Experiment.run.__doc__ or "").partition("Options:")[2].partition("\n\n")[0]
    )
    found = dict(each.split(": ", 1) for each in re.split(r"\n    (?=\w)", text)[1:])
    fields = {field.encode_name for field in msgspec.structs.fields(Run)}
    assert set(found) == set(RunOptions.__annotations__) == fields - {"id", "environment", "agents"}


def test_a_wrong_option_says_what_was_meant() -> None:
    wrong: Any = {"episode": 3}
    with (
        InProcess([ConnectFour], [Random]) as experiment,
        pytest.raises(DovetailError, match=r"no option 'episode'; did you mean 'episodes'\?"),
    ):
        experiment.run("connect_four", [], **wrong)


@pytest.mark.parametrize(
    ("clock", "line"),
    [
        (
            {"decisions": 1},
            "'clock': it has no key 'decisions'; did you mean 'decision'?",
        ),
        ({"decision": -1}, "'clock.decision': it must be a number > 0.0, not -1"),
        (ClockRule(margin=-2.0), "'clock.margin': it must be a number >= 0.0, not -2.0"),
        (3, "'clock': it must be a table, not 3"),
    ],
)
def test_a_wrong_clock_is_told_as_other_wrong_options_are(clock: Any, line: str) -> None:
    with InProcess([ConnectFour], [Random]) as experiment, pytest.raises(DovetailError) as caught:
        experiment.run("connect_four", [], clock=clock)
    assert str(caught.value) == f"run, option {line}"


def test_progress_counts_each_result_at_once() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        player = experiment.create("random")
        run = experiment.run("connect_four", [player, player], episodes=2, stepwise=True)
        for number in (1, 2):
            turn = run.start()
            while turn.to_act:
                turn = run.step()
            assert run.progress.finished == number
        run.wait()
        assert run.progress.finished == 2


def test_results_show_themselves_and_become_frames() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        seats = [experiment.create("random", seed=seed) for seed in (1, 2)]
        run = experiment.run("connect_four", seats, configuration=SMALL, episodes=5)
        assert repr(run) == f"<Run {run.number} of connect_four: in progress, 0 of 5 episodes>"
        results = run.wait()
        assert "finished" in repr(run)
        assert repr(results).startswith("Results: 5 episodes, 5 terminated; random returns ")
        frame = results.pandas()
        assert list(frame["episode"]) == [number for number in range(5) for _ in range(2)]
        assert list(frame["return"]) == [s.total for each in results for s in each.seats]
        shown = results._repr_html_()
        assert shown.count("<tr>") == 1 + 10
        assert Results().rows() == []
        assert "<table>" in Results()._repr_html_()
        assert repr(experiment) == "<Experiment with 0 runs in progress>"


class Frame:
    """Stands in for polars' frame, since polars takes 180 MB; keeps what it is made of."""

    def __init__(
        self, data: Any, schema: Any = None, infer_schema_length: int | None = 100
    ) -> None:
        self.data, self.schema, self.length = data, schema, infer_schema_length


def test_results_become_a_polars_frame_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows count for the types: a measurement may appear late, and a score may be missing at
    first."""
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=Frame))
    measures = {"loss": 0.5, "return": 9.0}
    late = msgspec.convert({"agent": "td", "instance": 1, "measures": measures}, SeatResult)
    early = SeatResult("td", 1, total=1.0)
    results = Results(
        Episode(1, number, 7, 3, "terminated", [seat]) for number, seat in enumerate([early, late])
    )
    frame: Any = results.polars()
    assert frame.length is None
    assert [row["episode"] for row in frame.data] == [0, 1]
    assert [row.get("loss") for row in frame.data] == [None, 0.5]
    assert [row["return"] for row in frame.data] == [1.0, 0.0]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_frame_needs_its_package(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DovetailError) as caught:
        getattr(Results(), package)()
    assert str(caught.value) == (
        f"{package} is not installed; install it with: pip install 'dovetail[{package}]'"
    )


def test_a_run_that_ended_by_itself_can_be_ended() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        seats = [experiment.create("random", seed=seed) for seed in (1, 2)]
        run = experiment.run("connect_four", seats, configuration=SMALL, episodes=2)
        while run.done is None:
            run.poll()
        run.drain()
        run.cancel()
        assert run.done.reason == "finished"
        run.number += 1
        run.done = None
        with pytest.raises(DovetailError, match="you have no run"):
            run.cancel()


def test_openings_of_a_game_that_ends_within_them() -> None:
    """Each episode of the draw is over before the next one is asked for, the last one too."""
    short = {"rows": 2, "columns": 2, "connect": 2}
    with InProcess([ConnectFour], [Random]) as experiment:
        seats = [experiment.create("random", seed=seed) for seed in (1, 2)]
        book = draw(experiment, "connect_four", seats, short, plies=None, count=3, seed=1)
    assert book.lines == []


def test_an_instance_answers_for_itself() -> None:
    with InProcess([ConnectFour], [Random]) as experiment:
        agent = experiment.create("random", seed=1)
        assert repr(agent) == f"<random, instance {int(agent)}>"
        assert f"{agent}" == str(int(agent))
        assert agent == int(agent)
        state = agent.save()
        agent.load(state)
        assert agent.message({"any": agent}) is None
        (result,) = experiment.run("connect_four", [agent, agent], configuration=SMALL).wait()
        assert result.seats[0].instance == agent
        agent.cleanup()
        with pytest.raises(DovetailError):
            agent.save()


def test_wait_raises_when_nothing_could_be_played() -> None:
    with InProcess([ConnectFour], [Random, Raises]) as experiment:
        seats = [experiment.create("raises"), experiment.create("random")]
        run = experiment.run("connect_four", seats, episodes=3, retries=1)
        try:
            scored = [each.scored for each in run]
        except DovetailError:
            scored = []
        if any(scored):
            pytest.skip("a crash is a forfeit here")
        run = experiment.run("connect_four", seats, episodes=3)
        with pytest.raises(
            DovetailError, match=r"none of 3 episodes could be played, such as number 0: Raises in"
        ):
            run.wait()


def test_several_experiments_in_one_event_loop() -> None:
    finished: list[str] = []

    async def play(experiment: Any, name: str, episodes: int) -> Results:
        seats = [experiment.create("random", seed=seed) for seed in (1, 2)]
        run = experiment.run("connect_four", seats, configuration=SMALL, episodes=episodes)
        results = await run.finished()
        finished.append(name)
        assert isinstance(results, Results)
        return results

    async def both() -> list[Results]:
        return list(await asyncio.gather(play(one, "long", 60), play(other, "short", 3)))

    with (
        InProcess([ConnectFour], [Random]) as one,
        InProcess([ConnectFour], [Random]) as other,
    ):
        found = loops.run(both())
    assert [len(each) for each in found] == [60, 3]
    assert finished == ["short", "long"]
    assert [each.seed for each in found[0][:3]] == [each.seed for each in found[1]]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: spaces.Box([2], "float32", 0.0, 1.0), r"must be one of .*float32"),  # type: ignore[arg-type]
        (lambda: spaces.Box([2], 0.0, "float32"), "high of Box must be a number"),  # type: ignore[arg-type]
        (lambda: spaces.Box(2), "shape of Box must be a list of integers, not 2"),  # type: ignore[arg-type]
        (lambda: spaces.Box([-1]), "integers of at least 0, not -1"),
        (lambda: spaces.Box([1], dtype="float"), "dtype of Box must be one of"),
        (lambda: spaces.Discrete(0), "n of Discrete must be an integer of at least 1, not 0"),
        (lambda: spaces.Discrete(2.0), "not 2.0"),  # type: ignore[arg-type]
        (lambda: spaces.MultiDiscrete([2, 0]), "nvec of MultiDiscrete must have integers"),
        (lambda: spaces.MultiBinary(3), "shape of MultiBinary must be a list"),  # type: ignore[arg-type]
    ],
)
def test_a_space_checks_itself_when_it_is_made(make: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()
