"""People at a table take moves back, ask, resign and play again; and what they may see."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from .conftest import PATIENCE, Served
from .playing import CLICK, begin, play_on


def choose(page: Any, nth: int) -> None:
    """Choose the n-th lit place and wait for the next decision, or the end."""
    before = (
        int(page.locator("#log button").last.get_attribute("data-turn") or 0)
        if page.locator("#log button").count()
        else 0
    )
    page.locator(".target").nth(nth).evaluate(CLICK)
    page.wait_for_selector(f"#log [data-turn='{before + 1}']")
    page.wait_for_selector("#game[data-waiting=true], #game[data-over=true]")


def turns(page: Any) -> list[str]:
    found: list[str] = page.locator("#log li").all_inner_texts()
    return found[::-1]


def text_of(frame: str | bytes) -> str:
    """Return a message of the page's server, which compresses long ones."""
    return frame if isinstance(frame, str) else zlib.decompress(frame).decode()


def adviser(page: Any, agent: str) -> None:
    page.click(".menu summary")
    page.select_option("#adviser", agent)
    page.click(".menu summary")


def test_a_move_taken_back_and_made_again_leads_to_the_same_position(page: Any, url: str) -> None:
    begin(page, url, "2048", "", seed="7")
    page.wait_for_selector("#undo:disabled")
    shown = []
    for turn in range(3):
        choose(page, 0)
        page.wait_for_selector(f"#log [data-turn='{turn + 1}']")
        shown.append(page.text_content("#text"))
    assert shown[1] != shown[2]
    page.click("#undo")
    page.wait_for_selector("#log:not(:has([data-turn='3']))")
    page.wait_for_selector("#game[data-waiting=true]")
    page.wait_for_selector("#log [data-turn='1']")
    assert len(turns(page)) == 2
    assert page.text_content("#text") == shown[1]
    choose(page, 0)
    # Where the new tile appears is chance; the seed makes it the same.
    assert page.text_content("#text") == shown[2]


def test_moves_are_taken_back_to_the_first(page: Any, url: str) -> None:
    begin(page, url, "connect_four", "mcts")
    choose(page, 3)
    page.wait_for_selector("#status:has-text('Turn 2. mcts: column ')")
    assert "or press a b c d e f g" in page.inner_text("#prompt")
    signs = {each.get_attribute("d") for each in page.locator("#board .piece path").all()}
    assert len(signs) == 2, "what tells the seats apart beside their colours"
    choose(page, 3)
    for left in (3, 1):
        page.click("#undo")
        page.wait_for_selector(f"#log:not(:has([data-turn='{left}']))", state="attached")
        page.wait_for_selector("#game[data-waiting=true]")
    page.wait_for_selector("#board svg:not(:has(.piece))")
    page.wait_for_selector("#undo:disabled")
    choose(page, 0)
    assert page.locator("#board .piece").count() == 2


def test_an_agent_is_asked_for_a_hint(page: Any, url: str) -> None:
    begin(page, url, "connect_four", seed="3", rows="4", columns="4", connect="3")
    adviser(page, "alpha-beta")
    page.click("#hint")
    page.wait_for_selector("#advice:has-text('alpha-beta would play column')")
    said = page.inner_text("#advice")
    assert page.locator("#board .hinted").count() == 1
    assert page.locator("#log button").count() == 0, "a hint is not a move"
    choose(page, "abcd".index(said.rstrip(".").rpartition(" ")[2]))
    assert page.inner_text("#advice") == ""
    offered = page.locator("#adviser option").all_text_contents()
    assert "alpha-beta" in offered
    assert "dominion-money" not in offered, "it plays another game"
    page.goto(f"{url}replay")
    assert "alpha-beta : alpha-beta" not in page.inner_text("main")


def test_resigning_and_playing_again_from_the_same_seat_and_from_the_other(
    page: Any, url: str
) -> None:
    begin(page, url, "connect_four")
    page.click("#resign")
    page.click("#ask-resign [value=yes]")
    page.wait_for_selector("#game[data-over=true]")
    assert "You resigned" in page.inner_text("#status")
    assert "resigned" in page.inner_text("#status")
    first = page.url
    page.click("#again")
    page.wait_for_url(lambda address: address != first)
    page.wait_for_selector("#seats li:nth-child(1):has-text('you')")
    page.wait_for_selector("#game[data-waiting=true]")
    assert page.locator("#board .piece").count() == 0
    page.click("#resign")
    page.click("#ask-resign [value=yes]")
    page.click("#swap")
    page.wait_for_selector("#seats li:nth-child(2):has-text('you')")
    page.wait_for_selector("#game[data-waiting=true]")
    assert page.locator("#board .piece").count() == 1


