"""The arena's pages: what they show, to whom, and that names are text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dovetail.broker.durable.journal import Journal
from dovetail.protocol.journal import EpisodeRecord
from dovetail.protocol.messages import Episode
from dovetail.transport import keys
from dovetail_experiments.arena import archive
from dovetail_experiments.arena.description import OWN
from dovetail_experiments.arena.games import ArenaGame
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_web.app import application
from dovetail_web.arena_figures import POINTS, curve
from dovetail_web.hub import Hub

ARENA = """
name = "Course <1>"

[[ladders]]
name = "four"
game = "connect_four"
"""
NAME = "<script>alert(1)</script>"


def game(number: int, winner: int, fault: str = "") -> ArenaGame:
    scores = [float(seat == (winner + number) % 2) for seat in range(2)]
    return ArenaGame(
        number,
        [number, 1 - number],
        scores,
        scores,
        [4, 4],
        [0.5, 0.25],
        reason="crashed" if fault else "terminated",
        blame=scores.index(0.0) if fault else None,
        message=fault,
    )


@pytest.fixture
def hub() -> Hub:
    """Return a hub that is never started."""
    return Hub("tcp://127.0.0.1:1")


@pytest.fixture
def arena(tmp_path: Path, hub: Hub) -> Iterator[tuple[TestClient, ArenaStore, dict[str, str]]]:
    """Return a browser, the store, and the entrants' tokens."""
    file = tmp_path / "arena.toml"
    file.write_text(ARENA)
    with ArenaStore(tmp_path / "arena" / FILE, create=True) as store:
        tokens = {name: store.invite(name) for name in ("alice", "bob")}
        one = store.enter("four", "alice", NAME)
        other = store.enter("four", "", "random")
        for number in range(4):
            unit = store.plan(1, "four", 0, [one, other])
            fault = "secret line <b>" if number == 3 else ""
            store.finish(1, unit, [game(0, 1, fault), game(1, number % 2)], 3)
        journal = Journal(tmp_path / "arena" / "journal")
        results = Episode(1, 1, 9, 5, "terminated", [])
        journal.write(
            [
                EpisodeRecord(results, "connect_four", {}, "evaluate", [], label=label)
                for label in ("four/20/1", "four/2/1", "four/2/2")
            ]
        )
        journal.close()
        (tmp_path / "arena" / "token").write_text("of the operator\n")
        app = application(hub, arena=file, hosts=("testserver",))
        with TestClient(app) as client:
            yield client, store, tokens


def test_ladders_and_agents(arena: tuple[TestClient, ArenaStore, dict[str, str]]) -> None:
    client, store, _ = arena
    number = next(iter(store.players()))
    for path in ("/arena", "/arena/four", f"/arena/four/{number}", "/arena/four/wall"):
        text = client.get(path).text
        assert NAME not in text
        assert "<1>" not in text
    shown = client.get(f"/arena/four/{number}").text
    assert "alice/&lt;script&gt;" in shown
    assert "over 4 units" in shown
    assert "0.1250" in shown  # seconds for a decision in the first seat
    assert "0.0625" in shown
    rows = client.get("/arena/four/wall.json").json()["rows"]
    assert [(row["name"], row["units"]) for row in rows] == [("random", 4), (f"alice/{NAME}", 4)]
    store.season("next")
    assert "Season next" in client.get("/arena/four").text
    assert "over 4 units" in client.get(f"/arena/four/{number}?season=1").text
    for path in ("/arena/x", "/arena/four/99", "/arena?season=y", "/play"):
        assert client.get(path).status_code == 404


