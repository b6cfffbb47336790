"""A person is shown positions, chooses and is advised."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import numpy as np
import pytest

from dovetail.peer.agents.agent import Decision, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec
from dovetail.protocol.scenes import Cell, Choice, Piece, Scene
from dovetail_web.chairs import Chair

pytestmark = pytest.mark.fast

CELLS = [Cell(0, 0), Cell(1, 0)]
NAMED = [Choice(9, "right", [1]), Choice(7, "left", [0])]


def seated(scene: Any) -> Chair:
    """Return the chair of a person who may take 7 or 9."""
    chair = Chair("Ann", lambda: None)
    chair.step(
        Decision(
            Seat(1, 0, Spec()), 1, 0, 0, [7, 9], 0.0, "evaluate", random.Random(1), scene=scene
        )
    )
    return chair


def labels(chair: Chair) -> list[str]:
    assert chair.shown is not None
    return [each["label"] for each in chair.shown["scene"]["choices"]]


def test_a_choice_is_the_one_that_is_shown_at_its_place() -> None:
    chair = seated(msgspec.to_builtins(Scene(2, 1, CELLS, choices=NAMED)))
    assert labels(chair) == ["right", "left"]
    chair.hinted(chair.number, "mcts", 7)
    assert chair.hint == {"number": 1, "by": "mcts", "choice": 1, "label": "left"}
    assert chair.chosen(chair.number, 0)[1] == 9


@pytest.mark.parametrize(
    "scene",
    [
        {"width": "wide"},
        Scene(2, 1, CELLS, [Piece(9, "disc")], choices=NAMED),
        Scene(2, 1, CELLS, choices=NAMED[:1]),
        Scene(2, 1, CELLS, paths=np.array([[0, 1]])),
    ],
)
def test_the_choices_of_a_scene_that_cannot_be_drawn_are_the_legal_actions(scene: Any) -> None:
    chair = seated(scene)
    assert chair.shown is not None
    assert "cannot be drawn" in chair.shown["problem"]
    assert labels(chair) == ["7", "9"]
    chair.hinted(chair.number, "mcts", 9)
    assert chair.hint == {"number": 1, "by": "mcts", "choice": 1, "label": "9"}
    with pytest.raises(DovetailError, match="There is no choice 2"):
        chair.chosen(chair.number, 2)
    assert chair.chosen(chair.number, 0)[1] == 7
