"""The rows of the Amazons study; section numbers are those of our notes on it."""

from __future__ import annotations

from dovetail.experiments.studies.rows import Row, Study

RUNS = {
    "ZerosVsRandom": "at the maximum very quickly; settled at 40,000 moves (figure 13).",
    "ZerosVsAbMp": "-100 at first, near the maximum before 20,000 moves (figure 14).",
    "ZerosVsMcMp": "not good; settled at 30,000 moves (figure 15).",
    "OnesVsRandom": "at the maximum quickly; settled at 20,000 moves (figure 16).",
    "OnesVsAbMp": "loses all at first, near the maximum at 60,000 moves (figure 17).",
    "OnesVsMcMp": "ends level; settled at 50,000 moves (figure 18).",
    "MpVsRandom": "at the maximum throughout (figure 19).",
    "MpVsAbMp": "wins most games from the start (figure 20).",
    "MpVsMcMp": "level, drops, rises (figure 21).",
}

STUDY = Study(
    "amazons",
    "TD learning of an evaluation for Amazons",
    (
        Row(
            "tree",
            "Size of the tree",
            "more than 1,600 moves at the start.",
            missing="tests count 1,232 moves on 8 x 8 and 2,176 on 10 x 10",
        ),
        Row(
            "cost",
            "Cost of a search of depth 3",
            "up to three minutes a move.",
            missing="`python -m bench.amazons` measures it",
        ),
        *(
            Row(f"run-{n}", f"Training run {n}: {name}", printed, missing="it has no code yet")
            for n, (name, printed) in enumerate(RUNS.items(), 1)
        ),
        Row(
            "weights",
            "Weights learned by three of the runs",
            "three vectors of twelve weights (4.4).",
            missing="it has no code yet",
        ),
        Row(
            "tournament",
            "Tournament of five players",
            "317, 257, 253, 244 and 0 wins of 400 (7.2).",
            missing="it has no code here; `dovetail run experiments/files/amazons_tournament.toml` plays it",
        ),
        Row(
            "depths",
            "Depth 2 with Monte Carlo against depth 3",
            "comparable; no table.",
            missing="it has no code yet",
        ),
        Row(
            "people",
            "Against people",
            "hard for an average player (7.3).",
            missing="people are needed; the web page lets them play",
        ),
    ),
)
