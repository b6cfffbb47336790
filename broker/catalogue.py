"""What is connected, for those who ask."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.broker.instances import Instances
from dovetail.broker.limits import elements, quoted, started
from dovetail.broker.peers import Peer
from dovetail.broker.runs import Runs
from dovetail.broker.tables import Tables
from dovetail.peer.wording import meant
from dovetail.protocol import codec
from dovetail.protocol import messages as m

PAGE_ELEMENTS = 60_000
PAGE_BYTES = 8 << 20
"""Values and bytes from which on a page is full; one entry more may fit."""

LONGEST = 60
"""Characters of a name that is compared with what is on offer."""
MOST = 50
"""Names that it is compared with; among more the search for a similar one takes too long."""


def catalogue(
    tables: Tables, instances: Instances, runs: Runs, start: int = 0
) -> tuple[dict[str, Any], int]:
    """Return what is connected, and how many entries were looked at; the form is SPEC.md's.

    Args:
        tables: the peers.
        instances: the agents.
        runs: the runs.
        start: the entry to begin with.
    """
    body = _all(tables, instances, runs)
    number = size = values = 0
    more = None
    for section, entries in body.items():
        if not isinstance(entries, list):
            continue
        page = []
        for entry in entries:
            if number >= start and more is None:
                page.append(entry)
                size += len(codec.encode(entry))
                values += elements(entry)
                if size >= PAGE_BYTES or values >= PAGE_ELEMENTS:
                    more = number + 1
            number += 1
        body[section] = page
    if more is not None and more < number:
        body["more"] = more
    return body, number


def unoffered(tables: Tables, role: m.Role, name: str, peer: str | None) -> str:
    """Return the line that says that no program offers a name, or not the one that was asked for."""
    what, command = ("environment", "env") if role == "environment" else ("agent type", "agent")
    where = f" at {quoted(peer)}" if peer else ""
    known = {
        offer for each in tables.sessions.values() if each.role == role for offer in each.offers
    }
    similar = sorted(known) if name not in known and len(known) <= MOST else []
    hint = meant(name[:LONGEST], similar)
    return f"no {what} {quoted(name)} is offered{where}{hint or started(name, command)}"


def _all(tables: Tables, instances: Instances, runs: Runs) -> dict[str, Any]:
    peers = tables.sessions.values()

    def offers(role: str) -> list[dict[str, Any]]:
        return [
            {"peer": peer.name, **msgspec.to_builtins(offer)}
            for peer in peers
            if peer.role == role
            for offer in peer.offers.values()
        ]

    def described(peer: Peer) -> dict[str, Any]:
        state = peer.machine.state
        found = {"name": peer.name, "role": peer.role, "state": state, "software": peer.software}
        entrant = peer.entrant or peer.key
        return {**found, "entrant": entrant} if entrant else found

    return {
        "peers": [described(peer) for peer in peers],
        "environments": offers("environment"),
        "agents": offers("agent"),
        "instances": [
            {
                "instance": each.number,
                "agent": each.agent,
                "peer": each.peer.name,
                "busy": each.busy,
            }
            for each in instances
            if each.ready
        ],
        "runs": [
            {
                "run": run.number,
                "environment": run.asked.environment,
                "agents": run.asked.names or [instance.agent for instance in run.agents],
                "state": run.machine.state,
                "finished": run.finished,
                "playing": run.running,
                "episodes": run.asked.episodes,
            }
            for run in runs
        ],
        "kept": sorted(tables.states),
        "counters": dict(tables.counters),
    }
