"""Text of other programs passes for nothing else."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.cli.common import _Plain
from dovetail.protocol import codec
from dovetail.protocol import display_text as shown
from dovetail.protocol import messages as m
from dovetail_experiments.quoting import straight
from dovetail_web import app, positions

FORGED = "it broke\r\n2026-01-01 the broker\u2028stops\x1b[2J\x9b1A\u202e\x1b]0;title"


@given(st.text() | st.text(st.sampled_from("a \n\r\x1b[]m0;\x9b\x85\u2028\u202e")))
def test_a_line_is_one_line_without_what_a_terminal_obeys(text: str) -> None:
    line = shown.line(text)
    assert len(line.splitlines()) <= 1
    assert not re.search("[\x00-\x1f\x7f-\x9f]|" + shown.TURNING, line)
    assert len(line) <= shown.MAX_LINE
    assert shown.line(line) == line
    line.encode()


def test_a_long_line_says_that_it_was_cut() -> None:
    assert shown.line("x" * 3000) == "x" * 1997 + "..."
    assert shown.line("\n" * shown.LOOKED_AT + "x") == ""  # of 16 MB only so much is looked at


@pytest.mark.rule("S13.5")
@pytest.mark.parametrize(
    ("message", "accepts", "text"),
    [
        (m.Error("crashed", FORGED, answers=3), m.FromAgent, lambda each: each.message),
        (m.Bye(FORGED), m.FromAgent, lambda each: each.reason),
        (m.Actions(1, 1, 2, faults=[m.Fault(1, "crashed", FORGED)], slots=0, seats=0, actions=0),
         m.FromAgent, lambda each: each.faults[0].message),
        (m.Spec(name=FORGED), m.FromEnvironment, lambda each: each.name),
    ],
)  # fmt: skip
def test_what_a_peer_says_is_passed_on_as_one_line(message: Any, accepts: Any, text: Any) -> None:
    """An agent's error reached the experiment, its log and its page with whatever was in it."""
    frame = codec.encode(message).replace(
        codec.encode(text(message)), codec.encode(FORGED)
    )  # as another program writes it
    received: Any = codec.Decoder(accepts).decode(frame)
    assert text(received) == "it broke 2026-01-01 the broker stops"


def test_a_log_has_one_line_for_each_message() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "%s says: %s", ("a", FORGED), None)
    said = _Plain("dovetail: %(message)s").format(record)
    assert said == "dovetail: a says: it broke 2026-01-01 the broker stops"


TURNED = [chr(each) for each in (*range(0x2028, 0x202F), *range(0x2066, 0x2070))]
WORDS = (
    "שלום 3:1",
    "السلام عليكم",
    "می\u200cخواهم",
    "क्\u200dष",
    "👩\u200d🔬 won",
    "日本語",
    "naïve Ω ß",
    "🏳️\u200d🌈",
)
"""Languages that need joiners, and pictures made of several characters."""
DOORS = {
    "line": shown.line,
    "plain": shown.plain,
    "coloured": shown.coloured,
    "straight": straight,
    "page": lambda text: json.loads(positions.encode(text)),
    "template": app._straight,
}


@pytest.mark.parametrize("door", DOORS)
def test_no_text_turns_the_reading_order_of_what_is_around_it(door: str) -> None:
    for each in TURNED:
        assert DOORS[door](f"alice{each} 3 to 1").replace("  ", " ") == "alice 3 to 1", hex(
            ord(each)
        )
        assert each not in DOORS[door](f"\x1b[1malice{each}")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", WORDS)
def test_words_of_all_languages_stay_as_they_are(door: str, text: str) -> None:
    assert DOORS[door](text) == text
