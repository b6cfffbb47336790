"""Forms are guarded as sockets are: whose page sends them, whose session they belong to, and what a
wrong password costs."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from tests import loops

from dovetail_bridges.connection_limits import Doors, network
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_web.app import application
from dovetail_web.guard import LONGEST_BODY
from dovetail_web.hub import Hub
from dovetail_web.rate_limit import IN_ALL, MOST, REST, TRIES, Attempts

from .conftest import PATIENCE
from .test_doors import served

ARENA = '[[ladders]]\nname = "four"\ngame = "connect_four"\n'
HERE = "http://127.0.0.1:8757"


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[tuple[Any, ArenaStore]]:
    """Return a page with an arena, and the arena's store."""
    file = tmp_path / "arena.toml"
    file.write_text(f'name = "Course"\n{ARENA}')
    with ArenaStore(tmp_path / "arena" / FILE, create=True) as store:
        store.enter("four", "alice", "one")
        store.invite("alice")
        (tmp_path / "arena" / "token").write_text("of the operator\n")
        yield application(Hub("tcp://127.0.0.1:1"), arena=file), store


def stamp(client: TestClient, path: str = "/arena") -> str:
    return client.get(path).text.partition('name="csrf" value="')[2].partition('"')[0]


def sign_in(client: TestClient, given: str = "of the operator", **headers: str) -> int:
    form = {"csrf": stamp(client), "token": given}
    return client.post("/arena/mine", data=form, headers=headers).status_code


def ban(client: TestClient, given: str, **headers: str) -> int:
    form = {"csrf": given, "do": "ban", "who": "alice", "sure": "1"}
    return client.post("/operator", data=form, headers=headers).status_code


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "http://127.0.0.1"},
        {"origin": "http://localhost:8757"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "127.0.0.1:8757"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "none"},
        {"origin": HERE, "sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_page_is_refused(
    arena: tuple[Any, ArenaStore], headers: dict[str, str]
) -> None:
    page, store = arena
    with TestClient(page, HERE) as client:
        assert sign_in(client) == 200
        assert ban(client, stamp(client), **headers) == 403
        for path in ("/arena/mine", "/operator/export"):
            form = {"csrf": stamp(client), "token": "of the operator"}
            assert client.post(path, data=form, headers=headers).status_code == 403
        assert store.entrants() == {"alice": "active"}
        own = {"origin": HERE, "sec-fetch-site": "same-origin"}
        assert ban(client, stamp(client), **own) == 200
        assert store.entrants() == {"alice": "banned"}


def test_a_planted_cookie_gives_its_planter_no_stamp(arena: tuple[Any, ArenaStore]) -> None:
    page, store = arena
    with TestClient(page, HERE) as operator, TestClient(page, HERE) as attacker:
        known = stamp(attacker)
        assert sign_in(operator) == 200
        for name, value in attacker.cookies.items():  # as a page at another port can
            operator.cookies.set(name, value, domain="127.0.0.1")
        assert operator.cookies["dovetail-page-8757"] == attacker.cookies["dovetail-page-8757"]
        assert ban(operator, known) == 403
        assert store.entrants() == {"alice": "active"}
        # With the attacker's whole session in the browser, it is the attacker's.
        assert sign_in(attacker, store.invite("alice")) == 200
        for name, value in attacker.cookies.items():
            operator.cookies.set(name, value, domain="127.0.0.1")
        assert ban(operator, stamp(attacker)) == 403
        assert store.entrants() == {"alice": "active"}


def test_a_session_that_was_known_before_signing_in_is_worth_nothing_after_it(
    arena: tuple[Any, ArenaStore],
) -> None:
    page, _ = arena
    with TestClient(page, HERE) as operator, TestClient(page, HERE) as attacker:
        stamp(attacker)
        for name, value in attacker.cookies.items():
            operator.cookies.set(name, value, domain="127.0.0.1")
        assert sign_in(operator) == 200
        assert operator.get("/operator").status_code == 200
        assert attacker.get("/operator").status_code == 403


