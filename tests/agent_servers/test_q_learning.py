from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agent_servers.memory import remembering

from dovetail import DovetailError, Environment, InProcess, Spec, Turn, View, spaces
from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail.peer.agents.random_agent import Random
from dovetail.peer.agents.sampling import best
from dovetail.peer.registry import register
from dovetail_agents.general.q_learning.agent import QLearning, QLearningParameters
from dovetail_agents.general.q_learning.encoders import Component, bucketed
from dovetail_agents.general.q_learning.learner import explore
from dovetail_agents.general.q_learning.table import Table, entries, restore
from dovetail_experiments.statistics import mean
from dovetail_games.connect_four import ConnectFour
from dovetail_games.game_2048 import Game2048

# -- the table -------------------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 99), st.sampled_from(["f4", "f8"]))
@settings(max_examples=30, deadline=None)
def test_dense_and_sparse_tables_hold_the_same(
    actions: int, states: int, seed: int, dtype: str
) -> None:
    dense = Table("x", actions, states, 1 << 20, seed, -1.0, 3.0, dtype)
    sparse = Table("x", actions, None, 1 << 20, seed, -1.0, 3.0, dtype)
    rng = random.Random(seed)
    for key in rng.sample(range(states), min(states, 9)):
        fresh = sparse.fresh(key)[0].tolist()
        row = sparse.row(key)
        assert sparse.values[row].tolist() == dense.values[dense.row(key)].tolist() == fresh
        assert all(-1 <= value < 2 for value in fresh)
        sparse.values[row, 0] = key
        sparse.visits[row, 0] = 1
    again = Table("x", actions, None, 1 << 20, seed, -1.0, 3.0, dtype)
    restore(again, entries(sparse))
    assert entries(again) == entries(sparse)


def test_first_values_are_spread_evenly() -> None:
    values = Table("x", 4, 5000, 1 << 20, 1, 0.0, 1.0).values
    assert values.mean() == pytest.approx(0.5, abs=0.01)
    assert np.unique(values).size > 19_900
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.05


def test_memory_has_a_limit() -> None:
    with pytest.raises(DovetailError, match="1,000,000 states need 23 MiB, but the limit is 4"):
        Table("x", 2, 1_000_000, 4 << 20)
    sparse = Table("x", 2, None, 1 << 20)

    def fill() -> None:
        for number in range(1 << 20):
            sparse.row(number)

    with pytest.raises(DovetailError, match=r"reached its limit of 1 MiB at [67],"):
        fill()
    assert sparse.values.nbytes + sparse.visits.nbytes < 1 << 20


# -- exploration -----------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(0, 99))
def test_what_is_rare_comes_first(visits: list[int], seed: int) -> None:
    values = [float(n) for n in range(len(visits))]
    place = explore(values, visits, 10, 0.0, random.Random(seed))
    if min(visits) < 10:
        assert visits[place] < 10
    else:
        assert place == len(visits) - 1


def test_shares_of_random_actions_and_of_equals() -> None:
    rng = random.Random(1)
    chosen = [explore([0.0, 1.0, 0.0, 0.0], [99] * 4, 10, 0.2, rng) for _ in range(20_000)]
    assert chosen.count(1) / 20_000 == pytest.approx(0.8 + 0.2 / 4, abs=0.01)
    equal = [best([1.0, 0.0, 1.0], rng) for _ in range(2000)]
    assert equal.count(0) / 2000 == pytest.approx(0.5, abs=0.05)
    assert equal.count(1) == 0


# -- updates ---------------------------------------------------------------------------------------

SPEC = Spec(
    name="toy",
    seats=2,
    observation_spaces=[spaces.Discrete(5)],
    action_spaces=[spaces.Discrete(3, start=1)],
)


def seated(seat: int = 0, **parameters: Any) -> tuple[QLearning, Seat]:
    agent = remembering(
        QLearning(QLearningParameters(**({"min_visits": 0, "epsilon": 0.0} | parameters)))
    )
    place = Seat(1, seat, SPEC)
    agent.init(place)
    return agent, place


def decide(
    agent: QLearning, seat: Seat, observation: Any, legal: list[int] | None, reward: float = 0.0
) -> int:
    rng = random.Random(1)
    return agent.step(Decision(seat, 1, 0, observation, legal, reward, "learn", rng))


def end(
    agent: QLearning, seat: Seat, reward: float, reason: Any = "terminated", seen: Any = None
) -> None:
    agent.end(End(seat, 1, reward, seen, None, reason, None, 0.0, 2, "learn"))


