import math
import random
import tracemalloc
import zlib
from typing import Any, TypeVar, get_args

import msgspec
import numpy as np
import pytest
from tests.agent_servers.memory import remembering, slots_of

from dovetail.peer import options
from dovetail.peer.agents.agent import Decision, End, Seat
from dovetail.protocol.errors import DovetailError
from dovetail.protocol.messages import Mode, Reason, Spec, Symmetry
from dovetail.protocol.spaces import Discrete
from dovetail_agents.general.td import TD, RLGameTD, TDBatch, TDParameters
from dovetail_agents.learning.network import size
from dovetail_agents.learning.traces import Name as Traces

SPEC = Spec(name="toy", seats=2, action_spaces=[Discrete(9)], afterstates=True)
SEATS = [Seat(1, seat, SPEC) for seat in range(2)]


def turn(
    rows: Any,
    rng: random.Random,
    *,
    episode: int = 1,
    seat: int = 0,
    reward: float = 0.0,
    mode: Mode = "learn",
    legal: list[int] | None = None,
) -> Decision:
    legal = list(range(len(rows))) if legal is None else legal
    return Decision(SEATS[seat], episode, 0, None, legal, reward, mode, rng, np.asarray(rows))


def end(
    reward: float,
    *,
    episode: int = 1,
    seat: int = 0,
    mode: Mode = "learn",
    reason: Reason = "terminated",
) -> End:
    return End(SEATS[seat], episode, reward, None, None, reason, None, reward, 1, mode)


A = TypeVar("A", bound=TD)


def held(kind: type[A], *arguments: Any, **options: Any) -> A:
    """Return an agent with memory, as the host holds it."""
    return remembering(kind(*arguments, **options))


# -- toys ------------------------------------------------------------------------------------------

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def toe(
    players: list[TD | None], episode: int, seed: int, mode: Mode = "learn", seats: int = 2
) -> list[float]:
    """Play noughts and crosses; None plays at random.  Return the rewards."""
    rngs = [random.Random(10 * seed + seat) for seat in range(seats)]
    board = np.zeros((2, 9), np.int8)
    rewards = [0.0, 0.0]
    for number in range(9):
        me = number % 2
        player = players[me]
        legal = [cell for cell in range(9) if not board[:, cell].any()]
        if player is None:
            cell = rngs[me].choice(legal)
        else:
            rows = np.repeat(board[None] if me == 0 else board[None, ::-1], len(legal), 0)
            rows[range(len(legal)), 0, legal] = 1
            cell = player.step(
                turn(rows, rngs[me], episode=episode, seat=me, mode=mode, legal=legal)
            )
        board[me, cell] = 1
        if any(board[me, list(line)].all() for line in LINES):
            rewards[me], rewards[1 - me] = 1.0, -1.0
            break
    for seat, player in enumerate(players):
        if player is not None:
            player.end(end(rewards[seat], episode=episode, seat=seat, mode=mode))
    return rewards


def score(agent: TD, games: int = 200) -> float:
    """Mean reward as first player against random play."""
    played = [toe([agent, None], 10_000 + game, game, "evaluate")[0] for game in range(games)]
    return sum(played) / games


def trained(episodes: int, seed: int = 1, **parameters: Any) -> TD:
    agent = held(TD, TDParameters(hidden=16, **parameters), seed)
    for episode in range(episodes):
        toe([agent, agent], episode, episode)
    return agent


# -- the update ------------------------------------------------------------------------------------


def test_two_steps_by_hand() -> None:
    """One input, one relu unit, linear output: V(x) = w2 * max(0, w1 * x + b1) + b2."""
    p = TDParameters(
        hidden=1,
        learning_rate=0.5,
        trace_decay=0.5,
        discount=0.5,
        epsilon=0,
        activation="relu",
        output="linear",
    )
    agent, rng = held(TD, p), random.Random(1)
    agent._make(1).weights[:] = [1.0, 0.0, 1.0, 0.0]  # w1, b1, w2, b2
    agent.step(turn([[1.0]], rng))
    assert agent.network is not None
    # V(1) = 1, V(2) = 2: error 1 + 0.5 * 2 - 1 = 1; the gradient at 1 is (1, 1, 1, 1).
    agent.step(turn([[2.0]], rng, reward=1.0))
    assert agent.network.weights.tolist() == [1.5, 0.5, 1.5, 0.5]
    # V(2) = 1.5 * 3.5 + 0.5 = 5.75: error 5 - 5.75 = -0.75; the gradient at 2 is
    # (3, 1.5, 3.5, 1), the trace that plus a quarter of ones.
    agent.end(end(5.0))
    trace = [3.25, 1.75, 3.75, 1.25]
    before = [1.5, 0.5, 1.5, 0.5]
    expected = [w - 0.375 * e for w, e in zip(before, trace, strict=True)]
    assert agent.network.weights.tolist() == expected
    assert (agent.steps, agent.episodes) == (2, 1)


