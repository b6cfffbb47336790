"""How frames travel: ZMTP over sockets, our own or libzmq's behind the same two classes.

Either encrypts where keys are given (CURVE).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dovetail.protocol.errors import DovetailError

if TYPE_CHECKING:
    from dovetail.transport.keys import Guard, Key

VARIABLE = "DOVETAIL_TRANSPORT"
"""The environment variable that chooses: ``zmtp`` (the default) or ``libzmq``."""


FIRST = 1 << 20
"""Bytes that the first frame of a connection may have: a peer that has not said hello costs little."""


class AnyRouter(Protocol):
    """A broker's end."""

    address: str

    def receive(self, timeout: float) -> Sequence[tuple[Any, list[bytes] | None]]:
        """Return what came, waiting up to ``timeout`` seconds: a connection, and its frames.

        None in place of frames says that the connection has ended.
        """
        ...

    def send(self, connection: Any, frames: Sequence[bytes]) -> None:
        """Send frames as one message; nothing happens if the connection has ended."""
        ...

    def spread(self, connections: Sequence[Any], frames: Sequence[bytes]) -> None:
        """Send frames as one message over each of some connections, as ``send`` does over one."""
        ...

    def waiting(self, connection: Any) -> int:
        """Return how many bytes wait for a peer to read, as far as is known."""
        ...

    def pause(self, connection: Any, seconds: float) -> None:
        """Read nothing from a connection for some seconds, where the transport can do that."""
        ...

    def drop(self, connection: Any, why: str) -> None:
        """Close a connection once it has taken what is to be sent, where the transport can do that.

        The log and the peer are told ``why``, unless it is empty.
        """
        ...

    def admit(self, connection: Any) -> None:
        """Have a connection be a stranger's no more: strangers share a part of the time."""
        ...

    def spend(self, seconds: float) -> None:
        """Count time of the processor that was spent on strangers."""
        ...

    def relax(self, relaxed: bool) -> None:
        """Let strangers have all the time while no one else has work, or their share again."""
        ...

    def close(self, linger: float = 1.0) -> None:
        """Close everything, once peers have taken what is still to be sent."""
        ...


class AnyDealer(Protocol):
    """A peer's end."""

    trouble: str
    patience: float
    """Seconds for which ``send`` waits for a broker that neither reads nor speaks, if it waits at all."""

    @property
    def ready(self) -> bool:
        """Whether frames that are sent leave now."""
        ...

    def receive(self, timeout: float) -> list[bytes]:
        """Return the frames that came, waiting up to ``timeout`` seconds for the first."""
        ...

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames as one message."""
        ...

    def reset(self) -> None:
        """Give up the connection and open another."""
        ...

    def close(self, linger: float) -> None:
        """Disconnect, once the broker has taken all that was sent, or after ``linger`` seconds."""
        ...


def listen(bind: str, most: int, guard: Guard | None = None) -> AnyRouter:
    """Return a broker's end that listens at ``bind`` for frames of at most ``most`` bytes.

    With a ``guard`` connections are encrypted, and the name of each begins with the public key of the
    program at its other end (``keys.LENGTH`` bytes).

    Raises:
        DovetailError: it cannot listen there.
    """
    if _chosen() == "libzmq":
        from dovetail.transport import libzmq

        return libzmq.Router(bind, most) if guard is None else libzmq.Guarded(bind, most, guard)
    from dovetail.transport.router import Router

    return Router(bind, most, first=min(most, FIRST), guard=guard)


def connect(address: str, greet: Callable[[], bytes], key: Key | None = None) -> AnyDealer:
    """Return a peer's end; ``greet`` returns the frame that goes first over a new connection.

    Its ``receive`` raises DovetailError if the broker does not accept the ``key``, or asks for one.

    Raises:
        DovetailError: it is not an address.
    """
    if _chosen() == "libzmq":
        from dovetail.transport import libzmq

        return libzmq.Dealer(address, greet, key)
    from dovetail.transport.dealer import Dealer

    return Dealer(address, greet, key)


def _chosen() -> str:
    chosen = os.environ.get(VARIABLE) or "zmtp"
    if chosen not in ("zmtp", "libzmq"):
        raise DovetailError(f"{VARIABLE} is {chosen!r}; expected zmtp or libzmq")
    return chosen


__all__ = ["VARIABLE", "AnyDealer", "AnyRouter", "connect", "listen"]
