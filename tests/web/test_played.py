"""All games by mouse and by keyboard, on a desk and on a phone, in the light and in the dark, and
how they look then.

A failed comparison names the folder of what it saw: look at it, and if it is right, copy it to
``played/``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from .conftest import PATIENCE, Served
from .playing import begin

GOLDEN = Path(__file__).parent / "played"
ALONE = ("tetris", "2048")
GAMES = ("connect_four", "amazons", "rlgame", "dots", "dominion", *ALONE)
DESK, PHONE = (1280, 800), (390, 844)
WAYS = {
    "mouse-desk-light": ("mouse", DESK, "light"),
    "mouse-phone-dark": ("mouse", PHONE, "dark"),
    "keys-desk-dark": ("keys", DESK, "dark"),
    "keys-phone-light": ("keys", PHONE, "light"),
}
DECISIONS = 3
SMALL = (160, 120)
FAR = 8.0
"""Mean difference of a channel, of 255, at which pictures this small are not the same; fonts differ
between machines."""
FOCUSED = "!!document.activeElement?.closest('#board .target, #buttons button')"


def point(page: Any, way: str) -> None:
    """Choose one part by the mouse, or by Tab and Enter."""
    target = page.locator("#buttons button, #board .target").first
    target.wait_for(state="attached")
    if way == "mouse":
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        return
    for _ in range(60):
        if page.evaluate(FOCUSED):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead to a choice")


def decide(page: Any, way: str) -> None:
    """Make one decision, of as many parts as it has."""
    page.wait_for_selector("#game[data-waiting=true]")
    number = page.get_attribute("#game", "data-number")
    for _ in range(12):
        point(page, way)
        waiting = page.get_attribute("#game", "data-waiting") == "true"
        if not waiting or page.get_attribute("#game", "data-number") != number:
            break
    page.wait_for_selector(
        f"#game[data-waiting=true]:not([data-number='{number}']), #game[data-over=true]"
    )


def seen(page: Any, path: Path) -> Image.Image:
    """Return the board as it is shown, small."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    page.locator(".stage").screenshot(path=str(path))
    return Image.open(path).convert("RGB").resize(SMALL, Image.Resampling.BOX)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", WAYS)
def test_all_games_are_played_and_look_as_they_did(
    chromium: Any, served: Served, tmp_path: Path, name: str
) -> None:
    way, (width, height), scheme = WAYS[name]
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    new = Image.new("RGB", (SMALL[0] * len(GAMES), SMALL[1]))
    try:
        for column, game in enumerate(GAMES):
            begin(page, served.url, game, "" if game in ALONE else "random")
            for _ in range(DECISIONS):
                decide(page, way)
            new.paste(seen(page, tmp_path / f"{game}.png"), (SMALL[0] * column, 0))
    finally:
        context.close()
    new.save(tmp_path / f"{name}.png")
    kept = Image.open(GOLDEN / f"{name}.png").convert("RGB")
    far = np.abs(np.asarray(new, np.int16) - np.asarray(kept, np.int16))
    means = far.reshape(SMALL[1], len(GAMES), SMALL[0], 3).mean(axis=(0, 2, 3)).round(1)
    assert means.max() < FAR, (dict(zip(GAMES, means.tolist(), strict=True)), tmp_path)