class Slow:
    """The same learner in plain loops, for one seat, told which action was taken and why."""

    def __init__(self, p: TDParameters, weights: list[float], inputs: int) -> None:
        self.p, self.w, self.inputs = p, weights, inputs
        self.trace = [0.0] * len(weights)
        self.row: list[float] | None = None
        self.old = 0.0

    def value(self, row: list[float]) -> tuple[float, list[float]]:
        """Return value and gradient for tanh in both layers."""
        h, w = self.p.hidden, self.w
        assert isinstance(h, int)
        units = []
        for unit in range(h):
            total = w[self.inputs * h + unit]
            for i, x in enumerate(row):
                total += w[i * h + unit] * x
            units.append(math.tanh(total))
        second = (self.inputs + 1) * h
        value = math.tanh(sum(w[second + unit] * y for unit, y in enumerate(units)) + w[-1])
        slope = 1 - value * value
        gradient = [
            slope * w[second + unit] * (1 - units[unit] ** 2) * x
            for x in [*row, 1.0]
            for unit in range(h)
        ]
        return value, gradient + [slope * y for y in units] + [slope]

    def learn(self, target: float) -> None:
        assert self.row is not None
        value, gradient = self.value(self.row)
        alpha, decay = self.p.learning_rate, self.p.discount * self.p.trace_decay
        decayed = [decay * e for e in self.trace]
        overlap = sum(e * g for e, g in zip(decayed, gradient, strict=True))
        for i, g in enumerate(gradient):
            if self.p.traces == "replacing" and g != 0:
                self.trace[i] = g
            elif self.p.traces in ("dutch", "true-online"):
                self.trace[i] = decayed[i] + g - alpha * overlap * g
            else:
                self.trace[i] = decayed[i] + g
        error = target - value
        moved = value - self.old if self.p.traces == "true-online" else 0.0
        for i, (e, g) in enumerate(zip(self.trace, gradient, strict=True)):
            self.w[i] += alpha * (error + moved) * e - alpha * moved * g

    def move(self, rows: list[list[float]], chosen: int, reward: float, *, explored: bool) -> None:
        values = [self.value(row)[0] for row in rows]
        if self.row is not None:
            self.learn(reward + self.p.discount * max(values))
        if explored:
            self.trace = [0.0] * len(self.w)
        self.row, self.old = rows[chosen], values[chosen]


@pytest.mark.parametrize("traces", get_args(Traces))
def test_the_update_is_that_of_plain_loops(traces: Traces) -> None:
    p = TDParameters(
        hidden=3,
        learning_rate=0.1,
        decay_episodes=0,
        trace_decay=0.8,
        discount=0.9,
        epsilon=0.3,
        traces=traces,
        activation="tanh",
    )
    agent, rng, data = held(TD, p, 5), random.Random(2), np.random.default_rng(3)
    net = agent._make(4)
    net.weights[:] = data.normal(0, 0.5, net.weights.size)
    slow = Slow(p, net.weights.tolist(), 4)
    greedy = cut = 0
    for episode in range(10):
        slow.trace, slow.row = [0.0] * len(slow.w), None
        for _ in range(6):
            # Half the inputs are zero, so that replacing traces differ from a mere gradient.
            rows = data.normal(0, 1, (3, 4)) * data.integers(0, 2, (3, 4))
            rows = rows.astype(np.float32)
            reward = round(float(data.normal()), 1)
            peek = random.Random()
            peek.setstate(rng.getstate())
            explored = peek.random() < p.epsilon
            chosen = agent.step(turn(rows, rng, episode=episode, reward=reward))
            slow.move(rows.tolist(), chosen, reward, explored=explored)
            greedy, cut = greedy + (not explored), cut + explored
        agent.end(end(1.0, episode=episode))
        slow.learn(1.0)
        assert net.weights.tolist() == pytest.approx(slow.w, abs=1e-5)
    assert min(greedy, cut) > 5


