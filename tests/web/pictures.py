"""Pictures of the page for the README and the guide, and the time from a click to the board.

``make pictures`` starts ``dovetail web --games``, plays some games by clicking in Chromium, and
writes docs/images/page_*.png; then it runs an arena, and writes docs/images/arena_wall.png; then a
sweep, and writes docs/images/report.png from its report.  The sweep takes most of its minutes;
``make pictures PICTURE=arena`` takes one of ``PARTS``.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
DESK = {"width": 1280, "height": 800}
SHOTS: list[tuple[str, str, str, int, Any, Any]] = [
    ("amazons", "amazons", "greedy", 6, DESK, "light"),
    ("dominion", "dominion", "dominion-money", 14, DESK, "dark"),
    ("phone", "connect_four", "alpha-beta", 5, {"width": 390, "height": 844}, "dark"),
]
"""Name, game, opponent, decisions before the picture, the size of the window and its colours."""
MOVED = 15_000
"""Milliseconds in which the games of the first page have moved on a little."""
SETTLED = """() => document.getAnimations().every((each) =>
  each.playState === "finished" || each.effect.getTiming().iterations === Infinity)"""
"""True if each piece has slid to its place; lights that blink for ever do not count."""
ARENA = """
name = "Course 2027"
seed = 1

[[ladders]]
name = "connect4"
game = "connect_four"
openings = 4
lookahead = true
"""
for name, kind, more in (
    ("random", "random", ""),
    ("greedy", "greedy", ""),
    ("depth2", "alpha-beta", "parameters = { depth = 2 }"),
    ("mcts", "mcts", "parameters = { simulations = 100 }"),
):
    ARENA += f'[[ladders.baselines]]\nname = "{name}"\ntype = "{kind}"\n{more}\n'
MANY = "([4-9][0-9]|[0-9]{3}) matches"
SWEEP = "connect_four_sweep"
CLICK = """(each) => {
  const box = each.getBoundingClientRect(), page = document.getElementById("game");
  const at = {clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true};
  const before = page.dataset.number, began = performance.now();
  each.ownerSVGElement.dispatchEvent(new MouseEvent("click", at));
  return new Promise((done) => {
    setTimeout(() => done(null), 60000);
    if (document.querySelector(".picked")) { done(null); return; }
    const look = () => {
      if (page.dataset.number !== before) done(performance.now() - began);
      else requestAnimationFrame(look);
    };
    look();
  });
}"""
"""Clicks in the middle of an element; returns the milliseconds until the board shows the answer."""


@contextmanager
def running(folder: Path, *words: str) -> Iterator[str]:
    """Run a command of Dovetail in a folder; yield its first line."""
    line = [sys.executable, "-u", "-m", "dovetail", *words]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


@contextmanager
def served() -> Iterator[str]:
    """Run the page; yield its address."""
    options = ("--games", "--port", "0", "--no-open")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), "web", *options) as said:
        url = said.split()[-1]
        for _ in range(600):
            with (
                contextlib.suppress(urllib.error.HTTPError),  # not on offer yet
                urllib.request.urlopen(f"{url}play/dominion") as answer,
            ):
                if b"dominion-money" in answer.read():
                    break
            time.sleep(0.1)
        yield url


def play(page: Any, decisions: int) -> list[float]:
    """Play some decisions by clicking; return how long each took to be answered, in ms."""
    took: list[float] = []
    for number in range(decisions):
        page.wait_for_selector("#game[data-waiting=true], #game[data-over=true]")
        for part in range(4):
            lit = page.locator(".target")
            count = lit.count()
            if not count:
                if part == 0 and page.locator("#buttons button").count():
                    page.locator("#buttons button").first.click()
                break
            answered = lit.nth((5 * number + 3 * part + 3) % count).evaluate(CLICK)
            if answered is not None:
                took.append(answered)
                break
    page.wait_for_selector("#game[data-waiting=true], #game[data-over=true]")
    return took


def thoughts(browser: Any, url: str) -> None:
    """Take a picture of what a program thought."""
    page = browser.new_page(viewport=DESK)
    page.set_default_timeout(120_000)
    page.goto(f"{url}play/connect_four")
    page.select_option("select[name='seat.0']", "mcts")
    page.select_option("select[name='seat.1']", "alpha-beta")
    page.click("#options summary")
    page.fill("input[name='seed']", "5")
    page.click("button.main")
    page.wait_for_selector("#game[data-over=true]")
    page.evaluate("document.activeElement?.blur()")
    page.keyboard.press("Home")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#status:has-text('Turn 6.')")
    page.wait_for_selector("#board .weight")
    shoot(page, "page_thoughts")
    page.close()


def shoot(page: Any, name: str) -> None:
    """Take a picture of a page, once nothing on it moves any more."""
    page.wait_for_function(SETTLED)
    page.screenshot(path=str(IMAGES / f"{name}.png"))


def home(browser: Any, url: str) -> None:
    """Take a picture of the first page, once all games that it shows have moved on a little."""
    page = browser.new_page(viewport={"width": 1280, "height": 1230})
    page.set_default_timeout(120_000)
    page.goto(url)
    page.wait_for_selector("#minis a:nth-child(2)")
    page.reload()  # the game that began first is large until then
    page.wait_for_selector("#feature .badge.now")
    page.wait_for_timeout(MOVED)
    shoot(page, "page_home")
    page.close()


def shots(browser: Any, url: str) -> None:
    """Take pictures of games, and print how long each click took to be answered."""
    took: list[float] = []
    for name, game, opponent, decisions, size, scheme in SHOTS:
        touched = size["width"] < 500
        context = browser.new_context(viewport=size, color_scheme=scheme, has_touch=touched)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto(f"{url}play/{game}")
        page.fill("input[name='name.0']", "Ann")
        page.select_option("select[name='seat.1']", opponent)
        page.click("#options summary")
        page.fill("input[name='seed']", "2")
        page.click("button.main")
        took += play(page, decisions)
        shoot(page, f"page_{name}")
        context.close()
    median, most = statistics.median(took), max(took)
    print(
        f"{len(took)} clicks: answered on the board in {median:.0f} ms (median), {most:.0f} at most"
    )


def arena(browser: Any, _: str) -> None:
    """Take a picture of the wall of an arena."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            bind = f'bind = "tcp://127.0.0.1:{free.getsockname()[1]}"'
        (folder / "arena.toml").write_text(f"{bind}\n{ARENA}")
        options = ("--arena", "arena.toml", "--port", "0", "--no-open")
        with running(folder, "arena", "arena.toml"), running(folder, "web", *options) as said:
            page = browser.new_page(viewport={"width": 1200, "height": 640})
            page.set_default_timeout(120_000)
            page.goto(f"{said.split()[-1]}arena/hall")
            # The agents have played often enough for their intervals to say something.
            page.wait_for_selector(f"#about:text-matches('{MANY}')")
            page.wait_for_selector("#games .piece")
            shoot(page, "arena_wall")


