"""``AgentHandle``: an agent that an experiment created."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail.client.client import Experiment


class AgentHandle(int):
    """An agent's number at the broker, with methods to save, load, message and release it.

    >>> agent = experiment.create("td", seed=1)  # doctest: +SKIP
    >>> state = agent.save()  # doctest: +SKIP
    """

    agent: str
    """The agent type."""
    _experiment: Experiment

    @classmethod
    def of(cls, number: int, agent: str, experiment: Experiment) -> AgentHandle:
        """Return the handle of an instance."""
        made = cls(number)
        made.agent = agent
        made._experiment = experiment
        return made

    def save(self, state_name: str | None = None) -> bytes:
        """Return the agent's state; with ``state_name`` also store it at the broker."""
        return self._experiment.save(self, state_name)

    def load(self, state: bytes = b"", state_name: str | None = None) -> None:
        """Load a state: the bytes ``state``, or the one stored as ``state_name``."""
        self._experiment.load(self, state, state_name)

    def message(self, body: Any) -> Any:
        """Send the agent a message; return its answer."""
        return self._experiment.message(self, body)

    def cleanup(self) -> None:
        """Release the agent; it cannot be used afterwards."""
        self._experiment.cleanup(self)

    def __repr__(self) -> str:
        return f"<{self.agent}, instance {int(self)}>"

    def __str__(self) -> str:
        return str(int(self))

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)
