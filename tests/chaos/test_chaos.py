"""Real programs are killed, stopped and cut off, and every run ends with the same episodes."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import disturb
from tests.chaos.theatre import DISTURBED, Theatre, undisturbed
from tests.forking import Forked, Forker

EPISODES = 40


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_is_lost_under_twenty_quick_schedules(tmp_path: Path, forker: Forker) -> None:
    """Short faults, and long times for coming back; programs are forked and replaced by their
    names."""

    if why := disturb.lacking():
        pytest.skip(f"no slow disks, disks without space and clock jumps: {why}")
    disturbance = disturb.Disturbance(tmp_path)
    preloaded = {"LD_PRELOAD": disturbance.environment["LD_PRELOAD"]}
    brokers = Forker("tests.cli.programs", preloaded)

    def popen(command: Sequence[str], **more: Any) -> Forked:
        program = ["dovetail", *command[3:]]  # for python -m dovetail
        return (brokers if "broker" in program[1:2] else forker).popen(program, **more)

    happened: list[str] = []
    theatre = Theatre(
        tmp_path,
        happened.append,
        peer_timeout=60.0,
        grace=30.0,
        pace=0.15,
        named=True,
        popen=popen,
        disturbance=disturbance,
    )
    try:
        for seed in range(121, 141):
            assert theatre.play(seed, 10, faults=3) == undisturbed(seed, 10), seed
    finally:
        theatre.close()
        brokers.close()
    kills = {f"kill {name}" for name in theatre.processes}
    stops = {f"stop {name}" for name in theatre.processes}
    breaks = {f"{what} experiment" for what in ("cut", "half open")}
    assert {*kills, *stops, *breaks, "full disk", *DISTURBED} <= set(happened)
    assert all(disturbance.happened)


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
