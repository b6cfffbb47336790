"""Memory held for a peer, in bytes: its offers, stored states, requests, agents, runs and their
episodes.

A pending request holds its bytes, and then passes them to the agent or run that it created.  An
agent also holds the state from which it would be recreated, and an episode in progress its latest
turn and its actions.
"""

from __future__ import annotations

from typing import Any

from dovetail.broker.peers import limits
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerState
from dovetail.protocol import messages as m
from dovetail.protocol.display_text import UNNAMED, UNNAMED_TEXT
from dovetail.protocol.errors import ProtocolError


def weight(broker: BrokerState, peer: Peer) -> int:
    """Return an upper bound of the memory that a peer's latest message takes."""
    if peer.outbox.reliable:
        return 0
    size = max(0, peer.size)
    return size + limits.KEPT_VALUE * min(size, broker.settings.limits.elements)


def check_room(broker: BrokerState, peer: Peer, more: int = 0) -> None:
    """Check that memory may be held for a peer's latest message and ``more`` bytes.  Raises
    ProtocolError (``limit``): the peer would hold too much."""
    if peer.outbox.reliable:
        return
    if text := _too_much(broker, peer, weight(broker, peer) + more):
        raise ProtocolError("limit", f"{text}; wait for some to end, or clean them up")


def greeted(broker: BrokerState, hello: m.Hello, size: int) -> int:
    """Return the bytes that a new peer holds with its offers, beyond the few of most peers.  Raises
    ProtocolError (``limit``): the peers together would hold too much."""
    held = (
        size + limits.KEPT_VALUE * limits.elements(hello) - limits.GREETED
        if size > limits.SMALL
        else 0
    )
    if held > 0 and in_all(broker) + held > limits.HELD_IN_ALL:
        raise ProtocolError("limit", f"{_FULL}; offer less")
    return max(0, held)


def in_all(broker: BrokerState) -> int:
    """Return the bytes that all peers hold."""
    return sum(each.held for each in broker.sessions.values())


_MOST = f"{limits.HELD_IN_ALL:,} bytes for offers, requests, agents and runs"
_FULL = f"the broker holds {_MOST}, and no more"


def _too_much(broker: BrokerState, peer: Peer, more: int) -> str:
    """Return why ``more`` bytes would be too many for a peer, or an empty string."""
    if peer.held + more > limits.HELD:
        what = "your offers, requests, agents and runs"
        return f"{what} hold {peer.held:,} bytes, and may hold {limits.HELD:,}"
    if peer.held + more > limits.LITTLE and in_all(broker) + more > limits.HELD_IN_ALL:
        return _FULL
    return ""


def grown(value: Any, size: int) -> int:
    """Return an upper bound of the memory of a turn or action that came in ``size`` bytes."""
    return size + limits.KEPT_VALUE * limits.elements(value) if size else 0


def grow(broker: BrokerState, peer: Peer, more: int) -> str:
    """Add to the bytes held for a peer's episodes; return why they are too many, if so."""
    text = _too_much(broker, peer, more) if more > 0 and not peer.outbox.reliable else ""
    peer.held += more
    return text


def check_requests(broker: BrokerState, peer: Peer) -> None:
    """Check that a peer may make another request to another peer's program.  Raises ProtocolError
    (``limit``): too many are pending, or they hold too much."""
    if peer.unanswered >= peer.allowance.requests:
        text = f"{peer.unanswered:,} of your requests are not answered yet; wait for them"
        raise ProtocolError("limit", text)
    check_room(broker, peer)


def check_name(broker: BrokerState, peer: Peer, name: str) -> None:
    """Check a state's name.

    Raises:
        ProtocolError: the name is invalid, or another's.
    """
    if UNNAMED.search(name):
        raise ProtocolError("invalid", f"a state's name {UNNAMED_TEXT}")
    if not broker.keeps(peer, name):
        text = f"the state {limits.quoted(name)} is another experiment's"
        raise ProtocolError("access", f"{text}; save yours under another name")


def check_new_name(broker: BrokerState, peer: Peer, name: str) -> None:
    """Check that a peer may store a state under a name; raise as ``check_name`` does."""
    if text := limits.overlong([("name of the state", name)]):
        raise ProtocolError("limit", text)
    check_name(broker, peer, name)


def stored(broker: BrokerState, peer: Peer, name: str) -> bytes:
    """Return the stored state that a peer names.

    Raises:
        ProtocolError: it may use none.
    """
    check_name(broker, peer, name)
    state = broker.states.get(name)
    if state is None:
        raise ProtocolError("unknown", f"no state is saved under {limits.quoted(name)}")
    return state


def full(broker: BrokerState, peer: Peer, name: str, size: int) -> str:
    """Return why a peer may not store ``size`` bytes under a name, or an empty string."""
    states, keepers, owner = broker.states, broker.keepers, peer.owner
    more = size - len(states.get(name, b""))
    if name not in states and len(states) >= limits.STATES:
        return f"the broker stores {limits.STATES:,} states, and no more; use a name that it has"
    if more > 0 and sum(map(len, states.values())) + more > limits.STATE_BYTES_IN_ALL:
        most = f"{limits.STATE_BYTES_IN_ALL:,} bytes of states"
        return f"the broker stores {most}, and no more; store smaller ones in their place"
    own = [each for each, keeper in keepers.items() if keeper == owner and each != name]
    allowance = peer.allowance
    if len(own) >= allowance.states:
        return f"your key may store {allowance.states:,} states; use a name that it has"
    kept = sum(len(states.get(each, b"")) for each in own)
    if kept + size > allowance.state_bytes:
        most = f"{allowance.state_bytes:,} bytes of states"
        return f"you may store {most}, and have {kept:,}; store smaller ones in their place"
    return broker.recorded_too_much(peer)
