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


@pytest.mark.processes
def test_who_sends_large_frames_waits_while_others_play(monkeypatch: pytest.MonkeyPatch) -> None:
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
        hosts = EnvironmentHost([Large]), AgentHost([Own])
        stack.enter_context(serving(*hosts, address=address))
        trial = stack.enter_context(Experiment.connect(address))
        trial.expect(["large", "small"], ["own", "any"])
        player = trial.create("own")
        assert len(trial.run("large", [player], episodes=20, check=False).wait()) == 20
        assert not pauses
        other = stack.enter_context(Experiment.connect(address))
        other.run("small", [other.create("any")], episodes=1_000_000)
        assert len(trial.run("large", [player], episodes=5, check=False).wait()) == 5
        assert pauses


def run(experiment: str, *connections: str) -> Any:
    peers = [SimpleNamespace(outbox=SimpleNamespace(address=each)) for each in connections]
    matches = {0: SimpleNamespace(environment=peers[0])}
    agents = [SimpleNamespace(peer=each) for each in peers[1:]]
    return SimpleNamespace(experiment=experiment, matches=matches, agents=agents)


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
