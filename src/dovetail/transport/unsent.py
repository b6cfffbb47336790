"""The bytes that a socket has not taken yet."""

from __future__ import annotations

import socket
from collections.abc import Sequence

LARGE = 1 << 15
"""Bytes from which a frame is received into one buffer of its size, and sent without a copy."""
_PIECE = 1 << 18
"""Bytes of short parts that are joined."""
_AT_ONCE = 64
"""Parts in one system call."""
_SEVERAL = hasattr(socket.socket, "sendmsg")


class Unsent:
    """Bytes on their way over one socket, in order; long parts are kept as they are."""

    __slots__ = ("_parts", "_sent", "size")

    def __init__(self) -> None:
        self._parts: list[bytes | bytearray] = []
        self._sent = 0
        """Bytes of the first part that are sent."""
        self.size = 0
        """Bytes that wait."""

    def add(self, parts: Sequence[bytes], sent: int = 0) -> None:
        """Queue parts behind the others, without their first ``sent`` bytes."""
        mine = self._parts
        for part in parts:
            size = len(part)
            if sent >= size:
                sent -= size
                continue
            if size >= LARGE:
                if sent:
                    if mine:
                        raise ValueError("only what nothing waits before can be sent in part")
                    self._sent = sent
                mine.append(part)
            elif mine and isinstance(mine[-1], bytearray) and len(mine[-1]) < _PIECE:
                mine[-1] += part[sent:]
            else:
                mine.append(bytearray(part[sent:]))
            self.size += size - sent
            sent = 0

    def send(self, made: socket.socket, flags: int = 0) -> None:
        """Send as much as the system takes at once.

        Raises:
            OSError: it takes nothing.
        """
        parts = self._parts
        if not parts:
            return
        views = [memoryview(each) for each in parts[:_AT_ONCE]]
        try:
            whole = views[0]
            views[0] = whole[self._sent :]
            with whole:
                sent = send(made, views, flags)
        finally:
            for each in views:
                each.release()
        self.size -= sent
        sent += self._sent
        gone = 0
        while gone < len(parts) and sent >= len(parts[gone]):
            sent -= len(parts[gone])
            gone += 1
        del parts[:gone]
        self._sent = sent

    def clear(self) -> None:
        """Forget everything."""
        self._parts.clear()
        self._sent = self.size = 0


def send(made: socket.socket, parts: Sequence[bytes | memoryview], flags: int = 0) -> int:
    """Send as much of the parts as the system takes; return how many bytes it took.

    Raises:
        OSError: it takes nothing.
    """
    if len(parts) == 1 or not _SEVERAL:
        return made.send(parts[0], flags)
    return made.sendmsg(parts[:_AT_ONCE], (), flags)
