"""MaskablePPO learns Connect Four against a random player, and then meets one that searches.

pip install 'dovetail[gymnasium,sb3]' sb3-contrib
python docs/bridges/sb3_connect_four.py
"""

from __future__ import annotations

from typing import Any

import gymnasium
from sb3_contrib import MaskablePPO

import dovetail_bridges.gymnasium  # noqa: F401  (registers the games)

GAME = "dovetail/ConnectFour-v1"
POLICY = "connect_four.zip"


def make(opponent: Any) -> gymnasium.Env[Any, Any]:
    """Return Connect Four with observations as one row, which PPO's MLP reads."""
    env = gymnasium.make(GAME, opponent=opponent, seat="alternate")
    return gymnasium.wrappers.FlattenObservation(env)


def score(model: MaskablePPO, opponent: Any, games: int = 200) -> float:
    """Return the mean outcome: 1 for a win, one half for a draw."""
    env = make(opponent)
    total = 0.0
    for game in range(games):
        observation, info = env.reset(seed=7 if game == 0 else None)
        done = info["over"]
        while not done:
            action, _ = model.predict(
                observation, deterministic=True, action_masks=info["action_mask"].astype(bool)
            )
            observation, _, terminated, truncated, info = env.step(int(action))
            done = terminated or truncated
        total += info["outcome"][info["seat"]]
    env.close()
    return total / games


def main() -> None:
    """Train, save, and play."""
    model = MaskablePPO("MlpPolicy", make("random"), seed=1, verbose=1)
    print(f"against random before: {score(model, 'random'):.2f}")
    model.learn(200_000)
    model.save(POLICY)
    print(f"against random after: {score(model, 'random'):.2f}")
    from dovetail.client.sitting import Opponent

    depth = Opponent("alpha-beta", parameters={"depth": 2})
    print(f"against alpha-beta of depth 2: {score(model, depth):.2f}")
    print(
        f"in Dovetail: dovetail play connect_four --against sb3 --register policy:mine={POLICY} "
        "--set-agent policy=mine --set-agent algorithm=MaskablePPO --set-agent masks=true "
        "--set-agent flatten=true"
    )


if __name__ == "__main__":
    main()
