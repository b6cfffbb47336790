"""A record of the tests that passed with which files, so that a client is tested again only when
something changed.

A stamp is a file of one check of one language; it holds a hash of the files that the check rests
on: the client's own, the contract, the kit, and the programs and tests here that drive it.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

PASSED = pytest.StashKey[bool]()
"""True if a test has passed, for its fixtures to read when it is over."""
COMMON = (
    "protocol",
    "src/dovetail/conform",
    "tests/clients",
    "clients/run",
    "experiments/dovetail_experiments/examples",
)
"""Files that the clients of all languages rest on."""


def digest(top: Path, languages: Iterable[str]) -> str:
    """Return a hash of what the checks of these languages rest on.

    Names, contents and permissions count, of what git tracks or would track; nothing that is built.

    Returns:
        An empty text where git cannot say what there is, such as in a copy without its folder.
    """
    folders = [*COMMON, *(f"clients/{each}" for each in languages)]
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    done = subprocess.run([*listing, *folders], cwd=top, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        return ""
    found = hashlib.sha256()
    for name in sorted(set(done.stdout.decode().split("\0")) - {""}):
        path = top / name
        content = path.read_bytes() if path.is_file() else b"absent"
        executable = path.is_file() and bool(path.stat().st_mode & 0o100)
        mark = hashlib.sha256(content).hexdigest()
        found.update(f"{name}\0{mark}\0{executable}\n".encode())
    return found.hexdigest()


class Stamps:
    """The stamps of a checkout.

    Args:
        top: the checkout.
        folder: the folder of the stamps; contains nothing else.
    """

    def __init__(self, top: Path, folder: Path) -> None:
        self.top = top
        self.folder = folder

    def passed(self, check: str, languages: Iterable[str]) -> bool:
        """Return whether a check passed with the files as they are; in CI always False."""
        if os.environ.get("CI"):
            return False
        path = self._path(check)
        return path.is_file() and path.read_text() == digest(self.top, languages) != ""

    def write(self, check: str, before: str, languages: Iterable[str]) -> None:
        """Note that a check passed.

        Args:
            check: its name.
            before: the hash when it began; nothing is noted if files have changed since.
            languages: those that it tests.
        """
        if before and before == digest(self.top, languages):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._path(check).write_text(before)

    def _path(self, check: str) -> Path:
        return self.folder / re.sub(r"[^\w-]+", "-", check).strip("-")
