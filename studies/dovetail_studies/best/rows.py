"""The strongest learner of each game, compared with the best of the study and the literature."""

from __future__ import annotations

from dovetail_studies.best import (
    amazons,
    amazons_territory,
    connect_four,
    connect_four_traces,
    dominion,
    dots,
    game_2048,
    game_2048_stages,
    rlgame,
    tetris,
    tetris_trainers,
)
from dovetail_studies.rows import declared

STUDY = declared(
    "best",
    {
        "connect_four": connect_four.CODE,
        "connect-four-traces": connect_four_traces.CODE,
        "connect-four-long": connect_four_traces.LONG,
        "rlgame": rlgame.CODE,
        "amazons": amazons.CODE,
        "amazons-territory": amazons_territory.CODE,
        "dominion": dominion.CODE,
        "tetris": tetris.CODE,
        "tetris-trainers": tetris_trainers.CODE,
        "2048": game_2048.CODE,
        "2048-stages": game_2048_stages.CODE,
        "dots": dots.CODE,
    },
)
