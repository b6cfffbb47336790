"""Early stopping of a meeting between two players.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dovetail.protocol.messages import Episode
from dovetail_experiments.statistics.sprt import Sprt, Verdict
from dovetail_experiments.statistics.units import ScoredGame, games


@dataclass(slots=True)
class Stopping:
    """Evaluates the games of a meeting in schedule order, whatever order they finish in.

    The first to finish are not a fair sample: the quick games may be the ones that one player wins.
    """

    sprt: Sprt | None = None
    best_of: int | None = None
    draw: bool = False
    """True if a truncated game counts as a draw."""
    last: int | None = None
    """Index of the last game that counts; None until the meeting is decided."""
    llr: float = 0.0
    verdict: Verdict = "continues"
    cells: list[float] = field(default_factory=lambda: [0.0] * 5)
    """Number of pairs by score, from LL to WW."""
    _waiting: dict[int, ScoredGame] = field(default_factory=dict)
    _next: int = 0
    _points: list[float] = field(default_factory=lambda: [0.0, 0.0])
    _pair: list[ScoredGame] = field(default_factory=list)
    _openings: set[str] = field(default_factory=set)
    _repeated: tuple[object, ...] | None = None
    """The game that all pairs without an opening have repeated so far."""
    _withheld: list[float] = field(default_factory=lambda: [0.0] * 5)
    """Repetitions of that game by score; they count once any pair differs."""
    _differ: bool = False
    """True if pairs without an opening differ, so the players are random."""

    def take(self, episodes: Iterable[Episode]) -> None:
        """Add results, in any order."""
        for game in games(episodes, 2, rotate=True, draw=self.draw):
            self._waiting[game.index] = game
        while self.last is None and self._next in self._waiting:
            game = self._waiting.pop(self._next)
            self._next += 1
            self._count(game)
            self._pair.append(game)
            if len(self._pair) == 2:
                pair, self._pair = self._pair, []
                self._test(pair)

    def _count(self, game: ScoredGame) -> None:
        if game.points is None:
            return
        for player, points in enumerate(game.points):
            self._points[player] += points
        if self.best_of is not None and max(self._points) > self.best_of / 2:
            self.last = game.index

    def _test(self, pair: list[ScoredGame]) -> None:
        scores = [game.points[0] for game in pair if game.points is not None]
        if self.sprt is None or len(scores) < 2:
            return
        self._add(pair, round(2 * sum(scores)))
        self.llr = self.sprt.llr(self.cells)
        self.verdict = self.sprt.verdict(self.llr)
        if self.verdict != "continues":
            self.last = pair[1].index

    def _add(self, pair: list[ScoredGame], cell: int) -> None:
        """Count a pair as ``units`` does.

        Each opening counts once; without an opening, identical games count once unless some game
        differs.
        """
        opening = pair[0].opening
        if opening:
            self.cells[cell] += opening not in self._openings
            self._openings.add(opening)
            return
        signature = tuple(game.signature for game in pair)
        if self._repeated is None:
            self._repeated = signature
        elif not self._differ and signature == self._repeated:
            self._withheld[cell] += 1
            return
        elif not self._differ:
            self._differ = True
            self.cells = [a + b for a, b in zip(self.cells, self._withheld, strict=True)]
        self.cells[cell] += 1
