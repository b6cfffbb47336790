"""Settings of the RLGame study's learner: by its program, by its text, and in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dovetail_studies.rlgame.kernels import StudyRule

LAYERS = {"rlgame-8": (122, 61), "rlgame-6": (66, 33), "connect-four": (90, 45)}
"""Numbers of inputs and hidden units by game."""


@dataclass(frozen=True)
class Profile:
    """Settings of the learner; defaults are those of the study's program."""

    gamma: float = 0.95
    trace_decay: float = 0.5
    """Decay of traces, lambda."""
    discounted: bool = False
    """True if traces decay by gamma times lambda, false if by lambda."""
    traces: Literal["accumulating", "replacing"] = "accumulating"
    rate: float = 0.0
    """Step size of both layers; 0 stands for one over each layer's inputs."""
    epsilon: float = 0.1
    win: float = 100.0
    step: float = 100.0
    """Reward of a quiet move, times the lead in pawns divided by the initial pawns."""
    terminal: float = 1.0
    """Value of a position once the game is over."""
    told: bool = False
    """True if the loser learns of its loss."""
    kept: bool = True
    """True if a random move's reward enters the value that the next update corrects."""
    even: bool = True
    """True to break ties among equal moves at random (version 1.4 on), false to take the first."""

    def rule(self, inputs: int, units: int) -> StudyRule:
        """Return the rule for compiled games."""
        return StudyRule(
            self.gamma,
            self.trace_decay * (self.gamma if self.discounted else 1.0),
            self.traces == "replacing",
            self.rate or 1.0 / inputs,
            self.rate or 1.0 / units,
            self.epsilon,
            self.win,
            self.step,
            self.terminal,
            self.told,
            self.kept,
            self.even,
        )


FIDELITY = Profile()
PROFILES = {
    "seed-fidelity": FIDELITY,
    "thesis-text": Profile(
        discounted=True,
        traces="replacing",
        rate=0.001,
        step=1.0,
        terminal=0.0,
        told=True,
        kept=False,
    ),
    "loser told": replace(FIDELITY, told=True),
    "steps of 1/N": replace(FIDELITY, step=1.0),
    "no steps": replace(FIDELITY, step=0.0),
    "traces with gamma": replace(FIDELITY, discounted=True),
    "replacing traces": replace(FIDELITY, traces="replacing"),
    "terminal value 0": replace(FIDELITY, terminal=0.0),
    "rewards of 1": replace(FIDELITY, win=1.0, step=1.0),
}
"""Profiles by name. ``seed-fidelity`` is the study's program as its descendants have it,
``thesis-text`` the study's text; each of the others differs from the program in one setting."""
SHOWN = {"steps of 1/N": "step reward 1/N", "no steps": "no step reward"}
"""Names of profiles in tables, where they differ from those in results."""
