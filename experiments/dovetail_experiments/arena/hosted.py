"""Runs the submitted agents of an arena: starts them in turn, watches them and replaces them."""

from __future__ import annotations

import logging
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dovetail.protocol.errors import DovetailError
from dovetail.transport import keys
from dovetail_experiments.arena.description import SubmissionLimits
from dovetail_experiments.arena.referee import HOSTED
from dovetail_experiments.arena.sandbox import CODE
from dovetail_experiments.arena.store import ArenaStore
from dovetail_experiments.arena.submissions import MAIN, OPEN, Submission, unpack
from dovetail_experiments.stages.processes import Processes

log = logging.getLogger("dovetail")

LOGS = "logs/submissions"
"""Folder for the output of submitted agents, inside the arena's folder."""
LOOK = 0.5
"""Seconds between checks of the queue."""
STARTS = 60.0
"""Seconds a version has to offer its agent."""
AGAIN = 5.0
"""Seconds before an agent that ended is restarted; doubles up to ``LONGEST``."""
LONGEST = 600.0
TRIES = 3
"""Attempts to start a version that has never offered its agent before it counts as failed."""
FINISH = 60.0
"""Seconds a replaced version has to finish its game."""
BATCH = 4
"""Versions started per check, so that a long queue does not slow the games."""
KNOWN = 3.0
"""Seconds until the broker is sure to have read a new key."""
WORDS = 300
"""Maximum characters kept of a program's last output."""


class Confines(Protocol):
    """A way to confine programs, such as ``Sandbox``."""

    def command(
        self, code: Path, socket: Path, key: Path | None, words: list[str]
    ) -> list[str]: ...

    def environment(self, token: str | None) -> dict[str, str]: ...


@dataclass(slots=True)
class _Running:
    """A version that has been started."""

    submission: Submission
    since: float
    starts: int = 1
    again: float = 0.0
    """Time of its restart; 0 while it runs."""
    until: float = 0.0
    """Deadline of a version that is no longer wanted, after which its game is interrupted; 0 if
    wanted."""


