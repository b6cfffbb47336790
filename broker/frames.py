"""The frames of messages, those of a watched turn made once for all who watch."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from dovetail.protocol import codec
from dovetail.protocol import messages as m

log = logging.getLogger("dovetail.broker")

WATCHED = 20_000.0
"""Turns sent to watchers in a second, all watchers counted; beyond it they see fewer."""


class Frames:
    """Encodes what is sent."""

    def __init__(self) -> None:
        self._shown: dict[int, bytes] = {}
        """The frames of the turns that are being sent, by the ``id`` of the message; empty if the
        watchers are spared it."""
        self._left = WATCHED
        self._filled = time.monotonic()

    def of(self, messages: Sequence[m.Message], *, behind: bool) -> list[bytes]:
        """Return the frames for one peer.

        Args:
            messages: for it.
            behind: whether it reads too slowly; then it sees the ends of episodes only.
        """
        frames = []
        for message in messages:
            try:
                if type(message) is not m.WatchedTurn:
                    frames.append(codec.encode(message))
                    continue
                last = message.reason is not None
                if behind and not last:
                    continue
                frame = self._shown.get(id(message))
                if frame is None:
                    afforded = last or self._affords()
                    frame = self._shown[id(message)] = codec.encode(message) if afforded else b""
                if frame:
                    self._left -= 1
                    frames.append(frame)
            except codec.UNSENDABLE as error:
                log.error("a %s could not be sent: %s", type(message).__name__, error)
        return frames

    def _affords(self) -> bool:
        """Whether watchers are shown another turn now."""
        now = time.monotonic()
        self._left = min(WATCHED, self._left + WATCHED * (now - self._filled))
        self._filled = now
        return self._left > 0

    def sent(self) -> None:
        """Forget the turns: their messages may be gone, and their ``id`` another's."""
        self._shown.clear()
