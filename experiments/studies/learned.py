"""What learners of a row have learned: written when they have, so that tables can be measured again without training."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from dovetail.experiments.client import Experiment
from dovetail.protocol.errors import DovetailError

KEPT = Path("docs/studies/states")
"""States in the repository, a folder for each row."""
LARGEST = 200_000
"""Bytes of a state that the repository keeps; larger ones are trained again by the row's command."""


@dataclass(frozen=True)
class States:
    """The states of a row at one size."""

    folder: Path
    """Where they are written."""
    kept: Path | None = None
    """Where they are read from, before ``folder``, instead of training; None to train."""

    def write(self, name: str, state: bytes) -> None:
        """Write what a learner has learned."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.state").write_bytes(state)

    def read(self, name: str) -> bytes:
        """Return what a learner had learned.

        Raises:
            DovetailError: its state is in neither folder.
        """
        assert self.kept is not None
        for folder in (self.kept, self.folder):
            if (path := folder / f"{name}.state").is_file():
                return path.read_bytes()
        raise DovetailError(
            f"there is no state {name} in {self.kept} or {self.folder}; run the row without --again, which trains it"
        )


_states: ContextVar[States | None] = ContextVar("states", default=None)


@contextmanager
def using(states: States | None) -> Iterator[None]:
    """Keep what is learned within this block, or read it; None does neither."""
    token = _states.set(states)
    try:
        yield
    finally:
        _states.reset(token)


def learned(name: str, learn: Callable[[], bytes]) -> bytes:
    """Return the state of a learner after ``learn``, or the kept one of that name."""
    states = _states.get()
    if states is not None and states.kept is not None:
        return states.read(name)
    state = learn()
    if states is not None:
        states.write(name, state)
    return state


def train(experiment: Experiment, players: Mapping[str, int], learn: Callable[[], object]) -> None:
    """Let players learn, or load the kept states of those names.

    Args:
        experiment: in which they exist.
        players: what ``create`` returned, by the name of its state.
        learn: plays the games from which they learn.
    """
    states = _states.get()
    if states is not None and states.kept is not None:
        for name, player in players.items():
            experiment.load(player, states.read(name))
        return
    learn()
    if states is not None:
        for name, player in players.items():
            states.write(name, experiment.save(player))
