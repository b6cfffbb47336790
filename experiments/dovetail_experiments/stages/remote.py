"""A trial to play on another machine.

The other machine plays into its own store. Each finished stage is sent back at once with the new
part of the journal; files are sent at the end, even if the trial fails. If the machine is lost,
only the stage in progress is lost.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec
from msgspec import Struct

from dovetail.peer.config_location import ConfigSource
from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.files import file as files
from dovetail_experiments.files.file import ExperimentFile
from dovetail_experiments.records import database
from dovetail_experiments.records.records import FILE
from dovetail_experiments.records.store import Store
from dovetail_experiments.records.transfer import Receiver, Sender
from dovetail_experiments.reports.reporting import AGAIN
from dovetail_experiments.stages import runner
from dovetail_experiments.stages.places import journal_of, merge_journals
from dovetail_experiments.stages.runner import Again, ExecutionEntry, RunnerOptions, Task
from dovetail_experiments.stages.scratch import Scratch

CHUNK = 8 << 20
"""Bytes of a file sent at a time."""
PROGRESS = "progress.txt"


class RemoteTrial(Struct, frozen=True):
    """A trial for a machine to play, from its last finished stage."""

    title: str
    file: str
    """The experiment as JSON, with paths of the other machine."""
    number: int
    """Number of the execution in the store."""
    stored: str
    """The experiment as JSON, as it is stored."""
    trial: int
    variant: str
    settings: dict[str, str]
    parts: list[bytes]
    """The finished stages."""
    states: dict[str, bytes]
    """Initial states of agents, by name."""
    give_up: float | None
    track: tuple[str, ...]
    """The trackers that are told there."""
    level: int
    """Logging level."""


Kind = Literal["stage", "journal", "file", "seconds"]
RemoteItem = tuple[Kind, str, bytes]
"""A result of a trial: its kind, a file's name, and the contents."""


def played(data: bytes) -> Iterator[RemoteItem]:
    """Play a trial on this machine; yield each of its results as soon as it is available.

    Raises:
        DovetailError: the trial failed; its files have been yielded.
    """
    work = msgspec.msgpack.decode(data, type=RemoteTrial)
    began = time.monotonic()
    scratch = Scratch()
    try:
        folder = scratch.path
        logging.getLogger("dovetail").setLevel(work.level)
        with open(folder / PROGRESS, "a", encoding="utf-8", buffering=1) as out:
            handler = logging.StreamHandler(out)
            logging.getLogger().addHandler(handler)
            try:
                with contextlib.redirect_stdout(out):
                    yield from _played(work, folder)
            finally:
                logging.getLogger().removeHandler(handler)
                yield from _files(folder)
        yield "seconds", str(time.monotonic() - began), b""
    finally:
        scratch.remove()


def _played(work: RemoteTrial, folder: Path) -> Iterator[RemoteItem]:
    file = files.stored(work.file)
    url = database.url_of(folder / FILE)
    entry = ExecutionEntry(
        work.number,
        work.stored,
        begun=False,
        again=Again(folder / AGAIN, b""),
        trial=work.trial,
        variant=work.variant,
        settings=work.settings,
    )
    with Store(url) as store:
        entry.enter(store, file)
        receiver = Receiver(store, work.number)
        known = {receiver.take(part).number for part in work.parts}
        for name in {*work.states} - {*store.saved(work.number)}:
            store.keep(work.number, name, work.states[name])
    entry = replace(entry, begun=True)
    sender = Sender(url, work.number, known)
    journal = folder / f"games-{work.number}.journal"
    sent = 0
    options = RunnerOptions(give_up=work.give_up, shards=1, track=work.track)
    source = ConfigSource(Path(file.name))
    for _ in runner.steps(Task(file, source, entry, folder, url, options)):
        if journal.exists():
            with open(journal, "rb") as grown:
                grown.seek(sent)
                while chunk := grown.read(CHUNK):
                    sent += len(chunk)
                    yield "journal", journal.name, chunk
        for part in sender.parts():
            yield "stage", "", part


def _files(folder: Path) -> Iterator[RemoteItem]:
    """Yield the files of a folder that a report or a reader needs."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        left = (FILE, "games-", AGAIN, "lock", ".")
        if not path.is_file() or name.startswith(left):
            continue
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                yield "file", name, chunk


class RemoteWriter:
    """Writes the results of a remote trial to the store and to the trial's folder."""

    def __init__(
        self, store: Store, file: ExperimentFile, entry: ExecutionEntry, folder: Path
    ) -> None:
        self._store = store
        self._file = file
        self._entry = entry
        self._folder = folder
        self._begun = entry.begun
        self._receiver = Receiver(store, entry.number)
        self._written: set[str] = set()
        """Files written in this attempt."""
        self._journal = Path()
        self.seconds = 0.0
        if entry.begun:
            entry.enter(store, file)

    def parts(self) -> list[bytes]:
        """Return the finished stages for the next machine to play the trial.

        Anything an earlier machine still sends is ignored.
        """
        self._written = set()
        self._journal = Path()
        if not self._begun:
            return []
        return [*Sender(self._store.url, self._entry.number, set()).parts()]

    def take(self, item: RemoteItem) -> bool:
        """Write a result; return whether a stage is over.

        Raises:
            DovetailError: the store or the folder cannot be written.
        """
        kind, name, data = item
        match kind:
            case "stage":
                self._begin()
                return self._receiver.take(data).last
            case "journal":
                self._grow(data)
            case "file":
                self._write(name, data)
            case "seconds":
                self.seconds = float(name)
        return False

    def finish(self) -> None:
        """Record that the trial is over."""
        self._begin()
        merge_journals(self._first)
        self._store.finish(self._entry.number)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._entry.enter(self._store, self._file)

    @property
    def _first(self) -> Path:
        return self._folder / f"games-{self._entry.number}.journal"

    def _grow(self, data: bytes) -> None:
        if not self._journal.name:  # one per attempt: another may end in mid-record
            number = 1
            while (found := journal_of(self._first, number)).exists():
                number += 1
            self._journal = found
        self._append(self._journal, data)

    def _write(self, name: str, data: bytes) -> None:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            raise DovetailError(f"{name!r} leads out of the trial's folder")
        path = self._folder / pure
        if name not in self._written and name != PROGRESS:
            path.unlink(missing_ok=True)
        self._written.add(name)
        self._append(path, data)

    def _append(self, path: Path, data: bytes) -> None:
        with attempting(f"write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(data)


def order(
    shipped: ExperimentFile,
    entry: ExecutionEntry,
    title: str,
    parts: list[bytes],
    states: Mapping[str, bytes],
    options: RunnerOptions,
) -> bytes:
    """Return a trial, encoded for another machine.

    Args:
        shipped: the experiment, with paths of the other machine.
        entry: the execution's entry in the store.
        title: a title to show.
        states: the initial states of agents, by name.
    """
    agents = {
        name: msgspec.structs.replace(part, state=None) for name, part in shipped.agents.items()
    }
    work = RemoteTrial(
        title,
        files.text(msgspec.structs.replace(shipped, agents=agents)),
        entry.number,
        entry.file,
        entry.trial or 0,
        entry.variant,
        dict(entry.settings or {}),
        parts,
        dict(states),
        options.give_up,
        options.track,
        logging.getLogger("dovetail").level,
    )
    return msgspec.msgpack.encode(work)
