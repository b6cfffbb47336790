"""Writes the pictures of the wall of games: ``python -m tests.web.thumbnails``, after games or
looks have changed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import dovetail_web
from dovetail.peer import options
from dovetail.peer.registry import registered
from dovetail.protocol.scenes import Scene
from dovetail_experiments.reports.drawing import svg

STATIC = Path(dovetail_web.__file__).parent / "static"
TURNS = {
    **{"connect_four": 16, "amazons": 14, "rlgame": 24, "dots": 14},
    **{"dominion": 30, "tetris": 12, "2048": 90},
}
SEED = 6


def scene(name: str, turns: int) -> Scene:
    """Return a position after some moves at random."""
    kind: Any = registered("environment", name)
    game = kind(options.read(kind.Configuration, {}, f"environment {name}"))
    game.init()
    turn, rng = game.start(SEED), random.Random(SEED)
    found: Scene = game.scene()
    for _ in range(turns):
        (seat,) = turn.to_act
        legal = next(view.legal for view in turn.seats if view.seat == seat)
        turn = game.step({seat: rng.choice(list(legal))})
        if not turn.to_act:
            break
        found = game.scene()
    return found


if __name__ == "__main__":
    for game, count in TURNS.items():
        text = Xml.tostring(svg(scene(game, count), 260), encoding="unicode")
        (STATIC / f"game-{game}.svg").write_text(text + "\n")
