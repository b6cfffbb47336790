"""Pictures of all games: as they were when they were last looked at, and the same on the page."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import msgspec
import numpy as np
import pytest
import resvg_py
from PIL import Image

import dovetail_web
from dovetail.peer import options
from dovetail.protocol.scenes import Card, Cell, Choice, Mark, Piece, Scene, Seated, Zone
from dovetail_experiments.reports import looks
from dovetail_experiments.reports.drawing import drawing, svg
from dovetail_games.amazons import Amazons
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dominion import Dominion
from dovetail_games.dots import Dots
from dovetail_games.game_2048 import Game2048
from dovetail_games.rlgame import RLGame
from dovetail_games.tetris import Tetris

GOLDEN = Path(__file__).parent / "drawing.png"
STATIC = Path(dovetail_web.__file__).parent / "static"
GAMES: dict[str, tuple[Any, int]] = {
    "amazons": (Amazons, 30),
    "connect_four": (ConnectFour, 100),
    "dominion": (Dominion, 40),
    "dots": (Dots, 16),
    "2048": (Game2048, 60),
    "rlgame": (RLGame, 24),
    "tetris": (Tetris, 17),
    "othello": (None, 23),
}
OTHELLO = Path(__file__).parent / "othello.json"
"""The scenes of a program in TypeScript: the first, and one after 23 moves."""
SCRIPT = """
import { coordinates, drawing, inked } from %r;
let text = "";
process.stdin.on("data", (part) => { text += part; });
process.stdin.on("end", () => {
  const made = JSON.parse(text).map(([scene, width]) => {
    const { view, boxes, groups } = drawing(scene, width);
    const inks = inked(scene.palette ?? {});
    return { view, boxes: Object.fromEntries(boxes), groups, rim: coordinates(scene), inks };
  });
  process.stdout.write(JSON.stringify(made));
});
"""


def scenes(kind: Any, turns: int) -> list[Scene]:
    """Return the scenes of a game played at random: first, newest, and as its seat sees that."""
    if kind is None:
        both = msgspec.json.decode(OTHELLO.read_bytes(), type=list[Scene])
        return both[:1] if turns == 0 else both
    game = kind(options.read(kind.Configuration, {}, kind.name))
    game.init()
    turn, rng = game.start(3), random.Random(3)
    found = [game.scene()]
    for _ in range(turns):
        if not turn.to_act:
            break
        (seat,) = turn.to_act
        legal = next(view.legal for view in turn.seats if view.seat == seat)
        turn = game.step({seat: rng.choice(list(legal))})
        game.scene()
    return [*found, game.scene(), *(game.scene(seat) for seat in turn.to_act)]


def odd() -> list[Scene]:
    """Return scenes with what the games do not have."""
    hexes = [
        Cell(0, 0, outline=[[0.5, 0], [1, 0.3], [1, 0.8], [0.5, 1], [0, 0.8], [0, 0.3]]),
        Cell(1, 0, kind="point", name="b1"),
        Cell(2.125, 0.0625, 0.1, 1, "edge"),
        Cell(0, 1, text="x\x00y", kind="off"),
        Cell(1, 1, kind="strange", owner=7),
    ]
    pieces = [
        Piece(0, "stack", 4, count=3),
        Piece(1, "stone", None),
        Piece(4, "tile", level=0.45, text="12345678"),
        Piece(3, "disc", 2, colour="accent"),
    ]
    cards = [
        Card("table", "A very long name of a card", 3, note="rules " * 40, corner="7", kind="One"),
        Card("table", "Two words", note="+1 card; +2 actions", kind="Two"),
        Card("hand", "", 5, 0),
        Card("pile", "Known", 2, 1, text="text"),
        Card("pile", "Other", 2, 1),
    ]
    zones = [Zone("hand", "Hand", 0, "fan"), Zone("pile", "Pile", 1, "pile")]
    marks = [Mark("last", [0, 1, 2], [0]), Mark("odd", [3]), Mark("danger", [4])]
    seats = [Seated("A"), Seated("Black"), Seated("∆")]
    board = Scene(4, 2, hexes, pieces, cards, [], "", seats, marks, [[0, 0, 2, 2]], zones)
    chosen = [Choice(0, "take", cards=[3])]
    return [board, Scene(cards=cards, zones=zones, choices=chosen), Scene(cells=hexes[:1])]


def test_the_page_draws_what_python_draws() -> None:
    node = shutil.which("node")
    if node is None:
        assert "CI" not in os.environ, "node is missing; install the package `nodejs`"
        pytest.skip("needs the program node")
    every = [scene for each in GAMES.values() for scene in scenes(*each)] + odd()
    given = [(scene, width) for scene in every for width in (looks.PICTURE, 374)]
    for scene, _ in given:
        scene.paths = None
    sent = msgspec.json.encode(given, enc_hook=lambda value: value.tolist())
    line = [node, "--input-type=module", "-e", SCRIPT % (STATIC / "scene.js").as_uri()]
    ran = subprocess.run(line, input=sent, capture_output=True, check=True, timeout=60)
    for (scene, width), theirs in zip(given, json.loads(ran.stdout), strict=True):
        ours = drawing(scene, width)
        assert theirs["groups"] == json.loads(json.dumps(ours.groups))
        assert theirs["boxes"] == {part: [*box] for part, box in ours.boxes.items()}
        inks = looks.inked(scene.palette)
        assert theirs["inks"] == {role: [*pair] for role, pair in inks.items()}


def picture(scene: Scene, theme: int) -> Image.Image:
    text = Xml.tostring(svg(scene, 300, theme), encoding="unicode")
    data = resvg_py.svg_to_bytes(svg_string=text, background=("#f6f5f1", "#14171a")[theme])
    return Image.open(io.BytesIO(bytes(data))).convert("RGB")


def sheet() -> Image.Image:
    """Return all games, in the light above and in the dark below."""
    found = Image.new("RGB", (300 * len(GAMES), 920), "white")
    for column, game in enumerate(GAMES.values()):
        for theme in (0, 1):
            made = picture(scenes(*game)[-1], theme)
            made.thumbnail((300, 460))
            found.paste(made, (300 * column, 460 * theme))
    return found


def test_pictures_of_all_games_look_as_they_did() -> None:
    # Take them again with `python -m tests.experiments.test_drawing`, and look at them.
    kept = Image.open(GOLDEN).convert("RGB")
    new = sheet()
    assert new.size == kept.size
    far = np.abs(np.asarray(new, np.int16) - np.asarray(kept, np.int16)).reshape(
        2, 460, len(GAMES), 300, 3
    )
    worst = far.mean(axis=(1, 3, 4))
    assert worst.max() < 3, dict(zip(GAMES, worst.max(axis=0).round(1).tolist(), strict=True))


@pytest.mark.parametrize("theme", [0, 1])
def test_what_is_drawn_on_a_colour_can_be_read(theme: int) -> None:
    written = [role for role in looks.ROLES if not role.startswith("card-")]
    pairs = [
        *((f"{role}-ink", role, 4.5) for role in written),
        *(
            (mark, f"board-{each}", 3.0)
            for mark in ("legal", "selected")
            for each in ("light", "dark")
        ),
        *((f"seat-{number}", "paper", 3.0) for number in range(1, 7)),
        *(("rim", ground, 4.5) for ground in ("card", "paper")),
        *(("win", "board-hole", 3.0), ("last-line", "paper", 3.0), ("piece-1", "piece-2", 3.0)),
    ]
    own = looks.inked(looks.ROLES)
    for one, other, least in pairs:
        ratio = looks.contrast(own[one][theme], own[other][theme])
        assert ratio >= least, (one, other, ratio)
    for kind, _ in GAMES.values():
        palette = scenes(kind, 0)[0].palette
        assert set(palette) <= set(looks.OWN)
        known = looks.inked({**looks.ROLES, **palette})
        for role in written:
            assert looks.contrast(known[f"{role}-ink"][theme], known[role][theme]) >= 4.5, role
        assert looks.contrast(known["piece-1"][theme], known["piece-2"][theme]) >= 2.5, kind


if __name__ == "__main__":
    sheet().quantize(256).save(GOLDEN, optimize=True)
