"""The schedule of an experiment: parts of phases, with evaluations in between.  Pure."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.experiments.file import Evaluation, ExperimentFile, Pairing, Phase, kind_of
from dovetail.protocol.messages import Episode, Mode


@dataclass(frozen=True, slots=True)
class Stage:
    """A stretch of a phase, or one playing of an evaluation: one run at the broker."""

    number: int
    part: Phase | Evaluation | Pairing
    first: int
    """The index of its first episode within the phase."""
    episodes: int
    trained: int
    """Learning episodes before it, of all phases."""

    @property
    def kind(self) -> str:
        """``phase``, ``evaluation`` or ``tournament``."""
        return kind_of(self.part)

    @property
    def mode(self) -> Mode:
        """Whether agents may change."""
        return self.part.mode if isinstance(self.part, Phase) else "evaluate"


@dataclass(frozen=True, slots=True)
class Played:
    """A stage with the results that count."""

    stage: Stage
    episodes: list[Episode]


def stages(file: ExperimentFile) -> list[Stage]:
    """Return what is to be played, in order.

    Evaluations come before a phase that asks for them, every ``evaluate_every`` episodes and after
    its last; and at the end of the experiment in any case.  None is played twice at one point.
    Tournaments come last.
    """
    found: list[Stage] = []
    trained = 0
    evaluated = -1

    def evaluate() -> None:
        nonlocal evaluated
        if evaluated != trained:
            for part in file.evaluations:
                found.append(Stage(len(found), part, 0, part.episodes, trained))
        evaluated = trained

    for phase in file.phases:
        every = phase.evaluate_every
        if every:
            evaluate()
        for first in range(0, phase.episodes, every or phase.episodes):
            length = min(every or phase.episodes, phase.episodes - first)
            found.append(Stage(len(found), phase, first, length, trained))
            if phase.mode == "learn":
                trained += length
            if every:
                evaluate()
    evaluate()
    for tournament in file.tournaments:
        for pairing in tournament.pairings():
            found.append(Stage(len(found), pairing, 0, pairing.episodes, trained))
    return found
