"""Policies trained with Stable-Baselines3 as players."""

from __future__ import annotations

import importlib.util
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from dovetail.agent_servers.agent import Agent, Decision
from dovetail.peer import plugins
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Discrete


class SB3Parameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``SB3``."""

    path: Annotated[str, Meta(description="The file that the algorithm's save wrote (.zip).")]
    algorithm: Annotated[
        str,
        Meta(
            description="Its class in stable_baselines3, such as DQN, PPO or A2C; or module:Class of any with "
            "load and predict, such as sb3_contrib:MaskablePPO."
        ),
    ] = "DQN"
    deterministic: Annotated[
        bool, Meta(description="Its best action, instead of one drawn from its policy.")
    ] = True
    masks: Annotated[
        bool, Meta(description="Tell it the legal actions, as MaskablePPO wants (action_masks).")
    ] = False
    flatten: Annotated[bool, Meta(description="Show it observations as one row of numbers.")] = (
        False
    )
    illegal: Annotated[
        Literal["random", "fail"],
        Meta(description="If its action is not legal: play one by lot, or let the broker judge."),
    ] = "random"


class SB3(Agent):
    """Seats a policy trained with Stable-Baselines3, if that is installed (``pip install dovetail[sb3]``).

    It plays and does not learn.  What a seat observes goes to ``predict`` as it is, so the policy must have been
    trained on the same observations; its number is the action.

    Raises:
        DovetailError: there is no such package, class or file, or it is none of that class.
    """

    name = "sb3"
    Parameters = SB3Parameters
    parameters: SB3Parameters
    capacity = 0

    def __init__(self, parameters: SB3Parameters, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        name = parameters.algorithm
        if ":" not in name:
            if importlib.util.find_spec("stable_baselines3") is None:
                raise DovetailError(
                    "agent sb3 needs the package stable-baselines3: pip install 'dovetail[sb3]'"
                )
            name = f"stable_baselines3:{name}"
        kind = plugins.function(name, "agent sb3, option 'algorithm'")
        try:
            self._model = kind.load(parameters.path)  # type: ignore[attr-defined]
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise DovetailError(
                f"agent sb3, option 'path': {parameters.path} cannot be loaded as {parameters.algorithm}: "
                f"{type(error).__name__}: {text}"
            ) from None
        if hasattr(self._model, "set_random_seed"):
            self._model.set_random_seed(seed % 2**32)

    def step(self, decision: Decision) -> Any:
        given, legal = self.parameters, decision.legal
        seen = np.asarray(decision.observation)
        more: dict[str, Any] = {}
        if given.masks and legal is not None:
            spaces = decision.seat.spec.action_spaces
            space = spaces[decision.seat.seat if len(spaces) > 1 else 0]
            if not isinstance(space, Discrete):
                raise DovetailError("agent sb3, option 'masks': the actions must be numbers")
            mask = np.zeros(space.n, bool)
            mask[np.asarray(legal) - space.start] = True
            more["action_masks"] = mask
        action, _ = self._model.predict(
            seen.reshape(-1) if given.flatten else seen, deterministic=given.deterministic, **more
        )
        found = action.tolist() if isinstance(action, np.ndarray | np.generic) else action
        if legal is not None and found not in legal and given.illegal == "random":
            return decision.rng.choice(legal)
        return found
