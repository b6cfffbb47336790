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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.experiments.blank import blank

from dovetail_experiments.reports import plot
from dovetail_experiments.stages.runner import RunnerOptions
from dovetail_experiments.stages.trials import execute

PATIENCE = 120_000
"""Milliseconds for what takes one on an idle machine."""
QUICK = ("test_page", "test_headlines")
"""The files whose tests by a browser are not `long`."""
EXPERIMENT = """
name = "small"
seeds = [5, 6]
[environment]
name = "connect_four"
configuration = { rows = 4, columns = 4, connect = 3 }
[agents.one]
type = "random"
[agents.dice]
type = "random"
[[phases]]
name = "play"
seats = ["one", "dice"]
episodes = 20
evaluate_every = 10
[[evaluations]]
name = "one <b>"
seats = ["one", "dice"]
episodes = 10
[[tournaments]]
name = "cup"
players = ["one", "dice"]
episodes = 8
"""


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an experiment with two executions."""
    top = tmp_path_factory.mktemp("results")
    path = top / "small.toml"
    path.write_text(EXPERIMENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plot, "save", blank)  # the page draws by itself
        execute(path, out=top / "out", options=RunnerOptions(in_process=True))
    return top / "out" / "small"


@contextmanager
def web(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `dovetail web` in a folder; yield the program and the page's address."""
    line = [sys.executable, "-m", "dovetail", "web", "--port", "0", "--no-open", *options]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    env.pop("DOVETAIL_TOKEN", None)
    with subprocess.Popen(line, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+/", said)
        assert found, said
        try:
            yield process, found[0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


@dataclass(frozen=True)
class Served:
    """A page, the folder with its journal, and its broker."""

    url: str
    folder: Path
    broker: str

    def offers(self, game: str, agent: str = "random") -> None:
        """Wait until the page has a game and an agent for it."""
        end = time.monotonic() + 60
        while agent not in (text := httpx.get(f"{self.url}play/{game}", timeout=60).text):
            assert time.monotonic() < end, text
            time.sleep(0.2)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, results: Path) -> Iterator[Served]:
    """Return a page with a broker, all games, some agents, and results."""
    folder: Path = tmp_path_factory.mktemp("page")
    with web(folder, "--games", "--store", str(results)) as (process, address):
        assert process.stdout is not None
        broker = process.stdout.readline().split()[-1]
        found = Served(address, folder, broker)
        for game in ("tetris", "2048", "dominion"):
            found.offers(game, "mcts")
        yield found


@pytest.fixture(scope="session")
def url(served: Served) -> str:
    """Return the address of that page."""
    return served.url


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one worker run all tests that need the page, so that it is started once."""
    for item in items:
        if {"served", "results"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("page"))
        if "chromium" in getattr(item, "fixturenames", ()) and item.path.stem not in QUICK:
            item.add_marker(pytest.mark.long)


# While it runs, so does an event loop in this thread, which tests of other modules may need
# themselves.
@pytest.fixture(scope="module")
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
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    yield page
    context.close()
    assert failures == []
