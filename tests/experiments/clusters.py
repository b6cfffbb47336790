"""A Ray cluster of three nodes on this host, as a program: its address on stdout, orders on stdin.

``kill N`` kills the raylet of a node but the head, ``add`` adds a node; each is answered by a line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

STORE = 80 << 20
"""Bytes of a node's object store."""


class Nodes:
    """A running cluster."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        assert program.stdout is not None
        self.address = program.stdout.readline().strip()

    def order(self, words: str) -> None:
        """Give an order, and wait until it is carried out."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        print(words, file=self._program.stdin, flush=True)
        assert self._program.stdout.readline().strip() == "done"


@contextmanager
def cluster(cpus: int = 1) -> Iterator[Nodes]:
    """Run a cluster while a context lasts."""
    command = [sys.executable, "-m", "tests.experiments.clusters", str(cpus)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        nodes = Nodes(program)
        assert nodes.address, "the cluster did not start"
        try:
            yield nodes
        finally:
            program.stdin.close()  # type: ignore[union-attr]
            program.wait()


def main() -> None:
    """Run the cluster until stdin ends."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    out = os.dup(1)
    os.dup2(2, 1)
    import ray.cluster_utils

    each: dict[str, Any] = {"num_cpus": int(sys.argv[1]), "object_store_memory": STORE}
    # A head at 127.0.0.1 cannot be joined on its own machine.
    head = {**each, "node_ip_address": "127.0.0.2", "include_dashboard": False}
    made = ray.cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    nodes = [made.add_node(wait=False, node_ip_address=f"127.0.0.{k}", **each) for k in (3, 4)]
    made.wait_for_nodes()
    os.write(out, f"{made.address}\n".encode())
    for line in sys.stdin:
        word, *which = line.split()
        if word == "kill":
            nodes[int(which[0])].kill_raylet(check_alive=False)
        else:
            address = f"127.0.0.{3 + len(nodes)}"
            nodes.append(made.add_node(wait=True, node_ip_address=address, **each))
        os.write(out, b"done\n")
    made.shutdown()


if __name__ == "__main__":
    main()
