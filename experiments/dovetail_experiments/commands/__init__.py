"""The experiments' commands for the command line."""

from __future__ import annotations

COMMANDS = {
    "dovetail_experiments.commands.play": {
        "play": "Play against an agent in the terminal, within this program or through a "
        "running broker."
    },
    "dovetail_experiments.commands.experiments": {
        "run": "Run an experiment file: start its programs, play, report the results, stop "
        "the programs.",
        "merge": "Merge executions of an experiment, played in several places, and report on "
        "all of them.",
        "demo": "Watch two learners, each in its own process, learn Connect Four by playing "
        "each other.",
        "bench": "Compare a learner of yours with others.",
    },
    "dovetail_experiments.commands.results": {
        "results": "Query the results of an experiment.",
        "export": "Write the results of an experiment, or its games as text, to a file.",
        "tensorboard": "Write learning curves and the agents' measures as logs for TensorBoard.",
        "report": "Write OUT/report.html, a page with all results; an experiment may still be "
        "running.",
        "states": "List, take out, compare and put back the saved states of learners.",
    },
    "dovetail_experiments.commands.arena": {"arena": "Run and operate a standing competition."},
}
"""The commands of each module, with the first sentence of their help."""
