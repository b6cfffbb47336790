"""What is connected, for those who ask."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.broker.instances import Instances
from dovetail.broker.peers import Peer
from dovetail.broker.runs import Runs
from dovetail.broker.tables import Tables


def catalogue(tables: Tables, instances: Instances, runs: Runs) -> dict[str, Any]:
    """Return what is connected; the form is SPEC.md's."""
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
        return {"name": peer.name, "role": peer.role, "state": state, "software": peer.software}

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
                "agents": [instance.agent for instance in run.agents],
                "state": run.machine.state,
                "finished": run.finished,
                "playing": len(run.playing),
                "episodes": run.asked.episodes,
            }
            for run in runs
        ],
        "kept": sorted(tables.states),
        "counters": dict(tables.counters),
    }
