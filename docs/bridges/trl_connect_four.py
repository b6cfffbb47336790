"""A seat of Connect Four as TRL's ``environment_factory`` wants it: ``reset``, and a tool.

pip install openenv
dovetail openenv --game connect_four --seat 0 --against greedy --sessions 16
"""

from __future__ import annotations

import os
from typing import Any


class ConnectFourSeat:
    """A seat at a server; one rollout plays one game."""

    def __init__(self) -> None:
        from openenv import GenericEnvClient

        url = os.environ.get("DOVETAIL_OPENENV", "http://127.0.0.1:8000")
        self.client = GenericEnvClient(base_url=url).sync()
        self.reward = 0.0
        self.done = False
        self.truncated = False

    def reset(self, **_: Any) -> str:
        """Begin a game; return what the model is told first."""
        self.reward, self.truncated = 0.0, False
        return self._told(self.client.reset())

    def drop(self, column: int) -> str:
        """Drop a disc.

        Args:
            column: the column, from 0 at the left.

        Returns:
            The position after the opponent's move, or how the game ended.
        """
        if self.done:
            return "The game is over."
        return self._told(self.client.step({"action": column}))

    def _told(self, result: Any) -> str:
        seen = result.observation
        self.done = result.done
        self.reward += result.reward or 0.0
        if self.done:
            self.truncated = bool(seen["metadata"]["truncated"])
            return f"{seen['text']}\nThe game is over; you earned {self.reward:g}."
        wrong = f"{seen['error']}\n" if seen["error"] else ""
        legal = ", ".join(map(str, seen["legal_actions"]))
        return f"{wrong}{seen['text']}\nColumns that are free: {legal}"

    def _close(self) -> None:  # each public method is a tool that the model may call
        """End the session, which frees the server's seat."""
        self.client.close()


def rewards(environments: list[ConnectFourSeat], **_: Any) -> list[float | None]:
    """Return the reward of each rollout: -1 if its model stopped in the middle of the game, None if
    the server cut the game off."""
    return [
        -1.0 if not each.done else None if each.truncated else each.reward for each in environments
    ]
