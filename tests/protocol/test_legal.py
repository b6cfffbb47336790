"""Masks of legal actions: what they say, and that asking costs little however large they are."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.protocol import columns, legal
from dovetail.protocol.errors import ProtocolError
from dovetail.protocol.spaces import Box, Discrete

FRAME = 16 * 1024 * 1024
PIECE = legal._PIECE
LITTLE = 300_000
"""Bytes that a question about a mask of 16 MB may take."""


@given(st.sets(st.integers(0, 300)), st.integers(0, 5))
def test_a_mask_says_what_the_list_says(actions: set[int], zeros: int) -> None:
    mask, found = legal.mask(actions, 301) + bytes(zeros), sorted(actions)
    assert legal.unmask(mask) == found
    assert legal.count(mask) == len(found)
    assert legal.empty(mask) == (not found)
    assert [legal.nth(mask, place) for place in range(len(found))] == found
    assert [each for each in range(-10, 400) if legal.in_mask(mask, each)] == found
    assert legal.shown(mask) == legal.shown(found)
    with pytest.raises(IndexError):
        legal.nth(mask, len(found))


@given(st.sets(st.integers(0, 5 * 8 * PIECE - 1), min_size=1, max_size=20))
def test_of_more_than_one_piece(actions: set[int]) -> None:
    mask, found = legal.mask(actions, 5 * 8 * PIECE), sorted(actions)
    assert legal.unmask(mask) == found
    assert legal.count(mask) == len(found)
    assert [legal.nth(mask, place) for place in range(len(found))] == found
    assert legal.shown(mask) == legal.shown(found)


def test_ten_actions_are_shown() -> None:
    assert legal.shown(list(range(10))) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9"
    assert legal.shown(list(range(20, 31))).endswith("28, 29, ... (11 in all)")
    assert legal.shown(bytes([255] * 1000)).endswith("8, 9, ... (8,000 in all)")
    assert legal.shown([]) == legal.shown(bytes(3)) == ""


@pytest.fixture(params=["all", "only the last", "none"])
def frame(request: pytest.FixtureRequest) -> bytes:
    """A mask as large as a frame."""
    return {
        "all": b"\xff" * FRAME,
        "only the last": bytes(FRAME - 1) + b"\x80",
        "none": bytes(FRAME),
    }[request.param]


@pytest.mark.parametrize(
    "ask",
    [
        legal.count,
        legal.empty,
        legal.shown,
        lambda mask: legal.nth(mask, legal.count(mask) - 1) if any(mask[-1:]) else None,
        lambda mask: legal.problem(mask, Discrete(8 * FRAME)),
        lambda mask: legal.problem(mask, Discrete(2)),
        lambda mask: legal.problem(mask, Box([1])),
    ],
)
def test_a_question_about_a_frame_full_of_actions_is_cheap(
    ask: Callable[[bytes], Any], frame: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = []
    build = legal._actions

    def counted(part: bytes) -> list[int]:
        lists.append(len(part))
        return build(part)

    monkeypatch.setattr(legal, "_actions", counted)
    tracemalloc.start()
    try:
        ask(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < LITTLE + 40 * 8 * PIECE  # the actions of one piece, as a list
    assert sum(lists) <= PIECE


def test_a_mask_beyond_the_contract_is_not_expanded() -> None:
    assert legal.unmask(bytes(legal.LARGEST - 1) + b"\x80") == [8 * legal.LARGEST - 1]
    for mask in (bytes(legal.LARGEST + 1), b"\xff" * FRAME):
        tracemalloc.start()
        try:
            with pytest.raises(ProtocolError, match="bytes long; at most 131,072 are allowed"):
                legal.unmask(mask)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < LITTLE


@pytest.mark.parametrize(
    ("mask", "space", "wrong"),
    [
        (b"\x01", Discrete(1), None),
        (b"\x01\x01", Discrete(9), None),
        (b"\x01\x01", Discrete(8), "is 2 bytes long; its action space needs at most 1"),
        (b"\x02\x01", Discrete(8, 1), None),
        (b"\x01", Discrete(3, -1), None),
        (b"\x01", Discrete(3, -3), "is 1 bytes long; its action space needs at most 0"),
        (b"\x01" * legal.LARGEST, Discrete(2**20), None),
        (b"\x01" * legal.LARGEST, Discrete(2**60), None),
        (
            b"\x01" * (legal.LARGEST + 1),
            Discrete(2**60),
            "is 131,073 bytes long; at most 131,072 are allowed, so send a list instead",
        ),
        (b"\x01" * (legal.LARGEST + 1), Box([1]), "is 131,073 bytes long; at most 131,072"),
        (b"", Discrete(8), "allows no action"),
        (bytes(9), Discrete(100), "allows no action"),
    ],
)
def test_what_is_wrong_with_a_mask(mask: bytes, space: Any, wrong: str | None) -> None:
    found = legal.problem(mask, space)
    assert found is None if wrong is None else str(found).startswith(wrong)


MANY = st.integers(0, 23) | st.sampled_from([-1, 24, 1 << 62, -(1 << 63), (1 << 63) - 1])


@given(st.lists(st.tuples(st.binary(min_size=3, max_size=3), MANY)))
def test_many_masks_allow_what_each_allows(rows: list[tuple[bytes, int]]) -> None:
    masks = np.array([list(mask) for mask, _ in rows], np.uint8).reshape(-1, 3)
    found = columns.allows(masks, np.array([action for _, action in rows], np.int64))
    assert found.tolist() == [legal.in_mask(mask, action) for mask, action in rows]
