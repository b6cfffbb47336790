"""Seats of one episode that end differently: some by the rules, some by a limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.broker.remote import served

from dovetail import Agent, BatchAgent, Environment, Experiment, InProcess, Spec, Turn, View, spaces
from dovetail.peer.environments.groups import Group
from dovetail.protocol import messages as m

pytestmark = pytest.mark.processes


class Cut(Environment):
    """Three seats act once; a class attribute says which of them a limit cuts short."""

    name = "cut"
    short: Any = ()

    def init(self) -> Spec:
        return Spec(
            seats=3,
            observation_spaces=[spaces.Discrete(2)],
            action_spaces=[spaces.Discrete(2)],
        )

    def start(self, seed: int) -> Turn:
        return Turn.simultaneous({0: 0, 1: 0, 2: 0})

    def step(self, actions: Mapping[int, Any]) -> Turn:
        return Turn.end([1, 1, 1], [0.0, 1.0, 2.0], truncated=type(self).short)


class Hears(Agent):
    """Notes what its seats are told."""

    name = "hears"
    capacity = 0
    told: ClassVar[dict[int, str]] = {}

    def step(self, decision: Any) -> int:
        return 0

    def end(self, end: Any) -> None:
        self.told[end.seat.seat] = end.reason


class HearsTogether(BatchAgent):
    """The same, for batches of decisions."""

    name = "hears-together"
    capacity = 0

    def step_batch(self, decisions: Any) -> Any:
        return [0 for _ in decisions]

    def end(self, end: Any) -> None:
        Hears.told[end.seat.seat] = end.reason


def play(experiment: Experiment, agents: list[Any], **options: Any) -> Any:
    """Return the first of two episodes, which ended alike."""
    first, second = experiment.run("cut", agents, episodes=2, concurrency=2, **options)
    assert (first.reason, first.message) == (second.reason, second.message)
    experiment.save(agents[0])  # after the ends
    return first


@pytest.fixture(autouse=True)
def batches(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[None]:
    """See that groups are played if that is asked for, and only then."""
    played: list[Any] = []
    steps = Group.steps

    def counted(self: Group, message: Any) -> m.Turns:
        played.append(message)
        return steps(self, message)

    monkeypatch.setattr(Group, "steps", counted)
    yield
    assert bool(played) is request.node.callspec.params["stacked"]


TRUNCATED, TERMINATED = "truncated", "terminated"
ENDS: list[tuple[Any, str, list[str]]] = [
    (False, TERMINATED, [TERMINATED] * 3),
    (True, TRUNCATED, [TRUNCATED] * 3),
    ([], TERMINATED, [TERMINATED] * 3),
    ([1], TERMINATED, [TERMINATED, TRUNCATED, TERMINATED]),
    ((0, 2), TERMINATED, [TRUNCATED, TERMINATED, TRUNCATED]),
    ({0, 1, 2}, TRUNCATED, [TRUNCATED] * 3),
]


@pytest.mark.parametrize(("short", "reason", "told"), ENDS)
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("player", [Hears, HearsTogether])
def test_each_seat_is_told_whether_a_limit_cut_it_short(
    monkeypatch: pytest.MonkeyPatch,
    short: Any,
    reason: str,
    told: list[str],
    stacked: bool,
    player: type[Agent],
) -> None:
    monkeypatch.setattr(Cut, "short", short)
    Hears.told.clear()
    with InProcess([Cut], [player]) as experiment:
        agents = [experiment.create(player.name) for _ in range(3)]
        episode = play(experiment, agents, stacked=stacked)
    assert episode.reason == reason
    assert [Hears.told[seat] for seat in range(3)] == told


@pytest.mark.parametrize("stacked", [False, True])
def test_seats_are_told_the_same_over_sockets(
    monkeypatch: pytest.MonkeyPatch, stacked: bool
) -> None:
    monkeypatch.setattr(Cut, "short", [2])
    Hears.told.clear()
    with served([Cut], [Hears]) as address, Experiment.connect(address) as experiment:
        experiment.expect(["cut"], ["hears"])
        agents = [experiment.create("hears") for _ in range(3)]
        episode = play(experiment, agents, stacked=stacked)
        assert [Hears.told[seat] for seat in range(3)] == [TERMINATED, TERMINATED, TRUNCATED]
    assert episode.reason == TERMINATED


class Dead(Cut):
    """The first seat ended by the rules; then a limit ends the episode."""

    def step(self, actions: Mapping[int, Any]) -> Turn:
        turn = Turn.end([1, 1, 1], [0.0, 0.0, 0.0], truncated=True)
        turn.seats[0].truncated = False
        return turn


class Endless(Cut):
    """It says of a seat that goes on that it was cut short, which counts for nothing."""

    def step(self, actions: Mapping[int, Any]) -> Turn:
        return m.Turn(to_act=[0, 1, 2], seats=[View(seat, 0, truncated=False) for seat in range(3)])


@pytest.mark.parametrize("stacked", [False, True])
def test_a_seat_that_the_rules_ended_is_told_so_though_a_limit_ended_the_episode(
    stacked: bool,
) -> None:
    Hears.told.clear()
    with InProcess([Dead], [Hears]) as experiment:
        agents = [experiment.create("hears") for _ in range(3)]
        episode = play(experiment, agents, stacked=stacked)
    assert episode.reason == TRUNCATED
    assert Hears.told == {0: TERMINATED, 1: TRUNCATED, 2: TRUNCATED}


@pytest.mark.parametrize("stacked", [False, True])
def test_a_limit_of_the_run_cuts_every_seat_short(stacked: bool) -> None:
    Hears.told.clear()
    with InProcess([Endless], [Hears]) as experiment:
        agents = [experiment.create("hears") for _ in range(3)]
        episode = play(experiment, agents, stacked=stacked, max_turns=3)
    assert episode.reason == TRUNCATED
    assert set(Hears.told.values()) == {TRUNCATED}


@pytest.mark.parametrize("stacked", [True])
def test_a_column_with_another_number_is_refused(
    monkeypatch: pytest.MonkeyPatch, stacked: bool
) -> None:
    steps = Group.steps

    def wrong(self: Any, message: Any) -> m.Turns:
        turns = steps(self, message)
        if turns.finals is not m.NIL:
            turns.truncated = np.full((2, 3), 2, np.uint8)
        return turns

    monkeypatch.setattr(Group, "steps", wrong)
    with InProcess([Cut], [Hears]) as experiment:
        agents = [experiment.create("hears") for _ in range(3)]
        episode = play(experiment, agents, stacked=stacked, retries=0)
    assert episode.reason == "environment-failed"
    assert "`truncated` has a 2; it is 0 or 1" in episode.message