def values(agent: QLearning) -> Any:
    assert agent.learner is not None
    return agent.learner.table.values


def test_updates_by_hand_at_a_constant_rate() -> None:
    """Only what is legal counts for what follows; the end has no future; actions begin at 1."""
    agent, seat = seated(table="dense", learning_rate=0.5, discount=0.9)
    values(agent)[:] = [[0, 4, 0], [1, 2, 100], [0] * 3, [0] * 3, [0] * 3]
    assert decide(agent, seat, 0, None) == 2
    assert decide(agent, seat, 1, [1, 2], reward=3.0) == 2
    assert values(agent)[0].tolist() == [0, 4 + 0.5 * (3 + 0.9 * 2 - 4), 0]
    end(agent, seat, -1.0)
    assert values(agent)[1].tolist() == [1, 2 + 0.5 * (-1 - 2), 100]
    assert agent.episodes == 1


def test_the_rate_falls_with_the_visits() -> None:
    """At power 1 from rate 1 a value is the mean of its targets; below the least rate it does not
    fall."""
    agent, seat = seated(learning_rate=1.0, rate_power=1.0)
    rewards = [3.0, -1.0, 4.0, 1.0, -5.0]
    for number, reward in enumerate(rewards):
        decide(agent, seat, 0, [2])
        end(agent, seat, reward)
        assert values(agent)[0, 1] == pytest.approx(sum(rewards[: number + 1]) / (number + 1))
    agent, seat = seated(learning_rate=1.0, rate_power=0.5, least_rate=0.6)
    expected = 0.0
    for number, reward in enumerate(rewards):
        decide(agent, seat, 0, [2])
        end(agent, seat, reward)
        expected += max(0.6, 1 / (number + 1) ** 0.5) * (reward - expected)
    assert values(agent)[0, 1] == pytest.approx(expected)


def test_ends() -> None:
    """Cut short, the best action ever tried there stands for the rest; interrupted, nothing is
    learned."""
    agent, seat = seated(table="dense", learning_rate=1.0, discount=0.5)
    decide(agent, seat, 1, [3])
    end(agent, seat, 8.0)
    decide(agent, seat, 0, [1])
    end(agent, seat, 1.0, "truncated", seen=1)
    assert values(agent)[0, 0] == 1 + 0.5 * 8
    decide(agent, seat, 0, [1])
    end(agent, seat, 9.0, "crashed")
    assert values(agent)[0, 0] == 5
    end(agent, seat, 9.0)
    assert agent.episodes == 2


def test_seats_share_states_or_have_their_own() -> None:
    for by_seat in (False, True):
        for table in ("dense", "sparse"):
            agent, first = seated(by_seat=by_seat, table=table, learning_rate=1.0)
            second = Seat(1, 1, SPEC)
            agent.init(second)
            decide(agent, first, 0, [1])
            end(agent, first, 1.0)
            decide(agent, second, 0, [1])
            end(agent, second, 2.0)
            table_ = values(agent)
            assert sorted(table_[table_ != 0].tolist()) == ([1.0, 2.0] if by_seat else [2.0])


# -- states ----------------------------------------------------------------------------------------


def test_components_are_clamped_and_in_steps() -> None:
    part = Component(0, -1.0, 2.0, 0.5)
    assert part.levels == 7
    assert [part.level(number) for number in (-9, -1, -0.51, 0, 0.49, 1.9, 2, 7)] == [
        *(0, 0, 0, 2, 2, 5, 6, 6)
    ]
    encode = bucketed([Component(3, 7, 8), Component(0, 0, 4), part])
    seat = Seat(1, 0, SPEC)
    seen = np.array([[3.0, 0.0], [0.0, 12.0]])
    assert encode(seen, seat) == 1 + 2 * 3 + 10 * 6
    every = bucketed([Component(0, 7, 8), Component(1, 0, 4), Component(2, -1.0, 2.0, 0.5)])
    found = [
        every(np.array([a, b, c / 2]), seat) for c in range(-2, 5) for b in range(5) for a in (7, 8)
    ]
    assert found == list(range(2 * 5 * 7))


def parity(observation: Any, seat: Seat) -> int:
    return int(observation) % 2


def nonsense(observation: Any, seat: Seat) -> str:
    return "x"


