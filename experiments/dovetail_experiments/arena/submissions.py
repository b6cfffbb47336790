"""Uploaded agents: a queue of versions, all of which are kept.

Files are written before their row, and ``submit`` returns once both are on disk, so nothing that
was confirmed is lost if the program is killed.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.arena import schema as s
from dovetail_experiments.arena.description import NAME, SUBMITTED, SubmissionLimits
from dovetail_experiments.arena.tables import ArenaTables, add_line, change
from dovetail_experiments.arena.unpacked import UNREADABLE, Unpacked

SubmissionState = Literal["waiting", "starting", "playing", "failed", "replaced", "withdrawn"]
OPEN: tuple[SubmissionState, ...] = ("waiting", "starting", "playing")
"""States of submissions that run or are waiting to."""
MAIN = "agent.py"
"""File in an uploaded folder that defines the agent."""
FILES = 500
"""Maximum files in an uploaded folder."""
FORM = re.compile(r"[0-9]+\.(py|zip)")
"""Names of the files that hold submissions."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A version of an uploaded agent."""

    id: int
    entrant: str
    program: str
    version: int
    file: str
    """File name inside the folder of submissions."""
    digest: str
    at: float
    state: SubmissionState
    why: str

    @property
    def named(self) -> str:
        """Name of its program in tables, including the version."""
        return f"{self.program.partition('@')[0]}.v{self.version}"

    @property
    def offered(self) -> str:
        """Name under which it is offered, with ``@LADDER`` if it is for one ladder."""
        _, at, ladder = self.program.partition("@")
        return f"{self.named}{at}{ladder}"


def packed(files: Mapping[str, bytes], limits: SubmissionLimits) -> tuple[str, bytes]:
    """Return an upload's kind, ``py`` or ``zip``, and its bytes; several files are packed into a
    ZIP.

    Args:
        limits: the limits of an upload.

    Raises:
        DovetailError: it is neither a Python file nor a folder with ``agent.py``, or too large.
    """
    most = limits.upload << 20
    if sum(map(len, files.values())) > most:
        raise DovetailError(f"an agent may have at most {limits.upload} MiB")
    if len(files) == 1:
        ((name, data),) = files.items()
        if name.endswith(".py"):
            return "py", data
        if name.endswith(".zip"):
            files = _unzipped(name, data, most)
    _whole([(name, len(data)) for name, data in files.items()], most)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(name, data)
    return "zip", made.getvalue()


def _unzipped(name: str, data: bytes, most: int) -> dict[str, bytes]:
    """Return the files of an archive; they are packed again, so that only archives of our own are
    kept."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = _checked(archive, name, most)
            return {each: found.whole(each, most) for each in found.names if each[-1:] != "/"}
    except UNREADABLE as error:
        raise DovetailError(f"{name} is not a ZIP archive that can be read: {error}") from None


def unpack(source: Path, folder: Path, limits: SubmissionLimits) -> None:
    """Write the files of a kept archive, which an imported arena may have brought, into a folder.

    Raises:
        DovetailError: it is not an agent within the limits, or cannot be read or written.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            _checked(archive, source.name, limits.upload << 20)
            archive.extractall(folder)  # drops roots, drives and `..`
    except UNREADABLE as error:
        raise DovetailError(str(error)) from None


def _checked(archive: zipfile.ZipFile, name: str, most: int) -> Unpacked:
    # zipfile reads no more of a file than the size that is listed.
    _whole([(each.filename, each.file_size) for each in archive.infolist()], most)
    return Unpacked(archive, name, most)


def _whole(files: Sequence[tuple[str, int]], most: int) -> None:
    if not any(Path(name).name == MAIN and name.count("/") < 2 for name, _ in files):
        raise DovetailError(f"give a Python file, or a folder or a ZIP archive with {MAIN}")
    if len(files) > FILES:
        raise DovetailError(f"a folder may have at most {FILES} files")
    if sum(size for _, size in files) > most:
        raise DovetailError(f"an agent may have at most {most >> 20} MiB, unpacked too")


