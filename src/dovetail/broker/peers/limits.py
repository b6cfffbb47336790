"""Limits on what one peer can cost the others.  Pure.

Expected answers are free: clocks bound their time, frame limits their size, and ``RUN_SEATS`` and
``OPEN_SEATS`` the work that follows.  Everything else is charged, one unit per 10 microseconds or
so of the broker's time: requests by ``COSTS``, bytes and values, unexpected answers by values,
unreadable frames by bytes, and what the broker makes or resends by number.  Debt is paid off with
time.  Above ``SLOW`` the broker reads a peer later, and above ``REFUSE`` it refuses its requests.
A peer that keeps asking, or never confirms what it is sent, is disconnected.

Unauthenticated connections are not charged; ``transport.router`` gives them a share of the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import astuple

from dovetail.protocol import codec
from dovetail.protocol import messages as m

if TYPE_CHECKING:
    from dovetail.broker.peers.peers import Peer

RATE = 5_000.0
"""Units paid off per second: a twentieth of the broker's time."""
SLOW = 5_000.0
"""Debt above which a peer is not read until half is paid off; it scales with the rate."""
REFUSE = 10_000.0
"""Debt above which a peer's requests are refused; it scales with the rate."""
STRIKES = 5_000
"""Refusals in a row after which a peer is disconnected."""
UNIT_BYTES = 1 << 12
"""Bytes per unit: they are read, logged and passed on."""
SAVED_BYTES = 1 << 10
"""Bytes per unit of a saved state: they are read, logged and passed on at once."""
STORED_BYTES = 1 << 9
"""Bytes per unit of a stored state, which is written twice."""
UNIT_ELEMENTS = 20
"""Values per unit, counted as for ``Limits.elements``."""

SMALL = 64
"""Bytes of a frame above which its values are counted."""

COSTS: dict[type, float] = {
    **{m.Run: 20, m.Catalogue: 10, m.ExperimentCreate: 4},
    **dict.fromkeys((m.Watch, m.Pause, m.Drain, m.Cancel, m.ExperimentMessage), 2),
    **dict.fromkeys((m.Save, m.Load, m.Cleanup), 2),
    **dict.fromkeys((m.Ping, m.Pong, m.Error), 1),
}
"""Units per message, by type; other types are free unless ignored."""
IGNORED = 1.0
"""Units for an unexpected answer, plus those of its values."""
UNREADABLE = 5.0
"""Units for an unreadable frame, plus those of its bytes."""
ENTRY = 1.0
"""Units for each entry of a page of the catalogue, plus those of its values."""
PASSED = 0.01
"""Units for each entry before that page, and each request, episode or agent that is looked at."""
SHOWN = 1.0
"""Units for each turn that a watcher is shown because it came in the middle of an episode."""
MATCH = 1.0
"""Units for each match that a run opens."""
REPORTED = 0.5
"""Units for each run in progress, for each heartbeat that looks at it."""
BESIDE = 0.1
"""Units for each other run of the experiment that begins one, since each is looked at."""
LOOKAHEAD = 5.0
"""Units for a refused lookahead; the clock of its decision bounds any other."""
REPLAYED = 0.25
"""Units for each frame resent to a peer that resumes; at most ``SLOW`` in all for one that was
away, since that may not have been its fault."""

UNAUTHENTICATED = 100
"""Messages on a connection without a session after which it is closed."""
NAME = 256
"""Maximum characters in a name."""
QUOTED = 60
"""Characters that an error quotes of a longer name."""
OFFERS = 4_096
"""Maximum offers of a peer."""
OFFER_ELEMENTS = 20_000
"""Maximum values in an offer, counted as for ``Limits.elements``."""
UNANSWERED = 4_096
"""Maximum pending requests of a peer to other peers' programs."""
MATCHES = 4_096
"""Maximum open matches of an experiment's runs."""
RUNS = 1_024
"""Maximum runs of an experiment in progress: those that wait are looked at for any free agent."""
RUN_SEATS = 1_024
"""Maximum agents of a run: the work of each episode grows with its seats."""
OPEN_SEATS = 65_536
"""Maximum seats in the open matches of an experiment's runs."""
STATES = 10_000
"""Maximum stored states."""
STATE_BYTES = 1 << 30
"""Maximum bytes of the states stored by an experiment, or by its key."""
STATE_BYTES_IN_ALL = 2 << 30
"""Maximum bytes of all stored states."""
SAVES = 2
"""Maximum pending saves of a peer: the cost of one is known only from its answer."""
RECORDED = 1 << 18
"""Maximum bytes of a run that are recorded with each of its episodes."""
RECORDS = 64 << 30
"""Maximum bytes of the journal for the episodes and states of an experiment, or of its key; beyond
it runs fail and states are refused."""
RECORDS_IN_ALL = 256 << 30
"""Maximum bytes of the journal in all, with those that it had when the broker started."""
RECORD = 1 << 10
"""Bytes of a record without those of its actions and of its run."""
ACTIONS = 256 << 20
"""Maximum bytes of an episode's actions, which are kept to its end; beyond it is truncated."""
HELD = 512 << 20
"""Maximum bytes held by a peer's offers, requests, agents, runs and their episodes."""
HELD_IN_ALL = 2 << 30
"""Maximum bytes held by those of all peers, beyond ``LITTLE`` of each."""
GREETED = 1 << 16
"""Bytes of a peer's offers that are not counted."""
LITTLE = 1 << 20
"""Bytes that each peer may hold whatever the others do."""
SOUGHT = 50
"""Stored states per unit where they are counted."""
COUNTED = 1 << 12
"""Bytes of a turn, or of an episode's actions, above which they are counted."""
KEPT_VALUE = 64
"""Maximum bytes of memory of a value that takes one byte in a frame."""
KEPT = 256 << 20
"""Bytes left unconfirmed for too long after which a peer is disconnected."""

