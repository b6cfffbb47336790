"""``make chaos``: 200 schedules, each compared with the same run undisturbed."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from bench.chaos.theatre import Chaos, Theatre, undisturbed
from dovetail.protocol.errors import DovetailError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first schedule")
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--faults", type=int, default=5)
    given = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        happened: list[str] = []
        theatre = Theatre(Path(folder), happened.append)
        try:
            for seed in range(given.first, given.first + given.schedules):
                happened.clear()
                begun = time.monotonic()
                try:
                    found = theatre.play(seed, given.episodes, given.faults)
                    if found != undisturbed(seed, given.episodes):
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
                    theatre = Theatre(keep, happened.append)
                took = time.monotonic() - begun
                print(f"{seed}: {verdict} in {took:.1f} s; {', '.join(happened)}", flush=True)
        finally:
            theatre.close()
    print(f"{given.schedules - broken} of {given.schedules} schedules identical")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