def test_true_online_is_the_forward_view() -> None:
    """After each step the weights are those of the online lambda-return algorithm (van Seijen et
    al. 2016, theorem 1).

    That one begins the episode anew at every step, with the returns known by then.
    """
    alpha, lam, gamma, steps, inputs = 0.3, 0.7, 0.9, 6, 3
    p = TDParameters(
        hidden=0,
        output="linear",
        learning_rate=alpha,
        decay_episodes=0,
        trace_decay=lam,
        discount=gamma,
        epsilon=0,
        traces="true-online",
    )
    data = np.random.default_rng(5)
    rows = np.hstack([data.normal(0, 1, (steps, inputs)), np.ones((steps, 1))]).astype(np.float32)
    rewards = data.normal(0, 1, steps)  # after each row; the last one at the end
    agent, rng = held(TD, p, 1), random.Random(1)

    values_then: list[np.ndarray[Any, Any]] = [np.zeros(inputs + 1)]  # the weights after t steps

    def target(t: int, horizon: int, ended: bool) -> float:
        def bootstrapped(n: int) -> float:
            total = sum(gamma**i * rewards[t + i] for i in range(n))
            if ended and t + n == steps:
                return float(total)
            return float(total + gamma**n * (values_then[t + n - 1] @ rows[t + n]))

        rest = horizon - t
        found = sum((1 - lam) * lam ** (n - 1) * bootstrapped(n) for n in range(1, rest))
        return found + lam ** (rest - 1) * bootstrapped(rest)

    agent.step(turn(rows[:1, :-1], rng))
    assert agent.network is not None
    for horizon in range(1, steps + 1):
        ended = horizon == steps
        if ended:
            agent.end(end(float(rewards[-1])))
        else:
            reward = float(rewards[horizon - 1])
            agent.step(turn(rows[horizon : horizon + 1, :-1], rng, reward=reward))
        weights = np.zeros(inputs + 1)
        for t in range(horizon):
            weights += alpha * (target(t, horizon, ended) - weights @ rows[t]) * rows[t]
        values_then.append(weights)
        assert agent.network.weights.tolist() == pytest.approx(weights.tolist(), abs=1e-4)


def test_with_the_opponents_target_both_seats_share_a_trail() -> None:
    """Rows of one number, linear: V(x) = w x + b; seat 1's values and rewards count negatively."""
    p = TDParameters(
        hidden=0,
        output="linear",
        learning_rate=0.5,
        decay_episodes=0,
        trace_decay=0.5,
        discount=1,
        epsilon=0,
        target="opponent",
    )
    agent, rng = held(TD, p, 1), random.Random(1)
    agent._make(1).weights[:] = [1.0, 0.0]
    assert agent.network is not None
    agent.step(turn([[1.0]], rng, seat=0))
    # Seat 0 earned 0.5 by its action, so seat 1 hears -0.5: target 0.5 - V(2) = -1.5, value 1.
    agent.step(turn([[2.0]], rng, seat=1, reward=-0.5))
    assert agent.network.weights.tolist() == [1 - 1.25, -1.25]
    # V(2) = -0.5 - 1.25 = -1.75, and the end says -1 to seat 0, 1 to seat 1; the trace of seat 0's
    # action turns its sign: (2, 1) - 0.5 * (1, 1).
    agent.end(end(-1.5, seat=0))
    assert agent.steps == 1
    agent.end(end(1.0, seat=1))
    step = 0.5 * 2.75
    assert agent.network.weights.tolist() == [-0.25 + 1.5 * step, -1.25 + 0.5 * step]
    assert (agent.episodes, slots_of(agent)) == (1, {})


def test_against_another_the_opponents_target_is_the_own_one() -> None:
    def play(target: Any) -> bytes:
        agent = held(TD, TDParameters(hidden=4, target=target), 1)
        for episode in range(20):
            toe([agent, None], episode, episode)
        assert agent.network is not None
        return agent.network.weights.tobytes()

    assert play("own") == play("opponent")


def test_the_opponents_target_needs_two_seats() -> None:
    seat = Seat(1, 0, Spec(name="maze", seats=1, afterstates=True))
    with pytest.raises(DovetailError, match="needs a game with 2 seats; maze has 1"):
        held(TD, TDParameters(target="opponent")).init(seat)


