"""A person's own hand is shown while others act."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.peer import options
from dovetail.peer.registry import registered
from dovetail.protocol import messages as m
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.seeds import derive
from dovetail_web.mirrors import Mirror
from dovetail_web.positions import drawn
from dovetail_web.tables import Plan, Sitter


def test_a_mirror_knows_each_seats_hand_as_long_as_the_game_is_the_same() -> None:
    sitter = Sitter("person", "Ann")
    plan = Plan("dominion", {}, (sitter, sitter), 7, m.ClockRule())
    kind: Any = registered("environment", "dominion")
    game = kind(options.read(kind.Configuration, {}, "dominion"))
    game.init()
    turn, mirror = game.start(derive(plan.seed, "episode", 0)), Mirror(plan)
    actions: dict[int, Any] = {}
    for number in range(30):
        mirror.follow(number, actions, game.scene())
        for seat in range(2):
            assert hand(mirror.scene(seat), seat) == hand(drawn(game.scene(seat))[0], seat)
            assert not hand(mirror.scene(seat), 1 - seat), "the other's is face down"
        (seat,) = turn.to_act
        actions = {seat: next(view.legal for view in turn.seats if view.seat == seat)[0]}
        turn = game.step(actions)
    with pytest.raises(DovetailError, match="turn 40 is played otherwise"):
        mirror.follow(40, actions, game.scene())


def hand(scene: Any, seat: int) -> list[tuple[str, int]]:
    """Return the cards of a hand that are shown, and how many of each."""
    cards = [each for each in scene["cards"] if each["zone"] == "hand" and each["name"]]
    return [(each["name"], each.get("count", 1)) for each in cards if each["owner"] == seat]
