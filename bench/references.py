"""Minimal references: pyzmq or Unix sockets, with the same hops and frames, without checks.

A turn is four hops (environment, relay, agent, relay, environment) in three processes.
"""

from __future__ import annotations

import socket
import tempfile
from multiprocessing.connection import Connection
from typing import Literal

import zmq

from bench.measure import Measurement, children, hear, steady

Transport = Literal["tcp", "ipc"]

ACTION = b"a" * 40
"""A frame about as large as a small game's."""


def _unlimited(kind: int) -> zmq.Socket[bytes]:
    made: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
    made.setsockopt(zmq.SNDHWM, 0)
    made.setsockopt(zmq.RCVHWM, 0)
    made.setsockopt(zmq.LINGER, 0)
    return made


def _zmq_relay(bind: str, pipe: Connection) -> None:
    router = _unlimited(zmq.ROUTER)
    router.bind(bind)
    pipe.send(router.getsockopt_string(zmq.LAST_ENDPOINT))
    agent, _ = router.recv_multipart()
    pipe.send("agent")
    environment, _ = router.recv_multipart()
    router.send_multipart([environment, b""])
    while True:
        sender, frame = router.recv_multipart()
        router.send_multipart([agent if sender == environment else environment, frame])


def _zmq_agent(address: str, pipe: Connection) -> None:
    dealer = _unlimited(zmq.DEALER)
    dealer.connect(address)
    dealer.send(b"")
    while True:
        dealer.recv()
        dealer.send(ACTION)


def _zmq_environment(
    address: str, outstanding: int, size: int, seconds: float, pipe: Connection
) -> None:
    observation = b"o" * size
    dealer = _unlimited(zmq.DEALER)
    dealer.connect(address)
    dealer.send(b"")
    dealer.recv()

    def turn() -> int:
        dealer.recv()
        dealer.send(observation)
        return 1

    for _ in range(outstanding):
        dealer.send(observation)
    pipe.send(steady(iter(turn, 0), seconds))


def relay(transport: Transport, outstanding: int, *, size: int) -> Measurement:
    """Return the measurement of DEALER - ROUTER - DEALER with a number of messages in flight.

    Args:
        transport: tcp over loopback, or ipc.
        outstanding: the number of decisions in flight.
        size: the bytes of an observation.
    """

    def measure(seconds: float) -> float:
        with tempfile.TemporaryDirectory() as directory, children() as start:
            bind = "tcp://127.0.0.1:*" if transport == "tcp" else f"ipc://{directory}/relay"
            router = start(_zmq_relay, bind)
            address = hear(router)
            start(_zmq_agent, address)
            hear(router)
            environment = start(_zmq_environment, address, outstanding, size, seconds)
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

    pipe.send(steady(iter(turn, 0), seconds))


def sockets(size: int) -> Measurement:
    """Return the measurement of three processes with blocking Unix sockets, for one match."""

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
