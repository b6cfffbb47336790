"""The time that the broker has been silent while this program listened."""

from __future__ import annotations

GIVE_UP = 60.0
"""Seconds of the broker's silence after which an experiment gives up."""
STEP = 1.0
"""Maximum number of seconds that one check counts.

A program that was computing or stopped was not listening, so its broker may have sent something.
"""


class Silence:
    """Adds up the time in which this program listened and received nothing.

    Args:
        give_up: seconds after which ``hopeless`` is true; None for never.
    """

    def __init__(self, give_up: float | None = None) -> None:
        self.give_up = give_up
        self.seconds = 0.0
        self.told = False
        """True once this silence has been reported."""
        self._looked = 0.0

    def nothing(self, now: float, heard: float) -> None:
        """Record a check without a message; ``heard`` is the time of the broker's last message."""
        self.seconds += min(now - max(self._looked, heard), STEP)
        self._looked = now

    def over(self) -> None:
        """Record that a message arrived."""
        self.seconds = 0.0
        self.told = False

    @property
    def hopeless(self) -> bool:
        """Return whether to give up."""
        return self.give_up is not None and self.seconds > self.give_up
