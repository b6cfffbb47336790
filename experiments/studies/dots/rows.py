"""The rows of the dots and boxes study."""

from __future__ import annotations

from dovetail.experiments.studies.rows import Row, Study

STUDY = Study(
    "dots",
    "TD learning for dots and boxes",
    (
        Row(
            "weights",
            "Weights after self-play",
            "-.21, +.12, -.28, +.64, +.79, -.70, +.89.",
            missing="it has no code here; docs/agents/dots.md has the figures of five seeds",
        ),
        Row(
            "pruning",
            "Pruning where a seat moves again",
            "it fails, and is given up.",
            missing="tests compare the search, which prunes, with plain minimax",
        ),
        Row(
            "begin",
            "Weights at the beginning",
            "seven numbers.",
            missing="it has no code here; they are a preset of `dots-player`",
        ),
        Row("five", "5 x 5 dots", "the weights oscillate.", missing="it has no code yet"),
        Row("six", "6 x 6 dots", "too slow, and given up.", missing="it has no code yet"),
    ),
)
