"""The broker at full rate with faults, for long: its memory, descriptors and latency over time.

Two environments, two agents that answer at once and an experiment play run after run, while
programs are killed and stopped and connections cut, half opened and slowed down; the broker itself
lives on.  An observer asks for a pong every quarter of a second.  Draws a picture.

    python -m tests.chaos.soak [--minutes 60] [--out docs/images/soak.svg]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from tests.chaos.attacks import processor
from tests.chaos.theatre import KINDS, Theatre

from dovetail.protocol import codec
from dovetail.protocol import messages as m
from dovetail.transport.dealer import Dealer

EVERY = 0.25
"""Seconds between samples."""
POINTS = 300
"""Points of a line in the picture, each the median of its samples."""
EPISODES, FAULTS = 600, 4
"""Of a run."""

Sample = tuple[float, float, float, float, float]
"""Seconds since the beginning; MB resident; descriptors; milliseconds until the pong; processor
seconds."""


class Watch(threading.Thread):
    """Samples the broker.

    Args:
        process: the broker's.
        address: its address.
    """

    def __init__(self, process: int, address: str) -> None:
        super().__init__(daemon=True)
        self.samples: list[Sample] = []
        self._process = process
        self._address = address
        self._over = threading.Event()

    def run(self) -> None:
        hello = codec.encode(m.Hello(m.VERSION, "observer"))
        dealer = Dealer(self._address, lambda: hello)
        while not dealer.receive(0.1):
            pass
        begun = time.monotonic()
        number = 0
        while not self._over.wait(EVERY):
            number += 1
            asked = time.monotonic()
            dealer.send([codec.encode(m.Ping(number))])
            while not self._answered(dealer, number) and not self._over.is_set():
                pass
            now = time.monotonic()
            status = Path(f"/proc/{self._process}/status").read_text()
            resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
            descriptors = len(list(Path(f"/proc/{self._process}/fd").iterdir()))
            self.samples.append(
                (now - begun, resident, descriptors, (now - asked) * 1e3, processor(self._process))
            )
        dealer.close(0.0)

    def _answered(self, dealer: Dealer, number: int) -> bool:
        """Take what came, answer pings, and return whether the pong is among it."""
        found = False
        for frame in dealer.receive(0.1):
            message = codec.decode(frame)
            if message["type"] == "ping":
                dealer.send([codec.encode(m.Pong(message["number"]))])
            found |= message["type"] == "pong" and message["number"] == number
        return found

    def stop(self) -> None:
        self._over.set()
        self.join()


def draw(samples: list[Sample], path: Path) -> None:
    """Draw the samples over time."""
    step = max(1, len(samples) // POINTS)
    columns = [
        [statistics.median(values[at : at + step]) for at in range(0, len(values), step)]
        for values in zip(*samples, strict=True)
    ]
    seconds, resident, descriptors, latency, _ = columns
    matplotlib.rcParams["svg.hashsalt"] = "soak"
    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    minutes = [each / 60 for each in seconds]
    lines = (("memory, MB", resident), ("descriptors", descriptors), ("ping to pong, ms", latency))
    for axis, (label, values) in zip(axes, lines, strict=True):
        axis.plot(minutes, values, linewidth=1)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
    axes[-1].set_xlabel("minutes")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=Path("docs/images/soak.svg"))
    given = parser.parse_args()
    kinds = {kind: weight for kind, weight in KINDS.items() if kind != "kill broker"}
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        player = ("random", "random")
        theatre = Theatre(Path(folder), faults.append, grace=20.0, player=player, kinds=kinds)
        watch = Watch(theatre.processes["broker"].pid, theatre.address)
        try:
            watch.start()
            end = time.monotonic() + 60 * given.minutes
            runs = turns = 0
            while time.monotonic() < end:
                turns += sum(each[3] for each in theatre.play(runs, EPISODES, FAULTS))
                runs += 1
        finally:
            watch.stop()
            theatre.close()
            draw(watch.samples, given.out)
    third = len(watch.samples) // 3
    first, last = watch.samples[third // 2 : third + 1], watch.samples[-third - 1 :]
    print(
        f"{watch.samples[-1][0] / 60:.0f} minutes, {runs} runs, {turns:,} turns, {len(faults)} faults"
    )
    for name, column in (("MB", 1), ("descriptors", 2), ("ms to the pong", 3)):
        before, after = (statistics.median(each[column] for each in part) for part in (first, last))
        print(f"{name}: {before:.1f} early, {after:.1f} in the last third")


if __name__ == "__main__":
    main()
