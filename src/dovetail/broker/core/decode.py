"""Decodes frames for the core, accepting only what the sender's role may send."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from dovetail.broker.core.core import Core
from dovetail.broker.core.local import Local, light, plain
from dovetail.broker.peers.outbox import Address
from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.messages import Action, Turn

log = logging.getLogger("dovetail.broker")

AT_ONCE = 16
"""Frames taken from an unauthenticated connection between checks that it is still open."""
LARGE = 1 << 12
"""Frames above this many bytes are handled one at a time."""


def halves(frames: list[bytes], several: bool) -> list[list[bytes]]:
    """Split a burst of frames so that the first half is answered early.

    Otherwise all matches move from program to program in step, and only one program works at a
    time.  Without ``several`` cores that is so anyway, and the burst stays whole.
    """
    if not several or len(frames) < 2:
        return [frames]
    if len(frames) == 2 and len(frames[0]) <= LARGE:
        return [frames]
    middle = (len(frames) + 1) // 2
    return [frames[:middle], frames[middle:]]


class Intake:
    """Decodes the frames that a core receives, within its limits."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._limits = core.broker.settings.limits
        self._decoders = _decoders(self._limits)

    def take(self, address: Address, frames: Iterable[bytes], now: float) -> None:
        """Hand the core a burst of frames from a connection.

        A frame that crashes the core (a bug) costs its sender the session.
        """
        core = self._core
        decode = self._decoders[core.role(address)].decode
        for frame in frames:
            try:
                try:
                    message = decode(frame)
                except ProtocolError as error:
                    core.refuse(address, error, now, len(frame))
                    continue
                core.receive(address, message, now, len(frame))
            except Exception:
                self._failed(address, now)
                return
            if type(message) is m.Hello:
                decode = self._decoders[core.role(address)].decode

    def hear(self, local: Local, said: Iterable[m.Message | bytes], now: float) -> None:
        """Hand the core messages of a peer in this program, judged as if from a socket."""
        core = self._core
        try:
            for each in said:
                if type(each) is Turn and local.rules:
                    turn = light(each, self._limits)
                    if turn is not None:
                        core.receive(local, turn, now)
                        continue
                elif type(each) is Action and plain(each) and not local.rules:
                    core.receive(local, each, now)
                    continue
                self.take(local, [local.frame(each, core)], now)
        except Exception:
            self._failed(local, now)

    def _failed(self, address: Address, now: float) -> None:
        log.exception(
            "the broker failed at a frame of %s, now sent away", self._core.failed(address, now)
        )


@cache
def _decoders(limits: m.Limits) -> Mapping[str | None, codec.Decoder[Any]]:
    """Return the decoders of peers' frames, by role; None before ``hello``."""
    accepted = [(None, codec.BEFORE_HELLO), *codec.AT_BROKER.items()]
    return {role: codec.Decoder(accepts, limits) for role, accepts in accepted}
