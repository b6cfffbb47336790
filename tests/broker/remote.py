"""Environments and agents of this program at a broker of this program, over sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.broker.core.core import Settings
from dovetail.broker.shell.server import Server
from dovetail.peer.agents.host import AgentHost
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.peer.serving import serve_host


@contextmanager
def served(environments: Sequence[type[Any]], agents: Sequence[type[Any]]) -> Iterator[str]:
    """Serve them, each kind in a thread; yield the broker's address."""
    server = Server("tcp://127.0.0.1:*", Settings(heartbeat=0.2, peer_timeout=20.0))
    address = server.address
    assert address is not None
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            server.pump(0.05)
        server.close()

    hosts = (EnvironmentHost(environments), AgentHost(agents))
    threads = [threading.Thread(target=work)]
    threads += [
        threading.Thread(target=serve_host, args=(host, address), kwargs={"stop": stop})
        for host in hosts
    ]
    for thread in threads:
        thread.start()
    try:
        yield address
    finally:
        stop.set()
        for thread in threads:
            thread.join()
