"""A game written in TypeScript, played by clicking on a page that knows nothing of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import Any

import httpx
import pytest
from tests.clients.building import BUILD, CLIENTS, build, program
from tests.experiments.test_drawing import OTHELLO

from .conftest import Served
from .playing import begin, play_on
from .test_one_screen import SIZES, stands

SAME = ("width", "height", "pieces", "palette", "lines")
"""Of a scene and what is kept of it for the golden pictures."""

pytestmark = pytest.mark.clients


@pytest.mark.slow
@pytest.mark.timeout(BUILD)
def test_othello_is_played_by_clicking(page: Any, served: Served) -> None:
    build("typescript")
    env = {**os.environ, "DOVETAIL_BROKER": served.broker}
    line = program("typescript", "environment")
    with subprocess.Popen(line, cwd=CLIENTS / "typescript", env=env) as environment:
        try:
            served.offers("othello")
            begin(page, served.url, "othello")
            assert page.locator(".target").count() == 4
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                stands(page, "othello", (width, height))
            link = page.locator("#here").get_attribute("href").partition("?")[0]
            first = httpx.get(f"{served.url.rstrip('/')}{link}/turn/0").json()["scene"]
            kept = json.loads(OTHELLO.read_text())[0]
            assert [first[each] for each in SAME] == [kept[each] for each in SAME]
            assert play_on(page) > 20
            assert "The game is over" in page.inner_text("#status")
            shown = page.text_content("#text")
            # The program plays the replay, too: the game is not installed here.
            number = re.findall(r'href="(/replay/\d+)"', httpx.get(f"{served.url}replay").text)[0]
            page.goto(served.url.rstrip("/") + number)
            page.wait_for_selector("#log li")
            assert page.locator("#board .piece").count() == 4
            page.keyboard.press("End")
            page.wait_for_selector("#status:has-text('The game is over')")
            assert page.text_content("#text") == shown
        finally:
            environment.terminate()
