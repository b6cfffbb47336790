"""Options shared by learners, each described once.

The order of a struct's fields is that of its saved state, so a learner whose first options differ
uses these types without the base class.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

LearningRate = Annotated[float, Meta(ge=0, le=10, description="Step size of the first updates.")]
Epsilon = Annotated[float, Meta(ge=0, le=1, description="Share of random actions while learning.")]
Discount = Annotated[
    float, Meta(ge=0, le=1, description="Discount factor (gamma) for each decision.")
]


class LearnerOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of a learner that explores; each learner sets its own defaults."""

    learning_rate: LearningRate = 0.1
    epsilon: Epsilon = 0.1
