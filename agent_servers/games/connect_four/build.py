"""Build the opening book of Connect Four.

``python -m dovetail.agent_servers.games.connect_four.build --plies 4`` takes hours, and continues
where it was stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from dovetail.agent_servers.games.connect_four.book import (
    BOOK,
    children,
    key,
    positions,
    reached,
    read,
)
from dovetail.agent_servers.games.connect_four.solver import Solver


def build(plies: int, path: Path, bits: int) -> Iterator[str]:
    """Add to a book what it lacks up to so many plies; yield each line once it is written.

    The last plies are searched, each position after its neighbours; the earlier ones follow.
    """
    solver = Solver(bits=bits, book=False)
    known = read(path)
    for ply in range(plies, -1, -1):
        for position, moves in positions(ply).items():
            if position in known:
                continue
            board = reached(moves)
            if ply == plies:
                score = solver.score(board)
            else:
                after = (each for _, each in children(board))
                score = max(-(solver.score(x) if x.over else known[key(x)]) for x in after)
            known[position] = score
            with path.open("a", encoding="ascii") as file:
                file.write(f"{moves} {score}\n")
            yield f"{moves} {score}, {solver.nodes:,} positions searched"


def main() -> None:
    """Build the book."""
    parser = argparse.ArgumentParser(description="Build the opening book of Connect Four.")
    parser.add_argument("--plies", type=int, default=5, help="to this many plies")
    parser.add_argument("--bits", type=int, default=26, help="table: 2^BITS positions of 8 bytes")
    parser.add_argument("--out", type=Path, default=BOOK, help="the file; it is continued")
    given = parser.parse_args()
    for line in build(given.plies, given.out, given.bits):
        print(line, flush=True)


if __name__ == "__main__":
    main()
