"""Exact evaluation of small games by OpenSpiel's algorithms: best responses and exploitability."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.peer.agents.agent import Agent, Decision, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Spec
from dovetail.protocol.seeds import derive


@dataclass(frozen=True, slots=True)
class ExactPosition:
    """A decision, as the seat to move knows it."""

    knows: str
    """OpenSpiel's information state as text, equal for positions that the seat cannot distinguish.

    With perfect information it is the observation: positions count once, however they were reached.
    """
    seat: int
    legal: tuple[int, ...]
    turn: int
    """Number of actions so far, those of chance included."""
    tensor: tuple[float, ...]
    """The information state as numbers; empty if the game has none."""


Worth = tuple[tuple[float, ...], tuple[float, ...]]
"""By seat, the value if all follow a policy, and the value of the best response to it."""
Policy = Callable[[ExactPosition], Mapping[int, float]]
"""Maps a decision to the probability of each legal action."""
LARGEST = 100_000
"""Maximum information states or positions of a game."""


@dataclass(frozen=True, slots=True)
class Exactly:
    """Value of a policy against opponents that know it."""

    values: tuple[float, ...]
    """Value of each seat if all follow the policy."""
    best: tuple[float, ...]
    """Value of each seat's best response to the others' policy."""

    @property
    def nash_conv(self) -> float:
        """Sum of the seats' possible gains; 0 in an equilibrium."""
        return sum(best - value for best, value in zip(self.best, self.values, strict=True))

    @property
    def exploitability(self) -> float:
        """Mean of the seats' possible gains."""
        return self.nash_conv / len(self.values)


def evaluate(game: str, policy: Policy) -> Exactly:
    """Return the values of a policy followed by all seats, and of the best responses to it.

    Args:
        game: a turn-based OpenSpiel game, such as ``kuhn_poker``, ``leduc_poker`` or
            ``tic_tac_toe``.
        policy: the policy, called once for each information state.

    Raises:
        DovetailError: OpenSpiel lacks the game, it is too large, or the policy is invalid.
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
    kind = loaded.get_type()
    if (
        kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        and kind.reward_model == pyspiel.GameType.RewardModel.TERMINAL
        and kind.provides_observation_string
    ):
        return _by_position(loaded, game, policy)
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
        tensor = (
            state.information_state_tensor(seat) if kind.provides_information_state_tensor else ()
        )
        place = ExactPosition(knows, seat, tuple(legal), state.move_number(), tuple(tensor))
        _fill(table.policy_for_key(knows), policy(place), legal, knows)
    seats = loaded.num_players()
    root = loaded.new_initial_state()
    values = expected_game_score.policy_value(root, [table] * seats)
    responses = [best_response.BestResponsePolicy(loaded, seat, table) for seat in range(seats)]
    best = [each.value(loaded.new_initial_state()) for each in responses]
    return Exactly(tuple(map(float, values)), tuple(map(float, best)))


def _by_position(game: Any, name: str, policy: Policy) -> Exactly:
    """Evaluate a game of perfect information backwards from its end, each position once."""
    tensors = game.get_type().provides_observation_tensor
    known: dict[tuple[int, str], Worth | None] = {}

    def worth(state: Any) -> Worth:
        """Return each seat's value under the policy, and under its best response to it."""
        if state.is_terminal():
            returns = tuple(map(float, state.returns()))
            return returns, returns
        if state.is_chance_node():
            chances = [(p, worth(state.child(action))) for action, p in state.chance_outcomes()]
            return _mixed([(p, each[0]) for p, each in chances]), _mixed(
                [(p, each[1]) for p, each in chances]
            )
        seat = state.current_player()
        knows = state.observation_string(seat)
        key = (seat, knows)
        if key in known:
            found = known[key]
            if found is None:
                raise DovetailError(f"{name} can repeat positions; evaluate another game")
            return found
        if len(known) >= LARGEST:
            raise DovetailError(
                f"{name} has more than {LARGEST:,} positions; evaluate a smaller game"
            )
        known[key] = None
        legal = state.legal_actions()
        tensor = tuple(state.observation_tensor(seat)) if tensors else ()
        row = np.zeros(game.num_distinct_actions())
        _fill(
            row,
            policy(ExactPosition(knows, seat, tuple(legal), state.move_number(), tensor)),
            legal,
            knows,
        )
        after = [(float(row[action]), worth(state.child(action))) for action in legal]
        best = list(_mixed([(p, each[1]) for p, each in after]))
        best[seat] = max(each[1][seat] for _, each in after)
        found = known[key] = _mixed([(p, each[0]) for p, each in after]), tuple(best)
        return found

    return Exactly(*worth(game.new_initial_state()))


def _mixed(parts: Sequence[tuple[float, tuple[float, ...]]]) -> tuple[float, ...]:
    """Return the mean of the seats' values, weighted by probability."""
    return tuple(sum(p * each[seat] for p, each in parts) for seat in range(len(parts[0][1])))


def uniform(place: ExactPosition) -> dict[int, float]:
    """Return equal probabilities, the policy of ``random``."""
    return {action: 1 / len(place.legal) for action in place.legal}


def policy_of(
    agent: Agent[Any],
    spec: Spec,
    see: Callable[[ExactPosition], Any] = lambda place: place.knows,
    *,
    samples: int = 1,
    seed: int = 0,
) -> Policy:
    """Return the policy of an agent that decides on its current observation, in mode ``evaluate``.

    Args:
        agent: the agent; it must neither look ahead nor remember the episode.
        spec: the game's spec as the agent knows it.
        see: returns the agent's observation of a decision.
        samples: the number of times the agent is asked; 1 if it is deterministic. Otherwise the
            frequencies are the policy, which overestimates exploitability.
    """
    for seat in range(spec.seats):
        agent.init(Seat(0, seat, spec))

    def policy(place: ExactPosition) -> Mapping[int, float]:
        counts = dict.fromkeys(place.legal, 0)
        rng = random.Random(derive(seed, "policy", place.knows))
        for number in range(samples):
            action = agent.step(
                Decision(
                    *(Seat(0, place.seat, spec), number, place.turn, see(place)),
                    *(list(place.legal), 0.0, "evaluate", rng),
                )
            )
            if action not in counts:
                raise DovetailError(
                    f"the agent plays {action!r} at {place.knows!r}, which is not legal"
                )
            counts[action] += 1
        return {action: count / samples for action, count in counts.items()}

    return policy


def observed(decisions: Mapping[str, Mapping[int, int]]) -> Policy:
    """Return an agent's observed policy: the frequency of each action in each information state.

    Unobserved information states get equal probabilities.

    Args:
        decisions: counts of each action, by information state.
    """

    def policy(place: ExactPosition) -> Mapping[int, float]:
        seen = decisions.get(place.knows)
        if not seen:
            return uniform(place)
        total = sum(seen.values())
        return {action: seen.get(action, 0) / total for action in place.legal}

    return policy


def _fill(row: Any, chances: Mapping[int, float], legal: Sequence[int], knows: str) -> None:
    given = [float(chances.get(action, 0.0)) for action in legal]
    if min(given) < 0 or abs(sum(given) - 1) > 1e-6:
        raise DovetailError(
            f"the policy at {knows!r} does not give the legal actions {list(legal)} chances that "
            "sum to 1"
        )
    row[:] = 0
    for action, chance in zip(legal, given, strict=True):
        row[action] = chance


def _check_size(game: Any, name: str) -> None:
    """Raise an error before a game's tree gets too large to build."""
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
