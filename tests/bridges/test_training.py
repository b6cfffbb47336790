"""The class for TRL, driven by a scripted model; OpenEnv's client if installed."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.bridges.stand_ins import installed
from tests.bridges.test_openenv import served
from websockets.sync.client import connect

FILE = Path(__file__).parents[2] / "docs/bridges/trl_connect_four.py"


class GenericEnvClient:
    """As much of OpenEnv's client as the class uses."""

    def __init__(self, base_url: str) -> None:
        self.closing = ExitStack()
        address = f"{base_url.replace('http', 'ws', 1)}/ws"
        self.socket = self.closing.enter_context(connect(address, proxy=None))

    def sync(self) -> GenericEnvClient:
        return self

    def _ask(self, kind: str, data: dict[str, Any]) -> Any:
        self.socket.send(json.dumps({"type": kind, "data": data}))
        return SimpleNamespace(**json.loads(self.socket.recv(30))["data"])

    def reset(self) -> Any:
        return self._ask("reset", {})

    def step(self, action: dict[str, Any]) -> Any:
        return self._ask("step", action)

    def close(self) -> None:
        self.socket.send(json.dumps({"type": "close"}))
        self.closing.close()


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    theirs: Any = importlib.import_module("openenv") if installed("openenv") else None
    if not hasattr(getattr(theirs, "GenericEnvClient", None), "sync"):  # or older than 0.3
        made = ModuleType("openenv")
        made.GenericEnvClient = GenericEnvClient  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "openenv", made)
    found = importlib.util.spec_from_file_location("trl_connect_four", FILE)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def model(told: str, rng: random.Random) -> int:
    """Return a column: one that the text calls free, and sometimes one that is not."""
    free = re.search(r"Columns that are free: ([\d, ]+)", told)
    assert free, told
    return rng.choice([*map(int, free[1].split(", ")), 99])


def test_a_trainers_rollouts_play_whole_games(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)
    with served([0], sessions=4) as at:
        monkeypatch.setenv("DOVETAIL_OPENENV", at.replace("ws", "http", 1))
        environments = [example.ConnectFourSeat() for _ in range(4)]  # rollouts of one group
        for environment in environments:
            told = environment.reset()
            while not environment.done:
                told = environment.drop(model(told, rng))
            assert "The game is over" in told
            assert environment.drop(0) == "The game is over."
        found = example.rewards(environments)
        assert all(each in (-1.0, 0.0, 1.0) for each in found)
        environments[0].truncated = True
        environments[1].reset()  # and its model says no more
        assert example.rewards(environments)[:2] == [None, -1.0]
        tools = [name for name in vars(type(environments[0])) if not name.startswith("_")]
        assert tools == ["reset", "drop"]  # as TRL reads them: the model may call all but reset
        for environment in environments:
            environment._close()