def test_two_people_resign_and_go_to_the_next_game_together(
    page: Any, chromium: Any, url: str
) -> None:
    page.goto(f"{url}play/connect_four")
    page.select_option("select[name='seat.1']", "person")
    page.fill("input[name='name.1']", "Bob")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")
    context = chromium.new_context()
    context.set_default_timeout(PATIENCE)
    other = context.new_page()
    other.goto(url.rstrip("/") + page.locator("text=this link").get_attribute("href"))
    other.wait_for_selector("#board svg")
    # It is Ann's turn: a click of Bob's says so, and Bob resigns once it is his.
    other.locator("#board svg").click()
    assert "It is not your turn: Person 1 is to act" in other.inner_text("#say")
    other.click("#resign")
    other.click("#ask-resign [value=yes]")
    other.wait_for_selector("#resign:disabled")
    page.locator(".target").nth(3).evaluate(CLICK)
    page.wait_for_selector("#game[data-over=true]")
    assert page.locator("#undo").is_hidden()
    assert page.locator("#hint").count() == 0
    page.click("#swap")
    page.wait_for_selector("#seats li:nth-child(2):has-text('you')")
    other.click("text=Go to it")
    other.wait_for_selector("#game[data-waiting=true]")
    assert other.locator("#seats li:nth-child(1):has-text('you')").count() == 1
    context.close()


def test_a_click_that_means_nothing_says_why(page: Any, url: str) -> None:
    begin(page, url, "amazons", rows="5", columns="5")

    def at(x: float, y: float) -> str:
        page.evaluate(
            """([x, y]) => {
              const svg = document.querySelector('#board svg');
              const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM());
              const where = {clientX: at.x, clientY: at.y, bubbles: true};
              svg.dispatchEvent(new MouseEvent('click', where));
            }""",
            [x, y],
        )
        said: str = page.inner_text("#say")
        return said

    theirs = page.evaluate(
        """() => {
              const fill = 'var(--piece-2)';
              const made = document.querySelector(`#board .piece [fill="${fill}"]`);
              const [, x, y] = /translate\\((\\S+) (\\S+)\\)/.exec(made.getAttribute('transform'));
              return [+x, +y];
           }"""
    )
    assert "belongs to random, not to you" in at(*theirs)
    page.locator(".target").first.evaluate(CLICK)
    page.wait_for_selector(".picked")
    assert "press Esc to take the last part back" in at(*theirs)


def test_a_person_among_three_agents_sees_one_hand(page: Any, url: str) -> None:
    frames: list[str] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: frames.append(text_of(frame))),
    )
    page.goto(f"{url}play/dominion")
    for seat in (1, 2, 3):
        page.select_option(f"select[name='seat.{seat}']", "dominion-money")
    page.click("#options summary")
    page.fill("input[name='o.players']", "4")
    page.fill("input[name='seed']", "2")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")
    assert page.locator("#seats li").count() == 4
    assert "Copper: +1 coin" in page.locator("#notes li").all_text_contents()
    assert play_on(page, 12) == 12
    hands = 0
    for frame in frames:
        told = json.loads(frame)
        for view in (told.get("position"), told.get("mine")):
            for card in ((view or {}).get("scene") or {}).get("cards", []):
                if card["zone"] in ("hand", "deck") and card.get("owner") is not None:
                    mine = view is told.get("mine") and card["owner"] == 0
                    assert mine or not card.get("name"), card
                    hands += bool(card.get("name"))
    assert hands, "one's own hand is seen"


def test_what_agents_thought_is_drawn_on_the_board(page: Any, url: str) -> None:
    page.goto(f"{url}play/connect_four")
    page.select_option("select[name='seat.0']", "mcts")
    page.select_option("select[name='seat.1']", "alpha-beta")
    page.click("#options summary")
    for name, value in {"rows": "4", "columns": "4", "connect": "3"}.items():
        page.fill(f"input[name='o.{name}']", value)
    page.fill("input[name='seed']", "2")
    page.click("button.main")
    page.wait_for_selector("#game[data-over=true]")
    assert "before the last move" in page.inner_text("#thought")
    assert page.locator("#board .weight").count() == 0
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("Home")
    page.wait_for_selector("#board .weight")
    # The shares of the four columns add up, and one row of the list is lit on the board.
    assert "simulations" in page.inner_text("#thought")
    shares = page.locator("#board .tagged").all_text_contents()
    assert len(shares) == 4
    assert abs(sum(float(each.rstrip(" %")) for each in shares) - 100) <= 2
    rows = page.locator("#values button")
    assert rows.all_inner_texts()[0].startswith("column ")
    before = page.locator("#board .goal").get_attribute("x")
    rows.nth(1).focus()
    assert page.locator("#board .goal").get_attribute("x") != before
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#thought:has-text('alpha-beta')")
    assert page.locator("#board .tagged").count() > 0