def test_tables_are_saved_as_csv(arena: tuple[TestClient, ArenaStore, dict[str, str]]) -> None:
    client, store, tokens = arena
    number = next(iter(store.players()))

    def rows(path: str) -> list[dict[str, str]]:
        (link,) = re.findall(f'href="({path}[^"]*)"', client.get(path.rpartition("/")[0]).text)
        answer = client.get(link)
        assert answer.headers["content-type"].startswith("text/csv")
        return list(csv.DictReader(io.StringIO(answer.text)))

    first, second = rows("/arena/four/table.csv")
    assert (first["agent"], second["agent"]) == ("random", f"alice/{NAME}")
    assert float(first["elo_low"]) < float(first["elo"]) < float(first["elo_high"])
    games = f"/arena/four/{number}/games.csv"
    listed = rows(games)
    assert (len(listed), listed[0]["against"], "message" in listed[0]) == (8, "random", False)
    assert sign_in(client, tokens["alice"]) == 200
    assert {row["message"] for row in rows(games)} == {"", "secret line <b>"}
    for path in ("/arena/four/99/games.csv", "/arena/x/table.csv"):
        assert client.get(path).status_code == 404


def test_what_went_wrong_is_shown_to_its_entrant_only(
    arena: tuple[TestClient, ArenaStore, dict[str, str]],
) -> None:
    client, store, tokens = arena
    path = f"/arena/four/{next(iter(store.players()))}"

    def shows(token: str) -> bool:
        assert sign_in(client, token) in (200, 403)
        return "secret line &lt;b&gt;" in client.get(path).text

    assert "secret line" not in client.get(path).text
    assert not shows("x")
    assert not shows(tokens["bob"])
    assert shows(tokens["alice"])
    assert client.post("/arena/mine", data={"token": tokens["bob"]}).status_code == 403
    client.cookies.clear()
    for forged in ("alice:0", "alice:", "no one:"):
        shown = client.get(path, headers={"cookie": f"dovetail-entrant={forged}"}).text
        assert "secret line" not in shown
    # A token that is replaced signs out who has shown it, and so does a ban.
    assert shows(tokens["alice"])
    again = store.invite("alice")
    assert "secret line" not in client.get(path).text
    assert shows(again)
    store.mark("alice", "banned", "")
    assert "secret line" not in client.get(path).text


def sign_in(client: TestClient, given: str) -> int:
    form = {"csrf": stamp(client, "/arena"), "token": given}
    return client.post("/arena/mine", data=form).status_code


def stamp(client: TestClient, path: str) -> str:
    return client.get(path).text.partition('name="csrf" value="')[2].partition('"')[0]


def test_an_entrant_signs_in_by_a_code_that_its_key_has_shown(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], hub: Hub, tmp_path: Path
) -> None:
    _, store, tokens = arena
    (tmp_path / "arena.toml").write_text(f"keys = true\n{ARENA}")
    app = application(hub, arena=tmp_path / "arena.toml", hosts=("testserver",))
    key = keys.make()
    store.admit("alice", key.public)
    path = f"/arena/four/{next(iter(store.players()))}"
    with TestClient(app) as client, TestClient(app) as other:
        for secret in (tokens["alice"], key.public, key.secret):  # void, or not for the page
            assert sign_in(client, secret) == 403

        pages: dict[TestClient, str] = {}

        def code(browser: TestClient) -> str:
            """Return the code of a page that is opened now; its form is sent by ``enter``."""
            pages[browser] = browser.get("/arena").text
            return shown(browser)

        def shown(browser: TestClient) -> str:
            found = re.search("dovetail arena sign-in ([0-9a-f]{16})<", pages[browser])
            assert found
            return found[1]

        def enter(browser: TestClient) -> int:
            secret = re.search('name="code" value="([0-9a-f]+)"', pages[browser])
            assert secret
            form = {"csrf": stamp(browser, "/arena"), "code": secret[1]}
            answer = browser.post("/arena/mine", data=form)
            if answer.status_code == 403:
                before, pages[browser] = shown(browser), answer.text
                assert shown(browser) == before  # the same page again, with what is wrong
            return answer.status_code

        def connected(entrant: str, state: str = "ready") -> None:
            name = f"sign-in-{shown(client)}"
            hub.catalogue = {"peers": [{"name": name, "state": state, "entrant": entrant}]}

        assert len({code(client), code(client), code(other)}) == 3
        assert enter(client) == 403
        for entrant in ("", "carol", "baseline:four/random"):
            connected(entrant)
            assert enter(client) == 403
        connected("alice", "away")
        assert enter(client) == 403
        connected("alice")
        assert enter(other) == 403  # the code is for one browser
        store.mark("alice", "banned", "")
        assert enter(client) == 403
        store.mark("alice", "active", "")
        assert enter(client) == 200
        assert "You are <b>alice</b>" in client.get("/arena").text
        text = client.get(path).text
        for each in ("secret line &lt;b&gt;", 'id="faults"', 'id="log"', "invited alice"):
            assert each in text
        baseline = client.get(f"/arena/four/{max(store.players())}").text
        assert 'id="log"' not in baseline
        client.post("/arena/mine", data={"csrf": stamp(client, "/arena"), "leave": "1"})
        text = client.get(path).text
        for each in ("secret line", 'id="faults"', 'id="log"'):
            assert each not in text
        code(client)
        connected(OWN)
        assert enter(client) == 200
        assert client.get("/operator").status_code == 200


