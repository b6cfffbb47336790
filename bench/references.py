"""Minimal references: pyzmq or Unix sockets, with the same hops and frames, without checks.

A turn is four hops (environment, relay, agent, relay, environment) in three processes, of which
this one is the environment.
"""

from __future__ import annotations

import socket
import tempfile
from multiprocessing.connection import Connection
from typing import Literal

import numpy as np
import zmq

from bench.measure import Episodes, children, hear, stream

Transport = Literal["tcp", "ipc"]

ACTION = b"a" * 40
"""A frame about as large as a small game's."""


def _unlimited(kind: int) -> zmq.Socket[bytes]:
    made: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
    made.set_hwm(0)
    made.linger = 0
    return made


def _dealer(address: str) -> zmq.Socket[bytes]:
    dealer = _unlimited(zmq.DEALER)
    dealer.connect(address)
    dealer.send(b"")
    return dealer


def _zmq_relay(bind: str, pipe: Connection) -> None:
    router = _unlimited(zmq.ROUTER)
    router.bind(bind)
    pipe.send(router.getsockopt_string(zmq.LAST_ENDPOINT))
    agent, _ = router.recv_multipart()
    pipe.send("agent")
    environment, _ = router.recv_multipart()
    while True:
        sender, frame = router.recv_multipart()
        router.send_multipart([agent if sender == environment else environment, frame])


def _zmq_agent(address: str, pipe: Connection) -> None:
    dealer = _dealer(address)
    while True:
        dealer.recv()
        dealer.send(ACTION)


@stream
def relay(transport: Transport, outstanding: str, size: str = "85") -> Episodes:
    """Relay from DEALER to DEALER over tcp or ipc, with a number of decisions in flight and
    observations of ``size`` bytes."""
    observation = b"o" * int(size)
    with tempfile.TemporaryDirectory() as directory, children() as start:
        bind = "tcp://127.0.0.1:*" if transport == "tcp" else f"ipc://{directory}/relay"
        router = start(_zmq_relay, bind)
        address = hear(router)
        start(_zmq_agent, address)
        hear(router)
        with _dealer(address) as dealer:
            for _ in range(int(outstanding)):
                dealer.send(observation)
            while True:
                dealer.recv()
                dealer.send(observation)
                yield 1


def _connected(path: str) -> socket.socket:
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    return wire


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
    wire, room = _connected(path), bytearray(size)
    while True:
        wire.recv_into(room, size, socket.MSG_WAITALL)
        wire.sendall(ACTION)


@stream
def sockets(size: str) -> Episodes:
    """Relay by blocking Unix sockets, for one match with observations of ``size`` bytes."""
    observation, answer = b"o" * int(size), bytearray(len(ACTION))
    with tempfile.TemporaryDirectory() as directory, children() as start:
        path = f"{directory}/relay"
        between = start(_socket_relay, path, int(size))
        hear(between)
        start(_socket_agent, path, int(size))
        hear(between)
        with _connected(path) as wire:
            while True:
                wire.sendall(observation)
                wire.recv_into(answer, len(answer), socket.MSG_WAITALL)
                yield 1


@stream
def copies(slots: str, size: str) -> Episodes:
    """Copy as many observations at once by numpy, which measures the speed of memory."""
    seen = np.ones((int(slots), int(size)), np.uint8)
    while True:
        yield len(seen.copy())