@pytest.mark.parametrize("parameters", [{}, {"traces": "true-online"}, {"rates": "fan-in"}])
def test_a_batch_of_one_is_a_step_and_a_batch_adds_up(parameters: dict[str, Any]) -> None:
    data = np.random.default_rng(2)
    p = TDParameters(hidden=3, epsilon=0, decay_episodes=0, activation="tanh", **parameters)
    rows = data.normal(0, 1, (3, 2, 4, 5)).astype(np.float32)  # time, episode, action, input
    apart: list[Any] = []
    batch = held(TDBatch, p, 1)
    batch._make(5)
    assert batch.network is not None
    first = batch.network.weights.copy()
    for time in range(2):
        before = batch.network.weights.copy()
        turns = [turn(rows[time, e], random.Random(e), episode=e, reward=1.0) for e in range(2)]
        actions = batch.step_batch(turns)
        change = np.zeros_like(before)
        for e in range(2):
            if time == 0:
                apart.append(held(TD, p, 1))
                apart[e]._make(5).weights[:] = first
            apart[e].network.weights[:] = before
            assert apart[e].step(turns[e]) == actions[e]
            change += apart[e].network.weights - before
        assert (batch.network.weights - before).tolist() == pytest.approx(change.tolist(), abs=1e-6)
    assert batch.steps == 2
    evaluated = [turn(rows[2, e], random.Random(e), episode=e, mode="evaluate") for e in range(2)]
    mixed = [evaluated[0], turn(rows[2, 1], random.Random(1), episode=1), evaluated[1]]
    alone = [batch.step(each) for each in evaluated]
    answers = batch.step_batch(mixed)
    assert [answers[0], answers[2]] == alone
    assert batch.steps == 3


def test_the_preset_of_the_study() -> None:
    agent = held(RLGameTD)
    agent.step(turn(np.zeros((2, 122)), random.Random(1)))
    assert agent.network is not None
    assert (agent.network.hidden, agent.network.weights.size) == (61, 123 * 61 + 62)
    p = agent.parameters
    assert (p.discount, p.trace_decay, p.epsilon, p.traces) == (0.95, 0.5, 0.1, "replacing")
    assert agent._scale is not None
    assert sorted(set(agent._scale.tolist())) == pytest.approx([1 / 122, 1 / 61])
    again = held(RLGameTD)
    again.load(agent.save())
    assert again.save() == agent.save()


def test_seats_of_one_episode_share_weights_but_not_traces() -> None:
    p = TDParameters(hidden=2, epsilon=0)
    both, rng = held(TD, p, 1), random.Random(1)
    for seat, row in ((0, [1.0, 0.0]), (1, [0.0, 1.0])):
        both.step(turn([row], rng, seat=seat))
    both.end(end(1.0, seat=0))
    one = held(TD, p, 1)
    one.step(turn([[1.0, 0.0]], rng))
    one.end(end(1.0))
    assert both.network is not None
    assert one.network is not None
    assert both.network.weights.tobytes() == one.network.weights.tobytes()
    both.end(end(-1.0, seat=1))
    assert both.network.weights.tobytes() != one.network.weights.tobytes()
    assert not slots_of(both)


def test_rates_wane_by_episodes() -> None:
    agent = held(TD, TDParameters(hidden=2, learning_rate=0.4, decay_episodes=2), 1)
    rates = []
    for episode in range(5):
        rates.append(agent._rate)
        agent.step(turn([[1.0]], random.Random(1), episode=episode))
        agent.end(end(0.0, episode=episode))
    assert rates == pytest.approx([0.4, 0.4 / 1.5, 0.2, 0.4 / 2.5, 0.4 / 3])


# -- choices ---------------------------------------------------------------------------------------


def test_ties_and_explorations_are_drawn_evenly_and_the_best_is_taken_otherwise() -> None:
    rows = [[1.0], [2.0], [2.0], [0.0]]
    agent, rng = (
        held(
            TD, TDParameters(hidden=1, epsilon=0.4, averaging=0, activation="relu", output="linear")
        ),
        random.Random(1),
    )
    agent._make(1).weights[:] = [1.0, 0.0, 1.0, 0.0]
    drawn = [agent.step(turn(rows, rng, episode=e, legal=[3, 4, 6, 8])) for e in range(8_000)]
    share = [drawn.count(action) / len(drawn) for action in (3, 4, 6, 8)]
    assert share == pytest.approx([0.1, 0.4, 0.4, 0.1], abs=0.02)
    drawn = [agent.step(turn(rows, rng, mode="evaluate")) for _ in range(4_000)]
    assert drawn.count(1) / len(drawn) == pytest.approx(0.5, abs=0.03)
    assert set(drawn) == {1, 2}


