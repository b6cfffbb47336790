"""Commands that build clients end in time, with their programs, and say how far they came; and a
client is tested again exactly when it, the contract or the kit changed."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.clients.building import ROOT, run
from tests.clients.stamps import Stamps, digest


def test_a_command_that_hangs_ends_with_what_it_printed() -> None:
    done = run(["sh", "-c", "echo begun; sleep 1000 & sleep 1000"], ROOT, timeout=1)
    begun, why = done.stdout.splitlines()  # both sleeps held the pipe open
    assert done.returncode == -signal.SIGKILL
    assert begun == "begun"
    assert why.endswith("killed after 1 s")


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CI", raising=False)
    for name in (
        *("clients/go/main.go", "clients/rust/lib.rs", "protocol/SPEC.md"),
        *("src/dovetail/conform/run.py", "src/dovetail/broker/core/core.py"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("bin/\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def stamped(top: Path) -> Stamps:
    stamps = Stamps(top, top / "bin")
    stamps.write("kit[go]", digest(top, ["go"]), ["go"])
    return stamps


def test_what_passed_is_not_tested_again(top: Path) -> None:
    stamps = Stamps(top, top / "bin")
    assert not stamps.passed("kit[go]", ["go"])
    stamps = stamped(top)
    assert stamps.passed("kit[go]", ["go"])
    assert not stamps.passed("lint[go]", ["go"]), "another check"
    assert not stamps.passed("kit[go]", ["go", "rust"]), "another language beside it"


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("clients/go/main.go", True),
        ("clients/go/new.go", True),
        ("protocol/SPEC.md", True),
        ("src/dovetail/conform/run.py", True),
        ("clients/rust/lib.rs", False),
        ("clients/go/bin/program", False),
        ("src/dovetail/broker/core/core.py", False),
    ],
)
def test_a_change_counts_where_the_check_rests_on_it(top: Path, file: str, counts: bool) -> None:
    stamps = stamped(top)
    (top / file).parent.mkdir(exist_ok=True)
    (top / file).write_text("changed")
    assert stamps.passed("kit[go]", ["go"]) is not counts
    if counts and not file.endswith("new.go"):
        (top / file).write_text(file)
        assert stamps.passed("kit[go]", ["go"]), "as it was"


@pytest.mark.parametrize("change", ["delete", "rename", "permit"])
def test_names_and_permissions_count(top: Path, change: str) -> None:
    stamps, path = stamped(top), top / "clients" / "go" / "main.go"
    match change:
        case "delete":
            path.unlink()
        case "rename":
            path.rename(path.with_name("other.go"))
        case _:
            path.chmod(0o755)
    assert not stamps.passed("kit[go]", ["go"])


def test_a_change_during_the_check_is_not_passed_over(top: Path) -> None:
    stamps, before = Stamps(top, top / "bin"), digest(top, ["go"])
    (top / "clients/go/main.go").write_text("changed")
    stamps.write("kit[go]", before, ["go"])
    assert not stamps.passed("kit[go]", ["go"])


def test_ci_tests_always(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = stamped(top)
    monkeypatch.setenv("CI", "true")
    assert not stamps.passed("kit[go]", ["go"])


def test_without_git_everything_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    stamps = Stamps(tmp_path, tmp_path / "bin")
    stamps.write("kit[go]", digest(tmp_path, ["go"]), ["go"])
    assert not stamps.passed("kit[go]", ["go"])
