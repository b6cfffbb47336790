from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import Decision, DovetailError
from dovetail.agent_servers.agent import Agent, End, Seat
from dovetail.agent_servers.dominion_bots import (
    DominionBlacksmith,
    DominionChapel,
    DominionGreedy,
    DominionMoney,
    DominionRandom,
)
from dovetail.agent_servers.dominion_learning import kernels
from dovetail.agent_servers.dominion_learning.compiled import PLAYERS, Compiled, play, rules
from dovetail.agent_servers.dominion_q import REWARDS, DominionQ, DominionQParameters
from dovetail.env_servers.dominion import Configuration, Dominion, Game
from dovetail.env_servers.dominion.cards import KINDS, KINGDOM

TWO = ("Smithy", "Chapel")
BOTS: dict[str, type[Agent]] = {
    "random": DominionRandom,
    "money": DominionMoney,
    "greedy": DominionGreedy,
    "blacksmith": DominionBlacksmith,
    "chapel": DominionChapel,
}


class Draws(random.Random):
    """The random numbers of ``kernels``, where the real rules and players expect Python's."""

    def __init__(self, seed: int, game: int) -> None:
        self.state = kernels.seeded(seed, game)

    def _randbelow(self, n: int) -> int:
        return int(kernels.draw(self.state, n))

    def random(self) -> float:
        return float(kernels.fraction(self.state))


def real(
    configuration: Configuration,
    seats: list[str],
    learner: DominionQ,
    seed: int,
    game: int,
    learn: bool,
) -> tuple[Any, list[int], list[float] | None]:
    """Play a game by the environment's rules and the agents themselves; return what ``play`` sums up."""
    rng = Draws(seed, game)
    environment = Dominion(configuration)
    spec = environment.init()
    state = environment.game = Game(environment.options, rng)
    agents = [learner if name == "learner" else BOTS[name]() for name in seats]
    places = [Seat(1, number, spec) for number in range(len(seats))]
    mode: Any = "learn" if learn else "evaluate"
    turn = 0
    while not state.over:
        seat = state.seat
        seen = environment.observation(seat)
        legal = state.legal()
        decision = Decision(places[seat], game, turn, seen, legal, 0.0, mode, rng)
        state.act(agents[seat].step(decision))
        turn += 1
    outcome = None if state.cut else state.outcome(configuration.tie)
    reason: Any = "truncated" if state.cut else "terminated"
    for seat, agent in enumerate(agents):
        if learn:
            seen = environment.observation(seat)
            agent.end(End(places[seat], game, 0.0, seen, outcome, reason, None, 0.0, turn, mode))
    owned = np.array([player.counts() for player in state.players])
    return owned, [player.turns for player in state.players], outcome


def both(
    configuration: Configuration,
    seats: list[str],
    parameters: DominionQParameters,
    games: int,
    learn: bool = True,
    seed: int = 5,
) -> tuple[DominionQ, DominionQ, Any, Any]:
    """Play the same games both ways; return the learners, and the sums."""
    slow, fast = DominionQ(parameters, seed=3), DominionQ(parameters, seed=3)
    expected = np.zeros((len(seats), 4 + KINDS))
    for game in range(games):
        owned, turns, outcome = real(configuration, seats, slow, seed, game, learn)
        expected[:, 4:] += owned
        points = [owned[seat] @ kernels._POINTS for seat in range(len(seats))]
        expected[:, 1] += points
        expected[:, 2] += turns
        expected[:, 0] += outcome or [0.0] * len(seats)
        expected[:, 3] += outcome is not None
    compiled = Compiled(fast)
    players = np.array([PLAYERS[name] for name in seats])
    found = play(compiled, rules(configuration), players, seed, 0, games, learn)
    compiled.give()
    fast.episodes = slow.episodes
    return slow, fast, expected, found


@given(
    st.lists(st.sampled_from(list(PLAYERS)), min_size=2, max_size=4),
    st.sampled_from([TWO, KINGDOM]),
    st.sampled_from(["fair", "shared", "highest-seat"]),
    st.sampled_from(["turn", "round"]),
    st.sampled_from(["aside", "discard"]),
    st.sampled_from(["random", "seat-0"]),
    st.sampled_from([-1, 0, 3]),
    st.sampled_from([3, 300]),
    st.integers(0, 1000),
)
@settings(max_examples=25, deadline=None)
def test_games_are_those_of_the_real_rules_and_players(
    seats: list[str],
    kingdom: tuple[str, ...],
    tie: Any,
    end: Any,
    played: Any,
    first: Any,
    curses: int,
    rounds: int,
    seed: int,
) -> None:
    configuration = Configuration(
        players=len(seats),
        kingdom=kingdom,
        kingdom_size=len(kingdom),
        tie=tie,
        end=end,
        played=played if kingdom == TWO else "aside",
        first=first,
        curses=curses,
        max_rounds=rounds,
        chapel=3 + seed % 2,
        conspirator=2 + seed % 2,
    )
    parameters = DominionQParameters(version="23-4", forced=1, epsilon=0.5)
    slow, fast, expected, found = both(configuration, seats, parameters, 2, seed=seed)
    np.testing.assert_array_equal(found, expected)
    assert fast.save() == slow.save()


@pytest.mark.parametrize("table", ["dense", "sparse"])
@pytest.mark.parametrize("reward", REWARDS)
def test_every_reward_teaches_the_same_bit_for_bit(reward: str, table: Any) -> None:
    parameters = DominionQParameters(
        version="14.0",
        table=table,
        reward=reward,
        forced=2,
        epsilon=0.3,
        rate_power=0.5,
        least_rate=0.05,
    )
    configuration = Configuration(players=3, kingdom=TWO, kingdom_size=2)
    seats = ["learner", "chapel", "learner"]
    slow, fast, expected, found = both(configuration, seats, parameters, 25)
    np.testing.assert_array_equal(found, expected)
    assert fast.table.tried() > 500
    assert fast.save() == slow.save()


def test_turns_without_end_are_refused() -> None:
    with pytest.raises(DovetailError, match="a turn may draw and play Bazaar for ever"):
        rules(Configuration(played="discard"))


def test_version_0_and_evaluation_are_the_same_and_change_nothing() -> None:
    configuration = Configuration(players=2, kingdom=TWO, kingdom_size=2)
    for table in ("dense", "sparse"):
        parameters = DominionQParameters(version="0", table=table)  # type: ignore[arg-type]
        slow, fast, expected, found = both(
            configuration, ["learner", "money"], parameters, 10, False
        )
        np.testing.assert_array_equal(found, expected)
        assert fast.save() == slow.save() == DominionQ(parameters, seed=3).save()
