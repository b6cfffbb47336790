"""Players' knowledge in GDL-II: own moves, percepts, and the states consistent with them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import Self

from dovetail.protocol.errors import DovetailError
from dovetail_bridges.gdl.game import Game, State
from dovetail_bridges.gdl.kif import Term, show

MOST_TRIES = 20_000
"""Maximum joint moves tried in search of a consistent state."""
MOST_JOINT = 10_000
"""Maximum joint moves considered in a step; of more, a sample is taken."""

Moves = Mapping[Term, Term]
Seen = Mapping[Term, list[Term]]


class History:
    """The joint moves of an episode, and each player's percepts."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.steps: list[tuple[Moves, Seen]] = []

    def add(self, moves: Moves, seen: Seen) -> None:
        """Add a joint move."""
        self.steps.append((moves, seen))

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self)(self.game)
        other.steps = self.steps.copy()
        return other

    def known(self, role: Term) -> set[Term]:
        """Return a player's percepts and moves so far, unordered."""
        found: set[Term] = set()
        for moves, seen in self.steps:
            found.add(("did", moves[role]))
            found |= {("sees", each) for each in seen[role]}
        return found

    def text(self, role: Term) -> str:
        """Return a player's moves and percepts, one line per step."""
        lines = []
        for number, (moves, seen) in enumerate(self.steps, 1):
            percepts = " ".join(map(show, seen[role])) or "nothing"
            lines.append(f"{number}. did {show(moves[role])}, saw {percepts}")
        return "\n".join(lines)


def resample(
    history: History, role: Term, legal: list[Term] | None, rng: random.Random
) -> tuple[State, History]:
    """Return a state that is consistent with a player's knowledge, and a history that leads there.

    At each step the joint moves with the player's percepts are tried in random order, with
    backtracking.

    Args:
        history: the episode, of which only the player's moves and percepts are used.
        legal: its legal moves now; None if unknown.
        rng: the generator for the order.

    Raises:
        DovetailError: none was found in ``MOST_TRIES`` joint moves.
    """
    game = history.game
    made = History(game)
    states = [game.start()]
    ahead = [_fitting(states[0], history, 0, role, rng)]
    for _ in range(MOST_TRIES):
        step = len(made.steps)
        if step == len(history.steps):
            return states[-1], made
        moves = next(ahead[-1], None)
        if moves is None:
            if step == 0:
                raise DovetailError(f"no state fits what {show(role)} has seen")
            ahead.pop()
            states.pop()
            made.steps.pop()
            continue
        state, seen = states[-1].after(moves)
        if seen[role] != history.steps[step][1][role] or state.terminal:
            continue
        last = step + 1 == len(history.steps)
        if last and legal is not None and state.legal[role] != legal:
            continue
        states.append(state)
        made.add(moves, seen)
        ahead.append(_fitting(state, history, step + 1, role, rng))
    raise DovetailError(
        f"found no state that fits what {show(role)} has seen in {MOST_TRIES:,} tries"
    )


def _fitting(
    state: State, history: History, step: int, role: Term, rng: random.Random
) -> Iterator[Moves]:
    """Yield joint moves that include a player's own, in random order."""
    game = state.game
    if step >= len(history.steps):
        return iter(())
    mine = history.steps[step][0][role]
    if mine not in state.legal[role]:
        return iter(())
    options = [[mine] if each == role else state.legal[each] for each in game.everyone]
    size = 1
    for each in options:
        size *= len(each)
    if size > MOST_JOINT:
        return (
            dict(zip(game.everyone, (rng.choice(each) for each in options), strict=True))
            for _ in range(MOST_JOINT)
        )
    every = [dict(zip(game.everyone, each, strict=True)) for each in itertools.product(*options)]
    rng.shuffle(every)
    return iter(every)
