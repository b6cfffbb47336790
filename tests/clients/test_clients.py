"""Every client library: built, held to the kit, its own tests run, and its players at one table.

A language whose compiler or packages are not here is skipped, and says what it lacks; with CI set it fails instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "clients"
DOVETAIL = Path(sys.executable).with_name("dovetail")
TOOLS = {
    "cpp": ("g++", "cmake"),
    "go": ("go", "g++"),
    "java": ("javac", "mvn"),
    "rust": ("cargo",),
    "typescript": ("node", "npm"),
}
BUILD, KIT = 900, 400
"""Seconds."""

pytestmark = [pytest.mark.timeout(BUILD)]
_builds: dict[str, str] = {}
"""What building each language came to; empty for success."""


def run(command: list[str], folder: Path, timeout: float = KIT) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with what it prints in one string."""
    return subprocess.run(
        command,
        cwd=folder,
        timeout=timeout,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "DOVETAIL": str(DOVETAIL)},
        check=False,
    )


def lacks(language: str) -> str:
    """Return what this machine lacks to build a client, or nothing."""
    missing = [each for each in TOOLS[language] if shutil.which(each) is None]
    if missing:
        return f"{', '.join(missing)} not found"
    packages = CLIENTS / language / "packages.txt"
    if packages.exists() and shutil.which("dpkg-query"):
        wanted = packages.read_text().split()
        status = [
            "dpkg-query",
            "--show",
            "--showformat",
            "${Package} ${db:Status-Status}\n",
            *wanted,
        ]
        found = subprocess.run(status, capture_output=True, text=True, check=False).stdout
        present = [line.split()[0] for line in found.splitlines() if line.endswith(" installed")]
        missing = sorted(set(wanted) - set(present))
        if missing:
            return f"Debian packages {' '.join(missing)} are not installed (apt-get install them)"
    return ""


each_language = pytest.mark.parametrize(
    "language", [pytest.param(each, marks=pytest.mark.xdist_group(each)) for each in TOOLS]
)


@pytest.fixture(autouse=True)
def _built(request: pytest.FixtureRequest) -> None:
    if "language" in request.fixturenames:
        build(request.getfixturevalue("language"))


def make(target: str, name: str) -> subprocess.CompletedProcess[str]:
    """Run a client's make, and no other at the same time: another worker's Maven takes classes away."""
    with open(Path(tempfile.gettempdir()) / f"dovetail-build-{name}", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return run(["make", target], CLIENTS / name, BUILD)


def build(name: str) -> None:
    """Build a client once, or skip."""
    if name not in _builds:
        reason = lacks(name)
        if reason:
            _builds[name] = f"the {name} client is not tested: {reason}"
        else:
            done = make("build", name)
            assert done.returncode == 0, done.stdout[-4000:]
            _builds[name] = ""
    if _builds[name]:
        if os.environ.get("CI"):
            pytest.fail(_builds[name])
        pytest.skip(_builds[name])


def program(language: str, name: str) -> list[str]:
    """Return how a program of a client is run from its folder."""
    programs: dict[str, list[str]] = json.loads((CLIENTS / language / "programs.json").read_text())
    return programs[name]


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


def table(tmp_path: Path, file: str, languages: list[str], *settings: str) -> Any:
    """Play an experiment file with all these languages; return its summary."""
    for each in languages:
        build(each)
    command = [str(DOVETAIL), "run", f"experiments/files/{file}", "--out", str(tmp_path)]
    for setting in settings:
        command += ["--set", setting]
    done = run(command, ROOT)
    assert done.returncode == 0, done.stdout[-4000:]
    return (tmp_path / file.removesuffix(".toml") / "summary.txt").read_text()


def test_six_languages_meet(tmp_path: Path) -> None:
    found = table(
        tmp_path,
        "six_languages.toml",
        list(TOOLS),
        "phases.0.episodes=20",
        "tournaments.0.episodes=2",
    )
    rows = [line.split()[1:3] for line in found.splitlines() if "%" in line and "(" in line]
    players = {row[0]: row[1] for row in rows if len(row) == 2}
    for name in ("cpp", "rust", "java", "go", "typescript", "python"):
        assert sum(map(int, players[name].split("-"))) == 10, found


def test_an_environment_in_typescript_serves_the_others(tmp_path: Path) -> None:
    found = table(
        tmp_path, "othello.toml", ["typescript", "go", "rust"], "tournaments.0.episodes=2"
    )
    assert "python" in found
