"""Provenance: the code and the libraries behind a result."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dovetail._version import __version__

BUILT = "_revision.txt"
"""The file in a wheel with its revision, written by ``hatch_build.py``."""
UNRECORDED = "not recorded"
SECONDS = 10.0
"""Timeout of a git command, in seconds."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Versions that a result may depend on; empty if not installed or not known."""

    version: str
    revision: str
    """From ``git describe --always --dirty`` in a checkout, or from the wheel's build."""
    python: str
    numpy: str
    numba: str

    @property
    def software(self) -> str:
        """The program and its revision.

        >>> Provenance("0.1.0", "f3c67af7", "3.11.9", "2.3.0", "").software
        'dovetail 0.1.0 (f3c67af7)'
        """
        return f"dovetail {self.version}" + (f" ({self.revision})" if self.revision else "")

    def __str__(self) -> str:
        """Return all versions in one line."""
        libraries = {"Python": self.python, "numpy": self.numpy, "numba": self.numba}
        return ", ".join(
            [self.software, *(f"{name} {found}" for name, found in libraries.items() if found)]
        )


@cache
def here() -> Provenance:
    """Return the provenance of this process's results."""
    package = Path(__file__).resolve().parents[1]
    try:
        revision = (package / BUILT).read_text(encoding="utf-8").strip()
    except OSError:
        revision = described(package.parents[1])
    return Provenance(
        __version__, revision, platform.python_version(), _installed("numpy"), _installed("numba")
    )


def described(checkout: Path) -> str:
    """Return the revision of a checkout; empty if the folder is not the top of one.

    A digest of uncommitted changes is added, so that two states of a changed checkout differ.
    """
    if not (checkout / ".git").exists() or not (checkout / "pyproject.toml").is_file():
        return ""
    found = _git(checkout, "describe", "--always", "--dirty").decode().strip()
    if found.endswith("-dirty"):
        changed = _git(checkout, "diff", "HEAD", "--no-ext-diff", "--no-color")
        found += f".{hashlib.sha256(changed).hexdigest()[:8]}"
    return found


def digest(module: str, read: Callable[[str], tuple[bytes, Iterable[str]]]) -> str:
    """Return a digest of a module and of its imports, recursively; ``read`` returns a module's own,
    and the names of the modules that it imports."""
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name], imported = read(name)
            waiting += imported
    whole = hashlib.sha256()
    for name, part in sorted(found.items()):
        whole.update(name.encode() + part)
    return whole.hexdigest()


def mixed(made: Iterable[str], what: str = "rows") -> str:
    """Return a warning if results were made by different software, or an empty string.

    Args:
        made: the provenance of each result; empty where not recorded.
        what: the plural noun for the results.

    >>> mixed(["dovetail 1.0 (a)", "dovetail 1.0 (b)", ""])
    'these rows were made by different software: dovetail 1.0 (a); dovetail 1.0 (b); not recorded'
    """
    found = list(dict.fromkeys(each or UNRECORDED for each in made))
    if len(found) < 2:
        return ""
    return f"these {what} were made by different software: {'; '.join(found)}"


def _git(checkout: Path, *words: str) -> bytes:
    try:
        return subprocess.run(
            ["git", "-C", str(checkout), *words], capture_output=True, check=True, timeout=SECONDS
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return b""


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
