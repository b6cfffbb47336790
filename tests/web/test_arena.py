"""The arena's pages: what they show, to whom, and that names are text."""

from __future__ import annotations

import csv
import io
import math
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from dovetail.broker.durable.journal import Journal
from dovetail.protocol.journal import EpisodeRecord, episodes, write
from dovetail.protocol.messages import Episode, SeatResult
from dovetail.transport import keys
from dovetail_experiments.arena import archive
from dovetail_experiments.arena.description import OWN, read
from dovetail_experiments.arena.games import ArenaGame
from dovetail_experiments.arena.store import FILE, ArenaStore
from dovetail_experiments.reports.charts import POINTS, rating
from dovetail_web.app import application
from dovetail_web.arena_site import RENEWAL
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


def led(client: TestClient) -> dict[str, Any]:
    """Return what the hall is sent of a ladder, without having asked again."""
    with client.websocket_connect("/live", headers={"origin": "http://testserver"}) as socket:
        socket.send_json({"about": "wall:connect_four", "ladder": "four"})
        while "leaders" not in (news := socket.receive_json()):
            socket.send_json({"got": True})
        found: dict[str, Any] = news["leaders"]
        return found


def test_ladders_and_agents(arena: tuple[TestClient, ArenaStore, dict[str, str]]) -> None:
    client, store, _ = arena
    number = next(iter(store.players()))
    for path in ("/arena", "/arena/four", f"/arena/four/{number}", "/arena/hall"):
        text = client.get(path).text
        assert NAME not in text
        assert "<1>" not in text
    shown = client.get(f"/arena/four/{number}").text
    assert "alice/&lt;script&gt;" in shown
    assert re.search(r"\"x\":\[1.0,2.0,3.0,4.0\]", shown)
    assert ">0.12<" in shown  # seconds for a decision in the first seat
    assert ">0.062<" in shown
    rows = led(client)["rows"]
    assert [(row["name"], row["units"]) for row in rows] == [("random", 4), (f"alice/{NAME}", 4)]
    store.season("next")
    assert "Season next" in client.get("/arena/four").text
    assert '"across":"matches played"' in client.get(f"/arena/four/{number}?season=1").text
    for path in ("/arena/x", "/arena/four/99", "/arena?season=y", "/play"):
        assert client.get(path).status_code == 404


def test_a_paused_agent_leads_to_its_faults(
    arena: tuple[TestClient, ArenaStore, dict[str, str]],
) -> None:
    client, store, tokens = arena
    store.mark(f"alice/{NAME}", "paused", "too slow")
    states = r'<a href="([^"]+)" title="Its games and faults">.*paused'
    (link,) = re.findall(states, client.get("/arena").text)
    assert "This agent is paused" in client.get(link).text
    assert sign_in(client, tokens["alice"]) == 200
    assert "This agent is paused: too slow" in client.get(link).text


