"""What the scenes of the seven games say beyond their legal actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.env_servers.amazons import Amazons
from dovetail.env_servers.dominion import Dominion
from dovetail.env_servers.rlgame import RLGame
from dovetail.env_servers.tetris import Tetris
from dovetail.peer import options
from dovetail.protocol import codec
from dovetail.protocol.limits import check
from dovetail.protocol.messages import Limits
from dovetail.protocol.scenes import MOST_CHOICES, choices_of, scene_of


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


def test_dominion_names_zones_and_hides_points_of_others() -> None:
    game = made(Dominion, players=3)
    game.start(5)
    scene = game.scene(1)
    named = {(zone.name, zone.owner) for zone in scene.zones}
    assert {(card.zone, card.owner) for card in scene.cards} <= named
    assert [seat.score is not None for seat in scene.seats] == [False, True, False]
    hands = [card for card in scene.cards if card.zone == "hand" and card.owner != 1]
    assert [card.name for card in hands] == ["", ""]
    acting = game.scene(game.game.seat)
    assert [choice.label for choice in acting.choices if not choice.cards] == ["pass"]


def test_bases_have_owners() -> None:
    game = made(RLGame)
    game.start(0)
    assert [cell.owner for cell in game.scene().cells[:2]] == [0, 1]
    assert np.isfinite([seat.score for seat in game.scene().seats]).all()
