"""Figures of the page: how soon a click is answered in each game, and how soon a board is there on
a slow line.  ``python -m tests.web.measured``."""

from __future__ import annotations

import shutil
import statistics
import time
from typing import Any

from tests.web.pictures import play, served

DESK: Any = {"width": 1280, "height": 800}
GAMES = ("connect_four", "amazons", "rlgame", "dots", "dominion", "tetris", "2048")
ALONE = ("tetris", "2048")
DECISIONS = 12
SLOW = {
    **{"offline": False, "latency": 400},
    **{"downloadThroughput": 50_000, "uploadThroughput": 50_000},
}
"""400 ms and 50 kB/s, as Chromium emulates them."""


def begin(page: Any, url: str, game: str) -> None:
    """Start a game against random."""
    page.goto(f"{url}play/{game}")
    if game not in ALONE:
        page.select_option("select[name='seat.1']", "random")
    page.click("#options summary")
    page.fill("input[name='seed']", "2")
    page.click("button.main")
    page.wait_for_selector("#game[data-waiting=true]")


def slow_line(browser: Any, address: str) -> float:
    """Return the seconds from an address to the board on a slow line, with nothing cached."""
    context = browser.new_context(viewport=DESK)
    page = context.new_page()
    page.set_default_timeout(120_000)
    link = context.new_cdp_session(page)
    link.send("Network.enable")
    link.send("Network.emulateNetworkConditions", SLOW)
    began = time.monotonic()
    page.goto(address, wait_until="commit")
    page.wait_for_selector("#board svg")
    took = time.monotonic() - began
    context.close()
    return took


def main() -> None:
    """Print the figures."""
    from playwright.sync_api import sync_playwright

    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        every: list[float] = []
        for game in GAMES:
            page = browser.new_page(viewport=DESK)
            page.set_default_timeout(120_000)
            begin(page, url, game)
            took = play(page, DECISIONS)
            every += took
            line = [slow_line(browser, page.url) for _ in range(3)]
            print(
                f"{game}: a click {statistics.median(took):.0f} ms, {max(took):.0f} at most, of "
                f"{len(took)}; a board on a slow line {statistics.median(line):.1f} s",
                flush=True,
            )
            page.close()
        print(f"all games: a click {statistics.median(every):.0f} ms (median of {len(every)})")
        browser.close()


if __name__ == "__main__":
    main()
