"""The scenes of the seven games, beyond their legal actions."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dovetail.peer import options
from dovetail.protocol import codec
from dovetail.protocol.limits import check
from dovetail.protocol.messages import Limits
from dovetail.protocol.scenes import MOST_CHOICES, choices_of, scene_of
from dovetail_games.amazons import Amazons
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dominion import Dominion
from dovetail_games.dots import Dots
from dovetail_games.game_2048 import Game2048
from dovetail_games.rlgame import RLGame
from dovetail_games.tetris import Tetris


def made(kind: Any, **settings: Any) -> Any:
    game = kind(options.read(kind.Configuration, settings, kind.name))
    game.init()
    return game


@pytest.mark.parametrize("size", [10, 20])
def test_the_choices_of_a_large_board_fit_a_frame(size: int) -> None:
    game = made(Amazons, rows=size, columns=size)
    turn = game.start(0)
    legal = turn.seats[0].legal
    assert len(legal) > MOST_CHOICES
    frame = codec.encode(game.scene(0))
    check(frame, Limits())
    scene = scene_of(codec.decode(frame))
    choices = choices_of(scene, legal)
    assert [choice.action for choice in choices] == legal
    squares = size * size
    for choice in choices[:: len(choices) // 50]:
        source, target, arrow = choice.cells
        assert (source * squares + target) * squares + arrow == choice.action
        assert choice.label == game.describe(choice.action)


def test_tetris_shows_where_each_piece_comes_to_rest() -> None:
    game = made(Tetris, height=8, width=6, max_pieces=60)
    turn = game.start(3)
    while turn.to_act:
        scene = game.scene(0)
        before = {piece.cell for piece in scene.pieces if piece.kind == "block"}
        choice = scene.choices[(7 * game.board.placed) % len(scene.choices)]
        assert len(choice.cells) == 2
        assert not before & {*choice.shows}
        turn = game.step({0: choice.action})
        after = {piece.cell for piece in game.scene(0).pieces if piece.kind == "block"}
        if game.board.over:
            break
        if turn.seats[0].reward == 0:
            assert after == before | {*choice.shows}
    assert game.board.placed > 5


def test_dominion_names_zones_and_counts_what_everybody_has_bought() -> None:
    game = made(Dominion, players=3)
    game.start(5)
    scene = game.scene(1)
    named = {(zone.name, zone.owner) for zone in scene.zones}
    assert {(card.zone, card.owner) for card in scene.cards} <= named
    # Everybody saw what was bought, and observations count it; so points are no secret.
    assert [seat.score for seat in scene.seats] == [player.points() for player in game.game.players]
    hands = [card for card in scene.cards if card.zone == "hand" and card.owner != 1]
    assert [card.name for card in hands] == ["", ""]
    acting = game.scene(game.game.seat)
    assert [choice.label for choice in acting.choices if not choice.cards] == [
        "pass (end the turn)"
    ]


def test_bases_have_owners() -> None:
    game = made(RLGame)
    game.start(0)
    assert [cell.owner for cell in game.scene().cells[:2]] == [0, 1]
    assert np.isfinite([seat.score for seat in game.scene().seats]).all()


@pytest.mark.parametrize(
    "kind",
    [Amazons, ConnectFour, Dominion, Dots, Game2048, RLGame, Tetris],
    ids=lambda each: each.name,
)
def test_a_scene_names_the_last_move_as_its_choice_did(kind: Any) -> None:
    game = made(kind)
    turn = game.start(1)
    assert game.scene(None).moved == ""
    for number in range(12):
        (seat,) = turn.to_act
        legal = next(view.legal for view in turn.seats if view.seat == seat)
        choices = choices_of(game.scene(seat), legal)
        choice = choices[(5 * number + 2) % len(choices)]
        turn = game.step({seat: choice.action})
        if not turn.to_act:
            break
        for viewer in (None, *turn.to_act):
            assert game.scene(viewer).moved == choice.label
    assert number > 5


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(Amazons, {"rows": 6, "columns": 6}), (Amazons, {"action": "steps"}), (RLGame, {"pawns": 4})],
)
def test_a_piece_keeps_its_key_and_moves_as_the_scene_says(
    kind: Any, settings: dict[str, Any]
) -> None:
    game = made(kind, **settings)
    rng = random.Random(4)
    turn = game.start(0)
    before: dict[str, tuple[int, int]] = {}
    slid = 0
    while turn.to_act and turn.turn < 200:
        scene = game.scene()
        keyed = [piece for piece in scene.pieces if piece.key]
        now = {piece.key: (piece.owner, piece.cell) for piece in keyed}
        assert len(now) == len(keyed)
        assert [p for p in scene.pieces if p.kind in ("queen", "pawn") and not p.key] == []
        last = [number for mark in scene.marks for number in mark.cells]
        for key in before.keys() & now.keys():
            assert now[key][0] == before[key][0]
            if now[key] != before[key]:
                assert [before[key][1], now[key][1]] == last[:2]
                slid += 1
        before = now
        [view] = [each for each in turn.seats if each.seat == turn.to_act[0]]
        turn = game.step({view.seat: rng.choice(view.legal)})
    assert slid > 10


def test_tiles_keep_their_keys_as_they_slide_and_merge() -> None:
    game = made(Game2048, rows=3, columns=4)
    rng = random.Random(1)
    turn = game.start(5)
    merged = 0

    def shown() -> dict[str, tuple[int, int]]:
        """Return the square and the value of each tile."""
        return {each.key: (each.cell, int(each.text)) for each in game.scene().pieces}

    def lines(tiles: dict[str, tuple[int, int]], upright: bool) -> list[list[str]]:
        """Return the keys of the tiles column by column or row by row, in order."""
        order = sorted(tiles, key=lambda key: tiles[key][0])
        line = {key: cell % 4 if upright else cell // 4 for key, (cell, _) in tiles.items()}
        return [[key for key in order if line[key] == n] for n in range(4)]

    before = shown()
    while turn.to_act:
        action = rng.choice(turn.seats[0].legal)
        turn = game.step({0: action})
        after = shown()
        [new] = after.keys() - before.keys()
        upright = action in (0, 2)
        for old, now in zip(lines(before, upright), lines(after, upright), strict=True):
            kept = [key for key in now if key != new]
            assert kept == [key for key in old if key in kept]
            gone = sum(before[key][1] for key in old if key not in kept)
            gained = [after[key][1] - before[key][1] for key in kept]
            assert sum(gained) == gone
            assert all(more in (0, before[key][1]) for key, more in zip(kept, gained, strict=True))
            merged += len(old) - len(kept)
        before = after
    assert merged > 20
    turn = game.start(6)
    known = {*shown()}
    for _ in range(2):  # no scene shows the turn between: which tile is which is not known
        turn = game.step({0: turn.seats[0].legal[0]})
    assert not known & {*shown()}