def test_a_page_is_renewed_once_for_all_who_are_not_signed_in(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, store, tokens = arena
    renewal = {RENEWAL: "1"}
    for path in ("/arena", "/arena/four"):
        first = client.get(path, headers=renewal)
        assert 'data-part="season"' in first.text
        assert "set-cookie" not in first.headers
        assert stamp(client, "/arena") not in first.text
        given = {**renewal, "if-none-match": first.headers["etag"]}
        store.season(f"next{path}")
        assert client.get(path, headers=given).status_code == 304  # as it was for others
        assert f"next{path}" in client.get(path).text
        monkeypatch.setattr("dovetail_web.arena_site.time.monotonic", lambda: math.inf)
        assert f"next{path}" in client.get(path, headers=given).text
        monkeypatch.undo()
    assert sign_in(client, tokens["alice"]) == 200
    mine = client.get("/arena/mine", headers=renewal).text
    assert stamp(client, "/arena/mine") in mine
    client.cookies.clear()
    assert client.get("/arena/mine", headers=renewal, follow_redirects=False).status_code == 303


def test_tables_are_saved_as_csv(arena: tuple[TestClient, ArenaStore, dict[str, str]]) -> None:
    client, store, tokens = arena
    number = next(iter(store.players()))

    def rows(path: str) -> list[dict[str, str]]:
        (link,) = re.findall(f'href="({path}[^"]*)"', client.get(path.rpartition("/")[0]).text)
        answer = client.get(link)
        assert answer.headers["content-type"].startswith("text/csv")
        return list(csv.DictReader(io.StringIO(answer.text)))

    first, second = rows("/arena/four/table.csv")
    assert float(first["elo"]) == 0.0  # the only baseline
    assert (first["agent"], second["agent"]) == ("random", f"alice/{NAME}")
    assert float(second["elo_low"]) < float(second["elo"]) < float(second["elo_high"])
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
        for each in (
            "secret line &lt;b&gt;",
            'id="faults"',
            'id="log"',
            "<strong>alice</strong> invited",
        ):
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

    def do(what: str, who: str = "", text: str = "", sure: bool = True) -> Any:
        form = {"csrf": stamp(client, "/operator"), "do": what, "who": who, "text": text}
        return client.post("/operator", data={**form, **({"sure": "1"} if sure else {})})

    for given, status in (("", 403), (tokens["alice"], 403), ("of the operator", 200)):
        if given:
            assert sign_in(client, given) == 200
        assert client.get("/operator").status_code == status
    assert "secret line &lt;b&gt;" in client.get(f"/arena/four/{next(iter(store.players()))}").text
    assert client.post("/operator", data={"do": "note", "text": "forged"}).status_code == 403
    assert do("pause", "alice", "too <b>slow</b>").status_code == 200
    assert {p.why for p in store.players().values() if p.entrant} == {"too <b>slow</b>"}
    for what, who, question in (
        ("ban", "bob", "Ban bob?"),
        ("final", "", "Begin the final of season 1?"),
        ("season", "", "Begin season spring?"),
    ):
        assert question in do(what, who, "spring", sure=False).text
    assert store.entrants() == {"alice": "paused", "bob": "active"}
    assert [each.name for each in store.seasons()] == ["1"]
    banned = do("ban", "bob", "cheats")
    assert store.entrants() == {"alice": "paused", "bob": "banned"}
    assert "<strong>bob</strong> is banned." in banned.text
    assert '<button name="do" value="resume">Undo</button>' in banned.text
    assert do("resume", "bob").status_code == 200
    assert do("ban", "bob", "cheats").status_code == 200
    assert [(e.what, e.by) for e in store.log()[-3:]] == [
        ("banned", "page"),
        ("resumed", "page"),
        ("banned", "page"),
    ]
    assert do("resume", "alice").status_code == 200
    failed = do("pause", "x/<i>")
    assert failed.status_code == 400
    assert "There is no entrant or program &#39;x/&lt;i&gt;&#39;" in failed.text
    assert do("note", "alice", "power failure").status_code == 200
    assert do("final").status_code == 200
    assert "is being played (matches left: 1)" in client.get("/arena").text
    assert do("final").status_code == 400
    assert do("season", text="spring").status_code == 200
    assert do("season", text="spring").status_code == 400
    assert do("explode").status_code == 400
    shown = client.get("/operator").text
    assert "begin of season <strong>spring</strong>" in shown
    assert "Connect Four · " in client.get("/arena").text
    for text in ("too &lt;b&gt;slow&lt;/b&gt;", "power failure", "Season spring"):
        assert text in shown
    form = {"csrf": stamp(client, "/operator")}
    sent = client.post("/operator/export", data=form)
    name = f"Course-1-{time.strftime('%Y-%m-%d')}.zip"
    assert f'filename="{name}"' in sent.headers["content-disposition"]
    assert store.log()[-1].what == "exported"
    copy = store.path.parent.parent / "copy.zip"
    copy.write_bytes(sent.content)
    file = archive.restore(copy, copy.parent / "copy")
    with ArenaStore(file.parent / "arena" / FILE) as found:
        assert found.log() == store.log()[:-1]
    client.post("/arena/mine", data={**form, "leave": "1"})
    for path in ("/operator", "/operator/export"):
        assert client.post(path, data=form).status_code == 403


def test_the_operator_sees_who_is_missing_and_from_where(
    arena: tuple[TestClient, ArenaStore, dict[str, str]],
) -> None:
    client, store, _ = arena
    one, other = store.players()
    store.present({other: "10.0.0.7"}, {})
    assert "10.0.0.7" not in client.get(f"/arena/four/{other}").text
    assert "online" in client.get("/arena/four").text
    assert sign_in(client, "of the operator") == 200
    text = client.get("/operator").text
    for each in ("10.0.0.7", "1 of 2", "bob has never connected", "is missing", "Missing 1"):
        assert each in text
    rows = client.get("/operator?show=missing").text
    assert f"/arena/four/{one}" in rows
    assert f"/arena/four/{other}" not in rows
    assert f"/arena/four/{one}" not in client.get("/operator?find=rand").text
    assert "10.0.0.7" in client.get(f"/arena/four/{other}").text


SUBMISSIONS = """
[submissions]
agents = 1
"""


def test_an_entrant_s_own_page(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], tmp_path: Path
) -> None:
    client, store, tokens = arena
    one, other = store.players()
    assert client.get("/arena/mine", follow_redirects=False).headers["location"] == "/arena"
    assert client.get("/arena/mine/games.journal").status_code == 403
    assert sign_in(client, tokens["alice"]) == 200

    def post(path: str, **given: Any) -> Any:
        return client.post(path, data={"csrf": stamp(client, "/arena/mine"), **given})

    text = client.get("/arena/mine").text
    assert "secret line &lt;b&gt;" in text  # its last fault
    assert "never here" in text
    answer = post("/arena/four/ask", player=[one, other])
    assert answer.status_code == 200
    (asked,) = store.requests("alice")
    assert (asked.players, asked.state) == ([one, other], "waiting")
    assert "itself" in post("/arena/four/ask", player=[one, one]).text
    assert "choose 2 agents" in post("/arena/four/ask", player=[one]).text.lower()
    assert post("/arena/withdraw", unit=asked.unit).status_code == 200
    assert [each.state for each in store.requests()] == ["dropped"]
    assert "has begun" in post("/arena/withdraw", unit=asked.unit).text
    unit = store.ask(1, "four", 0, [one, other], "alice")
    planned = next(each for each in store.planned(1) if each.id == unit)
    store.finish(1, planned, [game(0, 1), game(1, 1)], 3)
    shown = client.get(f"/arena/four/{one}/{other}").text
    assert 'id="practice"' in shown
    assert f"/arena/four/replay/{unit}/0" in shown
    assert "practice" in client.get("/arena/four?practice").text
    assert "invited alice" in client.get("/arena/mine/log.txt").text
    # Bob sees nothing of hers, and asks for no game of hers.
    assert sign_in(client, tokens["bob"]) == 200
    assert "secret line" not in client.get("/arena/mine").text
    assert "must be yours" in post("/arena/four/ask", player=[one, other]).text


