"""A page behind a proxy's TLS and a program with a key play each other, by the configurations that
docs/browser.md gives."""

from __future__ import annotations

import http.client
import os
import re
import ssl
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.clients.building import CLIENTS, DOVETAIL, LONGEST, build, program

from dovetail.client.client import Experiment

from . import proxies
from .conftest import PATIENCE

pytestmark = [pytest.mark.clients, pytest.mark.timeout(LONGEST)]
SOON = 60.0
SERVER = """server {{
    listen 127.0.0.1:{port} ssl; ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    root {site};
    {peers}
}}"""
CADDY = """
{{
    admin off
    auto_https disable_redirects
}}
{peers}
"""
CADDY_SITE = """{{
    bind 127.0.0.1
    tls {folder}/cert.pem {folder}/key.pem
    root * {site}
    file_server
"""


def configure(proxy: str, folder: Path, port: int, broker: str) -> list[str]:
    """Write a proxy's configuration; return how it is started."""
    site = CLIENTS / "typescript"
    begins = {"nginx": "location /peers {", "caddy": "play.example.org {"}[proxy]
    peers = proxies.shown("browser.md", begins)
    assert "127.0.0.1:5758" in peers
    peers = peers.replace("127.0.0.1:5758", broker)
    if proxy == "nginx":
        return proxies.nginx(
            folder, SERVER.format(folder=folder, port=port, site=site, peers=peers)
        )
    here = f"https://127.0.0.1:{port} " + CADDY_SITE.format(folder=folder, site=site)
    path = folder / "Caddyfile"
    path.write_text(CADDY.format(peers=peers.replace("play.example.org {", here)))
    return [proxies.EXECUTABLES[proxy], "run", "--adapter", "caddyfile", "--config", str(path)]


def dovetail(*arguments: object, folder: Path) -> str:
    """Run a command of Dovetail; return what it prints."""
    line = [str(DOVETAIL), *map(str, arguments)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def served(port: int) -> None:
    """Wait until a proxy serves the page."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    end = time.monotonic() + SOON
    while True:
        site = http.client.HTTPSConnection("127.0.0.1", port, context=trusting, timeout=SOON)
        try:
            site.request("GET", "/examples/page.html")
            assert site.getresponse().status == 200
            return
        except ConnectionError:
            assert time.monotonic() < end
            time.sleep(0.05)
        finally:
            site.close()


@pytest.mark.parametrize("proxy", proxies.EXECUTABLES)
def test_a_page_over_tls_and_a_go_program_with_a_key_play_each_other(
    chromium: Any, tmp_path: Path, proxy: str
) -> None:
    proxies.needed(proxy)
    for language in ("go", "typescript"):
        build(language)
    proxies.certify(tmp_path)
    access, key, gopher = (tmp_path / name for name in ("access.toml", "lab.key", "go.key"))
    make = ("keys", "make")
    dovetail(*make, "lab", "--access", access, "--out", key, folder=tmp_path)
    agent = ("--role", "agent", "--out", gopher)
    dovetail(*make, "gopher", "--access", access, *agent, folder=tmp_path)
    told = dovetail(
        *make, "visitors", "--access", access, "--web", "--offer", "guest-*", folder=tmp_path
    )
    [token] = re.findall(r"^token +(\S+)$", told, re.MULTILINE)
    port, web, tcp = proxies.free(), proxies.free(), proxies.free()
    address, broker = f"tcp://127.0.0.1:{tcp}", f"127.0.0.1:{web}"
    here = {
        **os.environ,
        "HOME": str(tmp_path),
        "DOVETAIL_BROKER": address,
        "PYTHONUNBUFFERED": "1",
    }
    # fmt: off
    listen = [
        str(DOVETAIL), "broker", "--bind", address, "--access", str(access), "--journal", "none",
        "--web", broker, "--web-origin", f"https://127.0.0.1:{port}",
    ]
    # fmt: on
    with ExitStack() as programs:
        programs.enter_context(proxies.running(listen, "web ready", env=here, cwd=tmp_path))
        line = [str(DOVETAIL), "env", "connect_four", "--connect", address, "--key", str(key)]
        programs.enter_context(proxies.running(line, env=here, cwd=tmp_path))
        go = {**here, "DOVETAIL_KEY": str(gopher)}
        programs.enter_context(proxies.running(program("go", "random"), env=go, cwd=CLIENTS / "go"))
        programs.enter_context(proxies.running(configure(proxy, tmp_path, port, broker), env=here))
        served(port)
        context = programs.enter_context(chromium.new_context(ignore_https_errors=True))
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(f"https://127.0.0.1:{port}/examples/page.html")
        page.fill("[name=broker]", f"wss://127.0.0.1:{port}/peers")
        page.fill("[name=token]", "wrong")
        page.fill("[name=name]", "guest-page")
        page.click("button")
        page.wait_for_selector("#status:has-text('token')")
        assert "the token is missing or wrong" in page.inner_text("#status")
        page.fill("[name=token]", token)
        page.click("button")
        page.wait_for_selector(f"#status:has-text('Connected to wss://127.0.0.1:{port}/peers')")
        experiment = programs.enter_context(Experiment.connect(address, key=key))
        experiment.expect(["connect_four"], ["guest-page", "random-go"], timeout=SOON)
        agents = [experiment.create(name) for name in ("guest-page", "random-go")]
        games = experiment.run("connect_four", agents, episodes=20, rotate=True).wait()
        assert {each.reason for each in games} == {"terminated"}
        page.wait_for_function("document.querySelectorAll('#games li').length === 20")