def test_a_registered_function_may_say_what_a_state_is() -> None:
    register("encoder", "parity", parity)
    register("encoder", "nonsense", nonsense)
    agent, seat = seated(encoder="parity", learning_rate=1.0)
    for observation in range(5):
        decide(agent, seat, observation, [1])
        end(agent, seat, 1.0)
    assert agent.message("counts") == {"states": 2, "tried": 2, "episodes": 5}
    agent, seat = seated(encoder="nonsense")
    with pytest.raises(DovetailError, match="it must return bytes or a number from 0, not 'x'"):
        decide(agent, seat, 0, [1])


# -- solved games ----------------------------------------------------------------------------------

WIDTH, HEIGHT, GOAL, PIT = 4, 3, 11, 7
MOVES = ((0, 1), (0, -1), (1, 0), (-1, 0))


def moved(cell: int, action: int) -> int:
    row, column = divmod(cell, WIDTH)
    row, column = row + MOVES[action][0], column + MOVES[action][1]
    return row * WIDTH + column if 0 <= row < HEIGHT and 0 <= column < WIDTH else cell


class Grid(Environment):
    """Four columns, three rows; the far corner earns 1, the cell before it costs 1, a step costs
    0.04.

    With ``slip`` each fifth move goes anywhere.
    """

    slip = 0.0

    def init(self) -> Spec:
        return Spec(
            name="grid",
            seats=1,
            observation_spaces=[spaces.Discrete(WIDTH * HEIGHT)],
            action_spaces=[spaces.Discrete(4)],
        )

    def start(self, seed: int) -> Turn:
        self.rng = random.Random(seed)
        self.cell = 0
        return Turn(to_act=[0], seats=[View(0, self.cell)])

    def step(self, actions: Any) -> Turn:
        action = actions[0]
        if self.rng.random() < self.slip:
            action = self.rng.randrange(4)
        self.cell = moved(self.cell, action)
        if self.cell in (GOAL, PIT):
            reward = 1.0 if self.cell == GOAL else -1.0
            return Turn(seats=[View(0, self.cell, reward=reward)], terminated=True)
        return Turn(to_act=[0], seats=[View(0, self.cell, reward=-0.04)])


class Slippery(Grid):
    slip = 0.2

    def init(self) -> Spec:
        spec = super().init()
        return Spec(
            name="slippery",
            seats=1,
            observation_spaces=spec.observation_spaces,
            action_spaces=spec.action_spaces,
        )


def optimal(slip: float, discount: float) -> Any:
    """Return Q by value iteration: shape (cells, 4)."""
    q = np.zeros((WIDTH * HEIGHT, 4))
    for _ in range(500):
        worth = np.array([0.0 if cell in (GOAL, PIT) else q[cell].max() for cell in range(12)])
        for cell in set(range(12)) - {GOAL, PIT}:
            to = [moved(cell, action) for action in range(4)]
            one = [{GOAL: 1.0, PIT: -1.0}.get(each, -0.04 + discount * worth[each]) for each in to]
            for action in range(4):
                q[cell, action] = (1 - slip) * one[action] + slip * np.mean(one)
    return q


def learned(environment: type[Environment], episodes: int, **parameters: Any) -> Any:
    with InProcess([environment], [QLearning]) as experiment:
        agent = experiment.create("q-learning", parameters=parameters, seed=1)
        name = environment.__name__.lower()
        experiment.run(name, [agent], episodes=episodes, seed=2).wait()
        again = QLearning()
        again.load(experiment.save(agent))
    assert again.learner is not None
    return again.learner.table.values


def test_it_finds_the_values_of_a_gridworld_exactly() -> None:
    """Nothing is left to chance here, so that at rate 1 every value becomes that of value
    iteration."""
    found = learned(Grid, 1500, table="dense", learning_rate=1.0, epsilon=0.5, discount=0.9)
    expected = optimal(0.0, 0.9)
    cells = [cell for cell in range(12) if cell not in (GOAL, PIT)]
    np.testing.assert_allclose(found[cells], expected[cells], atol=1e-9)


def test_with_chance_it_comes_close() -> None:
    found = learned(
        Slippery, 4000, table="dense", learning_rate=1.0, rate_power=0.7, epsilon=0.5, discount=0.9
    )
    expected = optimal(0.2, 0.9)
    cells = [cell for cell in range(12) if cell not in (GOAL, PIT)]
    np.testing.assert_allclose(found[cells].max(1), expected[cells].max(1), atol=0.05)
    assert found[0].max() == pytest.approx(expected[0].max(), abs=0.03)


