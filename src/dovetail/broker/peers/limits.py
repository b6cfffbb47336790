"""Limits of what one peer may cost the others.  Pure.

Answers that the broker waits for are free: clocks bound when they come, frame limits their size,
and ``RUN_SEATS`` and ``OPEN_SEATS`` the work that follows.  All else is charged, a unit for about
10 microseconds of the broker's time, and paid off with time: requests by ``COSTS``, bytes and
values, unexpected answers by their values, unreadable frames by their bytes, and what the broker
makes or sends again by its number.  A peer that owes more than ``SLOW`` is read later.  One that
owes more than ``REFUSE`` has its requests refused; one that continues to ask, or confirms nothing
that it is sent, is disconnected.

Unauthenticated connections are not charged: ``transport.router`` gives them a share of the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import astuple

from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.protocol.errors import ProtocolError

if TYPE_CHECKING:
    from dovetail.broker.peers.peers import Peer

RATE = 5_000.0
"""Units paid off in a second: a twentieth of the broker's time."""
SLOW = 5_000.0
"""Above this debt a peer is not read until half is paid off; scales with its rate."""
REFUSE = 10_000.0
"""Above this debt the requests of a peer are refused; scales with its rate."""
STRIKES = 5_000
"""Disconnect after this many refusals in a row."""
UNIT_BYTES = 1 << 12
"""Bytes that cost one unit: they are read, written down and passed on."""
SAVED_BYTES = 1 << 10
"""Bytes of a saved state that cost one unit: they are read, written down and passed on at once."""
STORED_BYTES = 1 << 9
"""The same where it is stored, which writes it down twice."""
UNIT_ELEMENTS = 20
"""Values, as ``Limits.elements`` counts them, that cost one unit."""

SMALL = 64
"""The values of a frame are counted from this many bytes."""

COSTS: dict[type, float] = {
    m.Ping: 1,
    m.Pong: 1,
    m.Catalogue: 10,
    m.Watch: 2,
    m.Run: 20,
    m.Pause: 2,
    m.Drain: 2,
    m.Cancel: 2,
    m.ExperimentCreate: 4,
    m.ExperimentMessage: 2,
    m.Save: 2,
    m.Load: 2,
    m.Cleanup: 2,
    m.Error: 1,
}
"""Cost per message type; others are free unless ignored."""
IGNORED = 1.0
"""Units for an answer that nothing waits for, besides those of its values."""
UNREADABLE = 5.0
"""Units for a frame that cannot be read, besides those of ``unread``."""
ENTRY = 1.0
"""Units for each entry of a page of the catalogue, besides those of its values."""
PASSED = 0.01
"""Units for each entry before the page."""
MATCH = 1.0
"""Units for each match that a run opens."""
LOOKAHEAD = 5.0
"""Units for a lookahead that is refused; the clock of its decision bounds any other."""
REPLAYED = 0.25
"""Units for each frame that is sent again to a peer that resumes; at most ``SLOW`` in all for one
that was away, which may not have been its fault."""

UNAUTHENTICATED = 100
"""Messages over a connection without a session after which it is closed."""
NAME = 256
"""Characters in a name."""
QUOTED = 60
"""Characters that a message quotes of one that is longer."""
OFFERS = 4_096
"""Offers of a peer."""
OFFER_ELEMENTS = 20_000
"""Values in an offer, as ``Limits.elements`` counts them."""
UNANSWERED = 4_096
"""Requests of a peer to other peers' programs that are under way."""
MATCHES = 4_096
"""Matches open for all the runs of an experiment."""
RUN_SEATS = 1_024
"""Agents that a run may name: the work of each episode grows with its seats."""
OPEN_SEATS = 65_536
"""Seats in all matches open for all the runs of an experiment."""
STATES = 10_000
"""States that are kept."""
STATE_BYTES = 1 << 30
"""Bytes of the states that an experiment, or its key, stores."""
STATE_BYTES_IN_ALL = 2 << 30
"""Bytes of all stored states."""
SAVES = 2
"""Saves that are under way for a peer: what one costs is known only with its answer."""
RECORDED = 1 << 18
"""Bytes of a run that are recorded with each of its episodes."""
RECORDS = 64 << 30
"""Bytes of the journal for the episodes and states of an experiment, or of its key; its runs fail,
and its states are refused."""
RECORDS_IN_ALL = 256 << 30
"""The same of all of them, with what the journal had when the broker was started."""
RECORD = 1 << 10
"""Bytes of one such record besides those of its actions and of what each repeats of its run."""
ACTIONS = 256 << 20
"""Bytes of the actions of an episode, which are kept to its end; it is truncated."""
HELD = 512 << 20
"""Bytes that the requests, agents and runs of a peer hold, with their episodes in progress."""
HELD_IN_ALL = 2 << 30
"""Bytes that those of all peers hold, but for ``LITTLE`` of each."""
LITTLE = 1 << 20
"""Bytes that those of a peer hold, up to which all are not counted."""
SOUGHT = 50
"""Stored states that cost one unit where they are counted."""
COUNTED = 1 << 12
"""Bytes of a turn, or of an episode's actions, from which they are counted among these."""
KEPT_VALUE = 64
"""Bytes that a value takes in memory, at most, where it takes one in a frame."""
KEPT = 256 << 20
"""Disconnect a peer that has not confirmed this many bytes that it had time to confirm."""

