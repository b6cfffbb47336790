"""The user's own files that an experiment names, packed for machines that lack them.

On the other machine all of them are in one folder. Paths relative to the current folder are kept;
those relative to the experiment file's folder are shortened to that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from dovetail.protocol.errors import DovetailError, attempting
from dovetail_experiments.files.file import Evaluation, ExperimentFile, Phase, Tournament

LARGEST = 256 << 20
"""Maximum total size in bytes."""
SKIPPED = frozenset(("__pycache__", "out", ".git", ".venv", "venv", "node_modules"))
"""Folders to skip."""


class ShippedFile(Struct, frozen=True):
    """A file to ship."""

    data: bytes
    executable: bool


Shipment = dict[str, ShippedFile]
"""Files by path, with ``/`` as the separator."""


class Shipping:
    """Collects the files that experiments name."""

    def __init__(self, folder: Path) -> None:
        self._roots = [Path.cwd(), Path(os.path.abspath(folder))]
        self._found: dict[str, Path] = {}

    def add(self, file: ExperimentFile) -> ExperimentFile:
        """Add the files that an experiment names; return it with their names on the other machine.

        States are not included: they are sent as bytes.

        Raises:
            DovetailError: a file is in neither folder, or two files have the same name.
        """
        environment = replace(
            file.environment,
            name=self.code(file.environment.name),
            command=self.command(file.environment.command),
        )
        agents = {
            name: replace(
                part,
                type=self.code(part.type),
                command=self.command(part.command),
                register=[self._registered(each) for each in part.register],
            )
            for name, part in file.agents.items()
        }
        opened = {
            kind: [self._opened(part) for part in getattr(file, kind)]
            for kind in ("phases", "evaluations", "tournaments")
        }
        return replace(file, environment=environment, agents=agents, **opened)

    def files(self) -> Shipment:
        """Return the files.

        Raises:
            DovetailError: a file cannot be read, or together they are too large.
        """
        shipment: Shipment = {}
        size = 0
        for name, path in sorted(self._found.items()):
            with attempting(f"read {path}"):
                size += path.stat().st_size
                if size > LARGEST:
                    raise DovetailError(
                        f"the experiment's own files have more than {LARGEST >> 20} MB (at "
                        f"{path}); keep large ones outside its folder, on every node"
                    )
                shipment[name] = ShippedFile(path.read_bytes(), os.access(path, os.X_OK))
        return shipment

    def code(self, name: str) -> str:
        """Add the code of ``file.py:Class`` or ``module:Class`` with the files next to it.

        Returns:
            Its name on the other machine.

        Raises:
            DovetailError: as for ``add``.
        """
        where, colon, thing = name.rpartition(":")
        if not colon:
            return name
        if where.endswith(".py"):
            return f"{self._whole(where)}:{thing}"
        top = where.partition(".")[0]
        for path in (Path(f"{top}.py"), Path(top, "__init__.py")):
            if path.is_file():
                self._whole(str(path))
        return name

    def _whole(self, text: str) -> str:
        name = self._named(text)
        folder = Path(text).parent
        top = "/" not in name
        for path in _inside(folder, packages=top):
            if not top or path.suffix == ".py":
                self._named(str(path))
        return name

    def _registered(self, text: str) -> str:
        name, equals, where = text.partition("=")
        return f"{name}{equals}{self.code(where)}"

    def command(self, words: list[str] | None) -> list[str] | None:
        """Add the files that a command names; return it with their names on the other machine.

        Raises:
            DovetailError: as for ``add``.
        """
        if words is None:
            return None
        return [self._word(each, first=number == 0) for number, each in enumerate(words)]

    def _word(self, word: str, *, first: bool) -> str:
        path = Path(word)
        known = path.is_absolute() and not any(path.is_relative_to(root) for root in self._roots)
        if known or (first and "/" not in word):  # a program of the machine, such as /usr/bin/java
            return word
        if path.is_file():
            name = self._named(word)
            return f"./{name}" if first else name
        if path.is_dir():
            for each in _inside(path, packages=False):
                self._named(str(each))
            return self._place(word)
        return word

    def _opened(self, part: Phase | Evaluation | Tournament) -> Phase | Evaluation | Tournament:
        openings = part.openings
        if isinstance(openings, str) and openings != "auto":
            return replace(part, openings=self._named(openings))
        return part

    def _named(self, text: str) -> str:
        """Add a file; return its name on the other machine."""
        name, path = self._place(text), Path(os.path.abspath(text))
        other = self._found.setdefault(name, path)
        if other != path:
            raise DovetailError(f"{other} and {path} would both be {name} on a node; rename one")
        return name

    def _place(self, text: str) -> str:
        path = Path(os.path.abspath(text))
        for root in self._roots:
            if path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        raise DovetailError(
            f"{text} is outside the experiment's folder {self._roots[-1]} and the current one, so "
            "it cannot be sent to other machines; move it into one of them"
        )


def _inside(folder: Path, *, packages: bool) -> Iterator[Path]:
    """Yield all files below a folder; with ``packages``, skip subfolders that are not packages."""
    with attempting(f"read {folder}"):
        entries = sorted(folder.iterdir())
    for path in entries:
        if path.is_file():
            yield path
        elif not path.is_dir() or path.name in SKIPPED or path.is_symlink():
            continue
        elif not packages or (path / "__init__.py").is_file():
            yield from _inside(path, packages=packages)


def unpack(shipment: Shipment, folder: Path) -> None:
    """Write shipped files to a folder.

    Raises:
        DovetailError: a name points outside the folder, or a file cannot be written.
    """
    for name, file in shipment.items():
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts:
            raise DovetailError(f"{name!r} leads out of the folder")
        path = folder / pure
        with attempting(f"write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
            if file.executable:
                path.chmod(0o700)
