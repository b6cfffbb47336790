from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import numpy as np
import pytest

from dovetail.peer.environments.environment import Environment
from dovetail.peer.environments.host import EnvironmentHost
from dovetail.protocol import messages as m
from dovetail.protocol.scenes import Card, Cell, Choice, Piece, Scene, scene_of
from dovetail_games.amazons import Amazons
from dovetail_games.connect_four import ConnectFour
from dovetail_games.dominion import Dominion
from dovetail_web.chairs import Chair
from dovetail_web.hub import Hub
from dovetail_web.tables import Plan, Sitter, Table
from dovetail_web.thoughts import MOST, choices, thought

pytestmark = pytest.mark.fast

CELLS = [Cell(0, 0, name="a"), Cell(1, 0, name="b")]
NAMED = [Choice(7, "left", [0], shows=[1]), Choice(9, "right", cards=[1]), Choice(4, "pass")]


def first(kind: type[Environment], **configuration: Any) -> m.Turn:
    """Return the first turn of a game as a watcher has it sent."""
    host = EnvironmentHost([kind])
    host.handle([m.Open(1, kind.name, configuration)])
    (turn,) = host.handle([m.EnvironmentStart(1, 1, 5, watched=True, scenes=True)])
    assert isinstance(turn, m.Turn)
    return turn


def test_the_best_choices_come_first_with_their_places() -> None:
    shown = thought(m.Thoughts([0.5, math.nan, 2.0], line=[9, 7], text="deep"), NAMED)
    assert (shown["count"], shown["text"], shown["line"]) == (3, "deep", [9, 7])
    assert [(each["label"], each["value"]) for each in shown["choices"]] == [
        ("pass", 2.0),
        ("left", 0.5),
        ("right", None),
    ]
    assert shown["choices"][1] | {"cells": [0], "cards": [], "shows": [1]} == shown["choices"][1]
    assert shown["choices"][2]["cards"] == [1]
    # Probabilities say more than values; a map of the wire is as good as the struct.
    wire = msgspec.to_builtins(m.Thoughts([3.0, 2.0, 1.0], [0.1, 0.7, 0.2]))
    assert [each["chance"] for each in thought(wire, NAMED)["choices"]] == [0.7, 0.2, 0.1]


def test_thoughts_without_their_scene_or_of_another_position_name_no_place() -> None:
    for named in ([], NAMED[:2]):
        shown = thought(m.Thoughts([1.0, 2.0, 3.0]), named)
        assert [each["label"] for each in shown["choices"]] == ["choice 3", "choice 2", "choice 1"]
        assert all("cells" not in each for each in shown["choices"])


@pytest.mark.parametrize("value", [5, None, {"values": "many"}, {"values": [None]}])
def test_thoughts_that_make_no_sense_are_a_line(value: Any) -> None:
    shown = thought(value, NAMED)
    assert shown["text"].startswith("cannot be shown: ")
    assert (shown["count"], shown["choices"]) == (0, [])


def test_of_many_choices_the_best_are_sent() -> None:
    shown = thought(m.Thoughts([*map(float, range(3000))]), [])
    assert (shown["count"], len(shown["choices"])) == (3000, MOST)
    assert shown["choices"][0]["value"] == 2999.0
    json.dumps(shown, allow_nan=False)


def test_a_scene_that_contradicts_itself_has_no_choices() -> None:
    assert choices(None) == choices("nonsense") == choices({"width": "wide"}) == []
    assert choices(Scene(2, 1, CELLS, [Piece(9, "disc")], choices=NAMED)) == []
    assert choices(Scene(2, 1, CELLS, paths=np.array([[9, 0]], np.int16))) == []
    assert choices(Scene(2, 1, CELLS, paths=np.empty([2**40, 0], np.int8))) == []
    (found,) = choices(Scene(2, 1, CELLS, paths=np.array([[1, 0]], np.int16)))
    assert (found.label, found.cells) == ("b-a", [1, 0])


def test_watchers_get_choices_where_nothing_is_hidden() -> None:
    legal = first(ConnectFour).seats[0].legal
    shown = scene_of(first(ConnectFour).scene)
    assert [each.action for each in shown.choices] == legal
    assert len(choices(first(Amazons).scene)) == 2176
    hidden = scene_of(first(Dominion).scene)
    assert hidden.choices == []
    assert {card.name for card in hidden.cards if card.zone == "hand"} == {""}


def test_what_an_agent_thought_belongs_to_the_position_before() -> None:
    def hear(hub: Hub, turn: int, *thoughts: Any) -> dict[str, Any]:
        scene = Scene(2, 1, CELLS, cards=[Card("hand", "x"), Card("hand", "y")], choices=NAMED)
        hub._heard(m.WatchedTurn(1, 1, 0, 7, turn, scene=scene, thoughts=list(thoughts)))
        game = hub.games.get(7)
        assert game is not None
        shown: dict[str, Any] = json.loads(game.position(len(game.turns) - 1) or b"")
        return shown

    hub = Hub("tcp://127.0.0.1:9")  # never started
    given = (0, m.Thoughts([1.0, 0.0, 0.0]))
    hear(hub, 0)
    ((seat, shown),) = hear(hub, 1, given)["thoughts"]
    assert (seat, shown["choices"][0]["label"]) == (0, "left")
    # The same turn may be sent again, without what came with it.
    assert hear(hub, 1)["thoughts"] == [[seat, shown]]
    assert hear(hub, 2)["thoughts"] == []
    # Turn 3 was not seen.
    assert hear(hub, 4, given)["thoughts"][0][1]["choices"][0]["label"] == "choice 1"
    # Of a person's game it is kept back until the end.
    hub = Hub("tcp://127.0.0.1:9")
    plan = Plan("four", {}, (Sitter("person", "Ann"), Sitter("agent", "mcts")), 1, m.ClockRule())
    table = Table(plan, [None, None])
    table.chairs[0] = Chair("Ann", lambda: None)
    table.run = 1
    hub.people.tables[table.key] = table
    hear(hub, 0)
    assert hear(hub, 1, given)["thoughts"] == []
    hub._heard(m.Episode(1, 0, 7, 5, "terminated", []))
    game = hub.games.get(7)
    assert game is not None
    assert json.loads(game.position(1) or b"")["thoughts"] == [[seat, shown]]
