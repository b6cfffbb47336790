"""JSON that is JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol import json_text as jsontext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=8,
)


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@given(VALUES)
def test_what_is_written_is_json(value: Any) -> None:
    text = jsontext.write(value)
    assert text.isascii()
    read = json.loads(text, parse_constant=refuse)
    if isinstance(value, float) and not math.isfinite(value):
        assert read is None


def test_what_is_not_finite_is_null_wherever_it_stands() -> None:
    value = {"a": [math.nan, (1, -math.inf)], "b": {2.5}}
    assert jsontext.write(value, default=sorted) == '{"a": [null, [1, null]], "b": [2.5]}'
    other = jsontext.write(object, default=lambda _: math.inf)
    assert other == "null"


@pytest.mark.parametrize("value", [math.nan, [1, {"a": math.nan}], {1: 2}, b"x", {"a": object()}])
def test_what_parameters_may_not_have(value: Any) -> None:
    assert not jsontext.plain(value)


def test_what_parameters_may_have() -> None:
    assert jsontext.plain({"type": "number", "default": math.inf, "enum": [None, True, 1, "a"]})
