from __future__ import annotations

import math
import struct
from typing import Any

import msgspec
import numpy as np
import pytest

from dovetail.protocol.scenes import Card, Cell, Choice, Mark, Piece, Scene, Seated
from dovetail_web.positions import MOST_PIXELS, drawn, encode, picture, plain

pytestmark = pytest.mark.fast

CELLS = [Cell(0, 0), Cell(1, 0)]


def test_choices_are_named_by_their_place() -> None:
    scene = Scene(2, 1, CELLS, choices=[Choice(7, "left", [0]), Choice(9, "right", [1])])
    shown, problem = drawn(msgspec.to_builtins(scene), [7, 9])
    assert problem == ""
    assert shown is not None
    assert shown["choices"] == [{"label": "left", "cells": [0]}, {"label": "right", "cells": [1]}]
    watched, _ = drawn(scene)
    assert watched is not None
    assert "choices" not in watched


def test_paths_become_choices() -> None:
    scene = Scene(2, 1, CELLS, paths=np.array([[0, 1], [1, 0]], np.int16))
    shown, _ = drawn(scene, [3, 5])
    assert shown is not None
    assert [each["cells"] for each in shown["choices"]] == [[0, 1], [1, 0]]
    encode(shown)


@pytest.mark.parametrize(
    ("scene", "what"),
    [
        (Scene(2, 1, CELLS, [Piece(2, "disc")]), "a piece lies on a cell that is not there"),
        (Scene(2, 1, CELLS, choices=[Choice(0, "x", [5])]), "names a cell that is not there"),
        (Scene(2, 1, CELLS, marks=[Mark("last", cards=[0])]), "names a card that is not there"),
        (Scene(math.nan, 1), "a number is not finite"),
        (Scene(1e9, 1), "a board of"),
        (Scene(2, 1, lines=[[0, 0, 1]]), "a line without four numbers"),
        (Scene(2, 1, [Cell(0, 0, outline=[[0]])]), "a corner without two numbers"),
        (Scene(seats=[Seated("A", math.inf)]), "a number is not finite"),
        (Scene(2, 1, CELLS, choices=[Choice(0, "x"), Choice(1, "y")]), "2 choices for 1"),
        (Scene(2, 1, CELLS, paths=np.array([[9]])), "list index out of range"),
        (Scene(2, 1, CELLS, paths=np.empty([2**40, 0], np.int8)), "for 1 legal actions"),
        (Scene(2, 1, CELLS, paths=np.empty([1, 2**40, 0], np.int8)), "for 1 legal actions"),
        ({"width": "wide"}, "Expected `float`"),
        ("nonsense", "Expected `object`"),
    ],
)
def test_a_scene_that_contradicts_itself_is_one_line(scene: Any, what: str) -> None:
    shown, problem = drawn(scene, [0])
    assert shown is None
    assert what in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    "scene",
    [
        Scene(16, 1000, CELLS),
        Scene(2, 1, CELLS, cards=[Card(str(zone), "x") for zone in range(5000)]),
    ],
)
def test_a_picture_has_a_bounded_number_of_pixels(scene: Scene) -> None:
    shown, _ = drawn(scene)
    assert shown is not None
    made = picture({"scene": shown}, "png")
    wide, tall = struct.unpack(">II", made[16:24])
    assert wide * tall <= MOST_PIXELS * 1.05  # whole pixels


def test_arrays_without_elements_cost_nothing() -> None:
    assert plain({"a": np.empty([2**40, 0]), "b": [np.empty([3, 2**40, 0])]}) == {
        "a": [],
        "b": [[]],
    }


def test_values_of_the_wire_become_json() -> None:
    value = {1: np.array([1, 2]), "b": b"xy", "n": math.nan, "t": (1, None)}
    assert plain(value) == {"1": [1, 2], "b": "2 bytes", "n": None, "t": [1, None]}


def test_pieces_bear_the_letter_by_which_their_seat_is_called() -> None:
    pieces = [Piece(0, "disc", 0), Piece(1, "disc", 1)]
    scene = Scene(2, 1, CELLS, pieces, seats=[Seated("X"), Seated("Black")])
    text = picture({"scene": drawn(scene)[0]}, "svg").decode()
    assert text.count("<text") == 1
    assert ">X</text>" in text
