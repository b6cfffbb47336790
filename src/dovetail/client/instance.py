"""An agent that an experiment created: its number, with what can be asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.client.client import Experiment


class AgentHandle(int):
    """The number of an agent at the broker; runs take it, and it answers for itself.

    >>> agent = experiment.create("td", seed=1)  # doctest: +SKIP
    >>> state = agent.save()  # doctest: +SKIP
    """

    agent: str
    """Its type."""
    _experiment: Experiment

    @classmethod
    def of(cls, number: int, agent: str, experiment: Experiment) -> AgentHandle:
        """Return the instance of a number."""
        made = cls(number)
        made.agent = agent
        made._experiment = experiment
        return made

    def save(self, state_name: str | None = None) -> bytes:
        """Return its state; with ``state_name`` the broker also stores it under that name."""
        return self._experiment.save(self, state_name)

    def load(self, state: bytes = b"", state_name: str | None = None) -> None:
        """Load a saved state: ``state``, or the one stored under that name."""
        self._experiment.load(self, state, state_name)

    def message(self, body: Any) -> Any:
        """Send it a message; return its answer."""
        return self._experiment.message(self, body)

    def cleanup(self) -> None:
        """End it."""
        self._experiment.cleanup(self)

    def __repr__(self) -> str:
        return f"<{self.agent}, instance {int(self)}>"

    def __str__(self) -> str:
        return str(int(self))

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)
