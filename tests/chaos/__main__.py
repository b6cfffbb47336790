"""``make chaos``: 200 schedules, each compared with the same run undisturbed."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from tests.chaos.disturb import Disturbance, lacking
from tests.chaos.theatre import Account, Chaos, Theatre, undisturbed

from dovetail.protocol.errors import DovetailError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first schedule")
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--faults", type=int, default=5)
    parser.add_argument("--language", help="of the second agent, whose client is built, such as go")
    given = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        happened: list[str] = []
        expected: Callable[[int, int], list[Account]] = undisturbed
        if given.language is not None:
            # Two programs play undisturbed, since no program of another language plays in this
            # process.
            quiet = Path(folder) / "quiet"
            quiet.mkdir()
            reference = stack.enter_context(closing(Theatre(quiet, language=given.language)))
            expected = partial(reference.play, faults=0)
        disturbance = None
        if why := lacking():
            print(f"without slow disks, disks without space and clock jumps: {why}")
        else:
            disturbance = Disturbance(Path(folder))
        start = partial(
            Theatre, say=happened.append, language=given.language, disturbance=disturbance
        )
        theatre = start(Path(folder))
        try:
            for seed in range(given.first, given.first + given.schedules):
                happened.clear()
                begun = time.monotonic()
                try:
                    found = theatre.play(seed, given.episodes, given.faults)
                    if found != expected(seed, given.episodes):
                        raise Chaos("the episodes are others than undisturbed")
                    verdict = "identical"
                except (Chaos, DovetailError) as error:
                    broken += 1
                    verdict = f"BROKEN: {error}"
                    print(f"{seed}: {verdict}; {', '.join(happened)}", flush=True)
                    theatre.close()
                    keep = Path(folder) / str(seed)
                    keep.mkdir()
                    print((theatre.folder / "log").read_text()[-2000:])
                    theatre = start(keep)
                took = time.monotonic() - begun
                print(f"{seed}: {verdict} in {took:.1f} s; {', '.join(happened)}", flush=True)
        finally:
            theatre.close()
    if disturbance is not None:
        shifted, delayed, refused = disturbance.happened
        print(f"{shifted:,} wrong times read, {delayed:,} slow calls, {refused:,} without space")
    print(f"{given.schedules - broken} of {given.schedules} schedules identical")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
