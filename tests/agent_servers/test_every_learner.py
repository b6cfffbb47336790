"""Every learner passes the checks of `dovetail.testing`, learns, and refuses states that were
forged."""

from __future__ import annotations

import math
import operator
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Any

import msgspec
import numpy as np
import pytest

from dovetail import DovetailError, Experiment, InProcess
from dovetail.peer import plugins
from dovetail.peer.agents.random_agent import Random
from dovetail.testing import check_agent
from dovetail.testing.agents import CHECKS
from dovetail_agents.learning import memory

pytestmark = pytest.mark.xdist_group("every agent")

LEARNERS: dict[str, tuple[str, dict[str, Any], dict[str, Any], int]] = {
    "td": ("connect_four", {"hidden": 8}, {}, 6),
    "td-batch": ("connect_four", {"hidden": 8, "traces": "dutch"}, {}, 6),
    "td-rlgame": ("rlgame", {}, {"size": 5, "pawns": 3, "win_reward": 1.0, "pawn_reward": 0.01}, 4),
    "amazons-player": (
        "amazons",
        {"rollouts": False, "depth": 1, "learning_rate": 0.01},
        {"rows": 5, "columns": 5},
        3,
    ),
    "dots-player": ("dots", {"turns": 2}, {"rows": 3, "columns": 3}, 5),
    "dominion-q": ("dominion", {"version": "12"}, {}, 3),
    "q-learning": ("dots", {}, {"rows": 2, "columns": 3}, 20),
    "ntuple-2048": ("2048", {}, {}, 2),
    "ntuple-connect-four": ("connect_four", {"tuples": 5, "length": 4}, {}, 6),
}
"""Game, parameters, configuration, episodes."""


class Table:
    """A learner in the first seat, random in the others."""

    def __init__(self, name: str, experiment: Experiment, state: bytes | None = None) -> None:
        self.game, parameters, self.configuration, self.episodes = LEARNERS[name]
        self.experiment = experiment
        self.learner = experiment.create(name, parameters=parameters, seed=1, state=state)
        kind = plugins.find("environment", self.game)
        seats = kind(kind.Configuration(**self.configuration)).init().seats
        self.seats = [self.learner] + [experiment.create("random", seed=2)] * (seats - 1)

    def play(self, seed: int = 3) -> None:
        results = self.experiment.run(
            self.game,
            self.seats,
            configuration=self.configuration,
            episodes=self.episodes,
            seed=seed,
            max_turns=400,
        ).wait()
        assert {each.reason for each in results} <= {"terminated", "truncated"}, results

    def state(self) -> bytes:
        return self.experiment.save(self.learner)


@pytest.fixture(params=LEARNERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def experiment(name: str) -> Any:
    game = plugins.find("environment", LEARNERS[name][0])
    with InProcess([game], [plugins.find("agent", name), Random]) as found:
        yield found


def test_it_learns_and_other_seeds_learn_something_else(name: str, experiment: Experiment) -> None:
    states = []
    for seed in (3, 4):
        table = Table(name, experiment)
        untrained = table.state()
        table.play(seed=seed)
        states.append(table.state())
        assert states[-1] != untrained
    assert states[0] != states[1]


@pytest.mark.parametrize("check", CHECKS)
def test_it_passes(check: str, name: str) -> None:
    game, parameters, configuration, episodes = LEARNERS[name]
    check_agent(
        plugins.find("agent", name),
        parameters,
        environment=game,
        configuration=configuration,
        episodes=episodes,
        only=check,
    )


def test_bytes_that_are_refused_change_nothing(name: str, experiment: Experiment) -> None:
    table = Table(name, experiment)
    table.play()
    before = table.state()
    for what, state in [("nothing", b""), ("another", b"no state"), *forged(before)]:
        text = ""
        try:
            experiment.load(table.learner, state)
        except DovetailError as error:
            text = str(error)
        if text:
            assert "Error:" not in text, what
            assert table.state() == before, what
            continue
        if "parameters" not in repr(what):  # it counts on, or says that it has diverged
            with suppress(DovetailError):
                table.play()
            table.state()
        experiment.load(table.learner, before)


ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 1 << 40, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1),
    *(math.nan, math.inf, -math.inf, 1e308, "", "<f2", "|O", b"", bytes(8), b"\xff" * 8),
    *([], {}, [0, 1 << 63], [1 << 32, 1 << 32], [-1, -1], [[0]], {"a": 1}),
)


def forged(state: bytes) -> Iterator[tuple[Any, bytes]]:
    """Yield states with a field replaced, left out, or added."""
    fields = msgspec.msgpack.decode(state, strict=False)
    for path in paths(fields):
        for value in ODD:
            yield (path, value), msgspec.msgpack.encode(changed(fields, path, value))
        old = reduce(operator.getitem, path, fields)
        if isinstance(old, bytes):
            for value in (old[:-1], old * 2, b"\xff" * len(old), b"\x80" * len(old)):
                other = changed(fields, path, value)
                yield (path, value[:9]), msgspec.msgpack.encode(other)
        if isinstance(old, dict):
            less = dict(list(old.items())[1:])
            for some in (less, old | {"extra": 1}):
                other = changed(fields, path, some)
                yield (path, list(some)), msgspec.msgpack.encode(other)
    for place in range(0, min(400, len(state)), 23):
        yield place, state[:place]
        yield place, state[:place] + b"\xc1" + state[place + 1 :]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all fields, and of the first elements of lists and large maps."""
    if path:
        yield path
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in list(inner)[:12]:
            yield from paths(each, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return a value with the field at a path replaced."""
    if not path:
        return new
    other = value.copy()
    other[path[0]] = changed(value[path[0]], path[1:], new)
    return other


LITTLE = {"amazons-player": "two numbers for each turn", "dots-player": "seven weights"}
"""Learners whose options and games do not size their memory."""


def test_a_learner_that_does_not_fit_is_refused(
    name: str, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in LITTLE:
        return
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: 0.0)
    with pytest.raises(
        (DovetailError, AssertionError), match="are free here; choose a smaller size"
    ):
        Table(name, experiment).play()


NUMBERS = (math.nan, math.inf, -math.inf)


def numbers(state: bytes) -> Iterator[tuple[Any, bytes]]:
    """Yield states with a number of an array, a parameter or a setting that is not finite."""
    fields = msgspec.msgpack.decode(state, strict=False)
    for path in paths(fields):
        old = reduce(operator.getitem, path, fields)
        if type(old) is float:
            for value in NUMBERS[: 1 if path[0] == "parameters" else 3]:
                yield (path, value), msgspec.msgpack.encode(changed(fields, path, value))
        if isinstance(old, dict) and str(old.get("dtype"))[:2] == "<f":
            raw = zlib.decompress(old["data"]) if old["packed"] else old["data"]
            for value in NUMBERS:
                array = np.frombuffer(raw, old["dtype"]).copy()
                array[-1:] = value
                other = old | {"data": array.tobytes(), "packed": False}
                if old["packed"]:
                    other |= {"data": zlib.compress(array.tobytes()), "packed": True}
                if len(array):
                    yield (path, value), msgspec.msgpack.encode(changed(fields, path, other))


def test_a_state_with_what_is_not_a_number_is_refused(name: str, experiment: Experiment) -> None:
    table = Table(name, experiment)
    table.play()
    before = table.state()
    for what, state in numbers(before):
        why = ""
        try:
            experiment.load(table.learner, state)
        except DovetailError as error:
            why = str(error)
        assert "are not a saved" in why, what
    assert table.state() == before
