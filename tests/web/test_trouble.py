"""Trouble around the page: each kind is one clear line, and nothing else is disturbed."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from dovetail import DovetailError, Experiment
from dovetail.protocol.journal import EpisodeRecord, write
from dovetail.protocol.messages import Episode, SeatResult
from dovetail_web import app, writing
from dovetail_web.app import application
from dovetail_web.games import Game
from dovetail_web.hub import MOST_SHOWN, Hub

from .conftest import Served, web
from .playing import begin, newest

NONSENSE = """
from dovetail_games.connect_four import ConnectFour
from dovetail.protocol.scenes import Cell, Piece, Scene

class Nonsense(ConnectFour):
    name = "nonsense"

    def scene(self, seat=None):
        return Scene(1, 1, [Cell(0, 0)], [Piece(99, "disc")])

    def text(self, seat=None):
        return "<b id=bold>" + "x" * 30_000
"""


@contextmanager
def broker(folder: Path, address: str) -> Iterator[str]:
    """Run a broker; yield where it is."""
    line = [sys.executable, "-m", "dovetail", "broker", "--bind", address, "--journal", "none"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    env.pop("DOVETAIL_TOKEN", None)
    with subprocess.Popen(line, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            yield next(word for word in said.split() if word.startswith("tcp://"))
        finally:
            process.kill()


def test_a_broker_that_goes_away_and_comes_back(page: Any, tmp_path: Path) -> None:
    with ExitStack() as stack:
        with broker(tmp_path, "tcp://127.0.0.1:*") as address:
            options = "--connect", address, "--name", "play.example.org"
            _, url = stack.enter_context(web(tmp_path, *options))
            for name, status in (("play.example.org", 200), ("example.org", 400)):
                assert httpx.get(url, headers={"Host": name}).status_code == status
            page.goto(f"{url}now")
            page.wait_for_selector("#counts:has-text('On offer: 0 games')")
            assert page.inner_text("#problem") == ""
        page.wait_for_selector("#problem:has-text('The broker does not answer')", timeout=60_000)
        assert "\n" not in page.inner_text("#problem").strip()
        with broker(tmp_path, address):
            page.wait_for_selector("#problem:empty", state="attached", timeout=60_000)
            page.goto(url)
            page.wait_for_selector("#play p:has-text('No game is connected')")
            line = [sys.executable, "-m", "dovetail", "env", "connect_four", "--connect", address]
            with subprocess.Popen(line) as games:
                try:
                    page.wait_for_selector(".tile[data-name=connect_four]", timeout=60_000)
                finally:
                    games.kill()


def test_a_scene_that_makes_no_sense_is_one_line_beside_the_text(
    page: Any, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "nonsense.py").write_text(NONSENSE)
    line = [sys.executable, "-m", "dovetail", "env", f"{tmp_path}/nonsense.py:Nonsense"]
    with subprocess.Popen([*line, "--connect", served.broker], cwd=tmp_path) as program:
        try:
            served.offers("nonsense")
            begin(page, served.url, "nonsense")
            said = page.inner_text("#say")
            assert "The scene cannot be drawn: a piece lies on a cell that is not there" in said
            assert "\n" not in said
            shown = page.inner_text("#text")
            assert shown.startswith("<b id=bold>xxx")
            assert len(shown) <= 20_000
            assert page.locator("#bold").count() == 0
            page.locator("#buttons button").first.click()
            page.wait_for_selector("#log [data-turn='2']")
            page.click("#resign")
            page.click("#ask-resign [value=yes]")
            page.wait_for_selector("#game[data-over=true]")
            # This game is not installed here: its program plays it again.
            replay = newest(served.url, "nonsense")
            again = httpx.get(f"{replay}/positions", timeout=60).json()
            assert again["problem"] == ""
            assert [each["turn"] for each in again["positions"]] == [0, 1, 2]
            assert again["positions"][2]["text"].startswith("<b id=bold>xxx")
            assert httpx.get(f"{served.url}replay").text.count("nonsense</a>") == 1
        finally:
            program.terminate()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_games_end_with_the_page(tmp_path: Path, number: signal.Signals) -> None:
    with web(tmp_path, "--games") as (process, url):
        assert process.stdout is not None
        broker = process.stdout.readline().split()[-1]
        if number == signal.SIGKILL:  # programs that find no broker end by themselves
            Served(url, tmp_path, broker).offers("connect_four")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 3  # games, players, and the one that stands in for those
        watched = [os.pidfd_open(int(each)) for each in children]
        process.send_signal(number)
        assert process.wait(30) == (0 if number == signal.SIGTERM else -number)
    for each in watched:
        assert select.select([each], [], [], 30)[0], "a program outlives the page"
        os.close(each)


SLOW = """
from dovetail import Agent

