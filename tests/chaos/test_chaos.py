"""Real programs are killed, stopped and cut off, and every run ends with the same episodes."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.chaos.theatre import Theatre, undisturbed

EPISODES = 40


@pytest.fixture(scope="module")
def happened() -> list[str]:
    return []


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory, happened: list[str]) -> Iterator[Theatre]:
    theatre = Theatre(tmp_path_factory.mktemp("chaos"), happened.append)
    yield theatre
    theatre.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("seed", "fault"), [(13, "kill agent0"), (28, "full disk")])
def test_nothing_is_lost_under_a_schedule_of_faults(
    theatre: Theatre, happened: list[str], seed: int, fault: str
) -> None:
    happened.clear()
    assert theatre.play(seed, EPISODES, faults=5) == undisturbed(seed, EPISODES)
    assert {"kill broker", fault} <= set(happened)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_nothing_is_lost_under_twenty_schedules(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path)
    try:
        for seed in range(1000, 1020):
            assert theatre.play(seed, EPISODES, faults=5) == undisturbed(seed, EPISODES), seed
    finally:
        theatre.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_program_stopped_for_less_than_the_peer_timeout_loses_nothing(tmp_path: Path) -> None:
    """It lost its run after 17 s of a `peer_timeout` of 30 s."""
    theatre = Theatre(tmp_path, peer_timeout=30)
    try:
        experiment = theatre.experiment
        for name in ("agent0", "env0", "env1"):
            agents = [experiment.create("leisurely", seed=number) for number in (1, 2)]
            run = experiment.run("connect_four", agents, episodes=5, seed=3, concurrency=2)
            process = theatre.processes[name]
            process.send_signal(signal.SIGSTOP)
            time.sleep(20.0)
            process.send_signal(signal.SIGCONT)
            results = run.wait()
            assert [each.reason for each in results] == ["terminated"] * 5
            assert len({each.index for each in results}) == 5
    finally:
        theatre.close()
