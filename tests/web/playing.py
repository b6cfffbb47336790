"""Playing on the page by clicking, for the tests."""

from __future__ import annotations

from typing import Any

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
        "#game[data-waiting=true]", timeout=120_000
    )  # the game may have to be compiled


def play_on(page: Any, decisions: int = 1000) -> int:
    """Point at what is lit until the game is over; return the decisions made."""
    made: int = page.evaluate(PLAY, decisions)
    return made
