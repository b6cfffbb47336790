"""The host's duties to every agent: memory, refusals by needs, typed parameters; and saved
states."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec import Struct

from dovetail import Agent, Decision, DovetailError, End, InProcess, Spec
from dovetail.peer.agents.agent import Needs
from dovetail.protocol.spaces import Box, Discrete
from dovetail_agents.learning.saving import become, pack, unpack
from dovetail_games.connect_four import ConnectFour


class Count(Struct):
    turns: int = 0


class Counter(Agent):
    """Counts its decisions in its memory, and checks the count at the end."""

    Memory = Count
    capacity = 0
    ends: list[tuple[int, int]]

    def __init__(self, parameters: Any = None, seed: int = 0) -> None:
        super().__init__(parameters, seed)
        self.ends = []

    def step(self, decision: Decision) -> int:
        decision.memory.turns += 1
        return decision.rng.choice(decision.legal or [0])

    def end(self, end: End) -> None:
        self.ends.append((end.memory.turns, end.decisions))

    def message(self, body: Any) -> Any:
        return self.ends

    def load(self, state: bytes) -> None:
        pass


def test_each_seat_of_each_episode_has_one_memory() -> None:
    with InProcess([ConnectFour], [Counter]) as experiment:
        both = experiment.create("counter")
        experiment.run("connect_four", [both, both], episodes=3, seed=1).wait()
        experiment.run("connect_four", [both, both], episodes=1, seed=1, max_turns=1).wait()
        ends = experiment.message(both, None)
    assert len(ends) == 8
    assert all(mine == theirs for mine, theirs in ends)
    assert tuple(min(ends)) == (0, 0)  # the seat that never had to decide


class Broken(Agent):
    """Cannot make its memory."""

    @staticmethod
    def Memory() -> Any:  # type: ignore[override]  # noqa: N802
        raise ValueError("no room")

    def step(self, decision: Decision) -> int:
        raise AssertionError("never asked")


def test_a_memory_that_cannot_be_made_is_the_agents_crash() -> None:
    with InProcess([ConnectFour], [Broken, Counter]) as experiment:
        seats = [experiment.create("broken"), experiment.create("counter")]
        (episode,) = experiment.run("connect_four", seats, retries=0).wait()
    assert (episode.reason, episode.blame) == ("crashed", 0)
    assert "no room" in (episode.message or "")


@pytest.mark.parametrize(
    ("needs", "text"),
    [
        (Needs(game="dots"), "plays dots only, not toy"),
        (Needs(seats=2), "needs a game with 2 seats; toy has 1"),
        (Needs(afterstates=True), "needs afterstates; toy provides none"),
        (
            Needs(actions="discrete"),
            "needs the same discrete actions for all seats; toy has others",
        ),
    ],
)
def test_what_is_needed_is_refused_in_one_wording(needs: Needs, text: str) -> None:
    spec = Spec(name="toy", action_spaces=[Discrete(2), Box([2])])
    with pytest.raises(DovetailError, match=f"^who {text}$"):
        needs.check("who", spec)
    Needs().check("who", spec)


class Options(Struct, frozen=True):
    rate: float = 0.5


class Typed(Agent[Options]):
    weights = np.zeros(0)

    def step(self, decision: Decision) -> int:
        return 0


class Narrower(Options, frozen=True):
    depth: int = 2


class Deeper(Typed):
    Parameters = Narrower


def test_parameters_follow_from_the_type() -> None:
    assert Typed.Parameters is Options
    assert Typed().parameters == Options()
    assert Deeper().parameters == Narrower()
    assert issubclass(Agent.Parameters, Struct)


class Settings(Struct):
    episodes: int


@pytest.mark.parametrize("compress", [False, True])
def test_arrays_and_settings_come_back(compress: bool) -> None:
    arrays = {"a": np.arange(6, dtype=">f4").reshape(2, 3).T, "b": np.zeros((0, 2), np.int64)}
    data = pack("typed", 2, Options(0.25), 7, Settings(3), arrays, compress=compress)
    saved = unpack("typed", data, 2, Options, Settings, compress=compress)
    assert (saved.parameters, saved.seed, saved.settings.episodes) == (Options(0.25), 7, 3)
    found = saved.array("a", "<f4", (3, -1), most=6)
    np.testing.assert_array_equal(found, arrays["a"])
    found[0, 0] = 1  # it is writable
    assert saved.array("b", "<i8", (-1, 2), most=6).shape == (0, 2)
    with pytest.raises(DovetailError, match=r"not a saved typed: a have 6 numbers; at most 5"):
        saved.array("a", "<f4", (3, -1), most=5)
    for name, dtype, shape in (
        ("c", "<f4", (3, 2)),
        ("a", "<f8", (3, 2)),
        ("a", "<f4", (2, 3)),
        ("a", "<f4", (6,)),
    ):
        with pytest.raises(DovetailError, match=r"^these bytes are not a saved typed: "):
            saved.array(name, dtype, shape)


@pytest.mark.parametrize("wrong", [{"data": b"1"}, {"data": b"\0" * 99}, {"packed": True}])
def test_arrays_of_the_wrong_size_are_refused(wrong: dict[str, Any]) -> None:
    state = msgspec.msgpack.decode(pack("typed", 1, Options(), 0, None, {"a": np.zeros(3)}))
    state["arrays"]["a"] |= wrong
    for compress in (False, True):
        saved = unpack(
            "typed", msgspec.msgpack.encode(state), 1, Options, Struct, compress=compress
        )
        with pytest.raises(DovetailError, match="not a saved typed: a"):
            saved.array("a", "<f8", (3,))


def test_arrays_are_not_decompressed_for_an_agent_that_compresses_none() -> None:
    data = pack("typed", 1, Options(), 0, None, {"a": np.zeros(3)}, compress=True)
    with pytest.raises(DovetailError, match="not a saved typed: a are compressed"):
        unpack("typed", data, 1, Options, Struct).array("a", "<f8", (3,))


def test_other_agents_versions_and_parameters_are_refused() -> None:
    data = pack("typed", 1, Options(), 0)
    for name, version, parameters in (
        ("other", 1, Options),
        ("typed", 2, Options),
        ("typed", 1, Settings),
    ):
        with pytest.raises(DovetailError, match=f"^these bytes are not a saved {name}: "):
            unpack(name, data, version, parameters, Struct)
    with pytest.raises(DovetailError, match="not a saved typed"):
        unpack("typed", b"rubbish", 1, Options, Struct)


def test_what_lacks_a_method_is_not_made() -> None:
    class Silent(Agent):
        """Leaves out ``step``."""

    with pytest.raises(TypeError, match=r"abstract method '?step"):
        Silent()  # type: ignore[abstract]


def test_an_agent_becomes_another() -> None:
    one, other = Typed(Options(0.1), 1), Typed(Options(0.2), 2)
    become(one, other)
    assert (one.parameters, one.seed) == (Options(0.2), 2)