def test_the_operator_administers(arena: tuple[TestClient, ArenaStore, dict[str, str]]) -> None:
    client, store, tokens = arena

    def do(what: str, who: str = "", text: str = "") -> Any:
        form = {"csrf": stamp(client, "/operator"), "do": what, "who": who, "text": text}
        return client.post("/operator", data=form)

    for given, status in (("", 403), (tokens["alice"], 403), ("of the operator", 200)):
        if given:
            assert sign_in(client, given) == 200
        assert client.get("/operator").status_code == status
    assert "secret line &lt;b&gt;" in client.get(f"/arena/four/{next(iter(store.players()))}").text
    assert client.post("/operator", data={"do": "note", "text": "forged"}).status_code == 403
    assert do("pause", "alice", "too <b>slow</b>").status_code == 200
    assert {p.why for p in store.players().values() if p.entrant} == {"too <b>slow</b>"}
    assert do("ban", "bob", "cheats").status_code == 200
    assert store.entrants() == {"alice": "paused", "bob": "banned"}
    assert do("resume", "alice").status_code == 200
    failed = do("pause", "x/<i>")
    assert failed.status_code == 400
    assert "There is no entrant or program &#39;x/&lt;i&gt;&#39;" in failed.text
    assert do("note", "alice", "power failure").status_code == 200
    assert do("final").status_code == 200
    assert "is being played (units left: 1)" in client.get("/arena").text
    assert do("final").status_code == 400
    assert do("season", text="spring").status_code == 200
    assert do("season", text="spring").status_code == 400
    assert do("explode").status_code == 400
    shown = client.get("/operator").text
    for text in ("too &lt;b&gt;slow&lt;/b&gt;", "power failure", "Season spring"):
        assert text in shown
    form = {"csrf": stamp(client, "/operator")}
    sent = client.post("/operator/export", data=form)
    assert sent.headers["content-disposition"] == 'attachment; filename="arena.zip"'
    copy = store.path.parent.parent / "copy.zip"
    copy.write_bytes(sent.content)
    file = archive.restore(copy, copy.parent / "copy")
    with ArenaStore(file.parent / "arena" / FILE) as found:
        assert found.log() == store.log()
    client.post("/arena/mine", data={**form, "leave": "1"})
    for path in ("/operator", "/operator/export"):
        assert client.post(path, data=form).status_code == 403


def test_a_replay_is_the_attempt_that_counts(
    arena: tuple[TestClient, ArenaStore, dict[str, str]],
) -> None:
    client, _, _ = arena
    answer = client.get("/arena/four/replay/2/1", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/replay/3")
    assert client.get("/arena/four/replay/2/0").status_code == 404


def test_a_curve_has_few_points() -> None:
    assert curve([(25.0, 8.0)]) is None
    found = curve([(25.0 + n % 7, 3.0) for n in range(5000)])
    assert found is not None
    assert len(found.line.split()) <= POINTS + 1
    assert (found.low, found.high) == (19.0, 37.0)
