"""Fuzz by coverage: `make fuzz` runs each target for a time, and keeps what reaches new code.

`corpus.zip` holds what was found before, few and small; `make test` replays it. An input that fails
is written to `crash-...` in the current folder: `--add TARGET=FILE` puts it into the corpus.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CORPUS = Path(__file__).with_name("corpus.zip")
TIMEOUT, MEMORY = 60, 1024
"""Seconds, on a machine that has other work, and MB that no input may take."""
SNAPSHOTS = 16
"""One in this number of inputs of the core is tried through a snapshot, which takes as long as all
else."""
LONGEST = {"access": 400, "decoder": 300, "wire": 500, "curve": 300, "core": 4096}
"""Bytes of an input."""


def inputs(target: str) -> dict[str, bytes]:
    """Return the kept inputs of a target by name."""
    with zipfile.ZipFile(CORPUS) as corpus:
        names = [each for each in corpus.namelist() if each.startswith(f"{target}/")]
        return {name.partition("/")[2]: corpus.read(name) for name in names}


def keep(target: str, found: dict[str, bytes]) -> None:
    """Replace the kept inputs of a target; the same inputs make the same file."""
    everything = {each: inputs(each) for each in LONGEST} | {target: found}
    with zipfile.ZipFile(CORPUS, "w", zipfile.ZIP_DEFLATED) as corpus:
        for folder, files in sorted(everything.items()):
            for name, data in sorted(files.items()):
                corpus.writestr(zipfile.ZipInfo(f"{folder}/{name}"), data, zipfile.ZIP_DEFLATED)


def fuzz(target: str, flags: list[str]) -> None:
    """Run libFuzzer in this process; it ends the process."""
    import atheris

    with atheris.instrument_imports(
        include=["dovetail.protocol", "dovetail.broker", "dovetail.transport"],
        exclude=[
            "dovetail.broker.durable.object_codec"
        ],  # it walks everything there is: tracing it takes most of the time
    ):
        from tests.fuzz import targets
    options = {}
    if target == "core":
        targets.SNAPSHOTS = SNAPSHOTS

        def mutator(data: bytes, most: int, seed: int) -> bytes:
            return targets.mutated(data, most, seed, atheris.Mutate)

        options["custom_mutator"] = mutator
    atheris.Setup([os.environ["FUZZ_PROGRAM"], *flags], targets.TARGETS[target], **options)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--target", choices=sorted(LONGEST), action="append")
    parser.add_argument("--one", choices=sorted(LONGEST), help=argparse.SUPPRESS)
    parser.add_argument("--add", metavar="TARGET=FILE", help="put an input into the corpus")
    given, flags = parser.parse_known_args()
    if given.add:
        target, _, file = given.add.partition("=")
        keep(target, inputs(target) | {Path(file).name: Path(file).read_bytes()})
        return 0
    if given.one:
        fuzz(given.one, flags)
    failed = [each for each in given.target or sorted(LONGEST) if campaign(each, given.minutes)]
    return 1 if failed else 0


def campaign(target: str, minutes: float) -> int:
    """Fuzz one target in another process; keep the fewest inputs that reach what was reached."""
    from tests.fuzz import targets

    with tempfile.TemporaryDirectory() as folder:
        found, small, kept = Path(folder, "found"), Path(folder, "small"), Path(folder, "kept")
        for each in (found, small, kept):
            each.mkdir()
        for name, data in inputs(target).items():
            Path(kept, name).write_bytes(data)
        for number, seed in enumerate(targets.seeds(target)):
            Path(found, f"seed{number}").write_bytes(seed)
        # libFuzzer starts this again by its name, to merge.
        program = Path(folder, "fuzz")
        program.write_text(
            f'#!/bin/sh\nFUZZ_PROGRAM=$0 exec {sys.executable} -m tests.fuzz.run --one {target} "$@"\n'
        )
        program.chmod(0o755)
        limits = [f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}", f"-max_len={LONGEST[target]}"]
        seconds = f"-max_total_time={round(60 * minutes)}"
        command = [str(program), *limits, seconds, "-print_final_stats=1", str(found), str(kept)]
        ended = subprocess.run(command, check=False)
        merge = [str(program), "-set_cover_merge=1", str(small), str(kept), str(found)]
        subprocess.run(merge, check=True)
        keep(target, {each.name: each.read_bytes() for each in small.iterdir()})
    return ended.returncode


if __name__ == "__main__":
    raise SystemExit(main())
