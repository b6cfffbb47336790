"""Registers Dovetail's games with Gymnasium.

>>> import gymnasium, dovetail_bridges.gymnasium
>>> env = gymnasium.make("dovetail/ConnectFour-v1", opponent="random")

``gymnasium.make("dovetail_bridges.gymnasium:dovetail/ConnectFour-v1")`` needs no import.
"""

from __future__ import annotations

import gymnasium

from dovetail_bridges.gymnasium.ids import ids

__all__ = ["ids"]

for _name, _id in ids().items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point="dovetail_bridges.gymnasium.to_gymnasium:DovetailEnv",
            kwargs={"game": _name},
        )
