"""Learned states of a row, kept so that its table can be measured again without training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from dovetail.client.client import Experiment
from dovetail.protocol.errors import DovetailError
from dovetail_experiments.reports import output
from dovetail_studies import archive
from dovetail_studies.archive import Member, Place
from dovetail_studies.results import KeptResults, folder_of
from dovetail_studies.rows import Result, Unit

T = TypeVar("T")

KEPT = Path("studies/pages/states")
"""States in the repository, an archive per study."""
LARGEST = 200_000
"""Maximum bytes of a state kept in the repository; larger ones are trained again."""


@dataclass(frozen=True)
class States:
    """Learned states of a row at one size."""

    folder: Path
    """Folder to which states are written."""
    kept: Sequence[Place] = ()
    """Places searched for states, before ``folder``; empty to train all."""

    def write(self, name: str, state: bytes) -> None:
        """Write a learner's state."""
        path = self.folder / f"{name}.state"
        folder_of(path)
        output.write(path, state)  # atomically, since a truncated state would be read and kept

    def find(self, name: str) -> Place | None:
        """Return the file of a learner's state; None if it must be trained."""
        for folder in (*self.kept, self.folder) if self.kept else ():
            if (path := folder / f"{name}.state").is_file():
                return path
        return None


def keep(source: Path, kept: Member, whole: bool) -> None:
    """Copy a folder's small states into the repository, replacing those of the same learners.

    Args:
        source: the folder.
        kept: the row's folder in the archive of its study.
        whole: true if all the row's results were made with ``source``; other states are then
            removed from ``kept``.

    Raises:
        DovetailError: the states cannot be written; none is lost.
    """
    found = {(kept / path.name).name: path for path in source.glob("*.state")}
    if not found:
        return
    small = {
        name: path.read_bytes() for name, path in found.items() if path.stat().st_size <= LARGEST
    }
    gone = set(kept.files() if whole else found)
    before = archive.members(kept.archive)
    rest = {name: state for name, state in before.items() if name not in gone}
    archive.write(kept.archive, {**rest, **small})


_states: ContextVar[States | None] = ContextVar("states", default=None)


@contextmanager
def using(states: States | None) -> Iterator[None]:
    """Keep or read learned states within this block; None disables both."""
    token = _states.set(states)
    try:
        yield
    finally:
        _states.reset(token)


def learned(name: str, learn: Callable[[], bytes], read: Callable[[bytes], T]) -> T:
    """Return the result of ``read`` on the kept state of a name, or on the result of ``learn``.

    Raises:
        DovetailError: the kept state is invalid.
    """
    states = _states.get()
    if states is not None and (kept := states.find(name)) is not None:
        return _read(kept, read)
    state = learn()
    if states is not None:
        states.write(name, state)
    return read(state)


def continued(name: str, learn: Callable[[], bytes]) -> bytes:
    """Return the state of a name, or the result of ``learn``, which is written at once.

    Unlike ``learned`` it also reads states of earlier runs, so that an interrupted long training
    continues.
    """
    states = _states.get()
    if states is None:
        return learn()
    kept = states.find(name) or states.folder / f"{name}.state"
    if kept.is_file():
        return kept.read_bytes()
    state = learn()
    states.write(name, state)
    return state


def _read(kept: Place, read: Callable[[bytes], T]) -> T:
    try:
        return read(kept.read_bytes())
    except DovetailError as error:
        raise DovetailError(
            f"{kept}: {error}; restore the file, or remove it, and the learner is trained again"
        ) from None
    except OSError as error:
        raise DovetailError(f"cannot read {kept}: {error.strerror}") from None


class Steps:
    """Steps of a long training, recorded so that it continues after an interruption.

    Args:
        name: the name of the trained state.
    """

    def __init__(self, name: str) -> None:
        states = _states.get()
        self._done = None if states is None else KeptResults([states.folder / f"{name}.steps"])

    def do(self, step: Unit, work: Callable[[], Result]) -> Result:
        """Return the recorded result of a step, or carry it out.

        ``step`` identifies it among all others.
        """
        if self._done is None:
            return work()
        if found := self._done.of([step]):
            return found[0].result
        begun = time.monotonic()
        result = work()
        self._done.add(step, result, time.monotonic() - begun)
        return result


def train(experiment: Experiment, players: Mapping[str, int], learn: Callable[[], object]) -> None:
    """Load the kept states of players, or let them learn.

    Args:
        experiment: the experiment that created the players.
        players: instance numbers from ``create``, by the names of the states.
        learn: the function that plays the training games.

    Raises:
        DovetailError: a kept state does not fit its player.
    """
    states = _states.get()
    if states is None:
        learn()
        return
    kept = {name: path for name in players if (path := states.find(name)) is not None}
    if len(kept) < len(players):
        learn()
        for name, player in players.items():
            states.write(name, experiment.save(player))
        return
    for name, player in players.items():
        _read(kept[name], partial(experiment.load, player))