def test_signing_out_ends_the_session_at_the_page(arena: tuple[Any, ArenaStore]) -> None:
    page, _ = arena
    with TestClient(page, HERE) as client, TestClient(page, HERE) as thief:
        assert sign_in(client) == 200
        for name, value in client.cookies.items():
            thief.cookies.set(name, value, domain="127.0.0.1")
        assert thief.get("/operator").status_code == 200
        client.post("/arena/mine", data={"csrf": stamp(client), "leave": "1"})
        assert thief.get("/operator").status_code == 403


def test_cookies_are_for_this_host_and_port_alone(arena: tuple[Any, ArenaStore]) -> None:
    page, _ = arena
    with TestClient(page, "https://127.0.0.1") as client:
        form = {"csrf": stamp(client), "token": "of the operator"}
        headers = {"origin": "http://127.0.0.1"}  # the same host, but not encrypted
        assert client.post("/arena/mine", data=form, headers=headers).status_code == 403
        client.cookies.clear()
        shown = client.get("/arena")
        assert shown.headers["set-cookie"].startswith("__Host-dovetail-page=")
        for each in ("secure", "httponly", "samesite=strict", "path=/"):
            assert each in shown.headers["set-cookie"].lower()
        assert "domain=" not in shown.headers["set-cookie"].lower()
        form["csrf"] = shown.text.partition('name="csrf" value="')[2].partition('"')[0]
        answer = client.post("/arena/mine", data=form, follow_redirects=False)
        assert answer.headers["set-cookie"].startswith("__Host-dovetail-entrant=")
        for secret in ("of the operator", ":arena"):
            assert secret not in answer.headers["set-cookie"]


def test_reading_changes_nothing(arena: tuple[Any, ArenaStore]) -> None:
    page, store = arena
    before = store.log()
    with TestClient(page, HERE) as client:
        assert sign_in(client) == 200
        for path in ("/operator", "/operator/export", "/arena/mine"):
            client.get(
                path, params={"csrf": stamp(client), "do": "ban", "who": "alice", "sure": "1"}
            )
        assert (store.entrants(), store.log()) == ({"alice": "active"}, before)


def test_a_form_that_is_too_long_is_refused(arena: tuple[Any, ArenaStore]) -> None:
    page, _ = arena
    with TestClient(page, HERE) as client:
        kind = {"content-type": "application/x-www-form-urlencoded"}

        def parts() -> Iterator[bytes]:
            for _ in range(2 * LONGEST_BODY // 1000):
                yield b"a" * 1000

        told = client.post("/arena/mine", content=b"".join(parts()), headers=kind)
        untold = client.post("/arena/mine", content=parts(), headers=kind)
        assert (told.status_code, untold.status_code) == (413, 413)
        assert "at most 1048576 bytes" in untold.text


# -- passwords ------------------------------------------------------------------------------------


def basic(password: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'any:{password}'.encode()).decode()}"}


def test_wrong_passwords_cost_an_address_time(
    arena: tuple[Any, ArenaStore], tmp_path: Path
) -> None:
    page = application(Hub("tcp://127.0.0.1:1"), arena=tmp_path / "arena.toml", password="right")
    with (
        TestClient(page, HERE) as known,
        TestClient(page, HERE) as client,
        TestClient(page, HERE, client=("10.0.0.9", 1)) as other,
    ):
        assert known.get("/arena", headers=basic("right")).status_code == 200
        tried = [client.get("/arena", headers=basic(f"w{n}")).status_code for n in range(TRIES + 3)]
        assert tried == [401] * TRIES + [429] * 3
        assert client.get("/arena").status_code == 401  # a browser asks for the password
        late = client.get("/arena", headers=basic("right"))
        assert late.status_code == 429  # or a guess would be worth its answer
        assert "wait 6 s" in late.text
        # Others are not kept out, and neither is who has given it before.
        assert other.get("/arena", headers=basic("right")).status_code == 200
        assert known.get("/arena", headers=basic("right")).status_code == 200
        assert known.get("/arena", headers=basic("wrong")).status_code == 401


