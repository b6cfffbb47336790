"""A Ray cluster on this host, as a program: its address on stdout, orders on stdin.

``kill`` kills the raylet of the oldest node but the head, ``head`` all of the head, ``add`` adds a
node, whose environment has the variables that follow as ``NAME=VALUE``; a line answers each.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="needs ray; `make test-ray` installs it"
)

STORE = 80 << 20
"""Bytes of a node's object store."""
START = 8
"""Attempts to start a node."""
WAIT = 240
"""Seconds in which the nodes must know each other."""


class Nodes:
    """A running cluster."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        assert program.stdout is not None
        self.address = program.stdout.readline().strip()
        self.process = program.pid

    def order(self, words: str) -> None:
        """Give an order, and wait until it is carried out."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        print(words, file=self._program.stdin, flush=True)
        assert self._program.stdout.readline().strip() == "done"


@contextmanager
def cluster(cpus: int = 1, nodes: int = 3) -> Iterator[Nodes]:
    """Run a cluster while a context lasts."""
    command = [sys.executable, "-m", "tests.experiments.clusters", str(cpus), str(nodes)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        made = Nodes(program)
        assert made.address, "the cluster did not start"
        try:
            yield made
        finally:
            program.stdin.close()  # type: ignore[union-attr]
            program.wait()


def main() -> None:
    """Run the cluster until stdin ends."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # 15 by default, with which other tests would stop them
    os.environ.update(RAY_worker_niceness="0", RAY_gcs_server_port_wait_time_s=str(WAIT))
    out = os.dup(1)
    os.dup2(2, 1)
    import ray.cluster_utils

    each: dict[str, Any] = {"num_cpus": int(sys.argv[1]), "object_store_memory": STORE}
    # A head at 127.0.0.1 cannot be joined on its own machine.
    head = {**each, "node_ip_address": "127.0.0.2", "include_dashboard": False}
    made = ray.cluster_utils.Cluster()

    def add(**options: Any) -> Any:
        """Add a node, whose raylet ends if what it starts takes 30 s, as on a busy machine."""
        for left in reversed(range(START)):
            try:
                return made.add_node(wait=False, **options)
            except Exception:
                if not left:
                    raise
        raise AssertionError

    add(**head)
    addresses = (f"127.0.0.{k}" for k in itertools.count(3))
    nodes = [add(node_ip_address=next(addresses), **each) for _ in range(int(sys.argv[2]) - 1)]
    made.wait_for_nodes(timeout=WAIT)
    os.write(out, f"{made.address}\n".encode())
    for line in sys.stdin:
        if line.strip() == "kill":
            nodes.pop(0).kill_raylet(check_alive=False)
        elif line.strip() == "head":
            made.head_node.kill_all_processes(check_alive=False, allow_graceful=False)
        else:
            variables = dict(word.split("=", 1) for word in line.split()[1:])
            nodes.append(add(node_ip_address=next(addresses), env_vars=variables, **each))
            made._wait_for_node(nodes[-1], timeout=WAIT)
        os.write(out, b"done\n")
    made.shutdown()


if __name__ == "__main__":
    main()
