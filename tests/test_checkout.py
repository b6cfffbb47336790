"""A checkout holds plain packages: tools resolve every import, and a traceback names git's
paths."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dovetail_generate as generate

TOP = Path(__file__).resolve().parents[1]
PACKAGES = (
    "dovetail",
    "dovetail_games",
    "dovetail_agents",
    "dovetail_experiments",
    "dovetail_bridges",
    "dovetail_web",
    "dovetail_studies",
)
LOOK = (
    "import importlib, sys\n"
    "for name in sys.argv[1:]: print(importlib.import_module(name).__path__[0])\n"
)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=TOP, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"git: {done.stderr.strip()}")
    return done.stdout


def test_git_keeps_no_symbolic_link() -> None:
    links = [line for line in git("ls-files", "--stage").splitlines() if line.startswith("120000")]
    assert not links


def test_what_is_generated_whole_is_marked_so_and_nothing_else_of_the_clients() -> None:
    whole = {
        path.relative_to(TOP).as_posix()
        for path in generate.files()
        # Pages have tables that are generated, a style colours, and a method its docstring.
        if path.suffix not in (".md", ".css") and path.name != "client.py"
    }
    ours = git("ls-files", "clients", "protocol", "src/dovetail/client", "web").splitlines()
    marked = git("check-attr", "linguist-generated", *ours).splitlines()
    assert {
        each.split(":")[0] for each in marked if each.endswith(": set") and ".lock:" not in each
    } == whole


CHECKED_SINCE = "f3c67af77bb0c396be4c01fd92d4b44ccb4d2956"
"""The commit after which subjects are checked; earlier ones are up to 286 characters long."""


def test_the_subject_of_a_commit_is_short() -> None:
    try:
        said = git("log", "--format=%h %s", f"{CHECKED_SINCE}..HEAD")
    except pytest.skip.Exception:  # a shallow clone lacks it
        said = git("log", "--format=%h %s", "-1")
    lines = [line.partition(" ") for line in said.splitlines()]
    assert not [(name, subject) for name, _, subject in lines if len(subject) > 72]


def test_the_path_of_a_package_is_the_path_that_git_knows() -> None:
    known = set(git("ls-files").splitlines())
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *PACKAGES],
        cwd=TOP.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [Path(each).relative_to(TOP).as_posix() for each in done.stdout.split()]
    assert {f"{each}/__init__.py" for each in found} <= known
    assert [Path(each).name for each in found] == list(PACKAGES)


@pytest.mark.long
def test_pyright_resolves_every_import_without_configuration(tmp_path: Path) -> None:
    """One module of each package, those that import most; `make check` has mypy resolve all."""
    pyright = TOP / "web/node_modules/.bin/pyright"
    if not pyright.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{pyright} is missing: `make check-page` installs it")
        pytest.skip("pyright is not installed; `make check-page` installs it")
    modules = [
        "src/dovetail/broker/core/core.py",
        "src/dovetail/broker/rules/episode.py",
        "src/dovetail/client/inprocess.py",
        "src/dovetail/peer/agents/host.py",
        "env_servers/dovetail_games/connect_four/environment.py",
        "agent_servers/dovetail_agents/general/td/agent.py",
        "experiments/dovetail_experiments/stages/runner.py",
        "bridges/dovetail_bridges/mcp/server.py",
        "web/dovetail_web/app.py",
        "studies/dovetail_studies/rows.py",
    ]
    done = subprocess.run(
        [
            str(pyright),
            "--outputjson",
            "--pythonpath",
            sys.executable,
            *(f"{TOP}/{each}" for each in modules),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    said = json.loads(done.stdout)
    assert said["summary"]["filesAnalyzed"] == len(modules)
    lost = [
        each["message"]
        for each in said["generalDiagnostics"]
        if each.get("rule") in ("reportMissingImports", "reportAttributeAccessIssue")
        and 'Import "dovetail' in each["message"]
    ]
    assert not lost


ELSEWHERE = """
import importlib, os, pkgutil, signal, socket, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "readline", "syslog", "curses"):
    sys.modules[name] = None
for place, names in (
    (os, "fork forkpty killpg getuid geteuid sched_getaffinity sched_setaffinity register_at_fork "
         "O_CLOEXEC O_NOFOLLOW setsid getpgid"),
    (signal, "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGPIPE"),
    (socket, "AF_UNIX send_fds recv_fds"),
):
    for name in names.split():
        if hasattr(place, name):
            delattr(place, name)

def walk(package):
    for each in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if each.name.endswith("__main__"):
            continue
        if each.name == "dovetail_bridges.mcp.server":  # the library behind it asks for the system
            continue
        module = importlib.import_module(each.name)
        print(each.name)
        if each.ispkg:
            walk(module)

for name in sys.argv[1:]:
    walk(importlib.import_module(name))
from dovetail import InProcess
from dovetail.peer.agents.random_agent import Random
from dovetail_games.connect_four import ConnectFour
with InProcess([ConnectFour], [Random]) as experiment:
    player = experiment.create("random")
    print(len(experiment.run("connect_four", [player, player], episodes=3).wait()), "played")
"""


def test_every_module_imports_and_plays_in_process_without_what_windows_lacks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *PACKAGES],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) > 300
    assert lines[-1] == "3 played"


@pytest.mark.parametrize(
    ("target", "place"),
    [("wheel", "dovetail_web/client"), ("sdist", "clients/typescript/dist/src")],
)
def test_an_archive_has_the_client_that_the_page_hands_out(
    tmp_path: Path, target: str, place: str
) -> None:
    client = tmp_path / "clients/typescript/dist/src"
    client.mkdir(parents=True)
    hook: Any = runpy.run_path(str(TOP / "hatch_build.py"))["BuildHook"]
    data: dict[str, Any] = {"force_include": {}}
    hook(str(tmp_path), {}, None, None, str(tmp_path), target).initialize("standard", data)
    assert data["force_include"] == {str(client): place}