def test_wrong_access_tokens_cost_an_address_time(arena: tuple[Any, ArenaStore]) -> None:
    page, _ = arena
    with TestClient(page, HERE) as client:
        tried = [sign_in(client, f"token {n}") for n in range(TRIES + 1)]
        assert tried == [403] * TRIES + [429]
        assert sign_in(client) == 429
    with TestClient(page, HERE, client=("10.0.0.9", 1)) as other:
        assert sign_in(other) == 200


def test_tries_come_back_and_few_addresses_are_remembered() -> None:
    attempts = Attempts()
    for _ in range(TRIES):
        assert attempts.wait("a", 0.0) == 0.0
        attempts.failed("a", 0.0)
    assert attempts.wait("a", 0.0) == pytest.approx(REST)
    assert attempts.wait("a", REST + 0.01) == 0.0
    assert attempts.wait("b", 0.0) == 0.0
    for number in range(2 * MOST):
        attempts.failed(str(number), 0.0)
    assert len(attempts._left) <= MOST
    # All addresses together may not try without end either.
    assert attempts.wait("new", 0.0) == pytest.approx(REST / IN_ALL)


def test_an_ipv6_network_is_one_visitor() -> None:
    assert network("2001:db8:1:2:3::4") == network("2001:db8:1:2:ffff::9")
    assert network("2001:db8:1:2::4") != network("2001:db8:1:3::4")
    assert network("::ffff:10.0.0.9") == network("10.0.0.9") != network("10.0.0.8")
    assert network("::1") == "::1"
    assert network("testclient") == "testclient"


# -- a browser ------------------------------------------------------------------------------------

ATTACK = """<!doctype html><form method="post" action="{url}operator">
<input name="csrf" value="{stamp}"><input name="do" value="ban"><input name="who" value="alice"><input name="sure" value="1"></form>
<script>document.cookie = "{cookie}; path=/"; document.forms[0].submit();</script>"""


def test_a_page_at_another_port_bans_no_one(
    chromium: Any, arena: tuple[Any, ArenaStore], tmp_path: Path
) -> None:
    page, store = arena
    text = ""

    class Attacker(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *given: Any) -> None:
            pass

    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    with served(Doors(100), page) as (host, port), HTTPServer(("127.0.0.1", 0), Attacker) as other:
        url = f"http://{host}:{port}/"
        thread = threading.Thread(target=other.serve_forever)
        thread.start()
        try:
            browser = context.new_page()
            browser.goto(f"{url}arena")
            browser.fill("input[name=token]", "of the operator")
            browser.click("button:has-text('Sign in')")
            browser.wait_for_selector("#archive")
            browser.click("button[aria-label='Pause all of alice']")
            browser.wait_for_selector(".badge:has-text('paused')")  # its own forms work
            with httpx.Client(base_url=url) as visitor:
                shown = visitor.get("arena").text
                stamp = shown.partition('name="csrf" value="')[2].partition('"')[0]
                name, value = next(iter(visitor.cookies.items()))
            text = ATTACK.format(url=url, stamp=stamp, cookie=f"{name}={value}")
            browser.goto(f"http://127.0.0.1:{other.server_port}/")
            browser.wait_for_url("**/operator")
            assert "Another page may not do this" in browser.inner_text("body")
            assert store.entrants() == {"alice": "paused"}
            browser.goto(f"{url}operator")
            assert browser.locator("#archive").count() == 1  # still signed in
        finally:
            other.shutdown()
            thread.join()
            context.close()


def test_a_visitor_who_leaves_in_the_middle_of_a_form_is_no_fault_of_the_page() -> None:
    app = application(Hub("tcp://127.0.0.1:1"))
    body: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"}]
    )
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        return next(body)

    async def send(message: Any) -> None:
        said.append(message)

    headers = {"Host": "127.0.0.1:8757", "Origin": HERE, "Sec-Fetch-Site": "same-origin"}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/play/connect_four",
        "raw_path": b"/play/connect_four",
        "query_string": b"",
        "scheme": "http",
        "client": ("127.0.0.1", 1),
        "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
    }

    async def asked() -> None:
        await app(scope, receive, send)

    loops.run(asked())
    assert said[0]["status"] == 400