Quota = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a peer; an access file can set others for a key."""

    rate: Annotated[float, Meta(gt=0)] = RATE
    """Units paid off per second."""
    offers: Quota = OFFERS
    """Maximum offers of each program."""
    requests: Quota = UNANSWERED
    """Maximum pending requests of each program."""
    matches: Quota = MATCHES
    """Maximum open matches of each experiment's runs."""
    states: Quota = STATES
    """Maximum stored states of the key."""
    state_bytes: Quota = STATE_BYTES
    """Maximum bytes of those."""
    record_bytes: Quota = RECORDS
    """Maximum bytes of the journal for the key's episodes and states."""
    peers: Quota = 4_096
    """Maximum connected programs with the key."""


USUAL = Allowance()

Verdict = Literal["take", "refuse", "drop"]


def charge(peer: Peer, units: float, now: float) -> None:
    """Add to a peer's debt, after paying off what time has."""
    now = max(now, peer.charged)  # which may be later than it was heard
    owed = peer.owed - peer.allowance.rate * (now - peer.charged)
    if owed <= 0.0:
        owed = 0.0
        peer.strikes = 0
    peer.owed = owed + units
    peer.charged = now


def judge(peer: Peer) -> Verdict:
    """Return what to do with a message of a peer that was just charged."""
    if peer.owed <= REFUSE * peer.allowance.rate / RATE:
        return "take"
    peer.strikes += 1
    return "refuse" if peer.strikes <= STRIKES else "drop"


def rest(peer: Peer) -> float:
    """Return the seconds for which not to read from a peer; 0 if it may send."""
    slow = SLOW * peer.allowance.rate / RATE
    return 0.0 if peer.owed <= slow else (peer.owed - slow / 2) / peer.allowance.rate


def overlong(names: Iterable[tuple[str, str]]) -> str:
    """Return the complaint about the first overlong name, given (kind, name) pairs, or ``""``."""
    for what, name in names:
        if len(name) > NAME:
            return f"the {what} has {len(name):,} characters; it may have {NAME}"
    return ""


def quoted(name: str | int) -> str:
    """Return a name quoted for an error, shortened if it is too long for a name."""
    if isinstance(name, int) or len(name) <= NAME:
        return repr(name)
    return f"{name[:QUOTED]!r}... ({len(name):,} characters)"


def started(name: str, command: str) -> str:
    """Return the end of an error, which says how to start a program; empty for an odd name."""
    return f"; start one with `dovetail {command} {name}`" if quoted(name) == f"'{name}'" else ""


def asked(message: m.Message, size: int, most: int) -> float:
    """Return the units for a message of ``COSTS``; arguments as for ``values``."""
    units = COSTS.get(type(message), 0.0) + size // UNIT_BYTES
    return units if size <= SMALL else units + values(message, size, most)


def values(message: m.Message, size: int, most: int) -> float:
    """Return the units for a message's values, unknown fields included; ``size`` are the bytes of
    its frame, ``most`` the maximum number of values in a frame."""
    unknown = 0
    if size > SMALL:
        try:
            unknown = min(most, max(0, size - len(codec.encode(message))))
        except codec.UNSENDABLE:
            unknown = min(most, size)
    return (elements(message) + unknown) // UNIT_ELEMENTS


def unread(size: int, most: int) -> float:
    """Return the units for an unreadable frame, of which decoding reads ``most`` bytes at most."""
    return UNREADABLE + min(size, most) // UNIT_ELEMENTS + size // UNIT_BYTES


def elements(value: Any) -> int:
    """Return the number of values in a decoded value or message, keys of maps included."""
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
