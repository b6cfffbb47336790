"""Registers Dovetail's games with Gymnasium.

>>> import gymnasium, dovetail.gymnasium
>>> env = gymnasium.make("dovetail/ConnectFour-v1", opponent="random")

``gymnasium.make("dovetail.gymnasium:dovetail/ConnectFour-v1")`` needs no import.
"""

from __future__ import annotations

import gymnasium

from dovetail.bridges.gymnasium.ids import ids

__all__ = ["ids"]

for _name, _id in ids().items():
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point="dovetail.bridges.gymnasium.outgoing:DovetailEnv",
            kwargs={"game": _name},
        )