class SubmittedAgents:
    """The submitted agents of an arena, each in a confined process.

    Args:
        folder: the folder to unpack agents into.
        socket: the broker's Unix socket.
        server: the broker's public key; empty if it has none.
        let_in: admits public keys, each mapped to a name; None without keys.
    """

    def __init__(
        self,
        store: ArenaStore,
        limits: SubmissionLimits,
        sandbox: Confines,
        processes: Processes,
        folder: Path,
        socket: Path,
        server: str = "",
        let_in: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        self._store = store
        self._limits = limits
        self._sandbox = sandbox
        self._processes = processes
        self._folder = folder
        self._socket = socket
        self._server = server
        self._let_in = let_in
        self.known: dict[str, str] = {}
        """Owner of each access token, for the broker."""
        self._shown: dict[str, tuple[str | Path, float]] = {}
        """By entrant, the credential of its programs and the time from which the broker accepts
        it."""
        self._running: dict[int, _Running] = {}
        self._looked = 0.0
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)

    def tend(self) -> None:
        """Start waiting agents, restart ended ones, and stop replaced or banned ones."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        there = self._there()
        self._settle(now, there)
        banned = {name for name, state in self._store.entrants().items() if state == "banned"}
        wanted = {
            each.id: each
            for each in self._store.submissions(states=OPEN)
            if each.entrant not in banned
        }
        for number, each in list(self._running.items()):
            if number not in wanted:
                each.until = each.until or now + FINISH
                whole = each.submission.entrant in banned or now >= each.until
                if whole or there.get(_player(each.submission)) != "playing":
                    self._end(number)
        # Resume those that played before the arena stopped, then take the longest waiting.
        queue = sorted(
            (each for number, each in wanted.items() if number not in self._running),
            key=lambda each: (each.state != "playing", each.id),
        )
        room = self._limits.at_once - len(self._running)
        for one in queue[: max(0, min(room, BATCH))]:
            self._start(one, now)

    def _settle(self, now: float, there: Mapping[tuple[str, str], str]) -> None:
        """Update the state of each started version."""
        ended = self._processes.ended()
        for number, each in list(self._running.items()):
            one = each.submission
            name = _name(one)
            if each.until:
                continue
            if _player(one) in there:
                if one.state != "playing":
                    self._store.decided(number, "playing")
                    each.submission = next(
                        e for e in self._store.submissions(one.entrant) if e.id == number
                    )
                each.starts = 1
            if each.again:
                if now >= each.again:
                    each.again, each.since = 0.0, now
                    self._run(one)
            elif name in ended or (one.state != "playing" and now - each.since > STARTS):
                end = ended.get(name)
                why = f"it offered no agent within {STARTS:g} s"
                if end is not None:
                    why = end.reason.replace(f"the process of {name}", "it")[:WORDS]
                if one.state != "playing" and (each.starts >= TRIES or name not in ended):
                    self._end(number)
                    self._store.decided(number, "failed", why)
                else:
                    log.warning("%s/%s: %s", one.entrant, one.offered, why)
                    each.again = now + min(LONGEST, AGAIN * 2 ** (each.starts - 1))
                    each.starts += 1

    def _there(self) -> dict[tuple[str, str], str]:
        """Return the state of each online agent, by entrant and program."""
        present = self._store.presence()
        found: dict[tuple[str, str], str] = {}
        for number, each in self._store.players().items():
            if present[number].online:
                player = each.entrant, each.program
                found[player] = max(present[number].state, found.get(player, ""))
        return found

    def _start(self, one: Submission, now: float) -> None:
        if not self._ready(one.entrant, now):
            return
        try:
            self._unpack(one)
        except (OSError, DovetailError) as error:
            self._store.decided(one.id, "failed", f"cannot be unpacked: {error}")
            return
        if one.state == "waiting":
            self._store.decided(one.id, "starting")
        self._running[one.id] = _Running(one, now)
        self._run(one)

    def _ready(self, entrant: str, now: float) -> bool:
        """Return whether the broker accepts an entrant's credential, creating it on first use."""
        if entrant not in self._shown:
            who = entrant + HOSTED
            if self._let_in is not None:
                path, key = self._folder / f"{entrant}.key", keys.make(self._server)
                keys.write(path, key, who)
                self._let_in({key.public: who})
                self._shown[entrant] = path, now + KNOWN
            else:
                token = secrets.token_hex(24)
                self.known[token] = who
                self._shown[entrant] = token, now
        return now >= self._shown[entrant][1]

    def _run(self, one: Submission) -> None:
        shown, _ = self._shown[one.entrant]
        token, key = (None, shown) if isinstance(shown, Path) else (shown, None)
        code = self._code(one)
        file = next(each for each in (*code.glob(MAIN), *code.glob(f"*/{MAIN}")))
        inside = f"{CODE}/{file.relative_to(code)}"
        words = ["-m", "dovetail_experiments.arena.boxed", inside, one.offered]
        self._processes.command(
            _name(one),
            self._sandbox.command(code, self._socket, key, words),
            environment=self._sandbox.environment(token),
        )

    def _code(self, one: Submission) -> Path:
        return self._folder / str(one.id)

    def _unpack(self, one: Submission) -> None:
        code, source = self._code(one), self._store.submitted / one.file
        shutil.rmtree(code, ignore_errors=True)
        code.mkdir(mode=0o700)
        if source.suffix == ".py":
            shutil.copyfile(source, code / MAIN)
            return
        unpack(source, code, self._limits)

    def _end(self, number: int) -> None:
        one = self._running.pop(number).submission
        self._processes.kill(_name(one))
        shutil.rmtree(self._code(one), ignore_errors=True)


def log_of(folder: Path, one: Submission) -> Path:
    """Return the log of a submission's output, inside the folder of logs."""
    return folder / f"{_name(one)}.log"


def _player(one: Submission) -> tuple[str, str]:
    return one.entrant, one.named


def _name(one: Submission) -> str:
    return f"submission-{one.id}"
