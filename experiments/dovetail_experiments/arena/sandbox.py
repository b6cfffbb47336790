"""The command that runs a submitted agent in a sandbox.

Bubblewrap gives it its own namespaces: no network, no other processes, and no files except its own,
those that Python needs and the broker's socket.  ``prlimit`` limits memory, processes and files.
Where systemd manages the user's programs, a scope also limits total memory, tasks and CPU time.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from dovetail.peer.address import BROKER, TOKEN
from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_experiments.arena.description import SubmissionLimits

CODE, SOCKET, KEY = "/agent", "/broker", "/key"
"""Paths inside the sandbox."""
PACKAGES = (
    *("dovetail", "dovetail_games", "dovetail_agents", "dovetail_experiments"),
    *("dovetail_bridges", "dovetail_web"),
)
"""Dovetail's packages, which may be installed outside the interpreter's folders."""
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
OUTPUT = 4 << 20
"""Maximum bytes of a file that it writes, including its log."""
DESCRIPTORS = 256
PROBE = 30.0
"""Seconds a sandbox has to start."""
NO_USER = "65534"


class Sandbox:
    """This machine's means of confining a program.

    Args:
        secret: a folder that no confined program may read; None if there is none.

    Raises:
        DovetailError: bubblewrap is missing or cannot create namespaces, or confined programs would
            see the secret folder, since they need what is around it.
    """

    def __init__(self, limits: SubmissionLimits, secret: Path | None = None) -> None:
        self._limits = limits
        if secret is not None:
            _check_hidden(secret)
        for name, package in (("bwrap", "bubblewrap"), ("prlimit", "util-linux")):
            if shutil.which(name) is None:
                raise DovetailError(
                    f"submissions need `{name}`; install {package}, or remove [submissions]"
                )
        self._scope: list[str] = []
        tried = _run([*self._bubble(), "true"])
        if tried:
            raise DovetailError(
                f"submissions need namespaces, and bubblewrap cannot make them: {tried}; allow "
                "unprivileged user namespaces, or remove [submissions]"
            )
        self._scope = self._systemd()

    @property
    def shown(self) -> str:
        """The programs that confine agents here, as text for the operator."""
        if self._scope:
            return "bubblewrap and systemd"
        text = "bubblewrap and prlimit; nothing limits their processor time"
        # The kernel counts the processes of all users but root.
        return text if os.geteuid() else f"{text}, and, as you are root, their number"

    def command(
        self, code: Path, socket: Path, key: Path | None, words: Sequence[str]
    ) -> list[str]:
        """Return the command that runs Python confined.

        Args:
            code: the folder with the submission.
            socket: the broker's Unix socket.
            key: the program's key file, if it has one.
            words: Python's arguments.
        """
        shown = ["--ro-bind", str(code), CODE, "--bind", str(socket), SOCKET]
        if key is not None:
            shown += ["--ro-bind", str(key), KEY]
        limits = self._limits
        confined = [
            "prlimit",
            f"--as={limits.memory << 20}",
            f"--nproc={limits.processes}",
            f"--fsize={OUTPUT}",
            f"--nofile={DESCRIPTORS}",
            "--core=0",
        ]
        return [
            *(*self._scope, *self._bubble(), *shown, "--remount-ro", "/", "--chdir", CODE),
            *confined,
            *(sys.executable, "-s", "-B", *words),
        ]

    def environment(self, token: str | None) -> dict[str, str]:
        """Return a confined program's complete environment."""
        found = {
            "PATH": "/usr/bin:/bin",
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(map(os.path.dirname, _packages()))),
            # Each thread of a numerical library needs memory.
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            BROKER: f"ipc://{SOCKET}",
        }
        if token is not None:
            found[TOKEN] = token
        else:
            found[keys.FILE] = KEY
        if self._scope:  # for systemd-run to find the user's manager
            for name in ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"):
                if name in os.environ:
                    found[name] = os.environ[name]
        return found

    def _bubble(self) -> list[str]:
        words = ["bwrap", "--unshare-all", "--unshare-user", "--disable-userns"]
        words += ["--uid", NO_USER, "--gid", NO_USER, "--hostname", "sandbox"]
        words += ["--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev"]
        # Other files would be in memory that nothing limits.
        for path in ("/tmp", "/dev/shm"):
            words += ["--size", str(self._limits.disk << 20), "--tmpfs", path]
        words += ["--remount-ro", "/dev"]
        for path in SYSTEM:
            if os.path.islink(path):
                words += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                words += ["--ro-bind", path, path]
        for path in ("/etc/ld.so.cache", "/etc/localtime"):
            words += ["--ro-bind-try", path, path]
        for path in _interpreter():
            words += ["--ro-bind", path, path]
        return words

    def _systemd(self) -> list[str]:
        """Return the command prefix for a systemd scope with limits; empty without systemd."""
        if shutil.which("systemd-run") is None:
            return []
        limits = self._limits
        words = ["systemd-run", *(["--user"] if os.geteuid() else []), "--scope", "--quiet"]
        words += ["--collect", "-p", f"MemoryMax={limits.memory}M", "-p", "MemorySwapMax=0"]
        words += ["-p", f"TasksMax={limits.processes}", "-p", f"CPUQuota={limits.processor}%"]
        return [] if _run([*words, "true"]) else [*words, "--"]


def _check_hidden(secret: Path) -> None:
    """Check that no folder that confined programs see contains this one."""
    hidden = Path(os.path.realpath(secret))
    for each in (*SYSTEM, *_interpreter()):
        shown = Path(os.path.realpath(each))
        if hidden.is_relative_to(shown):
            raise DovetailError(
                f"submitted agents can read {each}, in which {secret} with all tokens and agents "
                "lies; keep the arena's file and folder elsewhere"
            )


def _run(command: Sequence[str]) -> str:
    """Run a command; return its error as one line, empty on success."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PROBE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return " ".join(str(error).split())[:200]
    text = " ".join(done.stderr.decode(errors="replace").split())[:200]
    return "" if done.returncode == 0 else text or f"it ended with code {done.returncode}"


def _packages() -> Iterator[str]:
    """Yield the folders of Dovetail's packages."""
    for name in PACKAGES:
        spec = find_spec(name)
        for each in (spec and spec.submodule_search_locations) or ():
            yield os.path.abspath(each)


def _interpreter() -> list[str]:
    """Return the folders that the interpreter needs, without nested ones."""
    real = os.path.realpath(sys.executable)
    found = {sys.prefix, sys.base_prefix, str(Path(real).parent.parent), *site.getsitepackages()}
    paths = sorted({*found, *map(os.path.realpath, found), *_packages()})
    outer: list[str] = []
    for each in paths:
        known = (*SYSTEM, *outer)
        if os.path.isdir(each) and not any(each == k or each.startswith(f"{k}/") for k in known):
            outer.append(each)
    return outer
