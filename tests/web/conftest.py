"""A real page: `dovetail web --games`, and a real Chromium."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a page with a broker, all games and some agents."""
    import httpx

    folder: Path = tmp_path_factory.mktemp("page")
    line = [sys.executable, "-m", "dovetail", "web", "--games", "--port", "0", "--no-open"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    env.pop("DOVETAIL_TOKEN", None)
    with subprocess.Popen(line, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+/", said)
        assert found, said
        address = found[0]
        end = time.monotonic() + 60
        while "/play/tetris" not in (text := httpx.get(f"{address}play").text):
            assert time.monotonic() < end, text
            time.sleep(0.2)
        while "mcts" not in (text := httpx.get(f"{address}play/2048").text):
            assert time.monotonic() < end, text
            time.sleep(0.2)
        yield address
        process.send_signal(signal.SIGINT)
        process.wait(20)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return a browser; skip where there is none, but not in CI."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        assert "CI" not in os.environ, "chromium is missing; install the package `chromium`"
        pytest.skip("needs the program chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """Return a page in which no script may fail."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    yield page
    context.close()
    assert failures == []