def test_an_entrant_takes_its_own_games_away(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], tmp_path: Path
) -> None:
    client, _, tokens = arena
    journal = tmp_path / "arena" / "journal"
    journal.unlink()
    seats = [SeatResult(f"a{n}", n) for n in range(2)]
    results = [Episode(1, 1, 9, 5, "crashed", seats, blame=n, message="why") for n in (0, 1)]
    write(
        journal,
        [
            EpisodeRecord(each, "connect_four", {}, "evaluate", [], names=names)
            for names in (["alice/a", "bob/b"], ["bob/b", "x"])
            for each in results
        ],
    )
    assert sign_in(client, tokens["alice"]) == 200
    assert "dovetail replay FILE" in client.get("/arena/mine").text, "how to open what comes"
    copy = tmp_path / "own.journal"
    copy.write_bytes(client.get("/arena/mine/games.journal").content)
    own = [record.result.message for _, record in episodes(copy)]
    assert own == ["why", ""]  # what went wrong in bob's program is his


def test_an_entrant_uploads_an_agent_where_the_arena_allows_it(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], hub: Hub, tmp_path: Path
) -> None:
    client, store, tokens = arena
    assert sign_in(client, tokens["alice"]) == 200

    def upload(client: TestClient, *files: tuple[str, bytes], name: str = "mine") -> Any:
        data = {"csrf": stamp(client, "/arena/mine"), "name": name}
        return client.post(
            "/arena/submit", data=data, files=[("files", each) for each in files] or None
        )

    assert upload(client, ("a.py", b"a = 1")).status_code == 404
    (tmp_path / "arena.toml").write_text(ARENA.replace("[[l", f"{SUBMISSIONS}\n[[l"))
    with TestClient(application(hub, arena=tmp_path / "arena.toml", hosts=("testserver",))) as on:
        assert upload(on, ("a.py", b"a = 1")).status_code == 403
        assert sign_in(on, tokens["alice"]) == 200
        assert upload(on, ("a.py", b"a = 1")).status_code == 200
        assert upload(on, ("mine.py", b"a = 1"), name="").status_code == 200
        folder = [("bot/agent.py", b"import net"), ("bot/net.py", b"")]
        assert upload(on, *folder).status_code == 200
        assert "is not a ZIP archive" in upload(on, ("a.zip", b"PK")).text
        assert "you have 1 agents here" in upload(on, ("a.py", b"1"), name="x").text.lower()
        one, unnamed, two = store.submissions("alice")
        assert [each.named for each in (one, unnamed, two)] == ["mine.v1", "mine.v2", "mine.v3"]
        assert zipfile.ZipFile(store.submitted / two.file).namelist() == [n for n, _ in folder]
        assert "printed nothing" in on.get(f"/arena/submitted/{one.id}.log").text
        form = {"csrf": stamp(on, "/arena/mine"), "number": str(one.id)}
        assert on.post("/arena/recall", data=form).status_code == 200
        assert store.submissions()[0].state == "withdrawn"
        assert sign_in(on, tokens["bob"]) == 200
        assert on.get(f"/arena/submitted/{one.id}.log").status_code == 404
        form = {"csrf": stamp(on, "/arena/mine"), "number": str(two.id)}
        assert "No such submission" in on.post("/arena/recall", data=form).text
        assert sign_in(on, "of the operator") == 200
        assert "alice/mine.v3" in on.get("/operator").text
        form = {"csrf": stamp(on, "/operator"), "number": str(two.id)}
        assert on.post("/arena/recall", data=form).status_code == 200
        assert store.submissions()[2].state == "withdrawn"
    copy = archive.restore(exported(tmp_path), tmp_path / "copy")
    with ArenaStore(copy.parent / "arena" / FILE) as found:
        assert found.submissions() == store.submissions()
        assert (found.submitted / one.file).read_bytes() == b"a = 1"


