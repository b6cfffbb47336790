"""A referee with agents in threads of this program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dovetail import Agent, Decision
from dovetail.agent_servers.serve import serve as serve_agent
from dovetail.broker.core import Settings
from dovetail.broker.journal import Journal
from dovetail.broker.serve import in_thread
from dovetail.env_servers.connect_four import ConnectFour
from dovetail.env_servers.serve import serve as serve_environment
from dovetail.experiments.arena import referee
from dovetail.experiments.arena.description import Arena, Baseline, Ladder
from dovetail.experiments.arena.referee import Referee, baseline
from dovetail.experiments.arena.store import FILE, Store
from dovetail.experiments.client import Experiment
from dovetail.protocol.journal import episodes

LADDER = Ladder(
    "four",
    "connect_four",
    configuration={"rows": 4, "columns": 4, "connect": 3},
    mode="learn",
    baselines=[Baseline("first", "first")],
)


class First(Agent):
    """Answers at once."""

    def step(self, decision: Decision) -> Any:
        return (decision.legal or [0])[0]


class Mended(First):
    """Fails until it is mended."""

    broken = True

    def step(self, decision: Decision) -> Any:
        if self.broken:
            raise ValueError("no idea")
        return super().step(decision)


def join(threads: list[threading.Thread]) -> None:
    for each in threads:
        each.join()


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Referee, Store]]:
    """Return a referee of a ladder with a baseline and alice's agent, and its store."""
    monkeypatch.setattr(referee, "LOOK", 0.02)
    monkeypatch.setattr(referee, "TRIAL", 0.05)
    monkeypatch.setattr(Mended, "broken", True)
    with ExitStack() as stack:
        store = stack.enter_context(Store(tmp_path / FILE, create=True))
        tokens = {store.invite("alice"): "alice", "b": baseline(LADDER, "first")}
        broker = in_thread(
            "tcp://127.0.0.1:*",
            settings=Settings(token="own"),
            journal=Journal(tmp_path / "journal"),
            finish=0.0,
            entrant=tokens.get,
        )
        threads: list[threading.Thread] = []
        stack.callback(join, threads)
        address = stack.enter_context(broker)

        def start(serve: Callable[..., None], what: Any, token: str, name: str) -> None:
            given = {"name": name, "token": token}
            threads.append(threading.Thread(target=serve, args=(what, address), kwargs=given))
            threads[-1].start()

        start(serve_environment, ConnectFour, "own", "four")
        start(serve_agent, First, "b", "baseline")
        start(serve_agent, Mended, next(iter(tokens)), "alice")
        experiment = stack.enter_context(Experiment.connect(address, token="own"))
        yield Referee(Arena("test", [LADDER], seed=1), store, experiment), store


@pytest.mark.timeout(300)
def test_an_agent_paused_for_faults_comes_back_once_it_is_mended(
    played: tuple[Referee, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, store = played

    def hers() -> Any:
        return next((p for p in store.players().values() if p.entrant), None)

    while (mine := hers()) is None or mine.state == "active":
        judge.step()
    assert mine.why.startswith("3 losses by fault in a row")
    count = store.latest(1, "four")
    while "against a baseline" not in hers().why:
        judge.step()
    assert (hers().state, hers().faults) == ("paused", 4)
    assert "ValueError: no idea" in hers().why
    assert store.latest(1, "four") == count  # a trial does not count
    monkeypatch.setattr(Mended, "broken", False)
    while hers().state == "paused":
        judge.step()
    assert (hers().faults, hers().why) == (0, "")
    assert store.log()[-1][1:] == (
        "resumed",
        "alice/mended",
        "four: played without a fault against a baseline",
    )
    while store.latest(1, "four") < count + 2:
        judge.step()
    assert hers().state == "active"

    recorded = {record.mode for _, record in episodes(store.path.parent / "journal")}
    assert recorded == {"learn"}

    # An operator's word stands, however well it plays.
    store.mark("alice/mended", "paused", "holidays")
    for _ in range(40):
        judge.step()
    assert (hers().state, hers().why) == ("paused", "holidays")
