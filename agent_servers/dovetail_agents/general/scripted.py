"""A player of a fixed list of actions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision
from dovetail.protocol.errors import DovetailError


class ScriptedParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``Scripted``."""

    actions: Annotated[
        list[Any],
        Meta(description="Actions for the first decision of an episode, the second, …"),
    ]
    after: Annotated[
        Literal["repeat", "random", "fail"],
        Meta(description="When they are used up: begin again, play at random, or give up."),
    ] = "fail"


class _Place(Struct):
    """A seat's episode: the number of actions played."""

    played: int = 0


class Scripted(Agent[ScriptedParameters]):
    """Plays given actions, such as those of a recorded game."""

    name = "scripted"
    Memory = _Place
    capacity = 0

    def __init__(self, parameters: ScriptedParameters, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        if not parameters.actions and parameters.after == "repeat":
            raise DovetailError(
                "agent scripted, option 'actions': an empty list cannot be repeated; give an "
                "action, or another value of 'after'"
            )

    def step(self, decision: Decision) -> Any:
        given = self.parameters
        place = decision.memory.played
        decision.memory.played += 1
        if place < len(given.actions):
            return given.actions[place]
        if given.after == "repeat":
            return given.actions[place % len(given.actions)]
        if given.after == "random" and decision.legal:
            return decision.rng.choice(decision.legal)
        raise DovetailError(f"scripted has no action for decision {place}; it was given {place}")
