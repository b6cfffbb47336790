"""The versions and the revision of the code that made a result."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dovetail.peer import provenance

pytestmark = pytest.mark.processes


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@y")
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("one")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    return tmp_path


def test_a_checkout_says_its_revision_and_what_was_changed(checkout: Path) -> None:
    clean = provenance.described(checkout)
    assert clean
    assert "dirty" not in clean
    found = []
    for text in ("two", "three"):
        (checkout / "pyproject.toml").write_text(text)
        found.append(provenance.described(checkout))
    assert all(each.startswith(f"{clean}-dirty.") for each in found)
    assert found[0] != found[1]


def test_a_folder_inside_of_another_checkout_has_no_revision(checkout: Path) -> None:
    inside = checkout / "lib" / "site-packages"
    inside.mkdir(parents=True)
    assert provenance.described(inside) == ""


def test_a_machine_without_git_has_no_revision(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    assert provenance.described(checkout) == ""


def test_equal_software_is_no_warning() -> None:
    assert provenance.mixed([]) == provenance.mixed(["a", "a"]) == provenance.mixed(["", ""]) == ""
    assert provenance.mixed(["a", ""], "stages") == (
        "these stages were made by different software: a; not recorded"
    )
