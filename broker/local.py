"""Peers in the broker's own program."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from dovetail.broker.awaited import answered
from dovetail.broker.core import Core
from dovetail.peer.serving import Host
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError


class Local:
    """A peer in this program.

    Args:
        host: what answers; None for a peer that reads its ``inbox``.
        encoded: whether its messages are encoded and read like those of a remote peer, and so get
            every check that those get.
        reader: of the frames that it says in place of messages, if it does.
    """

    reliable = True

    def __init__(
        self,
        host: Host | None = None,
        *,
        encoded: bool = False,
        reader: codec.Decoder[m.Message] | None = None,
    ) -> None:
        self.host = host
        self._reader = reader
        self.encoded = encoded
        self.inbox: deque[m.Message] = deque()
        """What a peer without a host has received."""

    def say(self, said: Iterable[m.Message | bytes], core: Core, now: float) -> None:
        """Let the core take in messages and frames of this peer, in their order."""
        for each in said:
            if isinstance(each, bytes):
                assert self._reader is not None
                try:
                    each = self._reader.decode(each)
                except ProtocolError as error:
                    core.refuse(self, error, now)
                    continue
            core.receive(self, each, now)

    def frame(self, message: m.Message | bytes, core: Core) -> bytes:
        """Return the frame of a message from this peer, or of what goes in its place."""
        if isinstance(message, bytes):
            return message
        if self.host is None or not self.encoded:
            return codec.encode(message)
        try:
            frame = codec.own(message)
            most = core.tables.settings.limits.frame
            if len(frame) <= most:
                return frame
            text = f"{len(frame):,} bytes in a message; the broker accepts at most {most:,}"
        except codec.UNSENDABLE as error:
            text = str(error)
        instead = self.host.unsendable(message, f"the answer cannot travel: {text}")
        if isinstance(instead, m.Error) and instead.id is None and instead.answers is None:
            instead.answers = answered(core.runs, core.tables.connections.get(self), message)
        return codec.encode(instead)
