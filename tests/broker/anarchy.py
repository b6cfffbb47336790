"""Peers that say anything in any order, and what must hold of the broker all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from dovetail.broker.core.core import Core, Settings
from dovetail.broker.core.intake import Intake
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.spaces import Discrete, Space

CONNECTIONS = 6


class Crowd:
    """Six connections on which anything is said, and at times what would be right."""

    def __init__(self) -> None:
        self.settings = Settings(grace=2.0, peer_timeout=4.0)
        self.core = Core(self.settings, b"")
        self.intake = Intake(self.core)
        self.now = 0.0
        self.requests = 100
        self.waiting: dict[int, list[m.Message]] = {c: [] for c in range(CONNECTIONS)}
        self.sessions: dict[int, str] = {}
        self.resumed: set[str] = set()
        self.started: Counter[tuple[str, int, int]] = Counter()
        self.ended: Counter[tuple[str, int, int]] = Counter()
        self.moves: Counter[tuple[int, int, int]] = Counter()
        """By connection, group and slot: how many turns the sensible environment has made."""

    def take(self) -> None:
        _, out = self.core.take()
        for connection, message in out:
            frame = codec.encode(message)
            assert isinstance(connection, int)
            self.waiting[connection].append(message)
            if isinstance(message, m.Welcome):
                self.sessions[connection] = message.session
                if message.resumed:
                    self.resumed.add(message.session)
            session = self.sessions.get(connection, "")
            if isinstance(message, m.AgentStart):
                self.started[session, message.episode, message.seat] += 1
            elif isinstance(message, m.End):
                self.ended[session, message.episode, message.seat] += 1
            elif isinstance(message, m.AgentSteps) and message.starts is not None:
                seats = message.seats[message.starts].tolist()
                for episode, seat in zip(message.episodes.tolist(), seats, strict=True):
                    self.started[session, episode, seat] += 1
            elif isinstance(message, m.Ends):
                for episode, seat in zip(
                    message.episodes.tolist(), message.seats.tolist(), strict=True
                ):
                    self.ended[session, episode, seat] += 1
            assert frame

    def say(self, connection: int, message: m.Message) -> None:
        self.core.receive(connection, message, self.now)
        self.take()

    def hello(self, connection: int, role: m.Role, name: str, offers: list[m.Offer]) -> None:
        self.say(connection, m.Hello(m.VERSION, role, name, offers))

    def set_up(self, *, stacked: bool = False) -> None:
        """Greet as everybody should, so that runs do begin; ``stacked`` runs play in groups."""
        peers: list[tuple[m.Role, list[m.Offer]]] = [
            ("environment", [m.Offer("game", stacked=stacked)]),
            ("agent", [m.Offer("player", capacity=0, stacked=stacked)]),
            ("experiment", []),
        ]
        for connection, (role, offers) in enumerate(peers):
            self.say(connection, m.Hello(m.VERSION, role, offers=offers))
        self.say(2, m.ExperimentCreate(self.request(), "player"))
        self.sensible()
        made: list[int | str] = [i.number for i in self.core.instances if i.ready]
        if made:
            rules: dict[str, Any] = {"episodes": 5, "concurrency": 2}
            if stacked:
                rules |= {"stacked": True, "clock": m.ClockRule(decision=2.0)}
                rules |= {"answer_timeout": 5.0, "on_illegal": "random"}
            self.say(2, m.Run(self.request(), "game", made[:1] * 2, **rules))

    def request(self) -> int:
        self.requests += 1
        return self.requests

    def sensible(self, wrong: Mapping[str, Any] | None = None) -> None:
        """Answer what was asked, as a well-behaved peer would; but ``wrong`` in columns of
        batches."""

        def batch(connection: int, answer: m.Turns | m.Actions) -> None:
            for name, value in (wrong or {}).items():
                if hasattr(answer, name):
                    setattr(answer, name, value)
            self.say(connection, answer)

        for connection, waiting in self.waiting.items():
            messages, waiting[:] = list(waiting), []
            for message in messages:
                match message:
                    case m.Open():
                        spaces: list[Space] = [Discrete(3)]
                        self.say(connection, m.Spec(message.match, "game", 2, spaces, spaces))
                    case m.EnvironmentStart() | m.EnvironmentStep():
                        step = message.turn + 1 if isinstance(message, m.EnvironmentStep) else 0
                        turn = m.Turn(message.episode, step)
                        if step == 3:
                            turn.terminated = True
                        else:
                            turn.to_act = [step % 2]
                            turn.seats = [m.View(step % 2, 1, [0, 1])]
                        self.say(connection, turn)
                    case m.AgentStart() | m.AgentStep():
                        self.say(
                            connection, m.Action(message.episode, message.turn, message.seat, 1)
                        )
                    case m.EnvironmentSteps():
                        batch(connection, self._turns(connection, message))
                    case m.AgentSteps():
                        actions = np.ones(len(message.slots), np.int64)
                        batch(
                            connection,
                            m.Actions(
                                *(message.match, message.instance, message.batch),
                                *(message.slots, message.seats, actions),
                            ),
                        )
                    case m.Create() | m.Load() | m.Cleanup() | m.AgentMessage():
                        self.say(connection, m.Reply(message.id))
                    case m.Save():
                        self.say(connection, m.Saved(message.id, b"x"))
                    case m.Ping():
                        self.say(connection, m.Pong(message.number))

    def _turns(self, connection: int, message: m.EnvironmentSteps) -> m.Turns:
        """Answer a batch: the seats act in turns, and an episode has three."""
        begun, going = [
            [] if column is None else column.tolist()
            for column in (message.restarts, message.slots)
        ]
        for slot in begun:
            self.moves[connection, message.match, slot] = 0
        for slot in going:
            self.moves[connection, message.match, slot] += 1
        slots = sorted({*begun, *going})
        made = [self.moves[connection, message.match, slot] for slot in slots]
        rows = [(slot, turn % 2) for slot, turn in zip(slots, made, strict=True) if turn < 3]
        acting = np.array(rows, np.int32).reshape(-1, 2)
        turns = m.Turns(message.match, message.batch, np.array(slots, np.int32))
        turns.rows, turns.seats = acting[:, 0].copy(), acting[:, 1].copy()
        turns.over = np.array([turn >= 3 for turn in made], np.uint8)
        turns.observations = [1] * len(rows)
        ended = sum(turn >= 3 for turn in made)
        turns.finals = [[1, 1]] * ended
        return turns

    def lose(self, connection: int) -> None:
        self.core.lost(connection, self.now)
        self.take()

    def hear(self, connection: int, frame: bytes) -> None:
        """Let the broker read a frame, which may be anything."""
        self.intake.take(connection, [frame], self.now)
        self.take()

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.core.tick(self.now)
        self.take()

    def resume(self) -> None:
        for connection, session in list(self.sessions.items()):
            if self.core.role(connection) is None and session in self.core.broker.sessions:
                role = self.core.broker.sessions[session].role
                self.say(connection, m.Hello(m.VERSION, role, resume=session))

    def books_balance(self) -> None:
        busy: Counter[int] = Counter()
        runs: dict[int, set[int]] = {}
        for run in self.core.runs:
            for play in run.playing.values():
                busy.update({seat.instance.number for seat in play.match.seats})
            for number in {agent.number for agent in run.agents}:
                busy[number] += sum(int(stack.live.sum()) for stack in run.stacks.values())
                runs.setdefault(number, set()).add(run.number)
        for instance in self.core.instances:
            assert instance.busy == busy[instance.number]
            assert instance.runs == runs.get(instance.number, set())
        for run in self.core.runs:
            for match in run.matches.values():
                playing = match.machine.state in ("transition", "decision")
                if match.slots:
                    stack: Any = run.stacks.get(match)
                    assert playing == (stack is not None and bool(stack.live.any()))
                    continue
                assert playing == (match in run.playing)
                assert (match.machine.state == "idle") == (match in run.idle)

    def over(self) -> None:
        present = {self.sessions[c] for c in self.sessions if self.core.role(c) is not None}
        self.core.close(self.now)
        self.take()
        assert self.core.idle
        for key in self.started:
            if key[0] in present:
                assert self.ended[key] >= 1, f"{key} never heard its end"
        for key, count in self.ended.items():
            if key[0] not in self.resumed:  # a resumption sends again what may have been lost
                assert count == 1, f"{key} heard {count} ends"
