"""Task specs and layouts: read, written, and turned into spaces and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol.errors import DovetailError
from dovetail.protocol.spaces import (
    Box,
    Dict,
    Discrete,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Space,
    Text,
    Tuple,
)
from dovetail_bridges.rlglue import taskspec
from dovetail_bridges.rlglue.layout import legacy, native
from dovetail_bridges.rlglue.taskspec import Arrays, Range, TaskSpec
from dovetail_bridges.rlglue.wire import Adt

pytestmark = pytest.mark.fast

TICTACTOE = (
    "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1.0 OBSERVATIONS INTS (9 0 2) "
    "ACTIONS INTS (0 8) REWARDS (-1.0 1.0) EXTRA seats=2 mask=chars"
)


def test_a_spec_is_read_and_written() -> None:
    spec = taskspec.read(TICTACTOE)
    assert spec == TaskSpec(
        Arrays([Range(0, 2)] * 9),
        Arrays([Range(0, 8)]),
        Range(-1, 1),
        1.0,
        "episodic",
        "seats=2 mask=chars",
    )
    assert taskspec.write(spec) == TICTACTOE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "version rl-glue-3.0 problemtype continuing discountfactor .9 observations ints (0 "
            "1)(5   -1 1) doubles ( 2 NEGINF UNSPEC ) charcount 4 actions  rewards(UNSPEC POSINF) "
            "extra",
            TaskSpec(
                Arrays([Range(0, 1), *[Range(-1, 1)] * 5], [Range(-math.inf, None)] * 2, 4),
                Arrays(),
                Range(None, math.inf),
                0.9,
                "continuing",
            ),
        ),
        (
            "VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1 OBSERVATIONS INTS (0 107) "
            "ACTIONS INTS (0 3)  REWARDS (-100.0 10.0)",
            TaskSpec(Arrays([Range(0, 107)]), Arrays([Range(0, 3)]), Range(-100, 10)),
        ),
    ],
)
def test_specs_as_they_are_found(text: str, expected: TaskSpec) -> None:
    assert taskspec.read(text) == expected


WRONG = [
    ("", "begins with 'nothing'"),
    ("sample task spec", "begins with 'sample task'"),
    ("2:e:1_[i]_[0,5]:1_[i]_[0,3]", "begins with"),
    ("VERSION RL-Glue-2.0 x", "RL-Glue-2.0"),
    (TICTACTOE.replace("1.0 OBS", "7 OBS"), "discount of 7"),
    (TICTACTOE.replace("(9 0 2)", "(9 0"), "number should be"),
    (TICTACTOE.replace("(9 0 2)", "(9)"), "range of 1"),
    (TICTACTOE.replace("(9 0 2)", "(-9 0 2)"), "counts -9 numbers of a range"),
    (TICTACTOE.replace("(9 0 2)", "(UNSPEC 0 2)"), "counts UNSPEC numbers of a range"),
    (TICTACTOE.replace("(9 0 2)", "(POSINF 0 2)"), "counts inf numbers of a range"),
    (TICTACTOE.replace("(9 0 2)", "(1e400 0 2)"), "counts inf numbers of a range"),
    (TICTACTOE.replace("(9 0 2)", "(1.5 0 2)"), "counts 1.5 numbers of a range"),
    (TICTACTOE.replace("(-1.0 1.0)", "(1e300 0 1)"), "1e+300 rewards"),
    (TICTACTOE.replace("(9 0 2)", "(2000000 0 2)"), "more than 1,000,000 INTS"),
    (TICTACTOE.replace("(9 0 2)", "(__import__('os') 0 2)"), "number should be"),
    (TICTACTOE.replace("INTS (0 8)", "FLOATS (0 8)"), "'FLOATS' where"),
    (TICTACTOE.replace("(9 0 2)", "(0 nan)"), "'nan' where"),
    ("VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR", "ends too early"),
]


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_what_is_not_a_spec_is_refused_in_one_line(text: str, why: str) -> None:
    with pytest.raises(DovetailError) as caught:
        taskspec.read(text)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(st.sampled_from("()INTSDOUBLE019.- CHARCOUNTEXTRA"), max_size=60))
def test_rubbish_ends_in_an_error_or_a_spec(text: str) -> None:
    whole = f"VERSION RL-Glue-3.0 PROBLEMTYPE episodic DISCOUNTFACTOR 1 OBSERVATIONS {text}"
    try:
        spec = taskspec.read(whole)
    except DovetailError:
        return
    assert taskspec.read(taskspec.write(spec)) == spec


NATIVE: list[tuple[Space, Any, Adt, str]] = [
    (Discrete(5, start=-2), -2, Adt((0,)), " INTS (0 4)"),
    (MultiDiscrete([3, 3, 2]), [2, 0, 1], Adt((2, 0, 1)), " INTS (2 0 2) (0 1)"),
    (MultiBinary([2, 2]), [[1, 0], [0, 1]], Adt((1, 0, 0, 1)), " INTS (4 0 1)"),
    (Box([2], 0, 1, "bool"), np.array([True, False]), Adt((1, 0)), " INTS (2 0 1)"),
    (
        Box([2, 1], dtype="uint8"),
        np.array([[3], [255]], np.uint8),
        Adt((3, 255)),
        " INTS (2 0 255)",
    ),
    (Box([1], dtype="int64"), [7], Adt((), (7.0,)), " DOUBLES (NEGINF POSINF)"),
    (Box([1], 0, 9, "int64"), [7], Adt((7,)), " INTS (0 9)"),
    (
        Box([2], [-1, 0], [1, math.inf]),
        [0.5, 2],
        Adt((), (0.5, 2.0)),
        " DOUBLES (-1.0 1.0) (0.0 POSINF)",
    ),
    (Box([], 0, 1), 0.25, Adt((), (0.25,)), " DOUBLES (0.0 1.0)"),
    (Text(5), "grün", Adt(chars="grün".encode()), " CHARCOUNT 5"),
    (
        Dict({"b": Discrete(2), "a": Box([1], 0, 1), "t": Text(3)}),
        {"a": [0.5], "b": 1, "t": "x"},
        Adt((1,), (0.5,), b"x"),
        " INTS (0 1) DOUBLES (0.0 1.0) CHARCOUNT 3",
    ),
    (Tuple([Discrete(2), Discrete(3, start=1)]), [1, 3], Adt((1, 2)), " INTS (0 1) (0 2)"),
]


@pytest.mark.parametrize(("space", "value", "adt", "text"), NATIVE)
def test_values_of_our_spaces_are_laid_out(space: Space, value: Any, adt: Adt, text: str) -> None:
    layout = native(space)
    packed = layout.pack(value)
    assert (tuple(packed.ints), tuple(packed.doubles), packed.chars) == (
        adt.ints,
        adt.doubles,
        adt.chars,
    )
    back = layout.unpack(packed)
    assert space.contains(back)
    assert layout.pack(back) == packed
    written = taskspec.write(TaskSpec(observations=layout.arrays))
    assert f"OBSERVATIONS{text} ACTIONS" in written


def test_connect_four_as_the_description_has_it() -> None:
    board = native(Box([2, 6, 7], 0, 1, "uint8"))
    assert "OBSERVATIONS INTS (84 0 1) ACTIONS" in taskspec.write(
        TaskSpec(observations=board.arrays)
    )


@pytest.mark.parametrize("space", [Sequence(Discrete(2), 3), Tuple([Sequence(Discrete(2), 3)])])
def test_a_space_of_varying_length_is_refused_by_name(space: Space) -> None:
    with pytest.raises(DovetailError, match="the space Sequence"):
        native(space)


def test_two_texts_cannot_be_told_apart() -> None:
    layout = native(Tuple([Text(2), Text(2)]))
    with pytest.raises(DovetailError, match="several texts"):
        layout.unpack(Adt(chars=b"abc"))


LEGACY: list[tuple[Arrays, Space, Adt, Any]] = [
    (Arrays([Range(2, 5)]), Discrete(4, start=2), Adt((3,)), 3),
    (Arrays([Range(0, 5), Range(0, 1)]), MultiDiscrete([6, 2]), Adt((5, 1)), [5, 1]),
    (Arrays([Range(1, 5)] * 2), Box([2], [1, 1], [5, 5], "int32"), Adt((1, 5)), [1, 5]),
    (
        Arrays([Range(-math.inf, None)]),
        Box([1], [-(2**31)], [2**31 - 1], "int32"),
        Adt((-7,)),
        [-7],
    ),
    (
        Arrays((), [Range(0, 1), Range()]),
        Box([2], [0, -math.inf], [1, math.inf], "float64"),
        Adt((), (0.5, -3.0)),
        [0.5, -3.0],
    ),
    (Arrays(chars=3), Text(3, 3), Adt(chars=b"a\xfc\0"), "aü\0"),
    (Arrays(), Discrete(1), Adt(), 0),
    (
        Arrays([Range(0, 1)], [Range(0, 1)]),
        Dict({"ints": Discrete(2), "doubles": Box([1], [0], [1], "float64")}),
        Adt((1,), (0.5,)),
        {"ints": 1, "doubles": [0.5]},
    ),
]


@pytest.mark.parametrize(("arrays", "space", "adt", "value"), LEGACY)
def test_declared_arrays_become_spaces(arrays: Arrays, space: Space, adt: Adt, value: Any) -> None:
    layout = legacy(arrays)
    assert layout.space == space
    got = layout.unpack(adt)
    assert space.contains(got)
    np.testing.assert_equal(got, value)
    packed = layout.pack(got)
    assert (tuple(packed.ints), tuple(packed.doubles), packed.chars) == (
        adt.ints,
        adt.doubles,
        adt.chars,
    )


def test_an_empty_range_and_other_counts_are_refused() -> None:
    for empty in Range(5, 1), Range(math.inf, 3), Range(0, -math.inf), Range(math.inf, None):
        with pytest.raises(DovetailError, match=f"empty range \\({empty.low:g} "):
            legacy(Arrays([empty]))
    with pytest.raises(DovetailError, match="empty range \\(inf 3\\)"):
        legacy(Arrays((), [Range(math.inf, 3)]))
    with pytest.raises(DovetailError, match="1 ints and 0 doubles"):
        legacy(Arrays([Range(0, 5)])).unpack(Adt((1, 2)))