class Slow(Agent):
    def __init__(self, *given):
        print("making", flush=True)
        input()

    def step(self, decision):
        raise AssertionError
"""


def test_the_page_ends_while_someone_waits_for_an_agent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    with ExitStack() as stack:
        address = stack.enter_context(broker(tmp_path, "tcp://127.0.0.1:*"))
        peers = []
        for kind, name in (("env", "connect_four"), ("agent", "slow.py:Slow")):
            line = [sys.executable, "-m", "dovetail", kind, name, "--connect", address]
            pipe = subprocess.PIPE
            peers.append(subprocess.Popen(line, cwd=tmp_path, text=True, stdin=pipe, stdout=pipe))
            stack.callback(peers[-1].wait)
            stack.callback(peers[-1].kill)
        process, url = stack.enter_context(web(tmp_path, "--connect", address))
        Served(url, tmp_path, address).offers("connect_four", "slow")
        client = stack.enter_context(httpx.Client(base_url=url))
        form = client.get("play/connect_four").text
        stamp = form.partition('name="csrf" value="')[2].partition('"')[0]
        seats = {"seat.0": "slow", "seat.1": "slow"}
        pool = stack.enter_context(ThreadPoolExecutor(1))
        asked = pool.submit(client.post, "play/connect_four", data={"csrf": stamp, **seats})
        assert peers[1].stdout is not None
        assert "making\n" in peers[1].stdout
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0  # the request alone would take a minute
        assert "The page has ended: try again when it runs" in asked.result(20).text
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"o.rows": "zero"}, "Option rows: &#39;zero&#39; is not valid"),
        ({"o.rows": "x" * 10_001}, "Option rows: at most 10000 characters"),
        ({"seed": "soon"}, "The seed: give a whole number"),
        ({"clock": "long"}, "The clock: give seconds"),
        ({"clock": "-1"}, "The clock: give seconds"),
        (
            {"seat.1": "alpha-beta", "a.1.": "alpha-beta", "a.1.depth": "deep"},
            "Player 2, alpha-beta: Option depth: &#39;deep&#39; is not valid",
        ),
        ({"seat.1": "nobody <b>"}, "nobody &lt;b&gt;"),
        ({"seat.0": ""}, "Choose who is player 1"),
        ({"seat.1": ""}, "This game has 2 players; you have chosen 1"),
        ({"o.rows": "9" * 30}, "is not valid; give a whole number from 1 to 20"),
    ],
)
def test_a_form_with_impossible_answers(served: Served, given: dict[str, str], what: str) -> None:
    with httpx.Client(base_url=served.url) as client:
        form = client.get("play/connect_four").text
        stamp = form.partition('name="csrf" value="')[2].partition('"')[0]
        answer = client.post("play/connect_four", data={"csrf": stamp, "seat.0": "random", **given})
    assert answer.status_code == 400
    assert what in answer.text
    assert answer.text.count('role="alert"') == 1


def test_a_name_of_ten_thousand_characters_with_markup(page: Any, served: Served) -> None:
    page.goto(f"{served.url}play/connect_four")
    page.evaluate("document.querySelector('input[name=\"name.0\"]').maxLength = 20000")
    page.fill("input[name='name.0']", "<img src=x onerror=alert(1)>" * 400)
    page.select_option("select[name='seat.1']", "random")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")
    assert "<img src=x" in page.inner_text("#seats")
    assert len(page.inner_text("#status")) < 300
    assert page.locator("#game img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1200


def test_the_list_of_replays_names_who_won(tmp_path: Path) -> None:
    seats = [SeatResult("x", 0), SeatResult("y", 1)]
    write(
        tmp_path / "journal",
        [
            EpisodeRecord(
                Episode(1, 1, 9, 5, "terminated", seats, outcome=outcome),
                *("connect_four", {}, "evaluate", []),
                names=["Ann", "Bob"],
            )
            for outcome in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 1.0])
        ]
        + [EpisodeRecord(Episode(1, 1, 9, 5, "cancelled", seats), "dots", {}, "evaluate", [])],
    )
    hub = Hub("tcp://127.0.0.1:9")  # never started
    with TestClient(application(hub, journal=tmp_path / "journal"), "http://127.0.0.1") as client:
        rows = client.get("/replay").text.split("<tr>")[2:]
        # Until its board is there, a game's picture stands in its place.
        (picture,) = re.findall('<img src="([^"]+)"', client.get("/replay/1").text)
        assert picture.endswith("/game-connect_four.svg")
        assert client.get(picture, follow_redirects=False).status_code == 200
        for whose, count in (("Connect", 4), ("bOB", 4), ("carl", 0)):
            assert client.get(f"/replay?of={whose}").text.count('href="/replay/') == count
        assert "No recorded game has this name" in client.get("/replay?of=carl").text
        for wanted, count in (
            ("game=connect_four", 4),
            ("game=dots", 0),
            ("of=bob&result=won", 2),
            ("of=bob&result=lost", 1),
            ("result=won", 3),
            ("result=draw", 1),
            ("result=cut", 0),
        ):
            text = client.get(f"/replay?{wanted}").text
            assert text.count('href="/replay/') == count, wanted
            assert ("No recorded game fits." in text) == (count == 0)
    said = [re.findall("<td>([^<]*)</td>", row)[-1] for row in rows]
    assert said == ["Bob won", "Draw", "Bob won", "Ann won"]
    strong = [re.findall("<strong>(.*?)</strong>", row) for row in rows]
    assert strong == [["Bob"], [], ["Bob"], ["Ann"]]


def test_a_long_game_is_shown_before_those_that_are_over() -> None:
    hub = Hub("tcp://127.0.0.1:9")  # never started
    for number in range(2 * MOST_SHOWN):
        hub.games[number] = Game(number, number, "2048", ["td"], over=number > 0)
        hub.games[number].keep(0, b"{}")
    shown = [each["episode"] for each in hub.now({})["games"]]
    assert shown[:2] == [0, 2 * MOST_SHOWN - 1]
    assert len(shown) == MOST_SHOWN


def test_no_filter_of_a_loop_asks_for_its_place() -> None:
    """There, ``loop`` is that of the loop around it."""
    for file in (Path(app.__file__).parent / "templates").glob("*.html"):
        assert not re.findall(r"\bfor [^%]* if [^%]*\bloop\b", file.read_text()), file.name


def test_a_journal_that_is_cut_off_or_is_none(results: Path, tmp_path: Path) -> None:
    journal = tmp_path / "cut.journal"
    whole = next(results.glob("trials/*/*.journal")).read_bytes()
    journal.write_bytes(whole[:-7])
    other = tmp_path / "other.journal"
    other.write_bytes(b"not a journal at all")
    hub = Hub("tcp://127.0.0.1:9")  # never started
    with TestClient(application(hub, journal=journal), "http://127.0.0.1") as client:
        listed = client.get("/replay")
        assert listed.status_code == 200
        assert "/replay/" in listed.text
        unknown = client.get("/replay/999999")
        assert (unknown.status_code, "There is no replay 999999." in unknown.text) == (404, True)
        missing = client.get("/replay/999999/positions")
        assert missing.status_code == 404
        assert "cannot be replayed: there is no replay 999999" in missing.json()["problem"]
    with TestClient(application(hub, journal=other), "http://127.0.0.1") as client:
        answer = client.get("/replay")
    assert answer.status_code == 500
    assert answer.text.count('role="alert"') == 1
    assert "is not a Dovetail journal" in answer.text


def test_what_the_page_was_not_started_with_is_said(results: Path) -> None:
    hub = Hub("tcp://127.0.0.1:9")  # never started
    asked = {
        "/results": "Start the page with --store OUT to show results.",
        "/results/0/1": "Start the page with --store OUT to show results.",
        "/arena": "Start the page with --arena FILE to show an arena.",
        "/replay": "Start the page with --journal FILE to replay games.",
        "/resultsets": "There is no page at this address.",
    }
    with TestClient(application(hub), "http://127.0.0.1") as client:
        for path, text in asked.items():
            answer = client.get(path)
            assert (answer.status_code, text in answer.text) == (404, True), path
    with TestClient(application(hub, stores=[str(results)]), "http://127.0.0.1") as client:
        assert "There is no page at this address." in client.get("/results/nowhere").text


def test_agents_are_written_only_where_the_client_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(writing, "PLACES", (tmp_path,))
    app = application(Hub("tcp://127.0.0.1:9"), peers="ws://127.0.0.1:9")  # never started
    with TestClient(app, "http://127.0.0.1") as client:
        assert 'href="/write"' not in client.get("/").text
        answer = client.get("/write")
        assert (answer.status_code, "make -C clients/typescript build" in answer.text) == (
            404,
            True,
        )
        (tmp_path / "browser").mkdir()
        (tmp_path / "browser" / "index.js").touch()
        assert 'href="/write" aria-current="page"' in client.get("/write").text


def test_numbers_of_many_digits_are_of_no_page(results: Path) -> None:
    hub = Hub("tcp://127.0.0.1:9")  # never started
    page = application(hub, journal=results, stores=[str(results)])
    with TestClient(page, "http://127.0.0.1") as client:
        for number in ("9" * 19, "9" * 5_000):
            for path in (
                f"/game/{number}",
                f"/game/1/turn/{number}",
                f"/game/{number}/turn/1.svg",
                f"/replay/{number}",
                f"/replay/1/turn/{number}.svg",
                f"/results/{number}/1",
                f"/results/0/{number}",
            ):
                assert client.get(path).status_code == 404, path[:40]


@pytest.mark.parametrize(
    "text", ["[" * 20_000 + "]" * 20_000, '{"about":', ""], ids=["nested", "cut off", "empty"]
)
def test_what_a_browser_cannot_say_closes_its_connection(text: str) -> None:
    page = application(Hub("tcp://127.0.0.1:9"))  # never started
    here = "http://127.0.0.1"
    with (
        TestClient(page, here) as client,
        client.websocket_connect("ws://127.0.0.1/live", headers={"Origin": here}) as live,
    ):
        live.send_text(text)
        while (event := live.receive())["type"] == "websocket.send":
            pass
        assert (event["type"], event["code"]) == ("websocket.close", 4400)


def test_the_page_of_an_arena_says_how_the_arena_is_started() -> None:
    hub = Hub("tcp://127.0.0.1:9", start="`dovetail arena town.toml`")  # never started
    with pytest.raises(DovetailError, match="no broker answers at") as refused:
        Experiment.connect("tcp://127.0.0.1:9", wait=0.1)
    hub._gone(str(refused.value))
    assert hub.problem.endswith("; start one with `dovetail arena town.toml`")
