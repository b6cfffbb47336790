"""The page's cost to the broker: counted, on a clock that the test sets, so that no other work
disturbs it."""

from __future__ import annotations

import gc
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, cast

import pytest

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.core.intake import Intake
from dovetail.broker.peers.outbox import spread
from dovetail.client.client import Experiment
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail_games.connect_four import ConnectFour
from dovetail_web.games import CLOSE
from dovetail_web.hub import Hub

pytestmark = pytest.mark.fast

SECONDS = 4
RATE = 500
"""Turns a second of one lock-step game."""
ENVIRONMENT, AGENTS, EXPERIMENT, PAGE = range(4)


@dataclass
class Table:
    """A core, the programs around it, and what the core is asked and says."""

    now: float = 0.0
    taken: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    functions: int = field(default=0, compare=False)
    """Of Python, called by the core."""
    replies: list[Any] = field(default_factory=list, compare=False)

    def __post_init__(self) -> None:
        self.core = Core(Settings(), b"")
        self._intake = Intake(self.core)
        self._hosts: dict[int, EnvironmentHost | AgentHost] = {
            ENVIRONMENT: EnvironmentHost([ConnectFour]),
            AGENTS: AgentHost([Random]),
        }
        self._read: dict[int, codec.Decoder[Any]] = {
            place: codec.Decoder(codec.AT_PEER[host.role]) for place, host in self._hosts.items()
        }
        self._to_hosts: deque[tuple[int, bytes]] = deque()
        roles: list[m.Role] = ["environment", "agent", "experiment", "experiment"]
        for place, role in enumerate(roles):
            offers = self._hosts[place].offers() if place in self._hosts else []
            self.say(place, m.Hello(m.VERSION, role, str(place), offers))

    def say(self, place: int, message: m.Message) -> None:
        """Take a message of a peer: two of them make a turn."""
        self.now += 0.5 / RATE
        self.taken[type(message).__name__] += 1
        frame = codec.encode(message)
        self._counted(lambda: self._intake.take(place, [frame], self.now))
        self._counted(lambda: self.core.tick(self.now))
        for to, said in self._counted(self.core.take_shared)[1]:
            frame = codec.encode(said)
            for address, _ in spread([(to, said)]):
                self.sent[type(said).__name__] += 1
                if isinstance(said, m.Ping):
                    self.core.receive(address, m.Pong(said.number), self.now)
                elif isinstance(address, int) and address in self._hosts:
                    self._to_hosts.append((address, frame))
                elif isinstance(said, m.Reply):
                    self.replies.append(said.body)

    def carry(self, turns: float = float("inf")) -> None:
        """Let the programs answer until a number of turns are played."""
        while self._to_hosts and self.core.broker.counters["turns"] < turns:
            place, frame = self._to_hosts.popleft()
            for answer in self._hosts[place].handle([self._read[place].decode(frame)]):
                self.say(place, answer)

    def _counted(self, call: Callable[[], Any]) -> Any:
        def heard(frame: FrameType, event: str, about: Any) -> None:
            self.functions += event == "call"

        sys.setprofile(heard)
        try:
            return call()
        finally:
            sys.setprofile(None)


def played(browsers: int) -> Table:
    """Return a table of which games were played in turn while a number of browsers looked."""
    table = Table()
    for seat in range(2):
        table.say(EXPERIMENT, m.ExperimentCreate(seat, "random", seed=seat))
    table.carry()
    agents = [each["instance"] for each in table.replies]
    table.say(EXPERIMENT, m.Run(9, "connect_four", agents=agents, episodes=10**6, seed=1))
    run = table.replies[-1]["run"]
    hub = Hub("tcp://127.0.0.1:9")
    hub.catalogue = {"runs": [{"run": run, "environment": "connect_four", "playing": 1}]}
    for _ in range(browsers):
        hub.look(run, 1)

    class Line:
        """The hub's connection."""

        def request(self, watch: m.Watch) -> None:
            watch.id = len(table.replies)
            table.say(PAGE, watch)

    if browsers:
        for _ in range(100):  # it looks for news so often in a second
            hub._watch(cast(Experiment, Line()))
    table.taken.clear()
    table.sent.clear()
    table.functions, table.now = 0, float(int(table.now) + 1)
    table.carry(SECONDS * RATE)
    return table


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Keep the collector from calling functions of what earlier tests have left."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_nearly_every_turn_of_a_fast_game_costs_the_broker_nothing_more() -> None:
    alone, one, hundred = played(0), played(1), played(100)
    assert hundred == one  # the count of every message
    assert abs(hundred.functions - one.functions) < 0.001 * one.functions
    assert one.taken == alone.taken  # no program says more for being looked at
    shown = one.sent["WatchedTurn"]
    told = sum(one.sent.values()) - sum(alone.sent.values()) - shown
    # Whole games, ten seconds ahead of the pace at most; then the broker says how they ended.
    assert SECONDS / CLOSE[0] <= shown < 2 * SECONDS / CLOSE[0]
    assert shown < 0.05 * SECONDS * RATE
    assert told < 0.01 * SECONDS * RATE
    assert one.functions <= 1.05 * alone.functions
