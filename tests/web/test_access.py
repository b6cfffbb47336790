"""Axe-core finds nothing wrong with the pages; and what cannot be measured by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.experiments.arena.programs import Programs, port, until

from dovetail_experiments.arena.store import FILE, ArenaStore

from .conftest import PATIENCE, web
from .playing import begin

PAGES = ("", "now", "play/dominion", "replay", "results", "results/compare?of=0.1&of=0.2")
ARENA = """
name = "Course"
bind = "tcp://127.0.0.1:{port}"

[[ladders]]
name = "four"
game = "connect_four"
configuration = {{ rows = 4, columns = 4, connect = 3 }}
openings = 1

[[ladders.baselines]]
name = "random"
type = "random"

[[ladders]]
name = "quiet"
game = "connect_four"

[[ladders.baselines]]
name = "random"
type = "random"
"""
FAULTY = """
from dovetail import Agent

class Faulty(Agent):
    def step(self, decision):
        raise ValueError("no idea")
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str, int]]:
    """Return the page of a running arena, the tokens of an entrant and the operator, and the number
    of a paused agent."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "arena.toml").write_text(ARENA.format(port=port()))
    (folder / "faulty.py").write_text(FAULTY)
    programs = Programs(folder)
    try:
        alice = programs.invited("alice")
        programs.start("arena", "arena.toml")
        programs.start("agent", "random", **alice)
        programs.start("agent", "faulty.py:Faulty", **alice)
        with ArenaStore(folder / "arena" / FILE) as store:

            def paused() -> int | None:
                players = store.players("four").values()
                return next((each.id for each in players if each.state == "paused"), None)

            number = until(lambda: store.latest(1, "four") > 8 and paused())
        with web(folder, "--arena", "arena.toml") as (_, url):
            operator = (folder / "arena" / "token").read_text().strip()
            yield url, alice["DOVETAIL_TOKEN"], operator, number
    finally:
        programs.end()


def found(page: Any, **options: Any) -> list[str]:
    """Return what axe finds, a line each."""
    result = Axe().run(page, options={"resultTypes": ["violations"], **options})
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in result.response["violations"]
        for node in each["nodes"]
    ]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(chromium: Any, url: str, scheme: Any) -> None:
    # Our own policy lets no script of a test in.  In the dark only the colours are others.
    only = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
    context = chromium.new_context(
        bypass_csp=True, color_scheme=scheme, viewport={"width": 400, "height": 800}
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    try:
        begin(page, url, "dominion")
        assert found(page, **only) == []
        for path in PAGES:
            page.goto(url + path)
            page.wait_for_load_state()
            assert found(page, **only) == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
    finally:
        context.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_arena(
    chromium: Any, course: tuple[str, str, str, int], scheme: Any
) -> None:
    url, token, operator, number = course
    only = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
    context = chromium.new_context(
        bypass_csp=True, color_scheme=scheme, viewport={"width": 400, "height": 800}
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()

    def look(path: str, shown: str) -> None:
        page.goto(url + path)
        page.wait_for_selector(shown)
        assert found(page, **only) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, path

    def enter(given: str) -> None:
        page.goto(f"{url}arena")
        page.fill("input[name=token]", given)
        page.click("button:has-text('Sign in')")
        page.wait_for_selector("button:has-text('Sign out')" if given == token else "#archive")

    try:
        look("arena", "input[name=token]")
        look("arena/four", "#recent")
        look("arena/four/wall", "#games .piece")
        page.wait_for_selector("#leaders td")
        look(f"arena/four/{number}", ".problem")
        assert page.locator("#faults").count() == 0
        enter(token)
        look("arena", "text=You are")
        look(f"arena/four/{number}", "#faults")
        assert "ValueError: no idea" in page.inner_text("main")
        page.locator("main a[href*='/replay/']").first.click()
        page.wait_for_selector("#board svg")
        assert found(page, **only) == []
        look("operator", "text=Only the arena's operator")
        page.goto(f"{url}arena")
        page.click("text=Sign out")
        page.wait_for_selector("input[name=token]")
        enter(operator)
        look("operator", "#archive")
    finally:
        context.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_arenas_pages_renew_themselves(chromium: Any, course: tuple[str, str, str, int]) -> None:
    url, _, operator, _ = course
    context = chromium.new_context(viewport={"width": 1200, "height": 500})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()

    def moved(what: str) -> None:
        before = page.inner_text(what)
        page.evaluate("what => document.querySelector(what).old = true", what)
        page.wait_for_function(
            "([what, before]) => document.querySelector(what).innerText !== before",
            arg=[what, before],
        )
        assert page.evaluate("what => document.querySelector(what).old", what)  # nothing flickers

    try:
        for path in ("arena", "arena/four"):
            page.goto(url + path)
            moved("tbody")
        page.click("tbody a >> nth=0")
        moved(".facts")
        page.goto(f"{url}arena")
        page.fill("input[name=token]", operator)
        page.click("button:has-text('Sign in')")
        page.wait_for_selector("#archive")
        page.locator("[name=find]").press_sequentially("ran")
        page.evaluate("scrollTo(0, 200)")
        page.evaluate("document.querySelector('details').open = true")
        moved(".facts")
        assert page.input_value(":focus") == "ran"
        assert page.evaluate("scrollY") == 200
        assert page.evaluate("document.querySelector('details').open")
        page.click("button[aria-label='Pause random']:first-of-type")  # its stamp is valid
        page.wait_for_selector("button[aria-label='Resume random']")
        page.click("button[aria-label='Resume random']")
        page.wait_for_selector("button[aria-label='Pause random']")
    finally:
        context.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hall_shows_all_ladders_in_turn(chromium: Any, course: tuple[str, str, str, int]) -> None:
    context = chromium.new_context(viewport={"width": 1920, "height": 1080})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    try:
        page.clock.install()
        page.goto(f"{course[0]}arena/hall")
        for shown in ("#ladder:has-text('four')", "#leaders td", "#games .piece", "#results li"):
            page.wait_for_selector(shown)
        assert page.inner_text("#about").startswith("Course · season 1 · ")
        height, size = page.evaluate(
            """() => [document.documentElement.scrollHeight,
                parseFloat(getComputedStyle(document.querySelector("#leaders .who")).fontSize)]"""
        )
        assert height <= 1080
        assert size >= 36, "it is read from the last row"
        page.clock.fast_forward(30_000)
        page.wait_for_selector("#ladder:has-text('quiet')")
    finally:
        context.close()
