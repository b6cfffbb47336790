"""An arena's page behind nginx and TLS, by the configuration of docs/arena-term.md."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from dovetail.broker.durable.journal import Journal
from dovetail_experiments.arena.store import FILE, ArenaStore

from . import proxies
from .conftest import web

pytestmark = pytest.mark.clients
ARENA = """
name = "Course"
[[ladders]]
name = "four"
game = "connect_four"
"""
HOST = "arena.example.org"
TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE


def servers(folder: Path, port: int, page: str) -> str:
    """Return the guide's servers, at a port of this machine and for this page."""
    text = proxies.shown("arena-term.md", "proxy_set_header X-Forwarded-Proto")
    for given, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/arena.pem", f"{folder}/cert.pem"),
        ("/etc/ssl/arena.key", f"{folder}/key.pem"),
        ("http://127.0.0.1:8080", page.rstrip("/")),
    ):
        assert text.count(given) == 1, given
        text = text.replace(given, here)
    return text


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[httpx.Client, str, str]]:
    """Return a browser at the proxy, alice's token, and the page's own address."""
    proxies.needed("nginx")
    (tmp_path / "arena.toml").write_text(ARENA)
    with ArenaStore(tmp_path / "arena" / FILE, create=True) as store:
        token = store.invite("alice")
        store.enter("four", "alice", "first")
    Journal(tmp_path / "arena" / "journal").close()
    (tmp_path / "arena" / "token").write_text("of the operator\n")
    proxies.certify(tmp_path)
    port = proxies.free()
    with web(tmp_path, "--arena", "arena.toml", "--name", HOST) as (_, page):
        line = proxies.nginx(tmp_path, servers(tmp_path, port, page))
        with (
            proxies.running(line),
            httpx.Client(
                base_url=f"https://127.0.0.1:{port}",
                headers={"Host": f"{HOST}:{port}", "Origin": f"https://{HOST}:{port}"},
                verify=TRUSTING,
                trust_env=False,
                timeout=60,
            ) as client,
        ):
            end = time.monotonic() + 60
            while True:
                try:
                    client.get("/arena")
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
            yield client, token, page


def stamp(text: str) -> str:
    return text.partition('name="csrf" value="')[2].partition('"')[0]


def test_pages_links_and_files(site: tuple[httpx.Client, str, str]) -> None:
    client, _, page = site
    seen: set[str] = set()
    left = ["/arena"]
    while left:
        path = left.pop()
        seen.add(path)
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert page.rstrip("/") not in answer.text, "no address behind the proxy"
        if answer.headers["content-type"].startswith("text/html"):
            found = re.findall(r'(?:href|src)="(/[^"#]*)', answer.text)
            left += {each.replace("&amp;", "&") for each in found} - seen - set(left)
    assert {"/arena", "/arena/four", "/arena/four/1", "/arena/hall"} <= seen
    assert any(each.endswith(".css") for each in seen)
    assert any(each.endswith(".js") for each in seen)
    assert client.get("/arena", headers={"Host": "other.example.org"}).status_code == 400


def test_forms_and_cookies(site: tuple[httpx.Client, str, str]) -> None:
    client, token, _ = site
    form = {"csrf": stamp(client.get("/arena").text), "token": token}
    assert {each.secure for each in client.cookies.jar} == {True}
    foreign = {"Origin": "https://other.example.org"}
    assert client.post("/arena/mine", data=form, headers=foreign).status_code == 403
    plain = {"Origin": client.headers["Origin"].replace("https", "http")}
    assert client.post("/arena/mine", data=form, headers=plain).status_code == 403
    answer = client.post("/arena/mine", data=form)
    assert answer.is_redirect
    own = client.get(answer.headers["location"])
    assert own.url.scheme == "https"
    assert "first</a>" in own.text
    assert all(each.name.startswith("__Host-") and each.secure for each in client.cookies.jar)
    # The proxy lets an upload pass that is larger than what forms may have.
    sent = {"csrf": stamp(own.text), "name": "big"}
    files = {"files": ("big.py", b"#" * (3 << 20))}
    refused = client.post("/arena/submit", data=sent, files=files)
    assert (refused.status_code, "nginx" in refused.text) == (404, False)


def test_positions_come_live_and_only_to_the_page_itself(
    site: tuple[httpx.Client, str, str],
) -> None:
    client, _, _ = site
    here = client.base_url
    for origin, status in (
        (f"https://{HOST}:{here.port}", 101),
        (f"http://{HOST}:{here.port}", 403),
        ("https://other.example.org", 403),
        (None, 403),
    ):
        line = socket.create_connection(("127.0.0.1", here.port or 0))
        try:
            with connect(
                f"wss://{HOST}:{here.port}/live",
                sock=line,
                ssl=TRUSTING,
                origin=None if origin is None else Origin(origin),
                proxy=None,
                open_timeout=60,
            ) as live:
                live.send('{"about": "wall:connect_four", "ladder": "four"}')
                while "leaders" not in live.recv(timeout=60):
                    live.send('{"got": true}')
                found = 101
        except InvalidStatus as error:
            found = error.response.status_code
        assert found == status, origin
