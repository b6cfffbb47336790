"""Build the opening book of Amazons from games of the strongest player against itself.

``python -m dovetail_agents.games.amazons.build`` takes some minutes of CPU time.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dovetail.peer.agents.agent import Seat
from dovetail_agents.games.amazons import book
from dovetail_agents.games.amazons.territorial import AmazonsTerritory, AmazonsTerritoryParameters
from dovetail_games.amazons import Amazons, Configuration
from dovetail_games.amazons.rules import AmazonsBoard, start_position

VARIED = 4
"""Plies in which one of the best moves is drawn at random, so that games differ."""


class Builder:
    """Plays the games of a book.

    Args:
        moves: the number of best moves to play out in a position, and of replies to follow.
        games: the number of games for each move.
        seed: the seed of random choices.
    """

    def __init__(self, moves: int, games: int, seed: int) -> None:
        self.moves, self.games = moves, games
        self.game = Amazons(Configuration(rows=book.SIDE, columns=book.SIDE))
        spec = self.game.init()
        self.rng = random.Random(seed)
        self.deep = AmazonsTerritory(AmazonsTerritoryParameters(depth=2))
        self.quick = AmazonsTerritory(AmazonsTerritoryParameters(depth=1))
        for player in (self.deep, self.quick):
            player.init(Seat(0, 0, spec))

    def best(self, board: AmazonsBoard, player: AmazonsTerritory, count: int) -> list[int]:
        """Return a player's best moves, no two of them mirror images."""
        self.game.board = board
        planes = self.game.observation(board.mover)
        actions, values = player.considered(planes)
        squares = book.seen(planes)
        places = [each for each in book.IMAGES if (squares[each] == squares).all()]
        found: list[int] = []
        for _, action in sorted(zip(values, actions, strict=True), reverse=True):
            if not any(book.moved(action, each) in found for each in places):
                found.append(action)
            if len(found) == count:
                break
        return found

    def wins(self, board: AmazonsBoard, action: int) -> int:
        """Return the number of games that the side to move wins after a move."""
        won = 0
        for _ in range(self.games):
            played = after(board, action)
            ply = 0
            while not played.over:
                varied = self.moves if ply < VARIED else 1
                played.play(self.rng.choice(self.best(played, self.quick, varied)))
                ply += 1
            won += played.winner == board.mover
        return won

    def lines(self, plies: int, board: AmazonsBoard) -> Iterator[tuple[str, int]]:
        """Yield a position and its likely successors, each with the move that won most games."""
        candidates = self.best(board, self.deep, self.moves)
        chosen = max(candidates, key=lambda action: self.wins(board, action))
        self.game.board = board
        position, places = book.image(book.seen(self.game.observation(board.mover)))
        yield position, book.moved(chosen, np.argsort(places))
        for action in candidates if plies > 1 else ():
            yield from self.lines(plies - 1, after(board, action))


def after(board: AmazonsBoard, action: int) -> AmazonsBoard:
    """Return the board after a move."""
    found = board.copy()
    found.play(action)
    return found


def main() -> None:
    """Build the book."""
    parser = argparse.ArgumentParser(description="Build the opening book of Amazons.")
    parser.add_argument("--plies", type=int, default=4, help="number of plies")
    parser.add_argument("--moves", type=int, default=3, help="moves to try in each position")
    parser.add_argument("--games", type=int, default=20, help="games for each move")
    parser.add_argument("--seed", type=int, default=1, help="seed of random choices")
    parser.add_argument("--out", type=Path, default=book.BOOK, help="the file")
    given = parser.parse_args()
    board = AmazonsBoard(start_position(book.SIDE, book.SIDE))
    found = dict(Builder(given.moves, given.games, given.seed).lines(given.plies, board))
    lines = (f"{position} {action}\n" for position, action in sorted(found.items()))
    given.out.write_text("".join(lines), "ascii")


if __name__ == "__main__":
    main()
