"""Options that learners share, each described once.

A struct's order of fields is that of the states it is saved in, so a learner whose first options
are others names the types instead of the base.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

StepSize = Annotated[float, Meta(ge=0, le=10, description="Step size of the first updates.")]
Epsilon = Annotated[float, Meta(ge=0, le=1, description="Share of random actions while learning.")]
Discount = Annotated[
    float, Meta(ge=0, le=1, description="Discount factor (gamma) for each decision.")
]


class LearnerOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The options of a learner that explores; each learner has its own defaults."""

    learning_rate: StepSize = 0.1
    epsilon: Epsilon = 0.1
