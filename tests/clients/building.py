"""Building the clients of the other languages, for the tests that need one."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

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
BUILD, KIT = 1800, 400
"""Maximum seconds of a command, for one that hangs: busy machines need half of them."""
LONGEST = 3 * BUILD
"""Maximum seconds of a test, which may build, run a target and then the kit."""
_builds: dict[str, str] = {}
"""The complaint of building each language; empty for success."""


def run(command: list[str], folder: Path, timeout: float = KIT) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with what it prints in one string; one that takes too long is
    killed, with what it started."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "DOVETAIL": str(DOVETAIL)},
        start_new_session=True,
    )
    with process:
        try:
            printed = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed = process.communicate()[0] + f"{command}: killed after {timeout} s"
    return subprocess.CompletedProcess(command, process.returncode, printed)


def lacks(language: str) -> str:
    """Return what this machine lacks to build a client, or nothing."""
    missing = [each for each in TOOLS[language] if shutil.which(each) is None]
    if missing:
        return f"{', '.join(missing)} not found"
    if language == "rust" and run(["cargo", "--version"], ROOT).returncode:
        return "cargo has no toolchain (rustup default stable)"
    if packages := run([".ci/packages", language], ROOT).stdout.split():
        return f"Debian packages {' '.join(packages)} are not installed (apt-get install them)"
    return ""


def make(target: str, name: str) -> subprocess.CompletedProcess[str]:
    """Run a client's make, and no other at the same time: another worker's Maven takes classes
    away."""
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
