"""A match beside every attack, each of them short: its episodes are the same, and the broker stays
small."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.chaos.attacks import KEY, make_keys, memory
from tests.forking import TOP, Forked, Forker

from dovetail import Experiment, InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail.transport import keys
from dovetail_games.connect_four import ConnectFour

ROUNDS = 3
MOST = 300.0
"""MB that the broker may need."""
ATTACKER = f"""
import sys
from tests.chaos.attacks import ATTACKS
for attack in ATTACKS.values():
    attack(sys.argv[1], {ROUNDS})
"""


def digests(experiment: Experiment) -> list[str]:
    player = experiment.create("random", seed=1)
    results = experiment.run("connect_four", [player, player], episodes=2, seed=1).wait()
    experiment.cleanup(player)
    return sorted(each.digest for each in results)


@pytest.mark.long
@pytest.mark.parametrize("guarded", [False, True], ids=["open", "guarded"])
def test_a_match_is_the_same_beside_every_attack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forker: Forker, guarded: bool
) -> None:
    options = ["--journal", "none"]
    monkeypatch.delenv(keys.FILE, raising=False)
    if guarded:
        make_keys(tmp_path)
        options += ["--access", "access.toml"]
        monkeypatch.setenv(keys.FILE, str(tmp_path / KEY))
    quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    with InProcess([ConnectFour], [Random]) as undisturbed, ExitStack() as stack:
        expected = digests(undisturbed)

        def start(*command: str, stdout: int = subprocess.DEVNULL) -> Forked:
            made = forker.popen(
                ["dovetail", *command], env=os.environ, stdout=stdout, text=True, **quiet
            )
            stack.callback(made.wait)
            stack.callback(made.kill)
            return made

        broker = start("broker", "--bind", "tcp://127.0.0.1:*", *options, stdout=subprocess.PIPE)
        assert broker.stdout is not None
        address = broker.stdout.readline().split()[-1]
        start("env", "connect_four", "--connect", address)
        start("agent", "random", "--connect", address)
        experiment = stack.enter_context(Experiment.connect(address, wait=60.0))
        experiment.expect(["connect_four"], ["random"], timeout=60.0)
        attacker = subprocess.Popen([sys.executable, "-c", ATTACKER, address], cwd=TOP)
        stack.callback(attacker.wait)
        stack.callback(attacker.kill)
        while True:
            over = attacker.poll()
            assert digests(experiment) == expected
            if over is not None:
                break
            experiment.wait(0.1)
        assert over == 0
        assert memory(broker.pid) < MOST
