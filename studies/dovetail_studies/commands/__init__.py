"""The command line's commands for studies."""

from __future__ import annotations

COMMANDS = {
    "dovetail_studies.commands.study": {
        "study": "Reproduce a published study and compare its figures with ours.",
    },
    "dovetail_studies.commands.train": {
        "train": "Train a learner in compiled games; the file it writes is the agent's state.",
    },
}
"""The commands of each module, with the first sentence of their help."""