class Nim(Environment):
    """Take one or two of ten; who takes the last wins.  Won by who moves unless the heap divides by
    3."""

    def init(self) -> Spec:
        return Spec(
            name="nim",
            seats=2,
            observation_spaces=[spaces.Discrete(11)],
            action_spaces=[spaces.Discrete(2, start=1)],
        )

    def start(self, seed: int) -> Turn:
        self.heap, self.seat = 10, 0
        return self._turn()

    def step(self, actions: Any) -> Turn:
        self.heap -= actions[self.seat]
        if self.heap == 0:
            rewards = [1.0 if seat == self.seat else -1.0 for seat in (0, 1)]
            return Turn(
                seats=[View(seat, 0, reward=rewards[seat]) for seat in (0, 1)],
                terminated=True,
                outcome=[(each + 1) / 2 for each in rewards],
            )
        self.seat = 1 - self.seat
        return self._turn()

    def _turn(self) -> Turn:
        legal = [n for n in (1, 2) if n <= self.heap]
        return Turn(to_act=[self.seat], seats=[View(self.seat, self.heap, legal)])


def nim(agent_state: bytes | None, episodes: int, mode: Any = "learn") -> bytes:
    parameters = {"rate_power": 0.6, "learning_rate": 1.0, "discount": 1.0, "table": "dense"}
    with InProcess([Nim], [QLearning]) as experiment:
        agent = experiment.create("q-learning", parameters=parameters, seed=1, state=agent_state)
        run = experiment.run("nim", [agent, agent], episodes=episodes, seed=2, mode=mode)
        run.wait()
        return experiment.save(agent)


def test_in_both_seats_it_finds_every_winning_move_of_nim() -> None:
    agent = QLearning()
    agent.load(nim(None, 1500))
    assert agent.learner is not None
    values = agent.learner.table.values
    for heap in (1, 2, 4, 5, 7, 8, 10):
        legal = [n for n in (1, 2) if n <= heap]
        found = max(legal, key=lambda n: values[heap, n - 1])
        assert found == heap % 3


SMALL = {"rows": 3, "columns": 3, "connect": 3}


@cache
def worth(moves: tuple[int, ...]) -> float:
    """Return what the best play of seat 0 is worth against a random seat 1, by expectimax."""
    game = ConnectFour(ConnectFour.Configuration(**SMALL))
    turn = game.start(0)
    for number, move in enumerate(moves):
        turn = game.step({number % 2: move})
    if turn.terminated:
        return next(view.reward for view in turn.seats if view.seat == 0)
    (seat,) = turn.to_act
    legal = next(view.legal for view in turn.seats if view.seat == seat)
    assert legal is not None
    after = [worth((*moves, move)) for move in legal]
    return max(after) if seat == 0 else sum(after) / len(after)


def test_it_learns_the_optimal_value_of_connect_three_against_random() -> None:
    expected = worth(())
    parameters = {"rate_power": 0.8, "learning_rate": 1.0, "discount": 1.0, "min_visits": 20}
    with InProcess([ConnectFour], [QLearning, Random]) as experiment:
        agent = experiment.create("q-learning", parameters=parameters, seed=1)
        other = experiment.create("random", seed=2)
        options: dict[str, Any] = {"configuration": SMALL}
        seats = [agent, other]
        experiment.run("connect_four", seats, episodes=6000, seed=3, **options).wait()
        state = experiment.save(agent)
        run = experiment.run(
            "connect_four", seats, episodes=1500, seed=4, mode="evaluate", **options
        )
        returns = [2 * each.outcome[0] - 1 for each in run if each.outcome]
        assert experiment.save(agent) == state
    found = mean(returns)
    assert 0.5 < expected < 1
    assert found.low < expected
    assert found.high > expected - 0.02
    again = QLearning()
    again.load(state)
    assert again.learner is not None
    start = again.learner.table.values[0].max()
    assert start == pytest.approx(expected, abs=0.1)


# -- the rest --------------------------------------------------------------------------------------


def test_the_same_seeds_learn_the_same_and_evaluation_changes_nothing() -> None:
    state = nim(None, 30)
    assert nim(None, 30) == state
    assert nim(state, 30, "evaluate") == state
    assert nim(state, 30) != state


