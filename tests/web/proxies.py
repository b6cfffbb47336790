"""Proxies with TLS in front of what a test serves, by the configurations of the guides."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.clients.building import ROOT

EXECUTABLES = {"nginx": "/usr/sbin/nginx", "caddy": "/usr/bin/caddy"}
NGINX = """
user root; daemon off; pid {folder}/pid; error_log stderr; events {{}}
http {{
  access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
  fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  types {{ text/html html; text/javascript js; }}
  {servers}
}}
"""
"""Its workers can write to a folder that only the tests' user can enter; unless that is root, nginx
ignores ``user``."""


def needed(proxy: str) -> None:
    """Skip a test where a proxy is missing, but not in CI."""
    if shutil.which(EXECUTABLES[proxy]) is None:
        assert "CI" not in os.environ, f"{proxy} is missing; install the package `{proxy}`"
        pytest.skip(f"needs the program {proxy}; install the package `{proxy}`")


def free() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def shown(guide: str, begins: str) -> str:
    """Return the one block of a guide that contains a text."""
    text = (ROOT / "docs" / guide).read_text()
    [block] = [each for each in text.split("```")[1::2] if begins in each]
    return block.partition("\n")[2]


def certify(folder: Path) -> None:
    """Write a self-signed certificate and its key into a folder: cert.pem and key.pem."""
    # fmt: off
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", "key.pem", "-out", "cert.pem"], cwd=folder, check=True, capture_output=True)
    # fmt: on


def nginx(folder: Path, servers: str) -> list[str]:
    """Write nginx's configuration with these servers; return how it is started."""
    path = folder / "nginx.conf"
    path.write_text(NGINX.format(folder=folder, servers=servers))
    return [EXECUTABLES["nginx"], "-c", str(path), "-p", str(folder)]


@contextmanager
def running(line: list[str], ready: str = "", **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a program, from when it has said that it is ready; end it afterwards."""
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, **options) as process:
        assert process.stdout is not None
        try:
            while ready and ready not in (said := process.stdout.readline()):
                assert said, f"{line} ended"
            yield process
        finally:
            process.terminate()
