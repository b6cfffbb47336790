"""A game of large turns leaves time to others who play, and takes all of it where nobody does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from tests.broker.remote import served

from dovetail import Agent, Environment, Experiment, Spec, Turn, spaces
from dovetail.broker.shell import large_frames
from dovetail.broker.shell.large_frames import LargeFrames
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.serving import serve_host
from dovetail.transport.router import Router


class Small(Environment):
    name = "small"
    seen: Any = 0

    def init(self) -> Spec:
        space = spaces.Discrete(2)
        return Spec(seats=1, observation_spaces=[space], action_spaces=[space])

    def start(self, seed: int) -> Turn:
        return Turn.ask(0, self.seen)

    def step(self, actions: Any) -> Turn:
        return Turn.end([0], [1.0])


class Large(Small):
    name = "large"
    seen = bytes(100_000)


class Many(Small):
    """It ends late, so that many matches are in progress at once."""

    name = "many"
    left = 0

    def start(self, seed: int) -> Turn:
        self.left = 5
        return super().start(seed)

    def step(self, actions: Any) -> Turn:
        self.left -= 1
        return Turn.ask(0, self.seen) if self.left else super().step(actions)


class Player(Agent):
    name = "any"

    def step(self, decision: Any) -> int:
        return 0


class Own(Player):
    name = "own"


@contextmanager
def serving(*hosts: Any, address: str) -> Iterator[None]:
    stop = threading.Event()
    threads = [
        threading.Thread(target=serve_host, args=(each, address), kwargs={"stop": stop})
        for each in hosts
    ]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        stop.set()
        for each in threads:
            each.join()


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.parametrize(("game", "at_once"), [(Large, 1), (Many, 300)])
def test_who_sends_much_waits_while_others_play(
    monkeypatch: pytest.MonkeyPatch, game: type[Small], at_once: int
) -> None:
    pauses: list[float] = []
    pause = Router.pause

    def noted(self: Router, name: bytes, seconds: float) -> None:
        pauses.append(seconds)
        pause(self, name, seconds)

    monkeypatch.setattr(Router, "pause", noted)
    monkeypatch.setattr(large_frames, "BURST", 0.0)
    monkeypatch.setattr(large_frames, "LOOK", 0.0)
    with ExitStack() as stack:
        address = stack.enter_context(served([Small], [Player]))
        hosts = EnvironmentHost([game]), AgentHost([Own])
        stack.enter_context(serving(*hosts, address=address))
        trial = stack.enter_context(Experiment.connect(address))
        trial.expect([game.name, "small"], ["own", "any"])
        player = trial.create("own")
        much: Any = {"concurrency": at_once, "check": False}
        count = 2 * at_once
        assert len(trial.run(game.name, [player], episodes=count, **much).wait()) == count
        assert not pauses
        other = stack.enter_context(Experiment.connect(address))
        other.run("small", [other.create("any")], episodes=1_000_000)
        count = 2 * at_once
        assert len(trial.run(game.name, [player], episodes=count, **much).wait()) == count
        assert pauses


def run(experiment: str, *connections: str) -> Any:
    peers = [SimpleNamespace(outbox=SimpleNamespace(address=each)) for each in connections]
    play = SimpleNamespace(episode=SimpleNamespace(turn=0))
    return SimpleNamespace(
        number=id(peers),
        experiment=experiment,
        matches={0: SimpleNamespace(environment=peers[0])},
        agents=[SimpleNamespace(peer=each) for each in peers[1:]],
        playing={0: play},
        stacks={},
        finished=0,
    )


def test_nobody_waits_for_a_game_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(large_frames, "BURST", 0.0)
    runs = [run("a", "large", "x"), run("b", "y", "person")]
    counted = LargeFrames()
    assert counted.wait("large", 0, 0.01, runs)
    now += 1.1
    assert not counted.wait("large", 0, 0.01, runs)
    runs[1].playing[0].episode.turn = 1
    now += 0.2
    assert counted.wait("large", 0, 0.01, runs)


@pytest.mark.parametrize(
    ("runs", "waits"),
    [
        ([run("a", "large", "x")], False),
        ([run("a", "large", "x"), run("b", "y", "z")], True),
        ([run("a", "y", "large"), run("b", "y", "z")], True),
        ([run("a", "large", "x"), run("a", "y", "z")], False),  # its own
        ([run("a", "large", "x"), run("b", "more", "z")], False),  # alike
    ],
)
def test_who_waits(monkeypatch: pytest.MonkeyPatch, runs: list[Any], waits: bool) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    counted = LargeFrames()
    counted.wait("more", 0, 0.0, runs)
    assert counted.wait("large", 1_000_000, large_frames.BURST - 0.002, runs) < 1e-9
    assert counted.wait("large", 0, 0.01, runs) == pytest.approx(0.04 if waits else 0.0)
    now += 0.02
    assert counted.wait("large", 0, 0.0, runs) == pytest.approx(0.02 if waits else 0.0)