def test_saved_loaded_and_going_on_is_the_same_as_never_stopping() -> None:
    def play(agent: QLearning, seat: Seat, first: int, last: int) -> None:
        for number in range(first, last):
            decide(agent, seat, number % 5, None, number * 0.3)
            decide(agent, seat, (number * 7) % 5, [1, 3], 0.1)
            end(agent, seat, 1.0)

    for table in ("dense", "sparse"):
        whole, seat = seated(table=table, rate_power=0.5, spread=2.0, initial=-1.0)
        play(whole, seat, 0, 40)
        half, _ = seated(table=table, rate_power=0.5, spread=2.0, initial=-1.0)
        play(half, seat, 0, 15)
        rest = remembering(QLearning(seed=77))
        rest.load(half.save())
        assert rest.save() == half.save()
        rest.init(seat)
        play(rest, seat, 15, 40)
        assert rest.save() == whole.save()
    with pytest.raises(DovetailError, match="not a saved q-learning"):
        rest.load(b"rubbish")


def test_the_same_training_gives_the_same_bytes_in_whichever_order_the_episodes_came() -> None:
    def trained(order: list[int], **parameters: Any) -> bytes:
        agent, seat = seated(**parameters)
        for state in order:
            decide(agent, seat, state, [state % 4], 0.0)
            end(agent, seat, state / 8)
        return agent.save()

    register("encoder", "number", lambda observation, seat: int(observation))
    for encoder in ("bytes", "number"):
        orders = [3, 1, 0, 2], [2, 0, 3, 1], [0, 1, 2, 3]
        saved = {trained(order, encoder=encoder) for order in orders}
        assert len(saved) == 1
        again = QLearning()
        again.load(*saved)
        assert again.save() in saved


def test_a_full_table_ends_the_episode_with_one_line() -> None:
    """2048 has more boards than 1 MiB holds."""
    with InProcess([Game2048], [QLearning]) as experiment:
        agent = experiment.create("q-learning", parameters={"table_mib": 1})
        run = experiment.run("2048", [agent], episodes=60, seed=1)
        crashed = [each for each in run if each.reason == "crashed"]
    assert crashed
    assert "option 'table_mib': the table reached its limit of 1 MiB at" in crashed[0].message
    assert "\n" not in crashed[0].message


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"encoder": "components"}, "the option components must list some"),
        (
            {"components": [{"at": 0, "least": 0, "most": 1}]},
            "only with encoder = ",
        ),
        (
            {"encoder": "components", "components": [{"at": 0, "least": 2, "most": 1}]},
            "least 2 and most 1 make no range",
        ),
        (
            {"encoder": "components", "components": [{"at": 200, "least": 0, "most": 1}]},
            "observations of connect_four have 84 numbers, the first at 0; there is none at 200",
        ),
        ({"table": "dense"}, "dense needs components or Discrete observations from 0"),
        (
            {"encoder": "byte"},
            "option 'encoder': no encoder 'byte'; did you mean 'bytes'? there are bytes, "
            "components",
        ),
        (
            {"encoder": f"{__file__}:parity"},
            "`dovetail agent --register encoder:NAME=FILE.py:NAME` adds one",
        ),
        (
            {
                "encoder": "components",
                "table": "dense",
                "components": [{"at": n, "least": 0, "most": 1} for n in range(84)],
            },
            "MiB, but the limit is 1,024; raise the limit, or use a sparse table",
        ),
    ],
)
def test_what_it_refuses(parameters: dict[str, Any], text: str) -> None:
    def play() -> None:
        with InProcess([ConnectFour], [QLearning]) as experiment:
            agent = experiment.create("q-learning", parameters=parameters)
            experiment.run("connect_four", [agent, agent]).wait()

    with pytest.raises(DovetailError) as error:
        play()
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_a_dense_table_has_no_place_for_negative_observations() -> None:
    below: list[spaces.Space] = [spaces.Discrete(5, start=-2)]
    spec = Spec(name="toy", observation_spaces=below, action_spaces=[spaces.Discrete(2)])
    with pytest.raises(DovetailError, match="Discrete observations from 0; use sparse"):
        QLearning(QLearningParameters(table="dense")).init(Seat(1, 0, spec))
    agent = remembering(QLearning())
    agent.init(Seat(1, 0, spec))
    assert decide(agent, Seat(1, 0, spec), -2, [1]) == 1


def test_it_refuses_another_game_than_the_one_it_learned() -> None:
    agent, _ = seated()
    with pytest.raises(DovetailError, match="has learned another game than grid: its table has 3"):
        agent.init(Seat(1, 0, Grid().init()))
    box = Spec(name="box", action_spaces=[spaces.Box([1])], observation_spaces=[spaces.Discrete(2)])
    with pytest.raises(DovetailError, match="needs the same discrete actions for all seats; box"):
        QLearning.needs.check("q-learning", box)
