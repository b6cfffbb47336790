"""Playing on the page by mouse and by keyboard, for the tests."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image

CLICK = """e => {
  const r = e.getBoundingClientRect();
  const at = {clientX: r.x + r.width / 2, clientY: r.y + r.height / 2, bubbles: true};
  e.ownerSVGElement.dispatchEvent(new MouseEvent('click', at));
}"""
PLAY = (
    """async (most) => {
  const page = document.getElementById("game"), click = """
    + CLICK
    + """;
  const until = (holds) => new Promise((done, fail) => {
    if (holds()) { done(); return; }
    const late = setTimeout(() => fail(new Error(`stuck: ${document.body.innerText}`)), 60000);
    const news = new MutationObserver(() => {
      if (holds()) { news.disconnect(); clearTimeout(late); done(); }
    });
    news.observe(page, { attributes: true });
  });
  const over = () => page.dataset.over === "true";
  let made = 0;
  for (; made < most; made += 1) {
    await until(() => over() || page.dataset.waiting === "true");
    if (over()) break;
    const before = page.dataset.number;
    for (let part = 0; part < 4; part += 1) {
      const lit = document.querySelectorAll(".target");
      if (!lit.length) { document.querySelector("#buttons button")?.click(); break; }
      click(lit[(7 * made + 3 * part) % lit.length]);
      if (!document.querySelector(".picked")) break;
    }
    await until(() => over() || page.dataset.number !== before);
  }
  return made;
}"""
)
"""Clicks in the page itself, which is much faster than from outside."""
LIT = "#buttons button, #board .target"
STATE = """([lit]) => {
  const { dataset } = document.getElementById("game"), focus = document.activeElement;
  const box = (each) => {
    const { x, y, width, height } = each.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
  };
  return {
    over: dataset.over === "true",
    waiting: dataset.waiting === "true",
    number: dataset.number,
    focused: Boolean(focus?.matches(lit)),
    lit: [...document.querySelectorAll(lit)].map(box),
  };
}"""
ARROWS = ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp")
MOST = 400
"""Decisions within which every game here is over."""
EARLY = 3
"""Decisions after which the first picture is taken."""
DESK, PHONE = (1280, 800), (390, 844)
WAYS = {
    "mouse-desk": ("mouse", DESK),
    "mouse-phone": ("mouse", PHONE),
    "keys-desk": ("keys", DESK),
    "keys-phone": ("keys", PHONE),
}
SCHEMES = ("light", "dark")
PATIENCE = 120_000
"""Milliseconds for what takes one on an idle machine."""
GOLDEN = Path(__file__).parent / "played"
SMALL = (160, 120)
COLOURS = 64
FAR = 8.0
"""Mean difference of a channel, of 255, at which pictures this small are not the same; fonts differ
between machines."""


def begin(page: Any, url: str, game: str, opponent: str = "random", **options: str) -> None:
    """Start a game of a person; ``options`` of the game and ``seed`` (2 unless given) are typed
    into the form."""
    page.goto(f"{url}play/{game}")
    if opponent:
        page.select_option("select[name='seat.1']", opponent)
    page.click("#options summary")
    for name, value in {"seed": "2", **options}.items():
        page.fill(f"input[name='{name if name == 'seed' else f'o.{name}'}']", value)
    page.click("button.main")
    page.wait_for_selector(
        "#game[data-waiting=true]", timeout=240_000
    )  # the game may have to be compiled


def play_on(page: Any, decisions: int = 1000) -> int:
    """Point at what is lit until the game is over; return the decisions made."""
    made: int = page.evaluate(PLAY, decisions)
    return made


class Hand:
    """Plays by real events of a mouse, or of a keyboard alone.

    Args:
        page: the browser's page, at which a person is to choose.
        way: ``mouse`` or ``keys``.
        arrows: whether the game's own choices are the arrow keys.
    """

    def __init__(self, page: Any, way: str, *, arrows: bool = False) -> None:
        self._page, self._way, self._arrows = page, way, arrows
        self.made = 0

    def state(self) -> Any:
        """Return what is to be seen of the game."""
        return self._page.evaluate(STATE, [LIT])

    def decide(self) -> bool:
        """Make one decision, of as many parts as it has; return False once the game is over."""
        page = self._page
        page.wait_for_selector("#game[data-waiting=true], #game[data-over=true]")
        if (before := self.state())["over"]:
            return False
        for part in range(12):
            self._choose(part)
            now = self.state()
            if not now["waiting"] or now["number"] != before["number"]:
                break
        page.wait_for_selector(
            f"#game[data-waiting=true]:not([data-number='{before['number']}']), "
            "#game[data-over=true]"
        )
        self.made += 1
        return True

    def _choose(self, part: int) -> None:
        """Choose one part."""
        page = self._page
        if self._way == "mouse":
            lit = self.state()["lit"]
            page.mouse.click(*lit[(7 * self.made + 3 * part) % len(lit)])
            return
        if self._arrows:
            page.keyboard.press(ARROWS[part % 4])
            return
        for _ in range(60):
            if self.state()["focused"]:
                break
            page.keyboard.press("Tab")
        else:
            raise AssertionError("Tab does not lead to a choice")
        for _ in range(self.made % 3):
            page.keyboard.press(ARROWS[2 + (self.made + part) % 2])
        page.keyboard.press("Enter")


def whole(
    chromium: Any, url: str, folder: Path, name: str, game: str, opponent: str, **options: str
) -> None:
    """Play a game to its end in one of ``WAYS``, and compare how it looked in the light and in the
    dark with what is kept."""
    way, (width, height) = WAYS[name]
    context = chromium.new_context(
        viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE)
    try:
        page = context.new_page()
        begin(page, url, game, opponent, **options)
        hand = Hand(page, way, arrows=game == "2048")
        while hand.made < EARLY and hand.decide():
            pass
        pictures = seen(page, folder / "early")
        while hand.decide():
            assert hand.made < MOST
        assert hand.made > EARLY
        pictures += seen(page, folder / "end")
        assert page.inner_text("#headline"), "who won"
        assert page.inner_text("#facts"), "and why"
        if name == next(iter(WAYS)):
            replayed(page, url, game)
    finally:
        context.close()
    compare(pictures, game, list(WAYS).index(name), folder)


def newest(url: str, game: str) -> str:
    """Return the address of a game's newest replay; games of others are recorded meanwhile."""
    row = re.compile(rf'href="/(replay/\d+)"><img src="[^"]*[/-]{game}(?:\.svg)?"')
    end = time.monotonic() + 60
    while not (found := row.findall(httpx.get(f"{url}replay").text)):
        assert time.monotonic() < end, f"no game of {game} is recorded"
        time.sleep(0.2)
    return f"{url}{found[0]}"


