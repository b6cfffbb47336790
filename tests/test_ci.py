"""The ground of the checks of every change: caches that are empty and configuration that is not."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

COLD = Path(__file__).resolve().parents[1] / ".ci" / "cold"
CACHES = ("CARGO_HOME", "GOMODCACHE", "GOCACHE", "npm_config_cache", "PIP_CACHE_DIR")
LOOK = (
    'for each in "$CARGO_HOME/registry" "$GOMODCACHE" "$GOCACHE" "$npm_config_cache" '
    '"$PIP_CACHE_DIR" "${MAVEN_OPTS##*-Dmaven.repo.local=}"; '
    'do ls "$each" 2>/dev/null; echo "$each"; done; '
    'cat "$CARGO_HOME/config.toml"; mkdir "$GOMODCACHE/m"; chmod a-w "$GOMODCACHE/m"; exit 7'
)


def test_a_cold_command_has_empty_caches_and_its_configuration(tmp_path: Path) -> None:
    cargo = tmp_path / ".cargo"
    (cargo / "registry" / "index").mkdir(parents=True)
    (cargo / "config.toml").write_text("[net]\nretry = 5\n")
    env = {name: value for name, value in os.environ.items() if name not in CACHES}
    env |= {"HOME": str(tmp_path), "MAVEN_OPTS": "-Xmx1g"}
    done = subprocess.run(
        [COLD, "sh", "-c", LOOK], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    *folders, net, retry = done.stdout.splitlines()
    assert (net, retry) == ("[net]", "retry = 5")
    assert len(set(folders)) == 6, "a cache is not empty, or two are one"
    root = Path(folders[1]).parent
    assert {Path(each).relative_to(root).parts[0] for each in folders} == {
        *("maven", "cargo", "go-modules", "go-build", "npm", "pip")
    }
    assert not root.exists(), "the caches are left behind"


SHOW = 'show: ; @echo "$$LANG $(CLIENT) $(MAKEOVERRIDES)"'


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["LANG=go"], "C.UTF-8 go"),
        (["LANG=go", "PYTHON=py"], "C.UTF-8 go PYTHON=py"),
        ([], "de_DE.UTF-8"),
    ],
)
def test_a_language_of_the_clients_is_not_taken_for_a_locale(given: list[str], shown: str) -> None:
    env = {**os.environ, "LANG": "de_DE.UTF-8"}
    for name in ("MAKEFLAGS", "MAKEOVERRIDES", "MFLAGS"):
        env.pop(name, None)
    command = ["make", "--no-print-directory", "--eval", SHOW, "show", *given]
    done = subprocess.run(
        command, cwd=COLD.parents[1], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == shown.split(), done.stderr


FAKE = """#!/bin/sh
case "$1" in
test) echo "2 failed, 7 passed"; exit 2 ;;
test-again) echo "9 passed"; exit ;;
studies) [ -e again ] || { touch again; echo "studies failed"; exit 2; } ;;
esac
echo "$* passed"
"""


@pytest.mark.parametrize("minutes", [40, -1])
def test_targets_run_again_once_and_none_begins_late(tmp_path: Path, minutes: int) -> None:
    for name, text in (("make", FAKE), ("apt-get", "#!/bin/sh\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "clients/none").mkdir(parents=True)
    (tmp_path / "clients/none/packages.txt").touch()
    (tmp_path / ".ci").mkdir()
    for each in ("run", "cold", "packages"):
        (tmp_path / ".ci" / each).symlink_to(COLD.parent / each)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CI_MINUTES": str(minutes)}
    run = [tmp_path / ".ci" / "run"]
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert said[:3] == ["check check-page passed", "2 failed, 7 passed", "9 passed"]
    left_out = [line for line in said if line.endswith("; make docs")]
    if minutes < 0:
        assert left_out == ["docs: left out, since 0 minutes had passed; make docs"]
        assert "docs passed" not in said
        assert "studies failed" not in said
    else:
        assert left_out == []
        assert "docs passed" in said
        assert said.index("studies failed") < said.index("studies passed")
    assert said[-1] == "9 passed"


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="this is no Debian")
def test_missing_packages_are_named(tmp_path: Path) -> None:
    for language, packages in (("one", "dpkg not-in-debian"), ("other", "not-there")):
        (tmp_path / "clients" / language).mkdir(parents=True)
        (tmp_path / "clients" / language / "packages.txt").write_text(packages)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci/packages").symlink_to(COLD.parent / "packages")

    def lacking(*languages: str) -> list[str]:
        return subprocess.check_output(
            [".ci/packages", *languages], cwd=tmp_path, text=True
        ).split()

    assert lacking() == ["not-in-debian", "not-there"]
    assert lacking("one") == ["not-in-debian"]
