"""The local programs of an experiment: starts, supervises and stops a process for each."""

from __future__ import annotations

import logging
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from dovetail.protocol.errors import DovetailError, attempting
from dovetail.transport import keys
from dovetail.transport.endpoint import PATH_MOST
from dovetail.transport.process_owner import Owner
from dovetail_experiments.child_processes import Guardian, end_group, ends_with_this
from dovetail_experiments.quoting import file_name
from dovetail_experiments.stages.scratch import Scratch

log = logging.getLogger("dovetail")

READY = 60.0
"""Seconds a broker has to start listening, even on a busy machine."""
LISTENS = "broker ready at "
"""The broker's output in front of its address once it listens."""
GRACE = 5.0
"""Seconds a program has to stop before it is killed."""
FROZEN = 3.0
"""Seconds a program may be suspended by a signal before it counts as ended."""
ORDINARY = re.compile(
    rf"{LISTENS}|(environment|agent) .+ ready at .+ as |dovetail: waiting for a broker at "
)
"""Normal output, ignored when explaining an exit."""


class EndCause(StrEnum):
    """The cause of a program's end."""

    EXIT = "exit"
    """It exited by itself, and would do so anywhere."""
    SIGNAL = "signal"
    """A signal killed or suspended it, so it may run elsewhere."""
    LOST = "lost"
    """Its host is gone."""


class ProgramEnd(Struct, frozen=True):
    """The end of a program; as text, its reason and its log."""

    cause: EndCause
    reason: str
    """One line with the program's name and its last output."""
    log: str = ""
    """Path of its log; empty if it is not kept."""

    def __str__(self) -> str:
        return f"{self.reason}; its log is {self.log}" if self.log else self.reason


