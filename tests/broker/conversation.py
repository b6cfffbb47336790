"""A core and its peers in conversation: no socket, and a clock that the test sets."""

from collections import deque
from typing import Any

from dovetail.broker.core import Core, Settings
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete


class Voice:
    """A peer.  ``hears`` takes its next message and compares the fields that are named."""

    def __init__(
        self, table: "Conversation", role: m.Role, name: str = "", *offers: m.Offer
    ) -> None:
        self.table, self.role, self.seen = table, role, 0
        self.heard: deque[Any] = deque()
        self.last: Any = None
        self.token = self.connects(m.Hello(m.VERSION, role, name, list(offers))).session

    def connects(self, hello: m.Hello) -> Any:
        self.address = len(self.table.voices)
        self.table.voices.append(self)
        self.says(hello)
        return self.hears(m.Welcome)

    def returns(self) -> Any:
        return self.connects(m.Hello(m.VERSION, self.role, resume=self.token, seen=self.seen))

    def says(self, message: m.Message) -> None:
        self.table.core.receive(self.address, message, self.table.now)
        self.table.carry()

    def hears(self, kind: Any, **fields: Any) -> Any:
        assert self.heard, f"nothing, instead of {kind.__name__}"
        message = self.last = self.heard.popleft()
        assert type(message) is kind, message
        assert {name: getattr(message, name) for name in fields} == fields, message
        self.seen = max(self.seen, getattr(message, "seq", 0))
        return message

    def hears_nothing(self) -> None:
        assert not self.heard, self.heard

    def acts(self, action: Any, **fields: Any) -> None:
        decision = self.last
        self.says(m.Action(decision.episode, decision.turn, decision.seat, action, **fields))

    def fails(self, code: str = "crashed", **fields: Any) -> None:
        self.says(m.Error(code, "it failed", answers=self.last.seq, **fields))

    def turns(self, *to_act: int, legal: Any = (0, 1), rewards: Any = (), **fields: Any) -> None:
        """Answer a ``start`` or ``step`` with the next turn."""
        number = getattr(self.last, "turn", -1) + 1
        rewards = rewards or [0.0] * self.table.seats
        views = [
            m.View(seat, number, legal and list(legal), earned)
            for seat, earned in enumerate(rewards)
        ]
        self.says(m.Turn(self.last.episode, number, list(to_act), views, **fields))


class Conversation:
    """An environment, an agent for each seat, and an experiment whose run has begun an episode."""

    def __init__(
        self, seats: int = 2, spec: Any = None, settings: Any = None, opens: bool = True, **run: Any
    ) -> None:
        self.core, self.now, self.seats = Core(settings or Settings(), b""), 0.0, seats
        self.voices: list[Voice] = []
        self.records: list[Any] = []
        names = [f"p{seat}" for seat in range(seats)]
        self.environment = Voice(self, "environment", "rules", m.Offer("game"))
        self.agents = [Voice(self, "agent", n, m.Offer(n, instance=True)) for n in names]
        self.experiment = Voice(self, "experiment", "trial")
        self.experiment.says(m.Run(1, "game", **{"agents": names, "retries": 0, **run}))
        self.run = self.experiment.hears(m.Reply, id=1).body["run"]
        self.open = self.environment.hears(m.Open)
        spaces: list[Any] = [Discrete(3)]
        self.spec = m.Spec(self.open.match, "game", seats, spaces, spaces, **(spec or {}))
        if opens:
            self.environment.says(self.spec)

    def at(self, now: float) -> None:
        """Let time pass."""
        while (due := max(self.now, self.core.deadline())) <= now:
            self.now = due
            self.core.tick(due)
            self.carry()
        self.now = now

    def carry(self) -> None:
        records, out = self.core.take()
        self.records += records
        for address, message in out:
            voice = self.voices[address]
            if isinstance(message, m.Ping):
                self.core.receive(address, m.Pong(message.number, voice.seen), self.now)
            elif voice.address == address and not isinstance(message, m.Progress):
                voice.heard.append(message)
