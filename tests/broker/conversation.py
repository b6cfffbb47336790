"""A core and its peers in conversation: no socket, and a clock that the test sets."""

from collections import deque
from typing import Any

from dovetail.broker.core.core import Core, Settings
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete

SPACES: list[Any] = [Discrete(3)]


class Voice:
    """A peer.  ``hears`` takes its next message and compares the fields that are named."""

    def __init__(self, table: "Conversation", role: m.Role, name: str = "", *offers: m.Offer):
        self.table, self.role, self.seen, self.last = table, role, 0, m.Message()
        self.heard: deque[Any] = deque()
        self.token = self.connects(m.Hello(1, role, name, list(offers))).session

    def connects(self, hello: m.Hello) -> Any:
        self.address = len(self.table.voices)
        self.table.voices.append(self)
        self.says(hello)
        return self.hears(m.Welcome)

    def returns(self) -> Any:
        return self.connects(m.Hello(1, self.role, resume=self.token, seen=self.seen))

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

    def acts(self, action: Any, to: Any = None, **fields: Any) -> None:
        asked: Any = to or self.last
        self.says(m.Action(asked.episode, asked.turn, asked.seat, action, **fields))

    def turns(self, *to_act: int, legal: Any = (0, 1), rewards: Any = (), **fields: Any) -> None:
        """Answer a ``start`` or ``step`` with the next turn."""
        legal = list(legal) if isinstance(legal, tuple) else legal
        earned = enumerate(rewards or [0.0] * self.table.seats)
        number = getattr(self.last, "turn", -1) + 1
        views = [m.View(seat, number, legal, reward) for seat, reward in earned]
        self.says(m.Turn(self.last.episode, number, list(to_act), views, **fields))  # type: ignore


class Conversation:
    """An environment, an agent for each seat, and an experiment whose run has been begun."""

    def __init__(
        self,
        seats: int = 2,
        spec: Any = None,
        settings: Any = None,
        parameters: Any = None,
        **run: Any,
    ):
        self.core, self.now, self.seats = Core(settings or Settings(), b""), 0.0, seats
        self.voices: list[Voice] = []
        self.records: list[Any] = []
        names = [f"p{seat}" for seat in range(seats)]
        offer = m.Offer("game", parameters=parameters or {})
        self.environment = Voice(self, "environment", "rules", offer)
        self.agents = [Voice(self, "agent", n, m.Offer(n, instance=True)) for n in names]
        self.spares = [
            Voice(self, "agent", n, m.Offer(n, instance=True)) for n in run.get("substitutes", ())
        ]
        self.experiment = Voice(self, "experiment", "trial")
        self.experiment.says(
            m.Run(1, "game", **{"agents": names, "retries": 0, "check": False, **run})
        )
        self.run = self.experiment.hears(m.Reply, id=1).body["run"]
        self.opened = self.environment.hears(m.Open)
        match = self.opened.match
        spaces = {"observation_spaces": SPACES, "action_spaces": SPACES}
        self.spec = m.Spec(match, "game", seats, **{**spaces, **(spec or {})})

    def opens(self) -> "Conversation":
        """Have the environment answer ``open``; each agent takes its seat."""
        self.environment.says(self.spec)
        return self

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
            assert isinstance(address, int)
            voice = self.voices[address]
            if isinstance(message, m.Ping):
                self.core.receive(address, m.Pong(message.number, voice.seen), self.now)
            elif voice.address == address and not isinstance(message, m.Progress):
                voice.heard.append(message)
