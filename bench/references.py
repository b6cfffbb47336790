"""Bare references: sockets and pyzmq with the same hops and frames, without checks.

A turn is four hops: environment - relay - agent - relay - environment, three processes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any, Literal

import zmq

from bench.measure import WARM_UP, Measurement, children, hear

Transport = Literal["tcp", "ipc"]

OBSERVATION = b"o" * 85
ACTION = b"a" * 40
"""Frames of about the size that a small game's have."""


def _measured(turn: Callable[[], int], seconds: float) -> float:
    """Return the turns per second of ``turn``, which plays some and returns how many."""
    clock = time.perf_counter
    end = clock() + WARM_UP
    while clock() < end:
        turn()
    begun = now = clock()
    turns = 0
    while now - begun < seconds:
        turns += turn()
        now = clock()
    return turns / (now - begun)


# -- sockets ---------------------------------------------------------------------------------


def _listen(transport: Transport, directory: str) -> socket.socket:
    if transport == "tcp":
        return socket.create_server(("127.0.0.1", 0))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(directory, "relay"))
    listener.listen()
    return listener


def _prepared(connection: socket.socket) -> socket.socket:
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _connect(transport: Transport, address: Any) -> socket.socket:
    connection = socket.socket(socket.AF_INET if transport == "tcp" else socket.AF_UNIX)
    connection.connect(address)
    return _prepared(connection)


def _socket_relay(transport: Transport, directory: str, pipe: Connection) -> None:
    with _listen(transport, directory) as listener:
        pipe.send(listener.getsockname())
        agent = _prepared(listener.accept()[0])
        pipe.send("agent")
        environment = _prepared(listener.accept()[0])
    while True:
        agent.sendall(environment.recv(len(OBSERVATION), socket.MSG_WAITALL))
        environment.sendall(agent.recv(len(ACTION), socket.MSG_WAITALL))


def _socket_agent(transport: Transport, address: Any, pipe: Connection) -> None:
    relay = _connect(transport, address)
    while relay.recv(len(OBSERVATION), socket.MSG_WAITALL):
        relay.sendall(ACTION)


def _socket_environment(
    transport: Transport, address: Any, seconds: float, pipe: Connection
) -> None:
    relay = _connect(transport, address)

    def turn() -> int:
        relay.sendall(OBSERVATION)
        return len(relay.recv(len(ACTION), socket.MSG_WAITALL)) // len(ACTION)

    pipe.send(_measured(turn, seconds))


def sockets(transport: Transport) -> Measurement:
    """Return the measurement of blocking stream sockets in lock-step, TCP with TCP_NODELAY."""

    def measure(seconds: float) -> float:
        with tempfile.TemporaryDirectory() as directory, children() as start:
            relay = start(_socket_relay, transport, directory)
            address = hear(relay)
            start(_socket_agent, transport, address)
            hear(relay)
            rate: float = hear(start(_socket_environment, transport, address, seconds), seconds)
            return rate

    return measure


# -- pyzmq -----------------------------------------------------------------------------------


def _waiting(peer: zmq.Socket[bytes]) -> Iterator[list[bytes]]:
    """Yield the next message, waiting for it, and all others that are there."""
    yield peer.recv_multipart()
    with contextlib.suppress(zmq.Again):
        while True:
            yield peer.recv_multipart(zmq.NOBLOCK)


def _unlimited(kind: int) -> zmq.Socket[bytes]:
    made: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
    made.setsockopt(zmq.SNDHWM, 0)
    made.setsockopt(zmq.RCVHWM, 0)
    made.setsockopt(zmq.LINGER, 0)
    return made


def _zmq_relay(bind: str, bundle: bool, pipe: Connection) -> None:
    router = _unlimited(zmq.ROUTER)
    router.bind(bind)
    pipe.send(router.getsockopt_string(zmq.LAST_ENDPOINT))
    agent, _ = router.recv_multipart()
    pipe.send("agent")
    environment, _ = router.recv_multipart()
    router.send_multipart([environment, b""])
    if not bundle:
        while True:
            sender, frame = router.recv_multipart()
            router.send_multipart([agent if sender == environment else environment, frame])
    while True:
        to_agent, to_environment = [agent], [environment]
        for sender, *frames in _waiting(router):
            if sender == environment:
                to_agent += frames
            else:
                to_environment += frames
        for frames in (to_agent, to_environment):
            if len(frames) > 1:
                router.send_multipart(frames)


def _zmq_agent(address: str, bundle: bool, pipe: Connection) -> None:
    dealer = _unlimited(zmq.DEALER)
    dealer.connect(address)
    dealer.send(b"")
    while True:
        if bundle:
            dealer.send_multipart([ACTION] * sum(len(each) for each in _waiting(dealer)))
        else:
            dealer.recv()
            dealer.send(ACTION)


def _zmq_environment(
    address: str, bundle: bool, outstanding: int, seconds: float, pipe: Connection
) -> None:
    dealer = _unlimited(zmq.DEALER)
    dealer.connect(address)
    dealer.send(b"")
    dealer.recv()

    def bundled() -> int:
        count = sum(len(each) for each in _waiting(dealer))
        dealer.send_multipart([OBSERVATION] * count)
        return count

    def single() -> int:
        dealer.recv()
        dealer.send(OBSERVATION)
        return 1

    if bundle:
        dealer.send_multipart([OBSERVATION] * outstanding)
    else:
        for _ in range(outstanding):
            dealer.send(OBSERVATION)
    pipe.send(_measured(bundled if bundle else single, seconds))


def relay(transport: Transport, outstanding: int, *, bundle: bool) -> Measurement:
    """Return the measurement of DEALER - ROUTER - DEALER with so many messages on the way.

    Args:
        transport: tcp over loopback, or ipc.
        outstanding: decisions that are on the way at once.
        bundle: whether each process reads all that waits and sends it on as one message.
    """

    def measure(seconds: float) -> float:
        with tempfile.TemporaryDirectory() as directory, children() as start:
            bind = "tcp://127.0.0.1:*" if transport == "tcp" else f"ipc://{directory}/relay"
            router = start(_zmq_relay, bind, bundle)
            address = hear(router)
            start(_zmq_agent, address, bundle)
            hear(router)
            environment = start(_zmq_environment, address, bundle, outstanding, seconds)
            rate: float = hear(environment, seconds)
            return rate

    return measure
