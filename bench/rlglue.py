"""RL-Glue: our core beside a bare relay of the same frames, with the same raw Python programs.

Each step is four hops between three processes over TCP on loopback: the environment and the agent answer blindly with 9
ints, 42 steps an episode, and the experiment asks for whole episodes (``RL_episode``).  The bare relay only moves
bytes: it reads no header, checks and counts nothing.  ``python -m bench.rlglue [SECONDS [ROUNDS]]``.
"""

from __future__ import annotations

import socket
import statistics
import struct
import sys
import time
from multiprocessing.connection import Connection

from bench.measure import WARM_UP, children, hear

NUMBERS = struct.pack(">III9i", 9, 0, 0, *range(9))
STEPS = 42
OUTCOME = struct.Struct(">id")
STEP = struct.pack(">iI", 6, 8 + len(NUMBERS)) + struct.pack(">d", 0.0) + NUMBERS
ACT = struct.pack(">iI", 13, len(NUMBERS)) + NUMBERS


def _joined(port: int, role: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if role:
        connection.sendall(struct.pack(">iI", role, 0))
    return connection


def _frame(code: int, payload: bytes) -> bytes:
    return struct.pack(">iI", code, len(payload)) + payload


def _read(connection: socket.socket) -> int:
    """Return the code of the next frame; RLTerm if there is none."""
    header = connection.recv(8, socket.MSG_WAITALL)
    if len(header) < 8:
        return 35
    code, length = struct.unpack(">iI", header)
    if length:
        connection.recv(length, socket.MSG_WAITALL)
    return int(code)


def _program(port: int, role: int, pipe: Connection) -> None:
    """A legacy agent (2) or environment (3)."""
    connection = _joined(port, role)
    pipe.send("joined")
    made = 0
    while (code := _read(connection)) != 35:
        if code == 13:
            made += 1
            connection.sendall(_frame(13, OUTCOME.pack(made == STEPS, 1.0) + NUMBERS))
            continue
        if code == 12:
            made = 0
        answers = {5: NUMBERS, 6: NUMBERS, 11: struct.pack(">I", 0), 12: NUMBERS}
        connection.sendall(_frame(code, answers.get(code, b"")))


def _core(pipe: Connection) -> None:
    from dovetail.bridges.rlglue.core import relay
    from dovetail.bridges.rlglue.port import Port

    port = Port(number=0)
    pipe.send(port.number)
    relay(port)


def _bare(pipe: Connection) -> None:
    """Move steps between an environment and an agent for as many as the experiment asks for."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pipe.send(listener.getsockname()[1])
        agent, environment, experiment = (listener.accept()[0] for _ in range(3))
    for each in (agent, environment, experiment):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while experiment.recv(8, socket.MSG_WAITALL):
        for _ in range(STEPS):
            environment.sendall(ACT)
            environment.recv(20 + len(NUMBERS), socket.MSG_WAITALL)
            agent.sendall(STEP)
            agent.recv(8 + len(NUMBERS), socket.MSG_WAITALL)
        experiment.sendall(b"\0" * 8)


def measure(kind: str, seconds: float) -> float:
    """Return the steps per second of "core" or "bare"."""
    with children() as start:
        port = hear(start(_core if kind == "core" else _bare))
        for role in (2, 3):
            hear(start(_program, port, role if kind == "core" else 0))
        experiment = _joined(port, 1 if kind == "core" else 0)
        experiment.settimeout(60)

        def episode() -> None:
            if kind == "bare":
                experiment.sendall(b"\0" * 8)
                experiment.recv(8, socket.MSG_WAITALL)
            else:
                experiment.sendall(_frame(27, struct.pack(">I", 0)))
                _read(experiment)

        if kind == "core":
            experiment.sendall(_frame(20, b""))
            _read(experiment)
        clock = time.perf_counter
        end = clock() + WARM_UP
        while clock() < end:
            episode()
        begun = now = clock()
        steps = 0
        while now - begun < seconds:
            episode()
            steps += STEPS
            now = clock()
        experiment.close()
        return steps / (now - begun)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    found: dict[str, list[float]] = {"core": [], "bare": []}
    for _ in range(rounds):
        for kind, rates in found.items():
            rates.append(measure(kind, seconds))
    middle = {kind: statistics.median(rates) for kind, rates in found.items()}
    for kind, rates in found.items():
        print(f"{kind:5} {middle[kind]:9,.0f} steps/s  ({min(rates):,.0f} to {max(rates):,.0f})")
    print(f"core / bare {middle['core'] / middle['bare']:.2f}")


if __name__ == "__main__":
    main()
