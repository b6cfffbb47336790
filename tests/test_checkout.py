"""A checkout imports without symbolic links, and a traceback names the paths that git knows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[1]
LOOK = (
    "import pkgutil, dovetail\n"
    "for each in pkgutil.walk_packages(dovetail.__path__, 'dovetail.'):\n"
    "    if each.name.split('.')[1] in {'protocol', 'broker', 'env_servers', 'peer'}:\n"
    "        print(__import__(each.name, fromlist=['x']).__file__)\n"
)


def git(*arguments: str, folder: Path = TOP) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"git: {done.stderr.strip()}")
    return done.stdout


def test_git_keeps_no_symbolic_link() -> None:
    links = [line for line in git("ls-files", "--stage").splitlines() if line.startswith("120000")]
    assert not links


def test_the_path_of_a_module_is_the_path_that_git_knows() -> None:
    known = set(git("ls-files", "--cached", "--others", "--exclude-standard").splitlines())
    done = subprocess.run(
        [sys.executable, "-c", LOOK], cwd=TOP, capture_output=True, text=True, check=True
    )
    found = done.stdout.splitlines()
    assert len(found) > 30
    assert {Path(each).relative_to(TOP).as_posix() for each in found} <= known


def test_no_module_of_the_broker_is_longer_than_can_be_read_at_once() -> None:
    sizes = {each.name: len(each.read_text().splitlines()) for each in TOP.glob("broker/*.py")}
    assert len(sizes) > 30
    assert {name: size for name, size in sizes.items() if size > 350} == {}


def test_a_checkout_without_links_imports(tmp_path: Path) -> None:
    git("-c", "core.symlinks=false", "clone", "--quiet", "--shared", str(TOP), str(tmp_path / "x"))
    command = "import dovetail.broker.core as core; print(core.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, 'src'); {command}"],
        cwd=tmp_path / "x",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == str(tmp_path / "x" / "broker" / "core.py"), done.stderr


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
import dovetail

def walk(package):
    for each in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        part = each.name.split(".")[1]
        if part in {"bench", "tests", "docs", "clients", "hatch_build"} or each.name.endswith("__main__"):
            continue
        if each.name == "dovetail.bridges.mcp.server":  # the library behind it asks for the system
            continue
        module = importlib.import_module(each.name)
        print(each.name)
        if each.ispkg:
            walk(module)

walk(dovetail)
from dovetail import InProcess
from dovetail.agent_servers.general.random_agent import Random
from dovetail.env_servers.connect_four import ConnectFour
with InProcess([ConnectFour], [Random]) as experiment:
    player = experiment.create("random")
    print(len(experiment.run("connect_four", [player, player], episodes=3).wait()), "played")
"""


def test_every_module_imports_and_plays_in_process_without_what_windows_lacks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert len(lines) > 200
    assert lines[-1] == "3 played"