def test_an_upload_has_the_state_of_its_rows_and_the_file_is_read_again(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], tmp_path: Path
) -> None:
    client, store, tokens = arena
    assert sign_in(client, tokens["alice"]) == 200
    assert 'name="files"' not in client.get("/arena/mine").text
    (tmp_path / "arena.toml").write_text(ARENA.replace("[[l", f"{SUBMISSIONS}\n[[l"))
    assert 'name="files"' in client.get("/arena/mine").text
    limits = read(tmp_path / "arena.toml").submissions
    assert limits is not None
    number = store.submit("alice", "bad", {"bad.py": b""}, limits)
    store.decided(number, "playing")
    good, warn = (f'<span class="badge {each}' for each in ('good">playing', 'warn">paused'))
    assert good in client.get("/arena/mine").text
    store.enter("four", "alice", "bad.v1")
    why = "3 losses by fault in a row, the last in unit 6661: crashed (ValueError: oops)"
    store.mark("alice/bad.v1", "paused", why)
    for who, path in ((tokens["alice"], "/arena/mine"), ("of the operator", "/operator")):
        assert sign_in(client, who) == 200
        text = client.get(path).text
        assert warn in text
        assert good not in text
        assert f"paused: {why}" in text
    (tmp_path / "arena.toml").write_text("name =")
    assert client.get("/arena").status_code == 200  # as the file said before


def exported(folder: Path) -> Path:
    file, to = folder / "arena.toml", folder / "whole.zip"
    archive.export(file, read(file), to)
    return to


def test_a_replay_is_the_attempt_that_counts(
    arena: tuple[TestClient, ArenaStore, dict[str, str]],
) -> None:
    client, _, _ = arena
    answer = client.get("/arena/four/replay/2/1", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/replay/3")
    assert client.get("/arena/four/replay/2/0").status_code == 404


def test_a_rating_has_a_chart_of_few_points_with_its_band() -> None:
    (line,) = rating("one", [(25.0 + n % 7, 3.0) for n in range(5000)]).lines
    assert len(line.x) <= POINTS + 1
    assert (line.x[0], line.x[-1]) == (1, 5000)
    low, high = ([each for each in edge if each is not None] for edge in (line.low, line.high))
    assert (min(low), max(high)) == (19.0, 37.0)


def test_an_agents_page_shows_its_rating_with_axes(
    arena: tuple[TestClient, ArenaStore, dict[str, str]],
) -> None:
    client, store, _ = arena
    number = next(each.id for each in store.players("four").values())
    text = client.get(f"/arena/four/{number}").text
    assert '"across":"matches played"' in text
    for name in re.findall(r'src="([^"]+(?:plots|uPlot)[^"]*)"', text):
        assert client.get(name).status_code == 200, name


@pytest.mark.parametrize("path", ["/arena", "/arena/four", "/operator"])
def test_the_operators_pages_belong_to_the_arenas_tab(
    arena: tuple[TestClient, ArenaStore, dict[str, str]], path: str
) -> None:
    client, _, _ = arena
    sign_in(client, "of the operator")
    assert re.findall(r'href="([^"]+)" aria-current="page"', client.get(path).text) == ["/arena"]