Count = Annotated[int, Meta(ge=0)]


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a peer; an access file may give the holder of a key others."""

    rate: Annotated[float, Meta(gt=0)] = RATE
    """Units paid off in a second."""
    offers: Count = OFFERS
    """Offers of each of its programs."""
    requests: Count = UNANSWERED
    """Requests under way of each of its programs."""
    matches: Count = MATCHES
    """Matches open for all runs of each of its experiments."""
    states: Count = STATES
    """Stored states of the key."""
    state_bytes: Count = STATE_BYTES
    """Bytes of all of these."""
    record_bytes: Count = RECORDS
    """Bytes of the journal for the episodes and states of the key."""
    peers: Count = 4_096
    """Programs with the key that are connected."""


USUAL = Allowance()

Verdict = Literal["take", "refuse", "drop"]


def charge(peer: Peer, units: float, now: float) -> None:
    """Add to what a peer owes, which wears off with time."""
    owed = peer.owed - peer.allowance.rate * (now - peer.charged)
    if owed <= 0.0:
        owed = 0.0
        peer.strikes = 0
    peer.owed = owed + units
    peer.charged = now


def judge(peer: Peer) -> Verdict:
    """Return what to do with what a peer says, after it was charged for it."""
    if peer.owed <= REFUSE * peer.allowance.rate / RATE:
        return "take"
    peer.strikes += 1
    return "refuse" if peer.strikes <= STRIKES else "drop"


def rest(peer: Peer) -> float:
    """Return for how many seconds to read nothing from a peer; 0 if it may speak."""
    slow = SLOW * peer.allowance.rate / RATE
    return 0.0 if peer.owed <= slow else (peer.owed - slow / 2) / peer.allowance.rate


def check(hello: m.Hello, allowance: Allowance) -> None:
    """Check the sizes in a ``hello``.

    Raises:
        ProtocolError: code ``limit``: one is too large.
    """
    if len(hello.offers) > allowance.offers:
        most = f"{allowance.offers:,}"
        text = f"{len(hello.offers):,} offers; a peer may have {most}; use several peers"
        raise ProtocolError("limit", text)
    names = [("name", hello.name), ("software", hello.software)]
    if text := overlong([*names, *(("name of an offer", o.name) for o in hello.offers)]):
        raise ProtocolError("limit", text)
    for offer in hello.offers:
        size = elements([offer.parameters, offer.seats, offer.wants])
        if size > OFFER_ELEMENTS:
            text = f"the offer {offer.name!r} has {size:,} values; it may have {OFFER_ELEMENTS:,}"
            raise ProtocolError("limit", text)


def overlong(names: Iterable[tuple[str, str]]) -> str:
    """Return which of some names, by what they are, has too many characters; empty if none has."""
    for what, name in names:
        if len(name) > NAME:
            return f"the {what} has {len(name):,} characters; it may have {NAME}"
    return ""


def quoted(name: str | int) -> str:
    """Return a name as a message quotes it; of one that is too long to be a name, the beginning."""
    if isinstance(name, int) or len(name) <= NAME:
        return repr(name)
    return f"{name[:QUOTED]!r}... ({len(name):,} characters)"


def started(name: str, command: str) -> str:
    """Return how to start a program, for the end of an error; empty if its name needs quotes."""
    return f"; start one with `dovetail {command} {name}`" if quoted(name) == f"'{name}'" else ""


def asked(message: m.Message, size: int, most: int) -> float:
    """Return the cost of a message of ``COSTS``; arguments as for ``values``."""
    units = COSTS.get(type(message), 0.0) + size // UNIT_BYTES
    return units if size <= SMALL else units + values(message, size, most)


def values(message: m.Message, size: int, most: int) -> float:
    """Return the units for what is in a message, unknown fields included.

    Args:
        message: what was read.
        size: bytes of the frame.
        most: values that a frame may have.
    """
    unknown = 0
    if size > SMALL:
        try:
            unknown = min(most, max(0, size - len(codec.encode(message))))
        except codec.UNSENDABLE:
            unknown = min(most, size)
    return (elements(message) + unknown) // UNIT_ELEMENTS


def unread(size: int, most: int) -> float:
    """Return the units for a frame that is refused.

    Args:
        size: its bytes.
        most: values of a frame that are looked at; each has a byte at least.
    """
    return UNREADABLE + min(size, most) // UNIT_ELEMENTS + size // UNIT_BYTES


def elements(value: Any) -> int:
    """Return how many values are in a value or message that was decoded, keys of maps included."""
    count = 0
    left = [value]
    while left:
        each = left.pop()
        count += 1
        if isinstance(each, dict):
            left += each.keys()
            left += each.values()
        elif isinstance(each, list | tuple):
            left += each
        elif isinstance(each, Struct):
            left += astuple(each)
    return count
