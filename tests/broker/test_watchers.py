"""The broker's messages to those who watch: a turn is encoded once, and who cannot follow sees
fewer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.broker.conversation import Conversation, Voice

from dovetail import InProcess
from dovetail.broker.shell import watcher_queue
from dovetail.peer.agents.random_agent import Random
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.seeds import derive
from dovetail_games.connect_four import ConnectFour

Frames = list[tuple[bytes, list[bytes] | None]]


class Lines:
    """Connections without sockets; all ping all the time, the slow one never takes anything."""

    address = web_address = ""

    def __init__(self, names: Sequence[bytes]) -> None:
        greet = [codec.encode(m.Hello(m.VERSION, "observer")), codec.encode(m.Watch(1))]
        self.coming: Frames = [(name, list(greet)) for name in names]
        self.sent: dict[bytes, list[bytes]] = {name: [] for name in names}

    def receive(self, timeout: float) -> Frames:
        coming, self.coming = self.coming, [(name, [codec.encode(m.Ping())]) for name in self.sent]
        return coming

    def send(self, name: bytes, frames: Sequence[bytes]) -> None:
        self.sent[name] += frames

    def spread(self, names: Sequence[bytes], frames: Sequence[bytes]) -> None:
        for name in names:
            self.send(name, frames)

    def authenticate(self, name: bytes) -> None:
        pass

    def origin(self, name: bytes) -> str:
        return ""

    def charge(self, seconds: float) -> None:
        pass

    def relax(self, relaxed: bool) -> None:
        pass

    def waiting(self, name: bytes) -> int:
        return 1 << 30 if name == b"slow" else 0

    def pause(self, name: bytes, seconds: float) -> None:
        pass

    def drop(self, name: bytes, why: str) -> None:
        pass

    def close(self, linger: float = 1.0) -> None:
        pass

    def turns(self, name: bytes) -> list[dict[str, Any]]:
        read = map(msgspec.msgpack.decode, self.sent[name])
        return [each for each in read if each["type"] == "turn"]


def test_a_turn_is_encoded_once_for_all_who_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []

    def encode(value: Any) -> bytes:
        if type(value) is m.WatchedTurn:
            encoded.append(value.turn)
        return codec.encode(value)

    class Counting:
        """The codec, which counts."""

        def __getattr__(self, name: str) -> Any:
            return encode if name == "encode" else getattr(codec, name)

    monkeypatch.setattr(watcher_queue, "codec", Counting())
    monkeypatch.setattr(watcher_queue, "SHARE", 60.0)  # however slowly turns are made
    lines = Lines([b"one", b"two", b"slow"])
    here = InProcess([ConnectFour], [Random])
    here.server._router = lines
    with here as experiment:
        player = experiment.create("random")
        results = experiment.run("connect_four", [player, player], episodes=3, seed=1).wait()
    while here.server._watchers.waiting:  # what was queued last goes when its time has come
        here.server.pump(watcher_queue.MAX_DELAY)
    one = lines.turns(b"one")
    assert len(one) == sum(each.turns + 1 for each in results)
    assert lines.turns(b"two") == one
    assert len(encoded) == len(one)
    assert [each["reason"] for each in lines.turns(b"slow")] == ["terminated"] * 3


def test_nothing_is_made_for_watchers_who_are_away_and_they_see_the_rest_once_they_are_back() -> (
    None
):
    table = Conversation(seats=1, episodes=2)
    observer = Voice(table, "observer")
    observer.says(m.Watch(1, scenes=True))
    observer.hears(m.Reply, id=1)
    table.core.lost(observer.address, table.now)
    table.opens()
    table.environment.hears(m.EnvironmentStart, watched=False)
    [player] = table.agents
    player.hears(m.Init)
    table.environment.turns(0)
    player.acts(0, player.hears(m.AgentStart))
    table.environment.hears(m.EnvironmentStep, watched=False)

    observer.returns()
    first = observer.hears(m.WatchedTurn)
    assert (first.turn, first.actions) == (0, [])  # what leads on from it is under way
    table.environment.turns(0)
    assert observer.hears(m.WatchedTurn).turn == 1
    player.acts(0, player.hears(m.AgentStep))
    table.environment.hears(m.EnvironmentStep, watched=True, scenes=True)
    table.environment.turns(terminated=True)
    assert observer.hears(m.WatchedTurn).reason == "terminated"
    observer.hears(m.Episode)
    table.environment.hears(m.EnvironmentStart, watched=True, scenes=True)


def test_a_run_may_be_left_out_of_all_that_are_watched() -> None:
    table = Conversation(seats=1, episodes=2).opens()
    watcher = Voice(table, "observer")

    def shown() -> bool:
        """True if the next turn is shown."""
        watcher.heard.clear()
        table.environment.turns(0)
        table.agents[0].acts(0, table.agents[0].heard[-1])
        table.environment.last = table.environment.heard.pop()
        return any(isinstance(each, m.WatchedTurn) for each in watcher.heard)

    table.environment.hears(m.EnvironmentStart)
    watcher.says(m.Watch(1))
    assert shown()
    watcher.says(m.Watch(2, run=table.run, on=False))
    assert not shown()
    watcher.says(m.Watch(3, run=table.run))
    assert shown()
    watcher.says(m.Watch(4, run=table.run, on=False))
    assert not shown()
    watcher.says(m.Watch(5, on=False))
    assert not table.core._watching.peers
    watcher.says(m.Watch(6))
    assert shown()


@pytest.mark.rule("S7.13")
def test_a_watcher_learns_no_seed_and_the_record_has_those_of_the_seats() -> None:
    """In a round that rotates, the next episode has the same environment's seed."""
    table = Conversation(seats=1, seed=5)
    observer = Voice(table, "observer")
    observer.says(m.Watch(1))
    table.opens()
    table.environment.hears(m.EnvironmentStart, seed=derive(5, "episode", 0))
    table.environment.turns(0)
    [player] = table.agents
    player.hears(m.Init)
    mine = player.hears(m.AgentStart).seed
    player.acts(1)
    table.environment.hears(m.EnvironmentStep)
    table.environment.turns(terminated=True, outcome=[1.0])
    assert table.experiment.hears(m.Episode).seed == derive(5, "episode", 0)
    [told] = [each for each in observer.heard if isinstance(each, m.Episode)]
    assert told.seed == 0
    [record] = table.records
    assert (record.result.seed, record.derivation) == (derive(5, "episode", 0), 2)
    assert record.seeds == [mine] == [derive(derive(5, "agents"), "seat", 0, 0)]
