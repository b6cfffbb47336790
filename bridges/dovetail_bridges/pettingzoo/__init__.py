"""Dovetail's games for PettingZoo; importing this registers them there.

>>> import dovetail_bridges.pettingzoo
>>> env = dovetail_bridges.pettingzoo.env("connect_four")
>>> env = pettingzoo.make("aec", "dovetail/ConnectFour-v1")
"""

from __future__ import annotations

import pettingzoo

from dovetail_bridges.gymnasium.ids import ids
from dovetail_bridges.pettingzoo.to_pettingzoo import env, parallel_env, raw_env

__all__ = ["env", "ids", "parallel_env", "raw_env"]


def _register() -> None:
    for name, identity in ids().items():
        for kind, function in (("aec", "env"), ("parallel", "parallel_env")):
            if identity not in getattr(pettingzoo, f"{kind}_registry"):
                where = f"dovetail_bridges.pettingzoo.to_pettingzoo:{function}"
                pettingzoo.register(kind, identity, entry_point=where, kwargs={"game": name})


if hasattr(pettingzoo, "register"):  # there is a registry since 1.27
    _register()
