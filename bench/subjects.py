"""The bench's subjects, each its own process: ``python bench/subjects.py MODULE.FUNCTION
[ARGUMENT...] [NAME=VALUE...]``, with a function of the bench that yields a measurement.

A subject prints ``ready``. Then it reads numbers of seconds to play, one per line, and answers each
with its turns per second or an error, until its input ends.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from bench.measure import Measurement, steady


@contextmanager
def base(transport: str, count: str) -> Iterator[Measurement]:
    """Play a number of single matches at once; runs in a checkout of the base commit, so it uses
    only what exists there."""
    rows: Any = importlib.import_module("bench.dovetail_rows")

    def burst(seconds: float) -> float:
        with rows._playing(there.experiment, rows.TRIVIAL, int(count)) as turns:
            return steady(turns, seconds, int(count))

    with rows.running(rows.TRIVIAL, transport) as there:
        yield burst


def named(kind: str) -> Callable[..., AbstractContextManager[Measurement]]:
    """Return the function that a subject names: ``base``, or one of another module."""
    if kind == "base":
        return base
    module, function = kind.split(".")
    found: Callable[..., AbstractContextManager[Measurement]] = getattr(
        importlib.import_module(f"bench.{module}"), function
    )
    return found


def main() -> None:
    kind, *words = sys.argv[1:]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # keep libraries' output out of the answers
    try:
        with named(kind)(*(word for word in words if "=" not in word), **options) as burst:
            print("ready", file=answers)
            for line in sys.stdin:
                print(burst(float(line)), file=answers)
    except Exception as error:
        said = " ".join(str(error).split())
        print(f"failed: {said or type(error).__name__}", file=answers)


if __name__ == "__main__":
    main()
