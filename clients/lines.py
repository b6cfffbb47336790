"""Count the lines of each client library by the level that needs them: ``python clients/lines.py``.

Lines that are not blank, comments included, of the library alone: no tests, programs or build
files.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

HERE = Path(__file__).parent
LIBRARIES = {
    "C++": ("cpp", ("include/", "src/")),
    "Go": ("go", ("",)),
    "Java": ("java", ("src/main/",)),
    "Rust": ("rust", ("src/",)),
    "TypeScript": ("typescript", ("src/",)),
}
CODE = {".cpp", ".hpp", ".go", ".java", ".rs", ".ts"}
APART = ("_test.go", "src/c.cpp", "examples/", "conformer/", "player/", "internal/")
"""Tests and programs, and the C interface of the C++ client."""

GROUPS = ("_group.", "columns.", "copies.", "vector.")
"""Stacked turns, which no level needs."""
ENVIRONMENTS = ("environment", "actions.java", "turns.java", "illegalaction")
EXPERIMENTS = ("experiment", "runhandle", "control.rs")
LEVELS = ("agents only", "environments add", "experiments add")


def level(path: str) -> int:
    """Return the lowest level that needs a file, as an index of LEVELS."""
    name = f"/{path.rpartition('/')[2]}".lower()
    if any(part in name for part in EXPERIMENTS):
        return 2
    return int(any(part in name for part in ENVIRONMENTS))


def count(folder: str, places: tuple[str, ...]) -> list[list[int]]:
    """Return for each level the lines written by hand and the generated ones."""
    found = [[0, 0] for _ in LEVELS]
    listed = subprocess.run(
        ["git", "ls-files"], cwd=HERE / folder, check=True, capture_output=True, text=True
    )
    for path in listed.stdout.split():
        if not path.startswith(places) or path.startswith(APART) or path.endswith(APART):
            continue
        if any(part in path for part in GROUPS):
            continue
        if Path(path).suffix in CODE:
            lines = (HERE / folder / path).read_text(encoding="utf-8").splitlines()
            generated = lines[0].startswith("// Code generated")
            found[level(path)][generated] += sum(bool(line.strip()) for line in lines)
    return found


def main() -> None:
    """Print the table of docs/reference/clients.md."""
    print(f"| | {' | '.join(LEVELS)} |")
    for language, (folder, places) in LIBRARIES.items():
        cells = [" + ".join(f"{n:,}" for n in pair if n) for pair in count(folder, places)]
        print(f"| {language} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
