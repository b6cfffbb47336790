"""The command line's commands for studies."""

from __future__ import annotations

COMMANDS = {
    "study": (
        "dovetail_studies.commands.study",
        "Reproduce a published study and compare its figures with ours.",
    ),
    "train": (
        "dovetail_studies.commands.train",
        "Train a learner in compiled games; the file it writes is the agent's state.",
    ),
}
"""The module of each command and the first sentence of its help."""
