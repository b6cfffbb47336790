"""What the scenes of the seven games say beyond their legal actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dovetail.env_servers.amazons import Amazons
from dovetail.env_servers.connect_four import ConnectFour
from dovetail.env_servers.dominion import Dominion
from dovetail.env_servers.dots import Dots
from dovetail.env_servers.game_2048 import Game2048
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
    assert [choice.label for choice in acting.choices if not choice.cards] == ["pass"]


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
