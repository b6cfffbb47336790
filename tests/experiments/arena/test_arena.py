"""A real arena: entrants' programs over sockets, and kill -9 at any moment."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.protocol.journal import episodes
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.arena.units import FinishedUnit
from dovetail_experiments.statistics.ranked import ladder

from .programs import Programs, port, until

pytestmark = pytest.mark.processes

ARENA = """
name = "test"
seed = 3
bind = "tcp://127.0.0.1:{port}"
games = 3

[[ladders]]
name = "four"
game = "connect_four"
configuration = {{ rows = 4, columns = 4, connect = 3 }}
openings = 1
clock = {{ decision = 10.0 }}

[[ladders.baselines]]
name = "random"
type = "random"

[[ladders]]
name = "alone"
game = "2048"
configuration = {{ rows = 2, columns = 2 }}
seats = 1
entrants = ["alice"]

[[ladders.baselines]]
name = "random"
type = "random"

[[ladders]]
name = "three"
game = "high.py:High"
seats = 3

[[ladders.baselines]]
name = "random"
type = "random"
"""
HIGH = """
from dovetail import Environment, Spec, Turn, spaces

class High(Environment):
    def init(self):
        number = spaces.Discrete(9)
        return Spec(seats=3, observation_spaces=[number] * 3, action_spaces=[number] * 3)

    def start(self, seed):
        self.said = []
        return Turn.ask(0, 0, list(range(9)))

    def step(self, actions):
        self.said.append(actions[len(self.said)])
        if len(self.said) < 3:
            return Turn.ask(len(self.said), 0, list(range(9)))
        best = max(self.said)
        winners = [seat for seat in range(3) if self.said[seat] == best]
        rewards = [float(seat in winners) for seat in range(3)]
        return Turn.end([0, 0, 0], rewards, winners=winners)
"""
FIRST = """
from dovetail import Agent

class First(Agent):
    def step(self, decision):
        return decision.legal[0]
"""
FAULTY = """
from dovetail import Agent

class Faulty(Agent):
    def step(self, decision):
        raise ValueError("no idea")