# -- evaluate --------------------------------------------------------------------------------------


def test_an_evaluation_changes_nothing_even_amid_a_learning_episode() -> None:
    def play(*, interrupted: bool) -> tuple[bytes, bytes]:
        agent = trained(20)
        rng = random.Random(9)
        rows = np.eye(18, dtype=np.int8)[:3]
        for step in range(4):
            agent.step(turn(rows, rng, episode=77, reward=0.1 * step))
            if interrupted:
                before = agent.save()
                for seat in (0, 1):
                    toe([agent, agent], 500 + 2 * step + seat, 4, "evaluate")
                agent.end(end(1.0, episode=999, seat=1))  # of an episode without a decision
                assert agent.save() == before
        agent.end(end(1.0, episode=77))
        return agent.save(), rng.randbytes(8)

    assert play(interrupted=True) == play(interrupted=False)


def test_an_agent_that_was_only_evaluated_is_as_new() -> None:
    agent = held(TD, seed=1)
    toe([agent, agent], 1, 1, "evaluate")
    assert agent.save() == held(TD, seed=1).save()


# -- repetition, save and load ---------------------------------------------------------------------


def test_the_same_seeds_learn_the_same() -> None:
    assert trained(40).save() == trained(40).save()
    assert trained(40).save() != trained(40, seed=2).save()


@pytest.mark.parametrize("standardise", [False, True])
def test_saving_and_loading_goes_on_bit_for_bit(standardise: bool) -> None:
    parameters: dict[str, Any] = {"decay_episodes": 20.0, "traces": "replacing", "epsilon": 0.2}
    parameters["standardise"] = standardise
    whole = trained(60, **parameters)
    first = trained(30, **parameters)
    second = held(TD, seed=99)
    toe([second, second], 1, 1)
    second.load(first.save())
    assert second.save() == first.save()
    for episode in range(30, 60):
        toe([second, second], episode, episode)
    assert second.save() == whole.save()
    assert score(second, 20) == score(whole, 20)


def test_an_agent_saved_before_its_first_turn_keeps_its_seed() -> None:
    other = held(TD, seed=3)
    other.load(held(TD, TDParameters(hidden=16), 1).save())
    for episode in range(5):
        toe([other, other], episode, episode)
    assert other.save() == trained(5).save()


GOOD = trained(2).save()


def changed(settings: dict[str, Any] | None = None, weights: dict[str, Any] | None = None) -> bytes:
    """Return a saved agent with something in it that does not fit."""
    state = msgspec.msgpack.decode(GOOD)
    state["settings"] |= settings or {}
    state["arrays"]["weights"] |= weights or {}
    return msgspec.msgpack.encode(state)


@pytest.mark.parametrize(
    "state",
    [
        b"",
        b"\x93NUMPY",
        GOOD[:-3],
        GOOD + b"\x00",
        msgspec.msgpack.encode({"agent": "other"}),
        msgspec.msgpack.encode(msgspec.msgpack.decode(GOOD) | {"version": 2}),
        changed(settings={"inputs": 7}),
        changed(settings={"inputs": -1}),
        changed(settings={"inputs": 1 << 40}),
        changed(weights={"data": b"1234"}),
        changed(weights={"dtype": "|O"}),
        changed(weights={"shape": [1, -7]}),
    ],
)
def test_foreign_bytes_are_refused_in_one_line_and_change_nothing(state: bytes) -> None:
    agent = trained(3)
    before = agent.save()
    with pytest.raises(DovetailError, match="these bytes are not a saved td") as caught:
        agent.load(state)
    assert "\n" not in str(caught.value)
    assert agent.save() == before


def test_a_small_state_does_not_take_much_memory() -> None:
    agent = trained(3)
    weights = size(1 << 20, agent.parameters.units(1 << 20))
    packed = zlib.compress(bytes(4 * weights))
    state = changed({"inputs": 1 << 20}, {"shape": [weights], "data": packed, "packed": True})
    assert len(state) < 100_000 < 10_000_000 < weights
    tracemalloc.start()
    try:
        with pytest.raises(DovetailError, match="not a saved td: weights are compressed"):
            agent.load(state)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


