"""The examples of the guides run as they stand, each page from its top."""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import typer.main

from dovetail.cli import app
from dovetail.testing import check_agent

pytestmark = pytest.mark.learners

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    *(
        "agents.md",
        "lookahead.md",
        "registered-names.md",
        "environments.md",
        "experiments-python.md",
        "tournaments.md",
        "stacked.md",
    ),
    *("agents/dots.md", "bridges/gymnasium.md", "bridges/openspiel.md", "bridges/pettingzoo.md"),
    "bridges/training.md",
    *("another-shell.md", "from-rl-glue.md", "reference/agents.md", "reference/environments.md"),
]
TEXTS = sorted(
    path.relative_to(DOCS.parent).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "bench/*.md", "protocol/*.md", "clients/*/*.md")
    for path in DOCS.parent.glob(pattern)
)


def blocks(page: str) -> list[tuple[int, str, str]]:
    """Return line, mark and source of each Python block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (text[: found.start(2)].count("\n"), found.group(1).strip(), found.group(2))
        for found in BLOCK.finditer(text)
    ]


SLOW = {"agents/dots.md"}
"""Pages whose examples learn for minutes."""
LONG = {"stacked.md", "bridges/gymnasium.md", "bridges/training.md"}
"""Pages whose examples learn for seconds."""


def timed(page: str) -> Any:
    """Return a page with the marker of the time that its examples take."""
    marks = [pytest.mark.slow] * (page in SLOW) + [pytest.mark.long] * (page in LONG)
    return pytest.param(page, marks=marks)


@pytest.mark.parametrize("page", [timed(each) for each in PAGES])
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
    if page == "agents.md":  # the page says so
        check_agent(module.Learner, environment=module.Nim)


@pytest.mark.parametrize(
    "page", sorted((DOCS / "bridges").glob("*.md")), ids=lambda page: page.stem
)
def test_the_page_of_a_bridge_ends_with_its_limits_and_what_was_tried(page: Path) -> None:
    if page.stem in ("README", "training", "tried"):
        pytest.skip("about several bridges")
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[-2:] == ["Limits", "Tried"]
    tried = text.partition("\n## Tried\n")[2]
    assert re.search(r"\b20\d\d\b", tried), "say when"
    assert re.search(r"\d", tried), "say how many, with which versions"


LONGEST = 900
"""Maximum words of a guide; what was tried with the bridges is a record."""


@pytest.mark.parametrize(
    "page", sorted((DOCS / "bridges").glob("*.md")), ids=lambda page: page.stem
)
def test_the_page_of_a_bridge_is_short(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    words = sum(any(map(str.isalnum, each)) for each in text.split())
    assert words <= LONGEST or page.stem == "tried"


@functools.cache
def anchors(page: Path) -> frozenset[str]:
    """Return what links to the headings of a page end in, as GitHub makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    found: dict[str, None] = {}
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = (f"{name}-{count}" for count in itertools.count(1))
        found[name if name not in found else next(each for each in again if each not in found)] = (
            None
        )
    return frozenset(found) | frozenset(re.findall(r'\bid="([^"]+)"', text))


@pytest.mark.parametrize("page", TEXTS)
def test_the_links_of_a_page_lead_to_files_and_headings(page: str) -> None:
    here = DOCS.parent / page
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", here.read_text(encoding="utf-8"))):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        there = here.parent / path if path else here
        assert there.exists(), target
        # `make docs` checks those of the headings that it writes from the code.
        assert (
            not anchor
            or there.suffix != ".md"
            or "<!-- from the code" in there.read_text(encoding="utf-8")
            or anchor in anchors(there)
        ), target


GUIDES = [
    each
    for each in TEXTS
    if each.startswith("docs/")
    and each.split("/")[1] not in ("decisions", "reference", "notebooks")
    and each != "docs/bridges/tried.md"
]


@pytest.mark.parametrize("page", GUIDES)
def test_a_guide_is_short(page: str) -> None:
    """Details that are only looked up belong in docs/reference or studies/pages."""
    text = FENCED.sub("", (DOCS.parent / page).read_text(encoding="utf-8"))
    assert len(text.split()) <= 900


def test_the_code_says_all_that_the_reference_takes_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A key without a docstring, for example, is an error."""
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    generated = importlib.import_module("generated")
    for name, text in generated.TEXTS.items():
        assert len(text().splitlines()) > 30, name
    for command in ("keys make", "arena invite", "bench learner"):
        assert f"dovetail {command} [OPTIONS]" in generated.TEXTS["commands"](), command


def test_examples_that_are_not_run_name_things_that_exist() -> None:
    for page in PAGES:
        for _, mark, source in blocks(page):
            if mark == "no-run":
                for line in re.findall(r"^from .*$", source, re.MULTILINE):
                    exec(line, {})


def test_the_floors_of_the_architecture_are_those_of_the_imports() -> None:
    top = DOCS.parent
    command = [sys.executable, str(top / ".ci/architecture"), "--check"]
    done = subprocess.run(command, cwd=top, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert "runs --> watch" in page
    assert "watch --> runs" not in page


SHELL = re.compile(r"^```(?:sh|console)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def command_lines(page: str) -> list[str]:
    """Return the lines of a page that call ``dovetail``, in blocks and within sentences."""
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    blocks = [each.replace("\\\n", " ") for each in SHELL.findall(text)]
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    found = [line.removeprefix("$ ").removeprefix(".venv/bin/") for line in lines]
    found += re.findall(r"`(dovetail [^`\n]+)`", FENCED.sub("", text))
    return [each for each in found if re.match(r"dovetail (?!journal \d)[a-z]", each)]


def resolved(words: list[str]) -> tuple[str, set[str], set[str]]:
    """Return the command of a line, the long options that the line uses, and all that it has."""
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="dovetail")
    if words[0] == "arena" and words[1] in ("FILE", "arena.toml"):  # short for `arena run FILE`
        words.insert(1, "run")
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name, command, words = command.resolve_command(context, words)
        context = command.context_class(command, parent=context, info_name=name)
    known = {
        each for one in command.get_params(context) for each in (*one.opts, *one.secondary_opts)
    }
    used = {each.split("=")[0] for each in words if re.match("--[a-z]", each)}
    return context.command_path, used, known


def unknown(words: list[str]) -> list[str]:
    """Return the options of a command line that the command does not have."""
    _, used, known = resolved(words)
    return sorted(used - known)


def words_of(line: str) -> list[str]:
    """Return the words after ``dovetail`` of the first command of a line."""
    words = shlex.split(re.split(" [|>&] ", line)[0], comments=True)
    return words[1 : words.index("--") if "--" in words else len(words)]


@pytest.mark.parametrize(
    "page",
    [each for each in TEXTS if not re.search("decisions|CHANGELOG", each) and command_lines(each)],
)
def test_the_commands_of_a_page_exist_with_their_options(page: str) -> None:
    for line in command_lines(page):
        assert not unknown(words_of(line)), line


def test_an_option_or_command_that_does_not_exist_is_noticed() -> None:
    assert unknown(["broker", "--journall", "x", "--bind", "y"]) == ["--journall"]
    with pytest.raises(Exception, match="No such command 'brokre'"):
        unknown(["brokre"])
