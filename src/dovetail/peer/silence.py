"""How long the broker has said nothing, as far as this program has listened."""

from __future__ import annotations

STEP = 1.0
"""Seconds that one look counts at the most.

A program that computes, or that somebody has stopped, has not listened; its broker may have spoken.
"""


class Silence:
    """Adds up the time in which this program listened and nothing came.

    Args:
        give_up: seconds after which ``hopeless`` is true; None for never.
    """

    def __init__(self, give_up: float | None = None) -> None:
        self.give_up = give_up
        self.seconds = 0.0
        self.told = False
        """Whether a person has heard of this silence."""
        self._looked = 0.0

    def nothing(self, now: float, heard: float) -> None:
        """Note a look in vain; ``heard`` is when the broker was last heard."""
        self.seconds += min(now - max(self._looked, heard), STEP)
        self._looked = now

    def over(self) -> None:
        """Note that something came."""
        self.seconds = 0.0
        self.told = False

    @property
    def hopeless(self) -> bool:
        """Whether to wait no longer."""
        return self.give_up is not None and self.seconds > self.give_up
