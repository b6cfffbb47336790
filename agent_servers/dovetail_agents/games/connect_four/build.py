"""Build the opening book of Connect Four.

``python -m dovetail_agents.games.connect_four.build --plies 4`` takes an hour or two of CPU time,
and can be interrupted and continued.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from dovetail_agents.games.connect_four.book import (
    BOOK,
    PLIES,
    children,
    key,
    positions,
    reached,
    read,
)
from dovetail_agents.games.connect_four.solver import Solver

_solver: Solver


def _begin(bits: int) -> None:
    """Create the solver that a process uses for all its positions."""
    global _solver
    _solver = Solver(bits=bits, book=False)


def _searched(moves: str) -> int:
    return _solver.score(reached(moves))


def build(plies: int, path: Path, *, bits: int, jobs: int) -> Iterator[str]:
    """Extend a book up to a ply; yield each line once it is written.

    The last plies are searched by ``jobs`` processes, neighbouring positions in succession; the
    scores of earlier plies follow from them.
    """
    known = read(path)

    def add(position: tuple[int, int], moves: str, score: int) -> str:
        known[position] = score
        with path.open("a", encoding="ascii") as file:
            file.write(f"{moves} {score}\n")
        return f"{moves} {score}"

    last = {
        position: moves for position, moves in positions(plies).items() if position not in known
    }
    if last:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, context, initializer=_begin, initargs=(bits,)) as pool:
            scores = pool.map(_searched, last.values(), chunksize=4)
            for (position, moves), score in zip(last.items(), scores, strict=True):
                yield add(position, moves, score)
    for ply in range(plies - 1, -1, -1):
        for position, moves in positions(ply).items():
            if position not in known:
                after = (each for _, each in children(reached(moves)))
                yield add(position, moves, max(-known[key(each)] for each in after))


def main() -> None:
    """Build the book."""
    parser = argparse.ArgumentParser(description="Build the opening book of Connect Four.")
    parser.add_argument("--plies", type=int, default=PLIES, help="number of plies")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument(
        "--bits",
        type=int,
        default=25,
        help="base-2 logarithm of the positions that each remembers, 8 bytes each",
    )
    parser.add_argument("--out", type=Path, default=BOOK, help="book to be extended")
    given = parser.parse_args()
    for line in build(given.plies, given.out, bits=given.bits, jobs=given.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
