"""A referee with agents in threads of this program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest

from dovetail import Agent, Decision
from dovetail.broker.core.core import Settings
from dovetail.broker.durable.journal import Journal
from dovetail.broker.shell.serve import in_thread
from dovetail.client.client import Experiment
from dovetail.peer.agents.serve import serve as serve_agent
from dovetail.peer.environments.serve import serve as serve_environment
from dovetail.protocol.journal import episodes
from dovetail_experiments.arena import referee
from dovetail_experiments.arena.description import Arena, Baseline, Ladder
from dovetail_experiments.arena.referee import Referee, baseline
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_games.connect_four import ConnectFour

pytestmark = pytest.mark.processes

LADDER = Ladder(
    name="four",
    game="connect_four",
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
    notices: ClassVar[list[str]] = []

    def message(self, body: Any) -> None:
        self.notices.append(body["notice"])

    def step(self, decision: Decision) -> Any:
        if self.broken:
            raise ValueError("no idea")
        return super().step(decision)


def join(threads: Iterable[threading.Thread]) -> None:
    for each in threads:
        each.join()


@pytest.fixture
def played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Referee, ArenaStore, Callable[[], None]]]:
    """Return a referee of a ladder with a baseline and two agents, its store, and what has alice's
    leave."""
    monkeypatch.setattr(referee, "LOOK", 0.02)
    monkeypatch.setattr(referee, "TRIAL", 0.05)
    monkeypatch.setattr(Mended, "broken", True)
    monkeypatch.setattr(Mended, "notices", [])
    with ExitStack() as stack:
        store = stack.enter_context(ArenaStore(tmp_path / FILE, create=True))
        tokens = {"a": "alice", "b": "bob", "c": baseline(LADDER, "first")}
        for name in ("alice", "bob"):
            store.invite(name)
        broker = in_thread(
            "tcp://127.0.0.1:*",
            settings=Settings(token="own"),
            journal=Journal(tmp_path / "journal"),
            finish=0.0,
            entrant=tokens.get,
            origins=True,
        )
        threads: dict[str, threading.Thread] = {}
        leave = threading.Event()
        stack.callback(lambda: join(threads.values()))
        address = stack.enter_context(broker)

        def start(serve: Callable[..., None], what: Any, token: str, name: str) -> None:
            given: dict[str, Any] = {"name": name, "token": token}
            if name == "alice":
                given["stop"] = leave
            threads[name] = threading.Thread(target=serve, args=(what, address), kwargs=given)
            threads[name].start()

        start(serve_environment, ConnectFour, "own", "four")
        start(serve_agent, First, "c", "baseline")
        start(serve_agent, First, "b", "bob")
        start(serve_agent, Mended, "a", "alice")
        experiment = stack.enter_context(Experiment.connect(address, token="own"))

        def gone() -> None:
            leave.set()
            threads["alice"].join()
            while "alice/alice" in {each["name"] for each in experiment.catalogue()["peers"]}:
                experiment.wait(0.01)

        yield Referee(Arena("test", [LADDER], seed=1), store, experiment), store, gone


def test_with_room_for_few_units_every_ladder_has_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    with ArenaStore(tmp_path / FILE, create=True) as store:
        arena = Arena("test", [Ladder(name=name, game="connect_four") for name in "abc"], games=1)
        judge = Referee(arena, store, cast(Experiment, None))

        def play(ladder: Ladder, unit: Any) -> None:
            begun.append(ladder.name)
            judge._playing[0] = cast(Any, SimpleNamespace(unit=SimpleNamespace(ladder=ladder.name)))

        monkeypatch.setattr(judge, "_next", lambda ladder: ladder)
        monkeypatch.setattr(judge, "_play", play)
        for _ in range(6):
            judge._begin()
            judge._playing.clear()
    assert begun == [*"abcabc"]


def test_an_entrant_s_programs_leave_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = [
        *({"name": f"m{k}", "state": "ready", "entrant": "mallory"} for k in range(20)),
        {"name": "bob", "state": "ready", "entrant": "bob"},
    ]
    offers = [{"peer": each["name"], "name": each["name"], "instance": True} for each in peers]
    present = [*(each["name"] for each in peers[1:])]  # the first left between two pages
    body = {
        "peers": peers,
        "environments": [],
        "agents": offers,
        "instances": [
            {"peer": name, "agent": name, "instance": k} for k, name in enumerate(present)
        ],
    }
    with ArenaStore(tmp_path / FILE, create=True) as store:
        for name in ("mallory", "bob"):
            store.invite(name)
        ladder = Ladder(name="four", game="connect_four", programs=3)
        there = cast(Experiment, SimpleNamespace(catalogue=lambda: body))
        judge = Referee(Arena("test", [ladder]), store, there)
        reads = 0
        players = store.players

        def counted() -> Any:
            nonlocal reads
            reads += 1
            return players()

        monkeypatch.setattr(store, "players", counted)
        for _ in range(2):
            judge._look(0.0)
        names = {each.id: each.name for each in players().values()}
        log = [line[2:4] for line in store.log() if line[1] == "note"]
    assert sorted(names.values()) == ["bob/bob", "mallory/m0", "mallory/m1", "mallory/m2"]
    assert sorted(names[each] for each in judge._seats) == ["bob/bob", "mallory/m1", "mallory/m2"]
    assert reads == 3  # one for each look, one for the newcomers
    assert log == [("mallory", "four: more than 3 programs at once; the others do not play")]


@pytest.mark.timeout(300)
def test_an_agent_paused_for_faults_comes_back_once_it_is_mended(
    played: tuple[Referee, ArenaStore, Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    judge, store, leave = played

    def hers() -> Any:
        return next((p for p in store.players().values() if p.entrant == "alice"), None)

    def units() -> int:
        return len(store.played(1, "four", player=hers().id))

    while (mine := hers()) is None or mine.state == "active":
        judge.step()
    assert mine.why.startswith("3 losses by fault in a row")
    count = units()
    while "against a baseline" not in hers().why:
        judge.step()
    assert (hers().state, hers().faults) == ("paused", 4)
    assert "ValueError: no idea" in hers().why
    assert units() == count  # a trial does not count
    monkeypatch.setattr(Mended, "broken", False)
    while hers().state == "paused":
        judge.step()
    assert (hers().faults, hers().why) == (0, "")
    assert store.log()[-1][1:4] == (
        "resumed",
        "alice/mended",
        "four: played without a fault against a baseline",
    )
    called: set[str] = set()
    run = judge._experiment.run

    def begun(*about: Any, **options: Any) -> Any:
        called.update(options["names"])
        return run(*about, **options)

    monkeypatch.setattr(judge._experiment, "run", begun)
    while units() < count + 2:
        judge.step()
    assert hers().state == "active"
    # Watchers see the names of the table.
    assert "alice/mended" in called
    assert called <= {player.name for player in store.players().values()}
    # Its program was told so, each time that it changed.
    first, *_, last = Mended.notices
    assert first.startswith("alice/mended is paused in four: 3 losses by fault in a row")
    assert "ValueError: no idea" in first
    assert last == "alice/mended is active in four"

    recorded = {record.mode for _, record in episodes(store.path.parent / "journal")}
    assert recorded == {"learn"}

    # An operator's word stands, however well it plays.
    store.mark("alice/mended", "paused", "holidays")
    for _ in range(40):
        judge.step()
    assert (hers().state, hers().why) == ("paused", "holidays")

    # The others play on without one that has left.
    store.mark("alice/mended", "active", "")
    count = units()
    while units() < count + 1:
        judge.step()

    # A game that is asked for is played, and counts nowhere.
    mine = hers().id
    other = next(p.id for p in store.players().values() if p.entrant == "bob")
    store.ask(1, "four", 1, [mine, other], "alice")
    while store.requests()[0].state != "played":
        judge.step()
    (asked,) = store.played(1, "four", practice=True)
    assert sorted(asked.players) == sorted([mine, other])
    assert store.presence()[mine].online
    assert store.presence()[mine].address == "127.0.0.1"
    leave()
    judge._look(float("inf"))
    assert not store.presence()[hers().id].online
    latest = store.latest(1, "four")
    while store.latest(1, "four") < latest + 8:
        judge.step()
    assert all(hers().id not in unit.players for unit in store.played(1, "four", last=4))
