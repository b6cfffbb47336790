"""The page in a real browser: games played by clicking, replayed, and looked at on a phone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from .conftest import PATIENCE, Served
from .playing import CLICK, begin, newest, play_on


def test_a_game_played_by_clicking_then_replayed(page: Any, url: str) -> None:
    begin(page, url, "connect_four")
    assert page.locator(".target").count() == 7
    assert "Your turn" in page.inner_text("#status")
    made = play_on(page)
    assert made >= 4
    assert "The game is over" in page.inner_text("#status")
    outcome = page.inner_text("#status")
    # Back to the start by keyboard, and to the end again.
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("Home")
    page.wait_for_selector("#board svg:not(:has(.piece))")
    page.keyboard.press("End")
    page.wait_for_selector("#board svg .piece")
    assert page.inner_text("#status") == outcome
    discs = page.locator("#board .piece").count()
    page.goto(f"{url}replay")
    page.locator("td a").first.click()
    page.wait_for_selector("#board svg")
    assert page.locator("#board .piece").count() == 0
    page.keyboard.press("End")
    page.wait_for_selector("#board svg .piece")
    assert page.locator("#board .piece").count() == discs


def test_a_game_played_by_keyboard_and_by_name(page: Any, url: str) -> None:
    begin(page, url, "connect_four")
    lit = page.locator(".target[tabindex='0']")
    assert lit.count() == 1
    assert re.search("column a.*can be chosen", lit.get_attribute("aria-label") or "")
    lit.focus()
    page.keyboard.press("ArrowRight")
    assert "column b" in (page.locator(":focus").get_attribute("aria-label") or "")
    page.keyboard.press("Enter")
    page.wait_for_selector("#log [data-turn='1'][aria-label$='You: column b']")
    page.wait_for_selector("#game[data-waiting=true]")
    page.wait_for_selector(".target:focus", state="attached")  # one need not go to the board again
    page.fill("#move", "nowhere")
    page.keyboard.press("Enter")
    assert "No legal move" in page.inner_text("#say")
    page.fill("#move", "column f")
    page.keyboard.press("Enter")
    page.wait_for_selector("#log [data-turn='3'][aria-label$=': column f']")
    # The coordinates stand at the rim: seven columns, six rows.
    assert page.locator("#board .files span").all_text_contents() == [*"abcdefg"]
    assert page.locator("#board .ranks span").all_text_contents() == [*"654321"]


def test_two_people_at_two_browsers(page: Any, chromium: Any, url: str) -> None:
    page.goto(f"{url}play/connect_four")
    page.fill("input[name='name.0']", "<b>Ann</b>")
    page.select_option("select[name='seat.1']", "person")
    page.fill("input[name='name.1']", "Bob")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")
    assert "<b>Ann</b>" in page.inner_text("#seats")
    assert page.locator("#seats b, #status b").count() == 0
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    other = context.new_page()
    other.goto(url.rstrip("/") + page.locator("text=this link").get_attribute("href"))
    other.wait_for_selector("#board svg")
    assert other.locator(".target").count() == 0
    page.locator(".target").nth(3).evaluate(CLICK)
    other.wait_for_selector("#game[data-waiting=true]")
    assert other.locator("#board .piece").count() == 1
    other.locator(".target").nth(3).evaluate(CLICK)
    page.wait_for_selector("#game[data-waiting=true]")
    assert page.locator("#board .piece").count() == 2
    # A watcher gets no choices.
    watcher = context.new_page()
    watcher.goto(page.url.partition("?")[0])
    watcher.wait_for_selector("#board svg .piece")
    assert watcher.locator(".target").count() == 0
    assert watcher.locator("#leave").count() == 0
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(chromium: Any, url: str, scheme: Any) -> None:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    try:
        for path in ("", "now", "play/amazons", "replay", "write", "nothing"):
            page.goto(url + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        page.goto(f"{url}play/connect_four")
        page.select_option("select[name='seat.1']", "alpha-beta")
        for summary in page.locator("summary").all():
            summary.click()
        assert page.locator("input[name='a.1.depth']").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        begin(page, url, "connect_four")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        box = page.locator("#board svg").bounding_box()
        assert box is not None
        assert box["width"] / 7 >= 40  # a column can be hit by a thumb
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (colour == "rgb(246, 245, 241)") == (scheme == "light")
    finally:
        context.close()


def test_who_is_turned_away(url: str) -> None:
    answer = httpx.get(url)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert httpx.get(url, headers={"Host": "evil.example"}).status_code == 400
    unstamped = httpx.post(f"{url}play/connect_four", data={"seat.0": "random"})
    assert unstamped.status_code == 403
    wrong = httpx.get(f"{url}play/chess")
    assert (wrong.status_code, "No connected program offers" in wrong.text) == (404, True)
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
        "Origin": "http://evil.example",
    }
    assert httpx.get(f"{url}live", headers=upgrade).status_code == 403


def test_beyond_loopback_a_password_is_asked_for(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "dovetail", "web", "--no-open", "--port", "0"]
    env = {key: value for key, value in os.environ.items() if key != "DOVETAIL_PASSWORD"}
    refused = subprocess.run([*line, "--host", "0.0.0.0"], env=env, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "give a --password-file" in refused.stderr
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    line += ["--connect", "tcp://127.0.0.1:9", "--password-file", str(file)]
    env["PYTHONUNBUFFERED"] = "1"
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert httpx.get(url).status_code == 401
        assert httpx.get(url, auth=("any", "wrong")).status_code == 401
        assert httpx.get(url, auth=("any", "open sesame")).status_code == 200
        # There is no broker: one line says so.
        said = httpx.get(url, auth=("any", "open sesame")).text
        process.send_signal(signal.SIGINT)
        process.wait(20)
    assert "Connecting to the broker" in said or "The broker does not answer" in said


def test_impossible_options_are_named(page: Any, url: str) -> None:
    page.goto(f"{url}play/connect_four")
    page.click("#options summary")
    page.fill("input[name='o.connect']", "20")
    page.select_option("select[name='seat.1']", "random")
    page.click("button.main")
    page.wait_for_selector(".problem:has-text('20 in a row do not fit')")
    assert page.input_value("input[name='o.connect']") == "20"


def test_the_form_has_as_many_seats_as_its_options_say(page: Any, url: str) -> None:
    page.goto(f"{url}play/dominion")
    page.click("#options summary")

    def sitting() -> list[str]:
        return [page.input_value(f"select[name='seat.{seat}']") for seat in range(4)]

    assert sitting() == ["person", "level:medium", "", ""]
    page.select_option("select[name='seat.1']", "dominion-money")
    page.fill("input[name='o.players']", "4")
    page.click("h1")
    assert sitting() == ["person", "dominion-money", "level:medium", "level:medium"]
    page.select_option("select[name='seat.3']", "")
    assert page.input_value("input[name='o.players']") == "3"
    page.click("button.main")
    page.wait_for_selector("#seats li:nth-child(3)")
    assert page.locator("#seats li").count() == 3


def test_an_agent_gets_the_options_that_are_set_for_it(page: Any, url: str) -> None:
    page.goto(f"{url}play/connect_four")
    page.select_option("select[name='seat.0']", "alpha-beta")
    page.select_option("select[name='seat.0']", "person")
    assert page.locator("[name^='a.0.']").count() == 0
    page.select_option("select[name='seat.1']", "alpha-beta")
    assert not page.locator("input[name='name.1']").is_visible()
    page.click("text=Options of alpha-beta")
    page.fill("input[name='a.1.evaluation']", "nonsense")
    page.fill("input[name='a.1.depth']", "1")
    page.uncheck("input[name='a.1.prune']")
    page.click("button.main")
    page.wait_for_selector(".problem:has-text('nonsense')")
    assert page.input_value("select[name='seat.1']") == "alpha-beta"
    assert page.input_value("input[name='a.1.depth']") == "1"
    assert not page.is_checked("input[name='a.1.prune']")
    page.fill("input[name='a.1.evaluation']", "")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")
    assert "depth 1, prune false" in page.inner_text("#seats")


def test_the_first_minute(page: Any, url: str) -> None:
    """Somebody who has just come sees games, plays one, and reads who won and why."""
    page.goto(url)
    page.wait_for_selector("#feature .board")  # the server plays while somebody looks
    tall = page.evaluate(
        """() => [..."89"].map((height) => {
          document.querySelector("#feature .frame").style.setProperty("--ratio", `${8 / height}`);
          document.querySelector("#feature svg.board").setAttribute("viewBox", `0 0 8 ${height}`);
          return document.querySelector("#feature").getBoundingClientRect().height;
        })"""
    )
    assert tall[0] == tall[1], "the wall below jumps from game to game"
    assert page.locator(".tile img").count() == 7
    assert page.locator(".tile:has-text('2048') .seg button").all_inner_texts()[0] == "Play"
    page.click(".tile:has-text('Connect Four') button:text('Easy')")
    page.wait_for_selector("#game[data-waiting=true]")
    assert page.title() == "Your turn: Connect Four · Dovetail"
    assert page.inner_text("#headline") == "Your turn"
    assert "easy" in page.inner_text("#seats")
    page.evaluate("document.querySelector('#say').textContent = 'old'")
    page.click("#hint")
    assert page.inner_text("#say") == ""
    page.click("#sound")  # from now on it sounds
    assert page.get_attribute("#sound", "aria-pressed") == "true"
    play_on(page)
    assert page.inner_text("#headline") in ("You won", "mcts won", "Draw")
    assert re.search(r"Four in a row, \w\d to \w\d|The board is full", page.inner_text("#facts"))
    assert page.inner_text("#seats .who >> nth=0").startswith("You")
    page.goto(page.url.partition("?")[0])  # as a watcher
    page.wait_for_selector("#seats .who:has-text('Person 1')")


BUTTONS = """() => [...document.querySelectorAll("#feature button, .tile .seg button")]
  .filter((each) => each.getBoundingClientRect().bottom <= innerHeight).length"""
"""Counts the buttons in the first screen that seat the visitor."""


@pytest.mark.parametrize("start", [".feature .frame + .info button", ".tile .pic"])
def test_a_phone_seats_a_visitor_at_once(chromium: Any, url: str, start: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    try:
        page.goto(url)
        page.wait_for_selector("#feature .badge")
        assert page.inner_text("#feature .main") == "Play"
        assert page.evaluate(BUTTONS) >= 4
        board = page.locator("#feature .board").bounding_box()
        assert board is not None
        assert board["width"] > 120
        page.locator(start).first.click()
        page.wait_for_selector("#game[data-waiting=true]")
        assert page.locator("#seats :text('medium')").count() == 1
    finally:
        context.close()


def test_the_first_page_leads_back_to_a_game_that_goes_on(page: Any, url: str) -> None:
    page.goto(url)
    page.click(".tile:has-text('Connect Four') button:text('Easy')")
    page.wait_for_selector("#game[data-waiting=true]")
    game = page.url
    page.go_back()
    page.wait_for_selector("#yours")
    assert page.inner_text("#yours").startswith("Your game goes on")
    page.click("text=Continue Connect Four")
    page.wait_for_selector("#game[data-waiting=true]")
    assert page.url == game
    page.click("#resign")
    page.click("#ask-resign [value=yes]")
    page.wait_for_selector("#game[data-over=true]")
    page.go_back()
    page.wait_for_selector("#feature .badge")
    assert not page.is_visible("#yours")
    # One that ended meanwhile, or that the server does not know any more, is not offered.
    for key in (game.partition("table/")[2].partition("?")[0], "nothing"):
        page.evaluate("(each) => localStorage.setItem('games', JSON.stringify([[each, {}]]))", key)
        with page.expect_response(f"**/table/{key}/over"):
            page.reload()
        page.wait_for_selector("#feature .badge")
        assert not page.is_visible("#yours")
        assert page.evaluate("localStorage.getItem('games')") == "[]"


def test_without_scripts_a_line_says_what_is_needed(chromium: Any, url: str) -> None:
    context = chromium.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    try:
        page = context.new_page()
        for path in ("", "now", "play/connect_four"):
            page.goto(url + path)
            assert page.is_visible("noscript p:has-text('This page needs JavaScript')"), path
    finally:
        context.close()


def test_the_form_shows_the_agents_that_play_the_game(page: Any, url: str) -> None:
    page.goto(f"{url}play/connect_four")
    assert page.locator(".mark-of").all_inner_texts() == ["Player 1", "Player 2"]
    shown = page.locator(".option:visible label span").all_inner_texts()
    assert shown == [
        "Height of the board in squares",
        "Width of the board in squares",
        "Discs in a row that win",
        "Seconds for a decision",
    ]
    page.click("aside summary")
    assert "Player 1 begins" in page.inner_text(".rules")
    for width, height in ((1280, 800), (1000, 700), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        fit = page.eval_on_selector(".pic img", "(each) => getComputedStyle(each).objectFit")
        assert fit == "contain", "the whole board is shown"
    offered = page.locator("select[name='seat.1'] option").all_inner_texts()
    assert "mcts" in offered
    assert not {"tetris-player", "dominion-money"} & set(offered)
    assert httpx.get(f"{url}thumbnail/connect_four", follow_redirects=True).text.startswith("<svg")


def test_ending_a_game_asks_and_says_who_did_it(page: Any, chromium: Any, url: str) -> None:
    page.goto(f"{url}play/connect_four")
    page.fill("input[name='name.0']", "Ann")
    page.select_option("select[name='seat.1']", "person")
    page.fill("input[name='name.1']", "Bea")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")
    other = chromium.new_page()
    other.set_default_timeout(PATIENCE)
    other.goto(url.rstrip("/") + page.locator("text=this link").get_attribute("href"))
    other.wait_for_selector("#board svg")
    other.click(".menu summary")
    other.keyboard.press("Escape")
    assert other.locator(".menu[open]").count() == 0
    other.click(".menu summary")
    other.click("#headline")
    assert other.locator(".menu[open]").count() == 0
    other.click(".menu summary")
    other.click("#leave")
    other.click("#ask-leave [value=no]")
    assert page.get_attribute("#game", "data-over") == "false"
    other.click("#leave")
    other.click("#ask-leave [value=yes]")
    page.wait_for_selector("#facts:has-text('Bea ended it.')")
    other.close()


def test_a_replay_plays_by_itself_and_its_turns_can_be_clicked(page: Any, url: str) -> None:
    begin(page, url, "connect_four")
    play_on(page)
    page.goto(newest(url, "connect_four"))
    page.wait_for_selector("#board .board")
    page.click("#log button[data-turn='2']")
    page.wait_for_selector("#log button[data-turn='2'][aria-current]")
    assert page.locator("#board .piece").count() == 2
    page.select_option("#speed", "4")
    page.click("#play")
    page.wait_for_selector("#headline:has-text('won'), #headline:has-text('Draw')")
    page.wait_for_selector("#play[aria-pressed='false']")
    # A click before the turns are there plays them once they are; any step pauses.
    held: list[Any] = []
    page.route("**/positions", lambda route: held.append(route))
    page.reload(wait_until="commit")
    while not held:
        page.wait_for_timeout(50)
    page.click("#play")
    held[0].continue_()
    assert page.locator("#play .bars").is_visible()
    page.wait_for_selector("#log button[data-turn='2'][aria-current]")
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute("#play", "aria-pressed") == "false"
    assert not page.locator("#play .bars").is_visible()


def test_the_last_turn_of_a_game_is_in_sight(page: Any, url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    begin(page, url, "connect_four", "alpha-beta")
    play_on(page)
    page.wait_for_selector("#course svg")
    page.wait_for_timeout(300)
    row, log = (page.locator(each).bounding_box() for each in ("#log [aria-current]", "#log"))
    assert row is not None
    assert log is not None
    assert log["height"] > 4 * row["height"]
    assert log["y"] <= row["y"] + 1
    assert row["y"] + row["height"] <= log["y"] + log["height"] + 1


def test_agents_alone_play_at_a_pace_that_one_can_follow(page: Any, served: Served) -> None:
    served.offers("2048", "ntuple-2048")
    page.goto(served.url)
    page.click("form[data-name='2048'] button[value='watch']")
    page.wait_for_selector("#log [data-turn='1']")
    page.wait_for_timeout(2000)
    turn = int(page.inner_text("#turn").split()[-1])
    assert 2 <= turn <= 10
    numbers = page.locator("#log li > span").all_inner_texts()
    assert numbers[-1] == page.locator("#log button").last.get_attribute("data-turn")


def test_what_lies_at_an_edge_is_whole(page: Any, url: str) -> None:
    begin(page, url, "dominion")
    board = "getComputedStyle(document.querySelector('#board .board'))"
    assert page.evaluate(f"{board}.overflow") == "visible"  # half a line of the outer cards
    page.set_viewport_size({"width": 390, "height": 844})
    begin(page, url, "rlgame")
    cut = "each => each.scrollWidth > each.clientWidth + 1"
    assert not any(each.evaluate(cut) for each in page.locator(".seat small").all())
    assert page.evaluate("getComputedStyle(document.querySelector('.seat')).boxShadow") != "none"
    (free,) = page.locator("#board circle.lit").all()
    assert float(free.get_attribute("cy")) > 7.5  # below the name of the base


def test_nothing_is_live_once_the_server_is_lost(page: Any, url: str) -> None:
    lines: list[Any] = []

    def connected(line: Any) -> None:
        if not lines:
            line.connect_to_server()
        lines.append(line)

    page.route_web_socket("**/live", connected)
    page.goto(url)
    page.wait_for_selector("#feature .badge.now")
    lines[0].close()
    page.wait_for_selector("#feature .badge.now", state="hidden")


def test_each_step_of_a_move_is_told(page: Any, url: str) -> None:
    begin(page, url, "amazons")
    assert page.inner_text("#how p").startswith("Move queens that shoot arrows; the side that")
    page.click("#how summary:text('All rules')")
    assert page.is_visible("#how .rules")
    steps = ("Choose a queen", "Choose where it moves", "Shoot its arrow")
    for way in ("mouse", "keys"):
        page.wait_for_selector("#game[data-waiting=true]")
        for number, what in enumerate(steps, 1):
            assert page.inner_text("#prompt").startswith(f"{what} ({number} of 3")
            if way == "mouse":
                page.locator(".target").first.evaluate(CLICK)
            else:
                page.locator(".target").first.focus()
                page.keyboard.press("Enter")
    # At 200 % a desk's window has so little room that the board has to come first.
    page.wait_for_selector("#game[data-waiting=true]")
    for width, height in ((640, 400), (844, 390)):
        page.set_viewport_size({"width": width, "height": height})
        box = page.locator("#board .board").bounding_box()
        assert box is not None
        assert box["height"] > 240
        assert box["y"] + box["height"] <= height


def test_the_chart_and_the_replay_say_what_they_show(page: Any, served: Served) -> None:
    served.offers("connect_four", "mcts")
    page.goto(f"{served.url}play/connect_four")
    page.select_option("select[name='seat.0']", "mcts")
    page.select_option("select[name='seat.1']", "alpha-beta")
    page.click("button.main")
    page.wait_for_selector("#game[data-over=true]")
    page.wait_for_selector("#course svg")
    ended = page.inner_text("#headline")
    assert "How good the agents find their positions" in page.inner_text("#thoughts h2")
    shown = page.locator("#course text").all_text_contents()
    assert {"Turn", "Value of the position, as the agent to act sees it"} <= set(shown)
    assert page.inner_text("#legend").split() == ["mcts,", "Red", "alpha-beta,", "Yellow"]
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("Home")
    page.wait_for_selector("#headline:text-is('An earlier position')")
    page.goto(newest(served.url, "connect_four"))
    page.wait_for_selector("#headline:text-is('Replay')")
    assert page.inner_text("#facts").startswith(f"{ended}. ")
    assert page.inner_text("#turn").startswith("turn 0 of ")
    assert "to act" not in page.inner_text("#bar") + page.inner_text("#seats")
    page.wait_for_selector("#course svg")  # the page has seen the game


def test_files_are_small_and_kept_by_browsers(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        text = client.get("now").text
        assert "modulepreload" in text
        (script,) = re.findall(r'<script type="module" src="([^"]+)"', text)
        answer = client.get(script)
        assert answer.headers["content-encoding"] == "gzip"
        assert "immutable" in answer.headers["cache-control"]
        assert client.get("static/0/now.js").headers["cache-control"].startswith("no-cache")
        assert client.get("static/nothing.js").status_code == 404
        (style,) = re.findall(r'<link rel="stylesheet" href="([^"]+)"', text)
        folder, _, names = style.rpartition("/")
        parts = [client.get(f"{folder}/{name}").text for name in names.split("+")]
        assert len(parts) > 2
        assert client.get(style).text == "\n".join(parts)
        assert client.get(f"{folder}/style.css+nothing.css").status_code == 404
        assert client.get(f"{folder}/{'+'.join(['style.css'] * 9)}").status_code == 404
