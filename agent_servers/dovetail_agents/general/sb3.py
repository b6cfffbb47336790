"""Policies trained with Stable-Baselines3 as players."""

from __future__ import annotations

import importlib
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from dovetail.peer.agents.agent import Agent, Decision
from dovetail.peer.registry import registered
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import Discrete

ALGORITHMS = {
    **dict.fromkeys(("A2C", "DDPG", "DQN", "PPO", "SAC", "TD3"), "stable_baselines3"),
    **dict.fromkeys(("ARS", "MaskablePPO", "QRDQN", "TQC", "TRPO"), "sb3_contrib"),
}
"""Package of each supported algorithm."""
INSTALL = {
    "stable_baselines3": "stable-baselines3: pip install 'dovetail[sb3]'",
    "sb3_contrib": "sb3-contrib: pip install sb3-contrib",
}


class SB3Parameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of ``SB3``."""

    policy: Annotated[
        str,
        Meta(
            description="The name of a registered policy, whose file the algorithm's save wrote "
            "(.zip): dovetail agent sb3 --register policy:NAME=FILE.zip."
        ),
    ]
    algorithm: Annotated[
        str,
        Meta(
            description="A2C, DDPG, DQN, PPO, SAC or TD3; ARS, MaskablePPO, QRDQN, TQC or TRPO of "
            "sb3_contrib; or the name of a registered class with load and predict."
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
        Meta(
            description="Handling of illegal actions: random, play a random legal one; "
            "fail, leave it to the run's on_illegal."
        ),
    ] = "random"


class SB3(Agent[SB3Parameters]):
    """Seats a policy trained with Stable-Baselines3, if that is installed (``pip install
    dovetail[sb3]``).

    It plays and does not learn. Observations are passed to ``predict`` unchanged, so the policy
    must have been trained on the same observations; the number it returns is the action.
    Stable-Baselines3 unpickles the files it loads, which can run code: only files registered by the
    program's own user are loaded, and those should come from people you trust.

    Raises:
        DovetailError: there is no such package, algorithm or policy, or the file is not of that
            algorithm.
    """

    name = "sb3"
    packages = ("stable_baselines3",)
    capacity = 0

    def __init__(self, parameters: SB3Parameters, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        path = registered("policy", parameters.policy, who="agent sb3, option 'policy'")
        kind = _algorithm(parameters.algorithm)
        try:
            self._model = kind.load(path)
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            raise DovetailError(
                f"agent sb3, option 'policy': {path} cannot be loaded as {parameters.algorithm}: "
                f"{type(error).__name__}: {text}"
            ) from None
        if hasattr(self._model, "set_random_seed"):
            self._model.set_random_seed(seed % 2**32)

    def step(self, decision: Decision) -> Any:
        given, legal = self.parameters, decision.legal
        seen = np.asarray(decision.observation)
        more: dict[str, Any] = {}
        if given.masks and legal is not None:
            space = decision.seat.spec.action_space(decision.seat.seat)
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


def _algorithm(name: str) -> Any:
    found = registered("algorithm", name, ALGORITHMS, who="agent sb3, option 'algorithm'")
    if name not in ALGORITHMS:
        return found
    try:
        return getattr(importlib.import_module(found), name)
    except ModuleNotFoundError as error:
        if error.name != found:
            raise DovetailError(f"agent sb3: {found} cannot be loaded: {error}") from None
        raise DovetailError(f"agent sb3 needs the package {INSTALL[found]}") from None
    except AttributeError:
        raise DovetailError(f"agent sb3, option 'algorithm': {found} has no {name}") from None