PARTS = """
from dovetail import Environment, Spec, Turn, spaces
from dovetail.protocol.scenes import Cell, Choice, Scene

class Parts(Environment):
    name = "parts"
    CHOICES = [("queen", [0, 1]), ("rook", [0, 1]), ("jump", [0, 2]), ("jump twice", [0, 2, 3])]

    def init(self):
        number = spaces.Discrete(5)
        return Spec(seats=1, observation_spaces=[number], action_spaces=[number])

    def start(self, seed):
        self.moved = []
        return Turn.ask(0, 0, [*range(5)])

    def step(self, actions):
        self.moved.append(actions[0])
        return Turn.ask(0, 0, [*range(5)])

    def scene(self, seat=None):
        choices = [Choice(n, name, cells) for n, (name, cells) in enumerate(self.CHOICES)]
        choices.append(Choice(4, "pass"))
        cells = [Cell(float(n), 0.0, name="abcd"[n]) for n in range(4)]
        moved = choices[self.moved[-1]].label if self.moved else ""
        return Scene(4.0, 1.0, cells, choices=choices if seat == 0 else [], moved=moved)
"""


def test_choices_with_equal_parts_and_such_that_go_on(
    page: Any, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "parts.py").write_text(PARTS)
    line = [sys.executable, "-m", "dovetail", "env", f"{tmp_path}/parts.py:Parts"]
    with subprocess.Popen([*line, "--connect", served.broker], cwd=tmp_path) as program:
        try:
            served.offers("parts")
            begin(page, served.url, "parts", "")

            def point(name: str) -> None:
                page.locator(f".target[aria-label^='{name},']").evaluate(CLICK)

            def offered() -> list[str]:
                found: list[str] = page.locator("#buttons button").all_inner_texts()
                return found

            assert offered() == ["pass"]
            point("a")
            assert offered() == []
            assert page.locator(".target").count() == 2
            point("b")
            assert offered() == ["queen", "rook"]
            assert "Choose by a button" in page.inner_text("#prompt")
            page.keyboard.press("Escape")
            page.keyboard.press("Escape")
            assert offered() == ["pass"]
            point("a")
            point("c")
            assert offered() == ["jump (stop here)"]
            assert page.locator(".target[aria-label^='d,']").count() == 1
            page.click("#buttons button")
            page.wait_for_selector("#log [data-turn='1'][aria-label$='You: jump']")
            page.wait_for_selector("#game[data-waiting=true]")
            page.click("text=pass")
            page.wait_for_selector("#log [data-turn='2'][aria-label$='You: pass']")
        finally:
            program.terminate()


def test_a_person_sees_their_own_side_at_the_bottom(page: Any, url: str) -> None:
    page.goto(f"{url}play/rlgame")
    page.select_option("select[name='seat.0']", "random")
    page.select_option("select[name='seat.1']", "person")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")

    def low(text: str) -> float:
        found: str = page.locator(f'#board text:has-text("{text}")').get_attribute("y")
        return float(found)

    page.locator("#board svg[data-turned]").wait_for()
    assert low("Black's base") > 4 > low("White's base")
    own = page.locator("#seats li:has-text('you')").inner_text()
    assert "Black" in own
    assert play_on(page, 1) == 1
    page.goto(url.rstrip("/") + page.locator("#here").get_attribute("href"))
    page.wait_for_selector("#board svg")
    assert low("White's base") > 4 > low("Black's base"), "who watches sees the board as it is"


SLIDES = """
window.slides = 0;
const animate = Element.prototype.animate;
Element.prototype.animate = function (...all) { window.slides += 1; return animate.apply(this, all); };
"""


def test_pieces_slide_unless_the_person_wants_less_motion(chromium: Any, url: str) -> None:
    seen = {}
    for motion in ("no-preference", "reduce"):
        context = chromium.new_context(reduced_motion=motion)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.add_init_script(SLIDES)
        begin(page, url, "2048", "", seed="7")
        for _ in range(3):
            choose(page, 0)
        seen[motion] = page.evaluate("window.slides")
        context.close()
    assert seen["no-preference"] >= 3
    assert seen["reduce"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("level", ["easy", "medium"])
def test_a_first_time_visitor_plays_at_once_and_learns_who_won_and_why(
    page: Any, served: Served, level: str
) -> None:
    served.offers("connect_four", "alpha-beta")
    begun = time.monotonic()
    page.goto(served.url)
    page.click(f".tile[data-name='connect_four'] button[value={level}]")
    page.wait_for_selector("#game[data-waiting=true]")
    play_on(page)
    page.wait_for_selector("#game[data-over=true]")
    said = page.inner_text("#headline")
    assert said.endswith(" won") or said == "Draw"
    assert page.inner_text("#facts").startswith(("Four in a row, ", "The board is full"))
    page.click("#who summary")
    assert f"({level})" in page.inner_text("#who li:visible")
    page.click("#swap")
    page.wait_for_selector("#seats li:nth-child(2):has-text('you')")
    assert time.monotonic() - begun < 60