# -- what it refuses -------------------------------------------------------------------------------


def test_it_needs_afterstates() -> None:
    with pytest.raises(DovetailError, match="td needs afterstates; maze provides none"):
        TD.needs.check("td", Spec(name="maze"))
    held(TD).init(SEATS[0])
    assert TD.needs.missing([0], None) == "afterstates"


def test_it_needs_a_list_of_legal_actions() -> None:
    assert TD.needs.missing(None, [[1.0]]) == "a list of legal actions"
    assert TD.needs.missing([0], [[1.0]]) == ""


def test_it_needs_an_output_that_reaches_the_rewards() -> None:
    seat = Seat(1, 0, Spec(name="rlgame", afterstates=True, reward_range=(-100.0, 100.0)))
    with pytest.raises(DovetailError, match="reach from -100 to 100; set its option output"):
        held(TD).init(seat)
    held(TD, TDParameters(output="linear")).init(seat)


def test_it_needs_rows_of_one_size() -> None:
    agent, rng = held(TD), random.Random(1)
    agent.step(turn([[1.0, 0.0]], rng))
    for rows, legal in (([[1.0]], [0]), ([[1.0, 0.0]], [0, 1]), (np.zeros((0, 2)), [])):
        with pytest.raises(DovetailError, match="td needs 2 numbers for each of"):
            agent.step(turn(rows, rng, legal=legal))


def test_it_says_when_it_diverges() -> None:
    agent = held(
        TD, TDParameters(hidden=2, learning_rate=10, output="linear", activation="relu"), 1
    )
    rng = random.Random(1)

    def play() -> None:
        for episode in range(1_000):
            agent.step(turn([[1e3]], rng, episode=episode))
            agent.end(end(1e6, episode=episode))

    with (
        np.errstate(all="ignore"),
        pytest.raises(DovetailError, match="use a smaller learning_rate than 10"),
    ):
        play()


@pytest.mark.parametrize("reason", ["cancelled", "environment-failed", "disconnected", "crashed"])
def test_an_interrupted_episode_teaches_no_last_step(reason: Reason) -> None:
    agent = held(TD, TDParameters(hidden=2), 1)
    agent.step(turn([[1.0]], random.Random(1)))
    before = agent.save()
    agent.end(end(0.0, reason=reason))
    assert agent.save() == before
    assert not slots_of(agent)


def test_every_parameter_is_described_and_bounded() -> None:
    described = options.describe(TDParameters)
    assert all(each["description"] for each in described.values())
    for wrong in ({"hidden": -1}, {"epsilon": 1.1}, {"traces": "none"}, {"lambda": 0.5}):
        with pytest.raises(DovetailError, match="agent td"):
            options.read(TDParameters, wrong, "agent td")


# -- learning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("unlike", [False, True])
def test_it_learns_the_values_of_a_random_walk(unlike: bool) -> None:
    """Five places between a loss and a win, as in Sutton and Barto: values of -2/3 to 2/3; also
    beside inputs that are large and say nothing."""
    given: dict[str, Any] = {"hidden": 8, "epsilon": 0, "learning_rate": 0.1, "discount": 1}
    given |= {"decay_episodes": 100, "standardise": unlike}
    agent, rng = held(TD, TDParameters(**given), 1), random.Random(1)
    noise = np.random.default_rng(1)

    def rows(*places: int) -> Any:
        beside = [[1_000, 300 + 30 * noise.normal(), 46]] * len(places)
        return np.hstack([np.eye(5)[list(places)], beside if unlike else [[]] * len(places)])

    for episode in range(2_000):
        place, reward = 2, 0.0
        while 0 <= place < 5:
            # A single legal action: chance decides where it leads.
            agent.step(turn(rows(place), rng, episode=episode))
            place += rng.choice((-1, 1))
        reward = 1.0 if place == 5 else -1.0
        agent.end(end(reward, episode=episode))
    assert agent.network is not None
    assert agent.network.values(agent._standardised(rows(*range(5)))) == pytest.approx(
        [-2 / 3, -1 / 3, 0, 1 / 3, 2 / 3], abs=0.15
    )


