"""A game written in TypeScript, played by clicking on a page that knows nothing of it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.clients.building import CLIENTS, LONGEST, build, program
from tests.experiments.test_drawing import OTHELLO

from .conftest import Served
from .playing import WAYS, begin, play_on, replayed, whole
from .test_board import SIZES, stands

SAME = ("width", "height", "pieces", "palette", "lines")
"""Of a scene and what is kept of it for the golden pictures."""

pytestmark = pytest.mark.clients


@pytest.fixture(scope="module")
def connected(served: Served) -> Iterator[Served]:
    """Connect the game's program to a page."""
    build("typescript")
    env = {**os.environ, "DOVETAIL_BROKER": served.broker}
    line = program("typescript", "environment")
    with subprocess.Popen(line, cwd=CLIENTS / "typescript", env=env) as environment:
        try:
            served.offers("othello")
            yield served
        finally:
            environment.terminate()


@pytest.mark.slow
@pytest.mark.timeout(LONGEST)
@pytest.mark.parametrize("name", WAYS)
def test_a_whole_game_of_othello_looks_as_it_did(
    chromium: Any, connected: Served, tmp_path: Path, name: str
) -> None:
    whole(chromium, connected.url, tmp_path, name, "othello", "random")


@pytest.mark.slow
@pytest.mark.timeout(LONGEST)
def test_othello_is_played_by_clicking(page: Any, connected: Served) -> None:
    begin(page, connected.url, "othello")
    assert page.locator(".target").count() == 4
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        stands(page, "othello", (width, height))
    link = page.locator("#here").get_attribute("href").partition("?")[0]
    first = httpx.get(f"{connected.url.rstrip('/')}{link}/turn/0").json()["scene"]
    kept = json.loads(OTHELLO.read_text())[0]
    assert [first[each] for each in SAME] == [kept[each] for each in SAME]
    assert play_on(page) > 20
    replayed(page, connected.url, "othello")  # by the program: the game is not installed here
