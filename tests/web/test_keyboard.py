"""Arrow keys on the board; and that what a script reads is written somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dovetail_web

from .conftest import Served
from .playing import begin

HERE = Path(dovetail_web.__file__).parent
RINGS = """() => {
  const fields = "a[href], button, input, select, textarea, summary, [tabindex]";
  const stops = [...document.querySelectorAll(fields)].filter(
    (each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility());
  return stops.flatMap((each) => {
    each.focus();
    if (each.matches("main, .skip") || document.activeElement !== each) return [];
    if (each.matches(".target"))
      return getComputedStyle(each.querySelector(".ring")).stroke === "none" ? ["target"] : [];
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(each);
    const reach = parseFloat(outlineOffset) + parseFloat(outlineWidth);
    const box = each.getBoundingClientRect();
    let sides = outlineStyle === "none" ? 0 : 4;
    for (let up = each.parentElement; up && up !== document.body; up = up.parentElement) {
      const [style, rim] = [getComputedStyle(up), up.getBoundingClientRect()];
      let cut = 0;
      if (style.overflowX !== "visible")
        cut += (box.left - reach < rim.left - 1) + (box.right + reach > rim.right + 1);
      if (style.overflowY !== "visible")
        cut += (box.top - reach < rim.top - 1) + (box.bottom + reach > rim.bottom + 1);
      sides = Math.min(sides, 4 - cut);
    }
    return sides < 3 ? [each.outerHTML.slice(0, 90)] : [];
  });
}"""
"""Returns what can have the focus without a ring of which three sides are seen."""
ALONE = ("2048", "tetris")
FOCUSED = "!!document.activeElement?.closest('#board .target, #buttons button')"


def tab(page: Any) -> None:
    """Press Tab until the focus is on something that can be chosen."""
    page.wait_for_selector("#board .target, #buttons button", state="attached")
    for _ in range(60):
        if page.evaluate(FOCUSED):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead to a choice")


def started(page: Any, served: Served, game: str) -> None:
    served.offers(game)
    begin(page, served.url, game, "" if game in ALONE else "random")
    tab(page)


@pytest.mark.parametrize("game", ["connect_four", "dots", "amazons"])
def test_arrows_lead_from_choice_to_choice(page: Any, served: Served, game: str) -> None:
    started(page, served, game)
    part = "document.activeElement.dataset.part"
    seen = {page.evaluate(part)}
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED)
        seen.add(page.evaluate(part))
    assert len(seen) > 1


def test_2048_takes_its_arrows_when_the_board_has_the_focus(page: Any, served: Served) -> None:
    started(page, served, "2048")
    for _ in range(6):
        number = page.get_attribute("#game", "data-number")
        for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"):  # one of them is legal
            page.keyboard.press(key)
        page.wait_for_selector(f"#game[data-waiting=true]:not([data-number='{number}'])")
    assert re.match(r"Turn [1-9]", page.inner_text("#status"))


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=["desk", "phone"])
def test_the_focus_is_seen_wherever_it_is(page: Any, served: Served, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for path in ("", "play/dominion", "replay", "write", "results"):
        page.goto(served.url + path)
        page.wait_for_load_state()
        page.keyboard.press("Tab")
        assert page.evaluate(RINGS) == [], path
        assert page.is_visible("#theme")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    started(page, served, "connect_four")
    page.keyboard.press("Enter")
    page.wait_for_selector("#log li")
    page.click(".menu summary")
    page.keyboard.press("Tab")
    assert page.evaluate(RINGS) == []


def test_scripts_read_what_something_writes() -> None:
    scripts = {each.name: each.read_text() for each in (HERE / "static").glob("*.js")}
    text = "\n".join([*scripts.values(), *(e.read_text() for e in HERE.rglob("*.html"))])
    for name in set(re.findall(r"\bdataset\.(\w+)", text)):
        attribute = "data-" + re.sub("([A-Z])", lambda found: f"-{found[1].lower()}", name)
        written = (
            rf"\bdataset\.{name} = |\b{attribute}\b[\"']?[=:]|toggleAttribute\(\"{attribute}\""
        )
        assert re.search(written, text), f"dataset.{name} is read, and nothing writes it"
