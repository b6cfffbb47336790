"""Every client library: built, held to the kit, its own tests run, and its players at one table.

A language whose compiler or packages are not here is skipped, and says what it lacks; with CI set it fails instead.
What passed is skipped until the client, the contract or the kit changes; with CI set it is tested all the same.
DOVETAIL_CLIENT=go tests one language only (`make test-clients LANG=go`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.clients.building import BUILD, CLIENTS, DOVETAIL, ROOT, TOOLS, build, make, program, run
from tests.clients.stamps import PASSED, Stamps, digest

ONLY = os.environ.get("DOVETAIL_CLIENT", "")
CHOSEN = [ONLY] if ONLY else list(TOOLS)

pytestmark = [pytest.mark.timeout(BUILD)]
if ONLY and ONLY not in TOOLS:
    raise pytest.UsageError(f"no client {ONLY!r}; LANG is one of {', '.join(TOOLS)}")
STAMPS = Stamps(ROOT, Path(sys.prefix) / "passed")


each_language = pytest.mark.parametrize(
    "language", [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in CHOSEN]
)


@pytest.fixture(autouse=True)
def _stamped(request: pytest.FixtureRequest) -> Iterator[None]:
    """Skip what passed with the files as they are; build the others, and note what passes."""
    if "language" in request.fixturenames:
        languages = [request.getfixturevalue("language")]
    else:
        languages = request.getfixturevalue("languages")
        if ONLY:
            pytest.skip(f"only the {ONLY} client is asked for")
    check = request.node.name
    if STAMPS.passed(check, languages):
        pytest.skip("passed already, and nothing that it rests on has changed")
    before = digest(ROOT, languages)
    for each in languages:
        build(each)
    yield
    if request.node.stash.get(PASSED, False):
        STAMPS.write(check, before, languages)


@each_language
def test_its_own_tests_pass(language: str) -> None:
    done = make("test", language)
    assert done.returncode == 0, done.stdout[-4000:]


@each_language
def test_it_is_formatted_and_linted(language: str) -> None:
    done = make("lint", language)
    assert done.returncode == 0, done.stdout[-4000:]


@each_language
@pytest.mark.parametrize("role", ["agent", "environment", "experiment"])
def test_it_keeps_the_contract(language: str, role: str) -> None:
    command = [*program(language, "conformer"), role]
    kit = [str(DOVETAIL), "conform", role, "--jobs", "4", "--", *command]
    done = run(kit, CLIENTS / language)
    assert done.returncode == 0, done.stdout[-6000:]


def table(tmp_path: Path, file: str, *settings: str) -> Any:
    """Play an experiment file with players of several languages; return its results."""
    command = [str(DOVETAIL), "run", f"experiments/files/{file}", "--out", str(tmp_path)]
    for setting in settings:
        command += ["--set", setting]
    done = run(command, ROOT)
    assert done.returncode == 0, done.stdout[-4000:]
    return json.loads((tmp_path / file.removesuffix(".toml") / "results.json").read_text())


@pytest.mark.parametrize("languages", [list(TOOLS)], ids=["all"])
def test_six_languages_meet(tmp_path: Path, languages: list[str]) -> None:
    found = table(
        tmp_path, "six_languages.toml", "phases.0.episodes=20", "tournaments.0.episodes=2"
    )
    (tournament,) = found["tournaments"]
    games = {
        each["player"]: each["wins"] + each["draws"] + each["losses"]
        for each in tournament["players"]
    }
    assert games == dict.fromkeys((*languages, "python"), 10), found


@pytest.mark.parametrize("languages", [["typescript", "go", "rust"]], ids=["three"])
def test_an_environment_in_typescript_serves_the_others(
    tmp_path: Path, languages: list[str]
) -> None:
    found = table(tmp_path, "othello.toml", "tournaments.0.episodes=2")
    (tournament,) = found["tournaments"]
    assert "python" in [each["player"] for each in tournament["players"]], found
