import random
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from dovetail_agents.learning import network as learning_network
from dovetail_agents.learning.network import Activation, Linear, Network, Output, size

pytestmark = pytest.mark.fast

KINDS = [(a, o) for a in get_args(Activation) for o in get_args(Output)]


def network(activation: Activation, output: Output, *, dtype: Any = np.float64) -> Network:
    made = Network(5, 4, activation, output, random.Random(3), dtype)
    made.weights += np.random.default_rng(4).normal(0, 0.5, made.weights.size)
    return made


def rows(n: int) -> NDArray[Any]:
    return np.random.default_rng(n).normal(0, 1, (n, 5))


def slow_value(net: Network, row: NDArray[Any]) -> float:
    """The same in plain loops."""
    weights = net.weights.tolist()
    total = weights[-1]
    for unit in range(net.hidden):
        net_input = weights[net.inputs * net.hidden + unit]
        for i, x in enumerate(row.tolist()):
            net_input += x * weights[i * net.hidden + unit]
        match net.activation:
            case "tanh":
                y = float(np.tanh(net_input))
            case "relu":
                y = max(0.0, net_input)
            case "sigmoid":
                y = 1 / (1 + float(np.exp(-net_input)))
        total += y * weights[(net.inputs + 1) * net.hidden + unit]
    return float(np.tanh(total)) if net.output == "tanh" else total


@pytest.mark.parametrize(("activation", "output"), KINDS)
def test_values_are_those_of_plain_loops(activation: Activation, output: Output) -> None:
    net = network(activation, output)
    assert net.weights.size == size(5, 4) == 5 * 4 + 4 + 4 + 1
    for n in (1, 7, 8, 9, 3, 40):
        batch = rows(n + 1)
        expected = [slow_value(net, row) for row in batch]
        assert net.values(batch) == pytest.approx(expected, abs=1e-12)
        assert net.values(batch[:-1], batch[-1]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_each_row_has_its_value_whatever_rows_are_beside_it(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_network, "_COMPILED", compiled)
    made: list[Network | Linear] = [
        Network(84, 42, activation, output, random.Random(3)) for activation, output in KINDS
    ]
    made.append(Linear(84, "tanh"))
    made[-1].weights += np.random.default_rng(4).normal(0, 0.5, 85).astype("f4")
    batch = (np.random.default_rng(1).random((300, 6, 7, 2)) < 0.4).astype("u1")
    for net in made:
        together = net.each(batch)
        for size_of_part in (1, 7, 64):
            parts = [net.each(batch[at : at + size_of_part]) for at in range(0, 300, size_of_part)]
            assert np.concatenate(parts).tolist() == together.tolist()
        assert together == pytest.approx(net.values(batch), abs=1e-5)


@pytest.mark.parametrize(("activation", "output"), KINDS)
def test_gradients_are_finite_differences(activation: Activation, output: Output) -> None:
    net = network(activation, output)
    batch = rows(3)
    for index in range(3):
        net.values(batch)
        gradient = net.gradient(index).copy()
        for place in range(net.weights.size):
            around = []
            for step in (1e-6, -1e-6):
                net.weights[place] += step
                around.append(net.values(batch)[index])
                net.weights[place] -= step
            difference = (around[0] - around[1]) / 2e-6
            assert gradient[place] == pytest.approx(difference, abs=1e-7)


@pytest.mark.parametrize(("activation", "output"), KINDS)
def test_a_step_along_the_gradient_raises_the_value(activation: Activation, output: Output) -> None:
    net = network(activation, output, dtype=np.float32)
    assert net.weights.dtype == np.float32
    batch = rows(2)
    before = net.values(batch)[1]
    net.apply(net.gradient(1), 0.01)
    assert net.values(batch)[1] > before


def test_an_update_adds_a_multiple() -> None:
    net = network("tanh", "tanh")
    before = net.weights.copy()
    direction = np.arange(net.weights.size, dtype=np.float64)
    net.apply(direction, -0.5)
    assert np.array_equal(net.weights, before - 0.5 * direction)


def test_rows_may_have_any_shape_and_dtype() -> None:
    net = Network(6, 4, "tanh", "tanh", random.Random(1))
    boards = np.array([[[0, 1, 2], [2, 1, 0]], [[1, 1, 0], [0, 0, 2]]], np.int8)
    boards.flags.writeable = False
    net.apply(np.ones_like(net.weights), 0.1)
    assert net.values(boards) == net.values(boards.reshape(2, 6).astype(np.float32))
    assert net.row(1).tolist() == boards[1].reshape(-1).tolist()


def test_the_first_weights_come_from_the_seed_and_give_small_values() -> None:
    nets = [Network(5, 4, "tanh", "tanh", random.Random(seed)) for seed in (1, 1, 2)]
    weights = [net.weights.tobytes() for net in nets]
    assert weights[0] == weights[1] != weights[2]
    assert max(map(abs, nets[0].values(rows(3)))) < 0.3


def test_large_sums_do_not_overflow() -> None:
    for activation in get_args(Activation):
        net = network(activation, "tanh", dtype=np.float32)
        with np.errstate(all="raise", under="ignore"):
            assert np.isfinite(net.values(rows(2) * 1e6)).all()
            assert np.isfinite(net.gradient(0)).all()
