"""A game written in TypeScript, played by clicking on a page that knows nothing of it."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest
from tests.clients.building import BUILD, CLIENTS, build, program

from .conftest import Served
from .playing import begin, play_on


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
            assert play_on(page) > 20
            assert "The game is over" in page.inner_text("#status")
        finally:
            environment.terminate()
