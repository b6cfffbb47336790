"""The examples of the guides run as they stand, each page from its top."""

from __future__ import annotations

import re
import types
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    *("agents.md", "environments.md", "experiments.md", "tournaments.md", "another-shell.md"),
    *("agents/dots.md", "bridges/gymnasium.md", "bridges/openspiel.md", "bridges/pettingzoo.md"),
    "from-rl-glue.md",
]
TEXTS = [
    "arena.md",
    "players.md",
    "records.md",
    "web.md",
    *sorted(
        f"{path.parent.name}/{path.name}"
        for folder in ("agents", "bridges", "studies")
        for path in (DOCS / folder).glob("*.md")
        if f"{folder}/{path.name}" not in PAGES
    ),
]


def blocks(page: str) -> list[tuple[int, str, str]]:
    """Return line, mark and source of each Python block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (text[: found.start(2)].count("\n"), found.group(1).strip(), found.group(2))
        for found in BLOCK.finditer(text)
    ]


LONG = {"agents/dots.md"}
"""Pages whose examples learn for long."""


@pytest.mark.parametrize(
    "page", [pytest.param(each, marks=[pytest.mark.slow] * (each in LONG)) for each in PAGES]
)
def test_the_examples_of_a_page_run(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(f"docs_{page.partition('.')[0].replace('-', '_')}")
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    ran = 0
    for line, mark, source in blocks(page):
        code = compile("\n" * line + source, str(DOCS / page), "exec")
        if mark != "no-run":
            exec(code, module.__dict__)
            ran += 1
    assert ran


GAMES = sorted(f"environments/{path.name}" for path in (DOCS / "environments").glob("*.md"))


@pytest.mark.parametrize("page", [*PAGES, *TEXTS, *GAMES])
def test_the_links_of_a_page_lead_to_files(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((.*?)\)", text):
        assert (
            target.startswith("https://")
            or (DOCS / page).parent.joinpath(target.partition("#")[0]).is_file()
        ), target


def test_examples_that_are_not_run_name_things_that_exist() -> None:
    for page in PAGES:
        for _, mark, source in blocks(page):
            if mark == "no-run":
                for line in re.findall(r"^from .*$", source, re.MULTILINE):
                    exec(line, {})
