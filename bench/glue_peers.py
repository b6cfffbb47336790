"""RL-Glue with raw Python peers: blocking sockets and ``struct``, with RL-Glue's own core or the
one in ``bench/rlglue.c``.

Observations and actions are nine integers, an episode has 42 steps, and one request plays an
episode.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from bench.measure import PATIENCE, BenchError, Episodes, children, line, program, stream

CORE = "RLGLUE_CORE"
"""Variable with the path of RL-Glue's own core."""
EXPERIMENT, AGENT, ENVIRONMENT = 1, 2, 3
AGENT_START, AGENT_STEP, ENV_INIT, ENV_START, ENV_STEP, INIT, EPISODE = 5, 6, 11, 12, 13, 20, 27
STEPS = 42
VALUES = struct.pack(">III9i", 9, 0, 0, *range(9))
HEAD = struct.Struct(">II")


def _joined(port: int, role: int) -> socket.socket:
    until = time.monotonic() + PATIENCE
    while True:  # RL-Glue's own core does not say when it listens
        try:
            wire = socket.create_connection(("127.0.0.1", port))
            break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise BenchError(f"no core listens at port {port}") from None
            time.sleep(0.05)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _say(wire, role)
    return wire


def _say(wire: socket.socket, code: int, payload: bytes = b"") -> None:
    wire.sendall(HEAD.pack(code, len(payload)) + payload)


def _hear(wire: socket.socket) -> tuple[int, bytes]:
    head = wire.recv(HEAD.size, socket.MSG_WAITALL)
    if len(head) < HEAD.size:
        raise BenchError("the core has ended")
    code, size = HEAD.unpack(head)
    return code, wire.recv(size, socket.MSG_WAITALL) if size else b""


def _values(payload: bytes) -> tuple[int, ...]:
    ints, doubles, chars = struct.unpack_from(">III", payload)
    if doubles or chars:
        raise BenchError("the core sent other values than integers")
    return struct.unpack_from(f">{ints}i", payload, 12)


def _agent(port: int, pipe: Connection) -> None:
    wire = _joined(port, AGENT)
    while True:
        code, payload = _hear(wire)
        answer = b""
        if code in (AGENT_START, AGENT_STEP):
            seen = _values(payload[8:] if code == AGENT_STEP else payload)
            answer = struct.pack(f">III{len(seen)}i", len(seen), 0, 0, *seen)
        _say(wire, code, answer)


def _environment(port: int, pipe: Connection) -> None:
    wire = _joined(port, ENVIRONMENT)
    made = 0
    while True:
        code, payload = _hear(wire)
        answer = b""
        if code == ENV_INIT:
            answer = bytes(4)
        elif code == ENV_START:
            made, answer = 0, VALUES
        elif code == ENV_STEP:
            made += 1
            _values(payload)
            answer = struct.pack(">id", made == STEPS, 1.0) + VALUES
        _say(wire, code, answer)


@contextlib.contextmanager
def _core() -> Iterator[int]:
    """Start the core in ``bench/rlglue.c``; yield its port."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise BenchError("the core in C needs a C compiler; install gcc")
    source = Path(__file__).with_name("rlglue.c")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rlglue")
        subprocess.run([compiler, "-std=gnu11", "-O2", "-o", path, str(source)], check=True)
        with program([path, "core"]) as core:
            yield int(line(core))


@contextlib.contextmanager
def _original() -> Iterator[int]:
    """Start RL-Glue's own core, named by RLGLUE_CORE; yield the port on which it listens soon."""
    path = shutil.which(os.environ.get(CORE, ""))
    if path is None:
        raise BenchError(f"set {CORE} to the path of its program rl_glue")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    quiet = subprocess.DEVNULL
    environment = {**os.environ, "RLGLUE_PORT": str(port)}
    with program([path], stdout=quiet, stderr=quiet, env=environment):
        yield port


@stream
def steps(core: str = "ours") -> Episodes:
    """Play with RL-Glue's ``original`` core, or with ours."""
    with (_original if core == "original" else _core)() as port, children() as start:
        start(_agent, port)
        start(_environment, port)
        with _joined(port, EXPERIMENT) as wire:
            _say(wire, INIT)
            _hear(wire)  # both peers have connected
            while True:
                _say(wire, EPISODE, bytes(4))
                _hear(wire)
                yield STEPS
