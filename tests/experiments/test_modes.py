"""Every game and every learner: the same episodes and the same learning wherever and however they
are played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from dovetail import Experiment, InProcess
from dovetail.peer import plugins
from dovetail.protocol.messages import Episode
from dovetail_experiments.stages.processes import Processes
from dovetail_experiments.stages.shards import Shard, Shards

pytestmark = pytest.mark.processes


@dataclass(frozen=True, eq=False)
class Case:
    """A learner in the first seat of a game, ``random`` in the others."""

    game: str
    learner: str
    parameters: dict[str, Any]
    configuration: dict[str, Any]
    turns: int = 400
    """After which an episode is cut short."""


CASES = (
    Case("connect_four", "td", {"hidden": 8}, {"rows": 4, "columns": 4, "connect": 3}),
    Case("connect_four", "td-batch", {"hidden": 8}, {"rows": 4, "columns": 4, "connect": 3}),
    Case("rlgame", "td-rlgame", {}, {"size": 5, "pawns": 3}),
    Case(
        "amazons",
        "amazons-player",
        {"rollouts": False, "depth": 1, "learning_rate": 0.01},
        {"rows": 5, "columns": 5},
    ),
    Case("dots", "dots-player", {"turns": 2}, {"rows": 3, "columns": 3}),
    Case("dots", "q-learning", {"epsilon": 0.3}, {"rows": 2, "columns": 3}),
    Case("dominion", "dominion-q", {"version": "12"}, {}),
    Case("tetris", "tetris-player", {}, {}, 30),
    Case("2048", "ntuple-2048", {}, {}, 60),
    Case("connect_four", "ntuple-connect-four", {"tuples": 5, "length": 4}, {}),
)
Account: TypeAlias = tuple[list[Any], bytes, list[Any]]
GAMES = sorted({case.game for case in CASES})
AGENTS = sorted({case.learner for case in CASES} | {"random"})


def told(episodes: Iterable[Episode]) -> list[Any]:
    """Return what must be the same in every mode of the results of episodes."""
    found = [
        (
            each.index,
            each.seed,
            each.turns,
            each.reason,
            each.outcome,
            *((seat.agent, seat.total, seat.decisions) for seat in each.seats),
        )
        for each in episodes
    ]
    assert {each[3] for each in found} <= {"terminated", "truncated"}, found
    return sorted(found)


def seats(case: Case, learner: int, other: int) -> Sequence[int]:
    kind = plugins.find("environment", case.game)
    count = kind(kind.Configuration(**case.configuration)).init().seats
    return [learner] + [other] * (count - 1)


def evaluation(case: Case) -> dict[str, Any]:
    """Return the options of the run that does not learn."""
    options: dict[str, Any] = {"episodes": 6, "seed": 4, "concurrency": 4, "mode": "evaluate"}
    return {**options, "configuration": case.configuration, "max_turns": case.turns}


def account(experiment: Experiment, case: Case, *, stacked: bool) -> Account:
    """Return episodes learned from in turn, what was learned, and episodes played at once."""
    learner = experiment.create(case.learner, parameters=case.parameters, seed=1)
    seated = seats(case, learner, experiment.create("random", seed=2))
    given: dict[str, Any] = {"configuration": case.configuration, "max_turns": case.turns}
    learned = told(experiment.run(case.game, seated, episodes=3, seed=3, stacked=stacked, **given))
    state = experiment.save(learner)
    return (
        learned,
        state,
        told(experiment.run(case.game, seated, **evaluation(case), stacked=stacked)),
    )


@pytest.fixture(scope="module")
def here() -> dict[Case, Account]:
    """Return the accounts of all cases, played in process and one turn a message."""
    found = {}
    for case in CASES:
        game = plugins.find("environment", case.game)
        agents = [plugins.find("agent", name) for name in (case.learner, "random")]
        with InProcess([game], agents) as experiment:
            found[case] = account(experiment, case, stacked=False)
    return found


@pytest.mark.long
def test_in_process_in_groups(here: dict[Case, Account]) -> None:
    for case, expected in here.items():
        game = plugins.find("environment", case.game)
        agents = [plugins.find("agent", name) for name in (case.learner, "random")]
        with InProcess([game], agents) as experiment:
            assert account(experiment, case, stacked=True) == expected, case


@pytest.fixture
def start(forked: None) -> Iterator[Callable[[bool], Experiment]]:
    """Return what connects to a new broker, which serves games and agents itself or has a program
    for each side."""
    with ExitStack() as stack:

        def started(hosted: bool) -> Experiment:
            inside = [f"--env={name}" for name in GAMES] + [f"--agent={name}" for name in AGENTS]
            processes = stack.enter_context(Processes(broker=inside if hosted else ()))
            if not hosted:
                at = ["--connect", processes.address]
                processes.start("environment", ["env", *GAMES, *at])
                processes.start("agents", ["agent", *AGENTS, *at])
            experiment = stack.enter_context(
                Experiment.connect(processes.address, wait=60.0, idle=processes.check)
            )
            experiment.expect(GAMES, AGENTS, timeout=60.0)
            return experiment

        yield started


@pytest.mark.long
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("hosted", [False, True])
def test_over_sockets(
    here: dict[Case, Account],
    start: Callable[[bool], Experiment],
    hosted: bool,
    stacked: bool,
) -> None:
    experiment = start(hosted)
    for case, expected in here.items():
        assert account(experiment, case, stacked=stacked) == expected, case


@pytest.mark.long
def test_in_shards(here: dict[Case, Account], start: Callable[[bool], Experiment]) -> None:
    brokers = [start(True), start(True)]
    shards = Shards([Shard(each) for each in brokers])
    for case, (_, state, expected) in here.items():
        made = []
        for each in brokers:
            learner = each.create(case.learner, seed=1, state=state)
            made.append((learner, each.create("random", seed=2)))
        for numbers in zip(*made, strict=True):
            shards.made(numbers)
        results: list[Episode] = []
        run = shards.run(case.game, seats(case, *made[0]), **evaluation(case))
        while (more := run.poll()) is not None:
            results += more
        assert told(results) == expected, case
