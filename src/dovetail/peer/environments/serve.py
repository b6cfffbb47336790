"""``serve``: run environments as a program connected to a broker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.extras import provided
from dovetail.peer.one_line_exit import in_one_line
from dovetail.peer.plugins import complete
from dovetail.peer.serving import serve_host
from dovetail.transport.keys import Key


def serve(
    environment: type[Environment] | Sequence[type[Environment]],
    address: str | None = None,
    *,
    name: str = "",
    token: str | None = None,
    key: Key | Path | str | None = None,
    **options: Any,
) -> None:
    """Serve environments until the broker leaves or the program is told to stop.

    Once connected, print one line on standard error, or call ``ready`` if given.
    ``address``, ``token`` and ``key`` default to the environment variables DOVETAIL_BROKER,
    DOVETAIL_TOKEN and DOVETAIL_KEY.

    Raises:
        DovetailError: no broker answers at ``address``, it refuses this peer, or a type lacks a
            method.
    """
    in_one_line()
    types = [environment] if isinstance(environment, type) else environment
    for each in types:
        complete(each, each.__name__)
        provided(each, each.__name__)
    serve_host(EnvironmentHost(types), address, name, token, key=key, **options)
