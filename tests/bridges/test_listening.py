"""Servers of HTTP listen at the address that they are given, of IPv4 or IPv6."""

from __future__ import annotations

import socket
import subprocess
import sys

import httpx
import pytest

pytestmark = pytest.mark.processes


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize(
    "command",
    [["openenv"], ["mcp", "--http"], ["ggp", "player", "random"], ["web", "--no-open"]],
    ids=["openenv", "mcp", "ggp", "web"],
)
def test_a_server_answers_at_the_address_that_it_prints(command: list[str], host: str) -> None:
    if ":" in host:
        try:
            socket.create_server((host, 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no IPv6 loopback")
    with subprocess.Popen(
        [sys.executable, "-m", "dovetail", *command, "--host", host, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            url = next(word for word in server.stdout.readline().split() if word[:4] == "http")
            assert (f"//[{host}]:" if ":" in host else f"//{host}:") in url
            assert httpx.get(url, timeout=20).status_code < 600
        finally:
            server.terminate()