def test_standardised_inputs_are_those_of_all_rows_learned_from() -> None:
    agent, rng = held(TD, TDParameters(hidden=2, standardise=True), 1), random.Random(1)
    rows = np.random.default_rng(1).normal([5, 100, 7], [1, 20, 0], (12, 3))
    for first in range(0, 12, 3):
        agent.step(turn(rows[first : first + 3], rng))
        agent.step(turn(rows + 50, rng, episode=2, mode="evaluate"))
    wanted = (rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), 1e-9)
    assert agent._standardised(rows) == pytest.approx(wanted, abs=1e-5)
    assert np.abs(agent._standardised(rows + 1e6)).max() == 5.0


@pytest.mark.long
def test_it_learns_noughts_and_crosses_from_itself() -> None:
    # The mean of four, since an untrained network may play well or badly by chance.
    before, after = (
        sum(score(trained(games, seed)) for seed in range(1, 5)) / 4 for games in (0, 1_500)
    )
    assert after > 0.75
    assert after > before + 0.3


def test_it_evaluates_with_the_mean_of_the_weights_after_each_episode() -> None:
    def play(agent: TD) -> list[Any]:
        rng, seen = random.Random(4), []
        for episode in range(6):
            for _ in range(3):
                agent.step(turn([[0.5, 1.0], [1.0, -1.0]], rng, episode=episode))
            agent.end(end(episode=episode, reward=1.0))
            assert agent.network is not None
            seen.append(agent.network.weights.copy())
        return seen

    whole = held(TD, TDParameters(hidden=3, averaging=100), 5)
    after = play(whole)
    assert whole.averaged is not None
    np.testing.assert_allclose(whole.averaged.weights, np.mean(after, axis=0), rtol=1e-5)
    short = held(TD, TDParameters(hidden=3, averaging=2), 5)
    play(short)
    mean = after[0].copy()
    for weights, length in zip(after[1:], (2, 2, 2, 2, 2), strict=True):
        mean += (weights - mean) / length
    assert short.averaged is not None
    np.testing.assert_allclose(short.averaged.weights, mean, rtol=1e-5)
    latest = held(TD, TDParameters(hidden=3, averaging=0), 5)
    play(latest)
    assert latest.averaged is latest.network


def test_an_episode_is_learned_as_one_of_its_images_throughout() -> None:
    spec = Spec(seats=2, afterstates=True, symmetries=[Symmetry([1, 0])])
    agent = held(TD, TDParameters(hidden=2, symmetric=True, epsilon=0.0), 1)
    seat = Seat(3, 0, spec)
    agent.init(seat)
    rng, turned = random.Random(1), 0
    for episode in range(200):
        images = set()
        for rows in ([[1.0, 2.0]], [[3.0, 4.0]]):
            agent.step(Decision(seat, episode, 0, None, [0], 0.0, "learn", rng, np.array(rows)))
            row = slots_of(agent)[episode, 0].pending.row.tolist()
            assert row in (rows[0], rows[0][::-1])
            images.add(row == rows[0])
        assert len(images) == 1
        turned += False in images
        agent.end(End(seat, episode, 0.0, None, None, "cancelled", None, 0.0, 2, "learn"))
    assert 70 < turned < 130
    plain = held(TD, TDParameters(hidden=2, symmetric=True, epsilon=0.0), 1)
    seat = Seat(3, 0, Spec(seats=2, afterstates=True))
    plain.init(seat)
    plain.step(Decision(seat, 1, 0, None, [0], 0.0, "learn", rng, np.array([[1.0, 2.0]])))
    assert slots_of(plain)[1, 0].pending.row.tolist() == [1.0, 2.0]


def test_a_truncated_episode_bootstraps_from_its_last_observation() -> None:
    """w += rate (r + discount V(last observation) - V(s)) s, for a linear function."""
    given: dict[str, Any] = {
        "hidden": 0,
        "output": "linear",
        "epsilon": 0,
        "averaging": 0,
        "trace_decay": 0,
    }
    agent = held(TD, TDParameters(**given, learning_rate=0.5, discount=0.9, decay_episodes=0), 1)
    agent.step(turn([[1.0, 0.0]], random.Random(1)))
    network = agent.network
    assert network is not None
    network.weights[:] = [2.0, 3.0, 0.0][: len(network.weights)]
    value = network.values(np.array([[1.0, 0.0], [0.0, 1.0]], network.dtype))
    over = end(0.25, reason="truncated")
    over.observation = np.array([0.0, 1.0])
    agent.end(over)
    expected = 2.0 + 0.5 * (0.25 + 0.9 * value[1] - value[0])
    assert float(network.weights[0]) == pytest.approx(expected)
