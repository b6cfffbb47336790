"""The experiments' commands for the command line."""

from __future__ import annotations

COMMANDS = {
    "play": (
        "dovetail_experiments.commands.play",
        "Play against an agent in the terminal, within this program or through a running broker.",
    ),
    "run": (
        "dovetail_experiments.commands.experiments",
        "Run an experiment file: start its programs, play, report the results, stop the programs.",
    ),
    "merge": (
        "dovetail_experiments.commands.experiments",
        "Merge executions of an experiment, played in several places, and report on all of them.",
    ),
    "demo": (
        "dovetail_experiments.commands.experiments",
        "Watch two learners, each in its own process, learn Connect Four by playing each other.",
    ),
    "bench": (
        "dovetail_experiments.commands.experiments",
        "Compare a learner of yours with others.",
    ),
    "results": (
        "dovetail_experiments.commands.results",
        "Query the results of an experiment.",
    ),
    "export": (
        "dovetail_experiments.commands.results",
        "Write the results of an experiment, or its games as text, to a file.",
    ),
    "tensorboard": (
        "dovetail_experiments.commands.results",
        "Write learning curves and the agents' measures as logs for TensorBoard.",
    ),
    "report": (
        "dovetail_experiments.commands.results",
        "Write OUT/report.html, a page with all results; an experiment may still be running.",
    ),
    "states": (
        "dovetail_experiments.commands.results",
        "List, take out, compare and put back the saved states of learners.",
    ),
    "arena": (
        "dovetail_experiments.commands.arena",
        "Run and operate a standing competition.",
    ),
}
"""The module of each command, and the first sentence of its help."""