"""


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    (tmp_path / "arena.toml").write_text(ARENA.format(port=port()))
    (tmp_path / "high.py").write_text(HIGH)
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "faulty.py").write_text(FAULTY)
    made = Programs(tmp_path)
    yield made
    made.end()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_an_arena_that_is_killed_loses_and_doubles_nothing(programs: Programs, kills: int) -> None:
    folder = programs.folder
    alice = programs.invited("alice")
    store = ArenaStore(folder / "arena" / FILE)
    bob = {**alice, "DOVETAIL_TOKEN": store.invite("bob")}
    arena = programs.start("arena", "arena.toml")
    wrong = {**alice, "DOVETAIL_TOKEN": "x"}
    assert "token is missing or wrong" in programs.run("agent", "random", code=1, **wrong)
    assert "is for agents, not for an observer" in programs.run("list", code=1, **alice)
    alice["DOVETAIL_TOKEN"] = store.invite("alice")  # the earlier token is void, at once
    programs.start("agent", "first.py:First", **alice)
    for each in (folder / "arena", *(folder / "arena").rglob("*")):
        assert each.stat().st_mode & 0o077 == 0, each  # the operator's alone, journal and logs too
    # The same program twice under one entrant's name, the other one as a single agent.
    programs.start("agent", "random", "--as-one", "--name", "dice", "--seed", "1", **bob)
    programs.start("agent", "faulty.py:Faulty", "--name", "f", **bob)
    until(lambda: _units(store, "alice/first") > 3 and store.latest(1, "alone"))

    rng = random.Random(7)
    for _ in range(kills):
        time.sleep(rng.random())  # any moment will do
        arena.send_signal(signal.SIGKILL)
        arena.wait()
        before = [*store.played(1, "four"), *store.played(1, "alone")]
        ratings = {each.id: each.ratings for each in before}
        units = _units(store, "alice/first")
        arena = programs.start("arena", "arena.toml")
        until(lambda: _units(store, "alice/first") > units)  # noqa: B023
        now = {each.id: each for name in ("four", "alone") for each in store.played(1, name)}
        assert all(now[each.id] == each for each in before)
        assert {number: now[number].ratings for number in ratings} == ratings

    # The season ends with a round robin, and its table stays.
    until(lambda: store.counts(1).keys() == store.players().keys())
    until(lambda: all(p.state == "paused" for p in store.players().values() if "faulty" in p.name))
    earlier = sum(len(store.played(1, name)) for name in ("four", "alone", "three"))
    said = programs.run("arena", "final")
    assert said.splitlines() == ["four: 3 units", "alone: 1 units", "three: 1 units"]
    until(lambda: store.season().ended)
    assert store.planned(1) == []
    assert sum(len(store.played(1, name)) for name in ("four", "alone", "three")) >= earlier + 5

    # An administrator's word takes effect while it runs.
    programs.run("arena", "pause", "bob/dice", "--why", "too lucky")
    until(lambda: {p.name: p.state for p in store.players().values()}["bob/dice"] == "paused")
    arena.send_signal(signal.SIGINT)
    assert arena.wait(20) == 0
    assert arena.stderr is not None
    assert "Traceback" not in arena.stderr.read()

    for name, players in (("four", 4), ("alone", 2), ("three", 4)):
        played = store.played(1, name)
        assert len({each.id for each in played}) == len(played)
        assert len({p for each in played for p in each.players}) == players
        for unit in played:
            seats = list(range(len(unit.players)))
            assert [game.number for game in unit.games] == seats
            if name != "alone":  # everyone sat everywhere, once
                assert sorted(game.seating for game in unit.games) == [
                    seats[n:] + seats[:n] for n in seats
                ]
            assert len({game.seed for game in unit.games}) == 1
            assert len({json.dumps(g.opening) for g in unit.games if g.turns > 1}) <= 1
        _consistent(played)
    found = {(p.ladder, p.name): p for p in store.players().values()}
    assert set(found) == {
        *(("four", name) for name in ("alice/first", "bob/dice", "bob/faulty", "random")),
        *(("alone", name) for name in ("alice/first", "random")),
        *(("three", name) for name in ("alice/first", "bob/dice", "bob/faulty", "random")),
    }
    assert found["four", "bob/faulty"].state == "paused"
    assert "ValueError: no idea" in found["four", "bob/faulty"].why
    # Every game that counts is in the journal, once as the attempt that counts.
    labels = Counter(
        (record.label.rpartition("/")[0], record.result.index, record.result.digest)
        for _, record in episodes(folder / "arena" / "journal")
    )
    for unit in store.played(1, "four"):
        for game in unit.games:
            assert labels[f"four/{unit.id}", game.number, game.digest] >= 1
    shown = json.loads(programs.run("arena", "standings", "--json"))
    rows = {row["name"]: row for row in shown["ladders"]["four"]["rows"]}
    assert rows["bob/faulty"]["faults"] >= 3
    assert rows["bob/dice"]["state"] == "paused"
    assert ("paused", "bob/dice", "too lucky") in [line[1:4] for line in store.log(10)]
    store.close()


def test_agents_outlive_a_stop_of_their_arena(programs: Programs) -> None:
    alice = programs.invited("alice")
    store = ArenaStore(programs.folder / "arena" / FILE)
    arena = programs.start("arena", "arena.toml")
    agent = programs.start("agent", "first.py:First", **alice)
    until(lambda: _units(store, "alice/first") > 1)
    arena.send_signal(signal.SIGTERM)
    assert arena.wait(20) == 0
    units = _units(store, "alice/first")
    programs.start("arena", "arena.toml")
    until(lambda: agent.poll() is not None or _units(store, "alice/first") > units)
    assert agent.poll() is None
    store.close()


def _units(store: ArenaStore, name: str) -> int:
    """How many units a player has played."""
    numbers = {(p.ladder, p.name): number for number, p in store.players().items()}
    return store.counts(1).get(numbers.get(("four", name), 0), (0, 0))[0]


def _consistent(played: list[FinishedUnit]) -> None:
    """The ratings are those of these units in this order, and of nothing else."""
    ranks = [
        {str(who): -points for who, points in zip(unit.players, unit.points, strict=True)}
        for unit in played
    ]
    expected = ladder(ranks)
    last = {
        str(who): rating
        for unit in played
        for who, rating in zip(unit.players, unit.ratings, strict=True)
    }
    for who, rating in expected.items():
        assert last[who] == pytest.approx(rating)