def replayed(page: Any, url: str, game: str) -> None:
    """Check that the newest replay of a game ends as the one does that is shown."""
    shown = page.text_content("#text")
    page.goto(newest(url, game))
    page.wait_for_selector("#log li")
    page.keyboard.press("End")
    page.wait_for_selector("#status:has-text('The game is over')")
    assert page.text_content("#text") == shown


def seen(page: Any, path: Path) -> list[Image.Image]:
    """Return the board as it is shown in the light and in the dark, small."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    found = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        file = path.with_name(f"{path.name}-{scheme}.png")
        page.locator(".stage").screenshot(path=str(file))
        found.append(Image.open(file).convert("RGB").resize(SMALL, Image.Resampling.BOX))
    return found


def compare(pictures: list[Image.Image], game: str, row: int, folder: Path) -> None:
    """Compare a row of pictures with the one on the sheet of a game."""
    kept = GOLDEN / f"{game}.png"
    size = SMALL[0] * len(pictures), SMALL[1] * len(WAYS)
    sheet = Image.open(kept).convert("RGB") if kept.exists() else Image.new("RGB", size)
    places = [(SMALL[0] * column, SMALL[1] * row) for column in range(len(pictures))]
    far = [
        np.abs(
            np.asarray(new, np.int16)
            - np.asarray(sheet.crop((x, y, x + SMALL[0], y + SMALL[1])), np.int16)
        ).mean()
        for new, (x, y) in zip(pictures, places, strict=True)
    ]
    for new, place in zip(pictures, places, strict=True):
        sheet.paste(new, place)
    if os.environ.get("DOVETAIL_KEEP"):
        sheet.quantize(COLOURS).save(kept, optimize=True)
        return
    sheet.save(folder / kept.name)
    assert max(far) < FAR, (far, folder / kept.name)
