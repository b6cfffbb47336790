"""The strongest learner of each game that we can train here, beside the study's and the
literature's best."""

from __future__ import annotations

from dovetail_studies.best import (
    amazons,
    connect_four,
    dominion,
    dots,
    game_2048,
    rlgame,
    tetris,
    tetris_trainers,
)
from dovetail_studies.rows import Study

STUDY = Study(
    "best",
    "The strongest learner of each game",
    (
        connect_four.ROW,
        rlgame.ROW,
        amazons.ROW,
        dominion.ROW,
        tetris.ROW,
        tetris_trainers.ROW,
        game_2048.ROW,
        dots.ROW,
    ),
    "Every figure is over several seeds (for a player that learns, several trainings) and is "
    "measured with learning off. Intervals are Student's over the seeds, or Wilson's over the "
    "games if all seeds have the same share. The largest size fits on two cores without a GPU "
    "and takes between two minutes and four hours of one core for each row; what a longer "
    "training would reach is not shown. "
    "*The study* is the one of the five that the game comes from. Published figures are those "
    "that the studies quote, or that the note below the table names with their authors; `-` "
    "means that we know of none.",
)