class Submissions(ArenaTables):
    """Submissions in an arena's database, with their files beside it."""

    @property
    def submitted(self) -> Path:
        """Folder of the submissions' files."""
        return self.path.parent / SUBMITTED

    def submit(
        self, entrant: str, program: str, files: Mapping[str, bytes], limits: SubmissionLimits
    ) -> int:
        """Queue a new version of an agent; return its number.

        Args:
            program: the agent's name, with ``@LADDER`` if it is for one ladder.

        Raises:
            DovetailError: the name or the files are invalid, or there are too many.
        """
        if not NAME.fullmatch(program.partition("@")[0]):
            raise DovetailError(
                f"{program[:60]!r} is not a name; use up to 40 letters, digits, '_', '-' or '.'"
            )
        kind, data = packed(files, limits)
        t = s.submissions.c
        with self._writing() as connection:
            mine = connection.execute(sa.select(s.submissions).where(t.entrant == entrant)).all()
            others = {row.program for row in mine if row.state in OPEN} - {program}
            if len(others) >= limits.agents:
                raise DovetailError(
                    f"you have {len(others)} agents here, which is the limit; withdraw one, or "
                    "upload a new version of it"
                )
            if sum(row.state == "waiting" for row in mine) >= limits.waiting:
                raise DovetailError(f"{limits.waiting} versions are already waiting; wait for them")
            version = 1 + max((row.version for row in mine if row.program == program), default=0)
            number = 1 + (connection.execute(sa.select(sa.func.max(t.id))).scalar() or 0)
            file = f"{number}.{kind}"
            self._keep(file, data)
            connection.execute(
                sa.insert(s.submissions).values(
                    id=number,
                    entrant=entrant,
                    program=program,
                    version=version,
                    file=file,
                    digest=hashlib.sha256(data).hexdigest(),
                    at=time.time(),
                    state="waiting",
                    why="",
                )
            )
            add_line(connection, "submitted", f"{entrant}/{program}", f"version {version}")
            return number

    def _keep(self, file: str, data: bytes) -> None:
        folder = self.submitted
        with attempting(f"write into {folder}"):
            folder.mkdir(mode=0o700, exist_ok=True)
            path = folder / file
            path.unlink(missing_ok=True)  # left by an upload that was never confirmed
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

    def submissions(
        self, entrant: str | None = None, states: Sequence[SubmissionState] | None = None
    ) -> list[Submission]:
        """Return submissions, oldest first, optionally of one entrant and in some states."""
        t = s.submissions.c
        query = sa.select(s.submissions).order_by(t.id)
        if entrant is not None:
            query = query.where(t.entrant == entrant)
        if states is not None:
            query = query.where(t.state.in_(states))
        return [Submission(*row) for row in self._rows(query)]

    def decided(self, number: int, state: SubmissionState, why: str = "") -> None:
        """Record a new state for an open submission.

        A version that starts playing replaces earlier ones of the same agent.
        """
        t = s.submissions.c
        with self._writing() as connection:
            mine = t.id == number, t.state.in_(OPEN)
            if not change(connection, s.submissions, *mine, state=state, why=why):
                return
            row = connection.execute(sa.select(s.submissions).where(t.id == number)).one()
            if state == "playing":
                earlier = (
                    (t.entrant == row.entrant)
                    & (t.program == row.program)
                    & (t.version < row.version)
                    & t.state.in_(OPEN)
                )
                text = f"replaced by version {row.version}"
                for each in connection.execute(sa.select(s.submissions).where(earlier)).all():
                    _retire(connection, Submission(*each), "replaced", text)
            if state in ("playing", "failed"):
                text = f"version {row.version}" + (f": {why}" if why else "")
                add_line(connection, state, f"{row.entrant}/{row.program}", text)

    def recall(self, number: int, entrant: str | None) -> None:
        """Withdraw a submission.

        Args:
            entrant: its required owner; None for any.

        Raises:
            DovetailError: there is no such open submission.
        """
        t = s.submissions.c
        whose = sa.true() if entrant is None else t.entrant == entrant
        with self._writing() as connection:
            row = connection.execute(
                sa.select(s.submissions).where(t.id == number, t.state.in_(OPEN), whose)
            ).one_or_none()
            if row is None:
                raise DovetailError("no such submission is playing or waiting")
            _retire(connection, Submission(*row), "withdrawn", "withdrawn")
            name = f"{row.entrant}/{row.program}"
            add_line(connection, "withdrew", name, f"version {row.version}")


def _retire(connection: sa.Connection, one: Submission, state: SubmissionState, why: str) -> None:
    """Remove a version from the queue and from pairing, within a transaction; it finishes its
    current game."""
    p, it = s.players.c, s.submissions.c.id == one.id
    change(connection, s.submissions, it, state=state, why="" if why == state else why)
    mine = p.entrant == one.entrant, p.program == one.named, p.state == "active"
    change(connection, s.players, *mine, state="paused", why=why, faults=0)
