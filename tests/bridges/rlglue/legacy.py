"""Legacy programs for the tests, written against the wire alone: plain sockets and ``struct``."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dovetail.peer.environments.environment import Environment, Spec, Turn
from dovetail.protocol.spaces import Discrete
from dovetail_bridges.rlglue.listener import Port
from dovetail_bridges.rlglue.serve import relay

EXPERIMENT, AGENT, ENVIRONMENT = 1, 2, 3


def frame(code: int, payload: bytes = b"") -> bytes:
    return struct.pack(">iI", code, len(payload)) + payload


def text(content: str) -> bytes:
    return struct.pack(">I", len(content)) + content.encode()


def adt(ints: Sequence[int] = (), doubles: Sequence[float] = (), chars: bytes = b"") -> bytes:
    counts = struct.pack(">III", len(ints), len(doubles), len(chars))
    numbers: bytes = struct.pack(f">{len(ints)}i{len(doubles)}d", *ints, *doubles)
    return counts + numbers + chars


def exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read(connection: socket.socket) -> tuple[int, bytes]:
    code, length = struct.unpack(">iI", exactly(connection, 8))
    return code, exactly(connection, length)


def send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data)


def join(port: Port, role: int, timeout: float = 20.0) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port.number), timeout)
    connection.sendall(frame(role))
    return connection


class Program(threading.Thread):
    """A legacy agent or environment: ``answers`` maps a code to the payload of its answer, or to a
    function."""

    def __init__(
        self, port: Port, role: int, answers: Mapping[int, bytes | Callable[[bytes], bytes]]
    ):
        super().__init__(daemon=True)
        self.heard: list[tuple[int, bytes]] = []
        self.ended = threading.Event()
        self.connection = join(port, role)
        self.answers = answers
        self.start()

    def run(self) -> None:
        with contextlib.suppress(OSError, EOFError, struct.error):
            while True:
                code, payload = read(self.connection)
                self.heard.append((code, payload))
                if code == 35:
                    send(self.connection, frame(35))
                    break
                answer = self.answers.get(code, b"")
                body = answer(payload) if callable(answer) else answer
                send(self.connection, frame(code, body))
        self.connection.close()
        self.ended.set()

    def codes(self) -> list[int]:
        return [code for code, _ in self.heard]


SPEC = (
    "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1.0 "
    "OBSERVATIONS INTS (0 20) ACTIONS INTS (0 1) REWARDS (0.0 5.0) EXTRA a chain"
)


def chain(length: int = 3, terminal: int = 1) -> dict[int, bytes | Callable[[bytes], bytes]]:
    """An environment that ends after some steps and shows how many were made."""
    made = [0]

    def start(_: bytes) -> bytes:
        made[0] = 0
        return adt([0])

    def step(_: bytes) -> bytes:
        made[0] += 1
        over = terminal if made[0] == length else 0
        return struct.pack(">id", over, float(made[0])) + adt([made[0]])

    return {11: text(SPEC), 12: start, 13: step, 19: lambda body: body}


def echo() -> dict[int, bytes | Callable[[bytes], bytes]]:
    """An agent whose action is what it sees, plus 100."""

    def act(payload: bytes) -> bytes:
        (seen,) = struct.unpack(">i", payload[-4:])
        return adt([seen + 100])

    return {5: act, 6: act, 10: lambda body: body}


class Experiment:
    """A legacy experiment."""

    def __init__(self, port: Port):
        self.connection = join(port, EXPERIMENT)

    def ask(self, code: int, payload: bytes = b"") -> bytes:
        send(self.connection, frame(code, payload))
        got, answer = read(self.connection)
        assert got == code, f"code {got} in answer to {code}"
        return answer

    def episode(self, most: int = 0) -> int:
        return int(struct.unpack(">i", self.ask(27, struct.pack(">I", most)))[0])

    def number(self, code: int) -> int:
        return int(struct.unpack(">i", self.ask(code))[0])

    def total(self) -> float:
        return float(struct.unpack(">d", self.ask(24))[0])

    def leave(self) -> None:
        self.connection.sendall(frame(35))
        assert read(self.connection) == (35, b"")
        assert self.connection.recv(1) == b""
        self.connection.close()


@contextlib.contextmanager
def core(patience: float | None = 20.0, hello: float = 10.0) -> Iterator[Port]:
    """A core in this program, at a free port."""
    port = Port(number=0, patience=patience, hello=hello)
    thread = threading.Thread(target=relay, args=[port])
    thread.start()
    try:
        yield port
    finally:
        port.close()
        thread.join(10)
        assert not thread.is_alive()


class Heap(Struct, frozen=True, forbid_unknown_fields=True):
    heap: int = 7


class Nim(Environment[Heap]):
    """Take one to three; who takes the last wins."""

    name = "nim"

    def init(self) -> Spec:
        return Spec(
            seats=2,
            observation_spaces=[Discrete(self.configuration.heap + 1)],
            action_spaces=[Discrete(3, start=1)],
            reward_range=(-1.0, 1.0),
        )

    def start(self, seed: int) -> Turn:
        self.left, self.seat = self.configuration.heap, 0
        return self._turn()

    def step(self, actions: Mapping[int, Any]) -> Turn:
        self.left -= actions[self.seat]
        if not self.left:
            rewards = [1.0 if seat == self.seat else -1.0 for seat in (0, 1)]
            return Turn.end([0, 0], rewards, winners=[self.seat])
        self.seat = 1 - self.seat
        return self._turn()

    def _turn(self) -> Turn:
        return Turn.ask(self.seat, self.left, [n for n in (1, 2, 3) if n <= self.left])
