"""Exact evaluation in small games, by OpenSpiel's algorithms: best responses and exploitability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.protocol.errors import DovetailError

Policy = Callable[[str, int, Sequence[int]], Mapping[int, float]]
"""From what a seat knows (OpenSpiel's information state), the seat and its legal actions to their chances."""
LARGEST = 100_000
"""Information states beyond which a game is not evaluated."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """What a policy is worth against opponents who know it."""

    values: tuple[float, ...]
    """What each seat gets if all follow the policy."""
    best: tuple[float, ...]
    """What each seat would get from its best response to the others' policy."""

    @property
    def nash_conv(self) -> float:
        """The sum of what the seats would gain; 0 in an equilibrium."""
        return sum(best - value for best, value in zip(self.best, self.values, strict=True))

    @property
    def exploitability(self) -> float:
        """The mean of what the seats would gain."""
        return self.nash_conv / len(self.values)


def evaluate(game: str, policy: Policy) -> Exactly:
    """Return the values of a policy that all seats follow, and of the best responses to it.

    Args:
        game: an OpenSpiel game with turns, such as ``kuhn_poker``, ``leduc_poker`` or ``tic_tac_toe``.
        policy: called once for each information state.

    Raises:
        DovetailError: OpenSpiel does not have the game, it is too large, or the policy is not one.
    """
    import pyspiel
    from open_spiel.python.algorithms import best_response, expected_game_score
    from open_spiel.python.policy import TabularPolicy

    try:
        loaded = pyspiel.load_game(game)
    except pyspiel.SpielError as error:
        raise DovetailError(f"OpenSpiel has no game {game!r}: {_line(error)}") from None
    if loaded.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise DovetailError(f"{game} has simultaneous moves; only games with turns are evaluated")
    _check_size(loaded, game)
    table = TabularPolicy(loaded)
    if len(table.states) > LARGEST:
        raise DovetailError(
            f"{game} has {len(table.states):,} information states, over {LARGEST:,}"
        )
    for state in table.states:
        seat = state.current_player()
        legal = state.legal_actions()
        knows = state.information_state_string(seat)
        chances = policy(knows, seat, legal)
        row = table.policy_for_key(table._state_key(state, seat))
        _fill(row, chances, legal, knows)
    seats = loaded.num_players()
    root = loaded.new_initial_state()
    values = expected_game_score.policy_value(root, [table] * seats)
    responses = [best_response.BestResponsePolicy(loaded, seat, table) for seat in range(seats)]
    best = [each.value(loaded.new_initial_state()) for each in responses]
    return Exactly(tuple(map(float, values)), tuple(map(float, best)))


def uniform(_: str, __: int, legal: Sequence[int]) -> dict[int, float]:
    """Return equal chances: the policy of ``random``."""
    return {action: 1 / len(legal) for action in legal}


def observed(decisions: Mapping[str, Mapping[int, int]]) -> Policy:
    """Return the policy that an agent showed: how often it chose each action where it knew what.

    Where it was never asked, it is taken to choose at random.

    Args:
        decisions: by information state, how often each action was chosen.
    """

    def policy(knows: str, seat: int, legal: Sequence[int]) -> Mapping[int, float]:
        seen = decisions.get(knows)
        if not seen:
            return uniform(knows, seat, legal)
        total = sum(seen.values())
        return {action: seen.get(action, 0) / total for action in legal}

    return policy


def _fill(row: Any, chances: Mapping[int, float], legal: Sequence[int], knows: str) -> None:
    given = [float(chances.get(action, 0.0)) for action in legal]
    if min(given) < 0 or abs(sum(given) - 1) > 1e-6:
        raise DovetailError(
            f"the policy at {knows!r} does not give the legal actions {list(legal)} chances that sum to 1"
        )
    row[:] = 0
    for action, chance in zip(legal, given, strict=True):
        row[action] = chance


def _check_size(game: Any, name: str) -> None:
    """Stop before the whole tree of a large game is built."""
    todo, seen = [game.new_initial_state()], 0
    while todo:
        state = todo.pop()
        seen += 1
        if seen > 20 * LARGEST:
            raise DovetailError(
                f"{name} has more than {seen - 1:,} positions; evaluate a smaller game"
            )
        if not state.is_terminal():
            todo += [state.child(action) for action in state.legal_actions()]


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:120] if str(error).strip() else "unknown"