class Processes:
    """A broker and the programs around it, stopped when the context exits or this process dies.

    The broker is not durable: play resumes from a store, and restored sessions of dead programs
    would block the new ones.

    Args:
        pin: keep all of them, and this program, on one core.
        core: on Linux, keep all of them, but not this program, on this core.
        journal: the file that records episodes; None for no journal.
        tcp: whether the broker listens on a loopback port instead of a Unix socket, which not all
            clients support.
        logs: the folder for each program's output, in ``NAME.log``, replacing earlier logs; None
            keeps the output only while the programs run.
        broker: more arguments for ``dovetail broker``.
        address: the address of a running broker, to be used instead of starting one.
        outside: another address for the broker, for programs with keys on other machines.
        access: the access file for those programs.

    Raises:
        DovetailError: the broker cannot be started, or ``logs`` cannot be written.
    """

    def __init__(
        self,
        *,
        pin: bool = False,
        core: int | None = None,
        journal: Path | None = None,
        tcp: bool = False,
        logs: Path | None = None,
        broker: Sequence[str] = (),
        address: str | None = None,
        outside: str = "",
        access: Path | None = None,
    ) -> None:
        self._owner = Owner()
        if logs is not None:
            _empty(logs)
        self._folder = Scratch()
        self._kept = logs is not None
        self.logs = logs or self._folder.path
        path = f"{self._folder.path}/broker"
        # A long TMPDIR leaves no room for a socket's name, and some systems lack Unix sockets.
        tcp = tcp or len(os.fsencode(path)) > PATH_MOST or not hasattr(socket, "AF_UNIX")
        self.address = "tcp://127.0.0.1:*" if tcp else f"ipc://{path}"
        self.outside = ""
        """The broker's address for other machines."""
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._frozen: dict[int, float] = {}
        """By process, since when it was seen to be stopped by a signal."""
        self._guardian = Guardian()
        self._core = core
        self._cores: set[int] | None = None
        if pin and hasattr(os, "sched_setaffinity"):
            self._cores = os.sched_getaffinity(0)
            os.sched_setaffinity(0, {max(self._cores)})
        if address is not None:
            self.address = address
            return
        bind = ["--bind", outside or self.address]
        if outside:
            if tcp:
                self.address = f"tcp://127.0.0.1:{_free_port()}"
            bind += ["--access", str(access), "--inside", self.address]
        try:
            self.start(
                "broker",
                [
                    "broker",
                    *bind,
                    "--grace",
                    "2",
                    # Its runs end with the program that started it, which resumes them from its
                    # store.
                    "--no-durable",
                    "--finish",
                    "0",
                    "--journal",
                    "none" if journal is None else str(journal),
                    *broker,
                ],
            )
            if outside:
                self.outside = self._announced()
            else:
                self.address = self._announced()
        except BaseException:
            self.stop()
            raise

    def _announced(self) -> str:
        """Wait until the broker announces its address; return it."""
        end = time.monotonic() + READY
        while time.monotonic() < end:
            self.check()
            for line in self._log("broker").read_text("utf-8", "replace").splitlines(keepends=True):
                # A hosted game may have printed an unfinished line before it.
                _, announced, address = line.rpartition(LISTENS)
                if announced and address.endswith("\n"):
                    return address.strip()
            time.sleep(0.02)
        raise DovetailError(f"the broker does not listen after {READY:g} s")

    def start(
        self, name: str, arguments: Sequence[str], token: str | None = None, key: Path | None = None
    ) -> None:
        """Start ``dovetail ARGUMENTS``; the other arguments are as for ``command``."""
        self.command(name, [sys.executable, "-m", "dovetail", *arguments], token, key)

    def command(
        self,
        name: str,
        command: Sequence[str],
        token: str | None = None,
        key: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start any program; ``{address}`` in its arguments stands for the broker's address.

        The environment variable DOVETAIL_BROKER also holds the address; DOVETAIL_TOKEN holds
        ``token`` and DOVETAIL_KEY the path ``key``, if given. ``environment`` replaces all other
        variables.

        Raises:
            DovetailError: it cannot be started.
        """
        words = [word.replace("{address}", self.address) for word in command]
        if name in self._running:  # it ended and is started again
            end_group(self._running[name])
            self._guardian.leave(self._running[name].pid)
        ours = {
            **keys.without(os.environ),
            "PYTHONUNBUFFERED": "1",
            "DOVETAIL_BROKER": self.address,
            **({} if token is None else {"DOVETAIL_TOKEN": token}),
            **({} if key is None else {keys.FILE: str(key)}),
        }
        with open(self._log(name), "ab") as output, attempting(f"start {name}: {words[0]}"):
            self._running[name] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=ours if environment is None else environment,
                # Ctrl-C at the terminal stops the experiment, which then stops the others in
                # order.
                process_group=0,
                preexec_fn=ends_with_this(self._core),
            )
        self._guardian.guard(self._running[name].pid)
        log.info("%s: process %d, %s", name, self._running[name].pid, shlex.join(words))

    def check(self) -> None:
        """Check that all programs are running.

        Raises:
            DovetailError: a program has ended; the line gives the reason, its last output and its
                log.
        """
        for end in self.ended().values():
            raise DovetailError(str(end))

    def ended(self) -> dict[str, ProgramEnd]:
        """Return the programs that have ended, or were suspended by a signal for some seconds."""
        found = {}
        for name, process in self._running.items():
            code = process.poll()
            number = 0 if code is not None else self._stopped(process.pid)
            if code is not None or number:
                cause = EndCause.SIGNAL
                if code is None:
                    how = f"was stopped by {_signal(number)}"
                elif code < 0:
                    how = f"was ended by {_signal(-code)}"
                else:
                    cause = EndCause.EXIT
                    how = f"ended with code {code}{self._last_words(name)}"
                where = str(self._log(name)) if self._kept else ""
                found[name] = ProgramEnd(cause, f"the process of {name} {how}", where)
        return found

    def _stopped(self, process: int) -> int:
        """Return the signal that has suspended a process for some seconds; 0 if none has."""
        found = None
        with suppress(AttributeError, ChildProcessError):  # unsupported here; not our child
            found = os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            self._frozen.pop(process, None)
            return 0
        now = time.monotonic()
        return found.si_status if now - self._frozen.setdefault(process, now) >= FROZEN else 0

    def kill(self, name: str) -> None:
        """Kill a program and all its children immediately."""
        process = self._running.pop(name)
        end_group(process)
        process.wait()
        self._guardian.leave(process.pid)

    def pids(self) -> dict[str, int]:
        """Return the process IDs by name."""
        return {name: process.pid for name, process in self._running.items()}

    def stop(self) -> None:
        """Stop all programs, in reverse order of their start, and kill the children they left
        behind.

        In a forked child this does nothing.
        """
        if not self._owner.here:
            return
        running = list(reversed(self._running.values()))
        for process in running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                if hasattr(signal, "SIGCONT"):  # needed by a suspended program
                    process.send_signal(signal.SIGCONT)
        end = time.monotonic() + GRACE
        for process in running:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            end_group(process)
        self._running.clear()
        self._guardian.end()
        self._folder.remove()
        if self._cores is not None:
            os.sched_setaffinity(0, self._cores)
            self._cores = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _log(self, name: str) -> Path:
        return self.logs / f"{file_name(name)}.log"

    def _last_words(self, name: str) -> str:
        lines = self._log(name).read_text("utf-8", "replace").strip().splitlines()
        if not lines or ORDINARY.match(lines[-1]):
            return ""
        return f": {lines[-1].removeprefix('dovetail: ')[:300]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _empty(logs: Path) -> None:
    """Create a folder for logs and delete earlier logs."""
    with attempting(f"write into {logs}"):
        logs.mkdir(parents=True, exist_ok=True)
        for each in logs.glob("*.log"):
            each.unlink()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
