"""Frames over a ZeroMQ socket, without the enum arithmetic of pyzmq's own multipart calls.

With hundreds of small frames a message, ``zmq.NOBLOCK | zmq.SNDMORE`` for each of them cost more
than the sending; plain integers do not.
"""

from __future__ import annotations

from collections.abc import Sequence

import zmq
from zmq.backend import Socket as _Socket

_SEND = _Socket.send
_RECEIVE = _Socket.recv
_GET = _Socket.get
_NOBLOCK = int(zmq.NOBLOCK)
_MORE = int(zmq.SNDMORE)
_EVENTS = int(zmq.EVENTS)
_POLLIN = int(zmq.POLLIN)
_RCVMORE = int(zmq.RCVMORE)


def send(socket: zmq.Socket[bytes], frames: Sequence[bytes], *, block: bool = True) -> None:
    """Send frames as one message.

    Raises:
        zmq.Again: it cannot be sent now and ``block`` is False.
        zmq.ZMQError: it cannot be sent.
    """
    wait = 0 if block else _NOBLOCK
    more = wait | _MORE
    last = len(frames) - 1
    for frame in frames[:last]:
        _SEND(socket, frame, more)
    _SEND(socket, frames[last], wait)


def waiting(socket: zmq.Socket[bytes]) -> bool:
    """Return whether a message has come; half the price of trying to receive one."""
    return bool(int(_GET(socket, _EVENTS)) & _POLLIN)


def receive(socket: zmq.Socket[bytes]) -> list[bytes]:
    """Return the frames of the next message, waiting for it as long as ``RCVTIMEO`` says.

    Raises:
        zmq.Again: none came.
    """
    frames = [_RECEIVE(socket, 0)]
    while _GET(socket, _RCVMORE):
        frames.append(_RECEIVE(socket, 0))
    return frames
