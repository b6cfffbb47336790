"""Quoting of names and paths in commands of Dovetail.

``dovetail_experiments.quoting`` has URLs, file names, pages and tables.  A test finds text that is
formatted into such a syntax instead.
"""

from __future__ import annotations

import shlex


def command(*words: object) -> str:
    """Return a command of Dovetail as a user types it into a shell.

    >>> command("run", "out/a b/experiment.json")
    "dovetail run 'out/a b/experiment.json'"
    """
    return shlex.join(["dovetail", *map(str, words)])