def report(browser: Any, _: str) -> None:
    """Take a picture of a sweep's report."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "dovetail", "run", SWEEP, "--in-process", "--jobs", "2"]
        subprocess.run([*line, "--quiet"], cwd=folder, check=True)
        page = browser.new_page(viewport={"width": 1270, "height": 1420})
        page.goto((Path(folder) / "out" / SWEEP / "report.html").as_uri())
        shoot(page, "report")


def shrink(path: Path) -> None:
    """Write a picture again with 256 colours, which is a third of its size and looks the same."""
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


PARTS = {"report": report, "home": home, "games": shots, "thoughts": thoughts, "arena": arena}
"""The parts; the report is first, since it names the commit, and a picture changes the checkout."""


def main(*parts: str) -> None:
    """Make the pictures of some parts; of all by default."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is missing; install the package `chromium`")
    if wrong := set(parts) - set(PARTS):
        raise SystemExit(f"there is no part {wrong.pop()!r}; give some of {', '.join(PARTS)}")
    begun = time.time()
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in parts or PARTS:
            since = time.monotonic()
            PARTS[name](browser, url)
            print(f"{name}: {time.monotonic() - since:.0f} s", flush=True)
        browser.close()
    for each in IMAGES.glob("*.png"):
        if each.stat().st_mtime >= begun:
            shrink(each)


if __name__ == "__main__":
    main(*sys.argv[1:])
