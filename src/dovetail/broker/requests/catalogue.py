"""The catalogue of everything connected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec

from dovetail.broker.matches.instances import Instance, Instances
from dovetail.broker.matches.run import RunState
from dovetail.broker.peers.limits import ENTRY, PASSED, UNIT_ELEMENTS, elements, quoted, started
from dovetail.broker.peers.peers import Peer
from dovetail.broker.peers.state import BrokerState
from dovetail.broker.runs.runs import Runs
from dovetail.peer.validation_messages import meant
from dovetail.protocol import codec
from dovetail.protocol.messages import Offer, Role

Entries = Iterable[Callable[[], Any]]
"""Functions that make the entries of a section."""

PAGE_ELEMENTS = 60_000
PAGE_BYTES = 8 << 20
"""Values and bytes of a full page; its last entry can exceed them."""

MAX_NAME = 60
"""Characters of an unknown name that are compared with the offers."""
MAX_COMPARED = 50
"""Maximum names on offer for which a similar one is suggested: the search is slow."""


def catalogue(
    broker: BrokerState, instances: Instances, runs: Runs, start: int = 0
) -> tuple[dict[str, Any], float]:
    """Return a page of the catalogue from an entry on, as SPEC.md defines it, and its cost in
    units.  Only the entries of the page are made."""
    body: dict[str, Any] = {}
    number = size = values = made = 0
    full = False
    for section, entries in _parts(broker, instances, runs):
        page = body[section] = []
        if "more" in body:
            continue
        for entry in entries:
            if full:
                body["more"] = number
                break
            if number >= start:
                page.append(found := entry())
                made += 1
                size += len(codec.encode(found))
                values += elements(found)
                full = size >= PAGE_BYTES or values >= PAGE_ELEMENTS
            number += 1
    body["counters"] = dict(broker.counters)
    return body, ENTRY * made + PASSED * (number - made) + values // UNIT_ELEMENTS


def unoffered(broker: BrokerState, role: Role, name: str, peer: str | None) -> str:
    """Return the error that no program, or not the named one, offers something."""
    what, command = ("environment", "env") if role == "environment" else ("agent type", "agent")
    where = f" at {quoted(peer)}" if peer else ""
    known = {
        offer for each in broker.sessions.values() if each.role == role for offer in each.offers
    }
    similar = sorted(known) if name not in known and len(known) <= MAX_COMPARED else []
    hint = meant(name[:MAX_NAME], similar)
    return f"no {what} {quoted(name)} is offered{where}{hint or started(name, command)}"


def _parts(broker: BrokerState, instances: Instances, runs: Runs) -> Iterator[tuple[str, Entries]]:
    peers = broker.sessions.values()
    yield "peers", (partial(_peer, broker, peer) for peer in peers)
    for part, role in (("environments", "environment"), ("agents", "agent")):
        holders = [peer for peer in peers if peer.role == role]
        yield part, (partial(_offer, p, offer) for p in holders for offer in p.offers.values())
    yield "instances", (partial(_instance, each) for each in instances if each.ready)
    yield "runs", (partial(_run, run) for run in runs)
    yield "kept", _names(broker)


def _names(broker: BrokerState) -> Entries:
    """Yield the names of the stored states, sorted only once the first is needed."""
    yield from (partial(str, name) for name in sorted(broker.states))


def _peer(broker: BrokerState, peer: Peer) -> dict[str, Any]:
    state = peer.machine.state
    found = {"name": peer.name, "role": peer.role, "state": state, "software": peer.software}
    if entrant := peer.entrant or peer.key:
        found["entrant"] = entrant
    if broker.origin is not None and (address := broker.origin(peer.outbox.address)):
        found["address"] = address
    return found


def _offer(peer: Peer, offer: Offer) -> dict[str, Any]:
    return {"peer": peer.name, **msgspec.to_builtins(offer)}


def _instance(each: Instance) -> dict[str, Any]:
    return {"instance": each.number, "agent": each.agent, "peer": each.peer.name, "busy": each.busy}


def _run(run: RunState) -> dict[str, Any]:
    return {
        "run": run.number,
        "environment": run.asked.environment,
        "agents": run.asked.names or [instance.agent for instance in run.agents],
        "state": run.machine.state,
        "finished": run.finished,
        "playing": run.running,
        "episodes": run.asked.episodes,
    }
