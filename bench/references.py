"""The bare references: pyzmq, or Unix sockets, with the same hops and frames, without checks.

A turn is four hops: environment - relay - agent - relay - environment, three processes.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Literal

import zmq

from bench.measure import WARM_UP, Measurement, children, hear

Transport = Literal["tcp", "ipc"]

ACTION = b"a" * 40
"""A frame of about the size that a small game's has."""


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
    address: str, bundle: bool, outstanding: int, size: int, seconds: float, pipe: Connection
) -> None:
    observation = b"o" * size
    dealer = _unlimited(zmq.DEALER)
    dealer.connect(address)
    dealer.send(b"")
    dealer.recv()

    def bundled() -> int:
        count = sum(len(each) for each in _waiting(dealer))
        dealer.send_multipart([observation] * count)
        return count

    def single() -> int:
        dealer.recv()
        dealer.send(observation)
        return 1

    if bundle:
        dealer.send_multipart([observation] * outstanding)
    else:
        for _ in range(outstanding):
            dealer.send(observation)
    pipe.send(_measured(bundled if bundle else single, seconds))


def relay(transport: Transport, outstanding: int, *, bundle: bool, size: int) -> Measurement:
    """Return the measurement of DEALER - ROUTER - DEALER with so many messages on the way.

    Args:
        transport: tcp over loopback, or ipc.
        outstanding: decisions that are on the way at once.
        bundle: whether each process reads all that waits and sends it on as one message.
        size: the bytes of an observation.
    """

    def measure(seconds: float) -> float:
        with tempfile.TemporaryDirectory() as directory, children() as start:
            bind = "tcp://127.0.0.1:*" if transport == "tcp" else f"ipc://{directory}/relay"
            router = start(_zmq_relay, bind, bundle)
            address = hear(router)
            start(_zmq_agent, address, bundle)
            hear(router)
            environment = start(_zmq_environment, address, bundle, outstanding, size, seconds)
            rate: float = hear(environment, seconds)
            return rate

    return measure


def _socket_relay(path: str, size: int, pipe: Connection) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        pipe.send("listening")
        agent, _ = listener.accept()
        pipe.send("agent")
        environment, _ = listener.accept()
    room, answer = bytearray(size), bytearray(len(ACTION))
    while True:
        for sender, frame, receiver in ((environment, room, agent), (agent, answer, environment)):
            sender.recv_into(frame, len(frame), socket.MSG_WAITALL)
            receiver.sendall(frame)


def _socket_agent(path: str, size: int, pipe: Connection) -> None:
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    room = bytearray(size)
    while True:
        wire.recv_into(room, size, socket.MSG_WAITALL)
        wire.sendall(ACTION)


def _socket_environment(path: str, size: int, seconds: float, pipe: Connection) -> None:
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    observation, answer = b"o" * size, bytearray(len(ACTION))

    def turn() -> int:
        wire.sendall(observation)
        wire.recv_into(answer, len(answer), socket.MSG_WAITALL)
        return 1

    pipe.send(_measured(turn, seconds))


def sockets(size: int) -> Measurement:
    """Return the measurement of three processes with blocking Unix sockets, one match."""

    def measure(seconds: float) -> float:
        with tempfile.TemporaryDirectory() as directory, children() as start:
            path = f"{directory}/relay"
            between = start(_socket_relay, path, size)
            hear(between)
            start(_socket_agent, path, size)
            hear(between)
            rate: float = hear(start(_socket_environment, path, size, seconds), seconds)
            return rate

    return measure
