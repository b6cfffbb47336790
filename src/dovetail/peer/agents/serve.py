"""``serve``: run agents as a program connected to a broker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.peer.agents.agent import Agent
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.extras import provided
from dovetail.peer.one_line_exit import in_one_line
from dovetail.peer.plugins import complete
from dovetail.peer.serving import serve_host
from dovetail.transport.keys import Key


def serve(
    agent: Agent | type[Agent] | Sequence[type[Agent]],
    address: str | None = None,
    *,
    name: str = "",
    token: str | None = None,
    key: Key | Path | str | None = None,
    **options: Any,
) -> None:
    """Serve agents until the broker leaves or the program is told to stop.

    An ``Agent`` object is a single agent, which experiments seat by its ``name``.  From an agent
    type experiments create instances, with parameters and seeds.

    Once connected, print one line on standard error, or call ``ready`` if given.
    ``address``, ``token`` and ``key`` default to the environment variables DOVETAIL_BROKER,
    DOVETAIL_TOKEN and DOVETAIL_KEY.

    Raises:
        DovetailError: no broker answers at ``address``, it refuses this peer, or a type cannot be
            offered.
    """
    in_one_line()
    if isinstance(agent, Agent):
        provided(type(agent), type(agent).__name__)
        host = AgentHost(single=agent, name=name)
    else:
        types = [agent] if isinstance(agent, type) else agent
        for each in types:
            complete(each, each.__name__)
            provided(each, each.__name__)
            each.offered()
        host = AgentHost(types)
    serve_host(host, address, name, token, key=key, **options)
