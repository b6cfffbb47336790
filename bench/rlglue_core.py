"""RL-Glue's own core: build it from its sources, and start it.

``python -m bench.rlglue_core FOLDER`` builds the program ``rl_glue`` of RL-Glue 3.04 from a copy of its sources, in
which ``src`` has ``RL_glue.c``, and keeps it in ``build/rlglue`` for ``python -m bench``.  It needs a C compiler, and
``make`` if the sources have ``configure``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.measure import BenchError

BUILT = Path(__file__).resolve().parent.parent / "build/rlglue/rl_glue"
FLAGS = ("-O2", "-std=gnu99", "-fcommon", "-w")
"""The sources are of 2010: they define variables in headers, which compilers have refused to link since."""


def build(folder: Path, target: Path) -> None:
    """Build the core from the folder of its sources.

    Raises:
        BenchError: these are not its sources, or they cannot be built.
    """
    folder = folder.resolve()
    if not (folder / "src/RL_glue.c").is_file():
        raise BenchError(
            f"{folder} has no src/RL_glue.c; name the folder of RL-Glue 3.04's sources"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        if (folder / "configure").is_file():
            _run([str(folder / "configure"), "--disable-shared", f"CFLAGS={' '.join(FLAGS)}"], made)
            _run(["make"], made)
            found = [each for each in Path(made).rglob("rl_glue") if each.is_file()]
            if not found:
                raise BenchError(f"{folder}: `configure` and `make` built no program rl_glue")
            shutil.copy(found[0], target)
            return
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise BenchError("RL-Glue's core needs a C compiler; install gcc")
        # RL_direct_... are for agents and environments in the same program, instead of RL_server_...
        sources = [
            str(each)
            for each in sorted((folder / "src").glob("*.c"))
            if not each.name.startswith("RL_direct_")
        ]
        _run([compiler, *FLAGS, f"-I{folder}/src", "-o", str(target), *sources, "-lm"], made)


def _run(command: list[str], folder: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        errors = [line for line in said if "error" in line.lower()] or said or ["it said nothing"]
        raise BenchError(f"{command[0]} failed: {errors[0]}")


@contextlib.contextmanager
def started() -> Iterator[int]:
    """Start the core that was built; give its port, at which it soon listens.

    Raises:
        BenchError: it was not built.
    """
    if not BUILT.exists():
        raise BenchError(
            "it is not built; `python -m bench.rlglue_core FOLDER` builds it from its sources"
        )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    core = subprocess.Popen(
        [BUILT],
        env={**os.environ, "RLGLUE_PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield port
    finally:
        core.kill()
        core.wait()


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("python -m bench.rlglue_core FOLDER")
    try:
        build(Path(arguments[0]), BUILT)
    except BenchError as error:
        sys.exit(f"Error: {error}")
    print(f"built {BUILT}")


if __name__ == "__main__":
    main(sys.argv[1:])
