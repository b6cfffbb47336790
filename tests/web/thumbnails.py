"""Writes the pictures of the wall of games: ``python -m tests.web.thumbnails``, after games or
looks have changed."""

from __future__ import annotations

import random
from operator import attrgetter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from msgspec.structs import replace

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
OPTIONS: dict[str, dict[str, int]] = {"tetris": {"height": 8}}
KEPT = "supply"
"""The zone of cards that is shown; the others would be too small to read."""
BESIDE = ("area", "off", "arrow")
WIDE = 294
"""Pixels of a tile on the wall."""
CARDS = {"viewBox": "-4 18 350 224", "width": f"{WIDE}", "height": "188"}
"""The part of a supply that is shown: two cards of two lines."""
SEED = 6


def scene(name: str, turns: int) -> Scene:
    """Return a position after some moves at random."""
    kind: Any = registered("environment", name)
    game = kind(options.read(kind.Configuration, OPTIONS.get(name, {}), f"environment {name}"))
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


def bare(scene: Scene) -> Scene:
    """Return the board alone: coordinates, what is beside it, and cards but the supply would be too
    small on a thumbnail."""
    kept = [n for n, each in enumerate(scene.cells) if each.kind not in BESIDE]
    cells = [scene.cells[n] for n in kept]
    left, top = (min((at(each) for each in cells), default=0.0) for at in (_x, _y))
    marks = [
        replace(each, cells=[kept.index(n) for n in each.cells if n in kept], cards=[])
        for each in scene.marks
    ]
    return replace(
        scene,
        width=max((each.x + each.width for each in cells), default=0.0) - left,
        height=max((each.y + each.height for each in cells), default=0.0) - top,
        cells=[replace(each, name="", x=each.x - left, y=each.y - top) for each in cells],
        pieces=[
            replace(each, cell=kept.index(each.cell)) for each in scene.pieces if each.cell in kept
        ],
        marks=marks,
        cards=[each for each in scene.cards if each.zone == KEPT],
        zones=[replace(each, title="") for each in scene.zones if each.name == KEPT],
    )


_x, _y = attrgetter("x"), attrgetter("y")


if __name__ == "__main__":
    for game, count in TURNS.items():
        shown = bare(scene(game, count))
        made = svg(shown, WIDE)
        if not shown.cells:
            made.attrib.update(CARDS)
            for title in made.findall("g[@class='title']"):
                made.remove(title)
        text = Xml.tostring(made, encoding="unicode")
        (STATIC / f"game-{game}.svg").write_text(text + "\n")
