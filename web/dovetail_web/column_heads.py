"""The heads of result tables in words; reports and terminals have room for short ones only."""

from __future__ import annotations

WORDS = {
    "#": "place",
    "W-D-L": "won-drawn-lost",
    "T": "cut short",
    "pairs LL-LD-=-WD-WW": "pairs, from both lost to both won",
    "distinct": "different games",
    "LOS next": "chance to be better than the next",
    "ms/move": "ms per move",
    "IQM (95 %)": "interquartile mean (95 %)",
}


def head(text: str) -> str:
    """Return the head of a column for visitors.

    >>> head("W-D-L"), head("points")
    ('won-drawn-lost', 'points')
    """
    return WORDS.get(text, text)
