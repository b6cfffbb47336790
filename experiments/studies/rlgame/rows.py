"""The rows of the RLGame study; section numbers are those of our notes on it."""

from __future__ import annotations

from dovetail.experiments.studies.rows import Row, Study

STUDY = Study(
    "rlgame",
    "RLGame, and RL-Glue's two players",
    (
        Row(
            "pilot",
            "Connect Four over RL-Glue with two players",
            "two players had to be faked inside one agent program; no figures (3.4).",
            missing="it has no figures; `dovetail demo` does what the pilot wanted, with two agents in two processes",
        ),
        Row(
            "alpha",
            "Alpha version, 10,000 games",
            "no fault found, no figures (6.1).",
            missing="it has no figures; the tests check the rules",
        ),
        Row(
            "self-play",
            "Self-play on 8 x 8, 50,000 games: totals",
            "White 27,007, Black 22,993, 217.94 moves of the winner (6.2).",
            missing="its learner has no compiled form yet",
        ),
        Row(
            "self-play-sets",
            "Self-play on 8 x 8: by set of 5,000 games and winner",
            "20 rows of wins, moves, living pawns and pawns in base (6.2).",
            missing="its learner has no compiled form yet",
        ),
        Row(
            "old-and-new",
            "The old program against the new one",
            "a greedy pair never ends; White wins all 100 games in 13 moves; both programs play the same moves (6.3).",
            missing="tests compare the same games in process and through the broker; there is no old program",
        ),
        Row(
            "minimax-bug",
            "Minimax of depth 5 on 6 x 6 with the bug of version 1.3",
            "White 1,388, Black 2,612, 8.64 moves (6.4a).",
            missing="its learner has no compiled form yet",
        ),
        Row(
            "minimax",
            "Minimax of depth 5 against a learner on 6 x 6",
            "506 to 494, 2,390 to 110, 1,254 to 2,246 (6.4b).",
            missing="its learner has no compiled form yet",
        ),
        Row(
            "minimax-sets",
            "Minimax of depth 5 against a learner, by 500 games",
            "472 to 484 wins a set, 15 to 16 moves (6.4b).",
            missing="its learner has no compiled form yet",
        ),
        Row(
            "connect-four",
            "Connect Four, self-play, 50,000 games",
            "32,891 to 17,096, 13 draws, 8.02 moves (6.5).",
            missing="its learner has no compiled form yet",
        ),
        Row(
            "connect-four-minimax",
            "Connect Four, minimax of depth 3 against a learner, 5,000 games",
            "4,282 to 708, 10 draws, 10.16 moves (6.6).",
            missing="its learner has no compiled form yet",
        ),
    ),
)
