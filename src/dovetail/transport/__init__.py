"""Frames over sockets: our own ZMTP, or libzmq, behind one interface with two ends.

Both encrypt where keys are given (CURVE).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dovetail.protocol.errors import DovetailError

if TYPE_CHECKING:
    from dovetail.transport.endpoint import Web
    from dovetail.transport.keys import Guard, Key

VARIABLE = "DOVETAIL_TRANSPORT"
"""The environment variable that chooses: ``zmtp`` (the default) or ``libzmq``."""
FIRST = 1 << 20
"""Maximum bytes of a connection's first frame: a peer that has not said hello costs little."""

Event = tuple[Any, list[bytes] | None]
"""The name of a connection and the frames it brought; None if it has ended."""


class AnyRouter(Protocol):
    """The broker's end.

    libzmq reads from all connections alike, closes none by itself and does not say how much waits,
    so that it has the methods with a body as they are here (docs/security.md).
    """

    address: str
    web_address: str
    """The address for programs in a browser; empty without one."""

    def receive(self, timeout: float) -> Sequence[Event]:
        """Return what came, waiting up to ``timeout`` seconds."""

    def send(self, connection: Any, frames: Sequence[bytes]) -> None:
        """Send frames as one message; do nothing if the connection has ended."""

    def spread(self, connections: Sequence[Any], frames: Sequence[bytes]) -> None:
        """Send frames as one message over each of several connections, as ``send`` does."""

    def waiting(self, connection: Any) -> int:
        """Return the number of bytes queued for a peer; 0 if that is unknown."""
        return 0

    def pause(self, connection: Any, seconds: float) -> None:
        """Stop reading from a connection for some seconds."""
        return

    def drop(self, connection: Any, why: str) -> None:
        """Close a connection once its queue is sent; tell log and peer ``why``, if given."""
        return

    def origin(self, connection: Any) -> str:
        """Return the address of a connection's machine; empty if that is unknown."""
        return ""

    def authenticate(self, connection: Any) -> None:
        """Mark a connection as authenticated; all others share one CPU budget."""
        return

    def charge(self, seconds: float) -> None:
        """Charge CPU time to the budget of unauthenticated connections."""
        return

    def relax(self, relaxed: bool) -> None:
        """Give unauthenticated connections all time while the broker is idle, or their share."""
        return

    def close(self, linger: float = 1.0) -> None:
        """Close everything, once all queues are sent or after ``linger`` seconds."""


class AnyDealer(Protocol):
    """A peer's end: one connection, which it opens again when it breaks."""

    trouble: str
    """The reason why there is no connection, if known."""
    patience: float
    """Seconds for which ``send`` waits for a broker that reads nothing."""
    stopped: Callable[[], bool]
    """True once ``send`` is to wait no more."""

    @property
    def ready(self) -> bool:
        """True if frames would leave now."""

    def receive(self, timeout: float) -> list[bytes]:
        """Return the frames that came, waiting up to ``timeout`` seconds for the first."""

    def send(self, frames: Sequence[bytes]) -> None:
        """Send frames as one message."""

    def reset(self) -> None:
        """Give up the connection and open another."""

    def close(self, linger: float) -> None:
        """Disconnect, once the queue is sent or after ``linger`` seconds."""


def listen(
    bind: str,
    most: int,
    guard: Guard | None = None,
    inside: str = "",
    owner: bytes = b"",
    also: str = "",
    web: Web | None = None,
) -> AnyRouter:
    """Return a broker's end that listens at ``bind`` for frames of at most ``most`` bytes.

    With a ``guard`` connections are encrypted, and the name of each begins with the public key of
    the program at its other end (``keys.LENGTH`` bytes). Those at the address ``inside`` are not,
    and their names begin with ``owner``; those of ``web``, for programs in a browser, begin with
    no key. The address ``also`` is like ``bind``.

    Raises:
        DovetailError: it cannot listen there, or libzmq is to listen to ``web``.
    """
    if _chosen() == "libzmq":
        if web is not None:
            raise DovetailError(
                f"--web needs the usual transport; unset {VARIABLE}, which is libzmq"
            )
        from dovetail.transport import libzmq

        if inside or also:
            raise DovetailError(f"libzmq listens at one address; unset {VARIABLE}")
        return libzmq.Router(bind, most) if guard is None else libzmq.Guarded(bind, most, guard)
    from dovetail.transport.router import Router

    return Router(
        bind,
        most,
        first=min(most, FIRST),
        guard=guard,
        inside=inside,
        owner=owner,
        also=also,
        web=web,
    )


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
