"""Half requests at the servers of MCP and OpenEnv keep no client out."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from contextlib import ExitStack

import httpx
import pytest

pytestmark = pytest.mark.processes

FILES = 440
"""Open files of the server, which leave room for 40 connections."""


@pytest.mark.parametrize(
    ("command", "path", "status"),
    [(["openenv"], "/health", 200), (["mcp", "--http"], "/seat-0/mcp", 405)],
    ids=["openenv", "mcp"],
)
def test_half_requests_keep_no_client_out(command: list[str], path: str, status: int) -> None:
    """1,100 of them had all others answered with 503 for as long as they stayed."""
    with ExitStack() as stack:
        server = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "dovetail", *command, "--port", "0"],
                stdout=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
            )
        )
        stack.callback(server.kill)
        assert server.stdout is not None
        port = int(server.stdout.readline().split("/")[2].rpartition(":")[2])
        for _ in range(60):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        for _ in range(3):
            assert httpx.get(f"http://127.0.0.1:{port}{path}", timeout=20).status_code == status
